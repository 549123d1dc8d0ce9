"""PostgreSQL as the database of a journal, by psycopg 3.

A lost connection is opened again by the next call. What was under way then is `Unavailable`, and
whether a commit under way took place is unknown until the call is made again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TypeVar

import psycopg
from psycopg.conninfo import make_conninfo

from trimtab.errors import InvalidInput, NotFound
from trimtab.live.store import event_table
from trimtab.live.store.address import Address
from trimtab.live.store.database import FORMAT, PATIENCE, Beside, Execute, Row, Step
from trimtab.live.store.event import Event, Head
from trimtab.live.store.faults import Damaged, Unavailable
from trimtab.live.store.fork import holders, opening

T = TypeVar("T")

SCHEMA = f"""
CREATE TABLE trimtab_format (version integer NOT NULL, tuners integer NOT NULL);
INSERT INTO trimtab_format VALUES ({FORMAT}, 0);
CREATE TABLE trimtab_tuners (
    id integer PRIMARY KEY, name text NOT NULL UNIQUE, events bigint NOT NULL,
    digest bytea NOT NULL, seal bytea NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE trimtab_events (
    tuner integer NOT NULL REFERENCES trimtab_tuners, number bigint NOT NULL,
    kind text NOT NULL, at bigint NOT NULL, key text, payload text NOT NULL,
    digest bytea NOT NULL, PRIMARY KEY (tuner, number)
);
CREATE TABLE trimtab_snapshots (
    tuner integer NOT NULL REFERENCES trimtab_tuners, number bigint NOT NULL,
    through bigint NOT NULL, digest bytea NOT NULL, content bytea NOT NULL,
    checksum bytea NOT NULL, PRIMARY KEY (tuner, number)
);
CREATE FUNCTION trimtab_append_only() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'events are only ever appended'; END $$;
CREATE TRIGGER trimtab_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON trimtab_events
    FOR EACH STATEMENT EXECUTE FUNCTION trimtab_append_only();
"""
# The table itself and not to_regclass(): that may answer from before a wait for a lock.
TABLE = """SELECT 1 FROM pg_catalog.pg_tables
WHERE schemaname = ANY (current_schemas(false)) AND tablename = 'trimtab_format'"""
CREATION = 8388254863  # an advisory lock: two processes do not create the same tables


IDLE = psycopg.pq.TransactionStatus.IDLE
# One statement appends: it moves the head if that is where it was, and inserts what follows it.
MOVE = f"WITH head AS ({event_table.MOVE})"
INSERT = f" INSERT INTO trimtab_events (tuner, {event_table.COLUMNS}) SELECT head.id, "
ONE = "?::bigint, ?::text, ?::bigint, ?::text, ?::text, ?::bytea FROM head RETURNING number"
MANY = """e.* FROM head, unnest(
    ?::bigint[], ?::text[], ?::bigint[], ?::text[], ?::text[], ?::bytea[]
) e RETURNING number"""


class PostgresDatabase:
    """A connection to the server, opened again when it is lost."""

    row_lock = " FOR UPDATE"
    header_format: int | None = None

    def __init__(self, address: Address, *, read_only: bool, timeout: float, step: Step) -> None:
        self.name = address.shown
        self._read_only = read_only
        self.step = step
        self._address = address
        self._timeout = timeout
        self._connection = self._connected()
        with opening:
            holders.add(self)
        if not read_only:
            self._create()
        elif not self.query(TABLE):
            self.close()
            raise NotFound(f"there is no journal in {self.name}")

    def _connected(self) -> psycopg.Connection[Row]:
        """A new connection, set up so that a commit is durable and nobody waits for ever."""
        options = {"application_name": "trimtab", **self._address.options}
        try:
            connection = psycopg.connect(
                make_conninfo(**options),
                autocommit=True,
                connect_timeout=max(2, round(self._timeout)),
            )
        except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
            said = self._address.masked(" ".join(str(error).split()))
            raise Unavailable(f"{self.name} cannot be reached: {said}") from None
        with self._translated():
            wait = f"{self._timeout * 1000:.0f}ms"
            for setting, value in (
                ("lock_timeout", f"{PATIENCE * 1000:.0f}ms"),
                ("idle_in_transaction_session_timeout", wait),
                ("tcp_keepalives_idle", "30"),  # a writer whose machine died is noticed
                ("tcp_keepalives_interval", "10"),
                ("tcp_keepalives_count", "3"),
                ("default_transaction_read_only", "on" if self._read_only else "off"),
            ):
                connection.execute("SELECT set_config(%s, %s, false)", (setting, value))
            connection.execute(
                "SELECT set_config('synchronous_commit', 'on', false) "
                "WHERE current_setting('synchronous_commit') = 'off'"
            )
            for setting, needed, why in (
                ("fsync", "on", "what it acknowledges may be lost"),
                ("server_encoding", "UTF8", "it cannot hold every name"),
            ):
                row = connection.execute("SELECT current_setting(%s)", (setting,)).fetchone()
                if row != (needed,):
                    connection.close()
                    raise InvalidInput(
                        f"{self.name} runs with {setting} = {row and row[0]}, so {why}; "
                        f"use a server or database with {setting} = {needed}"
                    )
        return connection

    def _create(self) -> None:
        if not self.query(TABLE):
            self.transact(_create)

    def _execute(self, sql: str, *values: object) -> list[Row]:
        """The rows of a statement; an interrupt in the middle of it ends the connection.

        Nobody knows then what the server is doing for us, and it ends that with the connection.
        """
        try:
            cursor = self._connection.execute(sql.replace("?", "%s"), values or None)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error:
            raise
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        """End the connection at once, and with it whatever it has under way on the server."""
        self._connection.pgconn.finish()

    def _revive(self, sql: str, *values: object) -> list[Row]:
        """What the statement gives, on a new connection if the one we have is lost."""
        if not self._connection.closed:
            try:
                return self._execute(sql, *values)
            except psycopg.OperationalError:
                if not self._connection.closed:
                    raise
        self._connection = self._connected()
        return self._execute(sql, *values)

    def query(self, sql: str, *values: object) -> list[Row]:
        """The rows of one reading statement."""
        with self._translated():
            return self._revive(sql, *values)

    def _refuse(self) -> None:
        """Refuse to write where only reading was announced, and inside another transaction."""
        if self._read_only:
            raise InvalidInput(f"{self.name} was opened to be read only")
        if self._busy():
            raise InvalidInput(f"{self.name}: this is inside a transaction; end that one first")

    def _busy(self) -> bool:
        """Whether the connection is alive and not idle."""
        return not self._connection.closed and self._connection.pgconn.transaction_status != IDLE

    def transact(self, work: Callable[[Execute], T]) -> T:
        """What the work gives; when this returns, the server has what it has written on disk."""
        self._refuse()
        return self._transact(work)

    def _transact(self, work: Callable[[Execute], T]) -> T:
        wait = f"SET LOCAL lock_timeout = {self._timeout * 1000:.0f}"
        self.step("before begin")
        with self._translated():
            try:
                try:
                    self._revive(f"BEGIN READ WRITE; {wait}")
                    given = work(self._execute)
                    self.step("before commit")
                    self._execute("COMMIT")
                except Exception:
                    with suppress(psycopg.Error):
                        self._execute("ROLLBACK")
                    raise
            finally:
                if self._busy():  # interrupted, whatever we were doing
                    self._drop()
        self.step("after commit")
        return given

    @contextmanager
    def write(self) -> Iterator[Execute]:
        """A transaction as a block, for threads that no interrupt reaches."""
        self._refuse()
        with self._translated():
            try:
                self._revive(f"BEGIN; SET LOCAL lock_timeout = {self._timeout * 1000:.0f}")
                yield self._execute
                self._execute("COMMIT")
            except BaseException:
                with suppress(psycopg.Error):
                    self._execute("ROLLBACK")
                raise

    def advance(
        self, old: Head, new: Head, events: Sequence[Event], beside: Sequence[Beside] = ()
    ) -> bool:
        """Whether the list still ended at `old`: then the events are appended, and durable.

        It is one statement, and sending it twice does no harm: the second finds the list moved. So
        it is sent again when the connection was lost, and the digest tells whose event is there.
        """
        self._refuse()
        self.step("before begin")
        sql, values = _advance(old, new, events, beside)
        for _ in events:
            self.step("before insert")
        for _ in events:
            self.step("after insert")
        self.step("before commit")
        with self._translated():
            connection = self._connection
            try:
                done = bool(self._revive(sql, *values))
            except psycopg.errors.LockNotAvailable:  # somebody decides under a lock
                return False
            except psycopg.errors.UniqueViolation as error:
                for row in beside:
                    if row.table == error.diag.table_name:
                        raise event_table.taken(row) from None
                raise
            if not done and self._connection is not connection:
                digest = event_table.digest_of(self._execute, old.id, new.events)
                done = digest == new.digest
        self.step("after commit")
        return done

    def repair(self, prove: Callable[[Execute], T]) -> T:
        """Build the indexes anew, in one transaction with the proof, which reads by them."""

        def work(execute: Execute) -> T:
            for table in ("trimtab_format", "trimtab_tuners", "trimtab_events"):
                execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            for table in ("trimtab_events", "trimtab_tuners", "trimtab_snapshots"):
                execute(f"REINDEX TABLE {table}")
            return prove(execute)

        return self._transact(work)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The errors of psycopg as ours."""
        try:
            yield
        except psycopg.InternalError as error:  # includes data_corrupted, index_corrupted
            said = self._address.masked(str(error))
            raise Damaged(f"{self.name}: PostgreSQL says: {said}") from None
        except psycopg.Error as error:
            said = self._address.masked(" ".join(str(error).split()))
            raise Unavailable(
                f"{self.name} failed: {said}; call again: what has a key is written only once"
            ) from None

    def complaint(self, *, full: bool) -> str | None:
        """Nothing: the server looks after its pages (data checksums, pg_amcheck)."""
        return None

    def time(self) -> datetime:
        """The time by the server's clock."""
        at: datetime = self.query("SELECT clock_timestamp()")[0][0]
        return at.astimezone(UTC)

    def forsake(self) -> None:
        """Close the socket in a forked child; the session stays with the parent."""
        with suppress(psycopg.OperationalError):  # it was closed before
            os.close(self._connection.fileno())

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _advance(
    old: Head, new: Head, events: Sequence[Event], beside: Sequence[Beside]
) -> tuple[str, tuple[object, ...]]:
    """The statement that appends, and its values.

    One event is inserted without arrays: the server and psycopg need half as long.
    """
    values: tuple[object, ...] = (new.events, new.digest, new.seal, old.id, old.events, old.digest)
    sql = MOVE
    for n, row in enumerate(beside):
        sql += f", beside{n} AS ({row.insert(f'SELECT {row.marks} FROM head')})"
        values += tuple(row.values.values())
    if len(events) == 1:
        return sql + INSERT + ONE, values + event_table.row_of(events[0])
    rows = zip(*map(event_table.row_of, events), strict=True)
    return sql + INSERT + MANY, values + tuple(list(column) for column in rows)


def _create(execute: Execute) -> None:
    """Make the tables, unless somebody made them while we waited."""
    execute("SELECT pg_advisory_xact_lock(?)", CREATION)
    if not execute(TABLE):
        execute(SCHEMA)
