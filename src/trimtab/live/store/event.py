"""Events: what a journal stores, one after another, each sealed by a digest.

The digest of an event is the SHA-256 of the digest before it, of the event's own fields and of
its payload. So a change to any event, or a gap, shows at that event, and the last digest stands
for everything before it.

The head of a tuner's list is how many events there are, and the digest of the last one. It is
written in the transaction that appends. So what is read can be compared with it: a list that
ends before its head has lost events, whatever the reason. Each row has a seal of its own, because
a name that was changed by a flipped bit would look like a tuner that is not there.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from trimtab.errors import Conflict, InvalidInput, NotFound
from trimtab.live.store.faults import Damaged

GENESIS = bytes(32)  # stands before the first event
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HEAD_COLUMNS = "id, name, events, digest, seal"
LONGEST_NAME = 200  # characters of a tuner's name, a kind or a key


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An event that has no number yet.

    Args:
        kind: a short word, such as "tell".
        payload: a dict of what JSON can hold. Floats come back bit for bit. NaN and infinities
            are refused, because JSON has none: write None for what is missing.
        at: when it happened, by the caller's clock; with a time zone, kept in UTC.
        key: at most one event of a tuner has this key; None for an event that may be repeated.

    >>> Draft(kind="tell", payload={"losses": [0.1, None]}, at=EPOCH, key="7").text
    '{"losses":[0.1,null]}'
    """

    kind: str
    payload: dict[str, Any] = field(repr=False)
    at: datetime
    key: str | None = None
    text: str = field(init=False)  # the payload as it is stored

    def __post_init__(self) -> None:
        """Refuse what could not be stored, and fix the payload as it is now."""
        word(self.kind, "kind")
        if self.key is not None:
            word(self.key, "key")
        if not isinstance(self.at, datetime) or self.at.utcoffset() is None:
            raise InvalidInput(f"at = {self.at!r}; give a datetime with a time zone, such as UTC")
        object.__setattr__(self, "text", canonical(self.payload))

    def sealed(self, tuner: str, number: int, previous: bytes) -> Event:
        """The event, with its place in the chain."""
        digest = seal(
            previous, tuner, number, self.kind, microseconds(self.at), self.key, self.text
        )
        return Event(tuner, number, self.kind, self.at.astimezone(UTC), self.key, self.text, digest)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a tuner, as the journal holds it."""

    tuner: str
    number: int  # 1, 2, 3, ... without gaps, for each tuner
    kind: str
    at: datetime  # UTC
    key: str | None
    text: str  # the payload, as JSON
    digest: bytes  # covers this event and every one before it

    @property
    def payload(self) -> dict[str, Any]:
        """The payload, read anew from its text: changing it does not change the event."""
        payload: dict[str, Any] = json.loads(self.text)
        return payload

    def repeats(self, draft: Draft) -> bool:
        """Whether the draft says the same; when and by whom does not count, as for a retry."""
        if self.kind != draft.kind:
            return False
        return self.text == draft.text or _unsigned(self.payload) == _unsigned(draft.payload)

    def line(self) -> str:
        """The event as one line of JSON."""
        return json.dumps(
            {
                "tuner": self.tuner,
                "number": self.number,
                "kind": self.kind,
                "at": self.at.isoformat(timespec="microseconds"),
                "key": self.key,
                "payload": self.payload,
                "digest": self.digest.hex(),
            }
        )


def _unsigned(payload: dict[str, Any]) -> str:
    return canonical({key: x for key, x in payload.items() if key != "actor"})


def seal(
    previous: bytes, tuner: str, number: int, kind: str, at: int, key: str | None, text: str
) -> bytes:
    """The digest of an event; `at` in microseconds since 1970."""
    fields = json.dumps([tuner, number, kind, at, key], separators=(",", ":"))
    return hashlib.sha256(previous + fields.encode() + b"\n" + text.encode()).digest()


def unsealed(tuner: str, row: tuple[Any, ...], previous: bytes) -> Event | None:
    """The event of a row (number, kind, at, key, text, digest), or None if it was changed."""
    number, kind, at, key, text, digest = row
    plain = isinstance(kind, str) and isinstance(at, int) and isinstance(text, str)
    if not plain or seal(previous, tuner, number, kind, at, key, text) != digest:
        return None
    return Event(tuner, number, kind, EPOCH + timedelta(microseconds=at), key, text, digest)


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

    def sealed(
        self, drafts: Sequence[Draft], known: dict[str, Event]
    ) -> tuple[list[Event], list[Event]]:
        """The events that the drafts are after this one, and those among them that are new.

        Args:
            drafts: what is to be appended.
            known: earlier events by key, of the keys that the drafts use.

        Raises:
            Conflict: a key was used for something else.
        """
        number, digest = self.events, self.digest
        given: list[Event] = []
        new: list[Event] = []
        for draft in drafts:
            earlier = None if draft.key is None else known.get(draft.key)
            if earlier is not None:
                if not earlier.repeats(draft):
                    raise Conflict(
                        f"the key {draft.key!r} of tuner {self.tuner!r} belongs to event "
                        f"{earlier.number}, which says something else; use a new key"
                    )
                given.append(earlier)
                continue
            event = draft.sealed(self.tuner, number + 1, digest)
            number, digest = event.number, event.digest
            if event.key is not None:
                known[event.key] = event
            new.append(event)
            given.append(event)
        return given, new

    def after(self, events: Sequence[Event]) -> Head:
        """The head when these events have been appended."""
        return Head(self.id, self.tuner, events[-1].number, events[-1].digest)


def first_head(id: int, tuner: str) -> Head:
    """The head of an empty list."""
    return Head(id, tuner, 0, GENESIS)


def head_of(row: Sequence[Any], store: str) -> Head:
    """The head in a row of HEAD_COLUMNS.

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


def id_of(tuner: str, number: int) -> str:
    """The id of the decision that is event `number`.

    >>> id_of("search", 17), number_of("search", "search-17")
    ('search-17', 17)
    """
    return f"{tuner}-{number}"


def number_of(tuner: str, id: object) -> int:
    """The number of the event that a decision's id names.

    Raises:
        NotFound: no id of this tuner's decisions.
    """
    match = re.fullmatch(r"(.*)-([1-9][0-9]{0,17})", id) if isinstance(id, str) else None
    if match is None or match[1] != tuner:
        raise NotFound(f"decision {id!r} is none of tuner {tuner!r}; use the id that ask gave")
    return int(match[2])


def microseconds(at: datetime) -> int:
    """Whole microseconds since 1970, exact."""
    return (at - EPOCH) // timedelta(microseconds=1)


def word(value: str, name: str) -> str:
    """The value, a short printable string: every database holds it as it is."""
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_NAME or not value.isprintable():
        raise InvalidInput(
            f"{name} = {value!r}; give 1 to {LONGEST_NAME} printable characters, no line breaks"
        )
    return value


def canonical(payload: dict[str, Any]) -> str:
    """The payload as ASCII JSON, keys sorted: equal payloads have equal texts."""
    if not isinstance(payload, dict):
        raise InvalidInput(f"payload is a {type(payload).__name__}; give a dict")
    try:
        if wrong := _fault(payload):
            raise InvalidInput(f"payload{wrong}")
        return json.dumps(payload, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise InvalidInput("payload is nested too deeply, or contains itself") from None


def _fault(value: Any) -> str | None:
    """Where the value cannot be JSON, and why; None if it can."""
    if value is None or isinstance(value, bool | int | str):
        return None
    if isinstance(value, float):
        if math.isfinite(value):
            return None
        return f" = {value}; JSON has no such number: write None for what is missing"
    if isinstance(value, list | tuple):
        for i, item in enumerate(value):
            if wrong := _fault(item):
                return f"[{i}]{wrong}"
        return None
    if isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                return f" has the key {name!r}; keys of JSON objects are strings"
            if wrong := _fault(item):
                return f"[{name!r}]{wrong}"
        return None
    return f" is a {type(value).__name__}; use numbers, strings, None, lists and dicts (x.tolist())"
