"""A tuner's journal, followed and added to: how every call goes.

Any number of processes follow one journal. Each reads what is new, plans by what it knows, and
appends if that was all there is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from trimtab.errors import InvalidInput, TrimtabError
from trimtab.live import correcting
from trimtab.live.clock import BOUND, refuse_ahead, utc
from trimtab.live.state.commands import Entry
from trimtab.live.state.projection import Projection
from trimtab.live.state.reducer import Reading
from trimtab.live.state.tuner_state import TunerState
from trimtab.live.store.database import Step
from trimtab.live.store.event import EPOCH, Draft, Event, microseconds
from trimtab.live.store.faults import Unavailable
from trimtab.live.store.journal import Journal
from trimtab.live.store.session import MakeRows, Place, Read, Session
from trimtab.live.store.snapshot_table import Snapshot

if TYPE_CHECKING:
    from trimtab.live.state.learning.learned import Learned

FIRST_SNAPSHOT, SNAPSHOT_EVERY = 16, 500  # events; between the two at 16, 32, 64 and so on
AGAIN = ("amend", "correct", "spec")  # events after which what was corrected is played anew
LITTLE, MOST_ROUNDS = 4, 100  # events that are taken in under the lock; rounds to get there

# Where a call can be interrupted, beside those of the journal (`database.STEPS`).
STEPS = ("received", "appended", "folded", "before snapshot", "after snapshot")

Plan = Callable[[TunerState, Read, int], list[Entry]]  # of the tuner_state, at a time
Make = Callable[[Read], list[Draft]]  # the plan, as what is to be appended


class Follower:
    """What a journal says of a tuner, kept up to date, and a way to add to it.

    Args:
        name: the tuner's.
        journal: where its events are.
        clock: the time, with a time zone.
        step: called at each of `STEPS`.
    """

    def __init__(
        self, name: str, journal: Journal, *, clock: Callable[[], datetime], step: Step
    ) -> None:
        self.name, self.journal, self.clock = name, journal, clock
        self.projection: Projection
        self._step, self._saved = step, 0
        self._thread = threading.RLock()

    def turn(self) -> threading.RLock:
        """The lock between threads; a forked child is refused before it waits for it."""
        self.journal.refuse_forked()
        return self._thread

    # Reading.

    def begin(self, first: Callable[[], Draft] | None, beside: MakeRows | None = None) -> bool:
        """Take in all there is, the draft if there is nothing; whether there is anything then."""
        for snapshot in self._snapshots(None):
            found = Projection.from_snapshot(snapshot, self._again)
            if found is not None:
                self.projection, self._saved = found, found.number
                break
        else:
            event = next(self.read(), None)
            if event is None:
                if first is None:
                    return False
                event = self.journal.decide(self.name, partial(_begun, first(), beside))
            self.projection = Projection.begun(event)
        self.projection.handed_over = self.journal.handed_over
        self.follow()
        return True

    def _again(self, tuner_state: TunerState, number: int) -> Learned:
        """What was learned up to an event, from the first one on."""
        through = tuner_state.amended
        fresh, _ = correcting.amended(tuner_state, self.read, _none, through=through, last=number)
        return fresh.learned

    def follow(self) -> None:
        """Take in what is new; everything again if the last time was interrupted."""
        if not self.projection.whole:
            self.begin(None)
        else:
            self.projection.follow(self.read, self._amended)

    def read(self, *, after: Place = 0) -> Iterator[Event]:
        """The tuner's events, each verified."""
        return self.journal.events(self.name, after=after)

    def now(self) -> datetime:
        """The clock's time, but never before the last event's."""
        clock = self.clock()
        if not isinstance(clock, datetime) or clock.utcoffset() is None:
            raise InvalidInput(f"the clock gives {clock!r}; give a datetime with a time zone")
        return max(clock, self._last())

    def stamp(self) -> datetime:
        """The time for an event to be appended now; a host that is far ahead is refused.

        A clock that the caller has given is taken as it is: its time may be simulated. The server
        is asked only after some time without events, so that the usual call costs nothing.
        """
        at = self.now()
        if self.clock is utc and at - self._last() > BOUND:
            refuse_ahead(at, self.journal)
        return at

    def _last(self) -> datetime:
        return EPOCH + timedelta(microseconds=self.projection.tuner_state.now)

    # Adding.

    def act(
        self,
        plan: Plan,
        signed: dict[str, str],
        *,
        fresh: bool = False,
        beside: MakeRows | None = None,
    ) -> tuple[Event, ...]:
        """Plan, append and follow; no event if there is nothing to do.

        The plan is made on what is known, and its events are appended if that was all there is. If
        there were other events meanwhile it is made once more, with nobody in between.

        Args:
            plan: what is to be appended.
            signed: what every payload has beside it.
            fresh: whether to read what is new before the first plan, because planning is dear.
            beside: gives the rows that are written with the events.
        """
        with self.turn():
            self._step("received")
            make = partial(self._drafts, plan, signed)
            drafts = [] if fresh else self._tried(make)
            if not drafts:
                self.follow()
                drafts = make(self.read)
            if not drafts:
                return ()
            place = self.projection.place
            events = self.journal.append(self.name, *drafts, after=place, beside=beside)
            while not events:
                self.follow()  # an `amend` takes long, and is not for the lock
                alone = self.journal.decide(self.name, partial(self._alone, make, beside))
                if alone is not None:
                    events = alone
                    break
            self._step("appended")
            if any(event.kind == "spec" for event in events):
                self.projection.extend(events, self._amended)
            elif events:
                self.projection.note(events)
            self._step("folded")
            return events

    def _alone(
        self, make: Make, beside: MakeRows | None, session: Session
    ) -> tuple[Event, ...] | None:
        """Read what is new, plan and append while nobody else can; None if it would take long."""
        new = list(session.events(after=self.projection.place))
        if any(event.kind in ("amend", "spec") for event in new):
            return None
        self.projection.extend(new, self._amended)
        drafts = make(session.events)
        return session.append(*drafts, beside=beside) if drafts else ()

    def _tried(self, make: Make) -> list[Draft]:
        """What the plan amounts to by what is known, nothing if it cannot be made without reading.

        Whether that was all there is shows when it is appended.
        """
        if not self.projection.whole:
            return []
        try:
            return make(self.read)
        except TrimtabError:
            return []

    def _drafts(self, plan: Plan, signed: dict[str, str], read: Read) -> list[Draft]:
        tuner_state, at = self.projection.tuner_state, self.stamp()
        return [
            Draft(kind=kind, payload=payload | signed, at=at)
            for kind, payload in plan(tuner_state, read, microseconds(at))
        ]

    # Corrections.

    def amend(self) -> None:
        """Have every recorded correction take effect; others go on deciding meanwhile."""
        with self.turn():
            while through := correcting.outstanding(self.projection.tuner_state):
                state, last = self.projection.tuner_state, self.projection.number
                fresh, used = correcting.amended(
                    state, self.read, self._snapshots, through=through, last=last
                )
                self._catch_up(fresh, used)
                amend = partial(self._amend, fresh, used, through)
                if not self.journal.decide(self.name, amend):
                    self.follow()  # somebody else was quicker, or has corrected more

    def _catch_up(self, fresh: Projection, used: Reading) -> None:
        """Take in what others have written meanwhile, outside the lock, until little is left."""
        for _ in range(MOST_ROUNDS):
            _ = fresh.learned
            new = list(self.read(after=fresh.place))
            if len(new) <= LITTLE or any(event.kind in AGAIN for event in new):
                return
            for event in new:
                fresh.take(event, used)

    def _amend(self, fresh: Projection, used: Reading, through: int, session: Session) -> bool:
        """Catch up, and say that the corrections are in effect, while nobody else can write."""
        new = list(session.events(after=fresh.place))
        if any(event.kind in AGAIN for event in new):
            return False
        for event in new:
            fresh.take(event, used)
        at = max(self.stamp(), EPOCH + timedelta(microseconds=fresh.tuner_state.now))
        (event,) = session.append(Draft(kind="amend", payload={"through": through}, at=at))
        fresh.take(event, used)
        session.save_snapshot(event.number, fresh.content(), through=through)
        fresh.handed_over = self.journal.handed_over
        self.projection, self._saved = fresh, event.number
        return True

    def _amended(self, tuner_state: TunerState, event: Event) -> Projection:
        """The projection after an event that replays: from the snapshot there, if there is one."""
        for snapshot in self._snapshots(event.number):
            found = Projection.from_snapshot(snapshot) if snapshot.number == event.number else None
            if found is not None:
                return found
            break
        self._saved = event.number - SNAPSHOT_EVERY  # so that others need not read all of it
        return correcting.replayed(tuner_state, self.read, self._snapshots, event)

    # Snapshots.

    def _snapshots(self, most: int | None) -> Iterator[Snapshot]:
        return self.journal.snapshots(self.name, most=most)

    def save(self) -> None:
        """Keep a snapshot now and then; it is a cache, so that a failure is no matter."""
        projection = self.projection
        distance = min(max(self._saved, FIRST_SNAPSHOT), SNAPSHOT_EVERY)
        if projection.number - self._saved >= distance:
            self._step("before snapshot")
            with suppress(Unavailable):
                self.journal.save_snapshot(
                    self.name,
                    number=projection.number,
                    content=projection.content(),
                    through=projection.tuner_state.amended,
                )
                self._saved = projection.number
            self._step("after snapshot")


def _begun(first: Draft, beside: MakeRows | None, session: Session) -> Event:
    """The first event: the draft, unless somebody else has begun."""
    return next(session.events(), None) or session.append(first, beside=beside)[0]


def _none(most: int) -> Iterator[Snapshot]:
    """No snapshot: everything is read."""
    return iter(())
