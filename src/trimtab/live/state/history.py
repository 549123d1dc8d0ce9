"""What the journal still knows: decisions however old, and the spec they were made under."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from trimtab.errors import Conflict, NotFound
from trimtab.live.spec.spec import Spec
from trimtab.live.state.decision import id_of
from trimtab.live.state.measurement import Told
from trimtab.live.state.reducer import spec_in
from trimtab.live.state.tuner_state import State, TunerState
from trimtab.live.store.event import Event
from trimtab.live.store.session import Read


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


def event(read: Read, number: int) -> Event:
    """The event with this number.

    Raises:
        NotFound: there is none.
    """
    found = next(iter(read(after=number - 1)), None)
    if found is None:
        raise NotFound(f"there is no event {number}")
    return found


def state(read: Read, decision: Event) -> State:
    """The state that a decision deployed, or left deployed."""
    source = decision
    if "state" not in decision.payload:
        source = event(read, decision.payload["since"])
    payload = source.payload
    found: State = spec_in(payload).start_place if source.kind == "begin" else payload["state"]
    return found


def known(
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
    found = event(read, number) if 1 <= number < oldest else None
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
        "state": state(read, found),
        "settling": payload.get("settling", False),
        "told": told,
    }
    return Known(number, told, memory.answered, late)


def differs(old: Spec, new: Spec) -> bool:
    """Whether the spec has changed in what may change.

    Raises:
        Conflict: it has changed in what decides how a tuner learns.
    """
    if old.identity != new.identity:
        raise Conflict(
            f"the journal has a tuner {old.name!r} that learns another problem: its knobs, what "
            "its objectives depend on, basis or policy differ; give this one another name, and "
            "warm it up with the old data"
        )
    return replace(old, storage=new.storage) != new
