"""What the ledger passes on to the policy, one after another."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.arrays import Array, Ints
from trimtab.live.ledger import State


@dataclass(frozen=True, slots=True)
class Learn:
    """Losses that were observed at a state."""

    state: State
    losses: Array  # (m,) NaN where none was observed
    counts: Ints  # (m,) of how many rounds each is the mean


@dataclass(frozen=True, slots=True)
class Deploy:
    """The system is at a state now; a decision has reported the last look, if it is one's."""

    state: State
    keep: bool  # whether the policy's goal stays one
    reported: bool


@dataclass(frozen=True, slots=True)
class Drop:
    """The policy's goal is none any more: somebody, or a guard, has decided otherwise."""


Lesson = Learn | Deploy | Drop
