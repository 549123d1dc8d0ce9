"""What a solve returns."""

from __future__ import annotations

from dataclasses import dataclass, fields

from trimtab.arrays import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """The work of a solve; the same solve always takes the same."""

    steps: int = 0  # one-dimensional minimisations
    gradients: int = 0  # evaluations of F with its gradient
    entries: int = 0  # of tables, in eliminations and over cells

    def __add__(self, other: Counters) -> Counters:
        return Counters(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )


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
    counters: Counters = Counters()

    @property
    def certified(self) -> bool:
        """Whether a lower bound is known."""
        return self.lower_bound is not None

    @property
    def gap(self) -> float | None:
        """The value minus the lower bound, or None when that is unknown."""
        return None if self.lower_bound is None else self.value - self.lower_bound
