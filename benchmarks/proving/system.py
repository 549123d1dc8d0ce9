"""A real system that can be tuned: what an example must offer to be played and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, Self

from trimtab.live import Spec


class Lane(Protocol):
    """One copy of the system, with data and a clock of its own.

    Every arm has a lane. Only one lane is under load at a time, so that arms that take turns
    meet the same machine; a lane's own time stands still while it waits for its turn.
    """

    def window(self, values: Mapping[str, float]) -> dict[str, float]:
        """Set the knobs, serve one window of load, and measure.

        Every metric of the spec by name, in its unit; NaN where it could not be measured.
        """


class System(Protocol):
    """A real system: a spec, and as many lanes as there are arms. Servers live inside `with`."""

    name: str
    spec: Spec  # knobs with start and price, objectives, guardrails: what `tt.Tuner` is given

    def lane(self, name: str) -> Lane:
        """A new lane, at the start values, warmed up."""

    def change(self) -> None:
        """Give every lane that is there another workload from its next window on.

        Raises:
            InvalidInput: it has one workload only.
        """

    def __enter__(self) -> Self:
        """Start whatever it needs."""

    def __exit__(self, *error: object) -> None:
        """Stop it, and leave nothing behind."""
