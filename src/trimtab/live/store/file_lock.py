"""Locks on files: held by one opening of a file at a time, and gone with it.

A file is opened for one turn and closed at its end, so nothing stays open between two calls, and a
`with` on the file releases the lock whatever happens: closing it is one step that no interrupt can
split. Nobody polls. Who must wait has a thread that waits in the kernel.

In the file of a lock stands the last acknowledged event, outside the database. A database whose
end was cut off may look like a whole one of an earlier time, and the note tells them apart. It is
written after the commit and before the acknowledgement, and not forced to the disk: after a power
failure it may be old, or gone, but it never knows more than the database.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import time
import zlib
from io import FileIO
from pathlib import Path
from typing import NamedTuple
from weakref import WeakSet

from trimtab.live.store.faults import Unavailable

_NOTE = struct.Struct(">8sqq32s")
_SUM = struct.Struct(">I")
_MAGIC = b"trimtab1"
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


class LastAck(NamedTuple):
    """The event that was last in the store, of all tuners, at the last acknowledgement."""

    tuner: int  # its id in the store
    number: int
    digest: bytes


def write_ack(file: int, last_ack: LastAck) -> None:
    """Replace the note in the file."""
    note = _NOTE.pack(_MAGIC, *last_ack)
    os.pwrite(file, note + _SUM.pack(zlib.crc32(note)), 0)


def read_ack(file: int) -> LastAck | None:
    """The note in the file, or None if there is none, or one that was not written whole."""
    content = os.pread(file, _NOTE.size + _SUM.size, 0)
    note, check = content[: _NOTE.size], content[_NOTE.size :]
    if len(content) < _NOTE.size + _SUM.size or _SUM.pack(zlib.crc32(note)) != check:
        return None
    magic, *rest = _NOTE.unpack(note)
    return LastAck(*rest) if magic == _MAGIC else None
