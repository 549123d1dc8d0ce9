"""What a journal asks of a database: four tables, and one kind of transaction.

::

    trimtab_format     (version)
    trimtab_tuners     (id, name)
    trimtab_events     (tuner, number, kind, at, key, payload, digest)      append-only
    trimtab_snapshots  (tuner, number, digest, content, checksum)           a cache

Statements are written with `?` for every argument.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

FORMAT = 2  # of the tables, of the payload's text, of the digests, and of what events mean

Row = tuple[Any, ...]
Step = Callable[[str], None]

# Where an append can be interrupted, in this order; the two in the middle once per new event.
STEPS = ("before begin", "before insert", "after insert", "before commit", "after commit")


class Execute(Protocol):
    """Runs one statement inside a transaction."""

    def __call__(self, sql: str, *values: object) -> list[Row]:
        """The rows that the statement gives, none if it gives none."""


class Database(Protocol):
    """A connection to one store; one thread at a time uses it.

    Every call raises `Unavailable` if the store cannot be used now, and `Damaged` if the
    database says that it is corrupt.
    """

    name: str  # for messages: no password in it
    row_lock: str  # ends a SELECT whose rows stay as they are until the transaction ends
    step: Step  # called with each of STEPS

    def query(self, sql: str, *values: object) -> list[Row]:
        """The rows of one reading statement."""

    def write(self) -> AbstractContextManager[Execute]:
        """A transaction; when the block is left without an error it is durable.

        `InvalidInput` if the store was opened to be read only.
        """

    def complaint(self, *, full: bool) -> str | None:
        """What is wrong with the store as a whole, if anything; `full` looks at every page."""

    def close(self) -> None:
        """End the connection."""
