"""What stands in the way of where the tuner wants to go, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.live.planning import wanted
from trimtab.live.spec.knob import SAME
from trimtab.live.state.guardrails import lost, waits
from trimtab.live.state.guards import free_in, room
from trimtab.live.state.learning.figures import Figures
from trimtab.live.state.tuner_state import TunerState


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """Something that holds a decision back now."""

    what: str  # "move", "manual", "rollback": what it wants
    knob: str | None  # which knob is held, if it is one
    limit: str  # "max_step", "budget", a rule, a metric, ...
    seconds: float | None = None  # until it gives way, at the earliest; None: unknown, or never
    rounds: int | None = None  # and rounds

    def __str__(self) -> str:
        """One line for people."""
        where = f"{self.knob} {self.limit}" if self.knob else self.limit
        when = ""
        if self.seconds:
            when = f", free in {brief(self.seconds)}"
        elif self.rounds:
            when = f", free in {self.rounds:,} round{'s' * (self.rounds != 1)}"
        elif self.knob and self.seconds is None:
            when = ", for good"
        return f"{self.what} held: {where}{when}"


def obstacles_of(tuner_state: TunerState, figures: Figures, *, now: int) -> list[Obstacle]:
    """What would hold the next decision back, were it made now."""
    reason, goal, _ = wanted(tuner_state, figures)
    round, here = tuner_state.round + 1, tuner_state.state
    if tuner_state.paused is not None and tuner_state.forced_move is None:
        return [Obstacle(what="move", knob=None, limit=f"paused: {tuner_state.paused}")]
    if notes := lost(tuner_state):
        every = [*notes, *figures.outdated]
        found = [Obstacle(what="move", knob=None, limit=note) for note in every]
        return found + _spent(tuner_state, now, round)
    if reason == "guard":
        return [Obstacle(what="move", knob=None, limit=note) for note in waits(tuner_state)]
    forced = tuner_state.forced_move
    over = forced is not None and forced.by_guardrail
    found = []
    for j, knob in enumerate(tuner_state.spec.knobs):
        distance = abs(goal[j] - here[j])
        if distance == 0.0 or distance < knob.tolerance * (1.0 - SAME):
            continue
        far, limit = room(tuner_state, j, now, round, over_budget=over)
        if far * (1.0 + SAME) >= distance:
            continue
        free = free_in(tuner_state, j, now=now, round=round, over_budget=over)
        seconds, rounds = (None, None) if free is None else free
        found.append(
            Obstacle(what=reason, knob=knob.name, limit=limit, seconds=seconds, rounds=rounds)
        )
    return found


def _spent(tuner_state: TunerState, now: int, round: int) -> list[Obstacle]:
    """Knobs that cannot move now."""
    found = []
    for j, knob in enumerate(tuner_state.spec.knobs):
        free = free_in(tuner_state, j, now=now, round=round)
        if free != (0.0, 0):
            seconds, rounds = (None, None) if free is None else free
            limit = room(tuner_state, j, now, round)[1]
            found.append(
                Obstacle(what="move", knob=knob.name, limit=limit, seconds=seconds, rounds=rounds)
            )
    return found


def brief(seconds: float) -> str:
    """A time in the unit that people would use.

    >>> brief(31 * 60), brief(90 * 60), brief(20), brief(3 * 86400)
    ('31 min', '1 h 30 min', '20 s', '3 d')
    """
    whole = max(int(seconds + 0.999999), 1)
    if whole < 60:
        return f"{whole} s"
    minutes = -(-whole // 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    days, rest = divmod(hours, 24)
    return f"{days} d {rest} h" if rest else f"{days} d"
