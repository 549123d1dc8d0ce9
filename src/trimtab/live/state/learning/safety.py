"""Guardrails, learned: what each reads is a regression on the knobs, and looks heed its bound.

A state is admissible if, for every guardrail,

    mean + z sd <= limit - margin,

mean and sd being what is believed of the reading's expectation there, z the quantile of `safety`.
The margin is for the noise of single observations: z of its standard deviations, so that hardly
one is beyond the limit, but no more than half of the way from the start state to the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from trimtab.arrays import Array
from trimtab.learn import Prior
from trimtab.learn.posterior import Posterior
from trimtab.live.spec.constraint import Constraint
from trimtab.live.spec.problem_and_policy import watched_problem
from trimtab.live.spec.spec import Spec
from trimtab.live.state.learning.lessons import Watch
from trimtab.live.state.tuner_state import State
from trimtab.model.problem import Problem
from trimtab.policies import alarm
from trimtab.policies.learner import Learner
from trimtab.solve import Bound
from trimtab.solve import Constraint as UpperBound
from trimtab.solve.admissible import Admissible

UNSEEN = 0.05  # of the limit: the noise of a reading that was never seen to vary
ROOM = 0.5  # of the way from the start to the limit: the most that is kept for noise


class Reading:
    """What is believed of one reading, at any state.

    Args:
        problem: the knobs that it depends on.
        start: the state of the beginning.
        unit: in which it is learned; it matters only where nothing varies.
    """

    def __init__(self, problem: Problem, start: Array, unit: float) -> None:
        self.learner = Learner(
            problem, start=start, radius=None, reg=None, factor=2.0, seed=0, prior=Prior()
        )
        self.unit = unit
        self.observations = 0
        self.unheard = 0  # observations since the last test for a change

    def observe(self, state: State, deployed: State, reading: float, count: int) -> None:
        """Learn a reading of a state; one of the deployed state may ring the alarm."""
        x = np.array(state)
        if state == deployed and not np.array_equal(self.learner.state, x):
            self.learner.place(x)
            self.unheard = 0
        self.learner.observe(np.array([reading / self.unit]), played=x, count=count)
        self.observations += 1
        self.unheard += state == deployed
        if self.unheard >= alarm.OFTEN:
            self.unheard = 0
            rung, doubted = alarm.changed(self.learner)
            if rung.size:
                self.learner.widen(doubted)

    def absorb(self) -> None:
        """Bring the regression up to the last observation."""
        self.learner.absorb(self.learner.problem.all_criteria)

    @property
    def posterior(self) -> Posterior | None:
        """What is believed, in `unit`; None before the noise is known."""
        scales = self.learner.scales
        return None if scales is None else Posterior(self.learner.estimators, scales.sigma)

    def upper_bound(self, rule: Constraint, limit: float) -> UpperBound | None:
        """The bound that an admissible state keeps; None as long as too little is known."""
        posterior = self.posterior
        if posterior is None:
            return None
        stats = self.learner.estimators.stats
        sigma = float(posterior.sigma[0])
        each = sigma / max(float(stats.seen[0]) / max(self.observations, 1), 1.0) ** 0.5
        start = float(posterior.at(self.learner.start)[0][0])
        left = max(limit / self.unit - start, 0.0)
        z = NormalDist().inv_cdf(rule.safety)
        margin = min(z * each, ROOM * left)
        bound = Bound(self.learner.problem, stats.R, z * sigma)
        return UpperBound(bound, limit / self.unit - margin - float(posterior.offset[0]))

    # In a snapshot.

    def plain(self) -> dict[str, Any]:
        """What it knows beside its learner, as JSON can hold it."""
        return {name: getattr(self, name) for name in ("unit", "observations", "unheard")}

    @classmethod
    def from_plain(cls, problem: Problem, saved: dict[str, Any], learner: dict[str, Any]) -> Self:
        """What `plain` and the learner's snapshot saw."""
        reading = object.__new__(cls)
        reading.learner = Learner.restored(problem, learner)
        for name, value in saved.items():
            setattr(reading, name, value)
        return reading


class Safety:
    """The guardrails of a spec that are learned, and what is believed of their readings."""

    def __init__(self, spec: Spec) -> None:
        self.readings: dict[str, Reading] = {}  # by what is watched
        self.limits: list[float | None] = []
        self.safe: list[State] = []
        self.follow(spec)

    def follow(self, spec: Spec) -> None:
        """Take other rules; what was learned of the readings that they share stays."""
        self._spec = spec
        self.rules = [rule for rule in spec.constraints if rule.learned]
        watched = set(map(self._key, self.rules))
        self.readings = {key: x for key, x in self.readings.items() if key in watched}
        self.limits = [None] * len(self.rules)

    def observe(self, watch: Watch, deployed: State) -> None:
        """Take in what a tell says."""
        self.limits, self.safe = watch.limits, watch.safe
        told: set[str] = set()
        for rule, y, n, limit in zip(
            self.rules, watch.readings, watch.counts, watch.limits, strict=True
        ):
            key = self._key(rule)
            if y is None or key in told:
                continue
            told.add(key)
            if key not in self.readings:
                self.readings[key] = Reading(
                    self._problem(rule), self._spec.start, self._unit(rule, y, limit)
                )
            self.readings[key].observe(watch.state, deployed, y, n)

    def _key(self, rule: Constraint) -> str:
        """Rules of which this is equal are learned as one."""
        return f"{rule.watched} of {self._spec.scope(rule)}"

    def _problem(self, rule: Constraint) -> Problem:
        return watched_problem(self._spec.knobs, self._spec.scope(rule))

    def _unit(self, rule: Constraint, reading: float, limit: float | None) -> float:
        ranges = {each.name: each.high - each.low for each in self._spec.objectives}
        known = ranges.get(rule.metrics[0]) if len(rule.metrics) == 1 else None
        size = known or max(abs(limit or 0.0), abs(reading)) or 1.0
        return UNSEEN * size

    def absorb(self) -> None:
        """Bring all regressions up to the last observation."""
        for reading in self.readings.values():
            reading.absorb()

    def admissible(self) -> Admissible:
        """The states that a look may choose, by what the regressions hold now."""
        safe = tuple(np.array(state) for state in self.safe)
        bounds = [self.upper_bound(c) for c in range(len(self.rules))]
        known = tuple(bound for bound in bounds if bound is not None)
        return Admissible(known if len(known) == len(bounds) else None, safe)

    def upper_bound(self, c: int) -> UpperBound | None:
        """The bound of one rule; None as long as too little is known."""
        rule, limit = self.rules[c], self.limits[c]
        reading = self.readings.get(self._key(rule))
        return None if reading is None or limit is None else reading.upper_bound(rule, limit)

    def unsafe(self, state: State) -> list[str]:
        """The rules that the state may not keep, by what the regressions hold now."""
        x = np.array(state)
        if state in self.safe:
            return []
        bounds = [self.upper_bound(c) for c in range(len(self.rules))]
        return [
            rule.rule
            for rule, bound in zip(self.rules, bounds, strict=True)
            if bound is None or bound.excess(x) > 0.0
        ]

    # In a snapshot.

    def plain(self) -> dict[str, Any]:
        """What it knows beside its regressions, as JSON can hold it."""
        readings = {key: each.plain() for key, each in self.readings.items()}
        return {"limits": self.limits, "safe": self.safe, "readings": readings}

    def arrays(self) -> dict[str, Any]:
        """The regressions, by the places of their readings."""
        return {
            f"{n}.{name}": x
            for n, reading in enumerate(self.readings.values())
            for name, x in reading.learner.snapshot().items()
        }

    @classmethod
    def from_plain(cls, spec: Spec, saved: dict[str, Any], arrays: Mapping[str, Any]) -> Self:
        """What `plain` and `arrays` saw, under this spec."""
        safety = cls(spec)
        problems = {safety._key(rule): safety._problem(rule) for rule in safety.rules}
        safety.limits, safety.safe = saved["limits"], saved["safe"]
        for n, (key, plain) in enumerate(saved["readings"].items()):
            mine = f"{n}."
            learner = {k[len(mine) :]: x for k, x in arrays.items() if k.startswith(mine)}
            safety.readings[key] = Reading.from_plain(problems[key], plain, learner)
        return safety
