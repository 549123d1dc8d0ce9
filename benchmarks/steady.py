"""Steady against the other policies: total cost = regret + move_cost * movement.

Every policy sees the same world with the same noise stream, from the start state 0.5, with the
radius of `Confidence(sigma=0.1)` (for correlated noise the sigma of each criterion), horizon 10^5
by events; LinUCB, which must look every round, at 10^4 and only up to 20 knobs, where Steady
is run again at that horizon. Ratios are paired over seeds: Steady's cost over that of the best
other policy of the problem (by mean), and a 95 % t-interval of their mean.

The floor of a problem is the lowest mean regret of any policy plus the price of the straight
way from the start to the best state; `closed` is how much of the distance from Algorithm 1
to it Steady closes.

LinUCB solves in every round, so it runs on three seeds only. All runs are spread over the
processors: nothing here is timed.

    python benchmarks/steady.py [--quick] [seeds]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import networkx as nx
import numpy as np
from rich.console import Console
from rich.progress import track
from scipy.stats import t as student

import trimtab as tt
from trimtab.arrays import Array
from trimtab.model.bases import PairwiseQuadratic

LONG, SHORT = 10**5, 10**4
SHORT_SEEDS = 3


@dataclass(frozen=True)
class Setting:
    """A world up to its seed."""

    name: str
    graph: tt.Graph
    move_cost: float
    reg: tuple[float, float] = (1.0, 1.0)  # log-uniform between these
    correlated: bool = False

    def world(self, seed: int) -> tt.worlds.World:
        """The world of a seed."""
        noise = tt.worlds.Correlated(0.05) if self.correlated else None
        return tt.worlds.quadratic(
            self.graph, seed=seed, basis=PairwiseQuadratic(), noise=noise, move_cost=self.move_cost
        )

    def options(self, world: tt.worlds.World, seed: int) -> dict[str, object]:
        """What every policy is made with."""
        m = self.graph.criteria
        sizes = np.diff(self.graph.scope_offsets)
        sigma = 0.05 * np.sqrt(sizes) if self.correlated else np.full(m, 0.1)
        low, high = np.log(self.reg)
        return {
            "start": np.full(self.graph.knobs, 0.5),
            "radius": tt.Confidence(sigma=sigma, norm=world.norms),
            "reg": np.exp(np.random.default_rng((seed, 7)).uniform(low, high, m)),
            "seed": seed,
        }


def ring(k: int) -> tt.Graph:
    """A circle of knobs."""
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


def tree(k: int) -> tt.Graph:
    """A binary tree."""
    return tt.Graph.from_edges(k, [(j, (j - 1) // 2) for j in range(1, k)])


def network(G: nx.Graph) -> tt.Graph:
    """A graph by networkx, its nodes numbered."""
    return tt.Graph.from_networkx(nx.convert_node_labels_to_integers(G))


SETTINGS = (
    Setting("ring 8", ring(8), 0.1),
    Setting("ring 8, unequal reg", ring(8), 30.0, reg=(0.1, 10.0)),
    Setting("ring 20", ring(20), 300.0),
    Setting("tree 15", tree(15), 3.0),
    Setting("tree 31, correlated", tree(31), 30.0, correlated=True),
    Setting("grid 4 x 5", network(nx.grid_2d_graph(4, 5)), 10.0),
    Setting("grid 5 x 8", network(nx.grid_2d_graph(5, 8)), 100.0),
    Setting("cliques 4 x 4", tt.Graph.cliques([4] * 4), 1.0),
    Setting("cliques 2-6", tt.Graph.cliques([2, 3, 4, 5, 6]), 100.0, reg=(0.1, 10.0)),
    Setting("degree 4, 20", network(nx.random_regular_graph(4, 20, seed=1)), 30.0),
    Setting("degree 4, 60", network(nx.random_regular_graph(4, 60, seed=1)), 300.0),
    Setting("ring 200", ring(200), 30.0),
)
MAKERS: dict[str, Callable[..., tt.LazyGraphLinUCB | tt.AsyncLazyGraphLinUCB | tt.LinUCB]] = {
    "Algorithm 1": tt.LazyGraphLinUCB,
    "Async": tt.AsyncLazyGraphLinUCB,
}


def run(setting: Setting, kind: Callable[..., object], horizon: int, seed: int) -> Array:
    """Total cost, regret, movement, moves and the price of the straight way."""
    world = setting.world(seed)
    policy = kind(world.problem, **setting.options(world, seed))
    trace = tt.play(policy, world, horizon=horizon, seed=seed)  # type: ignore[arg-type]
    way = float(np.abs(world.optimum.state - 0.5).sum()) * setting.move_cost
    cost = trace.regret + setting.move_cost * trace.movement
    return np.array([cost, trace.regret, trace.movement, trace.moves, way])


def compare(
    pool: ProcessPoolExecutor,
    setting: Setting,
    others: dict[str, Callable[..., object]],
    horizon: int,
    seeds: int,
) -> str:
    """One row of the table."""
    kinds = {"Steady": tt.SteadyGraphLinUCB, **others}
    begun = {
        name: [pool.submit(run, setting, kind, horizon, seed) for seed in range(seeds)]
        for name, kind in kinds.items()
    }
    runs = {name: np.array([job.result() for job in jobs]) for name, jobs in begun.items()}
    best = min(others, key=lambda name: runs[name][:, 0].mean())
    ratio = runs["Steady"][:, 0] / runs[best][:, 0]
    half = student.ppf(0.975, seeds - 1) * ratio.std(ddof=1) / np.sqrt(seeds)
    floor = min(rows[:, 1].mean() for rows in runs.values()) + runs["Steady"][:, 4].mean()
    first = runs[next(iter(others))][:, 0].mean()
    closed = (first - runs["Steady"][:, 0].mean()) / (first - floor)
    cells = [f"{rows[:, 0].mean():,.0f} ({rows[:, 2].mean():,.0f})" for rows in runs.values()]
    return (
        f"| {setting.name}, {setting.move_cost:g} | {' | '.join(cells)} | {floor:,.0f} | "
        f"{best}: {ratio.mean():.3f} +- {half:.3f} | {closed:.0%} |"
    )


def main() -> None:
    """Print both tables."""
    quick = "--quick" in sys.argv
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    seeds = numbers[0] if numbers else (3 if quick else 10)
    chosen = [s for s in SETTINGS if not quick or s.graph.knobs <= 20]
    console = Console(stderr=True)
    print(f"## Steady, {seeds} seeds\n\nTotal cost (movement in brackets), T = 10^5.\n")
    print("| problem, move_cost | Steady | Algorithm 1 | Async | floor | Steady / best | closed |")
    print("|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor() as pool:
        for setting in track(chosen, "T = 10^5", console=console):
            print(compare(pool, setting, dict(MAKERS), LONG, seeds), flush=True)
        small = [setting for setting in chosen if setting.graph.knobs <= 20]
        print(f"\nT = 10^4, {SHORT_SEEDS} seeds.\n")
        print("| problem, move_cost | Steady | LinUCB | floor | Steady / LinUCB | closed |")
        print("|---|---|---|---|---|---|")
        for setting in track(small, "T = 10^4", console=console):
            print(compare(pool, setting, {"LinUCB": tt.LinUCB}, SHORT, SHORT_SEEDS), flush=True)


if __name__ == "__main__":
    main()
