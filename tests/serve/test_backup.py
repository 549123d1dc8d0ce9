"""Backup and restore: a copy taken while the service works is whole, with its tokens."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.postgres import Server, connect
from tests.serve.services import Running, running, spec_with
from tests.system_packages import postgresql
from trimtab.live.store.opening import open_journal


def busy(served: Running, stop: threading.Event) -> None:
    """Calls that are made while the copy is taken."""
    while not stop.is_set():
        decision = served.post("/api/v1/tuners/shop/ask", {}, "client").json()
        body = {"decision_id": decision["id"], "metrics": {"latency": 100.0, "sales": 5.0}}
        served.post("/api/v1/tuners/shop/tell", body, "client")


def goes_on(url: str, token: str, before: int) -> None:
    """The copy has what was there, its tokens count, and it can be gone on with."""
    with open_journal(url, read_only=True) as journal:
        (chain,) = journal.check()
    assert chain.events >= before
    with running(url) as served:
        headers = {"authorization": f"Bearer {token}"}
        found = served.http.get("/api/v1/tuners/shop", headers=headers)
        assert found.json()["events"] == chain.events
        assert served.http.post("/api/v1/tuners/shop/ask", json={}, headers=headers).is_success


def test_sqlite(tmp_path: Path) -> None:
    with running(str(tmp_path / "a.db")) as served:
        served.begin()
        served.post("/api/v1/tuners/shop/ask", {}, "client")
        token, stop = served.token("operator"), threading.Event()
        before = served.service.tables.last_events(["shop"])["shop"]
        thread = threading.Thread(target=busy, args=(served, stop))
        thread.start()
        with (
            closing(sqlite3.connect(tmp_path / "a.db")) as store,
            closing(sqlite3.connect(tmp_path / "copy.db")) as copy,
        ):
            store.backup(copy)  # what `sqlite3 a.db ".backup copy.db"` does
        stop.set()
        thread.join()
    goes_on(str(tmp_path / "copy.db"), token, before)


@pytest.mark.needs("postgresql")
def test_postgres(postgres: Server, postgres_url: str, tmp_path: Path) -> None:
    schema = postgres_url.rpartition("%3D")[2]
    programs = Path(postgresql() or "")
    common = ["-h", str(postgres.folder), "-U", "postgres"]
    with running(postgres_url) as served:
        served.begin(spec_with())
        served.post("/api/v1/tuners/shop/ask", {}, "client")
        token, stop = served.token("operator"), threading.Event()
        before = served.service.tables.last_events(["shop"])["shop"]
        thread = threading.Thread(target=busy, args=(served, stop))
        thread.start()
        with (tmp_path / "copy.sql").open("wb") as file:
            command = [str(programs / "pg_dump"), *common, "-n", schema, "postgres"]
            subprocess.run(command, stdout=file, check=True)
        stop.set()
        thread.join()
    with closing(connect(postgres.url, autocommit=True)) as connection:
        connection.execute(f"CREATE DATABASE copy_of_{schema}".encode())
    with (tmp_path / "copy.sql").open("rb") as file:
        command = [
            str(programs / "psql"),
            *common,
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            f"copy_of_{schema}",
        ]
        subprocess.run(command, stdin=file, stdout=subprocess.DEVNULL, check=True, env=os.environ)
    copy = postgres_url.replace("/postgres?", f"/copy_of_{schema}?")
    goes_on(copy, token, before)
