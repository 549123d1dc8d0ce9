"""One independent piece of a solve: the free knobs that hang together, and who reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.lcb import LCB


@dataclass(frozen=True)
class Part:
    """What is minimised: G(s) = F(s) + sum_j price_j |s_j - now_j|, over the free knobs only.

    F is the sum over `criteria`, all those that read a free knob; the other knobs
    stay where they are now.
    """

    lcb: LCB
    now: Array  # (k,) the present state
    knobs: Ints  # the free ones, ascending
    criteria: Ints  # ascending
    price: Array  # (k,) what moving a knob by 1 costs

    def value(self, state: Array) -> float:
        """G(s)."""
        return self.lcb.value(state, self.criteria) + self.toll(state[self.knobs])

    def toll(self, values: Array) -> float:
        """What it costs to move the free knobs to these values: (n,)."""
        return float(self.price[self.knobs] @ np.abs(values - self.now[self.knobs]))

    def put(self, values: Array) -> Array:
        """The present state with the free knobs at these values."""
        state = self.now.copy()
        state[self.knobs] = values
        return state
