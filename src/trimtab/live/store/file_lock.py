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
import stat
import struct
import threading
import time
import zlib
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from trimtab.live.store.faults import Unavailable
from trimtab.live.store.fork import holders, opening

_NOTE = struct.Struct(">8sqq32s")
_SUM = struct.Struct(">I")
_MAGIC = b"trimtab1"


class _File(FileIO):
    """A file whose copy in a forked child is closed there: it would keep the lock."""

    def forsake(self) -> None:
        """In the child: leave the lock to the parent."""
        self.close()


def opened(path: Path) -> FileIO:
    """The file, created if need be for its owner only; a link is not followed."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    try:
        with opening:
            file = _File(os.fspath(path), "r+", opener=opener)
            holders.add(file)
    except OSError as error:
        link = "it is a symbolic link; remove it" if path.is_symlink() else error.strerror
        raise Unavailable(f"{path} cannot be opened for writing: {link}") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise Unavailable(f"{path} is not a file; remove it")
    return file


def take(file: FileIO, deadline: float) -> bool:
    """Whether the lock was had before this time of the monotonic clock; one try at least.

    It is held until the file is closed.
    """
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
        with opening:
            mine = _File(os.dup(file.fileno()))
            holders.add(mine)
    except (OSError, ValueError):  # closed
        return
    with mine:
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
