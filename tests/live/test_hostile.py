"""Files, names and calls as an attacker, or bad luck, would make them."""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import trimtab as tt
from tests.live.tuners import Clock, play, tuner_at
from trimtab.errors import InvalidInput, TrimtabError
from trimtab.files import MAGIC
from trimtab.live import Spec
from trimtab.live.store.faults import Unavailable
from trimtab.live.store.file_lock import opened, take
from trimtab.live.store.opening import open_journal
from trimtab.live.store.session import Session
from trimtab.sweeps.store import Store


def test_a_repeated_rollback_has_one_effect(tmp_path: Path) -> None:
    clock = Clock()
    with tuner_at(tmp_path, clock) as tuner:
        play(tuner, clock, 12)
        for mix in (0.4, 0.6):
            tuner.attach({"mix": mix})
            play(tuner, clock, 3)
        tuner.rollback()
        there = None
        for _ in range(30):  # until it has arrived
            there = tuner.ask()
            clock.wait(hours=5)
            tuner.tell(there.id, {})
            if tuner.status().mode == "paused":
                break
        assert there is not None
        events = tuner.status().events
        tuner.rollback()  # whoever got no answer
        assert tuner.status().events == events
        assert tuner.ask().values == there.values


def test_a_removed_folder_takes_no_more_events(tmp_path: Path) -> None:
    clock = Clock()
    folder = tmp_path / "store"
    folder.mkdir()
    tuner = tuner_at(folder, clock)
    decision = tuner.ask()
    shutil.rmtree(folder)
    with pytest.raises(Unavailable):
        tuner.tell(decision.id, {"latency": 90.0})
    folder.mkdir()
    with pytest.raises(Unavailable, match="was removed or replaced while it was open"):
        tuner.tell(decision.id, {"latency": 90.0})
    tuner.close()


def test_a_replaced_file_takes_no_more_events(tmp_path: Path) -> None:
    clock = Clock()
    with tuner_at(tmp_path, clock) as tuner:
        decision = tuner.ask()
        shutil.copy(tmp_path / "a.db", tmp_path / "copy")
        (tmp_path / "copy").replace(tmp_path / "a.db")
        with pytest.raises(Unavailable, match="was removed or replaced while it was open"):
            tuner.tell(decision.id, {"latency": 90.0})


@pytest.mark.parametrize("part", ["wal", "shm"])
def test_without_its_log_a_store_takes_no_more_events(tmp_path: Path, part: str) -> None:
    """Nobody else would ever see them."""
    with tuner_at(tmp_path, Clock()) as tuner:
        decision = tuner.ask()
        (tmp_path / f"a.db-{part}").unlink()
        with pytest.raises(Unavailable, match=f"a.db-{part} was removed or replaced while"):
            tuner.tell(decision.id, {"latency": 90.0})
    with tuner_at(tmp_path, Clock()) as tuner:
        assert tuner.ask() == decision
        tuner.tell(decision.id, {"latency": 90.0})


@pytest.mark.parametrize("part", ["lock", "queue"])
def test_a_pipe_is_no_lock(tmp_path: Path, part: str) -> None:
    os.mkfifo(tmp_path / f"a.db-{part}")
    with pytest.raises(Unavailable, match=f"a.db-{part} is not a file"):
        tuner_at(tmp_path, Clock())


@pytest.mark.parametrize("name", ["a\0b.db", "a" * 300, "a\udcff\ud800.db"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name of a file"):
        open_journal(f"{tmp_path}/{name}")


def test_a_tuner_needs_few_descriptors_and_leaks_none(tmp_path: Path) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    clock = Clock()
    tuner_at(tmp_path, clock).close()
    before = count()
    tuners = [tuner_at(tmp_path, clock) for _ in range(10)]
    for tuner in tuners:
        tuner.ask()
    assert count() - before <= 3 * 10
    del tuner, tuners  # not closed
    gc.collect()
    assert count() - before <= 1


def test_a_fork_while_a_thread_is_in_a_call_raises_at_once(tmp_path: Path) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def step(name: str) -> None:
        if name == "received" and armed:
            inside.set()
            go_on.wait(20)

    armed = False
    with tuner_at(tmp_path, Clock(), step=step) as tuner:
        decision = tuner.ask()
        armed = True
        thread = threading.Thread(target=tuner.tell, args=(decision.id, {"latency": 90.0}))
        thread.start()
        inside.wait()

        def child(answers: multiprocessing.SimpleQueue[str]) -> None:
            try:
                tuner.ask()
            except InvalidInput as error:
                answers.put(str(error))

        answers: multiprocessing.SimpleQueue[str] = multiprocessing.SimpleQueue()
        process = multiprocessing.get_context("fork").Process(target=child, args=(answers,))
        begin = time.monotonic()
        process.start()
        process.join(15)
        assert process.exitcode == 0
        assert time.monotonic() - begin < 15
        assert "open the journal after the fork" in answers.get()
        go_on.set()
        thread.join()
        assert tuner.status().tells == 1


def forked(child: Callable[[], None]) -> int:
    """The process that does this, and ends well if it raises nothing."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            child()
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def test_a_child_keeps_no_lock_whose_file_was_open_when_it_was_forked(tmp_path: Path) -> None:
    """The parent takes it later, and the child shares the open file."""
    end, over = os.pipe()

    def child() -> None:
        os.close(over)
        os.read(end, 1)

    with opened(tmp_path / "lock") as file:
        pid = forked(child)
        assert take(file, 0.0)
    with opened(tmp_path / "lock") as file:
        assert take(file, time.monotonic() + 10.0)
    os.close(over)
    os.close(end)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_fork_waits_until_nobody_is_inside_a_call(tmp_path: Path) -> None:
    """What another thread holds inside SQLite would be held in the child for ever."""
    inside, ended = threading.Event(), threading.Event()
    with open_journal(tmp_path / "a.db") as journal:

        def work(session: Session) -> None:
            inside.set()
            time.sleep(0.2)
            ended.set()

        thread = threading.Thread(target=journal.decide, args=("shop", work))
        thread.start()
        inside.wait()
        pid = forked(lambda: open_journal(tmp_path / "a.db").close())
        assert ended.is_set()
        thread.join()
    assert os.waitpid(pid, 0)[1] == 0


def test_a_forged_snapshot_is_one_kind_of_error(tmp_path: Path) -> None:
    problem = tt.Problem(tt.Graph.complete(3))
    policy = tt.LazyGraphLinUCB(problem, start=[0.5] * 3, radius=0.5)
    policy.tell(np.zeros(3))
    file = tmp_path / "p.trimtab"
    tt.save(policy, file)
    body = file.read_bytes().split(b"\n", 2)[2]
    rng, refused = random.Random(4), 0
    for _ in range(150):
        forged = bytearray(body)
        for _ in range(rng.choice([1, 1, 2, 8])):
            forged[rng.randrange(len(forged))] ^= 1 << rng.randrange(8)
        digest = hashlib.sha256(forged).hexdigest().encode()
        file.write_bytes(MAGIC + digest + b"\n" + forged)
        try:
            tt.load(problem, file)
        except InvalidInput:
            refused += 1
    assert refused > 75


def test_a_long_dotted_name_is_refused_at_once() -> None:
    begin = time.process_time()
    with pytest.raises(InvalidInput, match="line 2 has more than 500 dots"):
        Spec.parse("name = 'x'\n" + "a." * 20_000 + "b = 1\n")
    assert time.process_time() - begin < 1.0


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\u202eb", "a\nb", "a\x00b", "\u200bhidden"])
def test_names_that_change_a_terminal_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TrimtabError) as refused:
        Spec.parse(f"name = {name!r}\n")
    assert str(refused.value).isprintable() or "\n" in str(refused.value)
    assert "\x1b" not in str(refused.value)
    with open_journal(tmp_path / "a.db") as journal, pytest.raises(InvalidInput):
        journal.decide(name, lambda session: None)


def test_a_foreign_database_is_not_changed_by_a_sweep(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (name)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="no sweep's"):
        Store(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["other.db"]
