"""Snapshots: what the events up to a number amount to, kept so that fewer are replayed.

They are a cache. The events are the truth, and a snapshot that does not match them is not used.
Old ones are thinned out: half as far from the end, twice as many. So to any event there is one
before it that is not much farther from it than the end is, and their number grows as a logarithm.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.errors import InvalidInput
from trimtab.live.store.database import Beside, Execute
from trimtab.live.store.event import Event
from trimtab.live.store.event_table import digest_of
from trimtab.live.store.faults import SnapshotIgnored

HANDED = 0  # instead of a number: the one row of a tuner that hands over what a look has learned


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a tuner's events up to a number amount to, in the tuner's own encoding."""

    number: int
    through: int  # corrections up to this event are in it, later than `number` or not
    digest: bytes  # of event `number`
    content: bytes


def save(
    execute: Execute, tuner: str, id: int, number: int, content: bytes, through: int | None = None
) -> None:
    """Keep the snapshot; of the others those that are far enough from each other."""
    digest = digest_of(execute, id, number) if number > 0 else None
    if digest is None:
        raise InvalidInput(f"number = {number}; tuner {tuner!r} has no such event to snapshot")
    rows = execute("SELECT number FROM trimtab_snapshots WHERE tuner = ?", id)
    others = [n for (n,) in rows if n not in (number, HANDED)]
    for gone in {number, *others} - set(kept([*others, number])):
        execute("DELETE FROM trimtab_snapshots WHERE tuner = ? AND number = ?", id, gone)
    execute("DELETE FROM trimtab_snapshots WHERE tuner = ? AND number = ?", id, number)
    snapshot = Snapshot(number, number if through is None else through, digest, content)
    execute(
        "INSERT INTO trimtab_snapshots (tuner, number, through, digest, content, checksum) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        *(id, number, snapshot.through, digest, content, checksum(tuner, snapshot)),
    )


def kept(numbers: list[int]) -> list[int]:
    """Of these numbers, those whose snapshots are worth their place; the newest two are.

    >>> kept(list(range(500, 10001, 500)))
    [500, 2000, 6000, 8000, 9000, 9500, 10000]
    """
    order = sorted(set(numbers), reverse=True)
    end, chosen = order[0], order[:2]
    for i in range(2, len(order)):
        last = i + 1 == len(order)
        if last or end - order[i + 1] > 2 * (end - chosen[-1]):  # the next would leave a gap
            chosen.append(order[i])
    return sorted(chosen)


def load(execute: Execute, tuner: str, id: int, *, most: int | None = None) -> Iterator[Snapshot]:
    """The snapshots that match the events, newest first, with a warning for each that does not.

    Args:
        execute: runs a statement.
        tuner: whose.
        id: its id in the store.
        most: only those up to this number.
    """
    for number, through, digest, content, check in execute(
        "SELECT number, through, digest, content, checksum FROM trimtab_snapshots "
        "WHERE tuner = ? AND number > ? AND number <= ? ORDER BY number DESC",
        *(id, HANDED),
        2**62 if most is None else most,
    ):
        snapshot = Snapshot(number, through, digest, content)
        if checksum(tuner, snapshot) != check:
            fault = "is damaged: its checksum does not match"
        elif digest_of(execute, id, number) != digest:
            fault = "was taken of other events"
        else:
            yield snapshot
            continue
        warnings.warn(
            f"the snapshot of tuner {tuner!r} at event {number} {fault}; it is not used, "
            "more events are replayed instead",
            SnapshotIgnored,
            stacklevel=3,
        )


def checksum(tuner: str, snapshot: Snapshot) -> bytes:
    """What is stored beside a snapshot to recognise it by."""
    plain = [tuner, snapshot.number, snapshot.through, snapshot.digest.hex()]
    return hashlib.sha256(json.dumps(plain).encode() + b"\n" + snapshot.content).digest()


def handed_over(id: int, event: Event, content: bytes) -> Beside:
    """The row that hands over what tuner `id` had learned before an event; it has one."""
    snapshot = Snapshot(HANDED, event.number, event.digest, content)
    values: dict[str, str | int | bytes] = {
        "tuner": id,
        "number": HANDED,
        "through": event.number,
        "digest": event.digest,
        "content": content,
        "checksum": checksum(event.tuner, snapshot),
    }
    return Beside("trimtab_snapshots", values, key=("tuner", "number"))


def taken_over(execute: Execute, id: int, event: Event) -> bytes | None:
    """What was handed over with the event; None if it is of another one, or not as it was written.

    Whoever gets nothing learns by himself: it is a cache.
    """
    sql = (
        "SELECT through, digest, content, checksum FROM trimtab_snapshots "
        "WHERE tuner = ? AND number = ?"
    )
    for through, digest, content, check in execute(sql, id, HANDED):
        snapshot = Snapshot(HANDED, through, digest, content)
        mine = (through, digest) == (event.number, event.digest)
        if mine and checksum(event.tuner, snapshot) == check:
            return snapshot.content
    return None
