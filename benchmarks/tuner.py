"""The tuner: how long ask and tell take, bytes per tell, and whether memory stays flat.

A round is one `ask` and one `tell` of four metrics, each acknowledged before the next call; the
spec is the small one of the tests (3 knobs, 2 objectives, 2 constraints, every limit in use).

    python benchmarks/tuner.py [--full] [folder]

`--full` plays 10^5 tells in 8 processes and 10^6 in one; both in memory (/dev/shm) unless a folder
is given, since the disk alone would take 4 ms for each.
"""

from __future__ import annotations

import os
import platform
import resource
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import trimtab as tt
from tests.postgres import Server
from tests.tuners import spec_with, world
from trimtab.live.opening import open_journal
from trimtab.live.replay import replay

SPEC = spec_with()
Times = tuple[list[float], list[float]]


def rounds(url: str, client: str, n: int) -> Times:
    """The seconds of n asks and of n tells, by one client."""
    asks, tells = [], []
    with tt.Tuner(SPEC, storage=url, timeout=120.0) as tuner:
        for i in range(n):
            begin = time.perf_counter()
            decision = tuner.ask(client)
            asks.append(time.perf_counter() - begin)
            told = world(decision.values, np.random.default_rng((i, hash(client) % 1000)))
            begin = time.perf_counter()
            tuner.tell(decision.id, told)
            tells.append(time.perf_counter() - begin)
    return asks, tells


def row(name: str, times: list[float], pace: float | None = None) -> None:
    """One line of the table of times."""
    p50, p90, p99, most = 1000 * np.quantile(times, [0.5, 0.9, 0.99, 1.0])
    rate = f"{pace:>8,.0f}" if pace else f"{'':>8}"
    print(f"{name:<34}{rate}{p50:>10.2f}{p90:>10.2f}{p99:>10.2f}{most:>10.2f}", flush=True)


def alone(name: str, url: str, n: int) -> None:
    """One process."""
    rounds(url, "first", 20)  # compiled
    asks, tells = rounds(url, "alone", n)
    row(f"{name}, 1 process, ask", asks, n / (sum(asks) + sum(tells)))
    row(f"{name}, 1 process, tell", tells)


def together(name: str, url: str, each: int, *, check: bool) -> None:
    """Eight processes on one store: none lost, none doubled, every decision a sound one."""
    tt.Tuner(SPEC, storage=url).close()
    with get_context("spawn").Pool(8) as pool:
        pool.starmap(rounds, [(url, f"w{p}", 1) for p in range(8)])  # imports are not timed
        begin = time.perf_counter()
        parts = pool.starmap(rounds, [(url, f"p{p}", each) for p in range(8)], chunksize=1)
        seconds = time.perf_counter() - begin
    row(f"{name}, 8 processes, ask", [x for asks, _ in parts for x in asks], 8 * each / seconds)
    row(f"{name}, 8 processes, tell", [x for _, tells in parts for x in tells])
    with open_journal(url, read_only=True) as journal:
        kinds: Counter[str] = Counter()
        told: set[int] = set()
        for event in journal.events("shop"):
            kinds[event.kind] += 1
            if event.kind == "tell":
                told.add(event.payload["decision"])
        mine = 8 * (each + 1)
        print(
            f"  {kinds['tell']:,} tells of {mine:,}, {len(told):,} of them of different decisions, "
            f"{kinds['decide']:,} decisions"
        )
        assert kinds["tell"] == kinds["decide"] == len(told) == mine
        if check:
            begin = time.perf_counter()
            played = replay(journal, "shop")
            print(
                f"  replayed in {time.perf_counter() - begin:.1f} s: every decision the same: "
                f"{played.same}"
            )


def memory(path: Path, total: int) -> None:
    """Resident memory and bytes of the store as tells come in."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    with tt.Tuner(SPEC, storage=str(path), clock=lambda: now) as tuner:
        marks = sorted({total // 100, total // 10, total // 4, total // 2, total})
        begin = time.perf_counter()
        for i in range(total + 1):
            if i in marks:
                resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf(
                    "SC_PAGE_SIZE"
                )
                size = sum(each.stat().st_size for each in path.parent.iterdir())
                print(
                    f"  after {i:>9,} tells: {resident / 2**20:7.1f} MiB resident, "
                    f"{size / i:6.0f} bytes a tell on disk, decision included; "
                    f"{1e6 * (time.perf_counter() - begin) / i:6.0f} us a round",
                    flush=True,
                )
            now += timedelta(minutes=30)
            decision = tuner.ask()
            tuner.tell(decision.id, world(decision.values, np.random.default_rng(i)))
    begin = time.perf_counter()
    tt.Tuner(SPEC, storage=str(path)).close()
    print(f"  opening it again: {time.perf_counter() - begin:.2f} s")


def main() -> None:
    """Print the tables."""
    full = "--full" in sys.argv
    given = [argument for argument in sys.argv[1:] if argument != "--full"]
    quick = "/dev/shm" if full and os.access("/dev/shm", os.W_OK) else None
    home = given[0] if given else quick
    print(
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}; "
        f"{home or tempfile.gettempdir()}"
    )
    print("milliseconds of one call, acknowledged\n")
    print(f"{'':<34}{'rounds/s':>8}{'median':>10}{'p90':>10}{'p99':>10}{'most':>10}")
    with tempfile.TemporaryDirectory(dir=home) as folder:
        alone("SQLite", f"{folder}/alone.db", 300)
        together("SQLite", f"{folder}/eight.db", 12_500 if full else 60, check=not full)
    server = Server()
    try:
        server.start()
        alone("PostgreSQL", server.fresh_url(), 300)
        together("PostgreSQL", server.fresh_url(), 60, check=True)
    finally:
        server.remove()
    with tempfile.TemporaryDirectory(dir=home or quick) as folder:
        print("\nmemory, one process, SQLite")
        memory(Path(folder) / "a.db", 1_000_000 if full else 2_000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"  peak of the whole run: {peak / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
