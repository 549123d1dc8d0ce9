"""Lessons: what a tuner's events teach its policy, one after another; and a record of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan, nan
from typing import Any, Self

from trimtab.live.spec.spec import Spec
from trimtab.live.state.tuner_state import State

MOST = 1000  # lessons on record


# What the knobs can be at the next decision, lowest and highest; and for how many rounds nothing is
# learned after each has moved.
Reach = tuple[State, State, list[int]]


@dataclass(frozen=True, slots=True)
class Covaried:
    """A loss as it came, with what its covariates were."""

    objective: int
    loss: float
    far: list[float]  # z - z0, see `covariates`

    def without(self, gamma: Sequence[float]) -> float:
        """The loss, with these effects of its covariates taken out."""
        return self.loss - sum(g * x for g, x in zip(gamma, self.far, strict=True))


@dataclass(frozen=True, slots=True)
class Learn:
    """Losses that were observed at a state."""

    state: State
    losses: list[float]  # (m,) NaN where none was observed
    counts: list[int]  # (m,) of how many rounds each is the mean
    reach: Reach
    counted: int = 0  # rounds of them that the policy's clock has from an earlier lesson
    covaried: tuple[Covaried, ...] = ()  # of the losses from which covariates were taken out

    def revised(self, effects: Mapping[int, list[float]]) -> Learn:
        """The same losses, with other effects of their covariates taken out."""
        losses = list(self.losses)
        for each in self.covaried:
            losses[each.objective] = each.without(effects[each.objective])
        return replace(self, losses=losses)


@dataclass(frozen=True, slots=True)
class Revise:
    """The effects of covariates are known better: what they were taken out of is learned again."""

    effects: Mapping[int, list[float]]  # gamma by objective


@dataclass(frozen=True, slots=True)
class Await:
    """A round was played at a state; its losses come later."""

    state: State
    reach: Reach


@dataclass(frozen=True, slots=True)
class Deploy:
    """The system is at a state now."""

    state: State
    keep: bool  # whether the policy still wants to reach its goal
    reported: bool  # whether it was deployed by a decision that reports the last look


@dataclass(frozen=True, slots=True)
class Drop:
    """The policy's goal is dropped: a person or a guard has decided otherwise."""


@dataclass(frozen=True, slots=True)
class Respec:
    """The spec has changed in what may change."""

    spec: Spec
    covariates: bool  # whether these have


@dataclass(frozen=True, slots=True)
class Watch:
    """What a tell says of the guardrails that are learned, one entry each."""

    state: State
    readings: list[float | None]  # None where there is nothing to learn
    counts: list[int]  # of how many rounds each is the mean
    limits: list[float | None]  # None while a baseline is missing
    safe: list[State]  # states that were observed to hold


@dataclass(frozen=True, slots=True)
class Escape:
    """Guardrails are broken here, and no state is known to keep them: look for the way out."""

    reach: Reach
    rows: list[int]  # how often each guardrail that is learned broke in a row
    changed: bool  # whether states where they held break them now


Lesson = (
    Learn | Watch | Await | Deploy | Drop | Respec | Revise | Escape
)  # one after another, from the tuner_state to the policy


class Record:
    """The lessons from the first with covariates on, to be learned again when more is known.

    There are at most `MOST`. Then the effects are known well enough, and the record is closed.
    """

    def __init__(self) -> None:
        self.base: dict[str, Any] = {}  # the policy's snapshot before the first of them
        self.lessons: list[Learn | Await | Deploy] = []
        self.closed = False

    def add(self, lesson: Lesson, snapshot: Callable[[], dict[str, Any]], deployed: State) -> None:
        """Write a lesson down before it is learned, if it matters."""
        match lesson:
            case Learn() if lesson.covaried and not self.lessons and not self.closed:
                self.base = snapshot()
                self.lessons = [Deploy(deployed, keep=False, reported=False), lesson]
            case Learn() | Await() if self.lessons:
                self.lessons.append(lesson)
            case Deploy() if self.lessons and lesson.state != deployed:
                self.lessons.append(lesson)
        if len(self.lessons) > MOST:
            self.base, self.lessons, self.closed = {}, [], True

    # In a snapshot.

    def plain(self) -> dict[str, Any]:
        """All but the base, as JSON can hold it."""
        return {"closed": self.closed, "lessons": [_plain(each) for each in self.lessons]}

    @classmethod
    def from_plain(cls, saved: Mapping[str, Any], base: dict[str, Any]) -> Self:
        """What `plain` saw, with its base."""
        record = cls()
        record.base, record.closed = base, saved["closed"]
        record.lessons = [_from_plain(*each) for each in saved["lessons"]]
        return record


def _plain(lesson: Learn | Await | Deploy) -> list[Any]:
    content = asdict(lesson)
    if isinstance(lesson, Learn):
        content["losses"] = [None if isnan(y) else y for y in lesson.losses]
    return [type(lesson).__name__, content]


def _from_plain(kind: str, content: dict[str, Any]) -> Learn | Await | Deploy:
    if kind == "Deploy":
        return Deploy(**content)
    content["reach"] = tuple(content["reach"])
    if kind == "Await":
        return Await(**content)
    content["losses"] = [nan if y is None else y for y in content["losses"]]
    content["covaried"] = tuple(Covaried(**each) for each in content["covaried"])
    return Learn(**content)
