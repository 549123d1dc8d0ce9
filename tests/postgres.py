"""A real PostgreSQL server for tests, in a temporary folder, reached by a socket in it.

Fixtures (through `tests/conftest.py`): `postgres` is the server, `postgres_url` a URL with
an empty schema of its own; mark their tests with `@pytest.mark.needs("postgresql")`.
`journal_url` is each kind of place a journal can be in, in turn, and empty.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.system_packages import postgresql

if TYPE_CHECKING:
    from psycopg import Connection

# Nothing here weakens durability: fsync, full_page_writes and synchronous_commit stay on.
SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "40",
    "shared_buffers": "16MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


def connect(url: str, *, autocommit: bool = False) -> Connection:
    """A connection to the server."""
    import psycopg

    return psycopg.connect(url, autocommit=autocommit)


class Server:
    """One server; `start` and `stop` it as often as need be, `remove` it in the end."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="trimtab-pg-"))
        self._programs = Path(postgresql() or "/nonexistent")
        self._schemas = count(1)
        # The server refuses to run as root.
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user:
            account = pwd.getpwnam(self._user)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        self._data = self.folder / "data"
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            settings = SETTINGS | {"unix_socket_directories": f"'{self.folder}'"}
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())

    def _run(self, program: str, *arguments: object) -> None:
        subprocess.run(
            [self._programs / program, *map(str, arguments)],
            check=True,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # a pipe would stay open in the server
            user=self._user,
            env={**os.environ, "LC_ALL": "C"},
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self.folder / "log", "start")

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop it; "immediate" is a crash: nothing is written on the way out."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def restart(self) -> None:
        """Crash it, start it, and wait until it takes connections again."""
        self.stop("immediate")
        self.start()
        connect(self.url).close()

    def remove(self) -> None:
        """Stop it and delete everything."""
        self.stop("immediate")
        shutil.rmtree(self.folder)

    @property
    def url(self) -> str:
        """Where the server is."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def fresh_url(self) -> str:
        """A URL whose tables are in a new, empty schema."""
        schema = f"test_{next(self._schemas)}"
        with connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}".encode())
        return f"{self.url}&options=-csearch_path%3D{schema}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running server."""
    server = Server()
    try:
        server.start()
        yield server
        server.remove()
    finally:
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres: Server) -> str:
    """A URL with an empty schema of its own."""
    return postgres.fresh_url()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgresql"))])
def journal_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new journal can be made, in each database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'a.db'}"
    return str(request.getfixturevalue("postgres_url"))
