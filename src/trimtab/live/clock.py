"""The time of events: by the host's clock, which the clock of the store's server has to confirm."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from trimtab.live.store.faults import Unavailable
from trimtab.live.store.journal import Journal

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
