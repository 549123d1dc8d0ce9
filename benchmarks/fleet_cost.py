"""What one tuner of a fleet costs: time to begin and to open, memory, bytes in the store.

    python benchmarks/fleet_cost.py [--tuners 300] [--rounds 20]

Each tuner has 2 knobs and 2 objectives and has played some rounds. Times are CPU and wall
milliseconds of one process; memory is the growth of the resident set over all open tuners.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.fleet import SPEC
from tests.postgres import Server, connect
from trimtab.live import Spec
from trimtab.live.store.opening import open_journal
from trimtab.live.tuner import Tuner
from trimtab.serve.tuners import OpenTuners


def resident() -> int:
    """Bytes of memory in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def played(tuner: Tuner, rounds: int, rng: np.random.Generator) -> tuple[float, float]:
    """CPU seconds of the asks and of the tells."""
    asks = tells = 0.0
    for _ in range(rounds):
        begin = time.process_time()
        decision = tuner.ask()
        middle = time.process_time()
        tuner.tell(
            decision.id, {"latency": 100 + rng.normal(), "misses": 0.2 + 0.01 * rng.normal()}
        )
        asks, tells = asks + middle - begin, tells + time.process_time() - middle
    return asks, tells


def main() -> None:
    """Print the constants."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tuners", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    n, rounds = options.tuners, options.rounds
    server = Server()
    try:
        server.start()
        url = server.fresh_url()
        rng = np.random.default_rng(0)
        with open_journal(url) as journal:
            wall, cpu = time.perf_counter(), time.process_time()
            for i in range(n):
                Tuner(Spec.parse(SPEC.format(name=f"t{i}")), storage=journal)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(f"begin: {1000 * wall / n:.1f} ms, {1000 * cpu / n:.1f} ms of CPU")
            with connect(server.url, autocommit=True) as connection:
                size = "SELECT pg_database_size('postgres')"
                empty = int((connection.execute(size).fetchone() or (0,))[0])
                asks = tells = 0.0
                for i in range(n):
                    tuner = Tuner.existing(f"t{i}", journal)
                    a, b = played(tuner, rounds, rng)
                    asks, tells = asks + a, tells + b
                full = int((connection.execute(size).fetchone() or (0,))[0])
            calls = n * rounds
            print(f"CPU: {1000 * asks / calls:.2f} ms an ask, {1000 * tells / calls:.2f} ms a tell")
            print(f"store: {(full - empty) / (2 * calls):.0f} bytes an event")
        tuners = OpenTuners(url, connections=2, limit=n)
        tuners.get("t0")
        before, wall, cpu = resident(), time.perf_counter(), time.process_time()
        for i in range(1, n):
            tuners.get(f"t{i}")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"open: {1000 * wall / n:.1f} ms, {1000 * cpu / n:.1f} ms of CPU, ", end="")
        print(f"{(resident() - before) / n / 1024:.0f} KiB of memory")
        cpu = time.process_time()
        for i in range(1, n):
            tuners.get(f"t{i}").ask()
        print(f"first ask after that: {1000 * (time.process_time() - cpu) / n:.1f} ms of CPU")
        tuners.close()
    finally:
        server.remove()


if __name__ == "__main__":
    main()
