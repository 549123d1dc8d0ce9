"""A process that calls every verb of a tuner until it is killed, and says what was acknowledged.

It is forked from a server that has loaded everything and rehearsed. So another one costs
milliseconds, and no import is interrupted: Python does not recover from a module loaded in part.
"""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

import trimtab as tt
from trimtab.errors import Conflict
from trimtab.live import follower
from trimtab.live.spec.spec import Spec, example
from trimtab.live.store.faults import Unavailable

FORKS = get_context("fork")
SNAPSHOT_EVERY = 25
Said = tuple[str, dict[str, float]]  # the id of a decision, and what was told of it


def calls(tuner: tt.Tuner, rng: random.Random, worker: str) -> Iterator[Said]:
    """A round of calls; gives what was acknowledged by `tell`."""
    spec = tuner.spec
    knob = spec.knobs[0]
    decision = tuner.ask(worker)
    # The same values whoever tells them: a server may still be writing what a killed worker told.
    measured = random.Random(f"{decision.id} {decision.at}")
    values = {o.name: o.low + (o.high - o.low) * measured.random() for o in spec.objectives}
    tuner.tell(decision.id, values)
    yield decision.id, values
    middle = knob.value(rng.choice([0.25, 0.5, 0.75]))
    match rng.randrange(30):
        case 0:
            name, old = next(iter(values.items()))
            tuner.tell(decision.id, {name: old + 1e-3}, correct=True)
        case 1:
            tuner.attach({knob.name: middle})
        case 2:
            tuner.override({knob.name: middle})
            tuner.resume()
        case 3:
            try:
                tuner.rollback()
                tuner.rollback()
            except Conflict:  # nowhere to go
                pass
            tuner.resume()
        case 4:
            columns: dict[str, list[Any]] = {
                name: [x] for name, x in spec.values(spec.start).items()
            }
            o = spec.objectives[0]
            value = (o.low + o.high) / 2 + rng.randrange(50) * 1e-6
            tuner.warm_start({**columns, "metric": [o.name], "value": [value]})
        case 5:
            tuner.pause("for a moment")
            tuner.resume()


def work(url: str, worker: str, seed: str, name: str, out: int) -> None:
    """Call and say, whatever interrupts it."""
    rng = random.Random(f"{worker} {seed}")
    spec = replace(Spec.parse(example()), name=name)
    said: list[Said] = []
    tuner: tt.Tuner | None = None
    armed = False  # only calls are interrupted, and only once each: not the loop around them

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    os.write(out, b"ready\n")
    while True:
        with suppress(KeyboardInterrupt):  # that comes while `Unavailable` is handled
            try:
                armed = True
                if tuner is None:
                    tuner = tt.Tuner(spec, storage=url)
                said.extend(calls(tuner, rng, worker))
                armed = False
                while said:
                    os.write(out, json.dumps(said[0]).encode() + b"\n")  # whole, or not at all
                    said.pop(0)
            except (KeyboardInterrupt, Unavailable):
                continue


def rehearse() -> None:
    """Load whatever a worker needs."""
    import trimtab.live.store.postgres_database  # noqa: F401 - is loaded

    spec = Spec.parse(example())
    with tempfile.TemporaryDirectory() as folder:
        for n in range(3):  # from the second on there is a snapshot
            with tt.Tuner(spec, storage=f"{folder}/a.db") as tuner:
                for m in range(20):
                    list(calls(tuner, random.Random(f"{n} {m}"), "rehearsal"))
                tuner.policy.snapshot()


def serve(calls: Connection) -> None:
    """Fork a worker for each call, and answer with its process id."""
    follower.SNAPSHOT_EVERY = SNAPSHOT_EVERY
    rehearse()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while (order := calls.recv()) is not None:
        pid = os.fork()
        if pid == 0:
            calls.close()
            path, *rest = order
            try:
                url, name, seed, tuner = rest
                work(url, name, seed, tuner, os.open(path, os.O_WRONLY))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        calls.send(pid)


class Nursery:
    """The server of workers; it has no connection to a store of its own."""

    def __init__(self) -> None:
        self._calls, other = FORKS.Pipe()
        self._process = FORKS.Process(target=serve, args=(other,), daemon=True)
        self._process.start()
        other.close()
        self._folder = tempfile.TemporaryDirectory()
        self._count = 0

    def worker(self, url: str, name: str, seed: str, tuner: str) -> Worker:
        """Another worker, which has begun."""
        self._count += 1
        path = f"{self._folder.name}/{self._count}"
        os.mkfifo(path)
        self._calls.send((path, url, name, seed, tuner))
        heard = os.open(path, os.O_RDONLY)
        pid = self._calls.recv()
        if os.read(heard, 6) != b"ready\n":
            raise RuntimeError("a worker did not start")
        os.set_blocking(heard, False)
        return Worker(pid, heard)

    def close(self) -> None:
        """End the server."""
        self._calls.send(None)
        self._process.join()
        self._folder.cleanup()


class Worker:
    """A process that calls, and what it has said."""

    def __init__(self, pid: int, heard: int) -> None:
        self._pid, self._heard, self._rest = pid, heard, b""

    def interrupt(self) -> None:
        """Ctrl-C."""
        if self.alive:
            os.kill(self._pid, signal.SIGINT)

    @property
    def alive(self) -> bool:
        """Whether nothing has ended it."""
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return False
        return True

    def killed(self) -> list[Said]:
        """What was acknowledged before the process is killed."""
        if self.alive:
            os.kill(self._pid, signal.SIGKILL)
        while self.alive:
            time.sleep(0.001)
        last = self.heard()
        os.close(self._heard)
        return last

    def heard(self) -> list[Said]:
        """What was acknowledged since."""
        data = b""
        try:
            while part := os.read(self._heard, 65536):
                data += part
        except BlockingIOError:
            pass
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [(id, values) for id, values in map(json.loads, lines)]
