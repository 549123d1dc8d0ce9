"""The statements on the table of events, for every database."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.live.store.database import Execute
from trimtab.live.store.event import GENESIS, Event, microseconds, unsealed
from trimtab.live.store.faults import Damaged

PAGE = 500  # events read at a time
COLUMNS = "number, kind, at, key, payload, digest"


def insert(execute: Execute, id: int, event: Event) -> None:
    """Add the event at the end of its tuner's."""
    execute(
        f"INSERT INTO trimtab_events (tuner, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        id,
        event.number,
        event.kind,
        microseconds(event.at),
        event.key,
        event.text,
        event.digest,
    )


def end(execute: Execute, id: int) -> tuple[int, bytes]:
    """Number and digest of the tuner's last event."""
    rows = execute(
        "SELECT number, digest FROM trimtab_events WHERE tuner = ? ORDER BY number DESC LIMIT 1", id
    )
    return (rows[0][0], rows[0][1]) if rows else (0, GENESIS)


def digest_of(execute: Execute, id: int, number: int) -> bytes | None:
    """The digest that is stored with the event, None if there is no such event."""
    if number == 0:
        return GENESIS
    rows = execute("SELECT digest FROM trimtab_events WHERE tuner = ? AND number = ?", id, number)
    return rows[0][0] if rows else None


def by_key(execute: Execute, tuner: str, id: int, key: str) -> Event | None:
    """The tuner's event with this key, verified against the digest before it."""
    rows = execute(f"SELECT {COLUMNS} FROM trimtab_events WHERE tuner = ? AND key = ?", id, key)
    if not rows:
        return None
    number = rows[0][0]
    previous = digest_of(execute, id, number - 1)
    event = None if previous is None else unsealed(tuner, rows[0], previous)
    if event is None:
        raise Damaged(f"tuner {tuner!r}: event {number} does not match its digest")
    return event


def chain(execute: Execute, tuner: str, id: int, number: int, digest: bytes) -> Iterator[Event]:
    """The tuner's events after the one with this number and digest, each verified.

    Pages are short statements of their own: no transaction stays open between them.

    Raises:
        Damaged: at the first event that is missing, unreadable or not what was written.
    """
    first, size = number + 1, PAGE
    sql = (
        f"SELECT {COLUMNS} FROM trimtab_events WHERE tuner = ? AND number > ? "
        "ORDER BY number LIMIT ?"
    )
    while True:
        try:
            rows = execute(sql, id, number, size)
        except Damaged as error:
            if size > 1:  # one by one, to name the first that cannot be read
                size = 1
                continue
            raise Damaged(_named(tuner, first, number, "cannot be read")) from error
        for row in rows:
            if row[0] != number + 1:
                raise Damaged(_named(tuner, first, number, f"is missing; {row[0]} follows"))
            event = unsealed(tuner, row, digest)
            if event is None:
                text = "does not match its digest: it was changed"
                raise Damaged(_named(tuner, first, number, text))
            number, digest = event.number, event.digest
            yield event
        if len(rows) < size:
            return


def _named(tuner: str, first: int, last: int, fault: str) -> str:
    """The intact events of those read, and the fault of the next."""
    intact = {first - 1: "", first: f"event {first} is intact; "}.get(
        last, f"events {first} to {last} are intact; "
    )
    return f"tuner {tuner!r}: {intact}event {last + 1} {fault}"
