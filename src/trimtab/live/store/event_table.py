"""The statements on the tables of events and heads, for every database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.live.store.database import Beside, Execute
from trimtab.live.store.event import GENESIS, Event, Head, head_of, microseconds, unsealed
from trimtab.live.store.faults import Damaged, Taken

PAGE = 500  # events read at a time
COLUMNS = "number, kind, at, key, payload, digest"
HEAD = "t.id, t.name, t.events, t.digest, t.seal"
PAGES = (
    f"SELECT {HEAD}, e.number, e.kind, e.at, e.key, e.payload, e.digest FROM trimtab_tuners t "
    "LEFT JOIN (SELECT * FROM trimtab_events WHERE tuner = ? AND number > ? ORDER BY number "
    "LIMIT ?) e ON e.tuner = t.id WHERE t.id = ? ORDER BY e.number"
)
MOVE = (
    "UPDATE trimtab_tuners SET events = ?, digest = ?, seal = ? "
    "WHERE id = ? AND events = ? AND digest = ? RETURNING id"
)
INSERT = f"INSERT INTO trimtab_events (tuner, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"


def advance(
    execute: Execute, old: Head, new: Head, events: Sequence[Event], beside: Sequence[Beside] = ()
) -> bool:
    """Append the events and move the head, inside a transaction, if the list ends at `old`.

    Raises:
        Taken: a row beside them is there already; the transaction must not be committed.
    """
    if not execute(MOVE, new.events, new.digest, new.seal, old.id, old.events, old.digest):
        return False
    for event in events:
        execute(INSERT, old.id, *row_of(event))
    for row in beside:
        sql = row.insert(f"VALUES ({row.marks})") + ("" if row.key else " ON CONFLICT DO NOTHING")
        if not execute(f"{sql} RETURNING 1", *row.values.values()):
            raise taken(row)
    return True


def taken(beside: Beside) -> Taken:
    """The error of a row that is there already."""
    return Taken(f"{beside.table} has a row of this key already; nothing was written")


def row_of(event: Event) -> tuple[object, ...]:
    """The event's COLUMNS."""
    at = microseconds(event.at)
    return event.number, event.kind, at, event.key, event.text, event.digest


def digest_of(execute: Execute, id: int, number: int) -> bytes | None:
    """The digest that is stored with the event, None if there is no such event."""
    if number == 0:
        return GENESIS
    rows = execute("SELECT digest FROM trimtab_events WHERE tuner = ? AND number = ?", id, number)
    return rows[0][0] if rows else None


def chain(execute: Execute, head: Head, number: int, digest: bytes, store: str) -> Iterator[Event]:
    """The tuner's events after the one with this number and digest, each verified, up to the head.

    Every page is one statement, which gives the head of the same moment: no transaction stays open
    between two pages, and a list that ends before its head is found out. `head` is one that was
    read before; the list may have grown since, and may not have shrunk.

    Raises:
        Damaged: at the first event that is missing, unreadable or not what was written.
    """
    tuner, first, size = head.tuner, number + 1, PAGE
    while True:
        try:
            rows = execute(PAGES, head.id, number, size, head.id)
        except Damaged as error:
            if size > 1:  # one by one, to name the first that cannot be read
                size = 1
                continue
            raise Damaged(_named(tuner, first, number, "cannot be read")) from error
        if not rows:
            raise Damaged(f"{store}: tuner {tuner!r} is missing: its row was there before")
        end = head_of(rows[0][:5], store)
        if end.events < max(head.events, number):
            raise Damaged(
                f"{store}: tuner {tuner!r}: there were {max(head.events, number)} events, now the "
                f"store knows of {end.events}: it was cut, or replaced by an older copy"
            )
        for row in rows:
            if row[5] is None:
                break
            if row[5] != number + 1 or row[5] > end.events:
                raise Damaged(_named(tuner, first, number, f"is missing; {row[5]} follows"))
            event = unsealed(tuner, row[5:], digest)
            if event is None:
                text = "does not match its digest: it was changed"
                raise Damaged(_named(tuner, first, number, text))
            number, digest = event.number, event.digest
            yield event
        if number == end.events:
            if digest != end.digest:
                text = "is not the one that the store knows as the last"
                raise Damaged(_named(tuner, first, number - 1, text))
            return
        if len(rows) < size or rows[-1][5] is None:
            text = f"is missing; the last one is {end.events}"
            raise Damaged(_named(tuner, first, number, text))


def _named(tuner: str, first: int, last: int, fault: str) -> str:
    """The intact events of those read, and the fault of the next."""
    intact = {first - 1: "", first: f"event {first} is intact; "}.get(
        last, f"events {first} to {last} are intact; "
    )
    return f"tuner {tuner!r}: {intact}event {last + 1} {fault}"
