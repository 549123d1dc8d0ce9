"""What was learned, in figures: what `status` says of it, read without the numerics.

Whoever looks, moves or takes a snapshot has the numerics loaded, and writes them beside what was
learned. They are as of the last look; events since then change the goal, or end their use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from trimtab.live.state.learning.lessons import (
    Await,
    Deploy,
    Drop,
    Escape,
    Learn,
    Lesson,
    Revise,
    Watch,
)
from trimtab.live.state.tuner_state import State
from trimtab.live.store.event import Event

LEAVE = {Learn, Watch, Await, Revise, Deploy}  # lessons that leave the figures as they are, mostly
ENDED = ("spec", "warm")  # events after which figures are to be made anew


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The expected loss of a round at two states, in units of loss, weights included."""

    start: float
    here: float
    benefit: float  # by how much it is lower here than at the start,
    sd: float  # and the standard deviation of that
    by_objective: list[float]  # the benefit of each, without its weight


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What was learned by a round."""

    as_of: int  # decisions made when it was learned
    start: State
    here: State
    goal: State | None
    escapes: bool  # whether that is the way out of a broken guardrail
    outdated: list[str]  # what is to be said of baselines then
    review: int | None  # rounds until the next look
    comparison: Comparison | None  # None before anything can be said
    scales: list[list[float]]  # noise and spread of each objective, empty while they are not known
    certificate: float
    certified: bool

    def plain(self) -> dict[str, Any]:
        """The figures as JSON can hold them."""
        return asdict(self)

    @classmethod
    def from_plain(cls, saved: Mapping[str, Any]) -> Self:
        """What `plain` gave.

        Raises:
            TypeError, KeyError: it is something else.
        """
        compared = saved["comparison"]
        comparison = None if compared is None else Comparison(**compared)
        return cls(**{**saved, "comparison": comparison})


class Kept:
    """The figures that were written down last, and what has happened to them since."""

    def __init__(self) -> None:
        self.looked: int | None = 0  # decisions made at the last look; None: nobody knows
        self._plain: Mapping[str, Any] | None = None
        self._through = 0  # the last event that is in them
        self._at: Event | None = None  # a later decision that came with others
        self._dropped = self._ended = 0  # by which event the goal was, and all of them were

    def begin(self, number: int, plain: Mapping[str, Any] | None) -> None:
        """Take those of a snapshot, which may have none."""
        self._plain, self._through = plain, number
        self.looked = None if plain is None else plain["as_of"]

    def note(self, event: Event, lessons: Sequence[Lesson]) -> None:
        """Take in what the next event does to them."""
        payload = event.payload
        if event.kind == "decide":
            if "look" in payload:
                self.looked = payload["round"] - 1
            if "look" in payload or "state" in payload:
                self._at = event
        if event.kind in ENDED or any(isinstance(x, Escape) for x in lessons):
            self._ended = event.number
        if any(isinstance(x, Drop) or (isinstance(x, Deploy) and not x.keep) for x in lessons):
            self._dropped = event.number

    def figures(
        self, state: State, start: State, written: Callable[[Event], Mapping[str, Any] | None]
    ) -> Figures | None:
        """The figures of this state, None if they do not hold any more.

        Args:
            state: where the system is.
            start: and where it began.
            written: gives those that were written down with a decision.
        """
        if self._at is not None:
            self._plain, self._through = written(self._at), self._at.number - 1
            self._at = None
        if self._plain is None or self._ended > self._through:
            return None
        try:
            found = Figures.from_plain(self._plain)
        except (KeyError, TypeError):
            return None
        if (found.here, found.start) != (state, start):
            return None
        if self._dropped > self._through:
            found = replace(found, goal=None, escapes=False)
        return found
