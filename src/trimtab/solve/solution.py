"""What a solve returns, and which of two states it prefers."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from trimtab._core import better
from trimtab.arrays import Array

TIED = 1e-9  # times |F|: candidates this close to the best value count as equal


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
    """A state, its value, and what is known of how much better another could be."""

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


def choose(candidates: Array, values: Array, current: Array) -> int:
    """Which of several candidates to take: of those tied with the best the one `better` takes.

    That is the one nearer to the current state in l1, and the first in lexicographic order of
    those still tied, so that two runs cannot part over a tie.

    Deviation: the paper's argmin does not say which of several minimisers to take, though
    before any data there are many.
    """
    least = float(values.min())
    if not np.isfinite(least):
        return int(np.argmin(values))
    tied = np.flatnonzero(values <= least + TIED * abs(least))
    best = int(tied[0])
    for c in tied[1:].tolist():
        if better(candidates[c], least, candidates[best], least, current):
            best = c
    return best
