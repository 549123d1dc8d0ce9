"""The decision: what the policy, a rollback or a person wants, within the guards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trimtab.live.state.approval import submitted
from trimtab.live.state.decision import Reason
from trimtab.live.state.guardrails import lost, waits
from trimtab.live.state.guards import TOLERANCE, limited
from trimtab.live.state.tuner_state import State, TunerState

if TYPE_CHECKING:
    from trimtab.live.state.learning.figures import Figures
    from trimtab.live.state.learning.learned import Learned


def decide(
    tuner_state: TunerState, learned: Learned, client: str | None, now: int
) -> dict[str, Any]:
    """What a `decide` event says: a function of the events before it, the client and the time."""
    reason, goal, notes = wanted(tuner_state, learned)
    round, here = tuner_state.round + 1, tuner_state.state
    state = here
    exceeded: list[str] = []
    if goal != here:
        forced_move = tuner_state.forced_move
        over = forced_move is not None and forced_move.by_guardrail
        state, held, exceeded = limited(tuner_state, goal, now=now, round=round, over_budget=over)
        unsafe = []
        if forced_move is None and state != here and not learned.escapes:
            unsafe = learned.safety.unsafe(state)
        if unsafe:
            state, held = here, [f"{rule} may not hold there" for rule in unsafe]
        notes += held
        if reason == "move" and any(not note.endswith(TOLERANCE) for note in held):
            reason = "guard"
        elif reason == "move" and state == here:
            reason = "hold"
    payload: dict[str, Any] = {
        "client": client,
        "round": round,
        "reason": reason,
        "review": learned.review,
    }
    forced_move = tuner_state.forced_move
    if forced_move is not None and forced_move.kind != "manual":
        payload["done"] = _arrived(state, goal, notes)
    if tuner_state.shadow:
        if state != here:
            payload["proposal"] = state
        payload["reason"], state = "hold", here
    elif tuner_state.spec.mode == "approve" and forced_move is None:
        asked, said = submitted(tuner_state, reason, goal, state, now=now, round=round)
        if state != here:
            payload["reason"], state = "hold", here
        payload |= asked
        notes += said
    if state == here:
        payload["since"] = tuner_state.deployed
    else:
        payload |= {"state": state, "from": here}
    notes += exceeded
    steady_at, steady_round = tuner_state.settled(state, now, round)
    if now < steady_at or round < steady_round:
        payload["settling"] = True
    if notes:
        payload["notes"] = notes
    if learned.look is not None:
        payload["look"] = learned.look
    else:
        payload["looked"] = tuner_state.looked
    return payload


def wanted(tuner_state: TunerState, learned: Learned | Figures) -> tuple[Reason, State, list[str]]:
    """Who wants what, and why it may have to wait."""
    here, forced_move = tuner_state.state, tuner_state.forced_move
    if forced_move is not None:
        reason: Reason = "move" if forced_move.kind == "approved" else forced_move.kind
        return reason, forced_move.goal, []
    if tuner_state.paused is not None:
        return "hold", here, [f"paused: {tuner_state.paused}"]
    if learned.goal is None or learned.goal == here:
        last = next(reversed(tuner_state.trials.values()), None)
        attached = tuner_state.urgent == tuner_state.deployed and (
            last is None or last.number < tuner_state.urgent
        )
        missing = waits(tuner_state) if tuner_state.observed else []
        return ("manual" if attached else "hold"), here, missing
    if learned.escapes:
        return (
            "move",
            learned.goal,
            [f"{note}; trying those likeliest to" for note in lost(tuner_state)],
        )
    if notes := waits(tuner_state):
        return "guard", here, notes
    return "move", learned.goal, []


def _arrived(state: State, wanted: State, notes: list[str]) -> bool:
    """Whether the way is over: what is left to go is too little to be gone."""
    return state == wanted or all(note.endswith(TOLERANCE) for note in notes)
