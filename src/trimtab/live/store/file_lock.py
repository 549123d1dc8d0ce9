"""Locks on files: held by one opening of a file at a time, and gone with it.

A file is opened for one turn and closed at its end, so nothing stays open between two calls, and a
`with` on the file releases the lock whatever happens: closing it is one step that no interrupt can
split. Nobody polls. Who must wait has a thread that waits in the kernel.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from io import FileIO
from pathlib import Path
from weakref import WeakSet

from trimtab.live.store.faults import Unavailable

_files: WeakSet[FileIO] = WeakSet()  # a forked child closes its copies: they would keep a lock


def opened(path: Path) -> FileIO:
    """The file, created if need be for its owner only; a link is not followed."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    try:
        return FileIO(os.fspath(path), "r+", opener=opener)
    except OSError as error:
        link = "it is a symbolic link; remove it" if path.is_symlink() else error.strerror
        raise Unavailable(f"{path} cannot be opened for writing: {link}") from None


def take(file: FileIO, deadline: float) -> bool:
    """Whether the lock was had before this time of the monotonic clock; one try at least.

    It is held until the file is closed.
    """
    _files.add(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        left = deadline - time.monotonic()
    if left <= 0:
        return False
    had = threading.Event()
    threading.Thread(target=_wait, args=(file, had), daemon=True).start()
    return had.wait(left)


def _wait(file: FileIO, had: threading.Event) -> None:
    """Wait for the lock by a descriptor of our own.

    If the caller has closed the file meanwhile, the lock goes with this descriptor.
    """
    try:
        mine = FileIO(os.dup(file.fileno()))
    except (OSError, ValueError):  # closed
        return
    with mine:
        _files.add(mine)
        fcntl.flock(mine, fcntl.LOCK_EX)
        had.set()


def queue_up(queue: FileIO, lock: FileIO, deadline: float) -> bool:
    """Whether the lock was had in time; who wants it again at once does not overtake who waits.

    A writer waits in the queue, a lock of its own, until it has the lock.
    """
    had = take(queue, deadline) and take(lock, deadline)
    fcntl.flock(queue, fcntl.LOCK_UN)
    return had


def same(file: FileIO, path: Path) -> bool:
    """Whether the path still names the open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False


def _forsake() -> None:
    """In a forked child: leave every lock to the parent."""
    for file in list(_files):
        file.close()


os.register_at_fork(after_in_child=_forsake)
