"""What must hold in the live system, whatever is being tuned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import Any, Literal

from trimtab.errors import InvalidInput
from trimtab.live.spec.expression import (
    COMPARISONS,
    Apply,
    Comparison,
    Name,
    Program,
    parse,
    run,
)
from trimtab.plain.faults import real

Kind = Literal["guardrail", "signal"]
SAFETY = 0.975  # the confidence with which looks keep a guardrail
LEAST_SAFETY = 0.5


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """A comparison of metrics, and what to do when it has been broken.

    A *guardrail* takes the system back to the last good state, a *signal* pauses the tuning.
    Either acts after `patience` observations in a row that break the rule; one that cannot be
    judged neither counts nor breaks the row.

    What a guardrail reads is learned as well: looks consider only states that keep it with the
    confidence `safety`. For that a rule is seen as ``reading <= limit``: the limit is a side of it
    without metrics if there is one, up to baselines, and else 0.

    >>> latency = Constraint(rule="latency <= 1.05 * baseline", kind="guardrail", patience=3)
    >>> latency.holds({"latency": 103.0}, {"latency": 100.0})
    True
    >>> latency.holds({"latency": 106.0}, {"latency": 100.0})
    False
    >>> latency.holds({"errors": 0.0}, {"latency": 100.0}) is None
    True
    >>> latency.reading({"latency": 103.0}, {}), latency.limit({"latency": 100.0})
    (103.0, 105.0)
    >>> Constraint(rule="hits > 2 * misses", kind="guardrail").reading({"hits": 9, "misses": 2}, {})
    -5.0

    Raises:
        InvalidInput: the rule is no comparison of metrics (`expression` has the grammar).
    """

    rule: str
    kind: Kind
    patience: int = 1
    safety: float = SAFETY  # of a guardrail; 0: it is watched, and not learned

    def __post_init__(self) -> None:
        parse(self.rule)
        if self.safety and self.safety < LEAST_SAFETY:
            raise InvalidInput(
                f"safety = {self.safety:g}: it is below {LEAST_SAFETY:g}; give a probability from "
                f"{LEAST_SAFETY:g} on, or 0 if nothing is to be learned of the rule"
            )

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

    @property
    def learned(self) -> bool:
        """Whether looks heed it."""
        return self.kind == "guardrail" and self.safety > 0.0

    @property
    def watched(self) -> str:
        """What is read of it, as a text: rules that differ in the limit alone have the same."""
        return f"{self._sign:+g} * ({' '.join(map(str, self._sides[0]))})"

    def reading(self, metrics: Mapping[str, float], baselines: Mapping[str, float]) -> float | None:
        """The number that must not be above the limit; None if it cannot be had."""
        side = self._sides[0]
        names = [step for step in side if isinstance(step, Name)]
        now = {each.metric: _number(metrics, each.metric) for each in names if not each.baseline}
        then = {each.metric: _number(baselines, each.metric) for each in names if each.baseline}
        value = self._sign * run(side, now, then)
        return value if isfinite(value) else None

    def limit(self, baselines: Mapping[str, float]) -> float | None:
        """The limit of the reading; None while a baseline is missing."""
        value = self._sign * run(
            self._sides[1], {}, {name: _number(baselines, name) for name in self.baselines}
        )
        return value if isfinite(value) else None

    @property
    def _sides(self) -> tuple[Program, Program]:
        """The reading and the limit, in the direction of the rule."""
        compared = self.comparison
        if not _reads(compared.right):
            return compared.left, compared.right
        if not _reads(compared.left):
            return compared.right, compared.left
        return (*compared.left, *compared.right, Apply("-")), (0.0,)

    @property
    def _sign(self) -> float:
        """-1 where the reading must not be below the limit."""
        upper = self.comparison.sign in ("<", "<=")
        swapped = _reads(self.comparison.right) and not _reads(self.comparison.left)
        return 1.0 if upper != swapped else -1.0

    def to_dict(self) -> dict[str, Any]:
        """The constraint's table of the spec."""
        plain = {"rule": self.rule, "kind": self.kind, "patience": self.patience}
        return plain if self.safety == SAFETY else plain | {"safety": self.safety}


def _reads(program: Program) -> bool:
    """Whether a metric decides it, baselines apart."""
    return any(isinstance(step, Name) and not step.baseline for step in program)


def _number(values: Mapping[str, float], name: str) -> float:
    value = values.get(name)
    return nan if value is None else real(value, name)
