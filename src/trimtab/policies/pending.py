"""Rounds that were played and whose losses are still to come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from trimtab.arrays import Array, Bools, Ints

MOST = 64  # states; the oldest is given up


class Pending:
    """How many rounds of which states are unanswered, for each criterion; the oldest first.

    >>> pending = Pending(knobs=1, criteria=2)
    >>> pending.add(np.array([0.5]), 3)
    >>> pending.answer(np.array([0.5]), np.array([2, 5]))
    array([2, 3])
    >>> [(state.tolist(), count.tolist()) for state, count in pending]
    [([0.5], [1, 0])]
    """

    def __init__(self, *, knobs: int, criteria: int) -> None:
        self.states, self._counts = np.empty((0, knobs)), np.empty((0, criteria), np.int64)

    def __iter__(self) -> Iterator[tuple[Array, Ints]]:
        return zip(self.states, self._counts, strict=True)

    def __bool__(self) -> bool:
        return len(self.states) > 0

    @property
    def rounds(self) -> int:
        """How many rounds of all states some criterion waits for."""
        return int(self._counts.max(axis=1, initial=0).sum())

    def add(self, state: Array, rounds: int) -> None:
        """Rounds are played at a state."""
        place = self._place(state)
        if place is None:
            place = len(self.states)
            self.states = np.vstack((self.states, state))
            self._counts = np.vstack((self._counts, np.zeros(self._counts.shape[1], np.int64)))
        self._counts[place] += rounds
        self._keep(np.arange(len(self.states)) >= len(self.states) - MOST)

    def answer(self, state: Array, count: Ints) -> Ints:
        """Rounds of a state are answered or given up; how many of them were pending."""
        place = self._place(state) if self.states.size else None
        if place is None:
            return np.zeros_like(count)
        found: Ints = np.minimum(count, self._counts[place])
        self._counts[place] -= found
        self._keep(np.asarray(self._counts.any(axis=1)))
        return found

    def _place(self, state: Array) -> int | None:
        same = np.flatnonzero((self.states == state).all(axis=1))
        return int(same[0]) if same.size else None

    def _keep(self, which: Bools) -> None:
        self.states, self._counts = self.states[which], self._counts[which]

    # In a snapshot.

    def to_plain(self) -> dict[str, Any]:
        """Two arrays, with a row for each state."""
        return {"pending.states": self.states.copy(), "pending.counts": self._counts.copy()}

    @classmethod
    def from_plain(cls, saved: Mapping[str, Any], *, knobs: int, criteria: int) -> Self:
        """What `to_plain` saw."""
        pending = cls(knobs=knobs, criteria=criteria)
        pending.states = np.array(saved["pending.states"], np.float64).reshape(-1, knobs)
        pending._counts = np.array(saved["pending.counts"], np.int64).reshape(-1, criteria)
        return pending
