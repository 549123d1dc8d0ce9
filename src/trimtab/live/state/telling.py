"""What a tell adds to the journal: what is new in it, or what it corrects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from trimtab.errors import Conflict, NotFound
from trimtab.live.state import history
from trimtab.live.state.commands import Entry
from trimtab.live.state.decision import id_of
from trimtab.live.state.measurement import Plain, Told
from trimtab.live.state.tuner_state import TunerState
from trimtab.live.store.event import Event
from trimtab.live.store.session import Read


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What came of a tell."""

    id: str  # of the decision
    events: tuple[int, ...]  # that it has added; none if all was told before

    @property
    def repeated(self) -> bool:
        """Whether it said nothing new."""
        return not self.events

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain data, for other programs."""
        return {"id": self.id, "events": list(self.events), "repeated": self.repeated}


@dataclass(frozen=True, slots=True)
class Known:
    """A decision, and what was told of it."""

    number: int
    told: Told
    answered: bool
    late: dict[str, Any] | None  # what a tell must carry along if the tuner_state has let go of it


@dataclass(slots=True)
class Memory:
    """What was told of an old decision, as far as events were read."""

    place: Event | None = None  # the last one
    told: Told = field(default_factory=dict)
    answered: bool = False


def known_of(
    tuner_state: TunerState, number: int, read: Read, tuner: str, memory: Memory | None = None
) -> Known:
    """A decision by its number, looked up in the journal if it is an old one.

    Args:
        tuner_state: knows the newest decisions.
        number: of the decision's event.
        read: reads the tuner's events.
        tuner: whose.
        memory: of the last time it was looked up; what comes later is read only.

    Raises:
        NotFound: that was no decision.
    """
    trial = tuner_state.trials.get(number)
    if trial is not None:
        return Known(number, trial.told, trial.answered, None)
    oldest = next(iter(tuner_state.trials), 0)
    found = history.event(read, number) if 1 <= number < oldest else None
    if found is None or found.kind != "decide":
        raise NotFound(f"there is no decision {id_of(tuner, number)}; use the id that ask gave")
    memory = memory or Memory()
    for later in read(after=memory.place or found):
        memory.place = later
        if later.kind in ("tell", "correct") and later.payload["decision"] == number:
            memory.told |= later.payload["metrics"]
            memory.answered = True
    told = dict(memory.told)
    payload = found.payload
    late = {
        "round": payload["round"],
        "state": history.state(read, found),
        "settling": payload.get("settling", False),
        "told": told,
    }
    return Known(number, told, memory.answered, late)


def entries_of(
    known: Known,
    told: Mapping[str, Plain],
    gone: Iterable[str],
    *,
    correct: bool,
    answers: bool = True,
) -> list[Entry]:
    """The events that a tell amounts to: what was not told yet, and what is corrected.

    A tell `answers` the decision even if it says nothing, unless it is of the control arm.

    Raises:
        Conflict: something else was told before, and this is no correction.
    """
    fresh = {name: x for name, x in told.items() if name not in known.told}
    other = {name: x for name, x in told.items() if known.told.get(name, x) != x}
    if other and not correct:
        name, (mean, _, _) = next(iter(other.items()))
        before = known.told[name]
        said = "it was taken back" if before is None else f"it was told as {before[0]:.12g}"
        raise Conflict(
            f"{name} = {mean:.12g}: {said}, with another count or error perhaps; if this is "
            "right, send it as a correction"
        )
    entries: list[Entry] = []
    if fresh or (answers and not known.answered):
        payload: dict[str, Any] = {"decision": known.number, "metrics": fresh}
        late = {} if known.late is None else {"late": known.late}
        entries.append(("tell", payload | late))
    back = [name for name in gone if correct and known.told.get(name) is not None]
    if other or back:
        changed = other | dict.fromkeys(back)
        entries.append(("correct", {"decision": known.number, "metrics": changed}))
    return entries
