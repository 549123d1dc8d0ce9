"""The trade between movement and regret: total cost over four decades of the price of a move.

    python -m benchmarks.movement            # all cells, about ten minutes on one core
    python -m benchmarks.movement --short    # seconds; its figures mean little
    python -m benchmarks.movement --draw     # the figure of docs/movement.md, from the last run

A cell is a policy, a world, a price and a seed. The cost is regret plus the price of all moves, as
a share of what staying at the start costs. `least` is what one would pay who knows everything:
the way from the start to the best state, or staying, whichever is less.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import trimtab as tt
from trimtab import theory
from trimtab.policies import LazyPolicy
from trimtab.sim.worlds import World

ROUNDS, SEEDS = 10_000, 5
PRICES = 10.0 ** np.arange(-2.0, 2.01, 0.5)  # of moving a knob from one end to the other
HERE = Path(__file__).parent
RESULTS = HERE.parent / "proved" / "movement.json"
FIGURE = HERE.parent / "docs" / "figures" / "movement.svg"


def ring(price: float, seed: int) -> World:
    """Six knobs in a ring, six objectives."""
    graph = tt.Graph.from_edges(6, [(j, (j + 1) % 6) for j in range(6)])
    return tt.worlds.quadratic(graph, seed=seed, move_cost=price)


def cliques(price: float, seed: int) -> World:
    """Three separate pairs of knobs."""
    return tt.worlds.quadratic(tt.Graph.cliques([2, 2, 2]), seed=seed, move_cost=price)


WORLDS: dict[str, Callable[[float, int], World]] = {"ring": ring, "cliques": cliques}


def _proven(world: World) -> dict[str, Any]:
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    return {"radius": radius, "reg": radius.balanced_reg}


def _lazy(factor: float) -> Callable[[World], LazyPolicy]:
    return lambda world: tt.LazyGraphLinUCB(
        world.problem, start=[0.5] * 6, factor=factor, **_proven(world)
    )


POLICIES: dict[str, Callable[[World], LazyPolicy]] = {
    "rarely switching, C = 1.1": _lazy(1.1),
    "Algorithm 1, C = 2": _lazy(2.0),
    "rarely switching, C = 8": _lazy(8.0),
    "rarely switching, C = 64": _lazy(64.0),
    "Async": lambda world: tt.AsyncLazyGraphLinUCB(
        world.problem, start=[0.5] * 6, **_proven(world)
    ),
    "Steady, proven": lambda world: tt.SteadyGraphLinUCB(
        world.problem, start=[0.5] * 6, **_proven(world)
    ),
    "Algorithm 1, learned prior": lambda world: tt.LazyGraphLinUCB(world.problem, start=[0.5] * 6),
    "Steady, recommended": lambda world: tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 6),
}


class Cell(NamedTuple):
    """What one run cost."""

    world: str
    policy: str
    price: float
    seed: int
    stay: float  # the regret of staying at the start
    regret: float
    movement: float
    paid: float
    least: float  # no policy pays less, even one that knows everything
    bound: float  # Theorem 1', losses and moves; NaN where nothing is proven

    @property
    def share(self) -> float:
        """The cost as a share of staying."""
        return (self.regret + self.paid) / self.stay


def play(world: str, policy: str, price: float, seed: int, rounds: int) -> Cell:
    """One run."""
    place = WORLDS[world](price, seed)
    made = POLICIES[policy](place)
    trace = tt.play(made, place, horizon=rounds, seed=seed)
    start = np.full(6, 0.5)
    stay = rounds * (place.loss(start) - place.optimum.value)
    way = price * float(np.abs(place.optimum.state - start).sum())
    return Cell(
        *(world, policy, price, seed, stay, trace.regret, trace.movement, trace.move_cost),
        least=min(stay, way),
        bound=_bound(made, place, rounds),
    )


def _bound(policy: LazyPolicy, world: World, rounds: int) -> float:
    """Theorem 1' before the run, where it holds: losses, and moves of the whole box."""
    if isinstance(policy, tt.AsyncLazyGraphLinUCB) or policy.learner.prior is not None:
        return float("nan")
    problem, stats = world.problem, policy.learner.estimators
    C, reg, L = stats.factor, stats.reg, problem.features.bounds
    gain = theory.max_gain(problem.dims, rounds, reg=reg, bound=L)
    sigma, norm = 0.1, world.norms
    beta = sigma * np.sqrt(gain + 2 * np.log(problem.criteria / 0.05)) + np.sqrt(reg) * norm
    constant = theory.potential_constant(factor=C, reg=reg, bound=L)
    losses = 2.0 * float(np.sum(beta * np.sqrt(constant * rounds * gain)))
    looks = float(np.sum(gain)) / np.log(C) + np.log2(rounds) + 1
    return losses + float(problem.move_cost.sum()) * (looks + 1)


def cells(rounds: int, seeds: int, prices: Any) -> Iterator[Cell]:
    """All runs."""
    for world in WORLDS:
        for price in prices:
            for policy in POLICIES:
                for seed in range(seeds):
                    yield play(world, policy, float(price), seed, rounds)


def table(found: list[Cell]) -> str:
    """Mean cost as a share of staying, a row per policy and a column per price."""
    lines = []
    for world in WORLDS:
        prices = sorted({cell.price for cell in found})
        lines += [f"\n{world}: (regret + price of moves) / staying", ""]
        lines += ["| policy | " + " | ".join(f"{p:.3g}" for p in prices) + " |"]
        lines += ["|---|" + "--:|" * len(prices)]
        for policy in POLICIES:
            row = [np.mean([c.share for c in found if c[:3] == (world, policy, p)]) for p in prices]
            lines.append(f"| {policy} | " + " | ".join(f"{x:.3g}" for x in row) + " |")
        least = [
            np.mean([c.least / c.stay for c in found if (c.world, c.price) == (world, p)])
            for p in prices
        ]
        lines.append("| *the least possible* | " + " | ".join(f"{x:.2g}" for x in least) + " |")
    return "\n".join(lines)


def draw(found: list[Cell]) -> None:
    """The figure: cost against price, and movement against price."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "trimtab"
    import matplotlib.pyplot as plt

    prices = sorted({cell.price for cell in found})
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for policy in POLICIES:
        mine = [[c for c in found if c.policy == policy and c.price == p] for p in prices]
        style = {"linewidth": 2.5} if "Steady" in policy else {"linewidth": 1.2, "linestyle": "--"}
        axes[0].loglog(
            prices,
            [np.exp(np.mean([np.log(c.share) for c in x])) for x in mine],
            label=policy,
            **style,
        )
        axes[1].loglog(prices, [max(np.mean([c.movement for c in x]), 1e-2) for x in mine], **style)
    least = [
        np.exp(np.mean([np.log(c.least / c.stay) for c in found if c.price == p])) for p in prices
    ]
    axes[0].loglog(prices, least, color="black", label="the least possible")
    axes[0].axhline(1.0, color="grey", linewidth=0.8)
    axes[0].set(xlabel="price of moving a knob by 1", ylabel="(regret + price) / staying")
    axes[1].set(xlabel="price of moving a knob by 1", ylabel="movement (l1)")
    axes[0].legend(fontsize=7)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    """Run, keep, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--draw", action="store_true")
    asked = parser.parse_args()
    if asked.draw:
        found = [Cell(**row) for row in json.loads(RESULTS.read_text())]
        draw(found)
        print(table(found))
        return
    sizes = (300, 1, (0.1, 10.0)) if asked.short else (ROUNDS, SEEDS, PRICES)
    found = list(cells(*sizes))
    if not asked.short:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps([cell._asdict() for cell in found]))
    print(table(found))


if __name__ == "__main__":
    main()
