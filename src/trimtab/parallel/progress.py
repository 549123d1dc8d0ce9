"""A bar that shows how far something is, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Advance(Protocol):
    """What moves a bar."""

    def __call__(self, done: float, note: str = "") -> None:
        """Say what has been done since the last call, and what to show beside the bar."""


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.3g} {task.fields['unit']}/s")


@contextmanager
def progress_bar(
    what: str, *, total: float = 1.0, done: float = 0.0, unit: str = "", shown: bool | None = None
) -> Iterator[Advance]:
    """A bar of what goes on; with a unit it counts, otherwise it shows the part that is done.

    It is shown by default if standard error is a terminal.
    """
    if shown is None:
        shown = sys.stderr.isatty()
    if not shown:
        yield lambda done, note="": None
        return
    counted = (MofNCompleteColumn(), _Rate()) if unit else (TaskProgressColumn(),)
    with Progress(
        TextColumn("{task.description:<14}"),
        BarColumn(),
        *counted,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
    ) as progress:
        task = progress.add_task(what, total=total, note="", unit=unit)
        progress.update(task, completed=done)

        def advance(done: float, note: str = "") -> None:
            progress.update(task, advance=done, note=note)

        yield advance
