"""The views of `trimtab report` for the page, made anew as often as they are worth it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from trimtab.live.tuner import Tuner
from trimtab.plot.page import Section
from trimtab.plot.report import sections_of

SECONDS = 2.0  # between two makings for one tuner, at least
SHARE = 10.0  # a figure stays for at least this number of times the CPU time that it took,
LONGEST = 20.0  # seconds, the longest that new figures are waited for
MOST = 64  # tuners whose views are kept
ELSEWHERE = ("now",)  # the page itself shows it, always fresh


@dataclass(frozen=True)
class _Made:
    event: int  # the last one in it
    at: float
    took: float  # seconds of CPU: others may have kept this thread waiting
    sections: list[Section]


class Figures:
    """Views by tuner: those that were made last, unless there are events and time for new ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: OrderedDict[str, _Made] = OrderedDict()
        self._making: set[str] = set()

    def sections(self, tuner: Tuner) -> list[Section]:
        """The views of the tuner."""
        event, now, began = tuner.status().events, time.monotonic(), time.thread_time()
        with self._lock:
            made = self._made.get(tuner.name)
            if made is not None and not self._due(tuner.name, made, event, now):
                return made.sections
            self._making.add(tuner.name)
        try:
            sections = [each for each in sections_of(tuner) if each.key not in ELSEWHERE]
        finally:
            with self._lock:
                self._making.discard(tuner.name)
        took = time.thread_time() - began
        with self._lock:
            self._made[tuner.name] = _Made(event, time.monotonic(), took, sections)
            self._made.move_to_end(tuner.name)
            while len(self._made) > MOST:
                self._made.popitem(last=False)
        return sections

    def _due(self, name: str, made: _Made, event: int, now: float) -> bool:
        pause = min(max(SECONDS, SHARE * made.took), LONGEST)
        return event != made.event and now - made.at >= pause and name not in self._making
