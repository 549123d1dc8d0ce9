"""SQLite as the database of a journal: one file, and the few that belong to it.

::

    tuner.db             the database
    tuner.db-wal, -shm   SQLite's own: committed pages that are not in the database yet
    tuner.db-lock        whose turn it is to write, and the last acknowledged event
    tuner.db-queue       who has the next turn

All are made for their owner only, and none of them may be a symbolic link. There is no index: every
table is one tree, in the order in which it is read.

Writers take turns by the lock on `-lock` before SQLite's own. So no two processes ever write or
checkpoint at the same moment, which SQLite before 3.51.3 can, rarely, answer with a corrupt file
(its "WAL-reset bug"); and no writer is left waiting while another writes again and again.

The database file itself is never opened beside SQLite: closing any descriptor of it would drop
the locks that SQLite has on it in this process.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from trimtab.errors import InvalidInput, NotFound
from trimtab.live.store import event_table
from trimtab.live.store.database import FORMAT, PATIENCE, Beside, Execute, Row, Step
from trimtab.live.store.event import Event, Head
from trimtab.live.store.faults import Damaged, Unavailable
from trimtab.live.store.file_lock import LastAck, opened, queue_up, read_ack, same, write_ack
from trimtab.live.store.fork import opening

T = TypeVar("T")


class Busy(Unavailable):
    """Others have the lock."""


APPLICATION = 0x7472696D  # "trim", in the header of the file
SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
CREATE TABLE trimtab_format (version INTEGER NOT NULL, tuners INTEGER NOT NULL);
INSERT INTO trimtab_format VALUES ({FORMAT}, 0);
CREATE TABLE trimtab_tuners (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, events INTEGER NOT NULL, digest BLOB NOT NULL,
    seal BLOB NOT NULL
);
CREATE TABLE trimtab_events (
    tuner INTEGER NOT NULL REFERENCES trimtab_tuners, number INTEGER NOT NULL,
    kind TEXT NOT NULL, at INTEGER NOT NULL, key TEXT, payload TEXT NOT NULL,
    digest BLOB NOT NULL, PRIMARY KEY (tuner, number)
) WITHOUT ROWID;
CREATE TABLE trimtab_snapshots (
    tuner INTEGER NOT NULL REFERENCES trimtab_tuners, number INTEGER NOT NULL,
    through INTEGER NOT NULL, digest BLOB NOT NULL, content BLOB NOT NULL,
    checksum BLOB NOT NULL, PRIMARY KEY (tuner, number)
) WITHOUT ROWID;
CREATE TRIGGER trimtab_no_update BEFORE UPDATE ON trimtab_events
    BEGIN SELECT RAISE(ABORT, 'events are only ever appended'); END;
CREATE TRIGGER trimtab_no_delete BEFORE DELETE ON trimtab_events
    BEGIN SELECT RAISE(ABORT, 'events are only ever appended'); END;
"""
LATER = {  # primary result codes that say nothing about the content of the file
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_READONLY,
}
SMALLEST = 512  # bytes of a database that is not empty


class SqliteDatabase:
    """A connection to the file; `create` must have made it before."""

    row_lock = ""  # a writing transaction has the whole database

    def __init__(self, path: Path, *, read_only: bool, timeout: float, step: Step) -> None:
        self.name = str(path)
        self.step = step
        self._path = path
        self._timeout = timeout
        self._read_only = read_only
        self._moved: LastAck | None = None
        if not path.exists():
            raise NotFound(f"there is no journal {path}")
        refuse_links(path)
        self._identity = path.stat()
        with translated(self.name), opening:
            self._connection = connected(path, read_only=read_only, timeout=timeout)
            self._execute("SELECT count(*) FROM sqlite_master")
            self._parts = self._found()  # SQLite keeps them as long as anybody has them open
            self.header_format: int | None = self._execute("PRAGMA user_version")[0][0]
            if not read_only:
                self._execute("PRAGMA foreign_keys = ON")
                self._execute("PRAGMA synchronous = FULL")
                self._force_log()

    def _force_log(self) -> None:
        """Put on the disk what a killed process may have committed to memory only.

        SQLite takes such a commit for one, and an append that finds its key acknowledges it.
        """
        with suppress(FileNotFoundError):
            log = os.open(beside(self._path, "wal"), os.O_RDONLY | os.O_NOFOLLOW)
            try:
                os.fsync(log)
            finally:
                os.close(log)

    def _execute(self, sql: str, *values: object) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def query(self, sql: str, *values: object) -> list[Row]:
        """The rows of one reading statement."""
        with translated(self.name):
            return self._execute(sql, *values)

    def transact(self, work: Callable[[Execute], T], *, patience: float | None = None) -> T:
        """What the work gives; when this returns, what it has written is on the disk.

        The lock and the transaction end with their `with`, which no interrupt can split: both are
        objects of C, whose end is one step for the interpreter.
        """
        if self._read_only:
            raise InvalidInput(f"{self.name} was opened to be read only")
        self.step("before begin")
        with (
            translated(self.name),
            opened(beside(self._path, "queue")) as queue,
            opened(beside(self._path, "lock")) as lock,
        ):
            if self._connection.in_transaction:
                raise InvalidInput(f"{self.name}: this is inside a transaction; end that one first")
            my_turn(self._path, queue, lock, self._timeout if patience is None else patience)
            self._refuse_another_file()
            with self._connection:
                self._execute("BEGIN IMMEDIATE")
                self._moved = None
                given = work(self._write)
                self.step("before commit")
            self.step("after commit")
            if self._moved is not None:
                write_ack(lock.fileno(), self._moved)
            return given

    @contextmanager
    def write(self) -> Iterator[Execute]:
        """A transaction as a block, for threads that no interrupt reaches."""
        with (
            translated(self.name),
            opened(beside(self._path, "queue")) as queue,
            opened(beside(self._path, "lock")) as lock,
        ):
            my_turn(self._path, queue, lock, self._timeout)
            self._refuse_another_file()
            with self._connection:
                self._execute("BEGIN IMMEDIATE")
                yield self._execute

    def _write(self, sql: str, *values: Any) -> list[Row]:
        """Run a statement of a transaction; the last event appended is noted after the commit."""
        rows = self._execute(sql, *values)
        if sql == event_table.MOVE and rows:
            self._moved = LastAck(rows[0][0], values[0], values[1])
        return rows

    def advance(
        self, old: Head, new: Head, events: Sequence[Event], beside: Sequence[Beside] = ()
    ) -> bool:
        """Whether the list still ended at `old`: then the events are appended, and on the disk."""

        def work(execute: Execute) -> bool:
            for _ in events:
                self.step("before insert")
            done = event_table.advance(execute, old, new, events, beside)
            for _ in events:
                self.step("after insert")
            return done

        try:
            return self.transact(work, patience=min(PATIENCE, self._timeout))
        except Busy:
            return False

    def _found(self) -> dict[Path, os.stat_result]:
        """The log and the index of the log, as far as they are there."""
        found = {}
        for path in (beside(self._path, "wal"), beside(self._path, "shm")):
            with suppress(FileNotFoundError):
                found[path] = path.stat()
        return found

    def _refuse_another_file(self) -> None:
        """Refuse to write into files that their paths do not name any more: nobody would find it.

        Raises:
            Unavailable: it was removed or replaced.
        """
        for path, before in {self._path: self._identity, **self._parts}.items():
            try:
                there = os.path.samestat(before, path.stat())
            except OSError:
                there = False
            if not there:
                raise Unavailable(
                    f"{path} was removed or replaced while it was open: nothing was written; put "
                    "the file back, or open the journal again"
                )

    def complaint(self, *, full: bool) -> str | None:
        """What SQLite finds wrong with the file, or which acknowledged event is not in it."""
        seen = noted(self._path)  # before the query: nothing noted later can be missing
        try:
            size = self.query("PRAGMA page_size")[0][0]
            if self._path.stat().st_size % size and not has_log(self._path):
                return f"its last page of {size} bytes is cut off"
            found = self.query("PRAGMA integrity_check" if full else "PRAGMA quick_check(1)")
            found += self.query("PRAGMA foreign_key_check") if full else []
            if found != [("ok",)]:
                words = " ".join(str(value) for row in found[:3] for value in row).split()
                return "SQLite says: " + " ".join(words)
            return self._lost(seen)
        except Damaged as error:
            return str(error).removeprefix(f"{self.name}: ")

    def _lost(self, seen: LastAck | None) -> str | None:
        """That the event which was acknowledged last is not there, if so."""
        if seen is None:
            return None
        sql = "SELECT digest FROM trimtab_events WHERE tuner = ? AND number = ?"
        rows = self.query(sql, seen.tuner, seen.number)
        names = self.query("SELECT name FROM trimtab_tuners WHERE id = ?", seen.tuner)
        if rows == [(seen.digest,)]:
            return None
        tuner = repr(names[0][0]) if names else f"with id {seen.tuner}"
        other = "is another one now" if rows else "is not there"
        return (
            f"event {seen.number} of tuner {tuner} was acknowledged and {other}: the file was cut, "
            f"or is an older copy (to go on with it, delete {beside(self._path, 'lock').name})"
        )

    def repair(self, prove: Callable[[Execute], T]) -> T:
        """Write all pages anew from the rows, once they are proven; free pages go."""
        with (
            translated(self.name),
            opened(beside(self._path, "queue")) as queue,
            opened(beside(self._path, "lock")) as lock,
        ):
            my_turn(self._path, queue, lock, self._timeout)
            given = prove(self.query)
            if lost := self._lost(noted(self._path)):
                raise Damaged(lost)
            with closing(connected(self._path, read_only=False, timeout=self._timeout)) as writer:
                writer.execute("PRAGMA synchronous = FULL")
                writer.execute("VACUUM")
            return given

    def time(self) -> None:
        """None: the store is on the caller's own host."""

    def close(self) -> None:
        """End the connection; the last one brings everything into the database file."""
        if self._read_only or not self._path.parent.is_dir():
            self._connection.close()
            return
        with (
            translated(self.name),
            opened(beside(self._path, "queue")) as queue,
            opened(beside(self._path, "lock")) as lock,
        ):
            my_turn(self._path, queue, lock, self._timeout)
            self._connection.close()


def my_turn(path: Path, queue: FileIO, lock: FileIO, timeout: float) -> None:
    """Wait until the lock is ours; it is given back when the file is closed.

    Raises:
        Busy: others had it for too long.
    """
    if not queue_up(queue, lock, time.monotonic() + timeout):
        raise Busy(
            f"{path} has been locked by other processes for {timeout:g} s; look for a writer that "
            "was stopped"
        )
    if not same(lock, beside(path, "lock")):
        raise Unavailable(f"{beside(path, 'lock')} was removed or replaced; call again")


def refuse_links(path: Path) -> None:
    """Refuse files that are links: two names of a store would have two locks."""
    for file in (path, *(beside(path, what) for what in ("wal", "shm", "lock", "queue"))):
        if file.is_symlink():
            raise InvalidInput(f"{file} is a symbolic link; give the path of the file itself")


def create(path: Path, *, timeout: float) -> None:
    """Make the file a journal, unless it is one.

    A file with something in it is only looked at: SQLite tidies up behind a writer, and with a
    damaged file that would destroy evidence.
    """
    if not path.parent.is_dir():
        raise InvalidInput(f"{path.parent} is not a folder; make it first")
    refuse_links(path)
    with (
        translated(str(path)),
        opened(beside(path, "queue")) as queue,
        opened(beside(path, "lock")) as lock,
    ):
        my_turn(path, queue, lock, timeout)
        with opening:
            _create(path, timeout)


def _create(path: Path, timeout: float) -> None:
    size = path.stat().st_size if path.exists() else 0
    if 0 < size < SMALLEST:  # SQLite would take a single byte for an empty database
        raise Damaged(f"{path} is cut off after {size} bytes; restore it, or give another path")
    if size:
        with closing(connected(path, read_only=True, timeout=timeout)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master").fetchall()
            ours = connection.execute("PRAGMA application_id").fetchall() == [(APPLICATION,)]
        if ("trimtab_format",) in names:
            return
        if names and not ours:
            raise InvalidInput(f"{path} is a database of something else; give another path")
        if ours:
            raise Damaged(f"{path} has lost its table of formats; restore a copy")
    if noted(path) is not None:
        raise Damaged(
            f"{path} is empty or missing, but events were acknowledged: restore it "
            f"(or delete {beside(path, 'lock')} to begin anew)"
        )
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    with closing(connected(path, read_only=False, timeout=timeout)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")


def connected(path: Path, *, read_only: bool, timeout: float) -> sqlite3.Connection:
    """A connection without transactions of its own."""
    uri = path.absolute().as_uri() + ("?mode=ro" if read_only else "?mode=rw")
    if read_only and not os.access(path.parent, os.W_OK) and not has_log(path):
        uri += "&immutable=1"  # nobody can write there, and SQLite could not make its index of logs
    return sqlite3.connect(
        uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )


def has_log(path: Path) -> bool:
    """Whether there is a log, from which SQLite makes whole what a crash left in part."""
    log = beside(path, "wal")
    return log.exists() and log.stat().st_size > 0


def noted(path: Path) -> LastAck | None:
    """The last acknowledged event, as far as it is known outside the database."""
    try:
        file = os.open(beside(path, "lock"), os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return read_ack(file)
    finally:
        os.close(file)


def beside(path: Path, what: str) -> Path:
    """A file that belongs to the database."""
    return path.with_name(f"{path.name}-{what}")


@contextmanager
def translated(name: str) -> Iterator[None]:
    """SQLite's errors as ours: the file may be used later, or it is not what it should be."""
    try:
        yield
    except sqlite3.ProgrammingError as error:  # closed
        raise Unavailable(f"{name}: {error}; open the journal again") from error
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_ERROR
        if code & 0xFF in LATER:
            raise Unavailable(f"{name} cannot be used now: SQLite says: {error}") from error
        raise Damaged(f"{name}: SQLite says: {error}") from error
    except UnicodeDecodeError as error:
        raise Damaged(f"{name} has text in it that is none: {error}") from error
