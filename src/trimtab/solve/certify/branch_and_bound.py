r"""A lower bound of G for few knobs, to many digits: branch and bound over boxes.

No G(s) of a box is below the least total floor of its corners (see `floor`), where the
criteria's floors are added corner by corner, so that criteria which pull a knob both ways
cancel. The boxes with the lowest bounds are split in batches: each along the knob whose
drift costs most at its lowest corner, where `now` is inside at `now`, else in the middle. A
box over levels reaches from the lowest to the highest of those left, and loses nothing once
they are two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Bools, Ints
from trimtab.model.domain import BoundBox
from trimtab.solve.certify.box_bound import Bound, Floor, floors
from trimtab.solve.subproblem import Part

MOST_KNOBS = 12  # a box has 2^knobs corners
BATCH = 128  # boxes split in a round
MOST_CORNERS = 2**18  # of a batch
NARROWEST = 1e-9  # sides are not split below this width


@dataclass(frozen=True)
class Boxes:
    """Boxes over a part's n knobs, what is known of each, and how it would be split."""

    low: Array  # (N, n)
    high: Array  # (N, n)
    bound: Array  # (N,) no G in the box is below
    side: Ints  # (N,) the knob to split, or -1 if that would not help

    def __getitem__(self, keep: Ints | Bools) -> Boxes:
        return Boxes(self.low[keep], self.high[keep], self.bound[keep], self.side[keep])

    def __add__(self, more: Boxes) -> Boxes:
        return Boxes(
            np.concatenate((self.low, more.low)),
            np.concatenate((self.high, more.high)),
            np.concatenate((self.bound, more.bound)),
            np.concatenate((self.side, more.side)),
        )


def lower_bound(part: Part, incumbent: Array, *, target: float, budget: int) -> Bound:
    """A value that no G of the part is below, and the best state met on the way.

    Args:
        part: what is minimised.
        incumbent: a good state, (k,).
        target: a box is done with once G(best state) minus its bound is at most this.
        budget: boxes that may be looked at.

    Returns:
        The greatest bound proven; -inf with more than `MOST_KNOBS` free knobs, without any
        budget, on balls and for user functions.
    """
    best, upper = incumbent, part.value(incumbent)
    terms = floors(part) if part.knobs.size <= MOST_KNOBS else None
    domain = part.bound.domain
    if terms is None or budget < 1 or not isinstance(domain, BoundBox):
        return Bound(-np.inf, 0, best, upper)
    search = _Search(part, domain, terms)
    boxes, state = search.look(domain.low[part.knobs][None], domain.high[part.knobs][None])
    done, spent = np.inf, 1
    batch = max(min(BATCH, MOST_CORNERS >> part.knobs.size), 1)
    while True:
        here = part.value(state)
        if here < upper:
            best, upper = state, here
        closed = (boxes.side < 0) | (boxes.bound >= upper - target)
        done = min(done, boxes.bound[closed].min(initial=np.inf))
        boxes = boxes[~closed]
        room = min(batch, (budget - spent) // 2)
        if boxes.bound.size == 0 or room == 0:
            break
        order = np.argsort(boxes.bound, kind="stable")
        parents, boxes = boxes[order[:room]], boxes[order[room:]]
        children, state = search.look(*search.split(parents))
        bound = np.maximum(children.bound, np.tile(parents.bound, 2))
        boxes += Boxes(children.low, children.high, bound, children.side)
        spent += bound.size
    value = min(done, boxes.bound.min(initial=np.inf), upper)
    return Bound(float(value), spent, best, upper)


class _Search:
    """The corners of boxes: their floors, and what to split for higher ones."""

    def __init__(self, part: Part, domain: BoundBox, terms: list[Floor]) -> None:
        self.part, self.terms = part, terms
        self.now, self.price = part.now[part.knobs], part.price[part.knobs]
        self.levels = [domain.levels_of(j) for j in part.knobs.tolist()]

    def look(self, low: Array, high: Array) -> tuple[Boxes, Array]:
        """The bounds of these boxes, and the state at the lowest corner of the lowest box."""
        N, n = low.shape
        ends = np.stack((low, high), axis=2)  # (N, n, 2)
        bend = self.terms[0].enclosure.bend(low, high)  # (N, n, B)
        for p, levels in enumerate(self.levels):
            if levels.size:
                between = np.searchsorted(levels, high[:, p]) - np.searchsorted(levels, low[:, p])
                bend[between <= 1, p] = 0.0  # nothing to allow for between two neighbours
        # The price is linear along a side, or below it the line 0 where `now` is inside.
        inside = (low < self.now) & (self.now < high)
        toll = self.price[:, None] * np.abs(ends - self.now[:, None])
        floor_toll = np.where(inside[:, :, None], 0.0, toll)
        total = np.zeros((N, *[2] * n))
        for p in range(n):
            total += floor_toll[:, p].reshape(N, *(2 if p == q else 1 for q in range(n)))
        for term in self.terms:
            total += self._table(term, ends, bend, high)
        flat = total.reshape(N, -1)
        lowest = flat.argmin(axis=1)
        corner = (lowest[:, None] >> np.arange(n)[::-1]) & 1  # (N, n) C order
        at = np.take_along_axis(ends, corner[:, :, None], axis=2)[:, :, 0]
        bound = flat[np.arange(N), lowest]
        loss = self._losses(at, bend, high)
        loss += np.where(inside, self.price * np.abs(at - self.now), 0.0)
        loss[high - low <= NARROWEST] = 0.0
        side = np.where(loss.max(axis=1) > 0.0, loss.argmax(axis=1), -1)
        return Boxes(low, high, bound, side), self.part.put(at[bound.argmin()])

    def _table(self, term: Floor, ends: Array, bend: Array, top: Array) -> Array:
        """The floors of one criterion at all corners of all boxes, ready to be added up."""
        N, n, _ = ends.shape
        f = term.places.size
        which = (np.arange(2**f)[:, None] >> np.arange(f)[::-1]) & 1  # (2^f, f)
        X = ends[:, term.places][:, np.arange(f), which].reshape(-1, f)
        bends = np.repeat(bend[:, term.places], 2**f, axis=0)
        floor = term(X, bends, np.repeat(top[:, term.places], 2**f, axis=0))[1]
        return floor.reshape(N, *(2 if q in term.places else 1 for q in range(n)))

    def _losses(self, at: Array, bend: Array, top: Array) -> Array:
        """What the drift along each knob alone takes from the floors of its readers: (N, n)."""
        loss = np.zeros_like(at)
        for term in self.terms:
            f = term.places.size
            X, tops = (np.repeat(array[:, term.places], f, axis=0) for array in (at, top))
            alone = bend[:, term.places, None] * np.eye(f)[:, :, None]  # (N, f, f, B)
            value, floor = term(X, alone.reshape(-1, f, bend.shape[2]), tops)
            loss[:, term.places] += (value - floor).reshape(-1, f)
        return loss

    def split(self, boxes: Boxes) -> tuple[Array, Array]:
        """Both halves of every box: all lower ones, then all upper ones."""
        rows, side = np.arange(boxes.side.size), boxes.side
        low, high = boxes.low[rows, side], boxes.high[rows, side]
        now = self.now[side]
        kinked = (low < now) & (now < high) & (self.price[side] > 0.0)
        below = np.where(kinked, now, (low + high) / 2.0)
        above = below.copy()
        for p, levels in enumerate(self.levels):
            mine = np.flatnonzero(side == p)
            if levels.size and mine.size:
                # At least one level on either side, whatever the middle.
                first = np.searchsorted(levels, low[mine]) + 1
                last = np.searchsorted(levels, high[mine])
                cut = np.clip(np.searchsorted(levels, below[mine]), first, last)
                below[mine], above[mine] = levels[cut - 1], levels[cut]
        highs, lows = boxes.high.copy(), boxes.low.copy()
        highs[rows, side], lows[rows, side] = below, above
        return np.concatenate((boxes.low, lows)), np.concatenate((highs, boxes.high))
