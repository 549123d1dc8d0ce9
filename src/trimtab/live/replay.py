"""A journal, played again: does it still lead to the decisions that were made?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from trimtab.errors import NotFound
from trimtab.live.correcting import replayed
from trimtab.live.planning import decide
from trimtab.live.state.projection import Projection
from trimtab.live.store.event import canonical, id_of, microseconds
from trimtab.live.store.journal import Journal
from trimtab.live.store.snapshot_table import Snapshot


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What came of playing a journal again."""

    tuner: str
    events: int
    decisions: int
    tells: int
    differing: tuple[str, ...]  # decisions that come out otherwise now, by this version

    @property
    def same(self) -> bool:
        """Whether every decision comes out as it was made, to the bit."""
        return not self.differing

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data, for other programs."""
        return asdict(self) | {"differing": list(self.differing), "same": self.same}


def _none(most: int) -> Iterator[Snapshot]:
    """No snapshot: everything is played again."""
    return iter(())


def replay(journal: Journal, tuner: str) -> Replay:
    """Play a tuner's journal again from its first event, and make every decision anew.

    Raises:
        NotFound: the journal has no such tuner.
    """
    read = partial(journal.events, tuner)
    projection: Projection | None = None
    decisions, differing = 0, []
    for event in read():
        if projection is None:
            projection = Projection.begun(event)
            continue
        if event.kind == "decide":
            now = microseconds(event.at)
            payload = decide(
                projection.tuner_state, projection.learned, event.payload["client"], now
            )
            if "actor" in event.payload:
                payload["actor"] = event.payload["actor"]
            decisions += 1
            if canonical(payload) != event.text:
                differing.append(id_of(tuner, event.number))
        if projection.replays(event):
            projection = replayed(projection.tuner_state, read, _none, event)
        else:
            projection.take(event)
    if projection is None:
        raise NotFound(f"there is no tuner {tuner!r} in this store")
    return Replay(
        tuner=tuner,
        events=projection.number,
        decisions=decisions,
        tells=projection.tuner_state.tells,
        differing=tuple(differing),
    )
