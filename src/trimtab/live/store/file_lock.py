"""A lock on a file: held by one opening of the file at a time, and gone with its process."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trimtab.live.store.faults import Unavailable
from trimtab.live.store.fork import keep_from_children

PAUSE = 0.001  # seconds between two tries


class FileLock:
    """The file, opened and created if need be, and the lock on it."""

    def __init__(self, path: Path) -> None:
        try:
            self.file: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise Unavailable(f"{path} cannot be opened for writing: {error.strerror}") from None
        self.path = path
        keep_from_children(self)

    def take(self, deadline: float) -> bool:
        """Whether the lock was had before this time of the monotonic clock; one try at least."""
        while True:
            if self.file is None:
                raise Unavailable(f"{self.path} is closed; open the journal again")
            with suppress(BlockingIOError):
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(PAUSE)

    def give(self) -> None:
        """Let the next one have the lock."""
        if self.file is not None:
            fcntl.flock(self.file, fcntl.LOCK_UN)

    def release(self) -> None:
        """Close the file, and with it the lock."""
        if self.file is not None:
            os.close(self.file)
        self.file = None

    def forsake(self) -> None:
        """Close the file in a forked child; the lock stays with the parent."""
        self.release()


class Turns:
    """A lock on a file that writers have in turn.

    A writer waits in the queue, a lock of its own, until it has the lock. So one that gives the
    lock and wants it again at once does not overtake those that wait.
    """

    def __init__(self, path: Path, *, queue: Path) -> None:
        self._queue = FileLock(queue)
        self._lock = FileLock(path)

    @property
    def open(self) -> bool:
        """Whether it was not released."""
        return self._lock.file is not None

    @contextmanager
    def mine(self, name: str, timeout: float) -> Iterator[int]:
        """The file, while the lock is ours; `name` is what it protects."""
        deadline = time.monotonic() + timeout
        queued = self._queue.take(deadline)
        try:
            had = queued and self._lock.take(deadline)
        finally:
            if queued:
                self._queue.give()
        if not had or self._lock.file is None:
            raise Unavailable(
                f"{name} has been locked by other processes for {timeout:g} s; "
                "look for a writer that was stopped"
            )
        try:
            yield self._lock.file
        finally:
            self._lock.give()

    def release(self) -> None:
        """Close the files."""
        self._queue.release()
        self._lock.release()
