"""The loop: what the tuner wants, what the system has, and what is done about the difference.

`Loop.step` reads the decision, the target and the clock, does what is due, and says when to call
it again. It never sleeps. It remembers nothing that matters: a loop that starts again (after a
kill, on another machine) finds the open decision in the journal and the values at the target, and
goes on from there.

::

    decide -> set values, read back, record -> let the window pass -> read metrics -> tell
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from trimtab.errors import Conflict, InvalidInput
from trimtab.live.state.decision import Decision
from trimtab.live.store.faults import Unavailable
from trimtab.live.store.journal import Journal
from trimtab.live.tuner import Tuner
from trimtab.run.backoff import Backoff
from trimtab.run.faults import SourceFault, TargetFault
from trimtab.run.log import Log
from trimtab.run.placing import Place, Placing
from trimtab.run.reading import Reading, Source, Window
from trimtab.run.schedule import Schedule, settling
from trimtab.run.targets.target import Target

STUCK = 3  # rounds without metrics, or without a target


class Observer(Protocol):
    """What is told of every step of a loop: the metrics of the loop itself, notices."""

    def decided(self, decision: Decision) -> None:
        """There is a new decision."""

    def told(self, metrics: Mapping[str, Any], at: datetime) -> None:
        """A window was measured and told."""

    def failed(self, where: str, code: str) -> None:
        """The source, the target, the store or a single metric did not work."""

    def stepped(self, loop: Loop) -> None:
        """A step is over, and the store works."""


class Loop:
    """One tuner, its source and its target.

    Args:
        tuner: decides; it and the loop share the journal.
        journal: of the tuner.
        source: of metrics.
        target: for values.
        schedule: when a window is measured.
        attempts: to set values, after which the tuner stays where the system is.
        clock: the time.
        log: what happens.
        observers: who else wants to know.
        once: whether it lives for one round only: it then takes the last window that fits.
        dry: values are not set.
    """

    def __init__(
        self,
        tuner: Tuner,
        journal: Journal,
        source: Source,
        target: Target,
        *,
        schedule: Schedule,
        attempts: int = 4,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        log: Log | None = None,
        observers: tuple[Observer, ...] = (),
        once: bool = False,
        dry: bool = False,
    ) -> None:
        self.tuner, self.journal, self.schedule = tuner, journal, schedule
        self._source, self._clock, self._observers = source, clock, observers
        self._log, self._once = log or Log(), once
        self._placing = Placing(
            tuner, journal, target, attempts=attempts, clock=clock, log=self._log, dry=dry
        )
        self._backoffs = {
            name: Backoff.for_rounds(schedule.round) for name in ("source", "target", "store")
        }
        self._window: Window | None = None
        self._partial: Reading | None = None  # what is there of a window that is not complete
        self._measured = clock()  # the end of the last window
        self._why = "nothing was measured yet"
        self.trouble = False  # whether the last step met a fault, or missed a metric
        self.decision: Decision | None = None  # the one that is being played
        self.heard = clock()  # when a round was last complete; when it began if none was
        self.stuck: str | None = None  # why nothing goes on

    # A step.

    def step(self) -> float:
        """Do what is due; how many seconds until something may be due again."""
        self.trouble = False
        try:
            wait = self._guarded()
            for observer in self._observers:
                observer.stepped(self)
            self._backoffs["store"].worked()
            return wait
        except Unavailable as error:  # nobody knows whether it was done; the same again is safe
            return self._trouble("store", "unavailable", str(error))

    def _guarded(self) -> float:
        try:
            return self._reconcile(self._clock())
        except SourceFault as fault:
            return self._trouble("source", fault.code, str(fault))
        except TargetFault as fault:
            wait = self._trouble("target", fault.code, str(fault))
            self._window = self._partial = None
            try:
                self._placing.failed(self.decision, fault)
            except TargetFault as other:
                return self._trouble("target", other.code, str(other))
            return wait

    def _reconcile(self, now: datetime) -> float:
        decision, placing = self._asked(), self._placing
        if placing.place is None or placing.place.decision != decision.id:
            before = placing.place
            if not placing.settle(decision, now):
                return 0.0  # it is out of date: ask again
            self._backoffs["target"].worked()
            if before is None or decision.changed:
                self._window = self._partial = None
        window = self._next_window(placing.place, decision, now)
        ready = self.schedule.ready(window)
        if now < ready:
            return min((ready - now).total_seconds(), self.schedule.poll)
        if now > self.schedule.deadline(window):
            return self._expired(decision, window, now)
        if not placing.holds(decision):
            self._window = self._partial = None
            return 0.0
        reading = self._source.read(window, decision.id)
        self._backoffs["source"].worked()
        return self._wait(reading, window) if reading.missing else self._tell(decision, reading)

    def _asked(self) -> Decision:
        """The decision to be played."""
        decision = self.tuner.ask()
        if self.decision is None or decision.id != self.decision.id:
            self.decision = decision
            self._log.info(
                "decided",
                decision=decision.id,
                reason=decision.reason,
                set={name: decision.values[name] for name in decision.changed} or None,
                notes=decision.notes or None,
                proposal=decision.proposal,
            )
            for observer in self._observers:
                observer.decided(decision)
        return decision

    # Metrics.

    def _next_window(self, place: Place | None, decision: Decision, now: datetime) -> Window:
        """The window that is being measured; a new one follows the last one, if that is recent."""
        if self._window is None:
            self._partial = None
            steady = now if place is None else place.steady
            recent = now - timedelta(seconds=self.schedule.delay + self.schedule.poll)
            begin = max(recent, self._measured, now if place is None else place.at)
            latest = self.schedule.latest(now)
            if not self._once:
                self._window = self.schedule.next(begin, steady)
            elif latest.begin >= max(steady, decision.at):
                self._window = latest
            else:
                self._window = self.schedule.next(max(steady, decision.at), steady)
        return self._window

    def _wait(self, reading: Reading, window: Window) -> float:
        """Metrics are missing: they may be late."""
        if self._partial is None or reading.missing.keys() != self._partial.missing.keys():
            until = self.schedule.deadline(window).isoformat(timespec="seconds")
            self._log.warn("waiting", until=until, missing=dict(reading.missing))
        self._partial = reading
        self._why = "; ".join(f"{name}: {why}" for name, why in reading.missing.items())
        for name in reading.missing:
            self._failed("metric", name)
        self.trouble = True
        return self.schedule.poll

    def _expired(self, decision: Decision, window: Window, now: datetime) -> float:
        """The window's metrics are too late: what is there is told, and a new window begins."""
        partial = self._partial
        if partial is not None and partial.metrics:
            wait = self._tell(decision, partial)
        else:
            self._log.warn("window-dropped", decision=decision.id, why=self._why)
            self._window = self._partial = None
            wait = 0.0
        self._measured = now
        return wait

    def _tell(self, decision: Decision, reading: Reading) -> float:
        place, window, now = self._placing.place, self._window, self._clock()
        self._window = self._partial = None
        if window is not None:
            self._measured = max(self._measured, window.end)
            early = place is not None and window.begin < place.steady
            if early and place is not None and now >= place.unsteady:
                return 0.0  # the system was settling, and the tuner would learn from it now
        try:
            self.tuner.tell(decision.id, reading.metrics)
        except Conflict as error:
            self._log.warn("told-by-others", decision=decision.id, text=str(error))
            return 0.0
        except InvalidInput as error:
            raise SourceFault("value", str(error)) from None
        missing = sorted(reading.missing) or None
        self._log.info("told", decision=decision.id, metrics=reading.metrics, missing=missing)
        if missing is None:
            self.heard, self._why, self.stuck = now, "", None
        for observer in self._observers:
            observer.told(reading.metrics, now)
        return 0.0

    # What others see.

    def adopt(self, tuner: Tuner) -> None:
        """Go on with a tuner of the same journal whose spec was read anew."""
        self.tuner = self._placing.tuner = tuner
        self._log.info("spec-read", tuner=tuner.name)

    def _trouble(self, where: str, code: str, text: str) -> float:
        """Seconds to wait after a fault."""
        wait = self._backoffs[where].failed()
        self.trouble = True
        self._why = f"{where}: {text}"
        attempt = self._placing.tries if where == "target" else None
        self._log.warn(f"{where}-fault", code=code, text=text, attempt=attempt, retry_in=wait)
        self._failed(where, code)
        return wait

    def _failed(self, where: str, code: str) -> None:
        settle = settling(self.tuner.spec.knobs)
        quiet = self._clock() - self.heard - settle
        if self.stuck is None and quiet > timedelta(seconds=STUCK * self.schedule.round):
            self.stuck = self._why
            self._log.error("stuck", seconds=round(quiet.total_seconds()), why=self._why)
        for observer in self._observers:
            observer.failed(where, code)
