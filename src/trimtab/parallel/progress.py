"""A bar that shows how far something is, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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


PATIENCE = 1.0  # seconds before a bar is worth its lines
REFRESH = 0.1  # seconds between two advances that are passed on


def watched() -> bool:
    """Whether a person sees what is printed: standard error is a terminal, or it is a notebook."""
    return sys.stderr.isatty() or Console().is_jupyter


@contextmanager
def rounds_bar(
    what: str, total: int, *, shown: bool | None = None
) -> Iterator[Callable[[int], None]]:
    """A bar of rounds, to be called with how many were just played; one second late at first.

    It is shown by default where a person watches.
    """
    if shown is None:
        shown = watched()
    if not shown:
        yield lambda rounds: None
        return
    with ExitStack() as stack:
        advance: Advance | None = None
        due, waiting, done = time.monotonic() + PATIENCE, 0, 0

        def note(rounds: int) -> None:
            nonlocal advance, due, waiting, done
            waiting, done = waiting + rounds, done + rounds
            if (now := time.monotonic()) < due and done < total:
                return
            if advance is None:
                if now < due:  # over before anybody could wonder
                    return
                bar = progress_bar(what, total=total, unit="rounds", shown=True)
                advance = stack.enter_context(bar)
            advance(waiting)
            due, waiting = now + REFRESH, 0

        yield note
