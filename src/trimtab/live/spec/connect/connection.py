"""What a spec says of the outside: a source of metrics, a target for values, webhooks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trimtab.live.spec.connect.environment import references
from trimtab.live.spec.connect.layout import EVENTS
from trimtab.live.spec.duration import Duration
from trimtab.plain.faults import Fault
from trimtab.registry import suggestion

MINUTE = Duration(1, "m")
TEN_SECONDS = Duration(10, "s")
TIMES = ("window", "delay", "patience", "max_age", "timeout", "step")
PASSWORD = re.compile(r"://[^/?#\s@]*?:(?!\d+[/?#])(\S+)@")  # any characters; no port and path
PRIVATE = re.compile(r"auth|token|key|secret|cookie|password", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where metrics come from, and when a window of them counts."""

    kind: str
    window: Duration = MINUTE
    delay: Duration | None = None  # None: metrics are complete at once
    patience: Duration | None = None  # None: as long as a window
    max_age: Duration | None = None  # None: as long as a window
    timeout: Duration = TEN_SECONDS
    options: Mapping[str, Any] = field(default_factory=dict)  # those of its kind

    def to_dict(self) -> dict[str, Any]:
        """Its table of the spec."""
        return _table(self, ("window", "delay", "patience", "max_age", "timeout"))

    @property
    def texts(self) -> Iterator[str]:
        """Every string that may name environment variables."""
        return _texts(self.options)


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where values go."""

    kind: str
    timeout: Duration = TEN_SECONDS
    attempts: int = 4
    names: Mapping[str, str] = field(default_factory=dict)  # what a knob is called there
    options: Mapping[str, Any] = field(default_factory=dict)  # those of its kind

    def to_dict(self) -> dict[str, Any]:
        """Its table of the spec."""
        return _table(self, ("timeout", "attempts", "names"))

    @property
    def texts(self) -> Iterator[str]:
        """Every string that may name environment variables."""
        return _texts(self.options)


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """Who is told when something happens."""

    url: str
    secret: str | None = None
    events: tuple[str, ...] = EVENTS
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: Duration = TEN_SECONDS

    def to_dict(self) -> dict[str, Any]:
        """Its table of the spec."""
        plain: dict[str, Any] = {"url": self.url, "events": list(self.events)}
        if self.secret is not None:
            plain["secret"] = self.secret
        return plain | {"headers": dict(self.headers), "timeout": self.timeout.plain}

    @property
    def texts(self) -> Iterator[str]:
        """Every string that may name environment variables."""
        return _texts([self.url, self.secret or "", dict(self.headers)])


def source_of(table: Mapping[str, Any]) -> Source:
    """The source that a table describes; the reader has checked it."""
    return Source(**_parts(table, ("window", "delay", "patience", "max_age"), "prometheus"))


def target_of(table: Mapping[str, Any]) -> Target:
    """The target that a table describes."""
    return Target(**_parts(table, ("attempts", "names"), "command"))


def webhook_of(table: Mapping[str, Any]) -> Webhook:
    """The webhook that a table describes."""
    rest: dict[str, Any] = {key: Duration.of(x) if key in TIMES else x for key, x in table.items()}
    return Webhook(**rest | {"events": tuple(rest.get("events", EVENTS))})


def _parts(table: Mapping[str, Any], own: Sequence[str], kind: str) -> dict[str, Any]:
    """The fields of a connection; what is left is an option of its kind."""
    read = {key: Duration.of(x) if key in TIMES else x for key, x in table.items()}
    parts = {key: read.pop(key) for key in ("kind", "timeout", *own) if key in read}
    return {"kind": kind, **parts, "options": read}


def _table(connection: Source | Target, own: Sequence[str]) -> dict[str, Any]:
    fields = {key: getattr(connection, key) for key in own} | dict(connection.options)
    given = {key: x for key, x in fields.items() if x is not None}
    plain = {key: x.plain if isinstance(x, Duration) else x for key, x in given.items()}
    return {"kind": connection.kind, **plain}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _texts(each)


# What only a look at two places, or at what a string means, can tell.


def faults_of(
    path: str,
    table: Mapping[str, Any],
    *,
    knobs: Sequence[str],
    known: Sequence[str],
    needed: Sequence[str],
) -> Iterator[Fault]:
    """What is wrong with a connection beyond its layout.

    Args:
        path: of its table.
        table: as it was read.
        knobs: the names of all knobs.
        known: the names of all objectives and metrics.
        needed: of those, what a window must have.
    """
    yield from _open_secrets(path, table)
    for name in table.get("names", {}):
        if name not in knobs:
            text = f": no such knob; {suggestion(name, list(knobs))}"
            yield Fault(f"{path}.names.{name}", text, structural=False)
    metrics = table.get("metrics", {})
    for key in ("metrics", "aggregate"):
        for name in table.get(key, {}):
            if name not in known:
                text = f": no such objective or metric; {suggestion(name, list(known))}"
                yield Fault(f"{path}.{key}.{name}", text, structural=False)
    if metrics:
        for name in needed:
            if name not in metrics:
                text = f": it is missing; say where {name} comes from"
                yield Fault(f"{path}.metrics.{name}", text, structural=False)
    if "signal" in table and "pid_file" not in table:
        yield Fault(f"{path}.pid_file", ": it is missing; who gets the signal?", structural=False)
    if "hash" in table and "prefix" in table:
        text = ": a hash has no prefix; give one of both"
        yield Fault(f"{path}.prefix", text, structural=False)


def _open_secrets(path: str, table: Mapping[str, Any]) -> Iterator[Fault]:
    """Passwords that stand in the spec, and would stand in the journal."""
    advice = "it would be stored in the journal; write ${NAME} and set that environment variable"
    for key in ("url", "read_url"):
        found = PASSWORD.search(str(table.get(key, "")))
        if found and not references(found[1]):
            yield Fault(f"{path}.{key}", f": there is a password in it, and {advice}", False)
    for name, text in table.get("headers", {}).items():
        if PRIVATE.search(name) and not references(text):
            yield Fault(f"{path}.headers.{name}", f": it looks like a secret; {advice}", False)
