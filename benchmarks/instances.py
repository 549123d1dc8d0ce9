"""Lower confidence bounds to minimise: from real runs, and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import networkx as nx
import numpy as np

import trimtab as tt
from trimtab.arrays import Array
from trimtab.learn import NodewiseEstimators, as_radius
from trimtab.model.bases import Basis, Linear, PairwiseQuadratic, Quadratic
from trimtab.policies.lcb import LCB

TIMES = (10**2, 10**4, 10**6)
DEGREES = (2, 3, 4, 5, 6)


@dataclass(frozen=True)
class Instance:
    """An objective and the state that is deployed."""

    name: str
    lcb: LCB
    current: Array


def graph_of(k: int, degree: int, seed: int) -> tt.Graph:
    """A ring for degree 2, otherwise a random regular graph."""
    if degree == 2:
        return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])
    size = k + (k * degree) % 2  # an odd sum of degrees needs one knob more
    G = nx.random_regular_graph(degree, size, seed=seed)
    return tt.Graph.from_edges(k, [(a, b) for a, b in G.edges if a < k and b < k])


def from_run(k: int, degree: int, rounds: int, seed: int, basis: Basis | None = None) -> Instance:
    """What a run with a valid radius is asked to solve after this number of rounds."""
    graph = graph_of(k, degree, seed)
    if isinstance(basis, Linear):
        world = tt.worlds.linear(graph, seed=seed)
    else:
        chosen = basis if isinstance(basis, Quadratic) else PairwiseQuadratic()
        world = tt.worlds.quadratic(graph, seed=seed, basis=chosen)
    kind = tt.LazyGraphLinUCB if k <= 200 else tt.AsyncLazyGraphLinUCB
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    policy = kind(world.problem, start=np.full(k, 0.5), radius=radius, seed=seed)
    tt.play(policy, world, horizon=rounds, seed=seed)
    current = policy.ask()
    policy.place(np.where(current > 0.5, 0.0, 1.0))  # takes in all that was seen
    name = f"{type(world.problem.basis).__name__} k={k} degree={degree} t={rounds} seed={seed}"
    return Instance(name, policy.learner.lcb, current)


def random_instance(k: int, degree: int, seed: int, basis: Basis | None = None) -> Instance:
    """Losses and counts of many sizes at random states, a random radius and weights."""
    rng = np.random.default_rng((seed, 9))
    graph = graph_of(k, degree, seed)
    problem = tt.Problem(graph, basis=basis or PairwiseQuadratic(), weights=rng.uniform(0.3, 3, k))
    estimators = NodewiseEstimators(
        problem, reg=10.0 ** rng.uniform(-1, 1, k), factor=2.0, state=rng.random(k)
    )
    for _ in range(int(rng.integers(2, 12))):
        n = (10 ** rng.uniform(0, 5, k)).astype(np.int64)
        estimators.add_elsewhere(rng.normal(size=k), n, rng.random(k))
    lcb = LCB(estimators, as_radius(10.0 ** rng.uniform(-1, 0.5, k), k))
    return Instance(f"random k={k} degree={degree} seed={seed}", lcb, rng.random(k))


def instances(k: int, seeds: int) -> Iterator[Instance]:
    """Every degree: real runs of every length, and as many random ones as of one length."""
    for seed in range(seeds):
        for degree in DEGREES:
            for rounds in TIMES:
                yield from_run(k, degree, rounds, seed)
            yield random_instance(k, degree, seed)
