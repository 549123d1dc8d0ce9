"""Shakes of a local minimum: other radii for a while.

Where most knobs are inside their intervals, minima differ by a little of everything, and no
single knob leads from one to the next. So the criteria around a knob are given other radii, the
knobs they read go down by these, and then by the true ones. What is no better is undone.
"""

from __future__ import annotations

from trimtab.arrays import Ints
from trimtab.compiled import inner
from trimtab.solvers.landscape import term
from trimtab.solvers.starts import uniform
from trimtab.solvers.steps import NOBODY, go_down, remember, revert
from trimtab.solvers.trail import remind, set_mark
from trimtab.solvers.walk import Walk

LOUDEST, QUIETEST = 1.0, 0.2  # by what share of its radius a criterion is disturbed, at most
HOPS, SHAKEN = 4, 100  # from the knob in the middle; and knobs concerned, or a few more
ROUGH, FINE = 5e-3, 2e-4  # of the width along a knob: gains left alone while disturbed, and then
MOST_STEPS = 4  # per knob concerned
PICK = -1  # what a random number decides, where others are about a criterion


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
    """Go down by other radii around knob j, then by the true ones; undone if in vain."""
    trail = walk.trail
    set_mark(trail)
    _disturb(j, loud, n, seed, walk)
    disturbed = trail.sizes[1]
    go_down(ROUGH, MOST_STEPS * trail.ends[1], int(NOBODY), walk)
    for c in range(disturbed):
        trail.share[trail.changed[c]] = 1.0
        _remind_scope(trail.changed[c], walk)
    go_down(FINE, MOST_STEPS * trail.ends[1], int(NOBODY), walk)
    trail.counts[1] += 1
    if _gained(walk) > tied:
        trail.counts[2] += 1
    else:
        revert(walk)


@inner
def _disturb(j: int, loud: float, n: int, seed: int, walk: Walk) -> None:
    """Other radii for the criteria nearest to knob j; all knobs they read are to be looked at."""
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
                if trail.share[i] == 1.0:
                    remember(i, walk)
                    trail.share[i] = 1.0 + loud * (2.0 * uniform(seed, n, i) - 1.0)
                    _remind_scope(i, walk)


@inner
def _remind_scope(i: int, walk: Walk) -> None:
    """Put the free knobs that criterion i reads at the end of the queue."""
    land = walk.land
    for n in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
        remind(land.scope[n], walk.trail)


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
