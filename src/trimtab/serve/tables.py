"""The service's own tables, beside those of the journal and in the same store.

::

    trimtab_tokens    (id, name, role, tuner, digest, created, expires, revoked, by)
    trimtab_sessions  (id, token, digest, expires)      of the page
    trimtab_answers   (token, key, request, status, body, at)
    trimtab_work      (tuner, due, worker, until)       whose turn it is to run a loop

Times are microseconds since 1970. No secret is stored: digests are SHA-256 of random tokens.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from trimtab.live.store.address import address_of
from trimtab.live.store.database import Database, Execute, Row
from trimtab.live.store.opening import open_journal

SCHEMA = (
    """CREATE TABLE IF NOT EXISTS trimtab_tokens (
        id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, role TEXT NOT NULL, tuner TEXT,
        digest TEXT NOT NULL, created BIGINT NOT NULL, expires BIGINT, revoked BIGINT,
        by TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS trimtab_sessions (
        id TEXT PRIMARY KEY, token TEXT NOT NULL REFERENCES trimtab_tokens, digest TEXT NOT NULL,
        expires BIGINT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS trimtab_answers (
        token TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, status INTEGER NOT NULL,
        body TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (token, key))""",
    "CREATE INDEX IF NOT EXISTS trimtab_answers_at ON trimtab_answers (at)",
    """CREATE TABLE IF NOT EXISTS trimtab_work (
        tuner TEXT PRIMARY KEY, due BIGINT NOT NULL, worker TEXT, until BIGINT)""",
    "CREATE INDEX IF NOT EXISTS trimtab_work_due ON trimtab_work (due)",
)
CREATION = 8388254864  # an advisory lock: two replicas do not create the same tables


def microseconds_now() -> int:
    """The time, in microseconds since 1970."""
    return time.time_ns() // 1000


class Tables:
    """A connection to the service's tables, which threads share.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> tables = Tables(f"{folder.name}/a.db")
    >>> tables.query("SELECT count(*) FROM trimtab_tokens")
    [(0,)]
    >>> tables.close(); folder.cleanup()
    """

    def __init__(self, url: str, *, timeout: float = 30.0) -> None:
        open_journal(url, timeout=timeout).close()  # makes it, and refuses what is none
        self._database = database_of(url, timeout)
        self._lock = threading.RLock()
        self.postgres = bool(self._database.row_lock)
        with self.write() as execute:
            if self.postgres:
                execute("SELECT pg_advisory_xact_lock(?)", CREATION)
            for statement in SCHEMA:
                execute(statement)

    def query(self, sql: str, *values: object) -> list[Row]:
        """The rows of one reading statement."""
        with self._lock:
            return self._database.query(sql, *values)

    @contextmanager
    def write(self) -> Iterator[Execute]:
        """A transaction; when the block is left without an error it is durable."""
        with self._lock, self._database.write() as execute:
            yield execute

    # What the journal's tables say of all tuners.

    def names(self, *, after: str = "", limit: int, only: str | None = None) -> list[str]:
        """Names of tuners in alphabetical order, a page of them; or the only one, if it exists."""
        if only is not None:
            rows = self.query("SELECT name FROM trimtab_tuners WHERE name = ?", only)
            return [name for (name,) in rows if name > after]
        sql = "SELECT name FROM trimtab_tuners WHERE name > ? ORDER BY name LIMIT ?"
        return [name for (name,) in self.query(sql, after, limit)]

    def count(self) -> int:
        """How many tuners there are."""
        return int(self.query("SELECT count(*) FROM trimtab_tuners")[0][0])

    def last_events(self, names: list[str]) -> dict[str, int]:
        """The number of the last event of each of these tuners, by name."""
        if not names:
            return {}
        marks = ", ".join("?" * len(names))
        rows = self.query(
            "SELECT name, (SELECT max(number) FROM trimtab_events WHERE tuner = id) "
            f"FROM trimtab_tuners WHERE name IN ({marks})",
            *names,
        )
        return {name: number or 0 for name, number in rows}

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._database.close()


def database_of(url: str, timeout: float) -> Database:
    """The database in which the journal is."""
    address = address_of(url)
    if address.path is None:
        from trimtab.live.store.postgres_database import PostgresDatabase

        return PostgresDatabase(address, read_only=False, timeout=timeout, step=lambda name: None)
    from trimtab.live.store.sqlite_database import SqliteDatabase

    return SqliteDatabase(address.path, read_only=False, timeout=timeout, step=lambda name: None)
