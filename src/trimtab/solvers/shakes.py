"""Shakes of a local minimum: other radii for a while.

Where most knobs are inside their intervals, minima differ by a little of everything, and no
single knob leads from one to the next. So the criteria around a knob are given radii of half
to one and a half times their own, the knobs they read go down by these, and then by the true
ones. What is no better is undone.
"""

from __future__ import annotations

from trimtab.arrays import Ints
from trimtab.compiled import inner
from trimtab.solvers.landscape import term
from trimtab.solvers.starts import uniform
from trimtab.solvers.steps import NOBODY, go_down, remember, revert
from trimtab.solvers.trail import remind, set_mark
from trimtab.solvers.walk import Walk

QUIET, LOUD = 0.5, 1.5  # times its radius: what a criterion that is disturbed is given
SHAKEN = 100  # knobs concerned, or a few more
ROUGH, FINE = 5e-3, 2e-4  # of the width along a knob: gains left alone while disturbed, and then
MOST_STEPS = 4  # per knob concerned
PICK = -1  # what a random number decides, where others are about a criterion


@inner
def shake(knobs: Ints, n: int, seed: int, tied: float, walk: Walk) -> None:
    """Go down by other radii around a random knob, then by the true ones; undone if in vain."""
    trail = walk.trail
    set_mark(trail)
    _disturb(knobs[int(uniform(seed, n, PICK) * knobs.size)], n, seed, walk)
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
def _disturb(j: int, n: int, seed: int, walk: Walk) -> None:
    """Other radii for the criteria nearest to knob j; all knobs they read are to be looked at."""
    land, trail = walk.land, walk.trail
    looked = 0
    remind(j, trail)
    while trail.ends[1] < SHAKEN and looked < trail.ends[1]:
        near = trail.ring[(trail.ends[0] + looked) % trail.ring.size]
        looked += 1
        for c in range(land.touch_offsets[near], land.touch_offsets[near + 1]):
            i = land.touch[c]
            if trail.share[i] == 1.0:
                remember(i, walk)
                trail.share[i] = QUIET + (LOUD - QUIET) * uniform(seed, n, i)
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
