"""Processes and servers that die: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.store.journals import child, tell, xs
from tests.postgres import Server, connect
from trimtab.errors import InvalidInput
from trimtab.live.store.database import STEPS, Execute
from trimtab.live.store.faults import Damaged, Unavailable
from trimtab.live.store.file_lock import opened
from trimtab.live.store.journal import Journal
from trimtab.live.store.opening import open_journal
from trimtab.live.store.postgres_database import CREATION, SCHEMA
from trimtab.live.store.session import Session
from trimtab.live.store.sqlite_database import SqliteDatabase, beside, my_turn

PRELUDE = """
import os, signal, sys, time
from datetime import datetime, UTC
from trimtab.live.store.event import Draft
from trimtab.live.store.opening import open_journal
def tell(x, key=None):
    return Draft(kind="tell", payload={"x": x}, at=datetime(2026, 1, 1, tzinfo=UTC), key=key)
url = sys.argv[1]
"""


# Killed at every step of an append.

APPEND = (
    PRELUDE
    + """
from trimtab.live.store.database import STEPS, Execute
def run(tuner, fatal, left):
    def step(name):
        nonlocal left
        left -= name == fatal
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    with open_journal(url, step=step) as journal:
        for i in range(0, 20, 2):
            journal.append(tuner, tell(i, str(i)), tell(i + 1, str(i + 1)))
            print(tuner, i + 1, sep=":")
open_journal(url).close()  # so that every step counted is one of an append
for fatal in STEPS:
    for left in (2, 5):
        if os.fork() == 0:
            run(f"{fatal} {left}", fatal, left)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == -signal.SIGKILL
"""
)


def test_killed_at_every_step(journal_url: str) -> None:
    process = child(APPEND, journal_url)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    acknowledged = {f"{step} {time}": -1 for step in STEPS for time in (2, 5)}
    acknowledged |= {line.split(":")[0]: int(line.split(":")[1]) for line in out.splitlines()}
    assert len(acknowledged) == 2 * len(STEPS)
    assert max(acknowledged.values()) > 5
    with open_journal(journal_url) as journal:
        for tuner, last in acknowledged.items():
            written = 3 if tuner.startswith("after commit") else 1  # two without an answer
            assert xs(journal, tuner) == list(range(last + written))
            for i in range(20):  # whoever was not answered tells again
                journal.append(tuner, tell(i, str(i)))
            assert xs(journal, tuner) == list(range(20))
        journal.check()


# Killed in the middle of a decision.

DECIDE = (
    PRELUDE
    + """
def decide(session):
    session.append(tell("decided"))
    if "fork" in sys.argv:
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        print(child)
    else:
        print(os.getpid())
    time.sleep(60)
with open_journal(url) as journal:
    journal.decide("a", decide)
"""
)


@pytest.mark.parametrize("how", ["alone", "fork"])
def test_a_killed_decider_does_not_block(journal_url: str, how: str) -> None:
    """Not even through a child that it forked and that lives on."""
    open_journal(journal_url).close()
    process = child(DECIDE, journal_url, how)
    assert process.stdout is not None
    other = int(process.stdout.readline())
    try:
        with pytest.raises(Unavailable), open_journal(journal_url, timeout=0.2) as journal:
            journal.append("a", tell("too early"))
        process.kill()
        process.wait()
        with open_journal(journal_url, timeout=20.0) as journal:
            journal.append("a", tell("mine"))
            assert xs(journal) == ["mine"]  # what was not acknowledged is not there
    finally:
        process.stdout.close()
        if how == "fork":
            os.kill(other, signal.SIGKILL)


# Eight processes on one store.

WORK = (
    PRELUDE
    + """
def work(name, n):
    with open_journal(url) as journal:
        for i in range(n):
            journal.append("a", tell([name, i], f"{name}-{i}"))
            journal.append("a", tell(["shared", i], f"shared-{i}"))  # by all; once is enough
            journal.decide("a", lambda session: session.append(
                tell(["decided", sum(1 for _ in session.events())])))
for p in range(8):
    if os.fork() == 0:
        work(f"p{p}", int(sys.argv[2]))
        os._exit(0)
for p in range(8):
    assert os.wait()[1] == 0
"""
)


def test_eight_processes(journal_url: str) -> None:
    n = 12
    process = child(WORK, journal_url, n)
    process.communicate(timeout=120)
    assert process.returncode == 0
    with open_journal(journal_url) as journal:
        told = Counter(tuple(x) for x in xs(journal) if x[0] != "decided")
        names = [*(f"p{p}" for p in range(8)), "shared"]
        assert told == {(name, i): 1 for name in names for i in range(n)}
        decided = {
            e.number: e.payload["x"][1]
            for e in journal.events("a")
            if e.payload["x"][0] == "decided"
        }
        assert len(decided) == 8 * n
        assert all(known == number - 1 for number, known in decided.items())  # all before it
        (chain,) = journal.check()
        assert chain.events == 17 * n


# SQLite in particular.


def test_the_settings_that_make_a_commit_durable(tmp_path: Path) -> None:
    with open_journal(tmp_path / "a.db") as journal:
        query = journal._database.query
        assert query("PRAGMA journal_mode") == [("wal",)]
        assert query("PRAGMA synchronous") == [(2,)]  # FULL
        assert query("PRAGMA foreign_keys") == [(1,)]


def test_opening_forces_what_a_killed_process_left_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commit may be in memory only; an append that finds the key would acknowledge it."""
    forced = []
    monkeypatch.setattr(
        os, "fsync", lambda file: forced.append(os.readlink(f"/proc/self/fd/{file}"))
    )
    with open_journal(tmp_path / "a.db") as journal:
        journal.append("a", tell(1))
        forced.clear()
        with open_journal(tmp_path / "a.db"):
            assert forced == [str(tmp_path / "a.db-wal")]


def test_a_writer_that_was_stopped_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with open_journal(path) as journal, open_journal(path, timeout=0.1) as other:

        def stopped(_: Execute) -> None:
            with pytest.raises(Unavailable, match=r"locked by other processes for 0.1 s"):
                other.append("a", tell(1))
            assert other.tuners() == []  # reading needs no turn

        journal._database.transact(stopped)
        other.append("a", tell(1))
        foreign = sqlite3.connect(path, isolation_level=None)  # past our own lock
        foreign.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="SQLite says: database is locked"):
            other.append("a", tell(2))
        foreign.close()
        other.append("a", tell(2))
        assert xs(journal) == [1, 2]


def test_writers_take_turns(tmp_path: Path) -> None:
    """Who has just written and wants to write again lets the one that waits go first."""
    order = []

    path = tmp_path / "a"

    def turn(work: Callable[[], None]) -> None:
        with opened(beside(path, "queue")) as queue, opened(beside(path, "lock")) as lock:
            my_turn(path, queue, lock, 10.0)
            work()

    waiter = threading.Thread(target=turn, args=(lambda: order.append("the one that waited"),))

    def first() -> None:
        waiter.start()
        time.sleep(0.2)

    turn(first)
    turn(lambda: order.append("again"))
    waiter.join()
    assert order == ["the one that waited", "again"]


def test_a_closed_journal_says_so(journal_url: str) -> None:
    journal = open_journal(journal_url)
    journal.close()
    journal.close()
    if isinstance(journal._database, SqliteDatabase):  # PostgreSQL's connects again
        with pytest.raises(Unavailable, match="open the journal again"):
            journal.append("a", tell(1))


# PostgreSQL in particular.


def backend(journal: Journal) -> int:
    return int(journal._database.query("SELECT pg_backend_pid()")[0][0])


@pytest.mark.needs("postgresql")
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_the_server_restarts(postgres: Server, postgres_url: str, mode: str) -> None:
    with open_journal(postgres_url) as journal:
        journal.append("a", tell(0, "0"))
        postgres.stop("immediate" if mode == "immediate" else "fast")
        try:
            with pytest.raises(Unavailable, match="cannot be reached"):
                journal.append("a", tell(1, "1"))
        finally:
            postgres.start()
        journal.append("a", tell(1, "1"))  # the same call works again
        assert xs(journal) == [0, 1]
        journal.check()


@pytest.mark.needs("postgresql")
@pytest.mark.parametrize("step", STEPS)
def test_the_connection_is_cut_at_a_step(postgres_url: str, step: str) -> None:
    """The server ends our session between two statements of one append."""
    armed = False

    def cut(name: str) -> None:
        if armed and name == step:
            with connect(postgres_url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))

    with open_journal(postgres_url, step=cut) as journal:
        journal.append("a", tell(0, "0"))
        pid = backend(journal)
        armed = True
        if step in ("before begin", "after commit"):
            journal.append("a", tell(1, "1"))  # nothing was under way
        else:
            with pytest.raises(
                Unavailable, match="call again: what has a key is written only once"
            ):
                journal.append("a", tell(1, "1"))
        armed = False
        journal.append("a", tell(1, "1"))
        assert xs(journal) == [0, 1]
        assert backend(journal) != pid


@pytest.mark.needs("postgresql")
def test_tables_that_somebody_makes_while_we_wait(postgres_url: str) -> None:
    opened: list[Journal] = []
    opener = threading.Thread(target=lambda: opened.append(open_journal(postgres_url)))
    with connect(postgres_url) as first:
        first.execute("SELECT pg_advisory_xact_lock(%s)", (CREATION,))
        opener.start()
        waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while first.execute(waiting).fetchone() is None:
            time.sleep(0.01)
        first.execute(SCHEMA)
    opener.join()
    assert [journal.tuners() for journal in opened] == [[]]
    opened[0].close()


@pytest.mark.needs("postgresql")
def test_a_backend_killed_hard(postgres: Server, postgres_url: str) -> None:
    """SIGKILL to a backend makes the server restart itself; everybody's connection goes."""
    armed = True

    def kill(name: str) -> None:
        nonlocal armed
        if armed and name == "before commit":
            armed = False
            os.kill(backend_pid, signal.SIGKILL)

    with open_journal(postgres_url) as journal:
        journal.append("a", tell(0, "0"))
    armed = False
    with open_journal(postgres_url, step=kill) as journal:
        backend_pid, armed = backend(journal), True
        with pytest.raises(Unavailable):
            journal.append("a", tell(1, "1"))
        for _ in range(200):
            try:
                journal.append("a", tell(1, "1"))
                break
            except Unavailable:  # still recovering
                time.sleep(0.1)
        assert xs(journal) == [0, 1]
        journal.check()


@pytest.mark.needs("postgresql")
def test_a_server_that_may_lose_data_is_refused(postgres: Server, postgres_url: str) -> None:
    def fsync(value: str) -> None:
        with connect(postgres.url, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET fsync = {value}".encode())
            connection.execute("SELECT pg_reload_conf(), pg_sleep(0.3)")

    fsync("off")
    try:
        with pytest.raises(InvalidInput, match="fsync = off, so what it acknowledges may be lost"):
            open_journal(postgres_url)
    finally:
        fsync("on")
    weak = postgres_url.replace("options=", "options=-csynchronous_commit%3Doff%20")
    with open_journal(weak) as journal:
        assert journal._database.query("SHOW synchronous_commit") == [("on",)]


@pytest.mark.needs("postgresql")
def test_another_transaction_that_hangs_is_named(postgres_url: str) -> None:
    with open_journal(postgres_url) as journal, open_journal(postgres_url, timeout=0.2) as other:
        journal.append("a", tell(1))

        def hang(_: Session) -> None:
            with pytest.raises(Unavailable, match="lock timeout"):
                other.append("a", tell(2))

        journal.decide("a", hang)
        other.append("a", tell(2))
        assert xs(journal) == [1, 2]


@pytest.mark.needs("postgresql")
def test_a_password_is_not_shown() -> None:
    with pytest.raises(Unavailable) as error:
        open_journal("postgresql://me:s3cret@127.0.0.1:1/db?password=s3cret", timeout=2)
    assert "postgresql://me@127.0.0.1:1/db cannot be reached" in str(error.value)
    assert "s3cret" not in str(error.value)


def test_without_psycopg_it_says_what_to_install() -> None:
    program = """
import sys
sys.modules["psycopg"] = None
from trimtab.errors import InvalidInput
from trimtab.live.store.opening import open_journal
try:
    open_journal("postgresql://host/db")
except InvalidInput as error:
    print(error)
"""
    out, _ = child(program).communicate()
    assert "pip install 'trimtab[postgres]'" in out


def test_damage_is_not_mistaken_for_a_passing_fault() -> None:
    assert not issubclass(Damaged, Unavailable)
    assert not issubclass(Unavailable, Damaged)
