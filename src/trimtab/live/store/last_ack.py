"""The last acknowledged event, noted outside the database.

A database whose end was cut off may look like a whole one of an earlier time. The note tells
them apart. It is written after the commit and before the acknowledgement, and not forced to the
disk: after a power failure it may be old, or gone, but it never knows more than the database.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import NamedTuple

_NOTE = struct.Struct(">8sqq32s")
_SUM = struct.Struct(">I")
_MAGIC = b"trimtab1"


class LastAck(NamedTuple):
    """The event that was last in the store, of all tuners, at the last acknowledgement."""

    tuner: int  # its id in the store
    number: int
    digest: bytes


def write(file: int, last_ack: LastAck) -> None:
    """Replace the note in the file."""
    note = _NOTE.pack(_MAGIC, *last_ack)
    os.pwrite(file, note + _SUM.pack(zlib.crc32(note)), 0)


def read(file: int) -> LastAck | None:
    """The note in the file, or None if there is none, or one that was not written whole."""
    content = os.pread(file, _NOTE.size + _SUM.size, 0)
    note, check = content[: _NOTE.size], content[_NOTE.size :]
    if len(content) < _NOTE.size + _SUM.size or _SUM.pack(zlib.crc32(note)) != check:
        return None
    magic, *rest = _NOTE.unpack(note)
    return LastAck(*rest) if magic == _MAGIC else None
