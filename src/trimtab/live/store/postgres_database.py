"""PostgreSQL as the database of a journal, by psycopg 3.

A lost connection is opened again by the next call. What was under way then is `Unavailable`, and
whether a commit under way took place is unknown until the call is made again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import psycopg

from trimtab.errors import InvalidInput, NotFound
from trimtab.live.store.database import FORMAT, Execute, Row, Step
from trimtab.live.store.faults import Damaged, Unavailable
from trimtab.live.store.fork import keep_from_children

SCHEMA = f"""
CREATE TABLE trimtab_format (version integer NOT NULL);
INSERT INTO trimtab_format VALUES ({FORMAT});
CREATE TABLE trimtab_tuners (
    id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name text NOT NULL UNIQUE
);
CREATE TABLE trimtab_events (
    tuner integer NOT NULL REFERENCES trimtab_tuners, number bigint NOT NULL,
    kind text NOT NULL, at bigint NOT NULL, key text, payload text NOT NULL,
    digest bytea NOT NULL, PRIMARY KEY (tuner, number)
);
CREATE UNIQUE INDEX trimtab_keys ON trimtab_events (tuner, key) WHERE key IS NOT NULL;
CREATE TABLE trimtab_snapshots (
    tuner integer NOT NULL REFERENCES trimtab_tuners, number bigint NOT NULL,
    digest bytea NOT NULL, content bytea NOT NULL, checksum bytea NOT NULL,
    PRIMARY KEY (tuner, number)
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


class PostgresDatabase:
    """A connection to the server, opened again when it is lost."""

    row_lock = " FOR UPDATE"

    def __init__(self, url: str, *, read_only: bool, timeout: float, step: Step) -> None:
        self.name = without_password(url)
        self._read_only = read_only
        self.step = step
        self._url = url
        self._timeout = timeout
        self._connection = self._connected()
        keep_from_children(self)
        if not read_only:
            self._create()
        elif not self.query(TABLE):
            self.close()
            raise NotFound(f"there is no journal in {self.name}")

    def _connected(self) -> psycopg.Connection[Row]:
        """A new connection, set up so that a commit is durable and nobody waits for ever."""
        try:
            connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=max(2, round(self._timeout)),
                application_name="trimtab",
            )
        except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
            said = " ".join(str(error).split())
            raise Unavailable(f"{self.name} cannot be reached: {said}") from None
        with self._translated():
            wait = f"{self._timeout * 1000:.0f}ms"
            for setting, value in (
                ("lock_timeout", wait),
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
            with self.write() as execute:
                execute("SELECT pg_advisory_xact_lock(?)", CREATION)
                if not execute(TABLE):  # nobody made them while we waited
                    execute(SCHEMA)

    def _execute(self, sql: str, *values: object) -> list[Row]:
        cursor = self._connection.execute(sql.replace("?", "%s"), values or None)
        return cursor.fetchall() if cursor.description else []

    def _revive(self, sql: str, *values: object) -> list[Row]:
        """What the statement gives, on a new connection if the one we have is lost."""
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

    @contextmanager
    def write(self) -> Iterator[Execute]:
        """A transaction; when the block is left without an error the server has it on disk."""
        if self._read_only:
            raise InvalidInput(f"{self.name} was opened to be read only")
        self.step("before begin")
        with self._translated():
            self._revive("BEGIN")
            try:
                yield self._execute
                self.step("before commit")
                self._execute("COMMIT")
            except BaseException:
                with suppress(psycopg.Error):
                    self._execute("ROLLBACK")
                raise
        self.step("after commit")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The errors of psycopg as ours."""
        try:
            yield
        except psycopg.InternalError as error:  # includes data_corrupted, index_corrupted
            raise Damaged(f"{self.name}: PostgreSQL says: {error}") from error
        except psycopg.Error as error:
            said = " ".join(str(error).split())
            raise Unavailable(
                f"{self.name} failed: {said}; call again: what has a key is written only once"
            ) from error

    def complaint(self, *, full: bool) -> str | None:
        """Nothing: the server looks after its pages (data checksums, pg_amcheck)."""
        return None

    def forsake(self) -> None:
        """Close the socket in a forked child; the session stays with the parent."""
        with suppress(psycopg.OperationalError):  # it was closed before
            os.close(self._connection.fileno())

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return f"postgresql://{user.partition(':')[0]}{at}{host}{parts.path}"
