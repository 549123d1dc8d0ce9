"""The one way to minimise a lower confidence bound; the method is chosen by structure."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases import Monomials
from trimtab.domain import BoundBalls
from trimtab.errors import SolverFailed
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
    state = current.copy()
    value, exact = 0.0, True
    for knobs, criteria in graph.components() if free is None else graph.parts(free):
        if criteria.size:
            state[knobs], least, proven = _part(lcb, current, knobs, criteria, starts, seed)
            value += least
            exact &= proven
    if not np.isfinite(value):
        raise SolverFailed(
            f"the lower confidence bound is {value} at its minimum; the losses or radii "
            "are too large for floating point: rescale them"
        )
    return Solution(state=state, value=value, lower_bound=value if exact else None)


def _part(
    lcb: LCB, current: Array, knobs: Ints, criteria: Ints, starts: int, seed: int
) -> tuple[Array, float, bool]:
    """The best values of one part's knobs, F there, and whether that is proven to be the least."""
    domain, features = lcb.problem.domain, lcb.problem.features
    if isinstance(domain, BoundBalls):
        return ball.search(lcb, domain, current, knobs, criteria, starts, seed)
    if levels.enumerable(domain, knobs):
        return *levels.enumerate_all(lcb, domain, current, knobs, criteria), True
    if isinstance(features, Monomials):
        found = coordinate.search(lcb, domain, features, current, knobs, criteria, starts, seed)
    else:
        found = gradient.search(lcb, domain, current, knobs, criteria, starts, seed)
    return *found, False
