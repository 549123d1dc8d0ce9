"""SQLite as the database of a journal: one file, and the few that belong to it.

::

    tuner.db             the database
    tuner.db-wal, -shm   SQLite's own: committed pages that are not in the database yet
    tuner.db-lock        whose turn it is to write, and the last acknowledged event
    tuner.db-queue       who has the next turn

Writers take turns by the lock on `-lock` before SQLite's own. So no two processes ever write or
checkpoint at the same moment, which SQLite before 3.51.3 can, rarely, answer with a corrupt file
(its "WAL-reset bug"); and no writer is left waiting while another writes again and again.

The database file itself is never opened beside SQLite: closing any descriptor of it would drop
the locks that SQLite has on it in this process.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from trimtab.errors import InvalidInput, NotFound
from trimtab.live.store import last_ack
from trimtab.live.store.database import FORMAT, Execute, Row, Step
from trimtab.live.store.faults import Damaged, Unavailable
from trimtab.live.store.file_lock import Turns

SCHEMA = f"""
CREATE TABLE trimtab_format (version INTEGER NOT NULL);
INSERT INTO trimtab_format VALUES ({FORMAT});
CREATE TABLE trimtab_tuners (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE trimtab_events (
    position INTEGER PRIMARY KEY, tuner INTEGER NOT NULL REFERENCES trimtab_tuners,
    number INTEGER NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL, key TEXT,
    payload TEXT NOT NULL, digest BLOB NOT NULL, UNIQUE (tuner, number)
);
CREATE UNIQUE INDEX trimtab_keys ON trimtab_events (tuner, key) WHERE key IS NOT NULL;
CREATE TABLE trimtab_snapshots (
    tuner INTEGER NOT NULL REFERENCES trimtab_tuners, number INTEGER NOT NULL,
    digest BLOB NOT NULL, content BLOB NOT NULL, checksum BLOB NOT NULL,
    PRIMARY KEY (tuner, number)
);
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
LAST = "SELECT tuner, number, digest FROM trimtab_events ORDER BY position DESC LIMIT 1"


class SqliteDatabase:
    """A connection to the file; `create` must have made it before."""

    row_lock = ""  # a writing transaction has the whole database

    def __init__(self, path: Path, *, read_only: bool, timeout: float, step: Step) -> None:
        self.name = str(path)
        self.step = step
        self._path = path
        self._timeout = timeout
        if not path.exists():
            raise NotFound(f"there is no journal {path}")
        self._turns = None if read_only else turns(path)
        with translated(self.name):
            self._connection = connected(path, read_only=read_only, timeout=timeout)
            if not read_only:
                self._execute("PRAGMA foreign_keys = ON")
                self._execute("PRAGMA synchronous = FULL")
                self._execute(LAST)
                self._force_log()

    def _force_log(self) -> None:
        """Put on the disk what a killed process may have committed to memory only.

        SQLite takes such a commit for one, and an append that finds its key acknowledges it.
        """
        with suppress(FileNotFoundError):
            log = os.open(beside(self._path, "wal"), os.O_RDONLY)
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

    @contextmanager
    def write(self) -> Iterator[Execute]:
        """A transaction; when the block is left without an error it is on the disk."""
        if self._turns is None:
            raise InvalidInput(f"{self.name} was opened to be read only")
        self.step("before begin")
        with self._turns.mine(self.name, self._timeout) as file, translated(self.name):
            self._execute("BEGIN IMMEDIATE")
            try:
                yield self._execute
                last = self._execute(LAST)
                self.step("before commit")
                self._execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._execute("ROLLBACK")
            self.step("after commit")
            if last:
                last_ack.write(file, last_ack.LastAck(*last[0]))

    def complaint(self, *, full: bool) -> str | None:
        """What SQLite finds wrong with the file, or which acknowledged event is not in it."""
        seen = noted(self._path)  # before the query: nothing noted later can be missing
        try:
            size = self.query("PRAGMA page_size")[0][0]
            if self._path.stat().st_size % size and not self._has_log():
                return f"its last page of {size} bytes is cut off"
            found = self.query("PRAGMA integrity_check" if full else "PRAGMA quick_check(1)")
            found += self.query("PRAGMA foreign_key_check") if full else []
            if found != [("ok",)]:
                words = " ".join(str(value) for row in found[:3] for value in row).split()
                return "SQLite says: " + " ".join(words)
            if seen is None:
                return None
            sql = "SELECT digest FROM trimtab_events WHERE tuner = ? AND number = ?"
            rows = self.query(sql, seen.tuner, seen.number)
            names = self.query("SELECT name FROM trimtab_tuners WHERE id = ?", seen.tuner)
        except Damaged as error:
            return str(error).removeprefix(f"{self.name}: ")
        if rows == [(seen.digest,)]:
            return None
        tuner = repr(names[0][0]) if names else f"with id {seen.tuner}"
        other = "is another one now" if rows else "is not there"
        return (
            f"event {seen.number} of tuner {tuner} was acknowledged and {other}: the file was cut, "
            f"or is an older copy (to go on with it, delete {beside(self._path, 'lock').name})"
        )

    def _has_log(self) -> bool:
        """Whether there is a log, from which SQLite makes whole what a crash left in part."""
        log = beside(self._path, "wal")
        return log.exists() and log.stat().st_size > 0

    def close(self) -> None:
        """End the connection; the last one brings everything into the database file."""
        if self._turns is None:
            self._connection.close()
        elif self._turns.open:
            with self._turns.mine(self.name, self._timeout), translated(self.name):
                self._connection.close()
            self._turns.release()


def create(path: Path, *, timeout: float) -> None:
    """Make the file a journal, unless it is one.

    A file with something in it is only looked at: SQLite tidies up behind a writer, and with a
    damaged file that would destroy evidence.
    """
    if not path.parent.is_dir():
        raise InvalidInput(f"{path.parent} is not a folder; make it first")
    waiting = turns(path)
    try:
        with waiting.mine(str(path), timeout), translated(str(path)):
            _create(path, timeout)
    finally:
        waiting.release()


def _create(path: Path, timeout: float) -> None:
    size = path.stat().st_size if path.exists() else 0
    if 0 < size < SMALLEST:  # SQLite would take a single byte for an empty database
        raise Damaged(f"{path} is cut off after {size} bytes; restore it, or give another path")
    if size:
        with closing(connected(path, read_only=True, timeout=timeout)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master").fetchall()
        if ("trimtab_format",) in names:
            return
        if names:
            raise InvalidInput(f"{path} is a database of something else; give another path")
    if noted(path) is not None:
        raise Damaged(
            f"{path} is empty or missing, but events were acknowledged: restore it "
            f"(or delete {beside(path, 'lock')} to begin anew)"
        )
    with closing(connected(path, read_only=False, timeout=timeout)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")


def connected(path: Path, *, read_only: bool, timeout: float) -> sqlite3.Connection:
    """A connection without transactions of its own."""
    uri = path.absolute().as_uri() + ("?mode=ro" if read_only else "?mode=rwc")
    return sqlite3.connect(
        uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )


def noted(path: Path) -> last_ack.LastAck | None:
    """The last acknowledged event, as far as it is known outside the database."""
    try:
        file = os.open(beside(path, "lock"), os.O_RDONLY)
    except OSError:
        return None
    try:
        return last_ack.read(file)
    finally:
        os.close(file)


def turns(path: Path) -> Turns:
    """Whose turn it is to write."""
    return Turns(beside(path, "lock"), queue=beside(path, "queue"))


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
