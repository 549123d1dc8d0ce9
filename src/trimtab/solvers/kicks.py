"""Kicks out of a local minimum, by one knob or by all knobs of one criterion.

What is around a kick follows by exact steps. A kick costs what its surroundings cost, however
many knobs there are.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Ints
from trimtab.compiled import inner
from trimtab.solvers.curve import height
from trimtab.solvers.line import elsewhere
from trimtab.solvers.ranking import rank
from trimtab.solvers.starts import uniform
from trimtab.solvers.steps import NOBODY, face, go_down, move, revert, start
from trimtab.solvers.trail import set_mark
from trimtab.solvers.walk import Walk

FINE = 1e-4  # of the width along the knob: gains left alone
KICK_STEPS = 4  # of the descent after a kick, per knob that it concerns at first
PICK, READER = -1, -2  # what a random number decides, where a start's are about a knob


@inner
def kick_out(knobs: Ints, steps: int, patience: int, seed: int, tied: float, walk: Walk) -> None:
    """Kicks until the steps are used, those first that are uphill least; of equals the first.

    A knob whose kick has failed, and around which nothing has moved since, is passed
    over. When that is all of them, whole scopes are thrown somewhere at random. What is around
    a kick descends, and all is undone unless that gains more than the kick has cost.
    """
    trail = walk.trail
    counts, tired, lifts, order = trail.counts, trail.tired, trail.lifts, trail.order[: knobs.size]
    failed = 0
    while counts[0] < steps and failed < patience:
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
            done = counts[0] >= steps or failed >= patience
            if done or (some and lifts[j] == np.inf):
                break
            set_mark(trail)
            up = _kick(j, walk) if some else _scatter(knobs, seed, walk)
            tired[j] |= some
            counts[0] += 1
            counts[1] += 1
            kicked = j if some else NOBODY
            failed += 1
            if go_down(FINE, KICK_STEPS * trail.ends[1], kicked, walk) > up + tied:
                counts[2] += 1
                _wake(walk)
                failed = 0
            else:
                revert(walk)


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
    degree, readers = face(j, walk)
    x, up = _next_best(j, degree, readers, walk)
    return up if x != walk.s[j] else np.inf


@inner
def _kick(j: int, walk: Walk) -> float:
    """Put knob j at its next best place; by how much G rises."""
    degree, readers = face(j, walk)
    x, up = _next_best(j, degree, readers, walk)
    move(j, x, degree, walk)
    return up


@inner
def _next_best(j: int, degree: int, readers: int, walk: Walk) -> tuple[float, float]:
    """The next best place of knob j along the line just made, and by how much G rises there."""
    s, land, line = walk.s, walk.land, walk.work.line
    levels = land.levels[land.level_offsets[j] : land.level_offsets[j + 1]]
    return elsewhere(s[j], land.low[j], land.high[j], levels, degree, readers, line)


@inner
def _throw(j: int, seed: int, walk: Walk) -> float:
    """Put knob j anywhere; by how much G rises."""
    degree, readers = face(j, walk)
    line = walk.work.line
    x = start(j, -walk.trail.counts[1], seed, walk.land)
    up = height(x, degree, readers, line) - height(walk.s[j], degree, readers, line)
    move(j, x, degree, walk)
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
