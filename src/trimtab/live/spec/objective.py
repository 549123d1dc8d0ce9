"""An objective of the live system: a metric, the knobs it depends on, and how it becomes a loss."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from typing import Any, Literal

from trimtab.errors import InvalidInput
from trimtab.live.spec.knob import LEAST_RANGE
from trimtab.plain.faults import real

HOUR = "hour"  # the covariate that need not be told: it is the time of the tell
Direction = Literal["minimise", "maximise"]
NOISE = (1e-6, 1e3)  # the least and the most noise, in ranges of the objective
FARTHEST = 1e6  # ranges away from low..high a value is no measurement any more


@dataclass(frozen=True, kw_only=True)
class Objective:
    """A metric to be made small, or large, as a loss between 0 (best) and 1 (worst).

    `low` and `high` are the ends of what the metric is expected to be over all settings of the
    knobs. They set the exchange rate between objectives: at equal weights, crossing the range of
    one counts as much as crossing that of another. Measurements outside are fine.

    >>> clicks = Objective(name="clicks", knobs=("ads",), low=2, high=6, direction="maximise")
    >>> clicks.loss(6), clicks.loss(3), clicks.loss(7), clicks.value(0.75)
    (0.0, 0.75, -0.25, 3.0)

    Raises:
        InvalidInput: a range or a noise that no objective can have. The message begins with
            the name of the field.
    """

    name: str
    knobs: tuple[str, ...]
    low: float
    high: float
    weight: float = 1.0
    direction: Direction = "minimise"
    noise: float | None = None  # of one measurement, in the metric's unit; None: estimate it
    norm: float | None = None  # a bound on the parameter's length; None: from low and high
    unit: str = ""
    covariates: tuple[str, ...] = ()  # what moves it and is no knob; "hour" is the time of day

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidInput(
                f"low = {self.low:.12g}: it must be below high = {self.high:.12g}, whatever the "
                "direction"
            )
        if self.high - self.low < LEAST_RANGE * max(abs(self.low), abs(self.high)):
            raise InvalidInput(f"high = {self.high!r}: too close to low = {self.low!r}")
        sigma = self.sigma
        if sigma is not None and not NOISE[0] <= sigma <= NOISE[1]:
            raise InvalidInput(
                f"noise = {self.noise:.12g}: it is {sigma:.3g} times the range from low to high; "
                "check the units, or write 'estimate'"
            )

    @property
    def sigma(self) -> float | None:
        """The noise of one loss; None if it is to be estimated."""
        return None if self.noise is None else self.noise / (self.high - self.low)

    def loss(self, value: float) -> float:
        """The loss of a measurement: 0 at the better end of the range, 1 at the worse.

        NaN stays NaN, a loss that was not observed.

        Raises:
            InvalidInput: no number, infinite, or a million ranges away.
        """
        x = real(value, self.name)
        if isnan(x):
            return nan
        better, worse = self.ends
        loss = (x - better) / (worse - better)
        if not abs(loss) <= FARTHEST:
            raise InvalidInput(
                f"{self.name} = {x:g} {self.unit}".rstrip()
                + f" is out of all proportion to {self.low:g} to {self.high:g}; check its unit, or "
                "report nothing"
            )
        return loss

    def value(self, loss: float) -> float:
        """The measurement that has this loss."""
        better, worse = self.ends
        return better + loss * (worse - better)

    @property
    def ends(self) -> tuple[float, float]:
        """The measurements whose losses are 0 and 1."""
        low_is_good = self.direction == "minimise"
        return (self.low, self.high) if low_is_good else (self.high, self.low)

    def to_dict(self) -> dict[str, Any]:
        """The objective's table of the spec, without its name."""
        plain: dict[str, Any] = {
            "knobs": list(self.knobs),
            "low": self.low,
            "high": self.high,
            "weight": self.weight,
            "direction": self.direction,
            "noise": "estimate" if self.noise is None else self.noise,
            "unit": self.unit,
        }
        if self.covariates:
            plain["covariates"] = list(self.covariates)
        return plain if self.norm is None else plain | {"norm": self.norm}
