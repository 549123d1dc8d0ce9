"""The one way to minimise a lower confidence bound; the method is chosen by structure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases import Monomials
from trimtab.domain import BoundBalls
from trimtab.errors import SolverFailed
from trimtab.graph import Graph
from trimtab.lcb import LCB
from trimtab.solvers import ball, coordinate, gradient, levels
from trimtab.solvers.solution import Solution


def solve(
    lcb: LCB, current: Array, *, free: Ints | None = None, starts: int = 8, seed: int = 0
) -> Solution:
    """A state of small F, found part by part: parts share no criterion through a free knob.

    Where all knobs of a part have levels, and not too many combinations, or where a
    criterion is alone on a ball, the answer is exact. Otherwise it is the best of
    several local searches, the first from the current state. Ties go to the candidate
    nearest to the current state, which is one of them. The same arguments give the
    same answer.

    Args:
        lcb: the objective.
        current: the state now; knobs that are not free stay there.
        free: the knobs that may move, all by default.
        starts: local searches per part.
        seed: of the starting points.
    """
    graph = lcb.problem.graph
    now = current.copy()
    state = current.copy()
    value, lower = 0.0, 0.0
    certified = True
    for knobs, criteria in _parts(graph, free):
        if criteria.size:
            state[knobs], here, least = _part(lcb, now, knobs, criteria, starts, seed)
            value += here
            certified &= least is not None
            lower += least or 0.0
    if not np.isfinite(value):
        raise SolverFailed(
            f"the lower confidence bound is {value} at its minimum; the losses or radii "
            "are too large for floating point: rescale them"
        )
    return Solution(state=state, value=value, lower_bound=lower if certified else None)


def _parts(graph: Graph, free: Ints | None) -> Iterable[tuple[Ints, Ints]]:
    if free is not None:
        return graph.parts(free)
    # Copies, which may be written to: kernels are compiled for one kind of array only.
    return ((knobs.copy(), criteria.copy()) for knobs, criteria in graph.components())


def _part(
    lcb: LCB, now: Array, knobs: Ints, criteria: Ints, starts: int, seed: int
) -> tuple[Array, float, float | None]:
    """The best values of one part's knobs, F there, and the least F of all where it is known."""
    problem = lcb.problem
    domain, features = problem.domain, problem.features
    if isinstance(domain, BoundBalls):
        return ball.search(lcb, domain, now, knobs, criteria, starts, seed)
    if levels.enumerable(domain, problem.graph, knobs, criteria):
        return levels.enumerate_all(lcb, domain, now, knobs, criteria)
    if isinstance(features, Monomials):
        found = coordinate.search(lcb, domain, features, now, knobs, criteria, starts, seed)
    else:
        found = gradient.search(lcb, domain, now, knobs, criteria, starts, seed)
    return *found, None
