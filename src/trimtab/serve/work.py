"""Whose turn it is: loops of a fleet, shared by workers of any number of replicas.

A row of `trimtab_work` is a tuner that is to be run. A worker takes the row that is due, under a
row lock (FOR UPDATE SKIP LOCKED), so that nobody waits and nobody is elected. It writes its name,
and until when it counts on having the tuner. It keeps the row, so that windows of metrics are not
begun anew, and renews it at every step. The row of a worker that was killed is free when its time
is over. Two that believe to have one tuner do no harm: the journal lets one of them decide.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.errors import InvalidInput
from trimtab.live.store.database import Execute
from trimtab.serve.tables import Tables, microseconds_now

LEASE = 30.0  # seconds for which a worker has a tuner after a step


@dataclass(frozen=True)
class Share:
    """A tuner to be run, as the store has it."""

    tuner: str
    due: int  # microseconds since 1970
    worker: str | None
    until: int | None


class Work:
    """The list of tuners to be run."""

    def __init__(self, tables: Tables, *, most: int) -> None:
        self._tables, self._most = tables, most

    def add(self, tuner: str) -> None:
        """Have the tuner run from now on; one that is run already stays as it is.

        Raises:
            InvalidInput: as many are run as the quota allows.
        """
        with self._tables.write() as execute:
            if self._tables.postgres:  # two adds must not both see room
                execute("LOCK TABLE trimtab_work IN SHARE ROW EXCLUSIVE MODE")
            if execute("SELECT 1 FROM trimtab_work WHERE tuner = ?", tuner):
                return
            if execute("SELECT count(*) FROM trimtab_work")[0][0] >= self._most:
                raise InvalidInput(
                    f"{self._most:,} loops are run in this store, which is its limit"
                )
            execute(
                "INSERT INTO trimtab_work (tuner, due) VALUES (?, ?)", tuner, microseconds_now()
            )

    def remove(self, tuner: str) -> None:
        """Have the tuner not run any more; a step that has begun is finished."""
        with self._tables.write() as execute:
            execute("DELETE FROM trimtab_work WHERE tuner = ?", tuner)

    def get(self, tuner: str) -> Share | None:
        """The tuner's row, None if it is not run."""
        sql = "SELECT tuner, due, worker, until FROM trimtab_work WHERE tuner = ?"
        rows = self._tables.query(sql, tuner)
        return Share(*rows[0]) if rows else None

    def take(self, worker: str) -> str | None:
        """A tuner that is due, and is this worker's or nobody's; None if there is none."""
        now = microseconds_now()
        lock = " FOR UPDATE SKIP LOCKED" if self._tables.postgres else ""
        due = (
            "SELECT tuner FROM trimtab_work WHERE due <= ? "
            "AND (worker IS NULL OR worker = ? OR until <= ?) ORDER BY due LIMIT 1"
        )
        if not self._tables.query(due, now, worker, now):
            return None  # most often; and then nothing is locked
        with self._tables.write() as execute:
            rows = execute(due + lock, now, worker, now)
            if not rows:
                return None
            self._renew(execute, rows[0][0], worker, now, now + _micro(LEASE))
            return str(rows[0][0])

    def give_back(self, tuner: str, worker: str, wait: float) -> None:
        """The tuner is due again after these seconds, and stays this worker's."""
        now = microseconds_now()
        with self._tables.write() as execute:
            self._renew(execute, tuner, worker, now + _micro(wait), now + _micro(wait + LEASE))

    def _renew(self, execute: Execute, tuner: str, worker: str, due: int, until: int) -> None:
        execute(
            "UPDATE trimtab_work SET worker = ?, due = ?, until = ? WHERE tuner = ? "
            "AND (worker IS NULL OR worker = ? OR until <= ?)",
            worker,
            due,
            until,
            tuner,
            worker,
            microseconds_now(),
        )

    def release(self, worker: str) -> None:
        """The worker's tuners are everybody's from now on."""
        with self._tables.write() as execute:
            execute("UPDATE trimtab_work SET worker = NULL, until = NULL WHERE worker = ?", worker)


def _micro(seconds: float) -> int:
    return int(seconds * 1e6)
