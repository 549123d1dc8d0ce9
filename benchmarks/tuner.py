"""The tuner: how long ask and tell take, what eight processes make of one store, and memory.

A round is one `ask` and one `tell` of four metrics, each acknowledged before the next call; the
spec is the small one of the tests (3 knobs, 2 objectives, 2 constraints, every limit in use).

    python benchmarks/tuner.py                                  everything, small
    python benchmarks/tuner.py eight --tells 100000 --folder /dev/shm
    python benchmarks/tuner.py memory --tells 1000000 --folder /dev/shm

A folder in memory leaves out the disk, whose forced write takes milliseconds for each call.
"""

from __future__ import annotations

import argparse
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import trimtab as tt
from tests.live.tuners import spec_with, world
from tests.postgres import Server
from trimtab.live.replay import replay
from trimtab.live.store.opening import open_journal

SPEC = spec_with()
PROCESSES = 8
QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "most": 1.0}
Times = tuple[list[float], list[float]]


def rounds(url: str, client: str, seed: int, n: int) -> Times:
    """The seconds of n asks and of n tells, by one client."""
    asks, tells = [], []
    with tt.Tuner(SPEC, storage=url, timeout=3600.0) as tuner:  # the machine may be suspended
        for i in range(n):
            begin = time.perf_counter()
            decision = tuner.ask(client)
            asks.append(time.perf_counter() - begin)
            told = world(decision.values, np.random.default_rng((seed, i)))
            begin = time.perf_counter()
            tuner.tell(decision.id, told)
            tells.append(time.perf_counter() - begin)
    return asks, tells


def row(name: str, times: list[float], pace: float | None = None) -> None:
    """One line of the table of times."""
    rate = f"{pace:>10,.0f}" if pace else f"{'':>10}"
    cells = "".join(f"{1000 * np.quantile(times, q):>10.2f}" for q in QUANTILES.values())
    print(f"{name:<32}{rate}{cells}", flush=True)


def alone(name: str, url: str, n: int) -> None:
    """One process."""
    rounds(url, "first", 0, 20)  # compiled
    asks, tells = rounds(url, "alone", 1, n)
    row(f"{name}, 1 process, ask", asks, n / (sum(asks) + sum(tells)))
    row(f"{name}, 1 process, tell", tells)


def eight(name: str, url: str, n: int) -> None:
    """Eight processes on one store: none lost, none doubled, every decision a sound one."""
    each = n // PROCESSES
    tt.Tuner(SPEC, storage=url).close()
    with get_context("spawn").Pool(PROCESSES) as pool:
        pool.starmap(rounds, [(url, f"w{p}", 0, 1) for p in range(PROCESSES)])  # imports
        work = [(url, f"p{p}", 1 + p, each) for p in range(PROCESSES)]
        begin = time.perf_counter()
        parts = pool.starmap(rounds, work, chunksize=1)
        seconds = time.perf_counter() - begin
    pace = PROCESSES * each / seconds
    row(f"{name}, {PROCESSES} processes, ask", [x for asks, _ in parts for x in asks], pace)
    row(f"{name}, {PROCESSES} processes, tell", [x for _, tells in parts for x in tells])
    with open_journal(url, read_only=True) as journal:
        kinds: Counter[str] = Counter()
        told: set[int] = set()
        for event in journal.events(SPEC.name):
            kinds[event.kind] += 1
            if event.kind == "tell":
                told.add(event.payload["decision"])
        acknowledged = PROCESSES * (each + 1)
        print(
            f"  {acknowledged:,} tells were acknowledged; the journal has {kinds['tell']:,}, of "
            f"{len(told):,} different decisions, of {kinds['decide']:,}"
        )
        assert kinds["tell"] == kinds["decide"] == len(told) == acknowledged
        begin = time.perf_counter()
        played = replay(journal, SPEC.name)
        print(
            f"  replayed in {time.perf_counter() - begin:.1f} s: {played.decisions:,} decisions, "
            f"each the same when made from the events before it: {played.same}",
            flush=True,
        )


def memory(url: str, n: int, stored: Callable[[], int]) -> None:
    """Resident memory and bytes of the store as tells come in, by one process.

    Each metric is told by itself, so that there are four tells of every decision.
    """
    now = datetime(2026, 1, 1, tzinfo=UTC)
    marks = {n // 100, *(n * tenth // 10 for tenth in range(1, 11))}
    page = os.sysconf("SC_PAGE_SIZE")
    tells = 0
    with tt.Tuner(SPEC, storage=url, clock=lambda: now) as tuner:
        busy = time.process_time()
        while tells < n:
            now += timedelta(minutes=30)
            decision = tuner.ask()
            told = world(decision.values, np.random.default_rng(tells))
            for name, value in told.items():
                tuner.tell(decision.id, {name: value})
                tells += 1
            if marks & set(range(tells - len(told) + 1, tells + 1)):
                resident = int(Path("/proc/self/statm").read_text().split()[1]) * page
                print(
                    f"  after {tells:>9,} tells: {resident / 2**20:7.1f} MiB resident, "
                    f"{stored() / tells:6.0f} bytes a tell in the store, decisions included; "
                    f"{1e6 * (time.process_time() - busy) / tells:6.0f} us of CPU a tell",
                    flush=True,
                )
    begin = time.perf_counter()
    tt.Tuner(SPEC, storage=url).close()
    print(f"  opening it again: {time.perf_counter() - begin:.2f} s")


def on_disk(url: str) -> int:
    """The bytes of a SQLite journal, its log included."""
    path = Path(url)
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))


def on_server(url: str) -> int:
    """The bytes of a PostgreSQL journal, indexes included."""
    with open_journal(url) as journal:
        tables = "('trimtab_events'), ('trimtab_snapshots')"
        sql = f"SELECT sum(pg_total_relation_size(name)) FROM (VALUES {tables}) AS t (name)"
        return int(journal._database.query(sql)[0][0])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("alone", "eight", "memory")
    parser.add_argument("part", nargs="?", choices=parts, help="one part; all by default")
    parser.add_argument("--tells", type=int, help="300, 480 and 2,000 by default")
    parser.add_argument("--folder", help="for SQLite; a temporary one by default")
    parser.add_argument("--database", choices=("sqlite", "postgres"), help="both by default")
    given = parser.parse_args()
    print(
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}; "
        f"{given.folder or tempfile.gettempdir()}"
    )
    print("milliseconds of one call, acknowledged\n")
    print(f"{'':<32}{'rounds/s':>10}" + "".join(f"{name:>10}" for name in QUANTILES))
    with ExitStack() as stack:
        if given.database != "postgres":
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=given.folder)))
            measure("SQLite", lambda part: f"{folder}/{part}.db", on_disk, given)
        if given.database != "sqlite":
            server = Server()
            stack.callback(server.remove)
            server.start()
            measure("PostgreSQL", lambda part: server.fresh_url(), on_server, given)


def measure(
    name: str, url: Callable[[str], str], stored: Callable[[str], int], given: argparse.Namespace
) -> None:
    """The parts that are wanted, with one database."""
    if given.part in (None, "alone"):
        alone(name, url("alone"), given.tells or 300)
    if given.part in (None, "eight"):
        eight(name, url("eight"), given.tells or 480)
    if given.part in (None, "memory"):
        place = url("memory")
        print(f"\nmemory, {name}, one process")
        memory(place, given.tells or 2000, lambda: stored(place))


if __name__ == "__main__":
    main()
