"""The campaigns against the journal, with a seed; prints the figures for docs/journal.md.

    python -m benchmarks.torture [--seed 2026] [--flips 20000] [--swaps 2000]
                                 [--interrupts 5000] [--kills 2000] [--seconds 3600] [--short]

`--seconds` bounds each campaign of interrupts and kills; what was reached is printed. Exit 1 if
anything is wrong, lost, doubled, stuck or comes out differently.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.torture import flips, interrupts
from tests.postgres import Server, connect
from tests.system_packages import postgresql

BAD = ("WRONG", "lost", "doubled", "stuck", "differing")
SHORT = {"flips": 400, "swaps": 80, "interrupts": 40, "kills": 4, "seconds": 60.0}


def shown(name: str, ends: Counter[str], begin: float) -> bool:
    """Print how a campaign ended; whether it ended well."""
    figures = ", ".join(f"{what} {n:,}" for what, n in sorted(ends.items()))
    print(f"{name}: {figures} ({time.monotonic() - begin:.0f} s)", flush=True)
    return not any(n for what, n in ends.items() if any(word in what for word in BAD))


def postgres(options: argparse.Namespace) -> Counter[str]:
    """Interrupts, kills, backends killed and immediate restarts, on a server of our own."""
    server = Server()
    rng = random.Random(options.seed)
    try:
        server.start()
        url = server.fresh_url()

        def fault() -> None:
            if rng.random() < 0.5:
                server.stop("immediate")
                server.start()
                return
            with connect(server.url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'trimtab' AND random() < 0.5"
                )

        return interrupts.campaign(
            url,
            options.seed,
            interrupts=options.interrupts,
            kills=options.kills,
            seconds=options.seconds,
            server_fault=fault,
            faults=max(options.kills // 5, 2),
        )
    finally:
        server.remove()


def main() -> int:
    """Run them all."""
    parser = argparse.ArgumentParser()
    for name, default in (("seed", 2026), ("flips", 20_000), ("swaps", 2000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("interrupts", 5000), ("kills", 2000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    if options.short:
        vars(options).update(SHORT)
    print(
        f"seed {options.seed}, Python {platform.python_version()}, SQLite "
        f"{sqlite3.sqlite_version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}"
    )
    good = True
    if options.flips or options.swaps:
        begin = time.monotonic()
        ends = flips.campaign(options.seed, options.flips, options.swaps)
        good &= shown("flips and swaps", ends, begin)
    if options.interrupts or options.kills:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            ends = interrupts.campaign(
                f"{folder}/a.db",
                options.seed,
                interrupts=options.interrupts,
                kills=options.kills,
                seconds=options.seconds,
            )
        good &= shown("SQLite", ends, begin)
        if postgresql():
            begin = time.monotonic()
            good &= shown("PostgreSQL", postgres(options), begin)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
