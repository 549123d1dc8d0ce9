"""From events to the ledger, one at a time, and to the lessons for the policy.

| kind | payload |
|---|---|
| begin | spec, seed, shadow, version; configuration: what the spec leaves open, as decided |
| spec | spec: other limits, constraints, units |
| shadow | on |
| decide | client, round, reason, review, state and from, or since; notes, look, looked, proposal |
| tell | decision, metrics; late, where the decision is an old one |
| correct | decision, metrics: they replace what was told, None takes it back |
| warm | rows: state, losses, counts |
| attach, override, rollback | state |
| pause, resume | why |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.live.spec.spec import Spec
from trimtab.live.state import guardrails
from trimtab.live.state.guards import reach
from trimtab.live.state.learned import Await, Deploy, Drop, Learn, Lesson
from trimtab.live.state.measurement import Plain, lesson_of
from trimtab.live.state.tuner_state import (
    KEPT,
    MOST_MOVES,
    Epoch,
    Errand,
    Ledger,
    State,
    Trial,
    Verdict,
    client_key,
)
from trimtab.live.store.event import Event, microseconds

# By decision and metric: what was corrected, None if it was taken back.
Corrections = Mapping[tuple[int, str], Plain | None]


def spec_in(payload: Mapping[str, Any]) -> Spec:
    """The spec that an event holds, as the text of its tables: their order counts."""
    return Spec.from_dict(json.loads(payload["spec"]))


def begun(event: Event) -> Ledger:
    """The ledger after a tuner's first event."""
    payload = event.payload
    spec = spec_in(payload)
    start: State = spec.start.tolist()
    return Ledger(
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
        good=[start],
    )


def corrected(event: Event) -> dict[tuple[int, str], Plain | None]:
    """What a correction replaces, by decision and metric."""
    payload = event.payload
    return {(payload["decision"], name): x for name, x in payload["metrics"].items()}


def apply(ledger: Ledger, event: Event, corrections: Corrections) -> list[Lesson]:
    """Bring the ledger up to the event; what the policy is to learn of it."""
    payload = event.payload
    ledger.number = event.number
    ledger.now = max(ledger.now, microseconds(event.at))
    match event.kind:
        case "tell":
            return _tell(ledger, event, corrections)
        case "decide":
            return _decide(ledger, event)
        case "warm":
            rows = payload["rows"]
            return [
                Learn(
                    state,
                    np.array([np.nan if y is None else y for y in losses]),
                    np.array(counts, np.int64),
                )
                for state, losses, counts in rows
            ]
        case "attach":
            return _attach(ledger, payload["state"], event.number)
        case "override":
            ledger.errand, ledger.urgent = Errand("manual", payload["state"]), event.number
            return [Drop()]
        case "rollback":
            ledger.errand, ledger.urgent = Errand("rollback", payload["state"]), event.number
            ledger.rollbacks += 1
            ledger.paused = "rolled back by hand"
            return [Drop()]
        case "pause":
            ledger.paused = payload["why"]
        case "resume":
            ledger.paused = ledger.errand = None
            ledger.strikes = ledger.wait_until = 0
            for verdict in ledger.verdicts:
                verdict.breaches = 0
            return [Drop()]
        case "shadow":
            ledger.shadow = payload["on"]
        case "spec":
            ledger.spec = spec_in(payload)
            ledger.verdicts = [Verdict() for _ in ledger.spec.constraints]
        case "correct":
            ledger.corrections += 1
    return []


def _decide(ledger: Ledger, event: Event) -> list[Lesson]:
    payload = event.payload
    ledger.round = payload["round"]
    if "state" in payload:
        _deploy(ledger, payload["state"], event.number, ledger.round)
        ledger.changes += 1
    if "look" in payload:
        ledger.looked = event.number
    errand = ledger.errand
    if errand is not None and errand.kind == "rollback" and payload.get("done"):
        ledger.errand = None
        guardrails.wait(ledger)
    keep = payload["reason"] not in ("manual", "rollback")
    lessons: list[Lesson] = [Deploy(ledger.state, keep=keep, reported=True)]
    lessons += _await(ledger)
    client = payload["client"]
    ledger.trials[event.number] = Trial(event.number, client, ledger.round, ledger.deployed)
    ledger.clients[client_key(client)] = event.number
    return lessons + _let_go(ledger)


def _await(ledger: Ledger) -> list[Lesson]:
    """The decision before has not been told when the next one is made: its metrics come late."""
    last = next(reversed(ledger.trials.values()), None)
    if last is None or last.answered:
        return []
    epoch = ledger.epochs[last.epoch]
    left = ledger.now if epoch.left_at is None else epoch.left_at
    last.awaited = left >= epoch.steady_at and last.round >= epoch.steady_round
    return [Await(epoch.state)] if last.awaited else []


def _attach(ledger: Ledger, state: State, number: int) -> list[Lesson]:
    _deploy(ledger, state, number, ledger.round + 1)
    ledger.errand, ledger.urgent = None, number
    if ledger.tells == 0:  # that is where the system began
        ledger.origin, ledger.good = state, [state]
    return [Deploy(state, keep=False, reported=False)]


def _deploy(ledger: Ledger, state: State, number: int, round: int) -> None:
    """A new epoch, and the movement on each knob's account."""
    old, now = ledger.epoch, ledger.now
    epoch = Epoch(number, state, *ledger.settled(state, now, round))
    old.left_at = now
    for j, moves in enumerate(ledger.moves):
        distance = abs(state[j] - old.state[j])
        if distance == 0.0:
            continue
        ledger.spent[j] += distance
        moves.append([now, round, distance])
        if len(moves) > MOST_MOVES:  # the later time: it is charged for longer, not for less
            first, second = moves[:2]
            moves[:2] = [[second[0], second[1], first[2] + second[2]]]
    ledger.deployed = number
    ledger.epochs[number] = epoch
    guardrails.begin_epoch(ledger)


def _let_go(ledger: Ledger) -> list[Lesson]:
    """Keep the newest decisions, and what they refer to; what nobody has answered is given up."""
    lessons: list[Lesson] = []
    m = len(ledger.spec.objectives)
    while len(ledger.trials) > KEPT:
        number = next(iter(ledger.trials))
        trial = ledger.trials.pop(number)
        if trial.awaited:
            state = ledger.epochs[trial.epoch].state
            counts = [each.name not in trial.told for each in ledger.spec.objectives]
            lessons.append(Learn(state, np.full(m, np.nan), np.array(counts, np.int64)))
        if ledger.clients.get(client_key(trial.client)) == number:
            del ledger.clients[client_key(trial.client)]
    oldest = next(iter(ledger.trials.values())).epoch
    for event in [event for event in ledger.epochs if event < oldest]:
        del ledger.epochs[event]
    return lessons


def _tell(ledger: Ledger, event: Event, corrections: Corrections) -> list[Lesson]:
    payload = event.payload
    number: int = payload["decision"]
    trial = ledger.trials.get(number)
    if trial is None:  # an old one, looked up by the one who told
        late = payload["late"]
        trial = Trial(number, None, late["round"], 0, told=late["told"])
        state, steady = late["state"], not late["settling"]
    else:
        epoch = ledger.epochs[trial.epoch]
        measured = microseconds(event.at) if epoch.left_at is None else epoch.left_at
        measured = min(measured, microseconds(event.at))
        state = epoch.state
        steady = measured >= epoch.steady_at and trial.round >= epoch.steady_round
    given = payload["metrics"]
    now = {name: corrections.get((number, name), content) for name, content in given.items()}
    fresh = {name: content for name, content in now.items() if content is not None}
    trial.told |= now
    trial.answered = True
    key = client_key(trial.client)
    if ledger.clients.get(key) == number:
        del ledger.clients[key]
    ledger.tells += 1
    if steady and state == ledger.origin:
        guardrails.learn_baselines(ledger, fresh)
    if steady and state == ledger.state:
        names = [each.name for each in ledger.spec.objectives if each.name in fresh]
        ledger.observed += [name for name in names if name not in ledger.observed]
    lessons: list[Lesson] = []
    if steady:
        losses, counts = lesson_of(ledger.spec, fresh)
        if trial.awaited:  # what was not told yet may still come
            counts[[each.name not in fresh for each in ledger.spec.objectives]] = 0
        within = reach(ledger, now=ledger.now, round=ledger.round + 1)
        lessons.append(Learn(state, losses, counts, within))
    if guardrails.judge(ledger, state, trial.told, fresh, steady):
        ledger.urgent = event.number
        lessons.append(Drop())
    return lessons
