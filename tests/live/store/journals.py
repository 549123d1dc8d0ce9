"""What the tests of the journal share."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

from trimtab.live.store.event import Draft
from trimtab.live.store.journal import Journal

AT = datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC)


def tell(x: object, key: str | None = None, at: datetime = AT) -> Draft:
    """A draft that holds x."""
    return Draft(kind="tell", payload={"x": x}, at=at, key=key)


def xs(journal: Journal, tuner: str = "a") -> list[Any]:
    """What was told, in order."""
    return [event.payload["x"] for event in journal.events(tuner)]


def child(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Another process, that runs the program; what it prints can be read line by line."""
    return subprocess.Popen(
        [sys.executable, "-u", "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )
