"""The one way to minimise a lower confidence bound; the method is chosen by structure."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases import Monomials
from trimtab.errors import SolverFailed
from trimtab.lcb import LCB
from trimtab.solvers import coordinate, gradient, levels
from trimtab.solvers.solution import Solution


def solve(
    lcb: LCB, current: Array, *, free: Ints | None = None, starts: int = 8, seed: int = 0
) -> Solution:
    """A state of small F, found part by part: parts share no criterion through a free knob.

    Where all knobs of a part have levels, and not too many combinations, the answer
    is exact. Otherwise it is the best of several local searches, the first from the
    current state. Ties go to the candidate nearest to the current state, which is one
    of them. The same arguments give the same answer.

    Args:
        lcb: the objective.
        current: the state now; knobs that are not free stay there.
        free: the knobs that may move, all by default.
        starts: local searches per part.
        seed: of the starting points.
    """
    graph, features = lcb.problem.graph, lcb.problem.features
    state = current.copy()
    value, exact = 0.0, True
    for knobs, criteria in graph.components() if free is None else graph.parts(free):
        if criteria.size == 0:
            continue
        if levels.enumerable(lcb, knobs):
            best, least = levels.enumerate_all(lcb, current, knobs, criteria)
        elif isinstance(features, Monomials):
            exact = False
            best, least = coordinate.search(lcb, features, current, knobs, criteria, starts, seed)
        else:
            exact = False
            best, least = gradient.search(lcb, current, knobs, criteria, starts, seed)
        state[knobs] = best
        value += least
    if not np.isfinite(value):
        raise SolverFailed(
            f"the lower confidence bound is {value} at its minimum; the losses or radii "
            "are too large for floating point: rescale them"
        )
    return Solution(state=state, value=value, lower_bound=value if exact else None)
