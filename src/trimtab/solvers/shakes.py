"""Shakes of a local minimum: every knob around one goes somewhere near, at random.

Where most knobs are inside their intervals, minima differ by a little of everything, and no
single knob leads from one to the next. So all knobs around one are moved a little, and go down
from there. What is no better is undone.
"""

from __future__ import annotations

from trimtab.arrays import Ints
from trimtab.compiled import inner
from trimtab.solvers.landscape import refresh, term
from trimtab.solvers.starts import uniform
from trimtab.solvers.steps import NOBODY, go_down, note, remember, revert
from trimtab.solvers.trail import remind, set_mark
from trimtab.solvers.walk import Walk

LOUDEST, QUIETEST = 0.2, 0.1  # of its interval: how far a knob goes at most, at first and last
HOPS, SHAKEN = 2, 100  # from the knob in the middle; and knobs concerned, or a few more
FINE = 1e-4  # of the width along a knob: gains left alone
MOST_STEPS = 4  # per knob concerned
PICK = -1  # what a random number decides, where others are about a knob


@inner
def shake(knobs: Ints, steps: int, seed: int, tied: float, walk: Walk) -> None:
    """Shakes around random knobs until the steps are used, the first ones the loudest."""
    counts = walk.trail.counts
    begin, n = counts[0], 0
    while counts[0] < begin + steps:
        loud = LOUDEST - (LOUDEST - QUIETEST) * (counts[0] - begin) / steps
        middle = knobs[int(uniform(seed, n, PICK) * knobs.size)]
        _shake(middle, loud, n, seed, tied, walk)
        n += 1


@inner
def _shake(j: int, loud: float, n: int, seed: int, tied: float, walk: Walk) -> None:
    """Move what is around knob j, and let it go down; undone if in vain."""
    trail = walk.trail
    set_mark(trail)
    _surround(j, walk)
    for c in range(trail.ends[1]):
        _displace(trail.ring[(trail.ends[0] + c) % trail.ring.size], loud, n, seed, walk)
    refresh(walk.s, trail.changed[: trail.sizes[1]], walk.land, walk.work)
    go_down(FINE, MOST_STEPS * trail.ends[1], int(NOBODY), walk)
    trail.counts[1] += 1
    if _gained(walk) > tied:
        trail.counts[2] += 1
    else:
        revert(walk)


@inner
def _surround(j: int, walk: Walk) -> None:
    """Put knob j and the free knobs around it on the queue."""
    land, trail = walk.land, walk.trail
    remind(j, trail)
    looked = 0
    for _ in range(HOPS):
        for _ in range(looked, trail.ends[1]):
            if trail.ends[1] >= SHAKEN:
                return
            near = trail.ring[(trail.ends[0] + looked) % trail.ring.size]
            looked += 1
            for c in range(land.touch_offsets[near], land.touch_offsets[near + 1]):
                i = land.touch[c]
                for r in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
                    remind(land.scope[r], trail)


@inner
def _displace(j: int, loud: float, n: int, seed: int, walk: Walk) -> None:
    """Put knob j somewhere near, unless it is on levels; its criteria are to be made anew."""
    s, land = walk.s, walk.land
    if land.level_offsets[j] < land.level_offsets[j + 1]:
        return
    note(j, walk)
    far = loud * (2.0 * uniform(seed, n, j) - 1.0) * (land.high[j] - land.low[j])
    s[j] = min(max(s[j] + far, land.low[j]), land.high[j])
    for c in range(land.touch_offsets[j], land.touch_offsets[j + 1]):
        remember(land.touch[c], walk)


@inner
def _gained(walk: Walk) -> float:
    """By how much G has fallen since the mark."""
    land, trail, s, current, price = walk.land, walk.trail, walk.s, walk.current, walk.price
    gained = 0.0
    for n in range(trail.sizes[1]):
        i = trail.changed[n]
        gained += term(i, trail.u, land) - term(i, walk.work.u, land)
    for n in range(trail.sizes[0]):
        j = trail.moved[n]
        gained += price[j] * (abs(trail.was[j] - current[j]) - abs(s[j] - current[j]))
    return gained
