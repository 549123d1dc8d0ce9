"""One turn at a tuner's events: what is new, then what is added, with nobody in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from trimtab.errors import Conflict
from trimtab.live import event_table
from trimtab.live.database import Execute, Step
from trimtab.live.event import Draft, Event
from trimtab.live.journal_faults import Damaged
from trimtab.live.snapshot_table import Snapshot

Place = int | Event | Snapshot  # after which to go on reading


class Read(Protocol):
    """Reads a tuner's events from a place on, in order, each verified."""

    def __call__(self, *, after: Place = 0) -> Iterator[Event]:
        """The events after the place."""


class Session:
    """A tuner's events inside one transaction; nobody else writes to the tuner meanwhile."""

    def __init__(self, execute: Execute, tuner: str, id: int, *, name: str, step: Step) -> None:
        self._execute, self._tuner, self._id = execute, tuner, id
        self._name, self._step = name, step

    def events(self, *, after: Place = 0) -> Iterator[Event]:
        """The tuner's events from there on, in order, each verified."""
        number = after if isinstance(after, int) else after.number
        stored = event_table.digest_of(self._execute, self._id, number)
        if stored is None or (not isinstance(after, int) and after.digest != stored):
            raise Damaged(
                f"{self._name}: tuner {self._tuner!r}: event {number} is not the one that was "
                "read before: the store was cut, or replaced by another copy"
            )
        return event_table.chain(self._execute, self._tuner, self._id, number, stored)

    def append(self, *drafts: Draft, after: int | None = None) -> tuple[Event, ...]:
        """The events, in order; they are acknowledged when the session has ended well.

        Raises:
            Conflict: a key was used for something else, or other events came after `after`.
        """
        last, digest = event_table.end(self._execute, self._id)
        number, events = last, []
        for draft in drafts:
            earlier = None
            if draft.key is not None:
                earlier = event_table.by_key(self._execute, self._tuner, self._id, draft.key)
            if earlier is not None:
                if not earlier.repeats(draft):
                    raise Conflict(
                        f"the key {draft.key!r} of tuner {self._tuner!r} belongs to event "
                        f"{earlier.number}, which says something else; use a new key"
                    )
                events.append(earlier)
                continue
            if after is not None and last != after:
                raise Conflict(
                    f"the last event of tuner {self._tuner!r} is {last}, not {after}; "
                    "read what is new, then decide again"
                )
            number += 1
            event = draft.sealed(self._tuner, number, digest)
            digest = event.digest
            self._step("before insert")
            event_table.insert(self._execute, self._id, event)
            self._step("after insert")
            events.append(event)
        return tuple(events)
