"""Sweeps in several processes: the same numbers, whoever dies."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.sweeps.test_sweep import RING, every_policy
from trimtab.policies import Policy
from trimtab.sim.worlds import World
from trimtab.sweeps import Results, sweep
from trimtab.sweeps.local import Batch, on_this_machine
from trimtab.sweeps.run import SweepRun

PATIENCE = 120.0  # seconds to wait for another process, on a machine that has others to do

MANY = 300  # runs of the sweep that is disturbed
SWEEP: dict[str, Any] = {
    "policies": {
        "stay": {"kind": "FixedState", "start": {"each": [0.2, 0.5, 0.8]}},
        "guess": {"kind": "RandomState", "start": 0.5},
        "lazy": {"kind": "LazyGraphLinUCB", "start": 0.5, "radius": 0.5},
    },
    "worlds": {
        "path": {"kind": "linear", "graph": {"kind": "path", "knobs": 2}},
        "dot": {"kind": "linear", "graph": {"kind": "path", "knobs": 1}, "intercept": True},
    },
    "seeds": MANY // 10,
    "horizon": 4,
}
UNFINISHED = """
import json, sys, time
from trimtab.sweeps import sweep
from trimtab.sweeps.store import Store

add = Store.add

def until_enough(self, *arguments):
    add(self, *arguments)
    while len(self.done()) >= int(sys.argv[2]):  # it is killed before it is done
        time.sleep(1.0)

Store.add = until_enough
sweep(**json.loads(sys.argv[1]))
"""
COMMAND = """
import typer
from trimtab.cli.sweep import sweep
app = typer.Typer()
app.command()(sweep)
app()
"""


INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process in a session of its own, so that it can be interrupted like a job."""
    return subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE + program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def stored(path: Path) -> dict[str, float]:
    """The runs of a store that went well, with the seconds they took."""
    if not path.exists():
        return {}
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE)
    try:
        rows = db.execute("SELECT digest, cpu_seconds FROM runs WHERE error = ''").fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):  # killed before there was one
            return {}
        raise
    finally:
        db.close()
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def wait_until(true: Any, child: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE
    while not true():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)


def running(pid: int) -> bool:
    """Whether the process lives; one that nobody has buried yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return not state.startswith(("Z", "X"))


def children(pid: int) -> list[int]:
    return [int(x) for x in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@cache
def undisturbed() -> Results:
    """The thousand runs, one after the other."""
    return sweep(**SWEEP, workers=1)


def test_a_sweep_killed_five_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(undisturbed()) == MANY
    path, rng = tmp_path / "killed.sqlite", np.random.default_rng(10)
    goals = [
        0,
        *np.sort(rng.integers(1, MANY - 50, 4)).tolist(),
    ]  # the first kill is before any run
    kept: dict[str, float] = {}
    for n, goal in enumerate(goals):
        settings = {**SWEEP, "store": str(path), "workers": 1 + (n % 3 == 0)}
        child = start(UNFINISHED, json.dumps(settings), str(goal + 25))
        with child:
            wait_until(lambda goal=goal: len(stored(path)) >= goal, child)
            time.sleep(rng.uniform(0.0, 0.05))
            child.kill()
            child.communicate()
        assert child.returncode == -signal.SIGKILL
        after = stored(path)
        assert after.items() >= kept.items()  # nothing lost, nothing made again
        kept = after
    assert goals[-1] <= len(kept) < MANY
    made: list[int] = []

    def counted(runs: Sequence[SweepRun], workers: int) -> Iterator[Batch]:
        made.append(len(runs))
        return on_this_machine(runs, workers)

    monkeypatch.setattr("trimtab.sweeps.conduct.on_this_machine", counted)
    resumed = sweep(**SWEEP, store=path, workers=2)
    assert made == [MANY - len(kept)]
    assert stored(path).items() >= kept.items()
    assert len(stored(path)) == MANY
    assert resumed.same_numbers(undisturbed())


def test_the_same_bits_in_many_processes() -> None:
    options: dict[str, Any] = {"seeds": 2, "horizon": 25, "final_states": True}
    alone = sweep(every_policy(), {"ring": RING}, workers=1, **options)
    assert len(alone) == 2 * len(every_policy())
    assert sweep(every_policy(), {"ring": RING}, workers=2, **options).same_numbers(alone)


SLEEP = 60.0
SLEEPERS = """
from tests.sweeps.test_sweep_local import RING, sleeps
from trimtab.sweeps import sweep
sweep({"x": sleeps}, {"ring": RING}, seeds=2, horizon=5, workers=2)
"""


def sleeps(world: World, seed: int) -> Policy:
    _visits()
    time.sleep(SLEEP)
    return tt.FixedState(world.problem, start=[0.5] * 3)


def test_workers_die_with_the_process_that_started_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISITS", str(tmp_path / "visits"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    child = start(SLEEPERS)
    with child:
        wait_until((tmp_path / "visits").exists, child)  # one is in a run, the other is ready
        family = children(child.pid)
        assert len(family) >= 2
        assert all(map(running, family))
        child.kill()
    until = time.monotonic() + SLEEP / 2
    while any(map(running, family)):
        assert time.monotonic() < until
        time.sleep(0.05)


SPEC = """
seeds = 100
horizon = 1000
[worlds.path]
kind = "linear"
graph = { kind = "path", knobs = 2 }
[policies.guess]
kind = "RandomState"
start = 0.5
"""


def test_an_interrupted_command_says_how_to_go_on(tmp_path: Path) -> None:
    spec, path = tmp_path / "x.toml", tmp_path / "x.sqlite"
    spec.write_text(SPEC, encoding="utf-8")
    child = start(COMMAND, str(spec), "--workers", "2")
    with child:
        wait_until(lambda: len(stored(path)) >= 2, child)
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to the workers too
        out, err = child.communicate()
    assert child.returncode == 130
    count = len(stored(path))
    assert 2 <= count < 100
    told = f"trimtab: interrupted: {count} of 100 runs are in {path}; the same call goes on"
    assert err == f"{told} from there\n"
    assert out == ""


def test_an_interrupt_without_a_store_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(world: World, seed: int) -> Policy:
        raise KeyboardInterrupt

    monkeypatch.setattr("tests.sweeps.test_sweep.a_policy", interrupt)
    monkeypatch.setattr(interrupt, "__module__", "tests.sweeps.test_sweep")
    monkeypatch.setattr(interrupt, "__qualname__", "a_policy")
    with pytest.raises(KeyboardInterrupt, match=r"after 0 of 1 runs, which are lost"):
        sweep({"x": interrupt}, {"ring": RING}, seeds=1, horizon=3, workers=1)


# Workers that die.


def _visits() -> int:
    """How often this was called, in whatever process."""
    with Path(os.environ["VISITS"]).open("ab+") as file:
        file.write(b".")
        file.flush()
        return file.tell()


def dies_twice(world: World, seed: int) -> Policy:
    if _visits() <= 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return tt.FixedState(world.problem, start=[0.5] * 3)


def always_dies(world: World, seed: int) -> Policy:
    os._exit(3)


def test_a_worker_that_dies_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISITS", str(tmp_path / "visits"))
    stay = {"kind": "FixedState", "start": 0.5}
    options: dict[str, Any] = {"seeds": 1, "horizon": 5}
    policies: dict[str, Any] = {"stay": stay, "twice": dies_twice, "always": always_dies}
    results = sweep(policies, {"ring": RING}, workers=2, **options)
    (failure,) = results.failures
    assert failure.policy == "always"
    assert failure.error.endswith("made this run: exit code 3, 3 times")
    assert results["policy"].tolist() == ["stay", "twice"]
    assert (tmp_path / "visits").read_bytes() == b"..."
    assert results["regret"][0] == results["regret"][1]


def test_a_script_without_a_guard_is_told_of_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    settings = {**SWEEP, "workers": 2}
    script.write_text(
        f"from trimtab.sweeps import sweep\nsweep(**{settings!r})\n", encoding="utf-8"
    )
    child = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert child.returncode == 1
    last = child.stderr.splitlines()[-1]
    assert "a worker process could not start: exit code 1" in last
    assert 'if __name__ == "__main__"' in last
