"""Processes, servers and files that die under a tuner: nothing acknowledged is lost or doubled.

The next decision is always that of the undisturbed run, bit for bit.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import trimtab as tt
from tests.live.store.journals import child
from tests.live.store.test_journal_cuts import LOCK, SHM, WAL, change, files, folder  # noqa: F401 - a fixture
from tests.live.tuners import Clock, spec_with, tuner_at
from tests.postgres import Server, connect
from trimtab.live.follower import STEPS
from trimtab.live.replay import replay
from trimtab.live.store.database import STEPS as JOURNAL_STEPS
from trimtab.live.store.faults import Damaged, Unavailable
from trimtab.live.store.opening import open_journal

# A run whose every call is a function of the round alone, so that it can go on anywhere.
RUN = """
import json, os, signal, sys
from datetime import timedelta
import numpy as np
import trimtab as tt
import trimtab.live.follower as module
from tests.live.tuners import Clock, T0, spec_with, world
module.SNAPSHOT_EVERY = 8
url, rounds = sys.argv[1], int(sys.argv[2])

def run(name, step=lambda at: None):
    clock = Clock()
    tuner = tt.Tuner(spec_with(name=name), storage=url, clock=clock, step=step, timeout=120.0)
    ids = [f"{name}-{e.number}" for e in tuner._journal.events(name) if e.kind == "decide"]
    for i in range(max(len(ids) - 1, 0), rounds):  # the last one again: was all of it answered?
        clock.now = T0 + timedelta(minutes=20 * i)
        again = tuner.explain(ids[i]) if i < len(ids) else None
        decision = again.decision if again else tuner.ask()
        told = world(decision.values, np.random.default_rng(i))
        if not (again and "load" in again.told):
            tuner.tell(decision.id, {"latency": told["latency"]})
            tuner.tell(decision.id, told)  # the first part again, and the rest
        print(json.dumps([name, decision.id]), flush=True)  # acknowledged
        if i % 3 == 2:
            tuner.tell(decision.id, {"latency": told["latency"] + 1}, correct=True)
    clock.now = T0 + timedelta(days=9)
    return tuner
"""

KILL = (
    RUN
    + """
from trimtab.live.store.database import STEPS as JOURNAL_STEPS
run("warm").close()  # compiled, and the tables are made
for fatal in (*JOURNAL_STEPS, *module.STEPS):
    for left in map(int, sys.argv[3:]):
        name = f"{fatal.replace(' ', '_')}.{left}"
        if os.fork() == 0:
            def step(at):
                global left
                left -= at == fatal
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            run(name, step)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.wait()[1])
        print(json.dumps([name, status]), flush=True)
"""
)

FINISH = (
    RUN
    + """
for name in sys.argv[3:]:
    tuner = run(name)
    decision = tuner.ask()
    plain = decision.to_dict()
    del plain["id"]
    print(json.dumps(["next", name, plain]))
    tuner.close()
"""
)


def lines(process: Any) -> list[Any]:
    out, _ = process.communicate(timeout=900)
    assert process.returncode == 0
    return [json.loads(line) for line in out.splitlines()]


def contents(url: str, name: str) -> list[Any]:
    """What the journal says of a tuner, times aside; ids by rounds."""
    with open_journal(url) as journal:
        events = list(journal.events(name))
    return [(event.kind, event.text) for event in events if event.kind != "begin"]


def test_killed_at_every_step(journal_url: str) -> None:
    """Between any incoming call and its answer; whoever was not answered calls again."""
    rounds = 7
    at = (3,) if journal_url.startswith("postgres") else (3, 11)  # tells, and a correction
    heard = lines(child(KILL, journal_url, rounds, *at))
    killed = [name for name, what in heard if what == -9]
    most = len(at) * (len(JOURNAL_STEPS) + len(STEPS))
    assert most - 4 <= len(killed) <= most  # snapshots are rarer than calls
    assert {name.partition(".")[0] for name in killed} >= {
        step.replace(" ", "_") for step in (*JOURNAL_STEPS, *STEPS[:3])
    }
    acknowledged = Counter(name for name, what in heard if isinstance(what, str))
    for name in killed:
        with open_journal(journal_url) as journal:
            told = [e for e in journal.events(name) if e.kind == "tell"]
        assert 0 <= len(told) - 2 * acknowledged[name] <= 2
    answers = lines(child(FINISH, journal_url, rounds, "warm", *killed))
    nexts = {each[1]: each[2] for each in answers if each[0] == "next"}
    undisturbed = contents(journal_url, "warm")
    assert sum('"state"' in text for kind, text in undisturbed if kind == "decide") >= 2  # moves
    for name in killed:
        assert nexts[name] == nexts["warm"]
        assert contents(journal_url, name) == undisturbed
    with open_journal(journal_url) as journal:
        for name in (killed[0], killed[-1]):
            assert replay(journal, name).same


# SQLite's files.


def small(path: Path) -> None:
    """Small pages, so that every byte can be tried."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA page_size = 512")
    connection.execute("VACUUM")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


TOLD = {"latency": 90.0, "sales": 6.0, "errors": 1.0, "load": 1.0}


def test_files_cut_at_every_byte_after_the_last_acknowledgement(
    folder: Path,  # noqa: F811
) -> None:
    spec, clock = spec_with(constraints=[]), Clock()
    path = folder / "a.db"
    with tuner_at(folder, clock, spec) as tuner:
        for _ in range(3):
            tuner.tell(tuner.ask().id, TOLD)
    small(path)
    caught: list[dict[str, bytes]] = []

    def catch(name: str) -> None:
        if armed and name == "after commit":
            caught.append(files(path))

    armed = False
    with tuner_at(folder, clock, spec, step=catch) as tuner:
        first = tuner.ask()
        before = files(path)
        armed = True
        tuner.tell(first.id, TOLD)
        armed = False
        expected = tuner.ask()
    after = caught[0]
    new = change(before[WAL], after[WAL])
    assert len(new) > 1000
    place = folder / "again"
    for cut in range(new.start, new.stop + 1):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        content = {**after, WAL: after[WAL][:cut]}
        del content[SHM]
        if cut % 3 == 1:
            content[WAL] += bytes(len(after[WAL]) - cut)
        for name, data in content.items():
            (place / name).write_bytes(data)
        whole = content[WAL] == after[WAL]  # a page may end with zeros
        if cut % 53 and cut != new.stop:  # what is intact decides the rest: see below
            with open_journal(place / "a.db") as journal:
                assert journal.last("shop") == 8 + whole
            continue
        with tuner_at(place, clock, spec) as again:
            assert again.status().tells == 3 + whole
            assert again.tell(first.id, TOLD).repeated == whole
            assert again.ask() == expected
    # An earlier cut is detected, and named.
    for cut in range(0, new.start, 211):
        shutil.rmtree(place)
        place.mkdir()
        for name in ("a.db", LOCK):
            (place / name).write_bytes(before[name])
        (place / WAL).write_bytes(before[WAL][:cut])
        with pytest.raises(Damaged, match=r"event 8 of tuner 'shop' was acknowledged and is not"):
            tuner_at(place, clock, spec)


# PostgreSQL.


@pytest.mark.needs("postgresql")
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_the_server_restarts_in_the_middle(
    postgres: Server, postgres_url: str, tmp_path: Path, mode: Any
) -> None:
    made: dict[str, list[Any]] = {}
    for storage in (str(tmp_path / "a.db"), postgres_url):
        clock = Clock()
        with tt.Tuner(spec_with(), storage=storage, clock=clock) as tuner:
            decisions = []
            for i in range(12):
                if i in (4, 9) and storage == postgres_url:
                    postgres.stop(mode)
                    try:
                        with pytest.raises(Unavailable):
                            tuner.ask()
                    finally:
                        postgres.start()
                decision = tuner.ask()
                decisions.append(decision)
                clock.wait(hours=1)
                if i in (5, 8) and storage == postgres_url:
                    postgres.stop(mode)
                    try:
                        with pytest.raises(Unavailable):
                            tuner.tell(decision.id, TOLD | {"latency": 90.0 + i})
                    finally:
                        postgres.start()
                tuner.tell(decision.id, TOLD | {"latency": 90.0 + i})
            made[storage] = decisions
    one, other = made.values()
    assert one == other
    assert any(decision.changed for decision in one)


@pytest.mark.needs("postgresql")
@pytest.mark.parametrize("step", JOURNAL_STEPS)
def test_the_connection_is_cut_at_a_step(postgres_url: str, step: str) -> None:
    clock, armed = Clock(), False

    def cut(name: str) -> None:
        if armed and name == step:
            with connect(postgres_url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", (backend,))

    with tt.Tuner(spec_with(), storage=postgres_url, clock=clock, step=cut) as tuner:
        decision = tuner.ask()
        backend = tuner._journal._database.query("SELECT pg_backend_pid()")[0][0]
        armed = True
        try:
            tuner.tell(decision.id, TOLD)
        except Unavailable:
            assert step not in ("before begin", "after commit")
        armed = False
        tuner.tell(decision.id, TOLD)
        assert (tuner.status().tells, tuner.status().events) == (1, 3)
        assert tuner.ask().round == 2


# Many processes on one store.

WORK = """
import json, os, sys
import numpy as np
import trimtab as tt
from tests.live.tuners import spec_with, world
url, n = sys.argv[1], int(sys.argv[2])
def work(name):
    tuner = tt.Tuner(spec_with(), storage=url)
    for i in range(n):
        decision = tuner.ask(name)
        told = world(decision.values, np.random.default_rng((i, int(name))))
        tuner.tell(decision.id, told)
        tuner.tell(decision.id, told)
        os.write(1, (json.dumps([name, decision.id, told["latency"]]) + "\\n").encode())
for p in range(8):
    if os.fork() == 0:
        work(str(p))
        os._exit(0)
for p in range(8):
    assert os.wait()[1] == 0
"""


def test_eight_processes(journal_url: str) -> None:
    n = 4
    heard = lines(child(WORK, journal_url, n))
    assert len(heard) == 8 * n
    assert len({id for _, id, _ in heard}) == 8 * n  # nobody shared a decision
    with open_journal(journal_url) as journal:
        events = list(journal.events("shop"))
        tells = {
            e.payload["decision"]: e.payload["metrics"]["latency"][0]
            for e in events
            if e.kind == "tell"
        }
        assert len([e for e in events if e.kind == "tell"]) == 8 * n  # none lost, none doubled
        assert tells == {int(id.split("-")[1]): latency for _, id, latency in heard}
        assert len(events) == 1 + 16 * n
        played = replay(journal, "shop")  # each decision knew all events before it
        assert (played.decisions, played.same) == (8 * n, True)
