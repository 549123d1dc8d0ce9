"""What people may order: each order as the events it amounts to, none if it is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.errors import Conflict, InvalidInput
from trimtab.live.state.tuner_state import Ledger, State

LONGEST_WHY = 500  # characters of a reason

Entry = tuple[str, dict[str, Any]]  # kind and payload of an event to be


def attach(ledger: Ledger, values: Mapping[str, float]) -> list[Entry]:
    """Somebody has set the system to these values."""
    state = merged(ledger, values)
    return [("attach", {"state": state})] if state != ledger.state else []


def override(ledger: Ledger, values: Mapping[str, float]) -> list[Entry]:
    """Go to these values, and stay there."""
    goal, errand = merged(ledger, values), ledger.errand
    if errand is not None and (errand.kind, errand.goal) == ("manual", goal):
        return []
    return [("override", {"state": goal})]


def pause(ledger: Ledger, why: str) -> list[Entry]:
    """Leave the knobs alone."""
    if not isinstance(why, str) or not why.isprintable() or len(why) > LONGEST_WHY:
        raise InvalidInput(f"why: give at most {LONGEST_WHY} printable characters")
    return [("pause", {"why": why})] if ledger.paused is None else []


def resume(ledger: Ledger) -> list[Entry]:
    """Tune again."""
    idle = ledger.paused is not None or ledger.errand is not None or ledger.wait_until > 0
    return [("resume", {})] if idle else []


def rollback(ledger: Ledger) -> list[Entry]:
    """Go back to the last good state other than this one."""
    if ledger.errand is not None and ledger.errand.kind == "rollback" and ledger.paused:
        return []
    goals = [state for state in ledger.good if state != ledger.state]
    if not goals:
        raise Conflict("no good state other than this one is known; use override")
    return [("rollback", {"state": goals[-1]})]


def merged(ledger: Ledger, values: Mapping[str, float]) -> State:
    """The state with these values; what has its value already stays as it is, to the bit.

    Raises:
        InvalidInput: an unknown knob, or a value out of its range.
    """
    spec, here = ledger.spec, ledger.state
    if not isinstance(values, Mapping):
        raise InvalidInput("values: give a dict, knob by knob")
    now = spec.values(here)
    state = spec.state(now | dict(values)).tolist()
    return [
        x if knob.name in values and values[knob.name] != now[knob.name] else y
        for knob, x, y in zip(spec.knobs, state, here, strict=True)
    ]
