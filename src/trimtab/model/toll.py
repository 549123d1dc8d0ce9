"""What a move costs: by how far knobs go, and that they go at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trimtab.arrays import Array

Norm = Literal["l1", "l2"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Toll:
    """The price of a move from s to s': |c (s' - s)| in a norm, and a fixed price of any move.

    >>> toll = Toll(per_knob=np.array([3.0, 4.0]), norm="l2", switch=0.5)
    >>> toll.of(np.zeros(2), np.ones(2)), toll.of(np.ones(2), np.ones(2))
    (5.5, 0.0)
    """

    per_knob: Array  # (k,) c
    norm: Norm = "l1"
    switch: float = 0.0

    @property
    def free(self) -> bool:
        """Whether moves cost nothing."""
        return not self.switch and not self.per_knob.any()

    def of(self, before: Array, after: Array) -> float:
        """The price of one move."""
        way = np.abs(after - before)
        if self.norm == "l1":
            length = float(self.per_knob @ way)
        else:
            length = float(np.linalg.norm(self.per_knob * way))
        return length + self.switch * bool(way.any())

    def over(self, rounds: int) -> Toll:
        """The same per round, if the move has to pay over this number of rounds."""
        return Toll(per_knob=self.per_knob / rounds, norm=self.norm, switch=self.switch / rounds)
