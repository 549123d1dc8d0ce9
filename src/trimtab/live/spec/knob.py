"""A knob of the live system: its range in the user's units, and how gently it must be moved."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import exp, inf, isfinite, log
from typing import Any, Literal

from trimtab.errors import InvalidInput
from trimtab.live.spec.duration import Duration
from trimtab.plain.faults import real

Scale = Literal["linear", "log", "integer"]
LEAST_RANGE = 1e-9  # of the size of its ends: else the range has too few floats in it
MOST_LEVELS = 1001  # of an integer knob; a solve takes time in proportion
DIGITS = 15  # of a value: what is set to 300 s reads 300 s, not 300.00000000000006 s
SAME = 1e-9  # a normalised value so close to a level is that level


@dataclass(frozen=True, kw_only=True)
class Stability:
    """How gently a knob must be moved, in the user's terms.

    `max_step`, `tolerance` and `budget` are distances: differences in the knob's unit, and on
    a log scale factors (1.5 is half as much again, or a third less). `Knob` has the same three
    in normalised units, which is what a tuner works with.
    """

    max_step: float | None = None  # the largest change at once, or within `per`; None: any
    per: Duration | None = None  # the window of max_step; None: every decision
    stabilize_for: Duration | None = None  # after a move, in which metrics are not learned from
    tolerance: float | None = None  # smaller changes are not made; None: all are
    move_cost: float = 0.0  # the price of the whole range, in weighted loss
    budget: float | None = None  # the most movement in all, or within `budget_per`; None: any
    budget_per: Duration | None = None  # the window of budget; None: for ever


@dataclass(frozen=True, kw_only=True)
class Knob:
    """A knob: a number in the user's unit, and the same in [0, 1] for the policy.

    The scale says how the two belong together: *linear*, *log* (equal ratios are equal
    distances) or *integer* (whole numbers, `step` apart, evenly spread over [0, 1]).

    >>> ttl = Knob(name="ttl", low=30, high=3000, start=300, scale="log", unit="s")
    >>> ttl.normalise(300), ttl.value(1.0)
    (0.5, 3000.0)
    >>> ttl.normalise(5)
    Traceback (most recent call last):
        ...
    trimtab.errors.InvalidInput: ttl = 5 s is outside 30 s to 3000 s; widen its low and high...

    Raises:
        InvalidInput: a range, a start or a stability that no knob can have. The message
            begins with the name of the field.
    """

    name: str
    low: float
    high: float
    start: float  # where the system is now
    scale: Scale = "linear"
    step: int = 1  # of an integer knob
    unit: str = ""
    stability: Stability = field(default_factory=Stability)

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidInput(f"low = {self.low:.12g}: it must be below high = {self.high:.12g}")
        if self.scale == "log" and self.low <= 0.0:
            raise InvalidInput(f"low = {self.low:.12g}: a log scale begins above 0")
        if self.high - self.low < LEAST_RANGE * max(abs(self.low), abs(self.high)):
            raise InvalidInput(f"high = {self.high!r}: too close to low = {self.low!r}")
        if self.scale == "integer":
            self._check_levels()
        try:
            self.normalise(self.start)
        except InvalidInput as error:
            raise InvalidInput(f"start: {error}") from None
        self._check_stability()

    def _check_levels(self) -> None:
        duration = int(self.high) - int(self.low)
        if duration % self.step:
            last = int(self.high) - duration % self.step
            near = f"{last} or {last + self.step}"
            raise InvalidInput(
                f"high = {self.high:.12g}: {self.step} at a time from {self.low:.12g} it is never "
                f"reached; set it to {near}"
            )
        if duration // self.step >= MOST_LEVELS:
            raise InvalidInput(
                f"step = {self.step}: it makes {duration // self.step + 1:,} values, and "
                f"{MOST_LEVELS:,} is the most; take a larger step, or scale = 'linear' and round"
            )

    def _check_stability(self) -> None:
        gentle = self.stability
        for name in ("max_step", "tolerance", "budget"):
            amount = getattr(gentle, name)
            if amount is not None and self.scale == "log" and amount <= 1.0:
                raise InvalidInput(
                    f"stability.{name} = {amount:g}: on a log scale it is a factor; give one above "
                    "1, such as 1.5"
                )
        for window, limit in (("per", "max_step"), ("budget_per", "budget")):
            if getattr(gentle, window) is not None and getattr(gentle, limit) is None:
                raise InvalidInput(
                    f"stability.{window}: it is the window of {limit}, which is missing; give both "
                    "or none"
                )
        least = max(self.tolerance, 1.0 / self.steps if self.steps else 0.0)
        for name, most in (("max_step", self.max_step), ("budget", self.budget)):
            if most < least * (1.0 - SAME):
                raise InvalidInput(
                    f"stability.{name} = {getattr(gentle, name):g}: the smallest change allowed is "
                    f"larger, so that the knob could never move; raise it to {self._least(least)}"
                )

    def _least(self, distance: float) -> str:
        """A normalised distance in the terms of a stability block."""
        if self.scale == "log":
            return f"{exp(distance * log(self.high / self.low)):.6g}"
        return f"{distance * (self.high - self.low):.6g}"

    # Between the user's unit and [0, 1].

    @cached_property
    def steps(self) -> int:
        """How many steps an integer knob has between its ends; 0 for the others."""
        return (int(self.high) - int(self.low)) // self.step if self.scale == "integer" else 0

    def normalise(self, value: float) -> float:
        """The value's place in [0, 1]; both ends are exact.

        Raises:
            InvalidInput: no number, out of range, or between the steps of an integer knob.
        """
        x = real(value, self.name)
        if not self.low <= x <= self.high:
            raise InvalidInput(
                f"{self.name} = {self.show(x)} is outside {self.show(self.low)} to "
                f"{self.show(self.high)}; widen its low and high or choose another value"
            )
        if self.scale == "integer":
            place = (x - self.low) / self.step
            if place != round(place):
                raise InvalidInput(
                    f"{self.name} = {self.show(x)} is none of its values, which are "
                    f"{self.step} apart from {self.show(self.low)} on; choose one of these"
                )
            return round(place) / self.steps
        if self.scale == "log":
            return min(log(x / self.low) / log(self.high / self.low), 1.0)
        return (x - self.low) / (self.high - self.low)

    def value(self, normalised: float) -> float:
        """The value at a place in [0, 1], to 15 digits, an int for an integer knob.

        Both ends are exact.

        Raises:
            InvalidInput: outside [0, 1], or not at a step of an integer knob.
        """
        u = real(normalised, self.name)
        if not 0.0 <= u <= 1.0:
            raise InvalidInput(f"{self.name} = {u:.12g} in normalised units is outside [0, 1]")
        if self.scale == "integer":
            place = round(u * self.steps)
            if abs(u * self.steps - place) > SAME * self.steps:
                raise InvalidInput(
                    f"{self.name} = {u:.12g} in normalised units is between two of its values; "
                    "use problem.domain.project first"
                )
            return int(self.low) + place * self.step
        if u in (0.0, 1.0):
            return float(self.low if u == 0.0 else self.high)
        if self.scale == "log":
            x = self.low * exp(u * log(self.high / self.low))
        else:
            x = self.low + u * (self.high - self.low)
        x = float(f"{x:.{DIGITS}g}")
        return min(max(x, self.low), self.high)  # rounding may pass an end

    def distance(self, amount: float) -> float:
        """A change in the user's terms as a distance in [0, 1]: a difference, or a factor."""
        if self.scale == "log":
            return log(amount) / log(self.high / self.low)
        return amount / (self.high - self.low)

    # The stability block in normalised units.

    @property
    def max_step(self) -> float:
        """The largest change at once, or within `stability.per`; infinite without a limit."""
        return self._distance(self.stability.max_step, inf)

    @property
    def tolerance(self) -> float:
        """Smaller changes are not made; 0 if all are."""
        return self._distance(self.stability.tolerance, 0.0)

    @property
    def budget(self) -> float:
        """The most movement in all, or within `stability.budget_per`; infinite without a limit."""
        return self._distance(self.stability.budget, inf)

    def _distance(self, amount: float | None, otherwise: float) -> float:
        return otherwise if amount is None else self.distance(amount)

    # For people and files.

    def show(self, value: float) -> str:
        """A value with its unit, for messages."""
        number = f"{value:.12g}" if isfinite(value) else str(value)
        return f"{number} {self.unit}".strip()

    def to_dict(self) -> dict[str, Any]:
        """The knob's table of the spec, without its name; defaults are left out."""
        plain: dict[str, Any] = {"low": self.low, "high": self.high, "start": self.start}
        if self.scale == "integer":
            plain = {key: int(value) for key, value in plain.items()} | {"step": self.step}
        plain |= {"scale": self.scale, "unit": self.unit}
        gentle = {
            key: value.plain if isinstance(value, Duration) else value
            for key, value in vars(self.stability).items()
            if value is not None
        }
        return plain | {"stability": gentle}
