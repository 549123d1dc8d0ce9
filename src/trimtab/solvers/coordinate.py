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

from trimtab.arrays import Array, Bools, Ints
from trimtab.bases import Monomials
from trimtab.compiled import bare, compiled
from trimtab.domain import BoundBox
from trimtab.solvers.landscape import (
    Landscape,
    Work,
    landscape,
    prepare,
    put,
    refresh,
    slice_along,
)
from trimtab.solvers.line import argmin, elsewhere, height, scale_of, width_of
from trimtab.solvers.newton import polish
from trimtab.solvers.part import Part
from trimtab.solvers.solution import TIED
from trimtab.solvers.starts import uniform
from trimtab.solvers.trail import Trail, new_trail, next_knob, remind, remind_all, set_mark

STEPS = 500  # per knob, of one descent
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


class Walk(NamedTuple):
    """A search on its way."""

    s: Array  # (k,) where it is
    current: Array  # (k,) where the system is
    price: Array  # (k,)
    land: Landscape
    work: Work
    trail: Trail


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
    land = landscape(part.lcb, domain, features)
    return Minima(
        *_search(land, part.now, part.knobs, part.criteria, part.price, given, effort, seed, False)
    )


def settle(
    part: Part, domain: BoundBox, features: Monomials, given: Array, effort: Effort, seed: int
) -> Minima:
    """The best that kicks from the state given, (n,), lead to, with all its digits."""
    land = landscape(part.lcb, domain, features)
    start, price = given[None], part.price
    return Minima(
        *_search(land, part.now, part.knobs, part.criteria, price, start, effort, seed, True)
    )


@compiled
def _search(
    land: Landscape,
    current: Array,
    knobs: Ints,
    criteria: Ints,
    price: Array,
    given: Array,
    effort: Effort,
    seed: int,
    last: bool,
) -> tuple[Array, Array, Ints]:
    work = prepare(land, knobs, criteria)
    trail = new_trail(knobs, criteria, land)
    s = current.copy()
    walk = Walk(s, current, price, land, work, trail)
    sure = given.shape[0]
    most = sure + (0 if last else MOST_STARTS)
    states, values = np.empty((most, knobs.size)), np.empty(most)
    best = np.inf
    c = again = 0
    while c < sure or (c < most and trail.counts[0] < effort.starting and again < effort.agreed):
        for n in range(knobs.size):
            j = knobs[n]
            s[j] = given[c, n] if c < sure else _start(j, c, seed, land)
        here = refresh(s, criteria, land, work) + _toll(s, knobs, current, price)
        remind_all(knobs, trail)
        here -= _descend(COARSE if last else ROUGH, STEPS * knobs.size, NOBODY, walk)
        if here < best - SAME * abs(best):
            again = 0
        elif here <= best + SAME * abs(best):
            again += 1
        best = min(best, here)
        states[c] = s[knobs]
        values[c] = here
        c += 1
    if last:
        _kick_out(effort, seed, TIED * abs(best), knobs, walk)
        values[0] = _finish(knobs, criteria, walk)
        states[0] = s[knobs]
    return states[:c], values[:c], trail.counts


@compiled
def _finish(knobs: Ints, criteria: Ints, walk: Walk) -> float:
    """Go down to the last digit; G there."""
    s, current, price, land, work, trail = walk
    for _ in range(STEPS):
        value = refresh(s, criteria, land, work) + _toll(s, knobs, current, price)
        polish(s, value, current, price, knobs, criteria, SETTLED, land, work)
        remind_all(knobs, trail)
        most = trail.counts[0] + 2 * knobs.size
        _descend(0.0, 2 * knobs.size, NOBODY, walk)
        if trail.counts[0] < most:
            break
    return refresh(s, criteria, land, work) + _toll(s, knobs, current, price)


@bare
def _toll(s: Array, knobs: Ints, current: Array, price: Array) -> float:
    total = 0.0
    for j in knobs:
        total += price[j] * abs(s[j] - current[j])
    return total


@bare
def _start(j: int, c: int, seed: int, land: Landscape) -> float:
    """Where knob j starts in the c-th descent: anywhere, or for odd c in a corner."""
    x = uniform(seed, c, j)
    if c % 2 == 1:
        return float(land.low[j] if x < 0.5 else land.high[j])
    levels = land.level_offsets[j + 1] - land.level_offsets[j]
    if levels > 0:
        return float(land.levels[land.level_offsets[j] + int(x * levels)])
    return float(min(land.low[j] + x * (land.high[j] - land.low[j]), land.high[j]))


@bare
def _descend(coarse: float, most: int, kicked: int, walk: Walk) -> float:
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


@bare
def _face(j: int, walk: Walk) -> tuple[int, int]:
    """Make `work.line` what G is along knob j; its degree and its readers."""
    s, land, work = walk.s, walk.land, walk.work
    degree = slice_along(j, s, land, work)
    work.line.toll[0] = walk.current[j]
    work.line.toll[1] = walk.price[j]
    return degree, land.touch_offsets[j + 1] - land.touch_offsets[j]


@bare
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


@bare
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


@compiled
def _kick_out(effort: Effort, seed: int, tied: float, knobs: Ints, walk: Walk) -> None:
    """Kicks until the steps are used, those first that are uphill least; of equals the first.

    A knob whose kick has failed, and around which nothing has moved since, is passed
    over. When that is all of them, whole scopes are thrown somewhere at random.
    """
    land, trail = walk.land, walk.trail
    lifts = np.empty(knobs.size)
    tired = np.empty(land.low.size, np.bool_)
    for j in knobs:
        tired[j] = False
    failed, steps, patience = 0, effort.steps, effort.patience
    while trail.counts[0] < steps and failed < patience:
        some = False
        for n in range(knobs.size):
            j = knobs[n]
            lift = np.inf if tired[j] else _lift(j, walk)
            lifts[n] = np.round(lift / tied) if tied > 0.0 else lift
            some |= lifts[n] < np.inf
            trail.counts[0] += 1 - tired[j]
        for n in np.argsort(lifts, kind="mergesort") if some else np.arange(knobs.size):
            done = trail.counts[0] >= steps or failed >= patience
            if done or (some and lifts[n] == np.inf):
                break
            set_mark(trail)
            kicked = NOBODY
            if some:
                kicked = knobs[n]
                up = _throw(kicked, False, seed, walk)
                tired[kicked] = True
            else:
                up = _scatter(knobs, seed, walk)
            failed += 1
            if _follow(up + tied, kicked, walk):
                _wake(tired, walk)
                failed = 0


@bare
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
            up += _throw(land.scope[n], True, seed, walk)
    return up


@bare
def _lift(j: int, walk: Walk) -> float:
    """By how much G rises when knob j goes to its next best place; inf where it has none."""
    s, land, line = walk.s, walk.land, walk.work.line
    degree, readers = _face(j, walk)
    levels = land.levels[land.level_offsets[j] : land.level_offsets[j + 1]]
    x = elsewhere(s[j], land.low[j], land.high[j], levels, degree, readers, line)
    if x == s[j]:
        return np.inf
    return height(x, degree, readers, line) - height(s[j], degree, readers, line)


@bare
def _throw(j: int, anywhere: bool, seed: int, walk: Walk) -> float:
    """Put knob j anywhere, or at its next best place; by how much G rises."""
    s, land, line = walk.s, walk.land, walk.work.line
    degree, readers = _face(j, walk)
    if anywhere:
        x = _start(j, -walk.trail.counts[1], seed, land)
    else:
        levels = land.levels[land.level_offsets[j] : land.level_offsets[j + 1]]
        x = elsewhere(s[j], land.low[j], land.high[j], levels, degree, readers, line)
    up = height(x, degree, readers, line) - height(s[j], degree, readers, line)
    _move(j, x, degree, walk)
    return up


@bare
def _follow(up: float, kicked: int, walk: Walk) -> bool:
    """Let the surroundings of a kick descend, and undo it all unless that gains more than `up`."""
    trail = walk.trail
    trail.counts[0] += 1
    trail.counts[1] += 1
    most = KICK_STEPS * trail.ends[1]
    gained = _descend(COARSE, most, kicked, walk)
    if gained > up:
        trail.counts[2] += 1
        return True
    _revert(walk)
    return False


@bare
def _wake(tired: Bools, walk: Walk) -> None:
    """After a kick that was kept, every knob near what has moved is worth another."""
    land, trail = walk.land, walk.trail
    for n in range(trail.sizes[1]):
        i = trail.changed[n]
        for r in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
            if trail.waiting[land.scope[r]] >= 0:
                tired[land.scope[r]] = False
