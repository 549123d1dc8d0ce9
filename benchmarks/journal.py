"""The journal: how long an acknowledged append takes, and how many bytes an event needs.

Each append is one event of eight losses after the last one, committed and forced to the disk
before it returns; each process has a tuner of its own. The times are those the caller sees.
PostgreSQL runs on the same machine, by a socket, with fsync on, from tests/postgres.py; pgbench
inserts rows of the same size with as many clients in the same run. The disk's own time for a small
forced write is printed beside them.

    python benchmarks/journal.py [folder]
"""

from __future__ import annotations

import os
import platform
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.postgres import Server, connect
from tests.system_packages import postgresql
from trimtab.live.spec.spec import Spec, example
from trimtab.live.store.event import Draft
from trimtab.live.store.opening import open_journal
from trimtab.live.tuner import Tuner

AT = datetime(2026, 1, 1, tzinfo=UTC)
ALONE, EACH, BULK = 800, 300, 100_000


def draft(rng: np.random.Generator) -> Draft:
    """A tell of eight losses."""
    return Draft(kind="tell", payload={"losses": rng.random(8).tolist()}, at=AT)


def appended(url: str, name: str, n: int) -> list[float]:
    """The seconds of n appends, one after another."""
    rng = np.random.default_rng(0)
    times = []
    with open_journal(url) as journal:
        (last,) = journal.append(name, draft(rng))
        for _ in range(n):
            event = draft(rng)
            begin = time.perf_counter()
            (last,) = journal.append(name, event, after=last)
            times.append(time.perf_counter() - begin)
    return times


def told(url: str, name: str, n: int) -> list[float]:
    """The seconds of n calls of `Tuner.tell`, each of another decision, one after another."""
    spec = replace(Spec.parse(example()), name=name)
    rng = np.random.default_rng(0)
    times = []
    with Tuner(spec, storage=url) as tuner:
        ids = [tuner.ask(f"client {i}").id for i in range(n)]
        for id in ids:
            metrics = {each.name: each.low + float(rng.random()) for each in spec.objectives}
            begin = time.perf_counter()
            tuner.tell(id, metrics)
            times.append(time.perf_counter() - begin)
    return times


def tells(name: str, url: str) -> None:
    """Acknowledged tells, of one process and of eight, each with a tuner of its own."""
    times = told(url, "tells-alone", EACH)
    row(f"{name}, tells, 1 process", times, len(times) / sum(times))
    with get_context("spawn").Pool(8) as pool:
        parts = pool.starmap(told, [(url, f"tells-{p}", EACH) for p in range(8)], chunksize=1)
    several = [x for part in parts for x in part]
    row(f"{name}, tells, 8 processes", several, sum(len(part) / sum(part) for part in parts))


def forced(folder: Path) -> list[float]:
    """The seconds of small writes that are forced to the disk."""
    times = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for i in range(300):
            begin = time.perf_counter()
            os.pwrite(file.fileno(), bytes(4096), 4096 * i)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begin)
    return times


def row(name: str, times: list[float], rate: float | None = None) -> None:
    """One line of the table of times."""
    p50, p99, most = 1000 * np.quantile(times, [0.5, 0.99, 1.0])
    pace = f"{rate:>10,.0f}" if rate else f"{'':>10}"
    print(f"{name:<34}{pace}{p50:>10.2f}{p99:>10.2f}{most:>10.2f}")


def bulk(url: str) -> tuple[float, float]:
    """Seconds to append many events in batches, and to read and verify them."""
    rng = np.random.default_rng(1)
    with open_journal(url) as journal:
        begin = time.perf_counter()
        for _ in range(0, BULK, 1000):
            journal.append("bulk", *(draft(rng) for _ in range(1000)))
        wrote = time.perf_counter() - begin
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begin = time.perf_counter()
        assert sum(1 for _ in journal.events("bulk")) == BULK
        read = time.perf_counter() - begin
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(
        f"  {BULK:,} events in batches of 1,000: {1e6 * wrote / BULK:.0f} us each; "
        f"read and verified: {1e6 * read / BULK:.0f} us each, {grown / 1024:.1f} MiB more memory"
    )
    return wrote, read


def measure(name: str, url: str, size: Callable[[], int]) -> None:
    """Everything about one database."""
    times = appended(url, "alone", ALONE)
    row(f"{name}, 1 process", times, len(times) / sum(times))
    begin = time.perf_counter()
    with get_context("spawn").Pool(8) as pool:
        pool.starmap(appended, [(url, f"w{p}", 1) for p in range(8)])  # imports are not timed
        begin = time.perf_counter()
        parts = pool.starmap(appended, [(url, f"p{p}", EACH) for p in range(8)], chunksize=1)
    several = [x for part in parts for x in part]
    row(f"{name}, 8 processes", several, len(several) / (time.perf_counter() - begin))
    empty = size()
    bulk(url)
    print(f"  bytes per event: {(size() - empty) / BULK:.0f}")
    begin = time.perf_counter()
    open_journal(url).close()
    print(f"  opening it again: {1000 * (time.perf_counter() - begin):.0f} ms")


def pgbench(server: Server) -> None:
    """One-row inserts by pgbench with 1 and 8 clients."""
    with connect(server.url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text, "
            "digest bytea)"
        )
    script = server.folder / "insert.sql"
    script.write_text(
        f"INSERT INTO plain (payload, digest) VALUES ('{'x' * 167}', '{'y' * 32}');\n",
        encoding="utf-8",
    )
    script.chmod(0o644)
    program = Path(postgresql() or "") / "pgbench"
    for clients in (1, 8):
        ran = subprocess.run(
            [
                *(program, "-n", "-c", str(clients), "-j", "2", "-T", "6", "-M", "prepared"),
                *("-f", script, "-h", str(server.folder), "-U", "postgres", "postgres"),
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        rate = next(line.split()[2] for line in ran.splitlines() if line.startswith("tps"))
        print(f"{f'pgbench, {clients} clients':<34}{float(rate):>10,.0f}")


def main() -> None:
    """Print the table."""
    home = sys.argv[1] if len(sys.argv) > 1 else None
    print(
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{os.cpu_count()} cores, {platform.machine()}"
    )
    text = draft(np.random.default_rng(0)).text
    print(f"payload of {len(text)} bytes; milliseconds of one append\n")
    print(f"{'':<34}{'per second':>10}{'median':>10}{'p99':>10}{'most':>10}")
    with tempfile.TemporaryDirectory(dir=home) as folder:
        row("a forced write of 4 KiB", forced(Path(folder)))
        path = Path(folder) / "a.db"
        measure("SQLite", str(path), lambda: path.stat().st_size)
        tells("SQLite", str(path))
    server = Server()
    try:
        server.start()
        url = server.fresh_url()

        def size() -> int:
            with open_journal(url) as journal:
                sql = "SELECT pg_total_relation_size('trimtab_events')"
                return int(journal._database.query(sql)[0][0])

        measure("PostgreSQL", url, size)
        tells("PostgreSQL", url)
        pgbench(server)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
