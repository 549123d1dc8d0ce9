"""A bar that shows how far a sweep is, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

Advance = Callable[[int, int], None]


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.3g} runs/s")


@contextmanager
def progress_bar(total: int, *, done: int, shown: bool | None) -> Iterator[Advance]:
    """A function to be called with how many runs have ended, and how many of them badly."""
    if shown is None:
        shown = sys.stderr.isatty()
    if not shown:
        yield lambda ended, failed: None
        return
    with Progress(
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[trouble]}"),
        console=Console(stderr=True),
    ) as progress:
        task = progress.add_task("runs", total=total, completed=done, trouble="")
        failures = 0

        def advance(ended: int, failed: int) -> None:
            nonlocal failures
            failures += failed
            progress.update(task, advance=ended, trouble=f"{failures} failed" if failures else "")

        yield advance
