"""The head of a tuner's list: how many events there are, and the digest of the last one.

It is written in the transaction that appends. So what is read can be compared with it: a list that
ends before its head has lost events, whatever the reason. Each row has a seal of its own, because
a name that was changed by a flipped bit would look like a tuner that is not there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.live.store.event import GENESIS, Event
from trimtab.live.store.faults import Damaged

COLUMNS = "id, name, events, digest, seal"


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a tuner's list."""

    id: int  # in this store
    tuner: str
    events: int
    digest: bytes

    @property
    def seal(self) -> bytes:
        """What is stored beside the row to recognise it by."""
        fields = [self.id, self.tuner, self.events, self.digest.hex()]
        return hashlib.sha256(json.dumps(fields).encode()).digest()

    def after(self, events: Sequence[Event]) -> Head:
        """The head when these events have been appended."""
        return Head(self.id, self.tuner, events[-1].number, events[-1].digest)


def first(id: int, tuner: str) -> Head:
    """The head of an empty list."""
    return Head(id, tuner, 0, GENESIS)


def head_of(row: Sequence[Any], store: str) -> Head:
    """The head in a row of COLUMNS.

    Raises:
        Damaged: the row is not what was written.
    """
    id, name, events, digest, seal = row
    plain = isinstance(name, str) and isinstance(events, int) and isinstance(digest, bytes)
    if plain:
        head = Head(id, name, events, digest)
        if head.seal == seal:
            return head
    raise Damaged(
        f"{store}: the row of tuner {id} ({name!r}) in trimtab_tuners does not match its seal: it "
        "was changed"
    )
