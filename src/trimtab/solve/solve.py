"""The one way to minimise a lower confidence bound; the method is chosen by structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, number, per_item, whole
from trimtab.errors import InvalidInput, SolverFailed
from trimtab.model.domain import BoundBalls, BoundBox
from trimtab.model.toll import Toll
from trimtab.solve import ball, constrained, euclidean, exact, gradient
from trimtab.solve.bound import Bound, Constraint
from trimtab.solve.certify import grid_bound
from trimtab.solve.solution import Solution
from trimtab.solve.subproblem import Part

MOST = 2**40  # whatever the effort
CONSTRAINED_STARTS = 16  # random ones at effort 1
STARTS = 8  # local searches of a part at effort 1, where there are no such steps
BUDGET = 2**27
TOO_LARGE = (
    "the lower confidence bound is not finite at its minimum; the losses or radii are too large "
    "for floating point: rescale them"
)


def solve(
    bound: Bound,
    current: Array,
    *,
    free: Ints | None = None,
    price: ArrayLike | Toll = 0.0,
    constraints: Sequence[Constraint] = (),
    effort: float = 1.0,
    certify: float | None = None,
    budget: int = BUDGET,
    seed: int = 0,
) -> Solution:
    """A state of small G(s) = F(s) + sum_j price_j |s_j - current_j|, or with another price.

    It is found part by part: parts share no criterion through a free knob. How, and what is
    guaranteed, is in docs/solvers.md. Ties go to the candidate nearest to the current state,
    which is one of them. The same arguments give the same answer.

    Args:
        bound: the objective F.
        current: the state now; knobs that are not free stay there.
        free: the knobs that may move, all by default.
        price: what moving a knob by 1 costs, one number or one per knob; or a `Toll`.
        constraints: upper bounds of other losses that must stay below their limits.
        effort: how long to search where that is not exact; 0 only descends from the
            current state.
        certify: prove a lower bound, down to a gap of this share of the width at the
            solution. None takes only bounds that cost nothing.
        budget: table entries that the proof may take in each part.
        seed: of the starting points.

    Raises:
        SolverFailed: the values are too large for floating point, or no state was found that
            satisfies the constraints.
    """
    problem = bound.problem
    effort = number(effort, "effort", low=0.0, strict=False)
    budget = whole(budget, "budget", low=0)
    if certify is not None:
        certify = number(certify, "certify", low=0.0, strict=False)
    knobs = np.arange(problem.knobs) if free is None else free
    if isinstance(price, Toll):
        if price.switch or (price.norm != "l1" and knobs.size > 1):
            linear = partial(solve, bound, current, free=free, effort=effort, seed=seed)
            proof = {"certify": certify, "budget": budget}
            return _tolled(bound, current, knobs, price, constraints, linear, proof)
        price = price.per_knob
    prices = per_item(price, problem.knobs, "price", "knob", low=0.0, strict=False)
    parts = problem.components if free is None else problem.graph.parts(free)
    state, total = current.copy(), Solution(current, 0.0, 0.0)
    for own, criteria in parts:
        if criteria.size:
            part = Part(bound=bound, now=current, knobs=own, criteria=criteria, price=prices)
            found = _search(part, effort, seed)
            if certify is not None and found.lower_bound is None:
                found = _prove(part, found, certify, budget, seed)
            state[own] = found.state
            total = _sum(total, found)
    total = replace(total, state=state)
    if not np.isfinite(total.value):
        raise SolverFailed(TOO_LARGE)
    if all(each.excess(state) <= 0.0 for each in constraints):
        return total
    if not isinstance(bound.domain, BoundBox):
        raise InvalidInput("constraints are for boxes; this domain is none")
    readers = problem.graph.readers(knobs)
    part = Part(bound=bound, now=current, knobs=knobs, criteria=readers, price=prices)
    inside = constrained.search(
        part,
        bound.domain,
        constraints,
        starts=_times(effort, CONSTRAINED_STARTS),
        seed=seed,
        tempting=state,
        polish=effort >= 1.0,
    )
    # No admissible state is below what is proven of all states.
    work = total.work + inside.work
    return Solution(part.put(inside.state), inside.value, total.lower_bound, work)


def _tolled(
    bound: Bound,
    current: Array,
    knobs: Ints,
    toll: Toll,
    constraints: Sequence[Constraint],
    linear: partial[Solution],
    proof: dict[str, Any],
) -> Solution:
    """The same with a price of any move, or the Euclidean length of the move."""
    if toll.norm == "l1" or knobs.size == 1:
        found = linear(price=toll.per_knob, constraints=constraints, **proof)
    else:
        way = replace(toll, switch=0.0)
        found = euclidean.search(bound, current, knobs, way, linear, constraints)
        if proof["certify"] is not None:
            least = linear(price=euclidean.lower_price(toll, knobs), **proof)
            found = replace(found, lower_bound=least.lower_bound)
    if not toll.switch:
        return found
    may_stay = all(each.excess(current) <= 0.0 for each in constraints)
    stay = bound.value(current, bound.problem.graph.readers(knobs)) if may_stay else np.inf
    return euclidean.with_switch(found, stay, current, toll.switch)


def _sum(a: Solution, b: Solution) -> Solution:
    known = a.lower_bound is not None and b.lower_bound is not None
    lower = (a.lower_bound or 0.0) + (b.lower_bound or 0.0)
    return Solution(a.state, a.value + b.value, lower if known else None, a.work + b.work)


def _search(part: Part, effort: float, seed: int) -> Solution:
    """The best state found; `state` holds the part's knobs only, here and below."""
    domain, starts = part.bound.domain, max(_times(effort, STARTS), 1)
    if isinstance(domain, BoundBalls):
        return ball.search(part, domain, starts, seed)
    return (
        _descend(part, part.now, effort, seed, curved=True)
        or exact.exact(part, domain)
        or _descend(part, part.now, effort, seed)
        or gradient.search(part, domain, starts, seed)
    )


def _descend(
    part: Part, start: Array, effort: float, seed: int, *, curved: bool = False
) -> Solution | None:
    """The best of descents from a start state and, with effort, from random points.

    None where the features are not monomials, and with `curved` also where levels or vertices are
    all that matters.
    """
    core = part.bound.core
    if core is None:
        return None
    found = core.minimise(
        start, part.now, part.price, part.knobs, part.criteria, effort, seed, curved
    )
    return None if found is None else Solution(found[0], found[1], None, found[2])


def _times(effort: float, work: float) -> int:
    return int(np.ceil(min(effort * work, MOST)))


def _prove(part: Part, found: Solution, certify: float, budget: int, seed: int) -> Solution:
    """The solution with the best lower bound that the budget allows, or a better solution."""
    state = part.put(found.state)
    target = certify * float(part.bound.terms(state, part.criteria)[1].sum())
    bound = grid_bound.lower_bound(part, state, target=target, budget=budget)
    work = found.work + bound.spent
    if bound.upper < found.value:
        found = replace(found, state=bound.state[part.knobs], value=bound.upper)
        again = _descend(part, bound.state, 0.0, seed)
        if again is not None:
            work += again.work
            found = again if again.value < found.value else found
    lower = min(bound.value, found.value) if np.isfinite(bound.value) else None
    return replace(found, lower_bound=lower, work=work)
