"""From events to the tuner_state, one at a time, and to the lessons for the policy.

| kind | payload |
|---|---|
| begin | spec, seed, shadow, version; configuration: what the spec leaves open, as decided |
| spec | spec: other limits, constraints, units; other values, with all events read again |
| shadow | on |
| decide | client, round, reason, review, state and from, or since; notes, look, looked, proposal |
| tell | decision, metrics; late, where the decision is an old one |
| correct | decision, metrics: they are to replace what was told, None takes it back |
| amend | through: corrections up to this event are in effect from here on |
| warm | rows: state, losses, counts |
| attach, override, rollback | state; which: the last or the best good one |
| approve, reject | decision: which proposal; state: what it proposes |
| pause, resume | why |
| clock | was: the time of the event before, which was wrong; time goes on from this event's |

Any payload may have an actor: who is behind it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any

from trimtab.live.spec.spec import Spec
from trimtab.live.state import guardrails
from trimtab.live.state.control import learnable, revised
from trimtab.live.state.guards import reach, settling
from trimtab.live.state.learning.lessons import (
    Await,
    Deploy,
    Drop,
    Learn,
    Lesson,
    Reach,
    Respec,
)
from trimtab.live.state.measurement import CONTROL, Plain, measured_loss, rounds_of
from trimtab.live.state.tuner_state import (
    KEPT,
    MOST_MOVES,
    Epoch,
    ForcedMove,
    Good,
    Proposal,
    State,
    Trial,
    TunerState,
    Verdict,
    client_key,
)
from trimtab.live.store.event import Event, microseconds

KINDS = (
    *("begin", "spec", "shadow", "decide", "tell", "correct", "amend", "warm", "attach"),
    *("override", "rollback", "approve", "reject", "pause", "resume", "clock"),
    *("applied", "failed", "notice", "delivered"),  # what `trimtab run` did; no effect on a tuner
)

# By decision and metric: what was corrected, None if it was taken back.
Corrections = Mapping[tuple[int, str], Plain | None]


@dataclass
class Reading:
    """How events are read, where that is otherwise than they were written."""

    corrections: Corrections = field(default_factory=dict)
    values: Spec | None = None  # whose ranges, weights, noise and prices count from the beginning
    written: Spec | None = None  # the last spec, as it was written

    def spec_in(self, payload: Mapping[str, Any]) -> Spec:
        """The spec that an event holds."""
        self.written = spec_in(payload)
        return self.written if self.values is None else self.written.valued_as(self.values)

    def losses(self, written: Sequence[float | None]) -> list[float]:
        """Losses (m,) as an event holds them, NaN where there is none."""
        losses = [nan if y is None else y for y in written]
        if self.values is None or self.written is None:
            return losses
        pairs = zip(self.written.objectives, self.values.objectives, losses, strict=True)
        return [
            y if its.ends == mine.ends else measured_loss(mine, its.value(y))  # to the last bit
            for its, mine, y in pairs
        ]


def spec_in(payload: Mapping[str, Any]) -> Spec:
    """The spec that an event holds, as the text of its tables: their order counts."""
    return Spec.from_dict(json.loads(payload["spec"]))


def recorded(spec: Spec) -> str:
    """The spec as an event holds it: without its storage, whose URL may have a password."""
    plain = spec.to_dict()
    del plain["storage"]
    return json.dumps(plain)


def replays(tuner_state: TunerState, event: Event) -> bool:
    """Whether all events are to be read again: corrected, or valued otherwise."""
    if event.kind == "spec":
        return not spec_in(event.payload).is_valued_as(tuner_state.spec)
    return event.kind == "amend"


def begun(event: Event, reading: Reading) -> TunerState:
    """The tuner_state after a tuner's first event."""
    payload = event.payload
    spec = reading.spec_in(payload)
    start: State = spec.start_place
    return TunerState(
        spec=spec,
        seed=payload["seed"],
        shadow=payload["shadow"],
        number=event.number,
        now=microseconds(event.at),
        origin=start,
        deployed=event.number,
        epochs={event.number: Epoch(event.number, start, steady_at=0, steady_round=0)},
        moves=[[] for _ in spec.knobs],
        spent=[0.0] * len(spec.knobs),
        verdicts=[Verdict() for _ in spec.constraints],
        good=[Good(start)],
    )


def corrected(event: Event) -> dict[tuple[int, str], Plain | None]:
    """What a correction replaces, by decision and metric."""
    payload = event.payload
    return {(payload["decision"], name): x for name, x in payload["metrics"].items()}


def apply(tuner_state: TunerState, event: Event, reading: Reading) -> list[Lesson]:
    """Bring the tuner_state up to the event; what the policy is to learn of it."""
    payload = event.payload
    tuner_state.number = event.number
    tuner_state.now = max(tuner_state.now, microseconds(event.at))
    match event.kind:
        case "tell":
            return _tell(tuner_state, event, reading.corrections)
        case "decide":
            return _decide(tuner_state, event)
        case "warm":
            within = _next_reach(tuner_state)
            return [
                Learn(state, reading.losses(losses), counts, within)
                for state, losses, counts in payload["rows"]
            ]
        case "attach":
            return _attach(tuner_state, _ordered(tuner_state, payload), event.number)
        case "override":
            tuner_state.forced_move, tuner_state.urgent = (
                ForcedMove("manual", _ordered(tuner_state, payload)),
                event.number,
            )
            tuner_state.rolled_back = None
            tuner_state.proposal = None
            return [Drop()]
        case "rollback":
            tuner_state.forced_move, tuner_state.urgent = (
                ForcedMove("rollback", _ordered(tuner_state, payload)),
                event.number,
            )
            tuner_state.rollbacks += 1
            tuner_state.paused = "rolled back by hand"
            tuner_state.rolled_back = payload.get("which", "last")
            tuner_state.proposal = None
            return [Drop()]
        case "approve":
            tuner_state.forced_move = ForcedMove("approved", _ordered(tuner_state, payload))
            tuner_state.ruled = [payload["decision"], "approve"]
            tuner_state.proposal, tuner_state.urgent = None, event.number
        case "reject":
            tuner_state.ruled = [payload["decision"], "reject"]
            tuner_state.proposal = None
            return [Drop()]
        case "pause":
            tuner_state.paused = payload["why"]
        case "resume":
            tuner_state.paused = tuner_state.forced_move = tuner_state.proposal = None
            tuner_state.rolled_back = None
            tuner_state.strikes = tuner_state.wait_until = 0
            for verdict in tuner_state.verdicts:
                verdict.breaches = 0
            return [Drop()]
        case "clock":
            tuner_state.turn_back(microseconds(event.at))
        case "shadow":
            tuner_state.shadow = payload["on"]
        case "spec":
            return _respec(tuner_state, reading.spec_in(payload))
        case "correct":
            tuner_state.corrections += 1
            tuner_state.corrected.append([event.number, payload["decision"]])
            if payload["decision"] in tuner_state.trials:
                tuner_state.trials[payload["decision"]].told |= payload["metrics"]
        case "amend":
            tuner_state.amended = payload["through"]
    return []


def _ordered(tuner_state: TunerState, payload: Mapping[str, Any]) -> State:
    """The state that an event orders.

    Raises:
        ValueError: it is none of this tuner.
    """
    state: State = payload["state"]
    if not isinstance(state, list) or len(state) != len(tuner_state.spec.knobs):
        raise ValueError(f"its state has no value for each of {len(tuner_state.spec.knobs)} knobs")
    return state


def _respec(tuner_state: TunerState, spec: Spec) -> list[Lesson]:
    """Another spec; the effects of covariates that it does not have, or has beside others, go."""
    old = {each.name: each.covariates for each in tuner_state.spec.objectives}
    other = [each.name for each in spec.objectives if each.covariates != old[each.name]]
    for name in other:
        tuner_state.adjustments.pop(name, None)
    tuner_state.spec = spec
    tuner_state.verdicts = [Verdict() for _ in spec.constraints]
    return [Respec(spec, covariates=bool(other))]


def _decide(tuner_state: TunerState, event: Event) -> list[Lesson]:
    payload = event.payload
    tuner_state.begin_round(payload["round"])
    if "state" in payload:
        _deploy(tuner_state, payload["state"], event.number, tuner_state.round)
        tuner_state.changes += 1
    if "look" in payload:
        tuner_state.looked = event.number
        look = payload["look"]
        if look["cause"] == "alarm":
            tuner_state.alarms, tuner_state.last_alarm = tuner_state.alarms + 1, tuner_state.now
        for name in look.get("cut", ()):
            tuner_state.cuts[name] = tuner_state.cuts.get(name, 0) + 1
    forced_move = tuner_state.forced_move
    if forced_move is not None and forced_move.kind != "manual" and payload.get("done"):
        tuner_state.forced_move = None
        if forced_move.kind == "rollback":
            guardrails.wait(tuner_state)
    if payload.get("withdrawn"):
        tuner_state.proposal = None
    elif "goal" in payload:
        tuner_state.proposal = Proposal(
            *(event.number, payload["proposal"], payload["goal"]),
            *(tuner_state.now, tuner_state.round),
        )
    keep = payload["reason"] not in ("manual", "rollback")
    lessons: list[Lesson] = [Deploy(tuner_state.state, keep=keep, reported=True)]
    lessons += _await(tuner_state)
    client = payload["client"]
    tuner_state.trials[event.number] = Trial(
        event.number, client, tuner_state.round, tuner_state.deployed
    )
    tuner_state.clients[client_key(client)] = event.number
    return lessons + _let_go(tuner_state)


def _await(tuner_state: TunerState) -> list[Lesson]:
    """The decision before has not been told when the next one is made: its metrics come late."""
    last = next(reversed(tuner_state.trials.values()), None)
    if last is None or last.answered:
        return []
    epoch = tuner_state.epochs[last.epoch]
    left = tuner_state.now if epoch.left_at is None else epoch.left_at
    last.awaited = left >= epoch.steady_at and last.round >= epoch.steady_round
    return [Await(epoch.state, _next_reach(tuner_state))] if last.awaited else []


def _next_reach(tuner_state: TunerState) -> Reach:
    """What the knobs can be at the next decision."""
    low, high = reach(tuner_state, now=tuner_state.now, round=tuner_state.round + 1)
    return low, high, settling(tuner_state)


def _attach(tuner_state: TunerState, state: State, number: int) -> list[Lesson]:
    _deploy(tuner_state, state, number, tuner_state.round + 1)
    tuner_state.forced_move = tuner_state.proposal = tuner_state.rolled_back = None
    tuner_state.urgent = number
    if tuner_state.tells == 0:  # that is where the system began
        tuner_state.origin, tuner_state.good = state, [Good(state)]
    return [Deploy(state, keep=False, reported=False)]


def _deploy(tuner_state: TunerState, state: State, number: int, round: int) -> None:
    """A new epoch, and the movement on each knob's account."""
    old, now = tuner_state.epoch, tuner_state.now
    epoch = Epoch(number, state, *tuner_state.settled(state, now, round))
    old.left_at = now
    for j, moves in enumerate(tuner_state.moves):
        distance = abs(state[j] - old.state[j])
        if distance == 0.0:
            continue
        tuner_state.spent[j] += distance
        moves.append([now, round, distance])
        if len(moves) > MOST_MOVES:  # the later time: it is charged for longer, not for less
            first, second = moves[:2]
            moves[:2] = [[second[0], second[1], first[2] + second[2]]]
    tuner_state.deployed = number
    tuner_state.epochs[number] = epoch
    guardrails.begin_epoch(tuner_state)


def _let_go(tuner_state: TunerState) -> list[Lesson]:
    """Keep the newest decisions, and what they refer to; what nobody has answered is given up."""
    lessons: list[Lesson] = []
    m = len(tuner_state.spec.objectives)
    while len(tuner_state.trials) > KEPT:
        number = next(iter(tuner_state.trials))
        trial = tuner_state.trials.pop(number)
        if trial.awaited:
            state = tuner_state.epochs[trial.epoch].state
            counts = [int(each.name not in trial.told) for each in tuner_state.spec.objectives]
            within = _next_reach(tuner_state)
            lessons.append(Learn(state, [nan] * m, counts, within, trial.rounds))
        if tuner_state.clients.get(client_key(trial.client)) == number:
            del tuner_state.clients[client_key(trial.client)]
    oldest = next(iter(tuner_state.trials.values())).epoch
    for event in [event for event in tuner_state.epochs if event < oldest]:
        del tuner_state.epochs[event]
    return lessons


def _tell(tuner_state: TunerState, event: Event, corrections: Corrections) -> list[Lesson]:
    payload = event.payload
    number: int = payload["decision"]
    trial = tuner_state.trials.get(number)
    if trial is None:  # an old one, looked up by the one who told
        late = payload["late"]
        trial = Trial(number, None, late["round"], 0, told=late["told"], rounds=1)
        state, steady = late["state"], not late["settling"]
        measured = microseconds(event.at)
    else:
        epoch = tuner_state.epochs[trial.epoch]
        measured = microseconds(event.at) if epoch.left_at is None else epoch.left_at
        measured = min(measured, microseconds(event.at))
        state = epoch.state
        steady = measured >= epoch.steady_at and trial.round >= epoch.steady_round
    given = payload["metrics"]
    now = {name: corrections.get((number, name), content) for name, content in given.items()}
    fresh = {name: content for name, content in now.items() if content is not None}
    trial.told |= now
    key = client_key(trial.client)
    if not given or any(not name.startswith(CONTROL) for name in given):
        trial.answered = True
        if tuner_state.clients.get(key) == number:
            del tuner_state.clients[key]
    tuner_state.tells += 1
    if steady and state == tuner_state.origin:
        guardrails.learn_baselines(tuner_state, fresh)
    if steady and state == tuner_state.state:
        names = [each.name for each in tuner_state.spec.objectives if each.name in fresh]
        tuner_state.observed += [name for name in names if name not in tuner_state.observed]
    broken = guardrails.judge(tuner_state, state, trial.told, fresh, steady)
    lessons: list[Lesson] = guardrails.watched(tuner_state, state, trial.told, fresh, steady)
    if steady:
        losses, counts, covaried = learnable(tuner_state, trial, state, fresh, measured)
        guardrails.credit(tuner_state, state, losses, counts)
        within = _next_reach(tuner_state)
        lessons.append(Learn(state, losses, counts, within, trial.rounds, covaried))
        lessons += revised(tuner_state, covaried)
        trial.rounds = max(trial.rounds, rounds_of(losses, counts))
    if broken and tuner_state.lost:
        lessons += [guardrails.escape(tuner_state, _next_reach(tuner_state))] if steady else []
    elif broken:
        tuner_state.urgent = event.number
        lessons.append(Drop())
    return lessons
