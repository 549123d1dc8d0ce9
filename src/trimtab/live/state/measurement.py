"""What a policy learns of measurements, as the journal holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, isnan, nan
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.live.spec.objective import Objective
from trimtab.live.spec.spec import Spec

MOST = 10**9  # rounds that one measurement may stand for
SLACK = 1e-9  # by which a standard error may exceed the noise of one measurement, for rounding

CONTROL = "control:"  # begins the names of what was measured at the start state meanwhile

Plain = list[Any]  # mean, its standard error or None, count
Told = dict[str, Plain | None]  # by metric; None where it was taken back


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
