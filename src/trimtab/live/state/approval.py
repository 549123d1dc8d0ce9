"""Approval: a proposed move waits until a person says yes or no, or until it expires."""

from __future__ import annotations

from typing import Any

from trimtab.errors import Conflict
from trimtab.live.state.commands import Entry
from trimtab.live.state.decision import Reason
from trimtab.live.state.tuner_state import Proposal, State, TunerState
from trimtab.live.store.event import id_of


def approve(tuner_state: TunerState, number: int, now: int) -> list[Entry]:
    """Carry out the proposal of decision `number`.

    Raises:
        Conflict: it does not wait for approval, or something else has to be done first.
    """
    return _ruled(tuner_state, number, now, "approve")


def reject(tuner_state: TunerState, number: int, now: int) -> list[Entry]:
    """Leave the proposal of decision `number` undone.

    Raises:
        Conflict: it does not wait for approval.
    """
    return _ruled(tuner_state, number, now, "reject")


def _ruled(tuner_state: TunerState, number: int, now: int, verdict: str) -> list[Entry]:
    if tuner_state.ruled == [number, verdict]:
        return []
    name, proposal = tuner_state.spec.name, tuner_state.proposal
    if proposal is None or proposal.number != number:
        there = "nothing does" if proposal is None else f"{id_of(name, proposal.number)} does"
        raise Conflict(f"decision {id_of(name, number)} does not wait for approval; {there}")
    if expired(tuner_state, proposal, now=now, round=tuner_state.round + 1):
        raise Conflict(f"the proposal of {id_of(name, number)} has expired; wait for the next one")
    if verdict == "approve" and tuner_state.paused is not None:
        raise Conflict(f"the tuner is paused ({tuner_state.paused}); resume it first")
    return [(verdict, {"decision": number, "state": proposal.state})]


def expired(tuner_state: TunerState, proposal: Proposal, *, now: int, round: int) -> bool:
    """Whether nobody may approve it any more."""
    limit = tuner_state.spec.approve_within
    if limit.seconds is None:
        return round > proposal.round + limit.amount
    return now >= proposal.at + 1_000_000 * limit.seconds


def expires_at(tuner_state: TunerState, proposal: Proposal) -> int | None:
    """When it expires, in microseconds since 1970; None if that depends on rounds."""
    seconds = tuner_state.spec.approve_within.seconds
    return None if seconds is None else proposal.at + 1_000_000 * seconds


def submitted(
    tuner_state: TunerState,
    reason: Reason,
    wanted: State,
    state: State,
    *,
    now: int,
    round: int,
) -> tuple[dict[str, Any], list[str]]:
    """What a decision says of proposals instead of moving, and its note: new, waiting or none.

    Args:
        tuner_state: with the proposal that waits, if any.
        reason: why the policy does what it does.
        wanted: where it wants to go.
        state: how far the guards let it go now: this is what is proposed.
        now: when, in microseconds since 1970.
        round: in which round.
    """
    waiting, name = tuner_state.proposal, tuner_state.spec.name
    if waiting is not None and expired(tuner_state, waiting, now=now, round=round):
        gone = [f"the proposal of {id_of(name, waiting.number)} has expired"]
        waiting = None
    else:
        gone = []
    here = tuner_state.state
    if state != here:
        if waiting is not None and waiting.goal == wanted:
            return {}, [f"waits for approval of {id_of(name, waiting.number)}"]
        asked = {"proposal": state, "goal": wanted}
        return asked, [*gone, "waits for approval of this proposal"]
    if waiting is not None and reason != "hold":  # the policy still wants it, and cannot now
        return {}, [f"waits for approval of {id_of(name, waiting.number)}"]
    return ({"withdrawn": True} if tuner_state.proposal is not None else {}), gone
