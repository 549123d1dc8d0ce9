"""Where a tuner stands, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Self

from trimtab.live.helping import Helping, Noise, helping_of, noise_of
from trimtab.live.obstacles import Obstacle, obstacles_of
from trimtab.live.state.approval import expired
from trimtab.live.state.guardrails import waits
from trimtab.live.state.guards import room
from trimtab.live.state.learning.figures import Figures
from trimtab.live.state.tuner_state import TunerState
from trimtab.live.store.event import EPOCH, id_of

SCHEMA = "trimtab.status/1"
Mode = Literal["tuning", "paused", "manual", "rollback"]


@dataclass(frozen=True, kw_only=True)
class Status:
    """Everything an operator wants to see at a glance."""

    name: str
    mode: Mode
    why: str | None  # it is paused
    shadow: bool
    values: Mapping[str, float]
    goal: Mapping[str, float] | None  # where it is going, if anywhere
    good: Mapping[str, float] | None  # the last good state
    proposal: Mapping[str, float] | None  # the move that waits for approval, and
    proposed_by: str | None  # the decision to approve or reject
    waits: tuple[str, ...]  # what must be observed before the policy may move
    room: Mapping[str, float | None]  # how far a knob may move now, in ranges; None: any distance
    constraints: Mapping[str, bool | None]  # whether each rule held when last judged
    baselines: Mapping[str, float]
    open: Mapping[str, str]  # the decision that each client has not told; "" has no name
    rounds: int
    tells: int
    corrections: int
    moves: int
    rollbacks: int
    events: int
    next_review: int | None
    helping: Helping | None  # None before anything can be said
    obstacles: tuple[Obstacle, ...]  # what holds the next decision back
    noise: Mapping[str, Noise]  # by objective, as learned
    alarms: int  # looks because the system seemed to have changed
    last_alarm: datetime | None
    cuts: Mapping[str, int]  # looks before which wild measurements of an objective were cut
    unanswered: int  # decisions of the last thousand of which nothing was told
    certificate: float  # a bound on the regret so far
    certified: bool
    as_of: int | None = None  # the round of the last measurements in helping, noise, certificate
    units: Mapping[str, str] = field(default_factory=dict)  # of knobs and objectives that have one

    def to_dict(self) -> dict[str, Any]:
        """The status as plain data, for other programs."""
        alarm = self.last_alarm
        return (
            {"schema": SCHEMA}
            | asdict(self)
            | {
                "waits": list(self.waits),
                "obstacles": [asdict(each) | {"text": str(each)} for each in self.obstacles],
                "last_alarm": None if alarm is None else alarm.isoformat(),
            }
        )

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The status that `to_dict` has made plain; fields of a later version are passed over."""
        known = {name: plain[name] for name in cls.__dataclass_fields__ if name in plain}
        helping, alarm = plain["helping"], plain["last_alarm"]
        held = [{k: x for k, x in each.items() if k != "text"} for each in plain["obstacles"]]
        return cls(
            **known
            | {
                "waits": tuple(plain["waits"]),
                "helping": None if helping is None else Helping(**helping),
                "obstacles": tuple(Obstacle(**each) for each in held),
                "noise": {name: Noise(**each) for name, each in plain["noise"].items()},
                "last_alarm": None if alarm is None else datetime.fromisoformat(alarm),
            }
        )

    def __str__(self) -> str:
        """A few lines for people."""
        mode = f"{self.mode}{f' ({self.why})' if self.why else ''}{', shadow' * self.shadow}"
        lines = [
            f"{self.name}: {mode}",
            f"  {self.rounds:,} rounds, {self.tells:,} tells, {self.moves:,} moves, "
            f"{self.rollbacks:,} rollbacks, {self.events:,} events",
            "  values: " + self._listed(self.values),
        ]
        if self.helping is not None:
            lines.append(f"  {self.helping}{self.aged}")
            lines.append(f"  price of all moves so far: {self.helping.paid:.3g}")
        if self.goal is not None:
            lines.append("  goal:   " + self._listed(self.goal))
        if self.proposal is not None:
            lines.append(
                f"  waits for approval of {self.proposed_by}: {self._listed(self.proposal)}"
            )
        if self.obstacles:
            lines += [f"  {each}" for each in self.obstacles]
        elif self.mode == "tuning":
            lines += [f"  {note}" for note in self.waits]
        if self.alarms:
            lines.append(f"  {self.alarms:,} alarms, the last {self.last_alarm:%Y-%m-%d %H:%M} UTC")
        for name, each in self.noise.items():
            source = "as learned" if each.learned else "as the spec says"
            lines.append(
                f"  {name}: one measurement is off by {self._shown(name, each.noise, 3)}, {source}"
            )
        for rule, holds in self.constraints.items():
            word = {True: "holds", False: "BROKEN", None: "not judged yet"}[holds]
            lines.append(f"  {rule}: {word}")
        if self.next_look is not None:
            lines.append(f"  {self.next_look}")
        return "\n".join(lines)

    @property
    def aged(self) -> str:
        """How old the figures are, in words; nothing if all that was told is in them."""
        old = self.as_of is not None and self.as_of < self.rounds
        return f" (as of round {self.as_of:,})" if old else ""

    @property
    def next_look(self) -> str | None:
        """When the policy looks again, in words; None if it never does."""
        if self.next_review is None:
            return None
        return f"next look in at most {self.next_review:,} round{'s' * (self.next_review != 1)}"

    def _listed(self, values: Mapping[str, float]) -> str:
        return ", ".join(f"{name} = {self._shown(name, x, 6)}" for name, x in values.items())

    def _shown(self, name: str, value: float, digits: int) -> str:
        return f"{value:.{digits}g} {self.units.get(name, '')}".rstrip()


def status_of(tuner_state: TunerState, figures: Figures, *, now: int) -> Status:
    """The status at a time, in microseconds since 1970."""
    spec, forced_move = tuner_state.spec, tuner_state.forced_move
    mode: Mode = "tuning" if tuner_state.paused is None else "paused"
    goal = figures.goal if tuner_state.paused is None else None
    if forced_move is not None:
        mode = "tuning" if forced_move.kind == "approved" else forced_move.kind
        goal = forced_move.goal
    proposal = tuner_state.proposal
    if proposal is not None and expired(
        tuner_state, proposal, now=now, round=tuner_state.round + 1
    ):
        proposal = None
    over = forced_move is not None and forced_move.by_guardrail
    rooms = [
        room(tuner_state, j, now, tuner_state.round + 1, over_budget=over)[0]
        for j in range(len(spec.knobs))
    ]
    return Status(
        name=spec.name,
        mode=mode,
        why=tuner_state.paused,
        shadow=tuner_state.shadow,
        values=spec.values(tuner_state.state),
        goal=None if goal is None or goal == tuner_state.state else spec.values(goal),
        good=spec.values(tuner_state.good[-1].state) if tuner_state.good else None,
        proposal=None if proposal is None else spec.values(proposal.state),
        proposed_by=None if proposal is None else id_of(spec.name, proposal.number),
        waits=tuple(waits(tuner_state)),
        room={
            knob.name: None if left == float("inf") else left
            for knob, left in zip(spec.knobs, rooms, strict=True)
        },
        constraints={
            constraint.rule: verdict.holds
            for constraint, verdict in zip(spec.constraints, tuner_state.verdicts, strict=True)
        },
        baselines=tuner_state.known_baselines,
        open={client: id_of(spec.name, number) for client, number in tuner_state.clients.items()},
        rounds=tuner_state.round,
        tells=tuner_state.tells,
        corrections=tuner_state.corrections,
        moves=tuner_state.changes,
        rollbacks=tuner_state.rollbacks,
        events=tuner_state.number,
        next_review=figures.review,
        helping=helping_of(tuner_state, figures),
        obstacles=tuple(obstacles_of(tuner_state, figures, now=now)),
        noise=noise_of(tuner_state, figures),
        alarms=tuner_state.alarms,
        last_alarm=(
            EPOCH + timedelta(microseconds=tuner_state.last_alarm) if tuner_state.alarms else None
        ),
        cuts=tuner_state.cuts,
        unanswered=sum(not trial.answered for trial in tuner_state.trials.values()),
        certificate=figures.certificate,
        certified=figures.certified,
        as_of=figures.as_of,
        units={
            **{knob.name: knob.unit for knob in spec.knobs if knob.unit},
            **{each.name: each.unit for each in spec.objectives if each.unit},
        },
    )
