"""The journal: an append-only list of events for each tuner, which loses nothing.

`open_journal` in `live/store/opening.py` gives one. An event is acknowledged when `append` returns;
from then on it is on the disk. A call that raises has written nothing, with one exception: after
`Unavailable` nobody knows. Append the same again: what has a key is written once, and comes back
as it was written.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

from trimtab.errors import InvalidInput, NotFound
from trimtab.live.store import session, snapshot_table
from trimtab.live.store.database import FORMAT, Beside, Database, Execute, Row
from trimtab.live.store.event import (
    GENESIS,
    HEAD_COLUMNS,
    Draft,
    Event,
    Head,
    first_head,
    head_of,
    word,
)
from trimtab.live.store.faults import Damaged
from trimtab.live.store.fork import wait_for
from trimtab.live.store.session import MakeRows, Place, Session
from trimtab.live.store.snapshot_table import Snapshot

T = TypeVar("T")
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
        wait_for(self._thread)
        self._process = os.getpid()
        self._ids: dict[str, int] = {}  # of tuners; they never change
        try:
            self.format = _format(database)
        except BaseException:
            database.close()
            raise

    def _query(self, sql: str, *values: object) -> list[Row]:
        self.refuse_forked()
        with self._thread:
            return self._database.query(sql, *values)

    def refuse_forked(self) -> None:
        """Refuse a forked child, before it waits for a lock that nobody in it will release."""
        if os.getpid() != self._process:
            raise InvalidInput(
                f"{self._database.name} was opened by process {self._process}, this is "
                f"{os.getpid()}; open the journal after the fork"
            )

    # Heads.

    def _head(self, tuner: str) -> Head | None:
        """The end of the tuner's list as it is now, None if there is no such tuner.

        If it is not found by its name all rows are read and verified, so that a tuner whose name
        was changed by a flipped bit is not missed.
        """
        sql = f"SELECT {HEAD_COLUMNS} FROM trimtab_tuners WHERE name = ?"
        if rows := self._query(sql, word(tuner, "tuner")):
            found = [head_of(row, self._database.name) for row in rows]
            return found[0]  # there is one: another of this name would have a broken seal
        return next((head for head in self._heads(self._query) if head.tuner == tuner), None)

    def _heads(self, execute: Execute) -> list[Head]:
        name, counted = self._database.name, execute("SELECT tuners FROM trimtab_format")
        sql = f"SELECT {HEAD_COLUMNS} FROM trimtab_tuners ORDER BY id"
        heads = [head_of(row, name) for row in execute(sql)]
        if len(counted) != 1 or not isinstance(counted[0][0], int):
            raise Damaged(f"{name}: the number of tuners cannot be read; {REMEDY}")
        if len(heads) < counted[0][0]:  # there may be more: they were made since
            raise Damaged(f"{name}: there are {len(heads)} tuners, not {counted[0][0]}; {REMEDY}")
        return heads

    def _begin(self, execute: Execute, tuner: str) -> Head:
        """The row of a tuner, made inside a transaction if it is not there."""
        word(tuner, "tuner")
        execute("UPDATE trimtab_format SET tuners = tuners")  # nobody else makes one meanwhile
        heads = self._heads(execute)
        for each in heads:
            if each.tuner == tuner:
                return each
        new = first_head(1 + max((each.id for each in heads), default=0), tuner)
        sql = f"INSERT INTO trimtab_tuners ({HEAD_COLUMNS}) VALUES (?, ?, ?, ?, ?)"
        execute(sql, new.id, new.tuner, new.events, new.digest, new.seal)
        execute("UPDATE trimtab_format SET tuners = tuners + 1")
        return new

    # Events.

    def append(
        self,
        tuner: str,
        *drafts: Draft,
        after: Event | Snapshot | None = None,
        beside: MakeRows | None = None,
    ) -> tuple[Event, ...]:
        """The events, in order and acknowledged; either all are written, or none.

        A draft whose key is already there gives the earlier event if both say the same, in kind
        and payload; nothing is written for it.

        Args:
            tuner: whose events; a new name begins a new list.
            drafts: at least one.
            after: the last event of the list; nothing is written, and no event given, if others
                have followed it meanwhile. So who has read everything decides alone, and waits
                for nobody. Drafts have no keys then.
            beside: gives rows of other tables that are written with these events or not at all;
                they are not asked for if no event is new.

        Raises:
            Conflict: a key was used for something else, or (`Taken`) that of a row beside them.
            Unavailable: nobody knows whether it was written; append the same again.
        """
        if not drafts:
            raise InvalidInput("there is nothing to append; give at least one draft")
        if after is None:
            return self.decide(tuner, lambda session: session.append(*drafts, beside=beside))
        self.refuse_forked()
        with self._thread:
            id = self._ids.get(tuner) or self._known(tuner).id
            old = Head(id, tuner, after.number, after.digest)
            events, _ = old.sealed(drafts, {})
            rows = [] if beside is None else beside(tuple(events))
            if self._database.advance(old, old.after(events), events, rows):
                return tuple(events)
            return ()

    def decide(self, tuner: str, work: Callable[[Session], T]) -> T:
        """What the work gives: it reads the tuner's events and adds to them, alone.

        Nobody else writes to the tuner meanwhile, so it decides in knowledge of all events. It
        ends with the process or its connection. What was appended is acknowledged when this
        returns. Keep it short: other writers wait.
        """
        word(tuner, "tuner")

        def alone(execute: Execute) -> T:
            database = self._database
            locked = f"SELECT {HEAD_COLUMNS} FROM trimtab_tuners WHERE id = ?{database.row_lock}"
            known = self._ids.get(tuner)
            rows = execute(locked, known) if known is not None else []
            if not rows:
                id = self._begin(execute, tuner).id
                rows = execute(locked, id)
            mine = head_of(rows[0], database.name)
            return work(Session(execute, mine, name=database.name, step=database.step))

        self.refuse_forked()
        with self._thread:
            return self._database.transact(alone)

    def events(self, tuner: str, *, after: Place = 0) -> Iterator[Event]:
        """The tuner's events from there on, in order, each verified; memory stays bounded.

        After an event or a snapshot the chain is verified from its digest on; after a number,
        from the digest that is stored with that event. Events that are appended meanwhile may
        or may not be among them. The list is read to its recorded end: a short one is `Damaged`.

        Raises:
            Damaged: at the first event that is missing or not what was written; events before
                it have been given.
        """
        known = self._ids.get(tuner)
        if known is not None and not isinstance(after, int):
            mine = Head(known, tuner, after.number, after.digest)
        elif (found := self._head(tuner)) is None:
            if after != 0:
                raise InvalidInput(f"there is no tuner {tuner!r} in this store to read on")
            return iter(())
        else:
            mine, self._ids[tuner] = found, found.id
        return session.events(self._query, mine, after=after, store=self._database.name)

    def _known(self, tuner: str) -> Head:
        found = self._head(tuner)
        if found is None:
            raise NotFound(f"there is no tuner {tuner!r} in {self._database.name}")
        self._ids[tuner] = found.id
        return found

    def last(self, tuner: str) -> int:
        """The number of the tuner's last event, 0 if there is none."""
        found = self._head(tuner)
        return 0 if found is None else found.events

    def tuners(self) -> list[str]:
        """Every tuner that has ever been written to, in that order."""
        return [each.tuner for each in self._heads(self._query)]

    # Snapshots.

    def save_snapshot(
        self, tuner: str, *, number: int, content: bytes, through: int | None = None
    ) -> None:
        """Keep what the events up to this number amount to; old ones are thinned out.

        Args:
            tuner: whose events.
            number: of the last of them.
            content: in the tuner's own encoding.
            through: the event up to which corrections are in it, if that is a later one.
        """
        id = self._known(tuner).id
        with self._thread:
            self._database.transact(
                lambda execute: snapshot_table.save(execute, tuner, id, number, content, through)
            )

    def load_snapshot(self, tuner: str) -> Snapshot | None:
        """The newest snapshot that matches the events; a `SnapshotIgnored` for each that does not.

        Go on with `events(tuner, after=snapshot)`; without one, replay them all.
        """
        return next(self.snapshots(tuner), None)

    def snapshots(self, tuner: str, *, most: int | None = None) -> Iterator[Snapshot]:
        """The snapshots that match the events, newest first; up to event `most`, if given."""
        found = self._head(tuner)
        if found is None:
            return iter(())
        return snapshot_table.load(self._query, tuner, found.id, most=most)

    def handover(self, event: Event, content: bytes) -> Beside:
        """The row that hands over, with the event, what was learned before it; the one before goes.

        It is for the `beside` of `append`.
        """
        id = self._ids.get(event.tuner) or self._known(event.tuner).id
        return snapshot_table.handed_over(id, event, content)

    def handed_over(self, event: Event) -> bytes | None:
        """What was learned before the event, if its author has handed it over and nobody since."""
        id = self._ids.get(event.tuner) or self._known(event.tuner).id
        return snapshot_table.taken_over(self._query, id, event)

    # Checking.

    def refuse_damage(self, *, full: bool = False) -> None:
        """Raise `Damaged` if the database is not whole, and say which events are intact."""
        self.refuse_forked()
        with self._thread:
            if complaint := self._database.complaint(full=full):
                account = "; ".join(self._account())
                raise Damaged(f"{self._database.name}: {complaint}; {account}; {REMEDY}")

    def check(self) -> list[Chain]:
        """Every tuner's chain, if the database is whole and every event is what was written."""
        self.refuse_damage(full=True)
        try:
            return [self._walk(tuner) for tuner in self.tuners()]
        except Damaged:
            account = "; ".join(self._account())
            raise Damaged(f"{self._database.name}: {account}; {REMEDY}") from None

    def repair(self) -> str | None:
        """Build indexes anew, and where pages are, if every event proves intact; what was wrong.

        Open the journal read only for it: a damaged one cannot be opened otherwise.

        Raises:
            Damaged: an event is missing or wrong; then nothing is changed. Or the database cannot
                be made whole.
        """

        def prove(execute: Execute) -> None:
            for each in self._heads(execute):
                for _ in session.events(execute, each, after=0, store=self._database.name):
                    pass

        self.refuse_forked()
        name = self._database.name
        with self._thread:
            found = self._database.complaint(full=True)
            try:
                self._database.repair(prove)
            except Damaged as fault:
                said = str(fault).removeprefix(f"{name}: ")
                raise Damaged(f"{name}: nothing was repaired: {said}; {REMEDY}") from fault
        return found

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

    # Time, and ending.

    def time(self) -> datetime | None:
        """The time by the clock of the store's server; None if that is the caller's own host."""
        self.refuse_forked()
        with self._thread:
            return self._database.time()

    def close(self) -> None:
        """End the connection."""
        self.refuse_forked()
        with self._thread:
            self._database.close()

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
    header = database.header_format
    if header not in (None, version) and not (header == 0 and version < 3):
        raise Damaged(
            f"{database.name} has format {version} by its table, {header} by its header; {REMEDY}"
        )
    if version < FORMAT:
        raise InvalidInput(
            f"{database.name} has format {version}, from before the first release; this trimtab "
            f"reads format {FORMAT} only: begin a new store, or read this one with the trimtab "
            "that wrote it"
        )
    if version > FORMAT:
        raise InvalidInput(
            f"{database.name} has format {version}, this trimtab reads format {FORMAT} only: "
            "upgrade trimtab"
        )
    return version
