"""What a tuner's policy has learned, and where it would go."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Self

from trimtab.arrays import Array, Ints
from trimtab.errors import SolverFailed
from trimtab.learn import NEVER
from trimtab.live.spec.spec import Spec
from trimtab.live.state.tuner_state import State
from trimtab.policies import LazyPolicy, Policy, Told, restore


@dataclass(frozen=True, slots=True)
class Learn:
    """Losses that were observed at a state."""

    state: State
    losses: Array  # (m,) NaN where none was observed
    counts: Ints  # (m,) of how many rounds each is the mean
    reach: tuple[State, State] | None = None  # what the knobs can be at the next decision


@dataclass(frozen=True, slots=True)
class Await:
    """A round was played at a state; its losses come later."""

    state: State


@dataclass(frozen=True, slots=True)
class Deploy:
    """The system is at a state now; a decision has reported the last look, if it is one's."""

    state: State
    keep: bool  # whether the policy's goal stays one
    reported: bool


@dataclass(frozen=True, slots=True)
class Drop:
    """The policy's goal is none any more: somebody, or a guard, has decided otherwise."""


Lesson = Learn | Await | Deploy | Drop  # one after another, from the tuner_state to the policy


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
        self.deployed: State = spec.start.tolist()
        self.goal: State | None = None
        self.review: int | None = None  # rounds until the next look
        self.look: dict[str, Any] | None = None  # what no decision has reported yet
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
        match lesson:
            case Learn():
                self._place()
                self._learn(lesson)
            case Await():
                self._place()
                self._tell(None, lesson.state, 1)
            case Deploy():
                self.deployed = lesson.state
                self.goal = self.goal if lesson.keep else None
                self.look = None if lesson.reported else self.look
            case Drop():
                self.goal = None

    def _place(self) -> None:
        if self.policy.ask().tolist() != self.deployed:
            self.policy.place(self.deployed)

    def _learn(self, lesson: Learn) -> None:
        if lesson.reach is not None and self.policy.learner.prior is not None:
            self.policy.within(*lesson.reach)
        self._tell(lesson.losses, lesson.state, lesson.counts)

    def _tell(self, losses: Array | None, state: State, count: Ints | int) -> None:
        try:
            told = self.policy.tell(losses, played=state, count=count)
        except SolverFailed as error:  # it has learned, and stays
            self.look = {"cause": "failed", "failure": str(error)}
            return
        self.review = _rounds(told.next_review)
        if told.cause != "none":
            self.goal = self.policy.ask().tolist()
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
        """What it knows beside its policy, as JSON can hold it."""
        names = ("deployed", "goal", "review", "look")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_plain(cls, spec: Spec, saved: dict[str, Any], policy: dict[str, Any]) -> Self:
        """What `plain` and the policy's snapshot saw."""
        learned = cls(spec, restore(spec.problem, policy))
        for name, value in saved.items():
            setattr(learned, name, value)
        return learned


def _rounds(left: int) -> int | None:
    return None if left >= NEVER else max(int(left), 0)
