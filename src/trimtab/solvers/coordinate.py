r"""Search for monomial bases: exact one-dimensional steps, and kicks out of local minima.

A *descent* takes one knob after another to its best place, all others fixed, and
comes back to those whose criteria have changed since. It ends in a state that no single
knob can improve. From there a *kick* puts one knob, or all knobs of one criterion,
somewhere else and lets the surroundings follow; what is no better is undone. A kick
costs what its surroundings cost, however many knobs there are. Until it is clear which
minimum to settle in, gains that are small against the width are left alone; then
Newton's method and a last descent find the digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases import Monomials
from trimtab.compiled import bare, inner
from trimtab.domain import BoundBox
from trimtab.solvers.landscape import Landscape, prepare, put, refresh, slice_along
from trimtab.solvers.line import argmin, elsewhere, height, scale_of, width_of
from trimtab.solvers.newton import polish
from trimtab.solvers.part import Part
from trimtab.solvers.ranking import rank
from trimtab.solvers.solution import TIED
from trimtab.solvers.starts import uniform
from trimtab.solvers.trail import begin, next_knob, remind, remind_all, set_mark
from trimtab.solvers.walk import Walk, walk_of

STEPS, LAST_STEPS = 500, 2  # per knob, of one descent and of the last
SETTLED = 1e-11  # of the scale along the knob: gains below this are none
ROUGH, COARSE = 2e-3, 1e-4  # of the width along the knob: gains left alone at first, and by kicks
MOST_STARTS = 64  # at random
SAME = 1e-6  # of the value: starts that lead this close to each other agree
KICK_STEPS = 4  # of the descent after a kick, per knob that it concerns at first
BACK = 1e-3  # of its interval: a knob this close to where it was has come back
NOBODY = -1
PICK, READER = -1, -2  # what a random number decides, where a start's are about a knob


class Effort(NamedTuple):
    """When a search has looked long enough."""

    starting: int = 0  # steps after which there are no more random starts
    agreed: int = 0  # starts that lead to the best value again
    steps: int = 0  # of kicks
    patience: int = 0  # kicks in a row that fail


class Minima(NamedTuple):
    """Where descents have ended."""

    states: Array  # (c, n) of the free knobs
    values: Array  # (c,) G there
    counts: Ints  # (3,) steps, kicks, kicks kept


def descents(
    part: Part, domain: BoundBox, features: Monomials, given: Array, effort: Effort, seed: int
) -> Minima:
    """Local minima from the states given, (g, n), and from random points and corners in turn.

    There are random ones as long as there are steps for them and they do not agree.
    """
    walk = _prepared(part, domain, features)
    knobs, s, counts = part.knobs, walk.s, walk.trail.counts
    states, values = [], []
    best = np.inf
    again = 0
    for c in range(len(given) + MOST_STARTS):
        if c >= len(given) and (counts[0] >= effort.starting or again >= effort.agreed):
            break
        if c < len(given):
            s[knobs] = given[c]
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


def settle(
    part: Part, domain: BoundBox, features: Monomials, given: Array, effort: Effort, seed: int
) -> Minima:
    """The best that kicks from the state given, (n,), lead to, with all its digits."""
    walk = _prepared(part, domain, features)
    knobs, criteria = part.knobs, part.criteria
    walk.s[knobs] = given
    value = search(knobs, criteria, COARSE, effort, seed, True, walk)
    return Minima(walk.s[knobs][None], np.array([value]), walk.trail.counts.copy())


def _prepared(part: Part, domain: BoundBox, features: Monomials) -> Walk:
    """The walk, at the present state and with nothing behind it."""
    walk = walk_of(part.lcb, domain, features)
    walk.s[:] = walk.current[:] = part.now
    walk.price[:] = part.price
    set_out(part.knobs, part.criteria, walk)
    return walk


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
        _kick_out(knobs, effort, seed, TIED * abs(value), walk)
    return finish(knobs, criteria, walk) if last else value


@inner
def finish(knobs: Ints, criteria: Ints, walk: Walk) -> float:
    """Go down to the last digit, by all knobs together and then by each; G there."""
    counts = walk.trail.counts
    while True:
        polish_all(knobs, criteria, walk)
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
    return value - _go_down(coarse, most * knobs.size, int(NOBODY), walk)


@bare
def polish_all(knobs: Ints, criteria: Ints, walk: Walk) -> float:
    """Go down from s by all knobs together; G there."""
    s, current, price = walk.s, walk.current, walk.price
    land, work, model = walk.land, walk.work, walk.model
    value = _value(knobs, criteria, walk)
    free = walk.trail.waiting
    return polish(s, value, current, price, knobs, criteria, SETTLED, land, work, model, free)


@bare
def throw_all(knobs: Ints, c: int, seed: int, walk: Walk) -> None:
    """Put the knobs where the c-th descent starts."""
    for j in knobs:
        walk.s[j] = _start(j, c, seed, walk.land)


@inner
def _start(j: int, c: int, seed: int, land: Landscape) -> float:
    """Where knob j starts in the c-th descent: anywhere, or for odd c in a corner."""
    x = uniform(seed, c, j)
    if c % 2 == 1:
        return float(land.low[j] if x < 0.5 else land.high[j])
    levels = land.level_offsets[j + 1] - land.level_offsets[j]
    if levels > 0:
        return float(land.levels[land.level_offsets[j] + int(x * levels)])
    return float(min(land.low[j] + x * (land.high[j] - land.low[j]), land.high[j]))


@inner
def _go_down(coarse: float, most: int, kicked: int, walk: Walk) -> float:
    """Take knobs off the queue until it is empty, or the one kicked is back; what was gained."""
    s, land, work, trail = walk.s, walk.land, walk.work, walk.trail
    gained = 0.0
    for _ in range(most):
        if trail.ends[1] == 0:
            break
        j = next_knob(trail)
        trail.counts[0] += 1
        degree, readers = _face(j, walk)
        least = SETTLED * scale_of(degree, readers, work.line)
        if coarse > 0.0:
            least = max(least, coarse * width_of(s[j], degree, readers, work.line))
        levels = land.levels[land.level_offsets[j] : land.level_offsets[j + 1]]
        x, gain = argmin(s[j], land.low[j], land.high[j], levels, degree, readers, work.line, least)
        if x != s[j]:
            gained += gain
            _move(j, x, degree, walk)
            if j == kicked and abs(x - trail.was[j]) <= BACK * (land.high[j] - land.low[j]):
                break
    while trail.ends[1] > 0:
        next_knob(trail)
    return gained


@inner
def _face(j: int, walk: Walk) -> tuple[int, int]:
    """Make `work.line` what G is along knob j; its degree and its readers."""
    s, land, work = walk.s, walk.land, walk.work
    degree = slice_along(j, s, land, work)
    work.line.toll[0] = walk.current[j]
    work.line.toll[1] = walk.price[j]
    return degree, land.touch_offsets[j + 1] - land.touch_offsets[j]


@inner
def _move(j: int, x: float, degree: int, walk: Walk) -> None:
    """Put knob j at x along the line just made; remember what was, and whom it concerns."""
    s, land, work, trail = walk.s, walk.land, walk.work, walk.trail
    offsets, mark = land.maps.offsets, trail.mark[0]
    if trail.moved_at[j] != mark:
        trail.moved_at[j] = mark
        trail.moved[trail.sizes[0]] = j
        trail.sizes[0] += 1
        trail.was[j] = s[j]
    for c in range(land.touch_offsets[j], land.touch_offsets[j + 1]):
        i = land.touch[c]
        if trail.changed_at[i] != mark:
            trail.changed_at[i] = mark
            trail.changed[trail.sizes[1]] = i
            trail.sizes[1] += 1
            for f in range(offsets[i], offsets[i + 1]):
                trail.u[f] = work.u[f]
        for n in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
            if land.scope[n] != j:
                remind(land.scope[n], trail)
    put(j, x, degree, s, land, work)


@inner
def _revert(walk: Walk) -> None:
    """Back to the last mark."""
    land, work, trail = walk.land, walk.work, walk.trail
    offsets = land.maps.offsets
    for n in range(trail.sizes[0]):
        j = trail.moved[n]
        walk.s[j] = trail.was[j]
    for n in range(trail.sizes[1]):
        i = trail.changed[n]
        for f in range(offsets[i], offsets[i + 1]):
            work.u[f] = trail.u[f]


@inner
def _kick_out(knobs: Ints, effort: Effort, seed: int, tied: float, walk: Walk) -> None:
    """Kicks until the steps are used, those first that are uphill least; of equals the first.

    A knob whose kick has failed, and around which nothing has moved since, is passed
    over. When that is all of them, whole scopes are thrown somewhere at random. What is around
    a kick descends, and all is undone unless that gains more than the kick has cost.
    """
    trail = walk.trail
    counts, tired, lifts, order = trail.counts, trail.tired, trail.lifts, trail.order[: knobs.size]
    failed = 0
    while counts[0] < effort.steps and failed < effort.patience:
        some = False
        for n in range(knobs.size):
            j = order[n] = knobs[n]
            lift = np.inf if tired[j] else _lift(j, walk)
            lifts[j] = np.rint(lift / tied) if tied > 0.0 else lift
            some |= lifts[j] < np.inf
            counts[0] += 1 - tired[j]
        if some:
            rank(order, lifts)
        for j in order:
            done = counts[0] >= effort.steps or failed >= effort.patience
            if done or (some and lifts[j] == np.inf):
                break
            set_mark(trail)
            up = _kick(j, walk) if some else _scatter(knobs, seed, walk)
            tired[j] |= some
            counts[0] += 1
            counts[1] += 1
            kicked = j if some else NOBODY
            failed += 1
            if _go_down(COARSE, KICK_STEPS * trail.ends[1], kicked, walk) > up + tied:
                counts[2] += 1
                _wake(walk)
                failed = 0
            else:
                _revert(walk)


@inner
def _scatter(knobs: Ints, seed: int, walk: Walk) -> float:
    """Put the free knobs of a random criterion anywhere; by how much G rises."""
    land, trail = walk.land, walk.trail
    made = trail.counts[1]
    j = knobs[int(uniform(seed, made, PICK) * knobs.size)]
    first, last = land.touch_offsets[j], land.touch_offsets[j + 1]
    i = land.touch[first + int(uniform(seed, made, READER) * (last - first))]
    up = 0.0
    for n in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
        if trail.waiting[land.scope[n]] >= 0:
            up += _throw(land.scope[n], seed, walk)
    return up


@inner
def _lift(j: int, walk: Walk) -> float:
    """By how much G rises when knob j goes to its next best place; inf where it has none."""
    s, land, line = walk.s, walk.land, walk.work.line
    degree, readers = _face(j, walk)
    levels = land.levels[land.level_offsets[j] : land.level_offsets[j + 1]]
    x = elsewhere(s[j], land.low[j], land.high[j], levels, degree, readers, line)
    if x == s[j]:
        return np.inf
    return height(x, degree, readers, line) - height(s[j], degree, readers, line)


@inner
def _kick(j: int, walk: Walk) -> float:
    """Put knob j at its next best place; by how much G rises."""
    s, land, line = walk.s, walk.land, walk.work.line
    degree, readers = _face(j, walk)
    levels = land.levels[land.level_offsets[j] : land.level_offsets[j + 1]]
    x = elsewhere(s[j], land.low[j], land.high[j], levels, degree, readers, line)
    return _jump(j, x, degree, readers, walk)


@inner
def _throw(j: int, seed: int, walk: Walk) -> float:
    """Put knob j anywhere; by how much G rises."""
    degree, readers = _face(j, walk)
    x = _start(j, -walk.trail.counts[1], seed, walk.land)
    return _jump(j, x, degree, readers, walk)


@inner
def _jump(j: int, x: float, degree: int, readers: int, walk: Walk) -> float:
    """Put knob j at x along the line just made; by how much G rises."""
    line = walk.work.line
    up = height(x, degree, readers, line) - height(walk.s[j], degree, readers, line)
    _move(j, x, degree, walk)
    return up


@inner
def _wake(walk: Walk) -> None:
    """After a kick that was kept, every knob near what has moved is worth another."""
    land, trail = walk.land, walk.trail
    for n in range(trail.sizes[1]):
        i = trail.changed[n]
        for r in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
            if trail.waiting[land.scope[r]] >= 0:
                trail.tired[land.scope[r]] = False
