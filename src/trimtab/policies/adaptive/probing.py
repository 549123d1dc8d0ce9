"""Probes of a learned graph: does a criterion still not read the knobs that were excluded?

A dependency that comes back may not show at the state that is played: a product with a knob at 0
is 0. No policy that stays can see it. So every so often each knob that some criterion excludes
goes away for some rounds, alone, and comes back. A criterion that does not read
the knob must not notice. If it does, by the test of the alarm, it is reopened. The levels of these
tests add up to delta once more.

A knob goes a third of its range up or down, whichever is said to cost less, and in every other lap
the other way, where there is room. Nearer shows less, farther costs more. A dependency that shows
there by less than about 1.7 standard deviations of the noise is not noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.arrays import NOBODY, Array, Ints
from trimtab.learn import NEVER
from trimtab.learn.sparsity_test import EXCLUDED, Edges
from trimtab.model.domain import BoundBox
from trimtab.policies import alarm
from trimtab.policies.learner import Learner

ROUNDS = 8  # of a knob in a lap
STEP = 1.0 / 3.0  # of its range by which a knob goes away
_SCALARS = ("every", "due", "lap", "knob", "until", "tests")


class Probes:
    """When the next lap is due, and where the present one is."""

    def __init__(self, every: int, knobs: int) -> None:
        self.every = every  # rounds between two laps, NEVER without
        self.due = every  # the clock at which the next one begins
        self.lap = 0  # how many there have been
        self.knob = -1  # that is away now
        self.until = NEVER  # the clock at which it comes back
        self.tests = 0
        self.home: Array = np.zeros(knobs)  # the state without probes

    @property
    def underway(self) -> bool:
        """Whether a knob is away now."""
        return self.knob >= 0

    def ahead(self, clock: int) -> int:
        """Rounds until something happens here."""
        return max((self.until if self.underway else self.due) - clock, 1)

    def begin(self, learner: Learner, edges: Edges) -> bool:
        """Begin a lap; whether there is anything to probe."""
        self.due = learner.clock + self.every
        self.home = learner.state.copy()
        self.lap += 1
        return self.step(learner, edges)

    def step(self, learner: Learner, edges: Edges) -> bool:
        """Send the next knob, and bring the last one back; whether there was one more."""
        excluded = np.unique(edges.knob[edges.decision == EXCLUDED])
        for j in excluded[excluded > self.knob].tolist():
            state = self.home.copy()
            state[j] = self._away(learner, j)
            if learner.limits is not None:
                state = learner.limits.project(state)
            if state[j] != self.home[j] and learner.admits(state):
                learner.place(state)
                self.knob, self.until = j, learner.clock + ROUNDS
                return True
        self.end(learner)
        return False

    def end(self, learner: Learner) -> None:
        """Bring the knob back."""
        learner.place(self.home if learner.limits is None else learner.limits.project(self.home))
        self.knob, self.until = -1, NEVER

    def noticed(self, learner: Learner, edges: Edges) -> tuple[Ints, Array]:
        """The criteria that noticed though they exclude the knob, and by how much: each (n,)."""
        if learner.owed is not None:
            learner.settle()
        self.tests += 1
        stats = learner.estimators.stats
        if learner.prior is not None:
            found = alarm.changed(learner)[0]
        else:
            found = alarm.rung(learner, self.tests)
        excludes = edges.criterion[(edges.knob == self.knob) & (edges.decision == EXCLUDED)]
        found = np.intersect1d(found, excludes)
        if not found.size:
            return NOBODY, np.zeros(0)
        return found, (learner.estimators.frozen()[1] - stats.mean)[found]

    def _away(self, learner: Learner, j: int) -> float:
        """Where knob j goes in this lap: the better of two places, or the other one."""
        domain, now = learner.problem.domain, float(self.home[j])
        if not isinstance(domain, BoundBox):
            return now
        low, high = float(domain.low[j]), float(domain.high[j])
        away = STEP * (high - low)
        places = np.array([now - away, now + away])
        levels = domain.levels_of(j)
        if levels.size:  # the nearest that is as far away, either way
            below, above = levels[levels <= now - away], levels[levels >= now + away]
            places = np.concatenate((below[-1:], above[:1]))
        places = places[(places >= low) & (places <= high)]
        if not places.size:
            return now
        states = np.repeat(self.home[None], places.size, axis=0)
        states[:, j] = places
        order = np.argsort([learner.lcb.mean(state) for state in states], kind="stable")
        return float(places[order[min((self.lap - 1) % 2, places.size - 1)]])

    def to_plain(self) -> dict[str, Any]:
        """Everything as plain scalars and arrays, for a snapshot."""
        return {f"probes.{x}": getattr(self, x) for x in _SCALARS} | {"probes.home": self.home}

    @classmethod
    def from_plain(cls, saved: Mapping[str, Any]) -> Probes:
        """What `to_plain` saw; the arrays are known to fit."""
        found = cls(int(saved["probes.every"]), np.size(saved["probes.home"]))
        for name in _SCALARS:
            setattr(found, name, int(saved[f"probes.{name}"]))
        found.home = np.array(saved["probes.home"], np.float64)
        return found
