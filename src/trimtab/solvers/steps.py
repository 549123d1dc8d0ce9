r"""Exact steps by one knob at a time, and the way back.

A step takes one knob to its best place, all others fixed. Those whose criteria have changed by it
wait to be looked at again. What a search has changed since its last mark can be undone.
"""

from __future__ import annotations

from trimtab.compiled import inner
from trimtab.solvers.landscape import Landscape, put, slice_along
from trimtab.solvers.line import argmin
from trimtab.solvers.starts import uniform
from trimtab.solvers.trail import next_knob, remind
from trimtab.solvers.walk import Walk

BACK = 1e-3  # of its interval: a knob this close to where it was has come back
NOBODY = -1


@inner
def go_down(coarse: float, most: int, kicked: int, walk: Walk) -> float:
    """Take knobs off the queue until it is empty, or the one kicked is back; what was gained."""
    s, land, work, trail = walk.s, walk.land, walk.work, walk.trail
    gained = 0.0
    for _ in range(most):
        if trail.ends[1] == 0:
            break
        j = next_knob(trail)
        trail.counts[0] += 1
        degree, readers = face(j, walk)
        levels = land.levels[land.level_offsets[j] : land.level_offsets[j + 1]]
        x, gain = argmin(
            s[j], land.low[j], land.high[j], levels, degree, readers, work.line, coarse
        )
        if x != s[j]:
            gained += gain
            move(j, x, degree, walk)
            if j == kicked and abs(x - trail.was[j]) <= BACK * (land.high[j] - land.low[j]):
                break
    while trail.ends[1] > 0:
        next_knob(trail)
    return gained


@inner
def face(j: int, walk: Walk) -> tuple[int, int]:
    """Make `work.line` what G is along knob j; its degree and its readers."""
    s, land, work = walk.s, walk.land, walk.work
    degree = slice_along(j, s, land, work)
    work.line.toll[0] = walk.current[j]
    work.line.toll[1] = walk.price[j]
    return degree, int(land.touch_offsets[j + 1] - land.touch_offsets[j])


@inner
def move(j: int, x: float, degree: int, walk: Walk) -> None:
    """Put knob j at x along the line just made; remember what was, and whom it concerns."""
    s, land, work, trail = walk.s, walk.land, walk.work, walk.trail
    note(j, walk)
    for c in range(land.touch_offsets[j], land.touch_offsets[j + 1]):
        i = land.touch[c]
        remember(i, walk)
        for n in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
            if land.scope[n] != j:
                remind(land.scope[n], trail)
    put(j, x, degree, s, land, work)


@inner
def note(j: int, walk: Walk) -> None:
    """Keep where knob j is, if it has not been moved since the mark."""
    trail = walk.trail
    if trail.moved_at[j] != trail.mark[0]:
        trail.moved_at[j] = trail.mark[0]
        trail.moved[trail.sizes[0]] = j
        trail.sizes[0] += 1
        trail.was[j] = walk.s[j]


@inner
def remember(i: int, walk: Walk) -> None:
    """Keep what criterion i is, if it has not changed since the mark."""
    trail, offsets = walk.trail, walk.land.maps.offsets
    if trail.changed_at[i] != trail.mark[0]:
        trail.changed_at[i] = trail.mark[0]
        trail.changed[trail.sizes[1]] = i
        trail.sizes[1] += 1
        for f in range(offsets[i], offsets[i + 1]):
            trail.u[f] = walk.work.u[f]


@inner
def revert(walk: Walk) -> None:
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
def start(j: int, c: int, seed: int, land: Landscape) -> float:
    """Where knob j starts in the c-th descent: anywhere, or for odd c in a corner."""
    x = uniform(seed, c, j)
    if c % 2 == 1:
        return float(land.low[j] if x < 0.5 else land.high[j])
    levels = land.level_offsets[j + 1] - land.level_offsets[j]
    if levels > 0:
        return float(land.levels[land.level_offsets[j] + int(x * levels)])
    return float(min(land.low[j] + x * (land.high[j] - land.low[j]), land.high[j]))
