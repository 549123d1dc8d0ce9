"""Random problems and posteriors that several test files share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from trimtab.arrays import Array, Ints
from trimtab.bases import Basis
from trimtab.domain import Box
from trimtab.estimators import NodewiseEstimators
from trimtab.graph import Graph
from trimtab.lcb import LCB
from trimtab.problem import Problem


@dataclass(frozen=True)
class Datum:
    """One observation of every criterion: means of so many rounds at a state."""

    state: Array  # (k,)
    losses: Array  # (m,) NaN where none was seen
    count: Ints  # (m,)


@dataclass(frozen=True)
class Posterior:
    """An LCB and the data it was made from."""

    lcb: LCB
    reg: Array  # (m,)
    data: list[Datum]


def random_graph(rng: np.random.Generator, k: int, m: int, *, widest: int = 3) -> Graph:
    """Scopes of different sizes, each with one of its knobs as centre."""
    sizes = rng.integers(1, min(widest, k) + 1, size=m)
    scopes = [rng.permutation(k)[:n].tolist() for n in sizes]
    return Graph.from_scopes(scopes, knobs=k, centres=[scope[-1] for scope in scopes])


@st.composite
def graphs(draw: st.DrawFn, *, most_knobs: int = 6, most_criteria: int = 5) -> Graph:
    """The same by hypothesis: m is independent of k."""
    k, m = draw(st.integers(1, most_knobs)), draw(st.integers(1, most_criteria))
    scope = st.lists(st.integers(0, k - 1), unique=True, min_size=1, max_size=4)
    scopes = draw(st.lists(scope, min_size=m, max_size=m))
    return Graph.from_scopes(scopes, knobs=k, centres=[scope[-1] for scope in scopes])


def random_data(problem: Problem, rng: np.random.Generator, *, states: int) -> list[Datum]:
    """Losses of any size at random states, some in batches, one in five missing."""
    k, m = problem.knobs, problem.criteria
    data = []
    for _ in range(states):
        losses = rng.normal(size=m)
        losses[rng.random(m) < 0.2] = np.nan
        data.append(Datum(problem.domain.sample(rng)[:k], losses, rng.integers(1, 30, size=m)))
    return data


def posterior(problem: Problem, data: list[Datum], *, reg: Array, radii: Array) -> Posterior:
    """The LCB after these observations."""
    start = problem.domain.low.copy()
    estimators = NodewiseEstimators(problem, reg=reg, factor=2.0, state=start)
    for datum in data:
        estimators.add_elsewhere(datum.losses, datum.count, datum.state)
    return Posterior(LCB(estimators, radii), reg, data)


def random_posterior(
    rng: np.random.Generator, graph: Graph, basis: Basis, *, domain: Box | None = None, states: int
) -> Posterior:
    """A posterior whose weights, regs and radii all differ from 1 and from each other."""
    m = graph.criteria
    problem = Problem(graph, basis=basis, domain=domain, weights=rng.uniform(0.3, 3.0, size=m))
    data = random_data(problem, rng, states=states)
    reg = rng.choice([0.01, 0.3, 2.0, 7.0], size=m)
    return posterior(problem, data, reg=reg, radii=rng.uniform(0.1, 2.0, size=m))
