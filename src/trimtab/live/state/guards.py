"""Limits on movement: however far the target is, the state stays within them.

They bind every decision, whoever wants it: the policy, a rollback or a person. All is in
normalised units.
"""

from __future__ import annotations

from math import ceil, inf

from trimtab.live.spec.duration import Duration
from trimtab.live.spec.knob import SAME, Knob
from trimtab.live.state.tuner_state import State, TunerState

MOST_ROUNDS = 10**6  # that a knob settles
TOLERANCE = ": tolerance"  # ends a note on a change that is too small to be made


def limited(
    tuner_state: TunerState, target: State, *, now: int, round: int, over_budget: bool = False
) -> tuple[State, list[str], list[str]]:
    """The state nearest to the target that the guards allow, knob by knob.

    Also what held it back, and which budgets it exceeds.

    Args:
        tuner_state: where the system is, and how it came there.
        target: where it should go.
        now: when, in microseconds since 1970.
        round: in which round.
        over_budget: whether budgets may be exceeded: where a guardrail wants the way back.
    """
    state: State = []
    held: list[str] = []
    exceeded: list[str] = []
    for j, knob in enumerate(tuner_state.spec.knobs):
        here = tuner_state.state[j]
        far, limit = room(tuner_state, j, now, round, over_budget=over_budget)
        there = _toward(knob, here, target[j], far)
        state.append(there)
        left = _budget(tuner_state, j, now, round) if over_budget and there != here else inf
        if abs(there - here) > left * (1.0 + SAME):
            exceeded.append(f"{knob.name}: beyond its budget, as a guardrail is broken")
        if there != target[j]:
            wanted = abs(target[j] - here)
            small = wanted < knob.tolerance * (1.0 - SAME)
            held.append(knob.name + (TOLERANCE if small else f": {limit}"))
    return state, held, exceeded


def reach(tuner_state: TunerState, *, now: int, round: int) -> tuple[State, State]:
    """The lowest and the highest value that each knob can have at the next decision."""
    low, high = list(tuner_state.state), list(tuner_state.state)
    for j, knob in enumerate(tuner_state.spec.knobs):
        far, _ = room(tuner_state, j, now, round)
        if far >= knob.tolerance * (1.0 - SAME):
            for ends, target in ((low, 0.0), (high, 1.0)):
                ends[j] = _toward(knob, tuner_state.state[j], target, far)
    return low, high


def settling(tuner_state: TunerState) -> list[int]:
    """How many rounds are not learned from after each knob has moved.

    A round is as long as rounds are now, and told at its end.
    """
    found = []
    for knob in tuner_state.spec.knobs:
        duration, rounds = knob.stability.stabilize_for, 0
        if duration is not None and duration.seconds is None:
            rounds = duration.amount
        elif duration is not None and duration.seconds and tuner_state.pace:
            # Where time stands still the pace goes to 0.
            rounds = ceil(min(1_000_000 * duration.seconds / tuner_state.pace, MOST_ROUNDS + 1)) - 1
        found.append(min(rounds, MOST_ROUNDS))
    return found


def room(
    tuner_state: TunerState, j: int, now: int, round: int, *, over_budget: bool = False
) -> tuple[float, str]:
    """How far knob j may move now, and what says so; the arguments are those of `limited`."""
    knob = tuner_state.spec.knobs[j]
    step = _left(knob.max_step, knob.stability.per, tuner_state, j, now, round)
    budget = inf if over_budget else _budget(tuner_state, j, now, round)
    return (max(step, 0.0), "max_step") if step <= budget else (max(budget, 0.0), "budget")


def _budget(tuner_state: TunerState, j: int, now: int, round: int) -> float:
    """What is left of knob j's budget."""
    knob = tuner_state.spec.knobs[j]
    if knob.stability.budget_per is None:
        return knob.budget - tuner_state.spent[j]
    return _left(knob.budget, knob.stability.budget_per, tuner_state, j, now, round)


def free_in(
    tuner_state: TunerState, j: int, *, now: int, round: int, over_budget: bool = False
) -> tuple[float, int] | None:
    """In how many seconds and rounds knob j may move again, at the earliest; None: never.

    (0, 0) if it may move now. It is exact: one microsecond or round before, nothing may.
    """
    knob = tuner_state.spec.knobs[j]
    least = max(knob.tolerance, 1.0 / knob.steps if knob.steps else SAME) * (1.0 - SAME)
    moments = [now]
    rounds = [round]
    for window in (knob.stability.per, knob.stability.budget_per):
        if window is None:
            continue
        for at, when, _ in tuner_state.moves[j]:
            if window.seconds is not None:
                moments.append(int(at) + 1_000_000 * window.seconds)
            else:
                rounds.append(int(when) + window.amount)
    for later in sorted({t for t in moments if t >= now}):
        for r in sorted({n for n in rounds if n >= round}):
            far, _ = room(tuner_state, j, later, r, over_budget=over_budget)
            if far >= least:
                return (later - now) / 1e6, r - round
    return None


def _left(
    most: float, per: Duration | None, tuner_state: TunerState, j: int, now: int, round: int
) -> float:
    """What is left of a limit in its window."""
    if most == inf or per is None:
        return most
    used = 0.0
    for at, when, distance in tuner_state.moves[j]:
        if per.seconds is not None:
            inside = at > now - 1_000_000 * per.seconds
        else:
            inside = when > round - per.amount
        used += distance if inside else 0.0
    return most - used


def _toward(knob: Knob, here: float, target: float, room: float) -> float:
    """The place nearest to the target within the room, or here if the change is too small."""
    there = target
    if abs(target - here) > room * (1.0 + SAME):
        there = min(max(here + (room if target > here else -room), 0.0), 1.0)
        if knob.steps:
            there = _level(knob, here, there)
    return here if abs(there - here) < knob.tolerance * (1.0 - SAME) else there


def _level(knob: Knob, here: float, there: float) -> float:
    """The value of an integer knob that is nearest to `there`, between here and there."""
    start, places = round(here * knob.steps), (there - here) * knob.steps
    return (start + int(places + (SAME if places > 0 else -SAME))) / knob.steps
