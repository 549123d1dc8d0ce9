"""What people may order: each order as the events it amounts to, none if it is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.errors import Conflict, InvalidInput
from trimtab.live.state.guardrails import best_good
from trimtab.live.state.tuner_state import State, TunerState

LONGEST_WHY = 500  # characters of a reason

Entry = tuple[str, dict[str, Any]]  # kind and payload of an event to be


def attach(tuner_state: TunerState, values: Mapping[str, float]) -> list[Entry]:
    """Somebody has set the system to these values."""
    state = merged(tuner_state, values)
    return [("attach", {"state": state})] if state != tuner_state.state else []


def override(tuner_state: TunerState, values: Mapping[str, float]) -> list[Entry]:
    """Go to these values, and stay there."""
    goal, forced_move = merged(tuner_state, values), tuner_state.forced_move
    if forced_move is not None and (forced_move.kind, forced_move.goal) == ("manual", goal):
        return []
    return [("override", {"state": goal})]


def pause(tuner_state: TunerState, why: str) -> list[Entry]:
    """Leave the knobs alone."""
    said = reason(why)
    return [("pause", {"why": said})] if tuner_state.paused is None else []


def resume(tuner_state: TunerState) -> list[Entry]:
    """Tune again."""
    idle = (
        tuner_state.paused is not None
        or tuner_state.forced_move is not None
        or tuner_state.wait_until > 0
    )
    return [("resume", {})] if idle else []


def rollback(tuner_state: TunerState, best: bool) -> list[Entry]:
    """Go back to the last good state other than this one, or to the best; once until `resume`."""
    which = "best" if best else "last"
    if tuner_state.rolled_back == which:
        return []
    here = tuner_state.state
    goals = [each.state for each in tuner_state.good if each.state != here]
    if best:
        found = best_good(tuner_state)
        if found is None:
            raise Conflict("nothing is known yet of the loss of any good state; leave best out")
        goals = [found.state]
    if not goals:
        raise Conflict("no good state other than this one is known; use override")
    return [("rollback", {"state": goals[-1], "which": which})]


def merged(tuner_state: TunerState, values: Mapping[str, float]) -> State:
    """The state with these values; what has its value already stays as it is, to the bit.

    Raises:
        InvalidInput: an unknown knob, or a value out of its range.
    """
    spec, here = tuner_state.spec, tuner_state.state
    if not isinstance(values, Mapping):
        raise InvalidInput("values: give a dict, knob by knob")
    now = spec.values(here)
    state = spec.place(now | dict(values))
    return [
        x if knob.name in values and values[knob.name] != now[knob.name] else y
        for knob, x, y in zip(spec.knobs, state, here, strict=True)
    ]


def reason(why: str) -> str:
    """Why somebody acts, in words that every terminal and page can show.

    Raises:
        InvalidInput: too long, or not printable.
    """
    if not isinstance(why, str) or not why.isprintable() or len(why) > LONGEST_WHY:
        raise InvalidInput(f"why: give at most {LONGEST_WHY} printable characters")
    return why
