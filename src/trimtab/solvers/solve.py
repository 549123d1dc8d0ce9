"""The one way to minimise a lower confidence bound; the method is chosen by structure."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array
from trimtab.bases import Monomials
from trimtab.errors import SolverFailed
from trimtab.lcb import LCB
from trimtab.solvers import coordinate, gradient
from trimtab.solvers.solution import Solution, choose

STARTS = 8


def solve(
    lcb: LCB, current: Array, *, starts: int = STARTS, seed: tuple[int, ...] = (0,)
) -> Solution:
    """A state of small F, the best of several local searches per connected component.

    The first search starts from the current state, the others from random points
    and random corners in turn. Components share no criterion, so each is solved by
    itself. Ties go to the candidate nearest to the current state, which is one of
    them. The same arguments give the same answer.
    """
    problem = lcb.problem
    rng = np.random.default_rng(seed)
    points = np.array(
        [current, *(_start(problem.domain.sample(rng), lcb, rng, n) for n in range(1, starts))]
    )
    features = problem.features
    land = (
        coordinate.landscape(lcb, features, problem.all_criteria)
        if isinstance(features, Monomials)
        else None
    )
    state = current.copy()
    value = 0.0
    for knobs, criteria in problem.graph.components():
        if criteria.size == 0:
            continue
        candidates = np.repeat(current[None], starts + 1, axis=0)
        candidates[1:, knobs] = points[:, knobs]
        if land is not None:
            values = coordinate.descend(land, candidates[1:], knobs, criteria)
        else:
            values = gradient.descend(lcb, candidates[1:], knobs, criteria)
        values = np.concatenate(([lcb.value(current, criteria)], values))
        if not np.isfinite(values).all():
            raise SolverFailed(
                f"the lower confidence bound is {values[~np.isfinite(values)][0]} at a candidate; "
                "losses of this size do not fit into floating point: rescale them"
            )
        best = choose(candidates[:, knobs], values, current[knobs])
        state[knobs] = candidates[best, knobs]
        value += values[best]
    return Solution(state=state, value=float(value), lower_bound=None, starts=starts)


def _start(point: Array, lcb: LCB, rng: np.random.Generator, n: int) -> Array:
    """The n-th start: a random point, or for odd n a random corner."""
    domain = lcb.problem.domain
    if n % 2:
        return np.where(rng.random(point.size) < 0.5, domain.low, domain.high)
    return point
