"""A bound on the regret so far, as it grows round by round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.display import displayed


@displayed
@dataclass(frozen=True, slots=True)
class Certificate:
    """An a-posteriori bound: the regret so far is at most `bound` if all ellipsoids hold.

    It is `certified` if every term is: the radius is proven, and every solve came
    with a lower bound, or was made before any data, where the bound is known. Otherwise
    the best value found stands in for that bound.
    """

    bound: float
    certified: bool


@dataclass(slots=True)
class Account:
    """What the rounds so far may have cost, and what the next one can.

    A round at a state s costs at most 2 W(s) + F(s) - lower, as of its deployment, where no
    state's F is below `lower`. That may be the best value found; then it is not certified.
    """

    certified: bool  # whether every round so far was
    lower: float | None = None  # None while unknown
    lower_certified: bool = False
    bound: float = 0.0  # of all rounds so far
    rate: float = 0.0  # what the next round adds

    @property
    def certificate(self) -> Certificate:
        """The sum over rounds of 2 W + gap, each as of the round's deployment."""
        return Certificate(bound=self.bound, certified=self.certified)

    def charge(self, value: float, upper: float) -> None:
        """A state is deployed whose F is `value`, and whose loss is at most `upper`."""
        if self.lower is None:
            self.lower = value
        self.rate = upper - self.lower

    def know(self, lower: float | None, *, certified: bool) -> None:
        """No state's F is below this, as of now."""
        self.lower, self.lower_certified = lower, certified and lower is not None

    # In a snapshot.

    def to_plain(self) -> dict[str, Any]:
        """Five scalars."""
        return {entry: getattr(self, name) for name, entry in _ENTRIES.items()}

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Become what `to_plain` saw."""
        for name, entry in _ENTRIES.items():
            setattr(self, name, saved[entry])


_ENTRIES = {
    "bound": "_bound",
    "certified": "_certified",
    "lower": "_lower",
    "lower_certified": "_lower_certified",
    "rate": "_rate",
}
