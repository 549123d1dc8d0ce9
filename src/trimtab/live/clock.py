"""The time of events: by the host's clock, which the clock of the store's server has to confirm."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from trimtab.live.store.event import Draft
from trimtab.live.store.faults import Unavailable
from trimtab.live.store.journal import Journal
from trimtab.live.store.session import Session

BOUND = timedelta(hours=1)  # by which a host may be ahead of the server


def utc() -> datetime:
    """The time by this host's clock."""
    return datetime.now(UTC)


def stamp(clock: Callable[[], datetime], journal: Journal) -> datetime:
    """The time for an event of the journal; a clock other than `utc` is taken as it is."""
    at = clock()
    if clock is utc:
        refuse_ahead(at, journal)
    return at


def refuse_ahead(at: datetime, journal: Journal) -> None:
    """Refuse to write at a time that is far ahead: for everybody time would stand still until then.

    Raises:
        Unavailable: the server's clock is more than `BOUND` behind; nothing was written.
    """
    there = journal.time()
    if there is not None and at - there > BOUND:
        raise Unavailable(
            f"the clock of this host says {at:%Y-%m-%d %H:%M:%S} UTC, that of the store's server "
            f"{there:%Y-%m-%d %H:%M:%S}: more than {BOUND} ahead, so nothing was written; set the "
            "clock that is wrong, and call again"
        )


def ahead(journal: Journal) -> dict[str, timedelta]:
    """The tuners whose last event is more than `BOUND` ahead of the clock, and by how much.

    Their time stands still until then: somebody has written with a clock that was wrong.
    """
    now = journal.time() or utc()
    found = {}
    for tuner in journal.tuners():
        for event in journal.events(tuner, after=max(journal.last(tuner) - 1, 0)):
            if event.at - now > BOUND:
                found[tuner] = event.at - now
    return found


def set_right(journal: Journal, tuner: str) -> None:
    """Have the tuner's time go on from now: the event says so, and times to come move with it."""

    def work(session: Session) -> None:
        *_, last = session.events(after=max(journal.last(tuner) - 1, 0))
        now = journal.time() or utc()
        if last.at > now:
            session.append(Draft(kind="clock", payload={"was": last.at.isoformat()}, at=now))

    journal.decide(tuner, work)
