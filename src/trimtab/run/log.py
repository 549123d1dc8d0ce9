"""Logs of a run: one line per happening, for people or for machines, without secrets."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

from trimtab.live.spec.connect.environment import Secrets

Level = Literal["debug", "info", "warn", "error"]
LEVELS: tuple[Level, ...] = ("debug", "info", "warn", "error")


@dataclass
class Log:
    """Writes lines such as `2026-05-06T12:00:00Z warn source-fault code=timeout text="..."`.

    With `as_json` each line is an object with `at`, `level`, `event` and the same fields.

    Args:
        stream: where to; standard error by default.
        as_json: for machines.
        least: lines below this level are left out.
        secrets: masked in every line.
        clock: the time.
    """

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    as_json: bool = False
    least: Level = "info"
    secrets: Secrets = field(default_factory=lambda: Secrets([]))
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    constant: Mapping[str, Any] = field(default_factory=dict)  # in every line, such as the tuner

    def line(self, level: Level, event: str, **fields: Any) -> None:
        """Write one line; fields that are None are left out."""
        if LEVELS.index(level) < LEVELS.index(self.least):
            return
        given = {key: x for key, x in {**self.constant, **fields}.items() if x is not None}
        at = self.clock().astimezone(UTC).isoformat(timespec="milliseconds")
        at = at.replace("+00:00", "Z")
        if self.as_json:
            text = json.dumps({"at": at, "level": level, "event": event, **given}, default=str)
        else:
            parts = (f"{key}={_shown(x)}" for key, x in given.items())
            text = " ".join((at, f"{level:<5}", event, *parts))
        self.stream.write(self.secrets.masked(text) + "\n")
        self.stream.flush()

    def info(self, event: str, **fields: Any) -> None:
        """Something that is as it should be."""
        self.line("info", event, **fields)

    def warn(self, event: str, **fields: Any) -> None:
        """Something that may get well by itself."""
        self.line("warn", event, **fields)

    def error(self, event: str, **fields: Any) -> None:
        """Something that somebody should look at."""
        self.line("error", event, **fields)


def _shown(value: Any) -> str:
    """A value on one line; quoted where it has blanks.

    >>> _shown(0.25), _shown("two words"), _shown({"ttl": 300.0})
    ('0.25', '"two words"', 'ttl:300')
    """
    if isinstance(value, Mapping):
        return ",".join(f"{key}:{_shown(x)}" for key, x in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ",".join(_shown(x) for x in value) or "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    plain = text.isprintable() and text and not set(text) & set(' "=')
    return text if plain else json.dumps(text, ensure_ascii=False)
