"""One turn at a tuner's events: what is new, then what is added, with nobody in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from trimtab.errors import Conflict, InvalidInput
from trimtab.live.store import event_table
from trimtab.live.store.database import Execute, Step
from trimtab.live.store.event import Draft, Event
from trimtab.live.store.faults import Damaged
from trimtab.live.store.snapshot_table import Snapshot

Place = int | Event | Snapshot  # after which to go on reading


class Read(Protocol):
    """Reads a tuner's events from a place on, in order, each verified."""

    def __call__(self, *, after: Place = 0) -> Iterator[Event]:
        """The events after the place."""


def events(execute: Execute, tuner: str, id: int, *, after: Place, name: str) -> Iterator[Event]:
    """The tuner's events from there on, in order, each verified; `name` is the store's.

    Raises:
        InvalidInput: there is no event of this number.
        Damaged: the event or snapshot is not of this store.
    """
    number = after if isinstance(after, int) else after.number
    stored = event_table.digest_of(execute, id, number)
    if isinstance(after, int) and stored is None:
        raise InvalidInput(f"after = {after}; tuner {tuner!r} has no such event")
    if stored is None or (not isinstance(after, int) and after.digest != stored):
        raise Damaged(
            f"{name}: tuner {tuner!r}: event {number} is not the one that was read before: the "
            "store was cut, or replaced by another copy"
        )
    return event_table.chain(execute, tuner, id, number, stored)


class Session:
    """A tuner's events inside one transaction; nobody else writes to the tuner meanwhile."""

    def __init__(self, execute: Execute, tuner: str, id: int, *, name: str, step: Step) -> None:
        self._execute, self._tuner, self._id = execute, tuner, id
        self._name, self._step = name, step

    def events(self, *, after: Place = 0) -> Iterator[Event]:
        """The tuner's events from there on, in order, each verified."""
        return events(self._execute, self._tuner, self._id, after=after, name=self._name)

    def append(self, *drafts: Draft) -> tuple[Event, ...]:
        """The events, in order; they are acknowledged when the session has ended well.

        Raises:
            Conflict: a key was used for something else.
        """
        number, digest = event_table.end(self._execute, self._id)
        events = []
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
            number += 1
            event = draft.sealed(self._tuner, number, digest)
            digest = event.digest
            self._step("before insert")
            event_table.insert(self._execute, self._id, event)
            self._step("after insert")
            events.append(event)
        return tuple(events)
