r"""Search for monomial bases: exact one-dimensional steps, and ways out of local minima.

A *descent* takes one knob after another to its best place, all others fixed, and
comes back to those whose criteria have changed since (`steps`). It ends in a state that no
single knob can improve. From there *kicks* put one knob, or all knobs of one criterion,
somewhere else, and *shakes* move all knobs around one a little; the surroundings follow,
and what is no better is undone. Until it is clear which minimum to settle in, gains that are
small against the width are left alone; then Newton's method and a last descent find the digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases import Monomials
from trimtab.compiled import bare, inner
from trimtab.domain import BoundBox
from trimtab.solvers.kicks import kick_out
from trimtab.solvers.landscape import prepare, refresh
from trimtab.solvers.line import SETTLED
from trimtab.solvers.newton import polish
from trimtab.solvers.part import Part
from trimtab.solvers.shakes import shake
from trimtab.solvers.solution import TIED
from trimtab.solvers.steps import NOBODY, go_down, start
from trimtab.solvers.trail import begin, remind_all
from trimtab.solvers.walk import Walk, walk_of

STEPS, LAST_STEPS = 500, 2  # per knob, of one descent and of the last
NEWTON_STEPS, FEW_NEWTON_STEPS = 50, 4  # for the last digits, and to tell two minima apart
ROUGH, COARSE = 2e-3, 1e-4  # of the width along the knob: gains left alone at first, and then
MOST_STARTS = 64  # at random
SAME = 1e-6  # of the value: starts that lead this close to each other agree


class Effort(NamedTuple):
    """When a search has looked long enough."""

    starting: int = 0  # steps after which there are no more random starts
    agreed: int = 0  # starts that lead to the best value again
    steps: int = 0  # of kicks
    patience: int = 0  # kicks in a row that fail
    shakes: int = 0  # steps of shakes


class Minima(NamedTuple):
    """Where descents have ended."""

    states: Array  # (c, n) of the free knobs
    values: Array  # (c,) G there
    counts: Ints  # (3,) steps, kicks, kicks kept


def walk_for(part: Part, domain: BoundBox, features: Monomials) -> Walk:
    """What all searches of a part take: made once, since every factor is inverted for it."""
    walk = walk_of(part.lcb, domain, features)
    prepare(part.criteria, walk.land, walk.work)
    return walk


def descents(
    part: Part,
    walk: Walk,
    given: Array,
    effort: Effort,
    seed: int,
    known: Minima | None = None,
) -> Minima:
    """Local minima from the states given, (g, n), and from random points and corners in turn.

    There are random ones as long as there are steps for them and they do not agree. Those
    known before come first, and their steps count.
    """
    _begin(part, walk)
    knobs, s, counts = part.knobs, walk.s, walk.trail.counts
    states: list[Array] = []
    values: list[float] = []
    best = np.inf
    again = 0
    if known is not None:
        states += list(known.states)
        values += known.values.tolist()
        best = min(values)
        counts += known.counts
    fixed = len(states) + len(given)
    for c in range(len(states), fixed + MOST_STARTS):
        if c >= fixed and (counts[0] >= effort.starting or again >= effort.agreed):
            break
        if c < fixed:
            s[knobs] = given[c - fixed]
        else:
            throw_all(knobs, c, seed, walk)
        here = search(knobs, part.criteria, ROUGH, Effort(), seed, False, walk)
        if here < best - SAME * abs(best):
            again = 0
        elif here <= best + SAME * abs(best):
            again += 1
        best = min(best, here)
        states.append(s[knobs])
        values.append(here)
    return Minima(np.stack(states), np.array(values), counts.copy())


def shaken(part: Part, walk: Walk, first: Minima, starts: int, steps: int, seed: int) -> Minima:
    """Local minima that shakes lead to from the first one known and from random points.

    They have most of their digits. The steps are for all of them together.
    """
    _begin(part, walk)
    knobs, criteria, s = part.knobs, part.criteria, walk.s
    states, values = np.empty((starts, knobs.size)), np.empty(starts)
    effort = Effort(shakes=steps // starts)
    for c in range(starts):
        if c == 0:
            s[knobs] = first.states[0]
        else:
            throw_all(knobs, 2 * c, seed, walk)
        search(knobs, criteria, ROUGH, effort, seed + c, False, walk)
        values[c] = polish_all(knobs, criteria, FEW_NEWTON_STEPS, walk)
        states[c] = s[knobs]
    return Minima(states, values, first.counts + walk.trail.counts)


def settle(part: Part, walk: Walk, given: Array, effort: Effort, seed: int) -> Minima:
    """The best that kicks from the state given, (n,), lead to, with all its digits."""
    _begin(part, walk)
    knobs, criteria = part.knobs, part.criteria
    walk.s[knobs] = given
    value = search(knobs, criteria, COARSE, effort, seed, True, walk)
    return Minima(walk.s[knobs][None], np.array([value]), walk.trail.counts.copy())


def _begin(part: Part, walk: Walk) -> None:
    """Put the walk at the present state, with nothing behind it."""
    walk.s[:] = walk.current[:] = part.now
    walk.price[:] = part.price
    begin(part.knobs, part.criteria, walk.land, walk.trail)


@bare
def set_out(knobs: Ints, criteria: Ints, walk: Walk) -> None:
    """Prepare for a search of these knobs."""
    prepare(criteria, walk.land, walk.work)
    begin(knobs, criteria, walk.land, walk.trail)


@bare
def search(
    knobs: Ints, criteria: Ints, coarse: float, effort: Effort, seed: int, last: bool, walk: Walk
) -> float:
    """G after a descent from s, kicks if there is effort for them, and the last digits if asked.

    One kernel for all that Python wants of a search, since most of them is the same code.
    """
    value = descend(knobs, criteria, coarse, STEPS, walk)
    if effort.steps > 0:
        kick_out(knobs, effort.steps, effort.patience, seed, TIED * abs(value), walk)
    if effort.shakes > 0:
        shake(knobs, effort.shakes, seed, TIED * abs(value), walk)
    return finish(knobs, criteria, walk) if last else value


@inner
def finish(knobs: Ints, criteria: Ints, walk: Walk) -> float:
    """Go down to the last digit, by all knobs together and then by each; G there."""
    counts = walk.trail.counts
    while True:
        polish_all(knobs, criteria, NEWTON_STEPS, walk)
        most = counts[0] + LAST_STEPS * knobs.size
        value = descend(knobs, criteria, 0.0, LAST_STEPS, walk)
        if counts[0] < most:
            return value


@inner
def _value(knobs: Ints, criteria: Ints, walk: Walk) -> float:
    """G at s, from scratch."""
    s, current, price = walk.s, walk.current, walk.price
    value = refresh(s, criteria, walk.land, walk.work)
    for j in knobs:
        value += price[j] * abs(s[j] - current[j])
    return value


@inner
def descend(knobs: Ints, criteria: Ints, coarse: float, most: int, walk: Walk) -> float:
    """Go down from s by single knobs until none gains more than this share of its width; G there.

    At most so many steps for each knob.
    """
    value = _value(knobs, criteria, walk)
    walk.trail.start[0] = value
    remind_all(knobs, walk.trail)
    return value - go_down(coarse, most * knobs.size, int(NOBODY), walk)


@bare
def polish_all(knobs: Ints, criteria: Ints, most: int, walk: Walk) -> float:
    """Go down from s by all knobs together, so many steps at most; G there."""
    s, current, price = walk.s, walk.current, walk.price
    land, work, model = walk.land, walk.work, walk.model
    value = _value(knobs, criteria, walk)
    free = walk.trail.waiting
    return polish(s, value, current, price, knobs, criteria, SETTLED, land, work, model, free, most)


@bare
def throw_all(knobs: Ints, c: int, seed: int, walk: Walk) -> None:
    """Put the knobs where the c-th descent starts."""
    for j in knobs:
        walk.s[j] = start(j, c, seed, walk.land)
