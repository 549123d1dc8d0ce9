"""Corrections: what was learned from a wrong measurement is learned again, from the right one.

A correction is recorded by a `correct` event, which changes nothing yet. Whoever recorded it plays
the events after the corrected decision again, from the nearest snapshot before it, while everybody
goes on deciding. When nothing is missing any more an `amend` event says that the corrections up to
a number are in effect, and the snapshot that comes with it says what that amounts to. So nobody
waits for a correction but the one who makes it, and every decision is still a function of the
events before it.

A `spec` event with other ranges, weights, noise or prices has all events read again as well, from
the first one on: metrics are recorded as they were told, so that what was learned is what would
have been learned under the new spec, at the states where the system was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trimtab.live.spec.spec import Spec
from trimtab.live.state.measurement import Plain
from trimtab.live.state.projection import FOREIGN, Projection, foreign
from trimtab.live.state.reducer import Reading, corrected, spec_in
from trimtab.live.state.tuner_state import TunerState
from trimtab.live.store.event import Event
from trimtab.live.store.session import Read
from trimtab.live.store.snapshot_table import Snapshot

Snapshots = Callable[[int], Iterator[Snapshot]]  # up to an event, newest first


def outstanding(tuner_state: TunerState) -> int:
    """The last correction that is recorded and not in effect, 0 if there is none."""
    last = tuner_state.corrected[-1][0] if tuner_state.corrected else 0
    return last if last > tuner_state.amended else 0


def amended(
    tuner_state: TunerState,
    read: Read,
    snapshots: Snapshots,
    *,
    through: int,
    last: int,
    values: Spec | None = None,
) -> tuple[Projection, Reading]:
    """The projection after event `last` with the corrections up to `through`; how it was read.

    Args:
        tuner_state: knows which corrections there are.
        read: reads the tuner's events.
        snapshots: gives its snapshots.
        through: the last correction to take in.
        last: the last event to take in.
        values: the spec whose ranges, weights, noise and prices count; by default that of now.
    """
    values = values or tuner_state.spec
    fresh = _nearest(tuner_state, snapshots, through, last, values)
    after = 0 if fresh is None else fresh.place
    corrections: dict[tuple[int, str], Plain | None] = {}
    for event in read(after=after):
        if event.number > through:
            break
        if event.kind == "correct":
            try:
                corrections |= corrected(event)
            except FOREIGN as error:
                raise foreign(event, error) from error
    reading = Reading(corrections, values)
    for event in read(after=after):
        if event.number > last:
            break
        if fresh is None:
            fresh = Projection.begun(event, reading)
        else:
            fresh.take(event, reading)
    if fresh is None:
        raise RuntimeError("a tuner that has no events is read again")
    return fresh, reading


def replayed(tuner_state: TunerState, read: Read, snapshots: Snapshots, event: Event) -> Projection:
    """The projection after an event that has all of them read again."""
    if event.kind == "spec":
        number, values = tuner_state.amended, spec_in(event.payload)
    else:
        number, values = through(event), tuner_state.spec
    fresh, _ = amended(
        tuner_state, read, snapshots, through=number, last=event.number, values=values
    )
    return fresh


def through(event: Event) -> int:
    """The last correction that is in effect after an `amend` event."""
    try:
        number = event.payload["through"]
        if isinstance(number, int) and not isinstance(number, bool):
            return number
        raise TypeError(f"through = {number!r}")
    except FOREIGN as error:
        raise foreign(event, error) from error


def _nearest(
    tuner_state: TunerState, snapshots: Snapshots, through: int, last: int, values: Spec
) -> Projection | None:
    """The newest snapshot in which nothing is to be corrected or valued otherwise any more."""
    for snapshot in snapshots(last):
        if all(
            number <= snapshot.through or decision > snapshot.number
            for number, decision in tuner_state.corrected
            if number <= through
        ):
            found = Projection.from_snapshot(snapshot)
            if found is not None and found.tuner_state.spec.is_valued_as(values):
                return found
    return None
