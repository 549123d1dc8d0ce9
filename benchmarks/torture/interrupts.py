"""Processes interrupted and killed at random instants: nothing is lost, doubled or stuck.

Four workers call every verb of a tuner. A worker says on its pipe what was acknowledged. The
campaign interrupts (SIGINT) or kills one of them, then writes to the store itself and takes the
time. In the end what was acknowledged is compared with the journal, and every tuner is replayed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

from trimtab.live.replay import replay
from trimtab.live.store.event import Draft
from trimtab.live.store.faults import Unavailable
from trimtab.live.store.opening import open_journal

WORKERS = 4
WORK = """
import json, random, signal, sys
import trimtab as tt
import trimtab.live.follower as follower
from trimtab.errors import Conflict
from trimtab.live.spec.spec import Spec, example
from trimtab.live.store.faults import Unavailable
from dataclasses import replace
follower.SNAPSHOT_EVERY = 25
url, worker, seed = sys.argv[1:4]
rng = random.Random(f"{worker} {seed}")
spec = replace(Spec.parse(example()), name=sys.argv[4])
knob = spec.knobs[0]
said = []  # what was acknowledged: ids of decisions and what was told of them

def ways(tuner):
    decision = tuner.ask(worker)
    values = {o.name: o.low + (o.high - o.low) * rng.random() for o in spec.objectives}
    yield "tell", decision.id, tuner.tell(decision.id, values), values
    middle = knob.value(rng.choice([0.25, 0.5, 0.75]))
    what = rng.randrange(30)
    if what < 2:
        name, old = next(iter(values.items()))
        tuner.tell(decision.id, {name: old + 1e-3}, correct=True)
    elif what == 3:
        tuner.attach({knob.name: middle})
    elif what == 4:
        tuner.override({knob.name: middle}); tuner.resume()
    elif what == 5:
        try:
            tuner.rollback(); tuner.rollback()
        except Conflict:
            pass
        tuner.resume()
    elif what == 6:
        columns = {k.name: [spec.values(spec.start)[k.name]] for k in spec.knobs}
        o = spec.objectives[0]
        value = (o.low + o.high) / 2 + rng.randrange(50) * 1e-6
        tuner.warm_start({**columns, "metric": [o.name], "value": [value]})

signal.signal(signal.SIGINT, signal.default_int_handler)
tuner = None
print("ready", flush=True)
while True:
    try:
        if tuner is None:
            tuner = tt.Tuner(spec, storage=url)
        for kind, id, receipt, values in ways(tuner):
            said.append([id, values])
        while said:
            line = json.dumps(said[0])
            sys.stdout.write(line + "\\n"); sys.stdout.flush(); said.pop(0)
    except KeyboardInterrupt:
        continue
    except Unavailable:
        continue
"""


class Worker:
    """A process that calls, and what it has said."""

    def __init__(self, url: str, name: str, seed: int, tuner: str) -> None:
        self.tuner = tuner
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORK, url, name, str(seed), tuner],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        out = self.process.stdout
        if out is None or out.readline() != b"ready\n":
            raise RuntimeError("a worker did not start")
        os.set_blocking(out.fileno(), False)
        self.rest = b""

    def ended(self) -> list[tuple[str, dict[str, float]]]:
        """What was acknowledged before the process is killed."""
        self.process.kill()
        self.process.wait()
        last = self.heard()
        if self.process.stdout is not None:
            self.process.stdout.close()
        return last

    def heard(self) -> list[tuple[str, dict[str, float]]]:
        """What was acknowledged since."""
        out = self.process.stdout
        data = b"" if out is None else out.read() or b""
        *lines, self.rest = (self.rest + data).split(b"\n")
        found = []
        for line in lines:
            try:
                id, values = json.loads(line)
                found.append((id, values))
            except ValueError:  # an interrupt in the middle of a line: it is said again
                continue
        return found


def campaign(
    url: str,
    seed: int,
    *,
    interrupts: int,
    kills: int,
    seconds: float = 1e9,
    server_fault: Callable[[], None] | None = None,
    faults: int = 0,
) -> Counter[str]:
    """How it ended; "lost", "doubled", "stuck" and "differing" must not be in it."""
    rng = random.Random(seed)
    ends: Counter[str] = Counter()
    told: list[tuple[str, dict[str, float]]] = []
    names = [f"t{w % 2}" for w in range(WORKERS)]  # two workers share a tuner
    workers = [Worker(url, f"w{w}", seed, names[w]) for w in range(WORKERS)]
    blows = ["interrupts"] * interrupts + ["kills"] * kills + ["server faults"] * faults
    rng.shuffle(blows)
    begin, worst = time.monotonic(), 0.0
    try:
        with open_journal(url) as journal:
            for n, blow in enumerate(blows):
                if time.monotonic() - begin > seconds:
                    break
                time.sleep(rng.random() * 0.03)
                w = rng.randrange(WORKERS)
                for worker in workers:
                    told += worker.heard()
                if blow == "server faults" and server_fault is not None:
                    server_fault()
                elif blow == "kills":
                    told += workers[w].ended()
                    workers[w] = Worker(url, f"w{w}", seed + n, names[w])
                else:
                    workers[w].process.send_signal(signal.SIGINT)
                ends[blow] += 1
                draft = Draft(kind="probe", payload={}, at=datetime.now(UTC))
                start = time.monotonic()
                while True:
                    try:
                        journal.append("probe", draft)
                        break
                    except Unavailable:
                        if blow != "server faults":
                            raise
                if blow != "server faults":
                    worst = max(worst, time.monotonic() - start)
    finally:
        for worker in workers:
            told += worker.ended()
    ends["longest wait of another writer, ms"] = round(1000 * worst)
    ends["stuck"] += worst > 1.0
    _compare(url, sorted(set(names)), told, ends)
    return ends


def _compare(
    url: str, names: list[str], told: list[tuple[str, dict[str, float]]], ends: Counter[str]
) -> None:
    """Count what was lost or doubled, and replay."""
    with open_journal(url) as journal:
        journal.check()
        seen: Counter[str] = Counter()
        for name in names:
            for event in journal.events(name):
                if event.kind == "tell" and event.payload["metrics"]:
                    seen[f"{name}-{event.payload['decision']}"] += 1
            ends["differing"] += len(replay(journal, name).differing)
            ends["events"] += journal.last(name)
    ends["acknowledged tells"] = len({id for id, _ in told})
    ends["lost"] = sum(seen[id] == 0 for id, _ in told)
    ends["doubled"] = sum(n > 1 for n in seen.values())
