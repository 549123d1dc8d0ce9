"""What a policy learns of measurements, as the journal holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, isnan, nan, sqrt
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.live.spec.constraint import Constraint
from trimtab.live.spec.objective import Objective
from trimtab.live.spec.spec import Spec

MOST = 10**9  # rounds that one measurement may stand for
SLACK = 1e-9  # by which a standard error may exceed the noise of one measurement, for rounding

CONTROL = "control:"  # begins the names of what was measured at the start state meanwhile

Plain = list[Any]  # mean, its standard error or None, count
Told = dict[str, Plain | None]  # by metric; None where it was taken back
Sums = list[float]  # rounds, sum, sum of squares, tells; older snapshots have the first two only
LEAST = 4  # tells of which a baseline is the mean
SURE = 0.125  # of the way from the baseline to the limit: the limit's standard error, at most


def lesson_of(spec: Spec, told: Mapping[str, Plain]) -> tuple[list[float], list[int]]:
    """Losses (m,), NaN where there is nothing to learn, and how many rounds each stands for.

    A mean with a standard error counts as (noise / sem)^2 measurements, rounded down, if
    the spec knows the noise; one that is worth less than a single measurement is not learned
    from. Otherwise its count counts.
    """
    losses, counts = [nan] * len(spec.objectives), [1] * len(spec.objectives)
    for i, objective in enumerate(spec.objectives):
        if objective.name not in told:
            continue
        mean, error, count = told[objective.name]
        if error is not None and objective.noise is not None:
            ratio = min(objective.noise / error, float(MOST))  # its square is finite
            count = min(floor((1.0 + SLACK) * ratio**2), MOST)
        if count >= 1:
            losses[i], counts[i] = measured_loss(objective, mean), count
    return losses, counts


def weighted(spec: Spec, losses: Sequence[float]) -> float:
    """The losses of all objectives as one."""
    return sum(each.weight * y for each, y in zip(spec.objectives, losses, strict=True))


def rounds_of(losses: Sequence[float], counts: Sequence[int]) -> int:
    """How many rounds have passed with these losses, as the policy's clock counts them."""
    observed = [n for y, n in zip(losses, counts, strict=True) if not isnan(y)]
    return max(observed, default=min(max(counts), 1))


def measured_loss(objective: Objective, value: float) -> float:
    """The loss of a measurement; NaN if it is out of all proportion to a range of later on."""
    try:
        return objective.loss(value)
    except InvalidInput:
        return nan


def summed(sums: Sums | None, mean: float, count: int) -> Sums:
    """The sums with a metric more, which is the mean of `count` rounds."""
    n, total, squares, told = (
        sums if sums is not None and len(sums) == 4 else [*(sums or [0, 0.0]), 0.0, 0]
    )
    return [n + count, total + count * mean, squares + count * mean * mean, told + 1]


def known_baselines(spec: Spec, sums: Mapping[str, Sums]) -> dict[str, float]:
    """The baselines of which enough was observed.

    A baseline is the mean of `baseline_observations` at the start state. Fewer are enough, `LEAST`
    at least, where the rules leave so much room that the limits are known well anyhow.
    """
    return {name: each[1] / each[0] for name, each in sums.items() if _enough(spec, name, each)}


def _enough(spec: Spec, name: str, sums: Sums) -> bool:
    n = sums[0]
    if n >= spec.baseline_observations or len(sums) < 4 or sums[3] < LEAST:
        return n >= spec.baseline_observations
    mean = sums[1] / n
    error = sqrt(max(sums[2] - n * mean * mean, 0.0) / (sums[3] - 1) / n)
    return all(
        _sure(rule, name, mean, error) for rule in spec.constraints if name in rule.baselines
    )


def _sure(rule: Constraint, name: str, mean: float, error: float) -> bool:
    """Whether the rule's limit is known well if the baseline is off by that."""
    limit, other = rule.limit({name: mean}), rule.limit({name: mean + error})
    reading = rule.reading({name: mean}, {name: mean})
    if rule.metrics != (name,) or limit is None or other is None or reading is None:
        return False
    return abs(other - limit) <= SURE * (limit - reading)
