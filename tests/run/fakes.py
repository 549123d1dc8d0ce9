"""A system without sleeping: a clock that is set by hand, a source and a target that can fail."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import trimtab as tt
from tests.live.tuners import SPEC, Clock, world
from trimtab.live import Spec
from trimtab.live.store.journal import Journal
from trimtab.live.store.opening import open_journal
from trimtab.run.faults import SourceFault, TargetFault
from trimtab.run.log import Log
from trimtab.run.loop import Loop, Observer
from trimtab.run.reading import Reading, Window, reading_of
from trimtab.run.schedule import Schedule
from trimtab.run.targets.target import Order

SCHEDULE = Schedule(window=60.0, delay=10.0, patience=120.0)


class System:
    """Knobs that somebody has set, and what that leads to."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values: dict[str, float] = dict(values)
        self.metrics: Callable[[], dict[str, Any]] = lambda: world(
            self.values, np.random.default_rng(self.windows)
        )
        self.windows = 0


class FakeSource:
    """Says what the system does; a fault or a missing metric can be ordered."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.fault: SourceFault | None = None
        self.instead: dict[str, Any] = {}
        self.asked: list[Window] = []

    def read(self, window: Window, decision: str) -> Reading:
        if self.fault is not None:
            raise self.fault
        self.asked.append(window)
        self.system.windows += 1
        return reading_of(self.system.metrics() | self.instead)

    def close(self) -> None:
        pass


class FakeTarget:
    """Sets the system's values; faults can be ordered, before or after the effect."""

    def __init__(self, system: System, *, readable: bool = True) -> None:
        self.system, self.readable = system, readable
        self.fault: TargetFault | None = None
        self.after: TargetFault | None = None  # values are set, and then it fails
        self.orders: list[Order] = []

    def push(self, order: Order) -> None:
        if self.fault is not None:
            raise self.fault
        self.orders.append(order)
        self.system.values = dict(order.values)
        if self.after is not None:
            raise self.after

    def read(self) -> dict[str, float]:
        if self.fault is not None:
            raise self.fault
        return dict(self.system.values)

    def close(self) -> None:
        pass


class Bench:
    """A loop with everything around it."""

    def __init__(
        self,
        folder: Path,
        *,
        text: str = SPEC,
        readable: bool = True,
        schedule: Schedule = SCHEDULE,
        observers: tuple[Observer, ...] = (),
        **options: Any,
    ) -> None:
        self.spec, self.clock = Spec.parse(text), Clock()
        self.system = System(self.spec.values(self.spec.start))
        self.source, self.target = (
            FakeSource(self.system),
            FakeTarget(self.system, readable=readable),
        )
        self.path, self.written = str(folder / "a.db"), io.StringIO()
        self.schedule, self.observers, self.options = schedule, observers, options
        self.log = Log(stream=self.written, clock=self.clock)
        self.begin()

    def begin(self) -> None:
        """A new process: nothing is left of the one before but the journal and the system."""
        self.journal: Journal = open_journal(self.path)
        self.tuner = tt.Tuner(self.spec, storage=self.journal, clock=self.clock)
        self.loop = Loop(
            self.tuner,
            self.journal,
            self.source,
            self.target,
            schedule=self.schedule,
            clock=self.clock,
            log=self.log,
            observers=self.observers,
            **self.options,
        )

    def steps(self, seconds: float) -> None:
        """As many steps as this much time has room for."""
        end = self.clock.now.timestamp() + seconds
        while self.clock.now.timestamp() < end:
            wait = max(self.loop.step(), 0.001)
            self.clock.wait(seconds=min(wait, max(end - self.clock.now.timestamp(), 0.001)))

    def rounds(self, count: int) -> None:
        """More decisions, this many; `status` would learn anew at every step."""
        wanted = self.tuner.status().rounds + count
        while self.tuner._projection.tuner_state.round < wanted:
            self.clock.wait(seconds=max(self.loop.step(), 0.001))

    @property
    def lines(self) -> list[str]:
        """What was logged, without times."""
        return [line.partition(" ")[2] for line in self.written.getvalue().splitlines()]

    def kinds(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of all events of a kind."""
        return [e.payload for e in self.journal.events("shop") if e.kind == kind]

    def agree(self) -> bool:
        """Whether the journal knows where the system is."""
        known = self.tuner.status().values
        return all(abs(known[k] - x) <= 1e-6 * abs(x) for k, x in self.system.values.items())


@contextmanager
def bench(folder: Path, **options: Any) -> Iterator[Bench]:
    """A bench, closed at the end."""
    made = Bench(folder, **options)
    try:
        yield made
    finally:
        made.journal.close()
