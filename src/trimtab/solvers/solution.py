"""What a solve returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array
from trimtab.compiled import compiled

TIED = 1e-9  # times 1 + |F|: candidates this close to the best value count as equal


@dataclass(frozen=True)
class Solution:
    """A state, its value, and what is known of how much better another could be."""

    state: Array  # (k,)
    value: float  # F(state)
    lower_bound: float | None  # no state has a smaller F, or None when that is unknown

    @property
    def certified(self) -> bool:
        """Whether a lower bound is known."""
        return self.lower_bound is not None

    @property
    def gap(self) -> float | None:
        """F(state) minus the lower bound, or None when that is unknown."""
        return None if self.lower_bound is None else self.value - self.lower_bound


@compiled
def choose(candidates: Array, values: Array, current: Array) -> int:
    """The candidate to take: of those tied for the best value the nearest, then the first.

    Nearest is in l1 to the current state, and nothing is nearer than that state itself.
    What is still tied goes to the first in lexicographic order of the states, so that two
    runs cannot part over a tie.

    Deviation: the paper's argmin does not say which of several minimisers to take, though
    before any data there are many.
    """
    limit = values.min()
    if not np.isfinite(limit):
        return int(np.argmin(values))
    limit += TIED * (1.0 + abs(limit))
    best = -1
    best_far = np.inf
    for c in range(values.size):
        if values[c] <= limit:
            far = 0.0
            for j in range(current.size):
                far += abs(candidates[c, j] - current[j])
            if best < 0 or far < best_far - TIED or far == 0.0:
                best, best_far = c, far
            elif best_far > 0.0 and far <= best_far + TIED:
                for j in range(current.size):
                    if candidates[c, j] != candidates[best, j]:
                        if candidates[c, j] < candidates[best, j]:
                            best, best_far = c, min(far, best_far)
                        break
    return best
