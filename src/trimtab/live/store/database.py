"""What a journal asks of a database: four tables, one kind of transaction, one conditional append.

::

    trimtab_format     (version, tuners)                                    one row
    trimtab_tuners     (id, name, events, digest, seal)                     the head of each list
    trimtab_events     (tuner, number, kind, at, key, payload, digest)      append-only
    trimtab_snapshots  (tuner, number, through, digest, content, checksum)  a cache

Statements are written with `?` for every argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from trimtab.live.store.event import Event, Head

FORMAT = 3  # of the tables, of the payload's text, of the digests, and of what events mean

PATIENCE = 0.1  # seconds that a conditional append waits: what was planned before is out of date

Row = tuple[Any, ...]
Step = Callable[[str], None]
T = TypeVar("T")

# Where an append can be interrupted, in this order; the two in the middle once per new event.
STEPS = ("before begin", "before insert", "after insert", "before commit", "after commit")


@dataclass(frozen=True, slots=True)
class Beside:
    """A row of another table of the store: it and the events are written, or neither is.

    Its key must be new, otherwise the append raises `Taken`. So what was done is recorded with its
    effect: an answer under a key for its repetitions, for example.
    """

    table: str
    values: Mapping[str, str | int | bytes]  # by column
    key: tuple[str, ...] = ()  # columns by which it replaces an earlier row, if it may

    def insert(self, values: str) -> str:
        """The statement that inserts it; `values` is what stands for them."""
        columns = ", ".join(self.values)
        sql = f"INSERT INTO {self.table} ({columns}) {values}"
        if not self.key:
            return sql
        new = ", ".join(f"{name} = excluded.{name}" for name in self.values if name not in self.key)
        return f"{sql} ON CONFLICT ({', '.join(self.key)}) DO UPDATE SET {new}"

    @property
    def marks(self) -> str:
        """A question mark for each value."""
        return ", ".join("?" * len(self.values))


class Execute(Protocol):
    """Runs one statement."""

    def __call__(self, sql: str, *values: object) -> list[Row]:
        """The rows that the statement gives, none if it gives none."""


class Database(Protocol):
    """A connection to one store; one thread at a time uses it.

    Every call raises `Unavailable` if the store cannot be used now, and `Damaged` if the
    database says that it is corrupt. An exception at any instant, a KeyboardInterrupt for
    example, leaves no transaction open and no lock held.
    """

    name: str  # for messages: no password in it
    header_format: int | None  # the format number outside the tables, if there is one
    row_lock: str  # ends a SELECT whose rows stay as they are until the transaction ends
    step: Step  # called with each of STEPS

    def query(self, sql: str, *values: object) -> list[Row]:
        """The rows of one reading statement."""

    def transact(self, work: Callable[[Execute], T]) -> T:
        """What the work gives; when this returns, what it has written is durable.

        `InvalidInput` if the store was opened to be read only, or inside another transaction.
        """

    def write(self) -> AbstractContextManager[Execute]:
        """A transaction as a block, durable when it is left without an error.

        For tables other than the journal's, on threads that no interrupt reaches: those of a
        service. An interrupt at its very beginning could leave the lock to the garbage collector.
        """

    def advance(
        self, old: Head, new: Head, events: Sequence[Event], beside: Sequence[Beside] = ()
    ) -> bool:
        """Whether the list still ended at `old`: then the events are appended, and durable.

        Otherwise, or if others write for longer than PATIENCE, nothing is written. Nor if a row
        beside them is there already: that is `Taken`.
        """

    def complaint(self, *, full: bool) -> str | None:
        """What is wrong with the store as a whole, if anything; `full` looks at every page."""

    def repair(self, prove: Callable[[Execute], T]) -> T:
        """Build anew what is derived from the rows: indexes, and where pages are; also read only.

        Nobody writes meanwhile. If `prove` raises, everything stays as it was.
        """

    def time(self) -> datetime | None:
        """The time by the clock of the store's server, None if that is the caller's own host."""

    def close(self) -> None:
        """End the connection."""
