"""A process that calls every verb of a tuner until it is killed, and says what was acknowledged.

It is forked from a server that has loaded everything, so that another one costs milliseconds.
"""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import trimtab as tt
from trimtab.errors import Conflict
from trimtab.live import follower
from trimtab.live.spec.spec import Spec, example
from trimtab.live.store.faults import Unavailable

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["benchmarks.torture.worker", "trimtab.policies"])
SNAPSHOT_EVERY = 25
Said = tuple[str, dict[str, float]]  # the id of a decision, and what was told of it


def calls(tuner: tt.Tuner, rng: random.Random, worker: str) -> Iterator[Said]:
    """A round of calls; gives what was acknowledged by `tell`."""
    spec = tuner.spec
    knob = spec.knobs[0]
    decision = tuner.ask(worker)
    values = {o.name: o.low + (o.high - o.low) * rng.random() for o in spec.objectives}
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


def work(url: str, worker: str, seed: str, name: str, out: Connection) -> None:
    """Call and say, whatever interrupts it."""
    follower.SNAPSHOT_EVERY = SNAPSHOT_EVERY
    rng = random.Random(f"{worker} {seed}")
    spec = replace(Spec.parse(example()), name=name)
    said: list[Said] = []
    tuner: tt.Tuner | None = None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.write(out.fileno(), b"ready\n")
    while True:
        try:
            if tuner is None:
                tuner = tt.Tuner(spec, storage=url)
            said.extend(calls(tuner, rng, worker))
            while said:
                os.write(out.fileno(), json.dumps(said[0]).encode() + b"\n")  # whole, or not at all
                said.pop(0)
        except (KeyboardInterrupt, Unavailable):
            continue


class Worker:
    """Such a process, and what it has said."""

    def __init__(self, url: str, worker: str, seed: str, tuner: str) -> None:
        self._heard, out = FORKS.Pipe(duplex=False)
        self._process = FORKS.Process(target=work, args=(url, worker, seed, tuner, out))
        self._process.start()
        out.close()
        if os.read(self._heard.fileno(), 6) != b"ready\n":
            raise RuntimeError("a worker did not start")
        os.set_blocking(self._heard.fileno(), False)
        self._rest = b""

    def interrupt(self) -> None:
        """Ctrl-C."""
        if self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, signal.SIGINT)

    @property
    def alive(self) -> bool:
        """Whether nothing has ended it."""
        return self._process.is_alive()

    def killed(self) -> list[Said]:
        """What was acknowledged before the process is killed."""
        self._process.kill()
        self._process.join()
        last = self.heard()
        self._heard.close()
        return last

    def heard(self) -> list[Said]:
        """What was acknowledged since."""
        data = b""
        try:
            while part := os.read(self._heard.fileno(), 65536):
                data += part
        except BlockingIOError:
            pass
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [(id, values) for id, values in map(json.loads, lines)]
