"""What a tuner's policy has learned, and where it would go."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import isfinite
from typing import Any, Self

import numpy as np

from trimtab.arrays import NOBODY, Array, Ints
from trimtab.errors import SolverFailed
from trimtab.learn import NEVER
from trimtab.live.spec.spec import Spec
from trimtab.live.state.learning.lessons import (
    Await,
    Deploy,
    Drop,
    Escape,
    Learn,
    Lesson,
    Reach,
    Record,
    Respec,
    Revise,
    Watch,
)
from trimtab.live.state.learning.safety import Safety
from trimtab.live.state.tuner_state import State
from trimtab.model.domain import BoundBox
from trimtab.policies import LazyPolicy, Policy, Told, restore
from trimtab.policies.base import part
from trimtab.solve.admissible import Admissible


class Learned:
    """The policy, and its goal: the state that its last look chose, until the next look.

    A policy moves at the end of a `tell`; the system moves when it is asked, and perhaps less
    far. So before every lesson the policy is placed where the system really is.

    Args:
        spec: of the tuner's first event; what a later one changes is no matter of learning.
        policy: new, or from a snapshot.
    """

    def __init__(self, spec: Spec, policy: Policy) -> None:
        self._spec = spec
        self.policy = policy
        self.safety = Safety(spec)
        self.deployed: State = spec.start_place
        self.goal: State | None = None
        self.escapes = False  # whether the goal is the way out of a broken guardrail
        self.review: int | None = None  # rounds until the next look
        self.look: dict[str, Any] | None = None  # what no decision has reported yet
        self.record = Record()
        if isinstance(policy, LazyPolicy):
            self.review = _rounds(policy.rounds_left())

    @classmethod
    def new(cls, spec: Spec, seed: int) -> Self:
        """Nothing learned yet; a policy that moves before it has seen anything has a goal."""
        learned = cls(spec, spec.new_policy(seed=seed))
        first: State = learned.policy.ask().tolist()
        if first != learned.deployed:
            learned.goal = first
        return learned

    def apply(self, lesson: Lesson) -> None:
        """Learn it."""
        if isinstance(lesson, Revise):
            self._revise(lesson)
            return
        self.record.add(lesson, self.policy.snapshot, self.deployed)
        self._apply(lesson)

    def _apply(self, lesson: Lesson) -> None:
        match lesson:
            case Learn():
                self._place(lesson.reach)
                self._learn(lesson)
            case Await():
                self._place(lesson.reach)
                self._tell(None, lesson.state, 1, self._constrained())
            case Deploy():
                self.deployed = lesson.state
                self.goal = self.goal if lesson.keep else None
                self.escapes &= lesson.keep
                self.look = None if lesson.reported else self.look
            case Drop():
                self.goal, self.escapes = None, False
            case Escape():
                self._escape(lesson)
            case Watch():
                self.safety.observe(lesson, self.deployed)
            case Respec():
                self.safety.follow(lesson.spec)
                self.record = Record() if lesson.covariates else self.record

    def _revise(self, lesson: Revise) -> None:
        """Learn again all that is on record, at the states where the system really was."""
        if not self.record.lessons:
            return
        goal, look, deployed = self.goal, self.look, self.deployed
        self.policy = restore(self._spec.problem, self.record.base)
        for each in self.record.lessons:
            self._apply(each.revised(lesson.effects) if isinstance(each, Learn) else each)
        self.goal, self.look, self.deployed = goal, look, deployed

    def _escape(self, lesson: Escape) -> None:
        """Go where the guardrails are likeliest to hold, within reach; end such a way first."""
        if self.escapes and self.goal != self.deployed:
            return
        self._place(lesson.reach)
        self.safety.absorb()
        here = np.array(self.deployed)
        self.safety.doubt(here, lesson)
        domain = self.policy.learner.reachable(FAR)
        if isinstance(domain, BoundBox):
            self.goal = self.safety.way_out(domain, here)
            self.escapes = self.goal is not None

    def _place(self, reach: Reach) -> None:
        """Put the policy where the system is, and tell it where that can go, and how blindly."""
        if self.policy.ask().tolist() != self.deployed:
            self.policy.place(self.deployed)
        if self.policy.learner.prior is not None:
            low, high, blind = reach
            self.policy.within(low, high)
            self.policy.settling(np.array(blind, np.int64) if any(blind) else None)

    def _learn(self, lesson: Learn) -> None:
        admissible = self._constrained()
        with self.policy.learner.counted(lesson.counted):
            losses, counts = np.array(lesson.losses), np.array(lesson.counts, np.int64)
            self._tell(losses, lesson.state, counts, admissible)

    def _constrained(self) -> Callable[[], Admissible] | None:
        """What a look may choose now, of which the policy is told; None: every state.

        It is told before every lesson, because no snapshot of a policy holds it. The guardrails'
        regressions are brought up to it once.
        """
        admissible = self._admissible() if self.safety.rules else None
        self.policy.constrain(admissible)
        return admissible

    def _admissible(self) -> Callable[[], Admissible]:
        @cache
        def found() -> Admissible:
            self.safety.absorb()
            return self.safety.admissible()

        return found

    def _tell(
        self,
        losses: Array | None,
        state: State,
        count: Ints | int,
        admissible: Callable[[], Admissible] | None = None,
    ) -> None:
        try:
            told = self.policy.tell(losses, played=state, count=count)
        except SolverFailed as error:  # it has learned, and stays
            self.look = {"cause": "failed", "failure": str(error)}
            return
        self.review = _rounds(told.next_review)
        if told.cause != "none":
            goal = self.policy.ask()
            if admissible is not None:  # for policies that do not heed it
                domain = self._spec.problem.domain
                levels = domain.leveled if isinstance(domain, BoundBox) else NOBODY
                goal = admissible().toward(goal, np.array(self.deployed), levels)
            stays = goal.tolist() == self.deployed
            if not (stays and self.escapes):  # who looks for the way out goes on with it
                self.goal, self.escapes = goal.tolist(), False
            self.look = self._plain(told)

    def _plain(self, told: Told) -> dict[str, Any]:
        """A look, with names and units, for the journal."""
        objectives = [self._spec.objectives[i].name for i in told.triggered.tolist()]
        plain: dict[str, Any] = {"cause": told.cause, "objectives": objectives}
        if told.record is not None:
            record = told.record
            plain |= {
                "objectives": [self._spec.objectives[i].name for i in record.criteria.tolist()],
                "cut": [self._spec.objectives[i].name for i in record.cut.tolist()],
                "round": int(record.round),
                "information": float(record.information),
                "gain": float(record.gain),
                "expected": float(record.expected),
                "worth": record.worth,
                "rounds": int(record.rounds),
                "price": float(record.price),
                "gap": float(record.gap),
                "certified": bool(record.certified),
            }
        finite = {
            key: None if isinstance(x, float) and not isfinite(x) else x for key, x in plain.items()
        }
        return finite | {"goal": self.goal}

    # In a snapshot.

    def plain(self) -> dict[str, Any]:
        """What it knows beside its regressions, as JSON can hold it."""
        saved = {name: getattr(self, name) for name in _PLAIN}
        saved["escapes"] = self.escapes
        return saved | {"safety": self.safety.plain(), "record": self.record.plain()}

    def arrays(self) -> dict[str, Any]:
        """The policy's snapshot, and the regressions of the guardrails."""
        policy = {f"policy.{name}": x for name, x in self.policy.snapshot().items()}
        base = {f"base.{name}": x for name, x in self.record.base.items()}
        return policy | base | {f"safety.{name}": x for name, x in self.safety.arrays().items()}

    @classmethod
    def from_plain(
        cls, spec: Spec, rules: Spec, saved: dict[str, Any], arrays: dict[str, Any]
    ) -> Self:
        """What `plain` and `arrays` saw; the guardrails are those of the spec `rules`."""
        learned = cls(spec, restore(spec.problem, part(arrays, "policy.")))
        for name in _PLAIN:
            setattr(learned, name, saved[name])
        learned.escapes = saved.get("escapes", False)
        learned.safety = Safety.from_plain(rules, saved["safety"], part(arrays, "safety."))
        learned.record = Record.from_plain(saved["record"], part(arrays, "base."))
        return learned


FAR = 0.2  # of a knob's range: how far a step on the way out of a broken guardrail goes, at most

_PLAIN = ("deployed", "goal", "review", "look")


def _rounds(left: int) -> int | None:
    return None if left >= NEVER else max(int(left), 0)
