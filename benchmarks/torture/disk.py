"""A disk that is really full, or really mounted to be read only: what was acknowledged is there.

It mounts a small file system in memory, for which it has to be root.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import trimtab as tt
from tests.postgres import Server
from trimtab.live.replay import replay
from trimtab.live.spec.spec import Spec, example
from trimtab.live.store.faults import Unavailable
from trimtab.live.store.opening import open_journal

TRIES = 30  # rounds that are tried on a full disk
CYCLES = 20  # how often it is filled


@contextmanager
def mounted(megabytes: int) -> Iterator[Path]:
    """A file system of its own, of this size."""
    with tempfile.TemporaryDirectory(prefix="trimtab-disk-") as folder:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "x", folder], check=True
        )
        try:
            Path(folder).chmod(0o755)
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def fill(ballast: Path, leave: int) -> None:
    """Fill the disk up to some bytes."""
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    os.truncate(ballast, max(ballast.stat().st_size - leave, 0))


def rounds(tuner: tt.Tuner, number: int, told: list[str], ends: Counter[str]) -> None:
    """Ask and tell; what is refused is not counted as told."""
    middle = {each.name: (each.low + each.high) / 2 for each in tuner.spec.objectives}
    for _ in range(number):
        try:
            decision = tuner.ask()
            tuner.tell(decision.id, middle)
            told.append(decision.id)
        except Unavailable:
            ends["refused calls"] += 1


def full(url: str, disk: Path, ends: Counter[str]) -> None:
    """Fill the disk again and again while a tuner works."""
    spec, told = Spec.parse(example()), list[str]()
    ballast = disk / "ballast"
    with tt.Tuner(spec, storage=url) as tuner:
        rounds(tuner, 5, told, ends)
        for n in range(CYCLES):
            fill(ballast, 4096 * (n % 7))
            rounds(tuner, TRIES, told, ends)
            ballast.unlink()
            before = len(told)
            rounds(tuner, 5, told, ends)
            ends["stuck"] += len(told) < before + 4  # one may have to heal what was interrupted
    compare(url, spec.name, told, ends)


def compare(url: str, name: str, told: list[str], ends: Counter[str]) -> None:
    """Count what was lost or doubled, and replay."""
    with open_journal(url) as journal:
        journal.check()
        seen = Counter(
            f"{name}-{event.payload['decision']}"
            for event in journal.events(name)
            if event.kind == "tell"
        )
        ends["differing"] += len(replay(journal, name).differing)
    ends["acknowledged tells"] += len(told)
    ends["lost"] += sum(seen[id] == 0 for id in told)
    ends["doubled"] += sum(n > 1 for n in seen.values())


def read_only(folder: Path, ends: Counter[str]) -> None:
    """A file system that is mounted to be read only: writing is refused, reading works."""
    spec, url = Spec.parse(example()), str(folder / "read.db")
    with tt.Tuner(spec, storage=url) as tuner:
        rounds(tuner, 3, [], ends)
        events = tuner.status().events
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    try:
        tt.Tuner(spec, storage=url).close()
        ends["WRONG: opened for writing"] += 1
    except Unavailable:
        ends["refused calls"] += 1
    with tt.Tuner(spec, storage=url, read_only=True) as tuner:
        ends["WRONG: status"] += tuner.status().events != events
    subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)


def campaign() -> Counter[str]:
    """How it ended; nothing may be lost, doubled, stuck, wrong or differ."""
    ends: Counter[str] = Counter()
    with mounted(16) as folder:
        full(str(folder / "a.db"), folder, ends)
    with mounted(16) as folder:
        read_only(folder, ends)
    with mounted(160) as folder:
        tempfile.tempdir, before = str(folder), tempfile.tempdir
        server = Server()
        tempfile.tempdir = before
        server.start()
        try:
            full(server.fresh_url(), folder, ends)
        finally:
            server.remove()
    return ends
