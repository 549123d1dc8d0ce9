"""The journal: an append-only list of events for each tuner, which loses nothing.

`open_journal` in `live/store/opening.py` gives one. An event is acknowledged when `append` returns;
from then on it is on the disk. A call that raises has written nothing, with one exception: after
`Unavailable` nobody knows. Append the same again: what has a key is written once, and comes back
as it was written.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from trimtab.errors import InvalidInput
from trimtab.live.store import event_table, session, snapshot_table
from trimtab.live.store.database import FORMAT, Database, Execute, Row
from trimtab.live.store.event import GENESIS, Draft, Event, word
from trimtab.live.store.faults import Damaged
from trimtab.live.store.session import Place, Session
from trimtab.live.store.snapshot_table import Snapshot

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
    def _writing(self, tuner: str) -> Iterator[tuple[Execute, int]]:
        """A transaction, with the tuner's id; nobody else writes to the tuner meanwhile."""
        word(tuner, "tuner")
        with self._turn() as database, database.write() as execute:
            sql = "SELECT id FROM trimtab_tuners WHERE name = ?" + database.row_lock
            rows = execute(sql, tuner)
            if not rows:
                new = "INSERT INTO trimtab_tuners (name) VALUES (?) ON CONFLICT DO NOTHING"
                execute(new, tuner)
                rows = execute(sql, tuner)
            yield execute, rows[0][0]

    # Events.

    def append(self, tuner: str, *drafts: Draft) -> tuple[Event, ...]:
        """The events, in order and acknowledged; either all are written, or none.

        A draft whose key is already there gives the earlier event if both say the same, in kind
        and payload; nothing is written for it.

        Args:
            tuner: whose events; a new name begins a new list.
            drafts: at least one.

        Raises:
            Conflict: a key was used for something else.
            Unavailable: nobody knows whether it was written; append the same again.
        """
        if not drafts:
            raise InvalidInput("there is nothing to append; give at least one draft")
        with self.session(tuner) as mine:
            return mine.append(*drafts)

    @contextmanager
    def session(self, tuner: str) -> Iterator[Session]:
        """The tuner's events and a way to add to them; nobody else writes to it meanwhile.

        So who decides in a session decides alone, in knowledge of all events. It ends with the
        process or its connection. What was appended is acknowledged when the block is left
        without an error. Keep it short: other writers wait.
        """
        with self._writing(tuner) as (execute, id):
            database = self._database
            yield Session(execute, tuner, id, name=database.name, step=database.step)

    def events(self, tuner: str, *, after: Place = 0) -> Iterator[Event]:
        """The tuner's events from there on, in order, each verified; memory stays bounded.

        After an event or a snapshot the chain is verified from its digest on; after a number,
        from the digest that is stored with that event. Events that are appended meanwhile may
        or may not be among them.

        Raises:
            Damaged: at the first event that is missing or not what was written; events before
                it have been given.
        """
        return session.events(
            self._query, tuner, self._id(tuner), after=after, name=self._database.name
        )

    def _query(self, sql: str, *values: object) -> list[Row]:
        with self._turn() as database:
            return database.query(sql, *values)

    def _id(self, tuner: str) -> int:
        """The tuner's id in this store; one that no tuner has if it is not there."""
        rows = self._query("SELECT id FROM trimtab_tuners WHERE name = ?", tuner)
        return rows[0][0] if rows else -1

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
        with self._writing(tuner) as (execute, id):
            snapshot_table.save(execute, tuner, id, number, content)

    def load_snapshot(self, tuner: str) -> Snapshot | None:
        """The newest snapshot that matches the events; a `SnapshotIgnored` for each that does not.

        Go on with `events(tuner, after=snapshot)`; without one, replay them all.
        """
        with self._turn() as database:
            return snapshot_table.load(database.query, tuner, self._id(tuner))

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
        """End the connection."""
        with self._turn() as database:
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
    version = rows[0][0]
    if not isinstance(version, int):
        raise Damaged(f"{database.name} has the format number {version!r}; {REMEDY}")
    if version < FORMAT:
        raise InvalidInput(
            f"{database.name} has format {version}, whose events meant another policy; this "
            f"trimtab reads format {FORMAT} only: begin a new store, or read this one with the "
            "trimtab that wrote it"
        )
    if version > FORMAT:
        raise InvalidInput(
            f"{database.name} has format {version}, this trimtab reads format {FORMAT} only: "
            "upgrade trimtab"
        )
    return version
