"""What every target can do, and how knobs are called there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any, Protocol

from trimtab.plain.faults import shown
from trimtab.run.faults import TargetFault

Values = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Order:
    """Values to be set, and why."""

    tuner: str
    decision: str
    at: datetime
    values: Values
    previous: Values
    reason: str

    def to_dict(self, names: Names) -> dict[str, Any]:
        """The order as plain data, knobs called as they are called there."""
        return {
            "tuner": self.tuner,
            "decision": self.decision,
            "at": self.at.isoformat(),
            "reason": self.reason,
            "values": names.outward(self.values),
            "previous": names.outward(self.previous),
        }


class Target(Protocol):
    """A place that values are set at; some can be read back."""

    readable: bool

    def push(self, order: Order) -> None:
        """Set all values; the same order again does no harm.

        Raises:
            TargetFault: nobody knows whether they are set.
        """

    def read(self) -> dict[str, float]:
        """The values that hold now, by knob; one that is not set at all is left out.

        Raises:
            TargetFault: they cannot be read.
        """

    def close(self) -> None:
        """End its connections."""


@dataclass(frozen=True)
class Names:
    """What each knob is called at the target."""

    knobs: tuple[str, ...]
    called: Mapping[str, str]

    def outward(self, values: Values) -> dict[str, float]:
        """The values by their names there."""
        return {self.called.get(knob, knob): values[knob] for knob in self.knobs}

    def inward(self, found: Any, where: str) -> dict[str, float]:
        """The values by knob, of what was found there.

        Raises:
            TargetFault: what was found is no table, or a value is no number.
        """
        if not isinstance(found, Mapping):
            raise TargetFault("format", f"{where} gives {shown(found)} instead of values by name")
        values = {}
        for knob in self.knobs:
            name = self.called.get(knob, knob)
            if found.get(name) is not None:
                values[knob] = _number(found[name], name, where)
        return values


def _number(value: Any, name: str, where: str) -> float:
    """A number, also one that is written as text."""
    try:
        if not isinstance(value, int | float | str | bytes) or isinstance(value, bool):
            raise ValueError
        number = float(value)
        if not isfinite(number):
            raise ValueError
    except ValueError:
        raise TargetFault("format", f"{where}: {name} = {shown(value)} is no number") from None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def written(value: float) -> str:
    """A value as text, exactly.

    >>> written(300.0), written(5), written(0.1)
    ('300.0', '5', '0.1')
    """
    return repr(value)
