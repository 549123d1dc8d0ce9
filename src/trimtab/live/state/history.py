"""What the journal still knows: decisions however old, and the spec they were made under."""

from __future__ import annotations

from dataclasses import replace

from trimtab.errors import Conflict, NotFound
from trimtab.live.spec.spec import Spec
from trimtab.live.state.reducer import spec_in
from trimtab.live.state.tuner_state import State
from trimtab.live.store.event import Event
from trimtab.live.store.session import Read


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
