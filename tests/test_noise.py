"""The noise of simulated systems: its moments, its bounds, and the scales it promises.

Statistical tests run on fixed seeds. For a new seed each of their assertions would
raise a false alarm with probability `ALARM` at most, Bonferroni's correction included.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

import trimtab as tt
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.sim.worlds import Bounded, Correlated, Gaussian, Noise

ALARM = 1e-6
ROUNDS = 20_000
# Two criteria read the same knobs, one reads a single knob, and nobody reads knob 4.
GRAPH = tt.Graph.from_scopes([[0, 1, 2], [2, 3], [3], [0, 3], [3, 0]], knobs=5)
INCIDENCE = np.array(
    [[1, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 0], [1, 0, 0, 1, 0], [1, 0, 0, 1, 0]], float
)
SCALES = [0.1, 0.5, 1.0, 2.0, 0.0]


def draws(noise: Noise, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return np.array([noise.draw(rng, GRAPH) for _ in range(ROUNDS)])  # (T, m)


def spread_p_values(values: Array, variances: Array) -> Array:
    """Two-sided, of the hypothesis that the columns are normal with mean 0 and these variances."""
    ratio = (values**2).sum(axis=0) / variances
    tails = np.minimum(stats.chi2.cdf(ratio, ROUNDS), stats.chi2.sf(ratio, ROUNDS))
    return np.asarray(2 * tails)


def independent(columns: Array) -> bool:
    """Whether no two columns are correlated, nor one with itself a round earlier."""
    m = columns.shape[1]
    pairs = [(columns[:, i], columns[:, j]) for i in range(m) for j in range(i)]
    pairs += [(columns[1:, i], columns[:-1, i]) for i in range(m)]
    p_values = [stats.pearsonr(x, y).pvalue for x, y in pairs]
    return bool(min(p_values) > ALARM / len(pairs))


def test_gaussian_has_its_standard_deviations() -> None:
    values = draws(Gaussian(SCALES))
    assert values[:, 4].tolist() == [0.0] * ROUNDS
    values, sigma = values[:, :4], np.array(SCALES[:4])
    means = values.mean(axis=0) / sigma * np.sqrt(ROUNDS)  # standard normal
    assert np.abs(means).max() < stats.norm.isf(ALARM / 4 / 2)
    assert spread_p_values(values, sigma**2).min() > ALARM / 4
    shapes = [stats.kstest(values[:, i] / sigma[i], "norm").pvalue for i in range(4)]
    assert min(shapes) > ALARM / 4


def test_gaussian_is_independent_across_criteria_and_rounds() -> None:
    assert independent(draws(Gaussian(0.3)))


def test_bounded_never_leaves_its_bounds_and_reaches_for_them() -> None:
    values = draws(Bounded(SCALES))
    assert (np.abs(values) <= SCALES).all()
    inner = 0.99 * np.array(SCALES[:4])  # T uniform draws miss an outer hundredth: 0.995^T
    assert 0.995**ROUNDS < ALARM / 8
    assert (values[:, :4].max(axis=0) > inner).all()
    assert (values[:, :4].min(axis=0) < -inner).all()


def test_bounded_has_the_moments_of_a_uniform() -> None:
    width = np.array(SCALES[:4])
    unit = draws(Bounded(SCALES))[:, :4] / width
    # Hoeffding: the mean of T values that span r is off by t with probability 2 exp(-2 T (t/r)^2).
    off = np.sqrt(np.log(2 * 8 / ALARM) / (2 * ROUNDS))
    assert np.abs(unit.mean(axis=0)).max() < 2 * off
    assert np.abs((unit**2).mean(axis=0) - 1 / 3).max() < off
    shapes = [stats.kstest(unit[:, i], "uniform", args=(-1, 2)).pvalue for i in range(4)]
    assert min(shapes) > ALARM / 4


def test_bounded_is_independent_across_criteria_and_rounds() -> None:
    assert independent(draws(Bounded(0.3)))


@pytest.mark.parametrize("sigma", [0.2, 3.0])
def test_correlated_covariance_is_that_of_the_scopes(sigma: float) -> None:
    # With a' eta normal of variance sigma^2 |A' a|^2 for every a, all entries of the
    # covariance follow by polarisation: a = e_i, e_i + e_j, e_i - e_j.
    unit = np.eye(GRAPH.criteria)
    pairs = [(i, j) for i in range(GRAPH.criteria) for j in range(i)]
    directions = np.array(
        [*unit, *(unit[i] + unit[j] for i, j in pairs), *(unit[i] - unit[j] for i, j in pairs)]
    )
    variances = sigma**2 * ((directions @ INCIDENCE) ** 2).sum(axis=1)
    values = draws(Correlated(sigma)) @ directions.T
    twins = variances == 0  # criteria that read the same knobs
    assert twins.sum() == 1
    assert (values[:, twins] == 0).all()
    p_values = spread_p_values(values[:, ~twins], variances[~twins])
    assert p_values.min() > ALARM / p_values.size


def test_correlated_has_mean_zero_and_fresh_rounds() -> None:
    values = draws(Correlated(0.5))
    deviations = 0.5 * np.sqrt(INCIDENCE.sum(axis=1))
    means = values.mean(axis=0) / deviations * np.sqrt(ROUNDS)  # standard normal
    assert np.abs(means).max() < stats.norm.isf(ALARM / 5 / 2)
    assert stats.kstest(values[:, 0] / deviations[0], "norm").pvalue > ALARM
    again = [stats.pearsonr(values[1:, i], values[:-1, i]).pvalue for i in range(5)]
    assert min(again) > ALARM / 5


def test_scales() -> None:
    assert Gaussian(0.3).scales(GRAPH).tolist() == [0.3] * 5
    assert Gaussian(SCALES).scales(GRAPH).tolist() == SCALES
    assert Bounded(0.3).scales(GRAPH).tolist() == [0.3] * 5
    assert Bounded(SCALES).scales(GRAPH).tolist() == SCALES
    covariance = 0.2**2 * INCIDENCE @ INCIDENCE.T
    np.testing.assert_allclose(Correlated(0.2).scales(GRAPH), np.sqrt(np.diag(covariance)))


@pytest.mark.parametrize("noise", [Gaussian(0.4), Bounded(0.4), Correlated(0.4)])
def test_a_draw_is_reproducible(noise: Noise) -> None:
    first, again, other = (
        noise.draw(np.random.default_rng(seed), GRAPH).tolist() for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("noise", [Gaussian(0.0), Bounded(0.0), Correlated(0.0)])
def test_no_noise(noise: Noise) -> None:
    assert noise.draw(np.random.default_rng(0), GRAPH).tolist() == [0.0] * 5


WRONG: list[tuple[Any, str]] = [
    (-0.1, "-0.1"),
    (float("nan"), "nan"),
    (float("inf"), "inf"),
    ("loud", "must hold real numbers"),
]
WRONG_PER_CRITERION: list[tuple[Any, str]] = [
    ([0.1, 0.1, -2.0, 0.1, 0.1], "[2] = -2 must be at least 0"),
    ([0.1, 0.1, 0.1, float("nan"), 0.1], "[3] = nan is not finite"),
    ([0.1, 0.1], "has shape (2,), expected (5,); give one value per criterion"),
]


@pytest.mark.parametrize(
    ("noise", "named", "says"),
    [
        *((Gaussian(bad), "sigma", says) for bad, says in WRONG + WRONG_PER_CRITERION),
        *((Bounded(bad), "width", says) for bad, says in WRONG + WRONG_PER_CRITERION),
        *((Correlated(bad), "sigma", says) for bad, says in WRONG),
        (Correlated([0.1] * 5), "sigma", "has shape (5,); give a single number"),  # type: ignore[arg-type]
    ],
)
def test_scales_that_are_none_are_refused(noise: Noise, named: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{named}.*{re.escape(says)}"):
        noise.scales(GRAPH)
    problem = tt.Problem(GRAPH, basis=tt.bases.Linear())
    with pytest.raises(InvalidInput, match=f"^{named}.*{re.escape(says)}"):
        tt.worlds.World(problem, theta=[np.ones(d) for d in problem.dims], noise=noise)
