"""Constraints, watched: baselines, breaches, the last good state, and who must wait for what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, isnan

from trimtab.live.state.learning.lessons import Escape, Lesson, Reach, Watch
from trimtab.live.state.measurement import Plain, Told, summed, weighted
from trimtab.live.state.tuner_state import (
    APART,
    MOST_GOOD,
    ForcedMove,
    Good,
    State,
    TunerState,
    Verdict,
)

MOST_DOUBLINGS = 30  # of the wait after a rollback
RETREATS = 2  # rollbacks in a row that may end where guardrails are broken too


def learn_baselines(tuner_state: TunerState, fresh: Mapping[str, Plain]) -> None:
    """Take in what was observed at the state of the beginning, as far as baselines need it.

    What is seen when the system has come back there later is not of the beginning any more.
    """
    known = tuner_state.known_baselines if tuner_state.changes else {}
    needed = {name for constraint in tuner_state.spec.constraints for name in constraint.baselines}
    for name in sorted(needed & fresh.keys()):
        mean, _, count = fresh[name]
        sums = tuner_state.baselines.get(name)
        full = sums is not None and sums[0] >= tuner_state.spec.baseline_observations
        if not full and name not in known:
            tuner_state.baselines[name] = summed(sums, mean, count)


def judge(
    tuner_state: TunerState, state: State, told: Told, fresh: Iterable[str], steady: bool
) -> bool:
    """Judge every rule that what is fresh decides; whether the tuner must turn back.

    A breach always counts. That all is well counts only once the metrics are steady.
    """
    metrics = {name: content[0] for name, content in told.items() if content is not None}
    here = state == tuner_state.state
    broken = False
    for constraint, verdict in zip(tuner_state.spec.constraints, tuner_state.verdicts, strict=True):
        if not set(fresh).intersection(constraint.metrics):
            continue
        holds = constraint.holds(metrics, tuner_state.known_baselines)
        if holds is None:
            continue
        if constraint.kind == "signal":
            verdict.holds = holds
            verdict.breaches = 0 if holds else verdict.breaches + 1
            if verdict.breaches >= constraint.patience and tuner_state.paused is None:
                tuner_state.paused = f"signal: {constraint.rule} does not hold"
        elif not here:
            if not holds:
                forget_good(tuner_state, state)
        elif not holds:
            verdict.holds, verdict.breaches = False, verdict.breaches + 1
            broken |= verdict.breaches >= constraint.patience
        elif steady:
            verdict.holds, verdict.breaches = True, 0
    if here and steady and all_well(tuner_state):
        remember_good(tuner_state, state)
    return broken and _turn_back(tuner_state)


def remember_good(tuner_state: TunerState, state: State) -> None:
    """The state is the last good one; one that is nearly the same makes room for it.

    Of too many the worst goes, by what is known of their losses, but never the last two.
    """
    same = next((each for each in tuner_state.good if each.state == state), None)
    apart = [
        each
        for each in tuner_state.good
        if max(abs(x - y) for x, y in zip(each.state, state, strict=True)) >= APART
    ]
    good = [*apart, same or Good(list(state))]
    if len(good) > MOST_GOOD:
        good.remove(max(good[:-2], key=lambda each: inf if each.loss is None else each.loss))
    tuner_state.good, tuner_state.lost = good, False


def credit(tuner_state: TunerState, state: State, losses: list[float], counts: list[int]) -> None:
    """Add what was told of a good state to its known loss, if all objectives were told."""
    good = next((each for each in tuner_state.good if each.state == state), None)
    if good is not None and not any(map(isnan, losses)):
        rounds = min(counts)
        good.count += rounds
        good.total += rounds * weighted(tuner_state.spec, losses)


def best_good(tuner_state: TunerState) -> Good | None:
    """The good state of the least known loss."""
    known = [each for each in tuner_state.good if each.count]
    return min(known, key=lambda each: each.total / each.count, default=None)


def watched(
    tuner_state: TunerState, state: State, told: Told, fresh: Iterable[str], steady: bool
) -> list[Lesson]:
    """What is to be learned of the guardrails: what is fresh and steady, and every breach."""
    rules = [rule for rule in tuner_state.spec.constraints if rule.learned]
    if not rules:
        return []
    metrics = {name: content[0] for name, content in told.items() if content is not None}
    counts = {name: content[2] for name, content in told.items() if content is not None}
    known, new = tuner_state.known_baselines, set(fresh)
    readings: list[float | None] = []
    for rule in rules:
        counted = steady or rule.holds(metrics, known) is False
        readings.append(
            rule.reading(metrics, known) if counted and new.intersection(rule.metrics) else None
        )
    limits = [rule.limit(known) for rule in rules]
    least = [min((counts.get(name, 1) for name in rule.metrics), default=1) for rule in rules]
    return [Watch(state, readings, least, limits, [each.state for each in tuner_state.good])]


def _turn_back(tuner_state: TunerState) -> bool:
    """Have the tuner go to the last good state; where none is known it is lost, or pauses.

    The policy has not learned why, and would soon be back. So it waits twice as long after
    each rollback from where it went (`wait`), and in T rounds there are at most log2(T) of them.

    Where guardrails break even after `RETREATS` rollbacks one after another the system has changed:
    no state is good any more because it was once. Then, or where no other good state is known, what
    was learned of the broken guardrails shows the way (`Escape`); the tuner pauses if nothing was.
    """
    forced_move = tuner_state.forced_move
    if tuner_state.shadow or (forced_move is not None and forced_move.kind == "rollback"):
        return False
    forget_good(tuner_state, tuner_state.state)
    if not tuner_state.lost:
        tuner_state.proposal = None
    if forced_move is not None:
        tuner_state.forced_move = None
    if forced_move is not None and forced_move.kind == "manual":
        tuner_state.paused = "guardrails broke at values that were ordered by hand"
    learned, again = _learned(tuner_state), tuner_state.deployed == tuner_state.refuge
    tuner_state.retreats = tuner_state.retreats + 1 if again else 1
    if learned and tuner_state.retreats > RETREATS:
        tuner_state.good = []
    if tuner_state.good:
        tuner_state.forced_move = ForcedMove("rollback", list(tuner_state.good[-1].state), True)
        tuner_state.rollbacks += 1
        tuner_state.strikes += not again
    elif tuner_state.paused is None and learned:
        tuner_state.lost = True
    elif tuner_state.paused is None:
        tuner_state.paused = "guardrails are broken, and no other good state is known"
    return True


def escape(tuner_state: TunerState, reach: Reach) -> Escape:
    """What is to be done where no state is known to keep the guardrails."""
    rules = tuner_state.spec.constraints
    pairs = zip(rules, tuner_state.verdicts, strict=True)
    rows = [verdict.breaches for rule, verdict in pairs if rule.learned]
    return Escape(reach, rows, changed=tuner_state.deployed == tuner_state.refuge)


def _learned(tuner_state: TunerState) -> bool:
    """Whether all guardrails that are broken at the deployed state are learned."""
    return all(tuner_state.spec.constraints[c].learned for c in _broken(tuner_state))


def _broken(tuner_state: TunerState) -> list[int]:
    """The guardrails that were observed to be broken at the deployed state."""
    return [c for c in tuner_state.guardrails if tuner_state.verdicts[c].holds is False]


def wait(tuner_state: TunerState) -> None:
    """A rollback is over: the policy waits, if a guardrail has wanted it."""
    tuner_state.refuge = tuner_state.deployed
    if tuner_state.strikes:
        tuner_state.wait_until = tuner_state.round + 2 ** min(tuner_state.strikes, MOST_DOUBLINGS)


def forget_good(tuner_state: TunerState, state: State) -> None:
    """The state is not among the good ones any more."""
    tuner_state.good = [each for each in tuner_state.good if each.state != state]


def all_well(tuner_state: TunerState) -> bool:
    """Whether every guardrail was observed to hold at the deployed state, and none broke since."""
    return all(tuner_state.verdicts[c].holds for c in tuner_state.guardrails)


def begin_epoch(tuner_state: TunerState) -> None:
    """Nothing is known yet of the state that was just deployed."""
    for c in tuner_state.guardrails:
        tuner_state.verdicts[c] = Verdict()
    tuner_state.observed = []
    tuner_state.contrast = [0, 0.0, 0.0]


def waits(tuner_state: TunerState) -> list[str]:
    """What must be observed at the deployed state before the policy may leave it.

    So metrics that are missing hold the tuner where it is.
    """
    unseen = [
        each.name for each in tuner_state.spec.objectives if each.name not in tuner_state.observed
    ]
    notes = [f"waits for {name}" for name in unseen]
    if tuner_state.round < tuner_state.wait_until:
        notes.append(f"waits until round {tuner_state.wait_until + 1:,} after a rollback")
    for c in tuner_state.guardrails:
        rule, verdict = tuner_state.spec.constraints[c].rule, tuner_state.verdicts[c]
        if verdict.holds is None:
            notes.append(f"waits for {rule} to be judged")
        elif not verdict.holds and not tuner_state.lost:
            notes.append(f"{rule} does not hold")
    return notes + lost(tuner_state)


def lost(tuner_state: TunerState) -> list[str]:
    """The guardrails that are broken while no values are known to keep them, in words."""
    rules = tuner_state.spec.constraints if tuner_state.lost else ()
    return [f"no values are known to keep {rules[c].rule}" for c in _broken(tuner_state) if rules]
