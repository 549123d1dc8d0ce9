"""Processes interrupted and killed at random instants: nothing is lost, doubled or stuck.

Four workers call every verb of two tuners. The campaign interrupts (SIGINT) or kills one of them,
then writes to the store itself and takes the time. In the end what was acknowledged is compared
with the journal, and every tuner is replayed. A campaign is played in pieces, each with a
store and a seed of its own, because a replay of many corrections takes the square of their number.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

from benchmarks.torture.worker import Nursery, Said
from trimtab.live.replay import replay
from trimtab.live.store.event import Draft
from trimtab.live.store.faults import Unavailable
from trimtab.live.store.opening import open_journal

WORKERS = 4
LONGEST = "longest wait of another writer, ms"


def campaign(
    url: str,
    seed: str,
    *,
    interrupts: int,
    kills: int,
    server_fault: Callable[[], None] | None = None,
    faults: int = 0,
) -> Counter[str]:
    """How a piece ended; "lost", "doubled", "stuck", "dead" and "differing" must not be in it."""
    rng = random.Random(seed)
    ends: Counter[str] = Counter()
    told: list[Said] = []
    names = [f"t{w % 2}" for w in range(WORKERS)]  # two workers share a tuner
    nursery = Nursery()
    workers = [nursery.worker(url, f"w{w}", seed, names[w]) for w in range(WORKERS)]
    blows = ["interrupts"] * interrupts + ["kills"] * kills + ["server faults"] * faults
    rng.shuffle(blows)
    worst = 0.0
    try:
        with open_journal(url) as journal:
            for n, blow in enumerate(blows):
                time.sleep(rng.random() * 0.03)
                w = rng.randrange(WORKERS)
                for worker in workers:
                    told += worker.heard()
                ends["dead"] += not workers[w].alive
                if blow == "server faults" and server_fault is not None:
                    server_fault()
                elif blow == "kills":
                    told += workers[w].killed()
                    workers[w] = nursery.worker(url, f"w{w}", f"{seed} {n}", names[w])
                else:
                    workers[w].interrupt()
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
            told += worker.killed()
        nursery.close()
    ends[LONGEST] = round(1000 * worst)
    ends["stuck"] += worst > 1.0
    _compare(url, sorted(set(names)), told, ends)
    return ends


def _compare(url: str, names: list[str], told: list[Said], ends: Counter[str]) -> None:
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
