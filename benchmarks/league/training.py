"""Which radius and factor our policies play with: chosen in worlds that are not in the league.

    python -m benchmarks.league.training              prints a table; minutes

Graphs, prices, people and seeds differ from the league's. docs/decisions/0012 has the table and
what was decided.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from unittest.mock import patch

import networkx as nx
import numpy as np

import trimtab as tt
from benchmarks.league import rivals
from benchmarks.league.match import match
from benchmarks.league.players import Ours
from benchmarks.league.worlds import (
    People,
    Place,
    cliques,
    drifting,
    fairness,
    placed,
    quadratic,
    ring,
    wrong_graph,
)
from trimtab.estimators import confidence
from trimtab.sim.sweep.blas import one_blas_thread
from trimtab.sim.worlds import Correlated, Gaussian

HORIZON, FIRST, SEEDS = 5_000, 900, 1
TEMPERS = (1.0, 0.5, 0.25, 0.15, 0.1)
FACTORS = (2.0, None)  # None: chosen by the policy


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


WORLDS: dict[str, Callable[[int], Place]] = {
    "ring 8, price 1": partial(quadratic, graph=ring(8), price=1.0),
    "ring 12, price 20": partial(quadratic, graph=ring(12), price=20.0),
    "tree 15, price 5": partial(quadratic, graph=tree(15), price=5.0),
    "degree 3, k = 16": partial(quadratic, graph=regular(16, 3), price=3.0),
    "degree 5, k = 16": partial(quadratic, graph=regular(16, 5), price=3.0),
    "grid 4 x 4, noise 0.3": partial(quadratic, graph=grid(4, 4), price=10.0, noise=Gaussian(0.3)),
    "tree 15, correlated": partial(quadratic, graph=tree(15), price=3.0, noise=Correlated(0.1)),
    "ring 8, unequal noise": partial(
        quadratic, graph=ring(8), price=3.0, noise=Gaussian(np.geomspace(0.5, 0.02, 8))
    ),
    "degree 3, 20 % missing": partial(quadratic, graph=regular(12, 3), price=2.0, missing=0.2),
    "scopes": partial(scopes, price=2.0),
    "ring 8, three changes": partial(
        drifting, graph=ring(8), price=3.0, changes=[1500, 2600, 4000]
    ),
    "degree 4 told as a ring": partial(
        wrong_graph, graph=regular(12, 4), believed=ring(12), price=3.0
    ),
    "fairness, 4 groups": partial(fairness, price=1.0, crowd=others),
    "two discs": partial(cliques, count=2, price=0.5),  # slow
}


def totals(make: Callable[[int], Place], *, horizon: int, seed: int) -> Iterator[float]:
    """What SPSA pays, then Steady with every choice, then Algorithm 1 with the league's."""
    place = make(seed)
    options = {"horizon": horizon, "seed": seed}
    yield match(rivals.SPSA(place, **options), place, **options).total
    for factor in FACTORS:
        for temper in TEMPERS:
            with patch.object(confidence, "TEMPER", temper):
                player = Ours(
                    place, kind=tt.SteadyGraphLinUCB, factor=factor, horizon=horizon, seed=seed
                )
                yield match(player, place, horizon=horizon, seed=seed).total
    last = Ours(place, kind=tt.LazyGraphLinUCB, horizon=horizon, seed=seed)
    yield match(last, place, horizon=horizon, seed=seed).total


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table: total cost as a multiple of SPSA's, mean of the seeds."""
    parser = argparse.ArgumentParser(description="Choose the league's configuration.")
    parser.add_argument("--horizon", type=int, default=HORIZON)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    chosen = parser.parse_args(arguments)
    heads = [f"{t:g}, {'factor 2' if f else 'chosen'}" for f in FACTORS for t in TEMPERS]
    print("| world | SPSA | " + " | ".join(heads) + " | Algorithm 1 |")
    print("|---|" + "--:|" * (len(heads) + 2))
    for name in chosen.worlds:
        with one_blas_thread():
            found = np.array(
                [
                    list(totals(WORLDS[name], horizon=chosen.horizon, seed=seed))
                    for seed in range(FIRST, FIRST + chosen.seeds)
                ]
            ).mean(axis=0)
        cells = " | ".join(f"{x:.2f}" for x in found[1:] / found[0])
        print(f"| {name} | {found[0]:,.0f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
