"""Anything is away for seconds, minutes or hours, on a clock that is set by hand.

Whatever it was: the journal knows where the system is, no window is used that is too old or in
which other values were played, and the loop goes on by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.live.tuners import SPEC
from tests.run.fakes import SCHEDULE, Bench
from trimtab.live.replay import replay
from trimtab.live.store.faults import Unavailable
from trimtab.run.faults import SourceFault, TargetFault
from trimtab.run.reading import Reading, Window

LENGTHS = [4.0, 45.0, 200.0, 1800.0, 6 * 3600.0]  # seconds; a round takes 70
PHASES = [2.0, 33.0, 68.0]  # seconds after an order was given: before, within, near the end


class Watched(Bench):
    """A bench that remembers when each window was read, and when which values were set."""

    def watch(self) -> None:
        self.reads: list[tuple[Window, datetime]] = []
        self.since: list[tuple[datetime, dict[str, float]]] = []
        read, push = self.source.read, self.target.push

        def reading(window: Window, decision: str) -> Reading:
            found = read(window, decision)
            self.reads.append((window, self.clock()))
            return found

        def pushing(order: Any) -> None:
            push(order)
            self.since.append((self.clock(), dict(order.values)))

        self.source.read, self.target.push = reading, pushing  # type: ignore[method-assign]


def loop_killed(it: Watched, seconds: float) -> None:
    it.journal.close()
    it.clock.wait(seconds=seconds)
    it.begin()


def loop_stopped(it: Watched, seconds: float) -> None:
    it.clock.wait(seconds=seconds)


def source_away(it: Watched, seconds: float) -> None:
    it.source.fault = SourceFault("unreachable", "connection refused")
    it.steps(seconds)
    it.source.fault = None


def target_away(it: Watched, seconds: float) -> None:
    it.target.fault = TargetFault("unreachable", "connection refused")
    it.steps(seconds)
    it.target.fault = None


@contextmanager
def patched(journal: Any, names: tuple[str, ...]) -> Iterator[None]:
    def away(*arguments: object, **options: object) -> Any:
        raise Unavailable("the database is away")

    for name in names:
        setattr(journal, name, away)
    try:
        yield
    finally:
        for name in names:
            delattr(journal, name)


def store_away(it: Watched, seconds: float) -> None:
    with patched(it.journal, ("append", "decide", "events")):
        it.steps(seconds)


FAULTS = [loop_killed, loop_stopped, source_away, target_away, store_away]


@pytest.mark.parametrize("seconds", LENGTHS)
@pytest.mark.parametrize("fault", FAULTS)
def test_it_goes_on_whatever_was_away_and_for_how_long(
    tmp_path: Path, fault: Callable[[Watched, float], None], seconds: float
) -> None:
    it = Watched(tmp_path, text=SPEC)
    it.watch()
    it.rounds(2)
    for phase, ttl in zip(PHASES, (600.0, 400.0, 700.0), strict=True):
        it.tuner.override({"ttl": ttl})  # something is always under way
        it.steps(phase)
        tells = len(it.kinds("tell"))
        fault(it, seconds)
        if fault is not loop_stopped and fault is not loop_killed:
            assert len(it.kinds("tell")) <= tells + 1
        told, back = len(it.kinds("tell")), it.clock()
        it.steps(3 * SCHEDULE.round)  # the wait after the last fault is no longer than a round
        assert len(it.kinds("tell")) > told, it.lines[-5:]
        assert it.loop.stuck is None
        assert it.agree()
        assert it.system.values["ttl"] == pytest.approx(ttl)
        late = timedelta(seconds=SCHEDULE.delay + SCHEDULE.patience)
        assert all(at - window.end <= late for window, at in it.reads)
        assert any(window.end > back for window, _ in it.reads)
    for window, _ in it.reads:  # all of a window was played with the same values
        assert not [at for at, _ in it.since[1:] if window.begin < at < window.end]
    assert replay(it.journal, "shop").same
    it.journal.close()
