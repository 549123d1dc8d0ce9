"""Which stretch of time is measured next, and how late its metrics may be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from trimtab.live.spec.connect.connection import Source
from trimtab.live.spec.knob import Knob
from trimtab.run.reading import Window
from trimtab.run.sources.opening import seconds

FREQUENT = 5.0  # seconds between two checks for orders, at most
LEAST = 0.1  # seconds


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The times of a source, in seconds."""

    window: float
    delay: float  # after a window its metrics are complete
    patience: float  # for which they may be late

    @classmethod
    def of(cls, source: Source) -> Schedule:
        """The schedule that a spec's source has."""
        window = seconds(source.window, 60.0)
        return cls(
            window=window,
            delay=seconds(source.delay, 0.0),
            patience=seconds(source.patience, window),
        )

    @property
    def poll(self) -> float:
        """Seconds between two checks while something is awaited."""
        return min(max(self.window / 4.0, LEAST), FREQUENT)

    @property
    def round(self) -> float:
        """Seconds that a round may take before something is wrong."""
        return self.window + self.delay + self.patience

    def ready(self, window: Window) -> datetime:
        """When the metrics of a window should be complete."""
        return window.end + timedelta(seconds=self.delay)

    def deadline(self, window: Window) -> datetime:
        """Until when they may be late."""
        return self.ready(window) + timedelta(seconds=self.patience)

    def next(self, begin: datetime, steady: datetime) -> Window:
        """The first window from `begin` on that is either settled throughout or not at all.

        Metrics from before `steady` are not learned from, but guardrails are judged by them at
        once. So a window that would end, with all its delay, after that time begins then.
        """
        length = timedelta(seconds=self.window)
        told = begin + length + timedelta(seconds=self.delay + 2.0 * self.poll)
        first = steady if begin < steady < told else begin
        return Window(first, first + length)

    def latest(self, now: datetime) -> Window:
        """The window that has just become complete."""
        end = now - timedelta(seconds=self.delay)
        return Window(end - timedelta(seconds=self.window), end)


def settling(knobs: Iterable[Knob]) -> timedelta:
    """How long after a move of these knobs nothing is learned; rounds are the tuner's business."""
    times = [knob.stability.stabilize_for for knob in knobs]
    return timedelta(seconds=max((seconds(each, 0.0) for each in times if each), default=0.0))
