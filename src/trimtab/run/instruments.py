"""The loop's own metrics, for Prometheus to scrape.

Several loops may share one registry: every series has the tuner's name as a label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge

from trimtab.live.spec.constraint import Constraint
from trimtab.live.spec.spec import Spec
from trimtab.live.state.decision import Decision

if TYPE_CHECKING:
    from trimtab.live.tuner import Tuner
    from trimtab.run.loop import Loop

MODES = ("tuning", "paused", "manual", "rollback")
STARTING = 8  # windows at the start values, of which the mean is the loss to compare with
FIRST = 256  # decisions and tells of the journal among which they are looked for


class Metrics:
    """The series of all loops of a process.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, says: str, *labels: str) -> Gauge:
            return Gauge(f"trimtab_{name}", says, ("tuner", *labels), registry=registry)

        def counter(name: str, says: str, *labels: str) -> Counter:
            return Counter(f"trimtab_{name}", says, ("tuner", *labels), registry=registry)

        self.knob = gauge("knob_value", "What a knob is set to, in its unit.", "knob")
        self.metric = gauge("metric_value", "A metric in the last window, in its unit.", "metric")
        self.loss = gauge("loss", "Weighted loss of the last complete window.")
        self.start = gauge("loss_at_start", "Mean weighted loss at the start values.")
        self.ratio = gauge("loss_against_start", "Loss of the last window over that at the start.")
        self.headroom = gauge(
            "guardrail_headroom", "Distance to the limit over the limit; negative: broken.", "rule"
        )
        self.holds = gauge("constraint_holds", "1 if the rule held when last judged.", "rule")
        self.mode = gauge("mode", "1 for the mode that the tuner is in.", "mode")
        self.stuck = gauge("stuck", "1 if rounds are not completed any more.")
        self.shadow = gauge("shadow", "1 if values are proposed and not set.")
        self.proposal = gauge("proposal_waiting", "1 if a proposal waits for approval.")
        self.heard = gauge("last_round_timestamp_seconds", "When a round was last complete.")
        self.decided = gauge("last_decision_timestamp_seconds", "When it was last decided.")
        self.moved = gauge("last_move_timestamp_seconds", "When values last changed.")
        self.undelivered = gauge("notices_undelivered", "Notices that a webhook has not taken yet.")
        self.rounds = gauge("rounds", "Decisions so far.")
        self.moves = gauge("moves", "Changes of the values so far, by decisions.")
        self.rollbacks = gauge("rollbacks", "Rollbacks so far.")
        self.looks = counter("looks", "Looks of the policy seen by this process.", "cause")
        self.alarms = counter("alarms", "Alarms seen by this process: the system has changed.")
        self.faults = counter("faults", "What did not work.", "where", "code")


class Instruments:
    """Keeps the series of one loop.

    Args:
        metrics: of the process.
        name: of the tuner.
    """

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._metrics, self._name = metrics, name
        self._measured: Mapping[str, Any] = {}
        self._starting: list[float] = []  # losses at the start values, as the journal has them
        self._start: Mapping[str, float] | None = None  # where the tuner's first metrics came from
        self.undelivered: Callable[[], int] = lambda: 0

    def decided(self, decision: Decision) -> None:
        """There is a new decision."""
        self._metrics.decided.labels(self._name).set(decision.at.timestamp())
        for knob, value in decision.values.items():
            self._metrics.knob.labels(self._name, knob).set(value)
        if decision.changed:
            self._metrics.moved.labels(self._name).set(decision.at.timestamp())

    def looked(self, cause: str) -> None:
        """The policy has looked for a better state."""
        self._metrics.looks.labels(self._name, cause).inc()
        if cause == "alarm":
            self._metrics.alarms.labels(self._name).inc()

    def told(self, metrics: Mapping[str, Any], at: datetime) -> None:
        """A window was measured and told."""
        self._measured = {name: x[0] if isinstance(x, tuple) else x for name, x in metrics.items()}
        for name, value in self._measured.items():
            self._metrics.metric.labels(self._name, name).set(value)

    def failed(self, where: str, code: str) -> None:
        """Something did not work."""
        self._metrics.faults.labels(self._name, where, code).inc()

    def stepped(self, loop: Loop) -> None:
        """A step is over."""
        m, name, spec = self._metrics, self._name, loop.tuner.spec
        status = loop.tuner.status()
        for mode in MODES:
            m.mode.labels(name, mode).set(status.mode == mode)
        for gauge, value in (
            (m.stuck, loop.stuck is not None),
            (m.shadow, status.shadow),
            (m.proposal, status.proposed_by is not None),
            (m.heard, loop.heard.timestamp()),
            (m.rounds, status.rounds),
            (m.moves, status.moves),
            (m.rollbacks, status.rollbacks),
            (m.undelivered, self.undelivered()),
        ):
            gauge.labels(name).set(value)
        for rule, holds in status.constraints.items():
            if holds is not None:
                m.holds.labels(name, rule).set(holds)
        if not self._measured:
            return
        for constraint in spec.constraints:
            left = headroom(constraint, self._measured, status.baselines)
            if left is not None:
                m.headroom.labels(name, constraint.rule).set(left)
        self._compare(loop)
        self._measured = {}

    def _compare(self, loop: Loop) -> None:
        """The loss of the last window against that of the tuner's first ones."""
        m, name = self._metrics, self._name
        loss = _loss(loop.tuner.spec, self._measured)
        if loss != loss:
            return  # an objective is missing
        m.loss.labels(name).set(loss)
        if self._start is None:
            self._start, self._starting = started(loop.tuner)
        elif loop.decision is not None and loop.decision.values == self._start:
            self._starting = [*self._starting, loss][:STARTING]
        if self._starting:
            start = sum(self._starting) / len(self._starting)
            m.start.labels(name).set(start)
            if start > 0.0:
                m.ratio.labels(name).set(loss / start)


def started(tuner: Tuner) -> tuple[Mapping[str, float] | None, list[float]]:
    """Where the tuner's first metrics came from, whichever process told them, and losses there."""
    played: dict[str | None, Mapping[str, float]] = {}
    start: Mapping[str, float] | None = None
    losses: list[float] = []
    for row in tuner.history(kinds=("decide", "tell"), limit=FIRST):
        if row.kind == "decide":
            played[row.id] = row.values
        elif start is None or played.get(row.id) == start:
            start = played.get(row.id)
            losses.append(_loss(tuner.spec, {k: x[0] for k, x in row.told.items() if x}))
    return start, [loss for loss in losses if loss == loss][:STARTING]


def _loss(spec: Spec, measured: Mapping[str, float]) -> float:
    return float(spec.problem.weights @ spec.losses(measured))


def headroom(
    constraint: Constraint, metrics: Mapping[str, float], baselines: Mapping[str, float]
) -> float | None:
    """How far a rule is from being broken, in units of its limit; None if it cannot be judged.

    >>> rule = Constraint(rule="latency <= 200", kind="guardrail")
    >>> headroom(rule, {"latency": 150.0}, {}), headroom(rule, {"latency": 250.0}, {})
    (0.25, -0.25)
    """
    needed = {name: metrics[name] for name in constraint.metrics if name in metrics}
    both = constraint.sides(needed, baselines)
    if both is None:
        return None
    left, right = both
    distance = right - left if constraint.comparison.sign in ("<", "<=") else left - right
    return distance / abs(right) if right else distance
