"""The right to decide for a tuner, held by one at a time."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from trimtab.live.database import Hold
from trimtab.live.journal_faults import LostLock


class DeciderLock:
    """The lock of one tuner; leave the `with` block, or call `release`, to give it up.

    It ends with the process (SQLite) or the connection (PostgreSQL) that took it. Every taking
    raises the tuner's term in the store, and an append under the lock compares terms: a holder
    that was replaced, in whatever way, cannot write.
    """

    def __init__(self, tuner: str, *, term: int, hold: Hold, forget: Callable[[], object]) -> None:
        self.tuner = tuner
        self.term = term
        self._hold = hold
        self._forget = forget

    def confirm(self, term: int) -> None:
        """Raise `LostLock` unless it is still in place, and the term in the store is its own."""
        if not self._hold.held() or term != self.term:
            why = "was taken over" if term != self.term else "was released, or its connection lost"
            raise LostLock(
                f"the lock of tuner {self.tuner!r} (term {self.term}) {why}; nothing was written: "
                "take the lock again and read what is new before you decide"
            )

    def release(self) -> None:
        """Let somebody else decide; a second time does nothing."""
        self._forget()
        self._hold.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
