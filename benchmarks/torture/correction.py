"""A correction in a journal of many events: how long anybody else waits meanwhile.

One process corrects a tell, and plays again what comes after it. Another one asks and tells all
the time. A third one inserts rows into a plain table of another file: its longest wait is what the
disk and the other work of the machine make of any insert in the same run.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.synchronize import Event as Signal
from pathlib import Path
from typing import Any

import trimtab as tt
from trimtab.live.replay import replay
from trimtab.live.spec.spec import Spec, example
from trimtab.live.state.projection import Projection
from trimtab.live.store.event import Draft, Event
from trimtab.live.store.journal import Journal
from trimtab.live.store.opening import open_journal

BATCH = 1000  # events written at a time
SNAPSHOT_EVERY = 10_000
FORKS = get_context("fork")
Pair = list[tuple[str, dict[str, Any]]]  # of events, by kind and payload
REPLAYED = 5000  # events: a longer journal is not replayed, which takes too long
PAUSED: Pair = [("pause", {"why": "for a moment"}), ("resume", {})]


def grown(url: str, events: int, rounds: int) -> Spec:
    """A tuner whose journal has about this number of events, the last of them `rounds` rounds.

    The others are pauses and their ends, which are quickly made.
    """
    spec = Spec.parse(example())
    with tt.Tuner(spec, storage=url) as tuner:
        decision = tuner.ask()
    at = decision.at
    with open_journal(url) as journal:
        journal.append(spec.name, Draft(kind="tell", payload=_told(spec, 2, 0), at=at))
        projection = _caught_up(journal, spec.name, None)
        while projection.number < events:
            drafts = []
            for n in range(projection.number + 1, projection.number + BATCH, 2):
                at += timedelta(seconds=1)
                pair = _round(spec, n) if n >= events - 2 * rounds else PAUSED
                drafts += [Draft(kind=kind, payload=payload, at=at) for kind, payload in pair]
            journal.append(spec.name, *drafts)
            projection = _caught_up(journal, spec.name, projection)
            if projection.number % SNAPSHOT_EVERY < BATCH:
                content = projection.content()
                journal.save_snapshot(
                    spec.name, number=projection.number, content=content, through=0
                )
    return spec


def _round(spec: Spec, n: int) -> Pair:
    """A decision that is event n, and what was told of it."""
    decided = {"client": None, "round": (n + 1) // 2, "reason": "hold", "review": 8}
    return [("decide", decided | {"since": 1, "looked": 0}), ("tell", _told(spec, n, n))]


def _told(spec: Spec, decision: int, n: int) -> dict[str, Any]:
    noise = (n * 2654435761 % 1000) / 1000.0
    metrics = {
        each.name: [each.low + (0.4 + 0.2 * noise) * (each.high - each.low), None, 1]
        for each in spec.objectives
    }
    return {"decision": decision, "metrics": metrics}


def _caught_up(journal: Journal, name: str, projection: Projection | None) -> Projection:
    after: Event | int = 0
    if projection is not None and isinstance(projection.place, Event):
        after = projection.place
    for event in journal.events(name, after=after):
        if projection is None:
            projection = Projection.begun(event)
        else:
            projection.take(event)
    assert projection is not None
    return projection


def _decides(url: str, spec: Spec, done: Signal, waits: Any) -> None:
    """Ask and tell until it is over; the longest call, and how many there were."""
    longest, calls = 0.0, 0
    values = {each.name: (each.low + each.high) / 2 for each in spec.objectives}
    with tt.Tuner(spec, storage=url) as tuner:
        tuner.ask("another")
        done.wait(0.01)
        waits.put("ready")
        while not done.is_set():
            begin = time.monotonic()
            decision = tuner.ask("another")
            between = time.monotonic()
            tuner.tell(decision.id, values)
            longest = max(longest, between - begin, time.monotonic() - between)
            calls += 2
            time.sleep(0.005)
    waits.put((longest, calls))


def _inserts(path: Path, done: Signal, waits: Any) -> None:
    """Insert rows until it is over; the longest wait, and how many there were."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE plain (id INTEGER PRIMARY KEY, payload TEXT)")
    longest, calls = 0.0, 0
    waits.put("ready")
    while not done.is_set():
        begin = time.monotonic()
        connection.execute("INSERT INTO plain (payload) VALUES (?)", ("x" * 167,))
        longest = max(longest, time.monotonic() - begin)
        calls += 1
        time.sleep(0.005)
    waits.put((longest, calls))


def campaign(folder: Path, events: int, after: int) -> Counter[str]:
    """How long others waited while a tell with this number of events after it was corrected."""
    url = str(folder / "a.db")
    begin = time.monotonic()
    spec = grown(url, events, after)
    built = time.monotonic() - begin
    with open_journal(url) as journal:
        written = journal.last(spec.name)
    done, mine, plain = FORKS.Event(), FORKS.Queue(), FORKS.Queue()
    others = [
        FORKS.Process(target=_decides, args=(url, spec, done, mine)),
        FORKS.Process(target=_inserts, args=(folder / "plain.db", done, plain)),
    ]
    for other in others:
        other.start()
    assert mine.get() == plain.get() == "ready"
    with tt.Tuner(spec, storage=url) as tuner:
        number = (events - after) // 2 * 2
        name = spec.objectives[0].name
        begin = time.monotonic()
        tuner.tell(f"{spec.name}-{number}", {name: spec.objectives[0].high}, correct=True)
        took = time.monotonic() - begin
        applied = tuner._projection.tuner_state.amended
    done.set()
    (longest, calls), (insert, inserts) = mine.get(), plain.get()
    for other in others:
        other.join()
    with open_journal(url) as journal:
        last = journal.last(spec.name)
        played = replay(journal, spec.name).differing if last <= REPLAYED else ()
        # Decisions of `grown` were written and not made: no policy would repeat them.
        differing = sum(int(id.rsplit("-", 1)[1]) > written for id in played)
    return Counter(
        {
            "events": last,
            "after the corrected tell": last - number,
            "building it, s": round(built),
            "the correction, s": round(took),
            "calls of the other meanwhile": calls,
            "its longest wait, ms": round(1000 * longest),
            "plain inserts meanwhile": inserts,
            "longest plain insert, ms": round(1000 * insert),
            "stuck": int(longest > 1.0 or not applied),
            "lost": int(calls == 0),
            "differing": differing,
        }
    )
