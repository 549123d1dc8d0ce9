"""The plain table that every figure reads: rounds, states, moves by kind, losses, limits.

`sources` makes one of a trace, of a tuner or of a journal; nothing else of them reaches a figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from trimtab.arrays import Array, Bools, Ints

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["", "move", "learn", "improve", "guard", "rollback", "person"]
KINDS: dict[Kind, str] = {  # in words, for legends
    "improve": "improve: expected to pay",
    "learn": "learn: may pay, to find out",
    "guard": "guard: as far as limits allow",
    "rollback": "rollback",
    "person": "by a person",
    "move": "move",
}


@dataclass(frozen=True, kw_only=True)
class KnobAxis:
    """A knob: its range in its own unit, and what limits its movement."""

    name: str
    unit: str = ""
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    price: float = 0.0  # of its whole range
    budget: float | None = None  # the most movement, in whole ranges
    window: str = ""  # in which that counts, in words
    seconds: float | None = None  # the same as a time,
    rounds: int | None = None  # or as a number of rounds; neither: for ever

    def value(self, state: Array) -> Array:
        """Normalised values in the knob's unit."""
        if self.log:
            return np.asarray(self.low * (self.high / self.low) ** state)
        return np.asarray(self.low + (self.high - self.low) * state)

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A value that a metric must not pass."""

    rule: str
    kind: str  # guardrail or signal
    value: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Metric:
    """A metric in every row; an objective if it has a weight."""

    name: str
    values: Array  # (n,) in its unit, NaN where it was not measured
    unit: str = ""
    weight: float | None = None
    better: str = "lower"  # or "higher"
    noise: float | None = None  # standard deviation of one measurement
    reads: tuple[int, ...] = ()  # knobs that it depends on
    limits: tuple[Limit, ...] = ()

    @property
    def title(self) -> str:
        """Name, unit and which way is better."""
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.name}{unit}{f', {self.better} is better' if self.weight else ''}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounds:
    """What happened, in rows of one or more rounds at one state.

    Losses are totals a round, weights included. In a simulated run they are expectations, in a
    live one measurements, NaN where some objective was not told.
    """

    name: str
    knobs: tuple[KnobAxis, ...]
    metrics: tuple[Metric, ...]
    start: Array  # (k,) before the first round
    first: Ints  # (n,) the first round of each row, from 1
    count: Ints  # (n,) its rounds
    states: Array  # (n, k) normalised
    kinds: tuple[Kind, ...]  # (n,) of the move that begins the row, "" if there is none
    why: tuple[str, ...]  # (n,) in words
    loss: Array  # (n,)
    stay: Array | None  # (n,) the loss had the knobs been left alone, None where nobody knows
    stay_error: float = 0.0  # its standard error
    expected: Array | None = None  # (n,) by how much the move was to lower the loss; NaN: not said
    best: Array | None = None  # (n,) the loss at the best state, where that is known
    at: tuple[datetime, ...] | None = None  # (n,)
    measured: bool = False  # whether losses are measurements
    noise: float | None = None  # of a measured loss, a round

    @property
    def horizon(self) -> int:
        """The last round."""
        return int((self.first + self.count - 1).max()) if self.first.size else 0

    @cached_property
    def steps(self) -> Array:
        """How far each knob moved at the beginning of each row: (n, k)."""
        return np.abs(np.diff(self.states, axis=0, prepend=self.start[None, :]))

    def used(self, j: int) -> Array:
        """What each row has used of the budget of knob j, in whole ranges: (n,)."""
        knob, spent = self.knobs[j], np.cumsum(self.steps[:, j])
        if knob.seconds is not None and self.at is not None:
            now = np.array([at.timestamp() for at in self.at])
            first = np.searchsorted(now, now - knob.seconds, side="right")
        elif knob.rounds is not None:
            first = np.searchsorted(self.first, self.first - knob.rounds, side="right")
        else:
            return spent
        return np.asarray(spent - np.where(first > 0, spent[first - 1], 0.0))

    @cached_property
    def price(self) -> Array:
        """The price of the move at the beginning of each row: (n,)."""
        return np.asarray(self.steps @ np.array([knob.price for knob in self.knobs]))

    @property
    def moved(self) -> Bools:
        """Which rows begin with a move: (n,)."""
        return np.asarray(self.steps.any(axis=1))

    @property
    def saved(self) -> Array | None:
        """What was saved by the end of each row, against leaving the knobs alone: (n,)."""
        if self.stay is None:
            return None
        rows = np.where(np.isnan(self.loss), 0.0, (self.stay - self.loss) * self.count)
        return np.asarray(np.cumsum(rows - self.price))

    @property
    def objectives(self) -> tuple[Metric, ...]:
        """The metrics that are to get better."""
        return tuple(metric for metric in self.metrics if metric.weight is not None)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a data frame: a row each, knobs and metrics in their units."""
        import pandas as pd

        columns: dict[str, object] = {} if self.at is None else {"at": list(self.at)}
        columns |= {"first": self.first, "rounds": self.count, "kind": list(self.kinds)}
        columns |= {knob.name: knob.value(self.states[:, j]) for j, knob in enumerate(self.knobs)}
        columns |= {metric.name: metric.values for metric in self.metrics}
        columns |= {"loss": self.loss, "price": self.price, "why": list(self.why)}
        return pd.DataFrame(columns)
