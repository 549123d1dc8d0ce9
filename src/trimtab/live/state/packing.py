"""The content of a snapshot: plain data, which needs no numerics to be read, and arrays.

::

    trimtab + one byte    what begins every content
    8 bytes               the length of the next part
    zlib                  JSON: plain data; of every array its type, shape and place
    zlib                  the arrays' bytes, one after another

Nothing in it is ever executed. Plain data may be read without the arrays, and scalars are plain.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from math import prod
from typing import Any

MAGIC = b"trimtab\x05"
LENGTH = struct.Struct(">Q")
LEVEL = 1  # of compression: higher ones take longer than they save
KINDS = "biuf"  # of arrays: numbers and truth values


def packed(plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """Both parts as bytes."""
    import numpy as np

    places: dict[str, Any] = {}
    parts: list[bytes] = []
    offset = 0
    for name, value in arrays.items():
        array = np.asarray(value)
        if array.ndim == 0:
            places[name] = array.item()
            continue
        places[name] = [array.dtype.str, array.shape, offset]
        parts.append(np.ascontiguousarray(array).tobytes())
        offset += len(parts[-1])
    head = zlib.compress(json.dumps({"plain": plain, "arrays": places}).encode(), LEVEL)
    return MAGIC + LENGTH.pack(len(head)) + head + zlib.compress(b"".join(parts), LEVEL)


def plain_of(content: bytes) -> dict[str, Any]:
    """The plain part.

    Raises:
        ValueError: it is not what `packed` gives.
    """
    plain: dict[str, Any] = _head(content)[0]["plain"]
    return plain


def arrays_of(content: bytes) -> dict[str, Any]:
    """The arrays, and the scalars among them.

    Raises:
        ValueError: it is not what `packed` gives.
    """
    import numpy as np

    head, end = _head(content)
    try:
        body = zlib.decompress(content[end:])
    except zlib.error as error:
        raise ValueError(f"its arrays cannot be unpacked: {error}") from None
    found: dict[str, Any] = {}
    for name, place in head["arrays"].items():
        if not isinstance(place, list):
            found[name] = place
            continue
        kind, shape, offset = np.dtype(place[0]), place[1], place[2]
        if kind.kind not in KINDS:
            raise ValueError(f"{name} is an array of {kind}")
        values = np.frombuffer(body, kind, count=prod(shape), offset=offset)
        found[name] = values.reshape(shape).copy()
    return found


def _head(content: bytes) -> tuple[dict[str, Any], int]:
    """The first part, and where it ends."""
    begin = len(MAGIC) + LENGTH.size
    if not content.startswith(MAGIC) or len(content) < begin:
        raise ValueError("it has another format")
    end = begin + LENGTH.unpack_from(content, len(MAGIC))[0]
    try:
        head: dict[str, Any] = json.loads(zlib.decompress(content[begin:end]))
    except zlib.error as error:
        raise ValueError(f"its plain part cannot be unpacked: {error}") from None
    return head, end
