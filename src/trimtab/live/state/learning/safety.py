"""Guardrails, learned: what each reads is a regression on the knobs, and looks heed its bound.

A state is admissible if, for every guardrail,

    mean + z sd <= limit - margin,

mean and sd being what is believed of the reading's expectation there, z the quantile of `safety`.
The margin is for the noise of single observations: z of its standard deviations, so that hardly
one is beyond the limit, but no more than half of the way from the start state to the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np

from trimtab.arrays import Array
from trimtab.learn import Prior
from trimtab.learn.posterior import Posterior
from trimtab.live.spec.constraint import Constraint
from trimtab.live.spec.problem_and_policy import watched_problem
from trimtab.live.spec.spec import Spec
from trimtab.live.state.learning.lessons import Escape, Watch
from trimtab.live.state.tuner_state import State
from trimtab.model.domain import BoundBox
from trimtab.model.problem import Problem
from trimtab.policies import alarm
from trimtab.policies.learner import Learner
from trimtab.solve import Bound
from trimtab.solve import Constraint as UpperBound
from trimtab.solve.admissible import Admissible

UNSEEN = 0.05  # of the limit: the noise of a reading that was never seen to vary
ROOM = 0.5  # of the way from the start to the limit: the most that is kept for noise
LAST = 64  # observations that can be learned anew
SAMPLES, SWEEPS, GRID = 64, 2, 9  # of a search for the way out: random states, then knob by knob
SLACKS = (0.0, 0.5)  # standard deviations by which the mean may be higher than here, in turn
LIKELIER = 0.1  # standard deviations by which a step on the way out has to bring the rule nearer
INCREDIBLE = 0.01  # probability of a row of breaches at which what was learned is doubted


def _learner(problem: Problem, start: Array) -> Learner:
    """What knows nothing yet."""
    return Learner(problem, start=start, radius=None, reg=None, factor=2.0, seed=0, prior=Prior())


class Odds(NamedTuple):
    """Whether a reading keeps its limit at a state."""

    mean: float
    sd: float  # of the mean
    kept: float  # how far below the limit, in standard deviations of one observation


class Reading:
    """What is believed of one reading, at any state.

    Args:
        problem: the knobs that it depends on.
        start: the state of the beginning.
        unit: in which it is learned; it matters only where nothing varies.
    """

    def __init__(self, problem: Problem, start: Array, unit: float) -> None:
        self.learner = _learner(problem, start)
        self.unit = unit
        self.observations = 0
        self.unheard = 0  # observations since the last test for a change
        self.doubted = 0  # observations before the system was last said to have changed
        self.last: list[tuple[State, float, int]] = []  # observations, with their counts

    def observe(self, state: State, deployed: State, reading: float, count: int) -> None:
        """Learn a reading of a state; one of the deployed state may ring the alarm."""
        x = np.array(state)
        if state == deployed and not np.array_equal(self.learner.state, x):
            self.learner.place(x)
            self.unheard = 0
        self.learner.observe(np.array([reading / self.unit]), played=x, count=count)
        self.last = [*self.last[1 - LAST :], (state, reading, count)]
        self.observations += 1
        self.unheard += state == deployed
        if self.unheard >= alarm.OFTEN:
            self.unheard = 0
            rung, doubted = alarm.changed(self.learner)
            if rung.size:
                self.learner.widen(doubted)

    def shift(self, rounds: int) -> None:
        """The level has changed since that many observations: what came before is learned anew.

        It is moved by what the same states read since then, and by nothing if there are none.
        """
        before, since = self.last[:-rounds], self.last[-rounds:]
        moved = [
            y - float(np.mean(same))
            for state, y, _ in since
            if (same := [old for place, old, _ in before if place == state])
        ]
        far = float(np.mean(moved)) if moved else 0.0
        here = self.learner.state
        self.learner = _learner(self.learner.problem, self.learner.start)
        self.last = [(state, y + far, count) for state, y, count in before] + since
        for state, y, count in self.last:
            if state != self.learner.state.tolist():
                self.learner.place(np.array(state))
            self.learner.observe(np.array([y / self.unit]), played=np.array(state), count=count)
        self.learner.place(here)
        self.absorb()
        self.unheard, self.doubted = 0, self.observations

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
        start = float(posterior.at(self.learner.start)[0][0])
        left = max(limit / self.unit - start, 0.0)
        z = NormalDist().inv_cdf(rule.safety)
        margin = min(z * self._noise(posterior), ROOM * left)
        bound = Bound(self.learner.problem, stats.R, z * sigma)
        return UpperBound(bound, limit / self.unit - margin - float(posterior.offset[0]))

    def odds(self, state: Array, limit: float) -> Odds:
        """What is believed of the reading at a state; all is 0 as long as nothing is known."""
        posterior = self.posterior
        if posterior is None:
            return Odds(0.0, 0.0, 0.0)
        (mean,), (sd,) = posterior.at(state)
        far = limit / self.unit - mean
        kept = far / np.hypot(sd, self._noise(posterior))
        return Odds(float(mean * self.unit), float(sd * self.unit), float(kept))

    def _noise(self, posterior: Posterior) -> float:
        """The standard deviation of an observation, in `unit`: of as many rounds as usual."""
        seen = float(self.learner.estimators.stats.seen[0])
        each = float(posterior.sigma[0])
        return float(each / np.sqrt(max(seen / max(self.observations, 1), 1.0)))

    # In a snapshot.

    def plain(self) -> dict[str, Any]:
        """What it knows beside its learner, as JSON can hold it."""
        names = ("unit", "observations", "unheard", "doubted", "last")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_plain(cls, problem: Problem, saved: dict[str, Any], learner: dict[str, Any]) -> Self:
        """What `plain` and the learner's snapshot saw."""
        reading = object.__new__(cls)
        reading.learner = Learner.restored(problem, learner)
        for name, value in saved.items():
            setattr(reading, name, value)
        reading.doubted = saved.get("doubted", 0)  # neither is in an older snapshot
        reading.last = [(state, y, count) for state, y, count in saved.get("last", ())]
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

    # The way out of a broken guardrail.

    def way_out(self, domain: BoundBox, here: Array) -> State | None:
        """Where the guardrails are likeliest to hold; None if nowhere much likelier than here.

        No reading's mean is believed to be higher there than here, unless that is admissible. Only
        where there is no such state may it be higher by a part of what is not known of it.
        """
        ways = (self._likeliest(domain, here, slack) for slack in SLACKS)
        return next((state for state in ways if state is not None), None)

    def _likeliest(self, domain: BoundBox, here: Array, slack: float) -> State | None:
        rails = [
            (self.readings[self._key(rule)], limit, bound)
            for c, (rule, limit) in enumerate(zip(self.rules, self.limits, strict=True))
            if limit is not None and (bound := self.upper_bound(c)) is not None
        ]
        if not rails:
            return None
        means = [reading.odds(here, limit).mean for reading, limit, _ in rails]

        def odds(state: Array) -> float:
            least = inf
            for (reading, limit, bound), most in zip(rails, means, strict=True):
                mean, sd, kept = reading.odds(state, limit)
                if mean > most + slack * sd and bound.excess(state) > 0.0:
                    return -inf
                least = min(least, kept)
            return least

        rng = np.random.default_rng(rails[0][0].observations)
        tried = [here, *(domain.sample(rng) for _ in range(SAMPLES))]
        best = max(tried, key=odds).copy()
        for _ in range(SWEEPS):
            for j in range(here.size):
                levels = domain.levels_of(j)
                places = levels if levels.size else np.linspace(domain.low[j], domain.high[j], GRID)
                trial = np.repeat(best[None], places.size + 2, axis=0)
                trial[1, j], trial[2:, j] = here[j], places
                best = max(trial, key=odds)
        found: State = best.tolist()
        return found if odds(best) >= odds(here) + LIKELIER else None

    def outdated(self, origin: State) -> list[str]:
        """What to say of rules whose baseline is not even kept where it was taken."""
        said = []
        for rule, limit in zip(self.rules, self.limits, strict=True):
            reading = self.readings.get(self._key(rule))
            if not rule.baselines or reading is None or limit is None:
                continue
            if reading.odds(np.array(origin), limit).kept < 0.0:
                said.append(
                    f"{rule.rule} is broken at the start values too: the baseline is out of date; "
                    f"write the limit as a number, in place of {limit:.4g} now"
                )
        return said

    def doubt(self, here: Array, lesson: Escape) -> None:
        """Learn anew the readings that cannot be right about what is broken here.

        That is where the same state was seen to be all right, or if that many breaches in a row are
        hard to believe. A reading that was doubted a short while ago is not doubted again.
        """
        for rule, limit, row in zip(self.rules, self.limits, lesson.rows, strict=True):
            reading = self.readings.get(self._key(rule))
            if reading is None or limit is None or not row:
                continue
            if reading.observations - reading.doubted < alarm.OFTEN:
                continue
            kept = NormalDist().cdf(reading.odds(here, limit).kept)
            if lesson.changed or (1.0 - kept) ** row < INCREDIBLE:
                beyond = [y > limit for _, y, _ in reversed(reading.last)]
                reading.shift(([*beyond, False]).index(False) or row)

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
