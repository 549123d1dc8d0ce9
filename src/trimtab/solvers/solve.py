"""The one way to minimise a lower confidence bound; the method is chosen by structure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, number, per_item, whole
from trimtab.bases import Monomials
from trimtab.domain import BoundBalls, BoundBox
from trimtab.errors import SolverFailed
from trimtab.graph import Graph
from trimtab.lcb import LCB
from trimtab.solvers import ball, branch, cells, coordinate, discrete, gradient
from trimtab.solvers.part import Part
from trimtab.solvers.solution import TIED, Counters, Solution, better, choose
from trimtab.solvers.walk import Walk

STEPS, STEPS_PER_KNOB = 1500, 15  # one-dimensional steps of kicks in a part, at effort 1
STARTING, STARTING_PER_KNOB, MOST_STARTING = 600, 12, 1000  # and of descents from random starts
AGREED = 5  # starts that lead to the best value again, at effort 1
PATIENCE = 12  # kicks in a row that fail; from FEW knobs on SHARED / n + n / MANY
SHARED, MANY = 2500, 100
CORNERED = 0.2  # of that patience, where all knobs are at ends; otherwise the share that is inside
MOST = 2**40  # whatever the effort
STARTS = 8  # local searches of a part at effort 1, where there are no such steps
MINIMA, MIXTURES = 4, 1  # how many are mixed, and how often
LOOKUPS_PER_KNOB = 1000  # among mixtures, at effort 1
INSIDE = 0.6  # share of knobs inside their intervals from which on shakes do more than mixtures
SHAKES_PER_KNOB = 65  # steps, at effort 1,
SHAKEN_MINIMA = 3  # of so many minima together
FEW_SHAKES_PER_KNOB = 25  # the same below FEW knobs, after the kicks
FEW = 16  # knobs below which more descents and kicks do more than mixtures
BUDGET = 2**27
TOO_LARGE = (
    "the lower confidence bound is not finite at its minimum; the losses or radii are too large "
    "for floating point: rescale them"
)
ENTRIES_PER_BOX = 1000  # what a box of branch and bound is charged


def solve(
    lcb: LCB,
    current: Array,
    *,
    free: Ints | None = None,
    price: ArrayLike = 0.0,
    effort: float = 1.0,
    certify: float | None = None,
    budget: int = BUDGET,
    seed: int = 0,
) -> Solution:
    """A state of small G(s) = F(s) + sum_j price_j |s_j - current_j|.

    It is found part by part: parts share no criterion through a free knob. How, and what is
    guaranteed, is in docs/solvers.md. Ties go to the candidate nearest to the current state,
    which is one of them. The same arguments give the same answer.

    Args:
        lcb: the objective F.
        current: the state now; knobs that are not free stay there.
        free: the knobs that may move, all by default.
        price: what moving a knob by 1 costs, one number or one per knob.
        effort: how long to search where that is not exact; 0 only descends from the
            current state.
        certify: prove a lower bound, down to a gap of this share of the width at the
            solution. None takes only bounds that cost nothing.
        budget: table entries that the proof may take in each part.
        seed: of the starting points.

    Raises:
        SolverFailed: the values are too large for floating point.
    """
    problem = lcb.problem
    prices = per_item(price, problem.knobs, "price", "knob", low=0.0, strict=False)
    effort = number(effort, "effort", low=0.0, strict=False)
    budget = whole(budget, "budget", low=0)
    if certify is not None:
        certify = number(certify, "certify", low=0.0, strict=False)
    state = current.copy()
    total = Solution(state=state, value=0.0, lower_bound=0.0)
    for knobs, criteria in _parts(problem.graph, free):
        if criteria.size:
            part = Part(lcb=lcb, now=current, knobs=knobs, criteria=criteria, price=prices)
            found = _search(part, effort, seed)
            if certify is not None and found.lower_bound is None:
                found = _prove(part, found, certify, budget, seed)
            state[knobs] = found.state
            total = _sum(total, found)
    if not np.isfinite(total.value):
        raise SolverFailed(TOO_LARGE)
    return replace(total, state=state)


def _parts(graph: Graph, free: Ints | None) -> Iterable[tuple[Ints, Ints]]:
    if free is not None:
        return graph.parts(free)
    # Copies, which may be written to: kernels are compiled for one kind of array only.
    return ((knobs.copy(), criteria.copy()) for knobs, criteria in graph.components())


def _sum(a: Solution, b: Solution) -> Solution:
    known = a.lower_bound is not None and b.lower_bound is not None
    lower = (a.lower_bound or 0.0) + (b.lower_bound or 0.0)
    return Solution(a.state, a.value + b.value, lower if known else None, a.counters + b.counters)


def _search(part: Part, effort: float, seed: int) -> Solution:
    """The best state found; `state` holds the part's knobs only, here and below."""
    domain, features = part.lcb.domain, part.lcb.problem.features
    if isinstance(domain, BoundBalls):
        return ball.search(part, domain, _starts(effort), seed)
    values = discrete.candidates(part, domain, features)
    exact = None if values is None else discrete.exact(part, values)
    if exact is not None:
        return Solution(exact.values, exact.value, exact.least, Counters(entries=exact.entries))
    if not isinstance(features, Monomials):
        return gradient.search(part, domain, _starts(effort), seed)
    now, walk = part.now[part.knobs], coordinate.walk_for(part, domain, features)
    if effort == 0.0 or part.knobs.size == 1:  # one step is exact
        return _settle(part, walk, now, coordinate.Effort(), seed)
    return _explore(part, walk, domain, effort, seed)


def _explore(part: Part, walk: Walk, domain: BoundBox, effort: float, seed: int) -> Solution:
    """A search that is longer than one descent: by shakes inside the box, else at its boundary."""
    now = part.now[part.knobs]
    first = coordinate.descents(part, walk, now[None], coordinate.Effort(), seed)
    if now.size < FEW or _inside(first.states[0], part, domain) <= INSIDE:
        return _combine(part, walk, domain, first, effort, seed)
    starts, steps = _times(effort, SHAKEN_MINIMA), _times(effort, SHAKES_PER_KNOB * now.size)
    shaken = coordinate.shaken(part, walk, first, starts, steps, seed)
    best = choose(shaken.states, shaken.values, now)
    found = _settle(part, walk, shaken.states[best], coordinate.Effort(), seed)
    spent, kicks, _ = shaken.counts.tolist()
    return replace(found, counters=found.counters + Counters(steps=spent, kicks=kicks))


def _combine(
    part: Part,
    walk: Walk,
    domain: BoundBox,
    first: coordinate.Minima,
    effort: float,
    seed: int,
) -> Solution:
    """Descents from several starts, the best mixtures of what they find, and kicks from there."""
    n = part.knobs.size
    few = n < FEW
    long = _effort(part, effort)
    minima = coordinate.descents(part, walk, np.empty((0, n)), long, seed, first)
    order = np.argsort(minima.values, kind="stable")
    best = choose(minima.states, minima.values, part.now[part.knobs])
    states = minima.states[[best, *order[order != best]]][:MINIMA]
    value, steps, entries = float(minima.values.min()), int(minima.counts[0]), 0
    lookups = _times(effort, LOOKUPS_PER_KNOB * n)
    agreed = np.count_nonzero(minima.values <= value + coordinate.SAME * abs(value))
    for c in range(0 if few or agreed > AGREED else _times(effort, MIXTURES)):
        mixed = discrete.mixture(part, domain, states, lookups, seed + c)
        if mixed is None:
            break
        entries += mixed.entries
        if not mixed.value < value - TIED * abs(value):
            break
        down = coordinate.descents(part, walk, mixed.values[None], coordinate.Effort(), seed)
        value, steps = float(down.values[0]), steps + int(down.counts[0])
        states = np.concatenate([down.states, states])[:MINIMA]
    if few:
        long = long._replace(shakes=_times(effort, FEW_SHAKES_PER_KNOB * n))
    else:  # flips have kicked the knobs at ends
        inside = max(_inside(states[0], part, domain), CORNERED)
        long = long._replace(patience=_times(inside, long.patience))
    found = _settle(part, walk, states[0], long, seed)
    return replace(found, counters=found.counters + Counters(steps=steps, entries=entries))


def _inside(state: Array, part: Part, domain: BoundBox) -> float:
    """The share of the part's knobs that are inside their intervals, and not on levels."""
    j = part.knobs
    free = domain.level_offsets[j] == domain.level_offsets[j + 1]
    return float(np.mean(free & (domain.low[j] < state) & (state < domain.high[j])))


def _effort(part: Part, effort: float) -> coordinate.Effort:
    n = part.knobs.size
    return coordinate.Effort(
        steps=_times(effort, STEPS + STEPS_PER_KNOB * n),
        starting=_times(effort, min(STARTING + STARTING_PER_KNOB * n, MOST_STARTING)),
        agreed=_times(effort, AGREED),
        patience=_times(effort, PATIENCE if n < FEW else SHARED / n + n / MANY),
    )


def _settle(part: Part, walk: Walk, given: Array, effort: coordinate.Effort, seed: int) -> Solution:
    """The end of a search at the state given, unless the present state is as good."""
    found = coordinate.settle(part, walk, given, effort, seed)
    state, value = found.states[0], float(found.values[0])
    now, at_now = part.now[part.knobs], part.value(part.now)
    if better(now, at_now, state, value, now):
        state, value = now, at_now
    steps, kicks, _ = found.counts.tolist()
    return Solution(state, value, None, Counters(steps=steps, kicks=kicks))


def _starts(effort: float) -> int:
    return max(_times(effort, STARTS), 1)


def _times(effort: float, work: float) -> int:
    return int(np.ceil(min(effort * work, MOST)))


def _prove(part: Part, found: Solution, certify: float, budget: int, seed: int) -> Solution:
    """The solution with the best lower bound that the budget allows, or a better solution."""
    state = part.put(found.state)
    target = certify * float(part.lcb.terms(state, part.criteria)[1].sum())
    bound = cells.lower_bound(part, state, target=target, budget=budget)
    value, spent = bound.value, Counters(entries=bound.spent)
    if bound.upper - value > target:
        boxes = (budget - bound.spent) // ENTRIES_PER_BOX
        bound = branch.lower_bound(part, bound.state, target=target, budget=boxes)
        value, spent = max(value, bound.value), spent + Counters(boxes=bound.spent)
    counters = found.counters + spent
    if bound.upper < found.value:
        features, domain = part.lcb.problem.features, part.lcb.domain
        given = bound.state[part.knobs]
        found = replace(found, state=given, value=bound.upper)
        if isinstance(features, Monomials) and isinstance(domain, BoundBox):
            walk = coordinate.walk_for(part, domain, features)
            again = _settle(part, walk, given, coordinate.Effort(), seed)
            counters += again.counters
            found = again if again.value < found.value else found
    lower = min(value, found.value) if np.isfinite(value) else None
    return replace(found, lower_bound=lower, counters=counters)
