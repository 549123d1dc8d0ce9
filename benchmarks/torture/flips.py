"""Single bits flipped and pages swapped in the files of a store: nothing that is read is wrong.

A flip is *harmless* if every event comes back as it was written and the snapshot is one that was
saved (decisions are a function of these), *damaged* if the store says so, and *wrong* otherwise.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
import warnings
from collections import Counter
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.live.store.event import Draft
from trimtab.live.store.faults import Damaged
from trimtab.live.store.opening import open_journal

AT = datetime(2026, 1, 1, tzinfo=UTC)
Files = dict[str, bytes]
Read = tuple[list[str], list[tuple[int, bytes]]]


def store(
    folder: Path, *, events: int, snapshots: bool, page: int, log: bool
) -> tuple[Files, set[tuple[int, bytes]]]:
    """The files of a store with two tuners, and every snapshot that was ever saved of one.

    With `log` they are as a killed process leaves them.
    """
    path = folder / "a.db"
    open_journal(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute(f"PRAGMA page_size = {page}")
    connection.execute("VACUUM")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    rng, saved = random.Random(events), set()
    with open_journal(path) as journal:
        for n in range(events):
            payload = {"decision": n, "metrics": {"x": [rng.random(), None, 1]}}
            name = "other" if n % 5 == 0 else "shop"
            journal.append(name, Draft(kind="tell", payload=payload, at=AT))
            if snapshots and n % 9 == 8:
                content = rng.randbytes(700)
                number = journal.last(name)
                journal.save_snapshot(name, number=number, content=content)
                saved.add((number, content))
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
    if not log:
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
    files.pop("a.db-shm", None)
    return files, saved


def read(folder: Path, files: Files) -> Read:
    """Every event as a line, and the snapshots that are offered."""
    place = folder / "again"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, content in files.items():
        (place / name).write_bytes(content)
    with open_journal(place / "a.db") as journal, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = [event.line() for name in journal.tuners() for event in journal.events(name)]
        found = [(each.number, each.content) for each in journal.snapshots("shop")]
        return lines, found


def spoilt(files: Files, rng: random.Random, page: int, *, swap: bool) -> Files:
    """The files with one bit flipped, or two pages of the database exchanged."""
    if swap:
        name = "a.db"
        pages = [files[name][i : i + page] for i in range(0, len(files[name]), page)]
        a, b = rng.sample(range(len(pages)), 2)
        pages[a], pages[b] = pages[b], pages[a]
        return files | {name: b"".join(pages)}
    name = rng.choices(list(files), [max(len(x), 1) for x in files.values()])[0]
    content = bytearray(files[name])
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return files | {name: bytes(content)}


def campaign(seed: int, flips: int, swaps: int, *, processes: int = 2) -> Counter[str]:
    """How the flips and swaps ended."""
    kinds = [(s, p, w) for s in (False, True) for p in (512, 4096) for w in (False, True)]
    parts = [
        (f"{seed} {k}", flips // len(kinds), swaps // len(kinds), *kind)
        for k, kind in enumerate(kinds)
    ]
    with get_context("fork").Pool(processes) as pool:
        return sum(pool.starmap(_part, parts, chunksize=1), Counter[str]())


def _part(seed: str, flips: int, swaps: int, snapshots: bool, page: int, log: bool) -> Counter[str]:
    """How they ended in one kind of store."""
    home = "/dev/shm" if Path("/dev/shm").is_dir() else None
    ends: Counter[str] = Counter()
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=home) as name:
        folder = Path(name)
        files, saved = store(folder, events=90, snapshots=snapshots, page=page, log=log)
        lines, _ = read(folder, files)
        for n in range(flips + swaps):
            what = "swap" if n < swaps else "flip"
            try:
                found, offered = read(folder, spoilt(files, rng, page, swap=n < swaps))
            except Damaged:
                ends[f"{what}: damaged"] += 1
            except TrimtabError as error:
                ends[f"{what}: {type(error).__name__}"] += 1
            else:
                good = found == lines and set(offered) <= saved
                ends[f"{what}: {'harmless' if good else 'WRONG'}"] += 1
    return ends
