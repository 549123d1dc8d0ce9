"""One turn at a tuner's events: what is new, then what is added, with nobody in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from trimtab.errors import InvalidInput
from trimtab.live.store import event_table, snapshot_table
from trimtab.live.store.database import Beside, Execute, Step
from trimtab.live.store.event import Draft, Event, Head
from trimtab.live.store.faults import Damaged
from trimtab.live.store.snapshot_table import Snapshot

MakeRows = Callable[[tuple[Event, ...]], list[Beside]]  # of other tables, to be written with events
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


class Session:
    """A tuner's events inside one transaction; nobody else writes to the tuner meanwhile."""

    def __init__(self, execute: Execute, head: Head, *, name: str, step: Step) -> None:
        self._execute, self._head = execute, head
        self._name, self._step = name, step

    def events(self, *, after: Place = 0) -> Iterator[Event]:
        """The tuner's events from there on, in order, each verified."""
        return events(self._execute, self._head, after=after, store=self._name)

    def append(self, *drafts: Draft, beside: MakeRows | None = None) -> tuple[Event, ...]:
        """The events, in order; they are acknowledged when the session has ended well.

        Raises:
            Conflict: a key was used for something else, or (`Taken`) that of a row beside them.
        """
        keys = {draft.key for draft in drafts if draft.key is not None}
        known = {e.key: e for e in self.events() if e.key in keys and e.key} if keys else {}
        given, new = self._head.sealed(drafts, known)
        for _ in new:
            self._step("before insert")
        if new:
            head = self._head.after(new)
            rows = [] if beside is None else beside(tuple(given))
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
