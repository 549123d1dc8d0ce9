"""A sliding window: what was seen in the last W rounds, and nothing before.

The factors cannot forget single data, so that the data themselves are kept: one row for every
stretch at one state (its counts and mean losses), and one for every datum of another state.
When a row's last round is W rounds old it is dropped, and the factors are built anew from the
others. A stretch counts whole until then; a policy with a window looks at least every W rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trimtab.arrays import Array, Ints

ARRAYS = ("clock", "state", "count", "mean")


class Window:
    """The data of the last rounds.

    >>> window = Window(10, knobs=1, criteria=1)
    >>> for t in (3, 9):
    ...     window.add(t, np.array([0.5]), np.array([3]), np.array([0.1 * t]))
    >>> window.slide(12), window.slide(13), window.clock
    (False, True, array([9]))

    Args:
        rounds: W, how many rounds count.
        knobs: k.
        criteria: m.
    """

    def __init__(self, rounds: int, *, knobs: int, criteria: int) -> None:
        self.rounds = rounds
        self.clock: Ints = np.empty(0, np.int64)  # (r,) of the last round of each row
        self.state: Array = np.empty((0, knobs))
        self.count: Ints = np.empty((0, criteria), np.int64)
        self.mean: Array = np.empty((0, criteria))  # anything where the count is 0

    def add(self, clock: int, state: Array, count: Ints, mean: Array) -> None:
        """Take a datum in: of how many rounds each criterion's loss is the mean."""
        if count.any():
            self.clock = np.append(self.clock, clock)
            self.state = np.vstack((self.state, state))
            self.count = np.vstack((self.count, count))
            self.mean = np.vstack((self.mean, np.where(count > 0, mean, 0.0)))

    def slide(self, clock: int) -> bool:
        """Drop what is too old at this clock; whether anything was."""
        kept = self.clock > clock - self.rounds
        if kept.all():
            return False
        for name in ARRAYS:
            setattr(self, name, getattr(self, name)[kept])
        return True

    def forget(self, criteria: Ints) -> None:
        """Drop all data of these criteria: their world has changed."""
        self.count[:, criteria] = 0

    def __iter__(self) -> Iterator[tuple[Array, Ints, Array]]:
        """State, counts and losses of each row, a loss NaN where it was not seen."""
        losses = np.where(self.count > 0, self.mean, np.nan)
        return zip(self.state, np.maximum(self.count, 1), losses, strict=True)

    def to_plain(self) -> dict[str, Any]:
        """Everything as plain arrays and a number, for a snapshot."""
        return {"window.rounds": self.rounds} | {
            f"window.{name}": getattr(self, name).copy() for name in ARRAYS
        }

    @classmethod
    def from_plain(cls, saved: Mapping[str, Any], *, knobs: int, criteria: int) -> Window | None:
        """The window that `to_plain` saw, if there was one."""
        if "window.rounds" not in saved:
            return None
        window = cls(int(saved["window.rounds"]), knobs=knobs, criteria=criteria)
        for name in ARRAYS:
            empty = getattr(window, name)
            setattr(window, name, np.array(saved[f"window.{name}"], empty.dtype))
        return window
