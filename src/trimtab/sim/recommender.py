"""A recommender with six knobs and eight things that people complain about."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trimtab.arrays import Array, ArrayLike
from trimtab.model.bases import Quadratic
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.sim.worlds import Gaussian, World

KNOBS = (
    "diversity mix",
    "freshness boost",
    "fairness threshold",
    "ad load",
    "cache lifetime",
    "candidate budget",
)

START = (0.1, 0.2, 0.3, 0.7, 0.2, 0.8)  # what somebody once set and nobody has touched since

Loss = Callable[..., float]

# Name, the knobs it reads, and its expected loss as a function of those knobs.
CRITERIA: tuple[tuple[str, tuple[int, ...], Loss], ...] = (
    (
        "irrelevant results",
        (0, 1, 5),
        lambda mix, fresh, budget: (
            1.1 * (mix - 0.2) ** 2 + 0.5 * (fresh - 0.35) ** 2 + 0.5 * (1 - budget) ** 2
        ),
    ),
    ("sameness", (0,), lambda mix: 0.8 * (1 - mix) ** 2),
    (
        "stale results",
        (1, 4),
        lambda fresh, cache: 0.6 * (1 - fresh) ** 2 + 0.5 * fresh * cache + 0.2 * cache**2,
    ),
    (
        "unequal exposure",
        (0, 2),
        lambda mix, fair: 1.2 * (fair - 0.75) ** 2 + 0.3 * (1 - mix) * (1 - fair),
    ),
    ("lost revenue", (2, 3), lambda fair, ads: 0.9 * (ads - 0.7) ** 2 + 0.3 * fair * (1 - ads)),
    ("annoyance", (0, 3), lambda mix, ads: 0.9 * ads**2 + 0.25 * mix * ads),
    (
        "latency",
        (4, 5),
        lambda cache, budget: (
            0.7 * budget**2 + 0.5 * budget * (1 - cache) + 0.15 * (1 - cache) ** 2
        ),
    ),
    (
        "machine cost",
        (3, 4, 5),
        lambda ads, cache, budget: 0.4 * (1 - cache) ** 2 + 0.5 * budget**2 + 0.1 * ads * budget,
    ),
)


def recommender(*, noise: float = 0.1, move_cost: ArrayLike = 0.0) -> World:
    """The simulated recommender; every loss is a quadratic of the knobs its criterion reads.

    >>> world = recommender()
    >>> world.problem
    Problem(Graph(knobs=6, criteria=8), basis=Quadratic(powers=2, normalize=True))
    """
    graph = Graph.from_scopes([scope for _, scope, _ in CRITERIA], knobs=len(KNOBS))
    problem = Problem(graph, basis=Quadratic(), move_cost=move_cost)
    theta = [_project(problem, i, loss) for i, (_, _, loss) in enumerate(CRITERIA)]
    return World(problem, theta=theta, noise=Gaussian(noise))


def _project(problem: Problem, criterion: int, loss: Loss) -> Array:
    """The parameter of a loss that lies in the span of the features: by least squares."""
    rng = np.random.default_rng(0)
    lo, hi = problem.features.offsets[criterion : criterion + 2]
    states = rng.random((4 * (hi - lo), problem.knobs))
    scope = problem.graph.scope(criterion)
    rows = np.array([problem.phi(s)[lo:hi] for s in states])
    losses = np.array([loss(*s[scope]) for s in states])
    return np.asarray(np.linalg.lstsq(rows, losses, rcond=None)[0])
