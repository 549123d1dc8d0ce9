"""The journal: an append-only list of events for each tuner, which loses nothing.

`open_journal` in `live/opening.py` gives one. An event is acknowledged when `append` returns;
from then on it is on the disk. A call that raises has written nothing, with one exception: after
`Unavailable` nobody knows. Append the same again: what has a key is written once, and comes back
as it was written.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self

from trimtab.errors import InvalidInput
from trimtab.live import event_table, snapshot_table
from trimtab.live.database import FORMAT, Database, Execute, Hold, Row
from trimtab.live.event import GENESIS, Draft, Event, word
from trimtab.live.journal_faults import Damaged, Locked
from trimtab.live.lock import DeciderLock
from trimtab.live.session import Session
from trimtab.live.snapshot_table import Snapshot

RETRY = 0.02  # seconds between two tries for the decider's lock
REMEDY = "restore a copy; `trimtab storage export` gives what is intact"


@dataclass(frozen=True, slots=True)
class Chain:
    """All events of a tuner, verified."""

    tuner: str
    events: int
    digest: bytes  # of the last one: stands for all of them


class Journal:
    """The events of every tuner in one store. Threads may share it; a forked process may not."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._thread = threading.RLock()
        self._process = os.getpid()
        self._locks: dict[str, DeciderLock] = {}
        try:
            self.format = _format(database)
        except BaseException:
            database.close()
            raise

    @contextmanager
    def _turn(self) -> Iterator[Database]:
        """The database, for one thread at a time of the process that opened it."""
        if os.getpid() != self._process:
            raise InvalidInput(
                f"{self._database.name} was opened by process {self._process}, this is "
                f"{os.getpid()}; open the journal after the fork"
            )
        with self._thread:
            yield self._database

    @contextmanager
    def _writing(self, tuner: str) -> Iterator[tuple[Execute, int, int]]:
        """A transaction, with the tuner's id and term; nobody else writes to the tuner now."""
        word(tuner, "tuner")
        with self._turn() as database, database.write() as execute:
            sql = "SELECT id, term FROM trimtab_tuners WHERE name = ?" + database.row_lock
            rows = execute(sql, tuner)
            if not rows:
                execute(
                    "INSERT INTO trimtab_tuners (name, term, holder) VALUES (?, 0, 'nobody') "
                    "ON CONFLICT DO NOTHING",
                    tuner,
                )
                rows = execute(sql, tuner)
            yield execute, *rows[0]

    # Events.

    def append(
        self, tuner: str, *drafts: Draft, after: int | None = None, lock: DeciderLock | None = None
    ) -> tuple[Event, ...]:
        """The events, in order and acknowledged; either all are written, or none.

        A draft whose key is already there gives the earlier event if both say the same, in kind
        and payload; nothing is written for it, and `after` is not looked at.

        Args:
            tuner: whose events; a new name begins a new list.
            drafts: at least one.
            after: write only if the tuner's last event has this number; 0 if there is none.
            lock: write only if this lock is still in place.

        Raises:
            Conflict: a key was used for something else, or other events came after `after`.
            LostLock: the lock is not in place any more.
            Unavailable: nobody knows whether it was written; append the same again.
        """
        if not drafts:
            raise InvalidInput("there is nothing to append; give at least one draft")
        if lock is not None and lock.tuner != tuner:
            raise InvalidInput(f"the lock is of tuner {lock.tuner!r}, not of {tuner!r}")
        with self._writing(tuner) as (execute, id, term):
            if lock is not None:
                lock.confirm(term)
            return self._session(execute, tuner, id).append(*drafts, after=after)

    @contextmanager
    def session(self, tuner: str) -> Iterator[Session]:
        """The tuner's events and a way to add to them; nobody else writes to it meanwhile.

        What was appended is acknowledged when the block is left without an error. Keep it
        short: other writers wait.
        """
        with self._writing(tuner) as (execute, id, _):
            yield self._session(execute, tuner, id)

    def _session(self, execute: Execute, tuner: str, id: int) -> Session:
        database = self._database
        return Session(execute, tuner, id, name=database.name, step=database.step)

    def events(self, tuner: str, *, after: int | Event | Snapshot = 0) -> Iterator[Event]:
        """The tuner's events from there on, in order, each verified; memory stays bounded.

        After an event or a snapshot the chain is verified from its digest on; after a number,
        from the digest that is stored with that event. Events that are appended meanwhile may
        or may not be among them.

        Raises:
            Damaged: at the first event that is missing or not what was written; events before
                it have been given.
        """
        with self._turn() as database:
            id = self._id(tuner)
            number = after if isinstance(after, int) else after.number
            stored = event_table.digest_of(database.query, id, number)
        if isinstance(after, int):
            if stored is None:
                raise InvalidInput(f"after = {after}; tuner {tuner!r} has no such event")
            digest = stored
        elif after.digest == stored:
            digest = stored
        else:
            raise Damaged(
                f"{self._database.name}: tuner {tuner!r}: event {number} is not the one that was "
                "read before: the store was cut, or replaced by another copy"
            )
        return event_table.chain(self._query, tuner, id, number, digest)

    def _query(self, sql: str, *values: object) -> list[Row]:
        with self._turn() as database:
            return database.query(sql, *values)

    def _id(self, tuner: str) -> int:
        """The tuner's id in this store; one that no tuner has if it is not there."""
        rows = self._database.query("SELECT id FROM trimtab_tuners WHERE name = ?", tuner)
        return rows[0][0] if rows else -1

    def find(self, tuner: str, key: str) -> Event | None:
        """The tuner's event with this key."""
        with self._turn() as database:
            return event_table.by_key(database.query, tuner, self._id(tuner), word(key, "key"))

    def last(self, tuner: str) -> int:
        """The number of the tuner's last event, 0 if there is none."""
        with self._turn() as database:
            return event_table.end(database.query, self._id(tuner))[0]

    def tuners(self) -> list[str]:
        """Every tuner that has ever been written to, in that order."""
        with self._turn() as database:
            return [
                name for (name,) in database.query("SELECT name FROM trimtab_tuners ORDER BY id")
            ]

    # Snapshots.

    def save_snapshot(self, tuner: str, *, number: int, content: bytes) -> None:
        """Keep what the events up to this number amount to; all but the newest before it go."""
        with self._writing(tuner) as (execute, id, _):
            snapshot_table.save(execute, tuner, id, number, content)

    def load_snapshot(self, tuner: str) -> Snapshot | None:
        """The newest snapshot that matches the events; a `SnapshotIgnored` for each that does not.

        Go on with `events(tuner, after=snapshot)`; without one, replay them all.
        """
        with self._turn() as database:
            return snapshot_table.load(database.query, tuner, self._id(tuner))

    # Deciding.

    def lock(self, tuner: str, *, wait: float = 0.0) -> DeciderLock:
        """The right to decide for the tuner, until it is released or this process ends.

        Raises:
            Locked: somebody else has it, and still had it after `wait` seconds.
        """
        deadline = time.monotonic() + wait
        with self._writing(tuner) as (_, id, _):
            pass
        while True:
            with self._turn() as database:
                hold = None if tuner in self._locks else database.try_hold(id)
                if hold is not None:
                    return self._entered(tuner, hold)
            if time.monotonic() >= deadline:
                break
            time.sleep(RETRY)
        rows = self._query("SELECT holder, term FROM trimtab_tuners WHERE id = ?", id)
        raise Locked(
            f"tuner {tuner!r} is decided by {rows[0][0]} (term {rows[0][1]}); "
            "wait for it, or end that process"
        )

    def _entered(self, tuner: str, hold: Hold) -> DeciderLock:
        """The lock, once its term is in the store: from then on earlier holders cannot write."""
        try:
            with self._writing(tuner) as (execute, id, term):
                execute(
                    "UPDATE trimtab_tuners SET term = ?, holder = ? WHERE id = ?",
                    term + 1,
                    f"process {os.getpid()} on {socket.gethostname()}",
                    id,
                )
        except BaseException:
            hold.release()
            raise
        forget = partial(self._locks.pop, tuner, None)
        self._locks[tuner] = DeciderLock(tuner, term=term + 1, hold=hold, forget=forget)
        return self._locks[tuner]

    # Checking.

    def refuse_damage(self, *, full: bool = False) -> None:
        """Raise `Damaged` if the database is not whole, and say which events are intact."""
        with self._turn() as database:
            if complaint := database.complaint(full=full):
                account = "; ".join(self._account())
                raise Damaged(f"{database.name}: {complaint}; {account}; {REMEDY}")

    def check(self) -> list[Chain]:
        """Every tuner's chain, if the database is whole and every event is what was written."""
        self.refuse_damage(full=True)
        try:
            return [self._walk(tuner) for tuner in self.tuners()]
        except Damaged:
            account = "; ".join(self._account())
            raise Damaged(f"{self._database.name}: {account}; {REMEDY}") from None

    def _walk(self, tuner: str) -> Chain:
        number, digest = 0, GENESIS
        for event in self.events(tuner):
            number, digest = event.number, event.digest
        return Chain(tuner, number, digest)

    def _account(self) -> Iterator[str]:
        """For every tuner, as far as can be told, which events are intact."""
        try:
            tuners = self.tuners()
        except Damaged:
            yield "no list of tuners can be read"
            return
        for tuner in tuners:
            try:
                yield f"tuner {tuner!r}: events 1 to {self._walk(tuner).events} are intact"
            except Damaged as fault:
                yield str(fault)

    # Ending.

    def close(self) -> None:
        """Release every lock and end the connection."""
        with self._turn() as database:
            for lock in list(self._locks.values()):
                lock.release()
            database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _format(database: Database) -> int:
    """The store's format number, which this trimtab can read."""
    rows = database.query("SELECT version FROM trimtab_format")
    if len(rows) != 1:
        raise Damaged(f"{database.name} has {len(rows)} format numbers instead of one; {REMEDY}")
    version: int = rows[0][0]
    if version > FORMAT:
        raise InvalidInput(
            f"{database.name} has format {version}, this trimtab reads up to {FORMAT}; "
            "upgrade trimtab"
        )
    return version
