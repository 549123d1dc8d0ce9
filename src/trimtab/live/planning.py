"""The decision: what the policy, a rollback or a person wants, within the guards."""

from __future__ import annotations

from typing import Any

from trimtab.live.state.decision import Reason
from trimtab.live.state.guardrails import waits
from trimtab.live.state.guards import TOLERANCE, limited
from trimtab.live.state.learned import Learned
from trimtab.live.state.tuner_state import Ledger, State


def decide(ledger: Ledger, learned: Learned, client: str | None, now: int) -> dict[str, Any]:
    """What a `decide` event says: a function of the events before it, the client and the time."""
    reason, wanted, notes = _wanted(ledger, learned)
    round, here = ledger.round + 1, ledger.state
    state = here
    if wanted != here:
        careful = reason == "move" and bool(ledger.guardrails)
        state, held = limited(ledger, wanted, now=now, round=round, way_back=careful)
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
    if ledger.errand is not None and ledger.errand.kind == "rollback":
        payload["done"] = _arrived(state, wanted, notes)
    if ledger.shadow:
        if state != here:
            payload["proposal"] = state
        payload["reason"], state = "hold", here
    if state == here:
        payload["since"] = ledger.deployed
    else:
        payload |= {"state": state, "from": here}
    steady_at, steady_round = ledger.settled(state, now, round)
    if now < steady_at or round < steady_round:
        payload["settling"] = True
    if notes:
        payload["notes"] = notes
    if learned.look is not None:
        payload["look"] = learned.look
    else:
        payload["looked"] = ledger.looked
    return payload


def _wanted(ledger: Ledger, learned: Learned) -> tuple[Reason, State, list[str]]:
    """Who wants what, and why it may have to wait."""
    here, errand = ledger.state, ledger.errand
    if errand is not None:
        return errand.kind, errand.goal, []
    if ledger.paused is not None:
        return "hold", here, [f"paused: {ledger.paused}"]
    if learned.goal is None or learned.goal == here:
        last = next(reversed(ledger.trials.values()), None)
        attached = ledger.urgent == ledger.deployed and (
            last is None or last.number < ledger.urgent
        )
        return ("manual" if attached else "hold"), here, []
    if notes := waits(ledger):
        return "guard", here, notes
    return "move", learned.goal, []


def _arrived(state: State, wanted: State, notes: list[str]) -> bool:
    """Whether a rollback is over: what is left to go is too little to be gone."""
    return state == wanted or all(note.endswith(TOLERANCE) for note in notes)
