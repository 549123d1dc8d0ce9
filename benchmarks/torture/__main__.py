"""The campaigns against the journal, with a seed; prints the figures for docs/journal.md.

    python -m benchmarks.torture [--only flips,sqlite,postgres,disk,correction] [--seed 2026]
                                 [--flips 20000] [--swaps 2000] [--interrupts 5000] [--kills 2000]
                                 [--events 1000000] [--seconds 3600] [--first 0] [--short]

Interrupts and kills are played in pieces of 125 and 50, each with a store and a seed of its own.
`--seconds` bounds each campaign; what was reached is printed, with the piece to go on from
(`--first`). Exit 1 if anything is wrong, lost, doubled, stuck, dead or comes out differently.
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
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.torture import correction, disk, flips, interrupts
from tests.postgres import Server, connect
from tests.system_packages import postgresql

BAD = ("WRONG", "lost", "doubled", "stuck", "dead", "differing")
SHORT = {"flips": 400, "swaps": 80, "interrupts": 40, "kills": 4, "events": 3000, "seconds": 60.0}
PIECE = (125, 50)  # interrupts and kills
Piece = Callable[[str, int, int], Counter[str]]  # of a seed, interrupts and kills


def shown(name: str, ends: Counter[str], begin: float) -> bool:
    """Print how a campaign ended; whether it ended well."""
    figures = ", ".join(f"{what} {n:,}" for what, n in sorted(ends.items()))
    print(f"{name}: {figures} ({time.monotonic() - begin:.0f} s)", flush=True)
    return not any(n for what, n in ends.items() if any(word in what for word in BAD))


def pieces(name: str, options: argparse.Namespace, play: Piece) -> bool:
    """Play pieces until there were as many blows as wanted, or the time is over."""
    begin, ends, good = time.monotonic(), Counter[str](), True
    most = -(-max(options.interrupts / PIECE[0], options.kills / PIECE[1]) // 1)
    n = options.first
    while n < most and time.monotonic() - begin < options.seconds:
        left = max(0, min(options.interrupts - n * PIECE[0], PIECE[0]))
        piece = play(f"{options.seed} {n}", left, max(0, min(options.kills - n * PIECE[1], 50)))
        longest = max(ends[interrupts.LONGEST], piece[interrupts.LONGEST])
        ends += piece
        ends[interrupts.LONGEST] = longest
        n += 1
        bad = {what: x for what, x in piece.items() if x and what in BAD}
        if bad:
            print(f"{name}, piece {n - 1}: {bad}", flush=True)
        elif n % 5 == 0:
            print(f"{name}: {n} of {most:.0f} pieces, {time.monotonic() - begin:.0f} s", flush=True)
    good &= shown(f"{name}, pieces {options.first} to {n - 1}", ends, begin)
    return good


def sqlite(seed: str, blows: int, kills: int) -> Counter[str]:
    """A piece on SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        return interrupts.campaign(f"{folder}/a.db", seed, interrupts=blows, kills=kills)


def postgres(server: Server, seed: str, blows: int, kills: int) -> Counter[str]:
    """A piece on PostgreSQL, with backends killed and immediate restarts."""
    rng = random.Random(seed)

    def fault() -> None:
        if rng.random() < 0.5:
            server.restart()
            return
        with connect(server.url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'trimtab' AND random() < 0.5"
            )

    return interrupts.campaign(
        server.fresh_url(),
        seed,
        interrupts=blows,
        kills=kills,
        server_fault=fault,
        faults=max(kills // 5, 1),
    )


def main() -> int:
    """Run them all."""
    parser = argparse.ArgumentParser()
    for name, default in (("seed", 2026), ("flips", 20_000), ("swaps", 2000), ("first", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("interrupts", 5000), ("kills", 2000), ("events", 1_000_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--only", default="flips,correction,sqlite,postgres")
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    if options.short:
        vars(options).update(SHORT)
    only = options.only.split(",")
    print(
        f"seed {options.seed}, Python {platform.python_version()}, SQLite "
        f"{sqlite3.sqlite_version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}"
    )
    good = True
    if "flips" in only:
        begin = time.monotonic()
        ends = flips.campaign(options.seed, options.flips, options.swaps)
        good &= shown("flips and swaps", ends, begin)
    if "disk" in only:
        begin = time.monotonic()
        good &= shown("a full disk, and one to be read only", disk.campaign(), begin)
    if "correction" in only:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            ends = correction.campaign(Path(folder), options.events, options.events // 10)
        good &= shown("correction", ends, begin)
    if "sqlite" in only:
        good &= pieces("SQLite", options, sqlite)
    if "postgres" in only and postgresql():
        server = Server()
        try:
            server.start()
            good &= pieces("PostgreSQL", options, partial(postgres, server))
        finally:
            server.remove()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
