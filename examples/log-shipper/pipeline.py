"""A pipeline that batches records, compresses them and ships them to a receiver over a socket.

A frame is a header (bytes of payload, bytes of dictionary) and a zlib stream. Both ends keep the
last plain text, and a frame may be compressed with the end of it as preset dictionary. The
receiver decompresses, counts the lines and answers with their number and its own CPU time.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

HEADER = struct.Struct("!IH")
ANSWER = struct.Struct("!Id")
MEM_LEVEL = 8  # zlib's default
KEPT = 1 << 15  # bytes of plain text that both ends keep: the largest dictionary


@dataclass(frozen=True)
class Settings:
    """The knobs."""

    batch_records: int  # a batch of this size is sent at once
    linger_ms: float  # a smaller one when its first record has waited so long
    level: int  # of compression, 1 to 9
    window_bits: int  # zlib looks back 2^bits bytes
    dictionary_bytes: int  # of what was sent before that zlib may look back to


@dataclass
class Tally:
    """What was shipped in a window."""

    records: int = 0
    wire_bytes: int = 0
    cpu: float = 0.0  # seconds, both ends
    largest: int = 0  # bytes of the largest batch
    batches: list[tuple[float, list[float]]] = field(default_factory=list)  # delivered, arrivals

    def delays(self) -> list[float]:
        """The seconds from arrival to delivery of every record, in increasing order."""
        return sorted(done - at for done, arrivals in self.batches for at in arrivals)


class Pipeline:
    """The sender, and a receiver in a thread of its own.

    Records arrive by a logical clock. The time that sending takes is real and is added to it: a
    batch that is ready while the one before it is still on its way has to wait.
    """

    def __init__(self) -> None:
        self._socket, other = socket.socketpair()
        self._receiver = threading.Thread(target=_receive, args=(other,), daemon=True)
        self._receiver.start()
        self._lines: list[bytes] = []
        self._arrivals: list[float] = []
        self._due, self._free, self._kept = 0.0, 0.0, b""
        self._receiver_cpu = 0.0
        self._tally = Tally()

    def ship(self, records: Sequence[tuple[float, bytes]], settings: Settings) -> Tally:
        """What was shipped while these records arrived; the last ones may still wait in a batch."""
        self._tally = tally = Tally()
        linger, batch = settings.linger_ms / 1e3, settings.batch_records
        before, cpu = self._receiver_cpu, time.thread_time()
        for at, line in records:
            if self._lines and at > self._due:
                self._send(self._due, settings)
            if not self._lines:
                self._due = at + linger
            self._lines.append(line)
            self._arrivals.append(at)
            if len(self._lines) >= batch:
                self._send(at, settings)
        tally.cpu = time.thread_time() - cpu + self._receiver_cpu - before
        return tally

    def close(self) -> None:
        """Stop the receiver."""
        self._socket.close()
        self._receiver.join()

    def _send(self, now: float, settings: Settings) -> None:
        began = time.perf_counter()
        plain = b"".join(self._lines)
        dictionary = self._kept[len(self._kept) - min(settings.dictionary_bytes, len(self._kept)) :]
        packer = zlib.compressobj(
            settings.level,
            zlib.DEFLATED,
            settings.window_bits,
            MEM_LEVEL,
            zlib.Z_DEFAULT_STRATEGY,
            dictionary,
        )
        payload = packer.compress(plain) + packer.flush()
        self._socket.sendall(HEADER.pack(len(payload), len(dictionary)) + payload)
        count, self._receiver_cpu = ANSWER.unpack(_exactly(self._socket, ANSWER.size))
        if count != len(self._lines):
            raise RuntimeError(f"{len(self._lines)} records were sent and {count} arrived")
        self._kept = (self._kept + plain)[-KEPT:]
        self._free = max(now, self._free) + time.perf_counter() - began
        tally = self._tally
        tally.records += count
        tally.wire_bytes += HEADER.size + len(payload)
        tally.largest = max(tally.largest, len(plain))
        tally.batches.append((self._free, self._arrivals))
        self._lines, self._arrivals = [], []


def _receive(other: socket.socket) -> None:
    """Decompress frames and count their lines, until the sender hangs up."""
    kept = b""
    with other:
        while head := _exactly(other, HEADER.size):
            length, size = HEADER.unpack(head)
            dictionary = kept[len(kept) - size :]
            plain = zlib.decompressobj(zdict=dictionary).decompress(_exactly(other, length))
            kept = (kept + plain)[-KEPT:]
            other.sendall(ANSWER.pack(plain.count(b"\n"), time.thread_time()))


def _exactly(end: socket.socket, size: int) -> bytes:
    """`size` bytes; none at all if the other end has hung up."""
    parts: list[bytes] = []
    while size and (part := end.recv(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts) if not size else b""
