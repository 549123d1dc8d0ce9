"""What a solve returns."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.arrays import Array


@dataclass(frozen=True)
class Solution:
    """A state, its value, and what is known of how much better another could be.

    Of states that are tied with the best it is the one nearest to the current state in l1, then
    the first in lexicographic order, so that two runs cannot part over a tie.

    Deviation: the paper's argmin does not say which of several minimisers to take, though
    before any data there are many.
    """

    state: Array  # (k,)
    value: float  # F(state), and the price of moving there
    lower_bound: float | None  # no state has a smaller value, or None when that is unknown
    work: int = 0  # line searches, gradients and table entries; the same solve takes the same

    @property
    def certified(self) -> bool:
        """Whether a lower bound is known."""
        return self.lower_bound is not None

    @property
    def gap(self) -> float | None:
        """The value minus the lower bound, or None when that is unknown."""
        return None if self.lower_bound is None else self.value - self.lower_bound
