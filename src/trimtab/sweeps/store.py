"""Where the outcomes of a sweep are kept: one SQLite file, in which every run is once.

Only the process that leads the sweep writes. What it has written survives its own death
at any moment: every batch is one transaction, synced to the disk before the next begins.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from trimtab.errors import InvalidInput, TrimtabError
from trimtab.sweeps.describe.settings import Settings, digest, text
from trimtab.sweeps.plan import Plan
from trimtab.sweeps.run import ARRAYS, Numbers, Outcome, SweepRun

APPLICATION = 0x7474_5357  # marks the file as ours
LAYOUT = 1  # of the tables
PATIENCE = 60.0  # seconds to wait for another process that is writing

NUMBERS = tuple(f.name for f in fields(Numbers))
TYPES = {"float": "REAL", "int": "INTEGER", "bool": "INTEGER"}
COLUMNS = (
    *("digest", "sweep", "policy", "world", "seed", "horizon"),
    *("error", "details", "cpu_seconds"),
    *NUMBERS,
    *ARRAYS,
    "checksum",
)
SCHEMA = f"""
CREATE TABLE settings (digest TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sweeps (
    digest TEXT PRIMARY KEY REFERENCES settings,
    surroundings TEXT NOT NULL REFERENCES settings -- versions and platform
) WITHOUT ROWID;
CREATE TABLE runs (
    digest TEXT PRIMARY KEY,
    sweep TEXT NOT NULL REFERENCES sweeps, -- the one that made the run
    policy TEXT NOT NULL REFERENCES settings,
    world TEXT NOT NULL REFERENCES settings,
    seed INTEGER NOT NULL,
    horizon INTEGER NOT NULL,
    error TEXT NOT NULL, -- empty where all went well
    details TEXT NOT NULL,
    cpu_seconds REAL NOT NULL,
    {", ".join(f"{f.name} {TYPES[str(f.type)]}" for f in fields(Numbers))},
    {", ".join(f"{name} BLOB" for name in ARRAYS)},
    checksum TEXT NOT NULL -- of the row's other entries
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {LAYOUT};
"""
# A run that failed may be made again; one that went well stays as it is.
INSERT = f"""
INSERT INTO runs ({", ".join(COLUMNS)}) VALUES ({", ".join("?" * len(COLUMNS))})
ON CONFLICT (digest) DO UPDATE SET
{", ".join(f"{name} = excluded.{name}" for name in COLUMNS[1:])} WHERE runs.error != ''
"""


class Store:
    """The outcomes of runs by their digests, in a file or, without one, in memory."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        with self._explained():
            self._db = sqlite3.connect(
                ":memory:" if self.path is None else self.path,
                timeout=PATIENCE,
                isolation_level=None,  # transactions begin where we say so
            )
        try:
            with self._explained():
                self._open()
        except BaseException:
            self._db.close()
            raise

    def _open(self) -> None:
        db = self._db
        (mark,) = db.execute("PRAGMA application_id").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if mark != APPLICATION and (mark or tables):  # somebody else's: nothing in it is changed
            raise InvalidInput(f"{self.path} is a database, but no sweep's; choose another path")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        with self._transaction():  # two processes may open a new file at once
            (mark,) = db.execute("PRAGMA application_id").fetchone()
            (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if not mark and not tables:
                for statement in SCHEMA.split(";"):
                    db.execute(statement)
                return
            (layout,) = db.execute("PRAGMA user_version").fetchone()
        if layout != LAYOUT:
            raise InvalidInput(
                f"{self.path} has layout {layout}, and this trimtab writes {LAYOUT}; "
                "choose another path"
            )
        self._verify()

    def _verify(self) -> None:
        """Read everything once: SQLite sees a broken page, and digests see a changed entry."""
        for key, settings in self._db.execute("SELECT digest, json FROM settings"):
            if hashlib.sha256(settings.encode()).hexdigest() != key:
                raise sqlite3.DatabaseError(f"settings {key} have changed")
        for *entries, checksum in self._db.execute(f"SELECT {', '.join(COLUMNS)} FROM runs"):
            if _checksum(entries) != checksum:
                raise sqlite3.DatabaseError(f"run {entries[0]} has changed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._db.close()

    def begin(self, plan: Plan, surroundings: Settings) -> None:
        """Note what the sweep is, and where it is made."""
        parts = [*plan.policies.values(), *plan.worlds.values()]
        each = [plan.settings, surroundings, *(part.settings for part in parts)]
        with self._explained(), self._transaction():
            self._db.executemany(
                "INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING",
                [(digest(one), text(one)) for one in each],
            )
            self._db.execute(
                "INSERT INTO sweeps VALUES (?, ?) ON CONFLICT DO NOTHING",
                (plan.digest, digest(surroundings)),
            )

    def add(self, plan: Plan, outcomes: Sequence[tuple[SweepRun, Outcome]]) -> None:
        """Keep the outcomes; when this returns they are on the disk."""
        rows = [self._row(plan, run, outcome) for run, outcome in outcomes]
        with self._explained(), self._transaction():
            self._db.executemany(INSERT, rows)

    def done(self) -> set[str]:
        """The digests of all runs that went well."""
        with self._explained():
            rows = self._db.execute("SELECT digest FROM runs WHERE error = ''").fetchall()
        return {key for (key,) in rows}

    def outcomes(self, wanted: set[str]) -> dict[str, Outcome]:
        """The outcomes of the wanted runs that have one."""
        with self._explained():
            rows = [
                row
                for row in self._db.execute(f"SELECT {', '.join(COLUMNS)} FROM runs")
                if row[0] in wanted
            ]
        return {row[0]: _outcome(dict(zip(COLUMNS, row, strict=True))) for row in rows}

    @staticmethod
    def _row(plan: Plan, run: SweepRun, outcome: Outcome) -> tuple[Any, ...]:
        numbers, arrays = outcome.numbers, outcome.arrays
        entries = [
            *(run.digest, plan.digest, digest(run.policy), digest(run.world)),
            *(run.seed, run.horizon, outcome.error, outcome.details, outcome.cpu_seconds),
            *(None if numbers is None else _entry(getattr(numbers, name)) for name in NUMBERS),
            *(arrays[name].tobytes() if name in arrays else None for name in ARRAYS),
        ]
        return *entries, _checksum(entries)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:  # SQLite ends it by itself where the disk is full
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # locked, full, not allowed
            raise TrimtabError(
                f"the store {self.path} cannot be used: {error}; what it has is kept, so mend "
                "this and run the sweep again"
            ) from None
        except sqlite3.DatabaseError as error:
            raise InvalidInput(
                f"{self.path} is no sweep's store, or is damaged: {error}; choose another path, or "
                "move the file away and run the sweep again"
            ) from None


def _entry(value: float | int | bool) -> float | int | None:
    """The number as it will come back: SQLite has neither NaN nor booleans."""
    if isinstance(value, bool):
        return int(value)
    return None if np.isnan(value) else value


def _checksum(entries: Sequence[Any]) -> str:
    return hashlib.sha256(repr(list(entries)).encode()).hexdigest()


def _outcome(row: Mapping[str, Any]) -> Outcome:
    numbers = None
    if not row["error"]:
        kept: dict[str, Any] = {n: np.nan if row[n] is None else row[n] for n in NUMBERS}
        numbers = Numbers(**{**kept, "certified": bool(row["certified"])})
    return Outcome(
        numbers=numbers,
        arrays={name: np.frombuffer(row[name]) for name in ARRAYS if row[name] is not None},
        error=row["error"],
        details=row["details"],
        cpu_seconds=row["cpu_seconds"],
    )
