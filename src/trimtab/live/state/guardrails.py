"""Constraints, watched: baselines, breaches, the last good state, and who must wait for what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trimtab.live.state.measurement import Plain, Told
from trimtab.live.state.tuner_state import MOST_GOOD, Errand, Ledger, State, Verdict

MOST_DOUBLINGS = 30  # of the wait after a rollback


def learn_baselines(ledger: Ledger, fresh: Mapping[str, Plain]) -> None:
    """Take in what was observed at the state of the beginning, as far as baselines need it."""
    needed = {name for constraint in ledger.spec.constraints for name in constraint.baselines}
    for name in sorted(needed & fresh.keys()):
        mean, _, count = fresh[name]
        n, total = ledger.baselines.get(name, [0, 0.0])
        if n < ledger.spec.baseline_observations:
            ledger.baselines[name] = [n + count, total + count * mean]


def judge(ledger: Ledger, state: State, told: Told, fresh: Iterable[str], steady: bool) -> bool:
    """Judge every rule that what is fresh decides; whether the tuner must turn back.

    A breach always counts. That all is well counts only once the metrics are steady.
    """
    metrics = {name: content[0] for name, content in told.items() if content is not None}
    here = state == ledger.state
    broken = False
    for constraint, verdict in zip(ledger.spec.constraints, ledger.verdicts, strict=True):
        if not set(fresh).intersection(constraint.metrics):
            continue
        holds = constraint.holds(metrics, ledger.known_baselines)
        if holds is None:
            continue
        if constraint.kind == "signal":
            verdict.holds = holds
            verdict.breaches = 0 if holds else verdict.breaches + 1
            if verdict.breaches >= constraint.patience and ledger.paused is None:
                ledger.paused = f"signal: {constraint.rule} does not hold"
        elif not here:
            if not holds:
                forget_good(ledger, state)
        elif not holds:
            verdict.holds, verdict.breaches = False, verdict.breaches + 1
            broken |= verdict.breaches >= constraint.patience
        elif steady:
            verdict.holds, verdict.breaches = True, 0
    if here and steady and all_well(ledger):
        forget_good(ledger, state)
        ledger.good = [*ledger.good, list(state)][-MOST_GOOD:]
    return broken and _turn_back(ledger)


def _turn_back(ledger: Ledger) -> bool:
    """Have the tuner go to the last good state; where there is none it stays, paused.

    The policy has not learned why, and would soon be back. So it waits twice as long after
    each rollback (`wait`), and in T rounds there are at most log2(T) of them.
    """
    errand = ledger.errand
    if ledger.shadow or (errand is not None and errand.kind == "rollback"):
        return False
    forget_good(ledger, ledger.state)
    if errand is not None:
        ledger.errand = None
        ledger.paused = "guardrails broke at values that were ordered by hand"
    if ledger.good:
        ledger.errand = Errand("rollback", list(ledger.good[-1]))
        ledger.rollbacks += 1
        ledger.strikes += 1
    elif ledger.paused is None:
        ledger.paused = "guardrails are broken, and no other good state is known"
    return True


def wait(ledger: Ledger) -> None:
    """A rollback is over: the policy waits, if a guardrail has wanted it."""
    if ledger.strikes:
        ledger.wait_until = ledger.round + 2 ** min(ledger.strikes, MOST_DOUBLINGS)


def forget_good(ledger: Ledger, state: State) -> None:
    """The state is not among the good ones any more."""
    ledger.good = [each for each in ledger.good if each != state]


def all_well(ledger: Ledger) -> bool:
    """Whether every guardrail was observed to hold at the deployed state, and none broke since."""
    return all(ledger.verdicts[c].holds for c in ledger.guardrails)


def begin_epoch(ledger: Ledger) -> None:
    """Nothing is known yet of the state that was just deployed."""
    for c in ledger.guardrails:
        ledger.verdicts[c] = Verdict()
    ledger.observed = []


def waits(ledger: Ledger) -> list[str]:
    """What must be observed at the deployed state before the policy may leave it.

    So metrics that are missing hold the tuner where it is.
    """
    unseen = [each.name for each in ledger.spec.objectives if each.name not in ledger.observed]
    notes = [f"waits for {name}" for name in unseen]
    if ledger.round < ledger.wait_until:
        notes.append(f"waits until round {ledger.wait_until + 1:,} after a rollback")
    for c in ledger.guardrails:
        rule, verdict = ledger.spec.constraints[c].rule, ledger.verdicts[c]
        if verdict.holds is None:
            notes.append(f"waits for {rule} to be judged")
        elif not verdict.holds:
            notes.append(f"{rule} does not hold")
    return notes
