"""Snapshots: what the events up to a number amount to, kept so that fewer are replayed.

They are a cache. The events are the truth, and a snapshot that does not match them is not used.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass

from trimtab.errors import InvalidInput
from trimtab.live.store.database import Execute
from trimtab.live.store.event_table import digest_of
from trimtab.live.store.faults import SnapshotIgnored


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a tuner's events up to a number amount to, in the tuner's own encoding."""

    number: int
    digest: bytes  # of that event
    content: bytes


def save(execute: Execute, tuner: str, id: int, number: int, content: bytes) -> None:
    """Keep the snapshot and the newest before it; all others go."""
    digest = digest_of(execute, id, number) if number > 0 else None
    if digest is None:
        raise InvalidInput(f"number = {number}; tuner {tuner!r} has no such event to snapshot")
    execute("DELETE FROM trimtab_snapshots WHERE tuner = ? AND number >= ?", id, number)
    execute(
        "DELETE FROM trimtab_snapshots WHERE tuner = ? AND number < "
        "(SELECT max(number) FROM trimtab_snapshots WHERE tuner = ?)",
        id,
        id,
    )
    execute(
        "INSERT INTO trimtab_snapshots (tuner, number, digest, content, checksum) "
        "VALUES (?, ?, ?, ?, ?)",
        id,
        number,
        digest,
        content,
        checksum(tuner, Snapshot(number, digest, content)),
    )


def load(execute: Execute, tuner: str, id: int) -> Snapshot | None:
    """The newest snapshot that matches the events, with a warning for each that does not."""
    for number, digest, content, check in execute(
        "SELECT number, digest, content, checksum FROM trimtab_snapshots "
        "WHERE tuner = ? ORDER BY number DESC",
        id,
    ):
        snapshot = Snapshot(number, digest, content)
        if checksum(tuner, snapshot) != check:
            fault = "is damaged: its checksum does not match"
        elif digest_of(execute, id, number) != digest:
            fault = "was taken of other events"
        else:
            return snapshot
        warnings.warn(
            f"the snapshot of tuner {tuner!r} at event {number} {fault}; it is not used, "
            "more events are replayed instead",
            SnapshotIgnored,
            stacklevel=3,
        )
    return None


def checksum(tuner: str, snapshot: Snapshot) -> bytes:
    """What is stored beside a snapshot to recognise it by."""
    fields = json.dumps([tuner, snapshot.number, snapshot.digest.hex()]).encode()
    return hashlib.sha256(fields + b"\n" + snapshot.content).digest()
