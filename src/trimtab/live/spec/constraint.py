"""What must hold in the live system, whatever is being tuned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, Literal

from trimtab.arrays import real
from trimtab.live.spec.expression import COMPARISONS, Comparison, parse, run

Kind = Literal["guardrail", "signal"]


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """A comparison of metrics, and what to do when it has been broken.

    A *guardrail* takes the system back to the last good state, a *signal* pauses the tuning.
    Either acts after `patience` observations in a row that break the rule; one that cannot be
    judged neither counts nor breaks the row.

    >>> latency = Constraint(rule="latency <= 1.05 * baseline", kind="guardrail", patience=3)
    >>> latency.holds({"latency": 103.0}, {"latency": 100.0})
    True
    >>> latency.holds({"latency": 106.0}, {"latency": 100.0})
    False
    >>> latency.holds({"errors": 0.0}, {"latency": 100.0}) is None
    True

    Raises:
        InvalidInput: the rule is no comparison of metrics (`expression` has the grammar).
    """

    rule: str
    kind: Kind
    patience: int = 1

    def __post_init__(self) -> None:
        parse(self.rule)

    @property
    def comparison(self) -> Comparison:
        """The rule, parsed."""
        return parse(self.rule)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics it reads, in order."""
        return tuple(name.metric for name in self.comparison.names if not name.baseline)

    @property
    def baselines(self) -> tuple[str, ...]:
        """The metrics whose baseline it needs: one, or none."""
        return tuple(name.metric for name in self.comparison.names if name.baseline)

    def sides(
        self, metrics: Mapping[str, float], baselines: Mapping[str, float]
    ) -> tuple[float, float] | None:
        """The values of both sides; None if they cannot be had.

        That is if a metric or baseline is missing or NaN, or after a division by 0.

        Raises:
            InvalidInput: a metric that the rule reads is no number.
        """
        now = {name: _number(metrics, name) for name in self.metrics}
        then = {name: _number(baselines, name) for name in self.baselines}
        compared = self.comparison
        left, right = run(compared.left, now, then), run(compared.right, now, then)
        return None if isnan(left) or isnan(right) else (left, right)

    def holds(self, metrics: Mapping[str, float], baselines: Mapping[str, float]) -> bool | None:
        """Whether the rule holds; None if it cannot be judged, as in `sides`.

        Raises:
            InvalidInput: a metric that the rule reads is no number.
        """
        both = self.sides(metrics, baselines)
        return None if both is None else COMPARISONS[self.comparison.sign](*both)

    def to_dict(self) -> dict[str, Any]:
        """The constraint's table of the spec."""
        return {"rule": self.rule, "kind": self.kind, "patience": self.patience}


def _number(values: Mapping[str, float], name: str) -> float:
    value = values.get(name)
    return nan if value is None else real(value, name)
