"""What a search by single knobs keeps beside its state: a queue, and what has changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Bools, Ints
from trimtab.compiled import Structure, bare, inner
from trimtab.solvers.landscape import Landscape
from trimtab.solvers.newton import Model


@dataclass(frozen=True, kw_only=True, eq=False)
class Trail(Structure):
    """The knobs still to look at, and what has changed since the last mark.

    Those marked * are lost when Newton's method polishes a state, which is done between
    searches only, when the queue is empty and nothing will be undone.
    """

    ring: Ints  # (k,) * first come, first served
    ends: Ints  # (2,) where the next one is, and how many there are
    waiting: Ints  # (k,) 1 for the knobs on it, 0 for others, -1 for those that are not free
    mark: Ints  # (1,)
    moved: Ints  # (k,) * the knobs moved since
    was: Array  # (k,) * where from
    moved_at: Ints  # (k,) the last mark after which a knob was moved
    changed: Ints  # (m,) * the criteria changed since
    u: Array  # (sum d,) * their u then
    changed_at: Ints  # (m,)
    sizes: Ints  # (2,) of moved and changed
    counts: Ints  # (3,) steps, kicks, kicks kept
    start: Array  # (1,) G where the last descent began
    tired: Bools  # (k,) kicked in vain, with nothing around it moved since
    lifts: Array  # (k,) * how far uphill a kick would be
    order: Ints  # (k,) * and the knobs in that order


def new_trail(land: Landscape, model: Model) -> Trail:
    """Room for a search of all knobs, most of it in what the model does not need meanwhile."""
    k, m = land.low.size, land.radii.size
    return Trail(
        ring=model.inside,
        ends=np.zeros(2, np.int64),
        waiting=np.empty(k, np.int64),
        mark=np.zeros(1, np.int64),
        moved=model.Hp.view(np.int64),
        was=model.p,
        moved_at=np.empty(k, np.int64),
        changed=model.diagonal.view(np.int64)[:m],
        u=model.H[: land.maps.offsets[-1]],
        changed_at=np.empty(m, np.int64),
        sizes=np.zeros(2, np.int64),
        counts=np.zeros(3, np.int64),
        start=np.zeros(1),
        tired=np.empty(k, np.bool_),
        lifts=model.step,
        order=model.slot,
    )


@bare
def begin(knobs: Ints, criteria: Ints, land: Landscape, trail: Trail) -> None:
    """Forget everything. Only entries that a search can reach are set: the rest may be millions."""
    for i in criteria:
        trail.changed_at[i] = -1
        for n in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
            trail.waiting[land.scope[n]] = -1
    for j in knobs:
        trail.waiting[j] = 0
        trail.moved_at[j] = -1
        trail.tired[j] = False
    trail.ends[:] = 0
    trail.sizes[:] = 0
    trail.counts[:] = 0
    trail.mark[0] = 0


@inner
def remind(j: int, trail: Trail) -> None:
    """Put knob j at the end of the queue, if it is free and not there."""
    if trail.waiting[j] == 0:
        trail.waiting[j] = 1
        end = trail.ends[0] + trail.ends[1]
        trail.ring[end if end < trail.ring.size else end - trail.ring.size] = j
        trail.ends[1] += 1


@inner
def remind_all(knobs: Ints, trail: Trail) -> None:
    """The same for all of these."""
    for j in knobs:
        remind(j, trail)


@inner
def next_knob(trail: Trail) -> int:
    """Take the first knob off the queue."""
    j = trail.ring[trail.ends[0]]
    trail.ends[0] = (trail.ends[0] + 1) % trail.ring.size
    trail.ends[1] -= 1
    trail.waiting[j] = 0
    return int(j)


@inner
def set_mark(trail: Trail) -> None:
    """From here on, remember what changes."""
    trail.mark[0] += 1
    trail.sizes[0] = 0
    trail.sizes[1] = 0
