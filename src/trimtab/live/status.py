"""Where a tuner stands, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from trimtab.live.state.decision import id_of
from trimtab.live.state.guardrails import waits
from trimtab.live.state.guards import room
from trimtab.live.state.learned import Learned
from trimtab.live.state.tuner_state import Ledger

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
    certificate: float  # a bound on the regret so far
    certified: bool

    def to_dict(self) -> dict[str, Any]:
        """The status as plain data, for other programs."""
        return asdict(self) | {"waits": list(self.waits)}

    def __str__(self) -> str:
        """A few lines for people."""
        mode = f"{self.mode}{f' ({self.why})' if self.why else ''}{', shadow' * self.shadow}"
        lines = [
            f"{self.name}: {mode}",
            f"  {self.rounds:,} rounds, {self.tells:,} tells, {self.moves:,} moves, "
            f"{self.rollbacks:,} rollbacks, {self.events:,} events",
            "  values: " + _listed(self.values),
        ]
        if self.goal is not None:
            lines.append("  goal:   " + _listed(self.goal))
        lines += [f"  {note}" for note in self.waits]
        for rule, holds in self.constraints.items():
            word = {True: "holds", False: "BROKEN", None: "not judged yet"}[holds]
            lines.append(f"  {rule}: {word}")
        if self.next_review is not None:
            lines.append(f"  next look in at most {self.next_review:,} rounds")
        return "\n".join(lines)


def status_of(ledger: Ledger, learned: Learned, *, now: int) -> Status:
    """The status at a time, in microseconds since 1970."""
    spec, errand = ledger.spec, ledger.errand
    mode: Mode = "tuning" if ledger.paused is None else "paused"
    goal = learned.goal if ledger.paused is None else None
    if errand is not None:
        mode, goal = errand.kind, errand.goal
    certificate = learned.policy.certificate
    careful = errand is None and bool(ledger.guardrails)
    rooms = [
        room(ledger, j, now, ledger.round + 1, way_back=careful)[0] for j in range(len(spec.knobs))
    ]
    return Status(
        name=spec.name,
        mode=mode,
        why=ledger.paused,
        shadow=ledger.shadow,
        values=spec.values(ledger.state),
        goal=None if goal is None or goal == ledger.state else spec.values(goal),
        good=spec.values(ledger.good[-1]) if ledger.good else None,
        waits=tuple(waits(ledger)),
        room={
            knob.name: None if left == float("inf") else left
            for knob, left in zip(spec.knobs, rooms, strict=True)
        },
        constraints={
            constraint.rule: verdict.holds
            for constraint, verdict in zip(spec.constraints, ledger.verdicts, strict=True)
        },
        baselines=ledger.known_baselines,
        open={client: id_of(spec.name, number) for client, number in ledger.clients.items()},
        rounds=ledger.round,
        tells=ledger.tells,
        corrections=ledger.corrections,
        moves=ledger.changes,
        rollbacks=ledger.rollbacks,
        events=ledger.number,
        next_review=learned.review,
        certificate=certificate.bound,
        certified=certificate.certified,
    )


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {x:.6g}" for name, x in values.items())
