"""The tuner_state: what a tuner's events amount to, apart from what its policy has learned.

It is plain data, and `reducer.apply` is the one function that changes it: the same events give
the same tuner_state, in every process. States are lists of normalised knob values, times are
microseconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

from trimtab.live.spec.spec import Spec
from trimtab.live.state.covariates import Adjustment
from trimtab.live.state.measurement import Sums, Told, known_baselines

PACE = 0.1  # weight of the last round among all that make up the pace
KEPT = 1000  # decisions at hand; a tell for an older one looks it up in the journal
MOST_MOVES = 1000  # of a knob that are told apart; older ones are counted together
MOST_GOOD = 16  # good states that are remembered
APART = 0.02  # by how much two of them differ at least, in some knob

State = list[float]


@dataclass(slots=True)
class Trial:
    """A decision, as far as tells need it."""

    number: int  # of its event
    client: str | None
    round: int
    epoch: int  # the event that set its state
    told: Told = field(default_factory=dict)
    answered: bool = False  # whether anything was told, were it only that there is nothing
    awaited: bool = False  # whether the policy knows that it is to be answered
    rounds: int = 0  # of what was learned of it: a second tell is of the same ones


@dataclass(slots=True)
class Epoch:
    """A stretch of decisions at one state."""

    event: int  # that set it
    state: State
    steady_at: int  # from this time on, and
    steady_round: int  # from this round on metrics are learned from
    left_at: int | None = None


@dataclass(slots=True)
class ForcedMove:
    """A state to go to, whatever the policy wants."""

    kind: Literal["manual", "rollback", "approved"]
    goal: State
    by_guardrail: bool = False  # it may exceed budgets


@dataclass(slots=True)
class Good:
    """A state at which all guardrails were observed to hold."""

    state: State
    count: int = 0  # rounds there of which all objectives were told
    total: float = 0.0  # of their losses, weights included

    @property
    def loss(self) -> float | None:
        """The mean loss of a round there, if anything is known of it."""
        return self.total / self.count if self.count else None


@dataclass(slots=True)
class Proposal:
    """A move that waits for approval."""

    number: int  # of the decision that proposes it
    state: State
    goal: State  # what the policy wants, if the guards hold it back
    at: int  # when it was proposed, and
    round: int  # in which round


@dataclass(slots=True)
class Verdict:
    """How a constraint fares: the last time it could be judged, and how often it broke in a row."""

    holds: bool | None = None  # of a guardrail: at the deployed state
    breaches: int = 0


@dataclass(slots=True, kw_only=True)
class TunerState:
    """Everything but what was learned."""

    spec: Spec
    seed: int
    shadow: bool
    number: int  # of the last event
    now: int  # its time, or that of a later one
    origin: State  # where the system was when the first metric came in
    deployed: int  # the epoch
    epochs: dict[int, Epoch]
    trials: dict[int, Trial] = field(default_factory=dict)  # the newest, in order
    clients: dict[str, int] = field(default_factory=dict)  # the decision that each is to tell
    round: int = 0  # decisions made
    paused: str | None = None  # why, if it is
    forced_move: ForcedMove | None = None
    proposal: Proposal | None = None
    ruled: list[Any] = field(default_factory=list)  # the last decision approved or rejected
    urgent: int = 0  # the event since which decisions made before are out of date
    moves: list[list[list[float]]]  # by knob: time, round, distance
    spent: list[float]  # by knob: all movement there was
    verdicts: list[Verdict]  # one per constraint
    good: list[Good]  # the last one last
    rolled_back: str | None = None  # "last" or "best", by a person, who has not resumed since
    baselines: dict[str, Sums] = field(default_factory=dict)
    observed: list[str] = field(default_factory=list)  # objectives, at the deployed state
    decided: int = 0  # when the last decision was made
    pace: float = 0.0  # microseconds from one to the next, about
    looked: int = 0  # the decision that reports the last look
    strikes: int = 0  # rollbacks by guardrails since somebody resumed
    wait_until: int = 0  # the round before which the policy may not move
    refuge: int = 0  # the epoch that the last rollback ended with
    retreats: int = 0  # rollbacks by guardrails, each from where the one before ended
    lost: bool = False  # guardrails are broken, and no state is known to keep them
    adjustments: dict[str, Adjustment] = field(default_factory=dict)  # objectives with covariates
    levels: dict[str, float] = field(default_factory=dict)  # the control arm's first loss of each
    contrast: list[float] = field(default_factory=lambda: [0, 0.0, 0.0])  # at the deployed state:
    # rounds told of both arms; the mean by which control costs more; squares about it, added up
    alarms: int = 0  # looks because the system seemed to have changed
    last_alarm: int = 0  # when
    cuts: dict[str, int] = field(default_factory=dict)  # looks that cut measurements, by objective
    tells: int = 0
    changes: int = 0  # of the state, by decisions
    rollbacks: int = 0
    corrections: int = 0
    corrected: list[list[int]] = field(default_factory=list)  # by event, in order: which decision
    amended: int = 0  # corrections up to this event are in effect

    @property
    def epoch(self) -> Epoch:
        """The one now."""
        return self.epochs[self.deployed]

    @property
    def state(self) -> State:
        """The state deployed."""
        return self.epoch.state

    @property
    def guardrails(self) -> list[int]:
        """The places of the guardrails among the constraints."""
        rules = self.spec.constraints
        return [c for c, constraint in enumerate(rules) if constraint.kind == "guardrail"]

    @property
    def known_baselines(self) -> dict[str, float]:
        """The baselines of which enough was observed."""
        return known_baselines(self.spec, self.baselines)

    def open_trial(self, client: str | None) -> Trial | None:
        """The decision that the client was given and has not told, unless it is out of date."""
        number = self.clients.get(client_key(client), 0)
        return self.trials.get(number) if number > self.urgent else None

    def settled(self, state: State, now: int, round: int) -> tuple[int, int]:
        """From which time and which round on metrics are steady, if the state is deployed now."""
        at, first = self.epoch.steady_at, self.epoch.steady_round
        for knob, x, y in zip(self.spec.knobs, state, self.state, strict=True):
            duration = knob.stability.stabilize_for
            if duration is None or x == y:
                continue
            if duration.seconds is not None:
                at = max(at, now + 1_000_000 * duration.seconds)
            else:
                first = max(first, round + duration.amount)
        return at, first

    def turn_back(self, now: int) -> None:
        """Have time go on from now: what lies ahead of it was written by a clock that was wrong."""
        ahead = self.now - now

        def right(at: int) -> int:
            return at - ahead if at > now else at

        for epoch in self.epochs.values():
            epoch.steady_at = right(epoch.steady_at)
            epoch.left_at = None if epoch.left_at is None else right(epoch.left_at)
        for moves in self.moves:
            for move in moves:
                move[0] = right(int(move[0]))
        if self.proposal is not None:
            self.proposal.at = right(self.proposal.at)
        self.last_alarm, self.decided = right(self.last_alarm), right(self.decided)
        self.now = min(self.now, now)

    def begin_round(self, round: int) -> None:
        """A decision is made now; how long a round takes is the mean of the last ones, weighted."""
        if self.round:
            step = max(self.now - self.decided, 0)
            self.pace += (PACE if self.pace else 1.0) * (step - self.pace)
        self.round, self.decided = round, self.now

    # In a snapshot.

    def plain(self) -> dict[str, Any]:
        """The tuner_state as JSON can hold it."""
        saved = {name: getattr(self, name) for name in (*_PLAIN, *_LATER)}
        return saved | {
            "spec": self.spec.to_dict(),
            "epochs": [_listed(epoch) for epoch in self.epochs.values()],
            "trials": [_listed(trial) for trial in self.trials.values()],
            "forced_move": None if self.forced_move is None else _listed(self.forced_move),
            "proposal": None if self.proposal is None else _listed(self.proposal),
            "verdicts": [_listed(verdict) for verdict in self.verdicts],
            "good": [_listed(good) for good in self.good],
            "adjustments": {name: _listed(each) for name, each in self.adjustments.items()},
        }

    @classmethod
    def from_plain(cls, saved: dict[str, Any]) -> Self:
        """The tuner_state that `plain` saw."""
        epochs = [Epoch(*each) for each in saved["epochs"]]
        trials = [Trial(*each) for each in saved["trials"]]
        return cls(
            **{name: saved[name] for name in _PLAIN},
            **{name: saved[name] for name in _LATER if name in saved},
            spec=Spec.from_dict(saved["spec"]),
            epochs={epoch.event: epoch for epoch in epochs},
            trials={trial.number: trial for trial in trials},
            forced_move=None if saved["forced_move"] is None else ForcedMove(*saved["forced_move"]),
            proposal=None if saved["proposal"] is None else Proposal(*saved["proposal"]),
            verdicts=[Verdict(*each) for each in saved["verdicts"]],
            good=[Good(*each) for each in saved["good"]],
            adjustments={n: Adjustment(*each) for n, each in saved["adjustments"].items()},
        )


_LATER = ("refuge", "retreats", "lost")  # a snapshot of an older version does not have them
_PLAIN = (
    *("seed", "shadow", "number", "now", "origin", "deployed", "clients", "round", "paused"),
    *(
        "ruled",
        "urgent",
        "moves",
        "spent",
        "rolled_back",
        "baselines",
        "observed",
        "decided",
        "pace",
        "looked",
        "strikes",
        "wait_until",
    ),
    *(
        "levels",
        "contrast",
        "alarms",
        "last_alarm",
        "cuts",
        "tells",
        "changes",
        "rollbacks",
        "corrections",
    ),
    *("corrected", "amended"),
)


def _listed(
    record: Trial | Epoch | ForcedMove | Proposal | Verdict | Good | Adjustment,
) -> list[Any]:
    """The fields of a record in their order; the parts are not copied."""
    return [getattr(record, name) for name in record.__slots__]


def client_key(client: str | None) -> str:
    """A client's name in the tuner_state; the one without a name has the empty one."""
    return client or ""
