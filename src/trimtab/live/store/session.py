"""One turn at a tuner's events: what is new, then what is added, with nobody in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from trimtab.errors import Conflict, InvalidInput
from trimtab.live.store import event_table, snapshot_table
from trimtab.live.store.database import Beside, Execute, Step
from trimtab.live.store.event import Draft, Event, Head
from trimtab.live.store.faults import Damaged
from trimtab.live.store.snapshot_table import Snapshot

# What to write with events, when these are known: a row of another table; what a look has learned.
MakeRow = Callable[[tuple[Event, ...]], Beside]
MakeHandover = Callable[[tuple[Event, ...]], bytes | None]
Place = int | Event | Snapshot  # after which to go on reading


class Read(Protocol):
    """Reads a tuner's events from a place on, in order, each verified."""

    def __call__(self, *, after: Place = 0) -> Iterator[Event]:
        """The events after the place."""


def events(execute: Execute, head: Head, *, after: Place, store: str) -> Iterator[Event]:
    """The tuner's events from there on, in order, each verified; `store` is its name.

    Raises:
        InvalidInput: there is no event of this number.
        Damaged: the event or snapshot is not of this store.
    """
    if not isinstance(after, int):  # whoever has read it knows its digest; what follows proves it
        return _after(execute, head, after, store)
    stored = event_table.digest_of(execute, head.id, after) if 0 <= after <= head.events else None
    if stored is None and 0 <= after <= head.events:
        raise Damaged(f"tuner {head.tuner!r}: event {after} is missing; the last is {head.events}")
    if stored is None:
        raise InvalidInput(f"after = {after}; tuner {head.tuner!r} has no such event")
    return event_table.chain(execute, head, after, stored, store)


def _after(execute: Execute, head: Head, place: Event | Snapshot, store: str) -> Iterator[Event]:
    """The events after one that was read before, if it is still the same."""
    try:
        yield from event_table.chain(execute, head, place.number, place.digest, store)
    except Damaged:
        stored = event_table.digest_of(execute, head.id, place.number)
        if stored == place.digest:
            raise
        raise Damaged(
            f"{store}: tuner {head.tuner!r}: event {place.number} is not the one that was read "
            "before: the store was cut, or replaced by another copy"
        ) from None


def sealed(
    head: Head, drafts: Sequence[Draft], known: dict[str, Event]
) -> tuple[list[Event], list[Event]]:
    """The events that the drafts are, and those among them that are new.

    Args:
        head: the end of the list before them.
        drafts: what is to be appended.
        known: earlier events by key, of the keys that the drafts use.

    Raises:
        Conflict: a key was used for something else.
    """
    number, digest = head.events, head.digest
    given: list[Event] = []
    new: list[Event] = []
    for draft in drafts:
        earlier = None if draft.key is None else known.get(draft.key)
        if earlier is not None:
            if not earlier.repeats(draft):
                raise Conflict(
                    f"the key {draft.key!r} of tuner {head.tuner!r} belongs to event "
                    f"{earlier.number}, which says something else; use a new key"
                )
            given.append(earlier)
            continue
        event = draft.sealed(head.tuner, number + 1, digest)
        number, digest = event.number, event.digest
        if event.key is not None:
            known[event.key] = event
        new.append(event)
        given.append(event)
    return given, new


def rows_beside(
    head: Head, events: tuple[Event, ...], beside: MakeRow | None, handover: MakeHandover | None
) -> list[Beside]:
    """The rows that are written with the events; `head` is the end of the list before them."""
    rows = [] if beside is None else [beside(events)]
    content = None if handover is None else handover(events)
    if content is not None:
        rows.append(snapshot_table.handed_over(head, events[0], content))
    return rows


class Session:
    """A tuner's events inside one transaction; nobody else writes to the tuner meanwhile."""

    def __init__(self, execute: Execute, head: Head, *, name: str, step: Step) -> None:
        self._execute, self._head = execute, head
        self._name, self._step = name, step

    def events(self, *, after: Place = 0) -> Iterator[Event]:
        """The tuner's events from there on, in order, each verified."""
        return events(self._execute, self._head, after=after, store=self._name)

    def append(
        self, *drafts: Draft, beside: MakeRow | None = None, handover: MakeHandover | None = None
    ) -> tuple[Event, ...]:
        """The events, in order; they are acknowledged when the session has ended well.

        Raises:
            Conflict: a key was used for something else, or (`Taken`) that of the row beside them.
        """
        keys = {draft.key for draft in drafts if draft.key is not None}
        known = {e.key: e for e in self.events() if e.key in keys and e.key} if keys else {}
        given, new = sealed(self._head, drafts, known)
        for _ in new:
            self._step("before insert")
        if new:
            head = self._head.after(new)
            rows = rows_beside(self._head, tuple(given), beside, handover)
            if not event_table.advance(self._execute, self._head, head, new, rows):
                raise Damaged(f"{self._name}: the end of tuner {head.tuner!r} moved under a lock")
            self._head = head
        for _ in new:
            self._step("after insert")
        return tuple(given)

    def save_snapshot(self, number: int, content: bytes, *, through: int) -> None:
        """Keep what the events up to this number amount to, with what is appended."""
        head = self._head
        snapshot_table.save(self._execute, head.tuner, head.id, number, content, through)
