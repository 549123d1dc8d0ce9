"""What the policy learns of a tell: losses without their covariates, or against the control arm.

With a control arm both arms meet the same hour and the same traffic. So the loss that is learned
is the difference between the arms, on the level of the control arm's first measurement; and how
much the two differ at the deployed state is what the tuner is worth now.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, nan

from trimtab.live.state.covariates import Adjustment, values
from trimtab.live.state.learning.lessons import Covaried, Lesson, Revise
from trimtab.live.state.measurement import CONTROL, Plain, lesson_of, weighted
from trimtab.live.state.tuner_state import State, Trial, TunerState


def learnable(
    tuner_state: TunerState, trial: Trial, state: State, fresh: Mapping[str, Plain], at: int
) -> tuple[list[float], list[int], tuple[Covaried, ...]]:
    """Losses (m,), NaN where there is nothing to learn yet, and how many rounds each stands for.

    Also what was told of the losses from which covariates were taken out.

    Args:
        tuner_state: whose adjustments and levels learn as well.
        trial: the decision, with all that was told of it.
        state: where it was.
        fresh: what this tell says.
        at: when it was measured, in microseconds since 1970.
    """
    if tuner_state.spec.control:
        return *_paired(tuner_state, trial, state, fresh), ()
    losses, counts = lesson_of(tuner_state.spec, fresh)
    covaried: list[Covaried] = []
    for i, objective in enumerate(tuner_state.spec.objectives):
        if objective.covariates and not isnan(losses[i]):
            z = values(objective.covariates, trial.told, at)
            known = tuner_state.adjustments
            if z is None:  # without it nobody knows what the knobs have done
                losses[i] = nan
                continue
            if objective.name not in known:
                known[objective.name] = Adjustment(list(objective.covariates))
            gamma, far = known[objective.name].learn(z, losses[i], trial.epoch)
            covaried.append(Covaried(i, losses[i], far.tolist()))
            losses[i] = covaried[-1].without(gamma.tolist())
    if trial.awaited:  # what was not told yet may still come
        names = [each.name for each in tuner_state.spec.objectives]
        counts = [n if name in fresh else 0 for n, name in zip(counts, names, strict=True)]
    return losses, counts, tuple(covaried)


def revised(tuner_state: TunerState, covaried: tuple[Covaried, ...]) -> list[Lesson]:
    """What is to be learned again once these losses are known: everything, now and then."""
    names = {each.name: i for i, each in enumerate(tuner_state.spec.objectives)}
    known = {names[name]: each for name, each in tuner_state.adjustments.items() if name in names}
    if not any(known[each.objective].due for each in covaried):
        return []
    return [Revise({i: each.effect().tolist() for i, each in known.items()})]


def _paired(
    tuner_state: TunerState, trial: Trial, state: State, fresh: Mapping[str, Plain]
) -> tuple[list[float], list[int]]:
    spec = tuner_state.spec
    new = {name.removeprefix(CONTROL) for name in fresh}
    told = {name: x for name, x in trial.told.items() if x is not None}
    other = {name.removeprefix(CONTROL): x for name, x in told.items() if name.startswith(CONTROL)}
    both = {each.name for each in spec.objectives} & told.keys() & other.keys() & new
    losses, counts = lesson_of(spec, {name: told[name] for name in both})
    control, rounds = lesson_of(spec, {name: other[name] for name in both})
    gaps = [y - c for y, c in zip(losses, control, strict=True)]
    if state == tuner_state.state and not any(map(isnan, gaps)):
        _contrast(tuner_state, -weighted(spec, gaps))
    counts = [min(pair) for pair in zip(counts, rounds, strict=True)]
    for i, objective in enumerate(spec.objectives):
        if isnan(gaps[i]):
            losses[i] = nan
            counts[i] = 0 if trial.awaited else counts[i]
        else:
            losses[i] = gaps[i] + tuner_state.levels.setdefault(objective.name, control[i])
    return losses, counts


def _contrast(tuner_state: TunerState, better: float) -> None:
    """One more round at the deployed state in which both arms were measured."""
    n, mean, squares = tuner_state.contrast
    step = better - mean
    mean += step / (n + 1)
    tuner_state.contrast = [n + 1, mean, squares + step * (better - mean)]
