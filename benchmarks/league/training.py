"""The worlds in which constants are chosen: other graphs, prices and people than the league's.

    python -m benchmarks.league.training                       what our rows cost there, 300 rounds
    python -m benchmarks.league.training --horizon 1000 --players "told nothing" SPSA

The rules: a constant of the library or of a rival is chosen here, and the choice is written down
beside it with the command that shows it. The league is played afterwards, once. A figure of the
league never decides a constant.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

import networkx as nx
import numpy as np

import trimtab as tt
from benchmarks.league.disturbed import Daily, HeavyTailed, Spiky
from benchmarks.league.match import match
from benchmarks.league.place import Place, Setting, placed
from benchmarks.league.players import ENTRIES, FIXED
from benchmarks.league.shapes import cliff, plateau, saturation, service, two_valleys
from benchmarks.league.standings import Row, Standings
from benchmarks.league.worlds import (
    People,
    cliques,
    drifting,
    fairness,
    quadratic,
    ring,
    wrong_graph,
)
from trimtab.parallel.blas import one_blas_thread
from trimtab.sim.worlds import Correlated, Gaussian

HORIZON, FIRST, SEEDS = 300, 900, 2


def tree(k: int) -> tt.Graph:
    """A binary tree."""
    return tt.Graph.from_edges(k, [(j, (j - 1) // 2) for j in range(1, k)])


def regular(k: int, degree: int) -> tt.Graph:
    """Another random graph than the league's."""
    return tt.Graph.from_networkx(nx.random_regular_graph(degree, k, seed=9))


def grid(rows: int, columns: int) -> tt.Graph:
    """A rectangle of knobs."""
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns))
    return tt.Graph.from_networkx(graph)


def scopes(seed: int, *, price: float) -> Place:
    """Thirteen criteria that read one to four of seven knobs, with full quadratics."""
    rng = np.random.default_rng(77)
    sizes = (3, 1, 2, 2, 3, 2, 1, 3, 2)
    read = [sorted(rng.choice(7, size=n, replace=False).tolist()) for n in sizes]
    graph = tt.Graph.from_scopes([*read, [0], [1], [0, 3, 6], [1, 2, 4, 5]], knobs=7)
    return placed(tt.worlds.quadratic(graph, seed=seed, move_cost=price), seed)


def others() -> People:
    """Four groups of other people than the league's."""
    rng = np.random.default_rng(55)
    groups = rng.choice(4, size=5000, p=[0.4, 0.3, 0.2, 0.1])
    labels = rng.random(5000) < np.array([0.4, 0.5, 0.3, 0.35])[groups]
    skill = np.array([1.8, 1.4, 1.1, 1.6])[groups]
    shift = np.array([0.1, -0.3, 0.4, -0.5])[groups]
    scores = 1.0 / (1.0 + np.exp(-rng.normal(skill * (labels - 0.5) + shift)))
    return np.asarray(scores), labels, groups


def worlds(horizon: int) -> tuple[Setting, ...]:
    """All training worlds; those that drift do so at 0.3, 0.52 and 0.8 of the horizon."""
    changes = [int(share * horizon) + 1 for share in (0.3, 0.52, 0.8)]
    Q: Callable[..., Callable[[int], Place]] = partial(partial, quadratic)
    return (
        Setting("ring 8, price 1", Q(graph=ring(8), price=1.0), small=True),
        Setting("ring 12, price 20", Q(graph=ring(12), price=20.0), small=True),
        Setting("tree 15, price 5", Q(graph=tree(15), price=5.0)),
        Setting("degree 3, k = 16", Q(graph=regular(16, 3), price=3.0)),
        Setting("degree 5, k = 16", Q(graph=regular(16, 5), price=3.0)),
        Setting("grid 4 x 4, noise 0.3", Q(graph=grid(4, 4), price=10.0, noise=Gaussian(0.3))),
        Setting("tree 15, correlated", Q(graph=tree(15), price=3.0, noise=Correlated(0.1))),
        Setting(
            "ring 8, unequal noise",
            Q(graph=ring(8), price=3.0, noise=Gaussian(np.geomspace(0.5, 0.02, 8))),
            small=True,
        ),
        Setting("degree 3, 20 % missing", Q(graph=regular(12, 3), price=2.0, missing=0.2)),
        Setting("scopes", partial(scopes, price=2.0), small=True),
        Setting("tree 15, delay of 10", Q(graph=tree(15), price=3.0), delay=10),
        Setting(
            "ring 8, three changes",
            partial(drifting, graph=ring(8), price=3.0, changes=changes),
            drifts=True,
        ),
        Setting(
            "degree 4 told as a ring",
            partial(wrong_graph, graph=regular(12, 4), believed=ring(12), price=3.0),
        ),
        Setting("fairness, 4 groups", partial(fairness, price=1.0, crowd=others), small=True),
        Setting("two discs", partial(cliques, count=2, price=0.5), small=True, box=False),
        Setting("tree 15, spikes", Q(graph=tree(15), price=3.0, noise=Spiky(0.1))),
        Setting("ring 12, heavy tails", Q(graph=ring(12), price=3.0, noise=HeavyTailed(0.15))),
        Setting(
            "tree 10, daily cycle",
            Q(graph=tree(10), price=2.0, noise=Daily(0.1, amplitude=0.25, day=96)),
        ),
        Setting("saturation, 4 knobs", partial(saturation, knobs=4, price=0.5), small=True),
        Setting("cliff, 7 knobs", partial(cliff, knobs=7, price=0.5), small=True),
        Setting("plateau, one pair", partial(plateau, pairs=1, price=0.5), small=True),
        Setting("service, 5 knobs", partial(service, price=0.2), small=True),
        Setting("two valleys, three pairs", partial(two_valleys, pairs=3, price=0.5), small=True),
    )


def trained(setting: Setting, player: str, *, horizon: int, seed: int) -> Row:
    """One match in a training world."""
    entry = next(entry for entry in ENTRIES if entry.name == player)
    with one_blas_thread():
        place = setting.make(seed)
        score = match(
            entry.make(place, horizon=horizon, seed=seed),
            place,
            horizon=horizon,
            seed=seed,
            delay=setting.delay,
        )
    return Row(
        world=setting.name,
        player=player,
        horizon=horizon,
        seed=seed,
        total=score.total,
        price=score.price,
        movement=score.movement,
        moves=score.moves,
        final=score.final,
        seconds=0.0,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the cost against fixed of every player in every training world."""
    players = [entry.name for entry in ENTRIES if entry.ours]
    parser = argparse.ArgumentParser(description="Play in the training worlds.")
    parser.add_argument("--horizon", type=int, default=HORIZON)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--worlds", nargs="*", default=())
    parser.add_argument("--players", nargs="*", default=players)
    chosen = parser.parse_args(arguments)
    rows: list[Row] = []
    print(f"| world | {' | '.join(chosen.players)} |\n|---|" + "--:|" * len(chosen.players))
    for setting in worlds(chosen.horizon):
        if chosen.worlds and setting.name not in chosen.worlds:
            continue
        able = [
            entry.name
            for entry in ENTRIES
            if entry.name in (FIXED, *chosen.players) and (setting.box or not entry.boxes)
        ]
        rows += [
            trained(setting, name, horizon=chosen.horizon, seed=seed)
            for name in able
            for seed in range(FIRST, FIRST + chosen.seeds)
        ]
        found = Standings(chosen.horizon, rows)
        cells = [
            f"{found.ratio(setting.name, name):.2f}" if name in able else ""
            for name in chosen.players
        ]
        print(f"| {setting.name} | {' | '.join(cells)} |", flush=True)
    means = [f"{Standings(chosen.horizon, rows).mean(name):.3f}" for name in chosen.players]
    print(f"| geometric mean | {' | '.join(means)} |")


if __name__ == "__main__":
    main()
