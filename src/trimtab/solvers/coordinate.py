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
from trimtab.compiled import compiled
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
from trimtab.solvers.solution import TIED, better
from trimtab.solvers.starts import uniform

STEPS = 500  # per knob, of one descent
SETTLED = 1e-11  # of the scale along the knob: gains below this are none
COARSE = 1e-4  # of the width along the knob, while it is not yet clear where to settle
START_SHARE = 3  # random starts may take one step in so many
SAME = 1e-6  # of the value: starts that lead this close to each other agree
KICK_STEPS = 4  # of the descent after a kick, per knob that it concerns at first
PICK, READER = -1, -2  # what a random number decides, where a start's are about a knob


class Effort(NamedTuple):
    """When a search has looked long enough."""

    steps: int  # of one knob, in all
    agreed: int  # starts that lead to the best value again
    patience: int  # kicks in a row that fail


class Trail(NamedTuple):
    """The knobs still to look at, and what has changed since the last mark."""

    ring: Ints  # (n,) first come, first served
    ends: Ints  # (2,) where the next one is, and how many there are
    waiting: Ints  # (k,) 1 for the knobs on it, 0 for others, -1 for those that are not free
    mark: Ints  # (1,)
    moved: Ints  # (n,) the knobs moved since
    was: Array  # (k,) where from
    moved_at: Ints  # (k,) the last mark after which a knob was moved
    changed: Ints  # (m,) the criteria changed since
    u: Array  # (sum d,) their u then
    changed_at: Ints  # (m,)
    sizes: Ints  # (2,) of moved and changed
    counts: Ints  # (3,) steps, kicks, kicks kept


class Walk(NamedTuple):
    """A search on its way."""

    s: Array  # (k,) where it is
    current: Array  # (k,) where the system is
    price: Array  # (k,)
    land: Landscape
    work: Work
    trail: Trail


def search(
    part: Part,
    domain: BoundBox,
    features: Monomials,
    given: Array,
    effort: Effort,
    seed: int,
) -> tuple[Array, float, Ints]:
    """The best state found of the free knobs, G there, and how many steps and kicks it took.

    Descents start from the present state, from the states given, (g, n), and while less
    than a third of the steps is used from random points and random corners in turn. Kicks
    from the best use the rest.
    """
    land = landscape(part.lcb, domain, features)
    return _search(land, part.now, part.knobs, part.criteria, part.price, given, effort, seed)


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
) -> tuple[Array, float, Ints]:
    steps = effort.steps
    work = prepare(land, knobs, criteria)
    trail = _trail(knobs, criteria, land)
    now, s = current[knobs], current.copy()
    walk = Walk(s, current, price, land, work, trail)
    at_now = refresh(s, criteria, land, work)
    best, value = now, at_now
    c = again = 0
    while c <= given.shape[0] or (START_SHARE * trail.counts[0] < steps and again < effort.agreed):
        here = at_now
        if c > 0:
            for n in range(knobs.size):
                j = knobs[n]
                s[j] = given[c - 1, n] if c <= given.shape[0] else _start(j, c, seed, land)
            here = refresh(s, criteria, land, work) + _toll(s, knobs, current, price)
        _remind_all(knobs, trail)
        here -= _descend(COARSE, STEPS * knobs.size, walk)
        if here < value - SAME * abs(value):
            again = 0
        elif here <= value + SAME * abs(value):
            again += 1
        if better(s[knobs], here, best, value, now):
            best, value = s[knobs], here
        c += 1
    s[knobs] = best
    refresh(s, criteria, land, work)
    _kick_out(effort, seed, TIED * abs(value), knobs, walk)
    for _ in range(STEPS):
        value = refresh(s, criteria, land, work) + _toll(s, knobs, current, price)
        polish(s, value, current, price, knobs, criteria, SETTLED, land, work)
        _remind_all(knobs, trail)
        most = trail.counts[0] + 2 * knobs.size
        _descend(0.0, 2 * knobs.size, walk)
        if trail.counts[0] < most:
            break
    value = refresh(s, criteria, land, work) + _toll(s, knobs, current, price)
    if better(now, at_now, s[knobs], value, now):
        return now, at_now, trail.counts
    return s[knobs], value, trail.counts


@compiled
def _toll(s: Array, knobs: Ints, current: Array, price: Array) -> float:
    total = 0.0
    for j in knobs:
        total += price[j] * abs(s[j] - current[j])
    return total


@compiled
def _start(j: int, c: int, seed: int, land: Landscape) -> float:
    """Where knob j starts in the c-th descent: anywhere, or for odd c in a corner."""
    x = uniform(seed, c, j)
    if c % 2 == 1:
        return float(land.low[j] if x < 0.5 else land.high[j])
    levels = land.level_offsets[j + 1] - land.level_offsets[j]
    if levels > 0:
        return float(land.levels[land.level_offsets[j] + int(x * levels)])
    return float(min(land.low[j] + x * (land.high[j] - land.low[j]), land.high[j]))


@compiled
def _trail(knobs: Ints, criteria: Ints, land: Landscape) -> Trail:
    """An empty one. Only entries that a search can reach are set: the rest may be millions."""
    k, m = land.low.size, land.radii.size
    waiting, moved_at = np.empty(k, np.int64), np.empty(k, np.int64)
    changed_at = np.empty(m, np.int64)
    for i in criteria:
        changed_at[i] = -1
        for n in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
            waiting[land.scope[n]] = -1
            moved_at[land.scope[n]] = -1
    for j in knobs:
        waiting[j] = 0
        moved_at[j] = -1
    return Trail(
        ring=np.empty(knobs.size, np.int64),
        ends=np.zeros(2, np.int64),
        waiting=waiting,
        mark=np.zeros(1, np.int64),
        moved=np.empty(knobs.size, np.int64),
        was=np.empty(k),
        moved_at=moved_at,
        changed=np.empty(criteria.size, np.int64),
        u=np.empty(land.maps.offsets[-1]),
        changed_at=changed_at,
        sizes=np.zeros(2, np.int64),
        counts=np.zeros(3, np.int64),
    )


@compiled
def _remind(j: int, trail: Trail) -> None:
    """Put knob j at the end of the queue, if it is free and not there."""
    if trail.waiting[j] == 0:
        trail.waiting[j] = 1
        end = trail.ends[0] + trail.ends[1]
        trail.ring[end if end < trail.ring.size else end - trail.ring.size] = j
        trail.ends[1] += 1


@compiled
def _remind_all(knobs: Ints, trail: Trail) -> None:
    for j in knobs:
        _remind(j, trail)


@compiled
def _next(trail: Trail) -> int:
    j = trail.ring[trail.ends[0]]
    trail.ends[0] = (trail.ends[0] + 1) % trail.ring.size
    trail.ends[1] -= 1
    trail.waiting[j] = 0
    return int(j)


@compiled
def _descend(coarse: float, most: int, walk: Walk) -> float:
    """Take knobs off the queue until it is empty; what was gained."""
    s, land, work, trail = walk.s, walk.land, walk.work, walk.trail
    gained = 0.0
    for _ in range(most):
        if trail.ends[1] == 0:
            break
        j = _next(trail)
        trail.counts[0] += 1
        degree, readers, levels = _face(j, walk)
        least = SETTLED * scale_of(degree, readers, work.line)
        if coarse > 0.0:
            least = max(least, coarse * width_of(s[j], degree, readers, work.line))
        x, gain = argmin(s[j], land.low[j], land.high[j], levels, degree, readers, work.line, least)
        if x != s[j]:
            gained += gain
            _move(j, x, degree, walk)
    while trail.ends[1] > 0:
        _next(trail)
    return gained


@compiled
def _face(j: int, walk: Walk) -> tuple[int, int, Array]:
    """Make `work.line` what G is along knob j; its degree, its readers and the knob's levels."""
    s, land, work = walk.s, walk.land, walk.work
    degree = slice_along(j, s, land, work)
    work.line.toll[0] = walk.current[j]
    work.line.toll[1] = walk.price[j]
    readers = land.touch_offsets[j + 1] - land.touch_offsets[j]
    return degree, readers, land.levels[land.level_offsets[j] : land.level_offsets[j + 1]]


@compiled
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
                _remind(land.scope[n], trail)
    put(j, x, degree, s, land, work)


@compiled
def _set_mark(trail: Trail) -> None:
    trail.mark[0] += 1
    trail.sizes[0] = 0
    trail.sizes[1] = 0


@compiled
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
            _set_mark(trail)
            if some:
                j = knobs[n]
                up = _throw(j, False, seed, walk)
                tired[j] = True
            else:
                up = _scatter(knobs, seed, walk)
            failed += 1
            if _follow(up + tied, walk):
                _wake(tired, walk)
                failed = 0


@compiled
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


@compiled
def _lift(j: int, walk: Walk) -> float:
    """By how much G rises when knob j goes to its next best place; inf where it has none."""
    s, land, line = walk.s, walk.land, walk.work.line
    degree, readers, levels = _face(j, walk)
    x = elsewhere(s[j], land.low[j], land.high[j], levels, degree, readers, line)
    if x == s[j]:
        return np.inf
    return height(x, degree, readers, line) - height(s[j], degree, readers, line)


@compiled
def _throw(j: int, anywhere: bool, seed: int, walk: Walk) -> float:
    """Put knob j anywhere, or at its next best place; by how much G rises."""
    s, land, line = walk.s, walk.land, walk.work.line
    degree, readers, levels = _face(j, walk)
    if anywhere:
        x = _start(j, -walk.trail.counts[1], seed, land)
    else:
        x = elsewhere(s[j], land.low[j], land.high[j], levels, degree, readers, line)
    up = height(x, degree, readers, line) - height(s[j], degree, readers, line)
    _move(j, x, degree, walk)
    return up


@compiled
def _follow(up: float, walk: Walk) -> bool:
    """Let the surroundings of a kick descend, and undo it all unless that gains more than `up`."""
    trail = walk.trail
    trail.counts[0] += 1
    trail.counts[1] += 1
    most = KICK_STEPS * trail.ends[1]
    gained = _descend(COARSE, most, walk)
    if gained > up:
        trail.counts[2] += 1
        return True
    _revert(walk)
    return False


@compiled
def _wake(tired: Bools, walk: Walk) -> None:
    """After a kick that was kept, every knob near what has moved is worth another."""
    land, trail = walk.land, walk.trail
    for n in range(trail.sizes[1]):
        i = trail.changed[n]
        for r in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
            if trail.waiting[land.scope[r]] >= 0:
                tired[land.scope[r]] = False
