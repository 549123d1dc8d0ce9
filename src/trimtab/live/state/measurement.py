"""Measurements as they are told, checked and made plain; and what a policy learns of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, inf, isinf, isnan, nan
from numbers import Integral
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.live.spec.objective import Objective
from trimtab.live.spec.spec import Spec
from trimtab.plain.faults import real, shown
from trimtab.registry import suggestion

MOST = 10**9  # rounds that one measurement may stand for
LARGEST = 1e100  # of a mean or a standard error, as of any number in a spec; one over it, the least
SLACK = 1e-9  # by which a standard error may exceed the noise of one measurement, for rounding

CONTROL = "control:"  # begins the names of what was measured at the start state meanwhile

Plain = list[Any]  # mean, its standard error or None, count
Told = dict[str, Plain | None]  # by metric; None where it was taken back


def plain_metrics(spec: Spec, metrics: Mapping[str, Any], count: Any) -> dict[str, Plain]:
    """The measurements by name as [mean, standard error or None, count]; NaN and None are left out.

    Raises:
        InvalidInput: an unknown metric, something that is no measurement, or a count that counts
            nothing.
    """
    if not isinstance(metrics, Mapping):
        raise InvalidInput(f"metrics = {shown(metrics)}; give a dict, metric by metric")
    known = [each.name for each in spec.objectives] + list(spec.metrics)
    known += [name for name in spec.covariates if name not in known]
    told: dict[str, Plain] = {}
    for name, given in metrics.items():
        if name not in known:
            raise InvalidInput(f"{name!r} is no metric; {suggestion(str(name), known)}")
        n = _count(count.get(name, 1) if isinstance(count, Mapping) else count, name)
        mean, error = _mean(name, given)
        if mean is not None:
            told[name] = [mean, error, n]
    if isinstance(count, Mapping):
        for name in count:
            if name not in metrics:
                raise InvalidInput(f"count has {name!r}, metrics has not; count what is told")
    else:
        _count(count, "count")
    for objective in spec.objectives:
        if objective.name in told:
            objective.loss(told[objective.name][0])  # refuses mistaken units
    return told


def _mean(name: str, given: Any) -> tuple[float | None, float | None]:
    """A mean and its standard error, None where there is none."""
    error = None
    if isinstance(given, list | tuple):
        if len(given) != 2:
            raise InvalidInput(f"{name} = {shown(given)}; give a number, or (mean, sem)")
        given, error = given
    if given is None:
        return None, None
    mean = real(given, name)
    if isinf(mean):
        raise InvalidInput(f"{name} = {mean}; give a finite number, or NaN for what is missing")
    if abs(mean) > LARGEST:  # sums of products with counts must stay finite
        raise InvalidInput(f"{name} = {mean:g}; at most {LARGEST:g} either way: check its unit")
    if error is not None:
        error = real(error, f"the standard error of {name}")
        if not 0.0 < error < inf:
            raise InvalidInput(
                f"the standard error of {name} = {error:g}; it must be above 0: leave it out if it "
                "is not known"
            )
        if not 1.0 / LARGEST <= error <= LARGEST:  # squares must stay finite, and above 0
            raise InvalidInput(
                f"the standard error of {name} = {error:g}; from {1.0 / LARGEST:g} to {LARGEST:g}: "
                "check its unit, or leave it out"
            )
    return (None, None) if isnan(mean) else (mean, error)


def _count(value: Any, name: str) -> int:
    """A whole number of rounds."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not 1 <= value <= MOST:
        raise InvalidInput(
            f"count of {name} = {shown(value)}; give a whole number from 1 to {MOST:,}"
        )
    return int(value)


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
