"""The noise of simulated systems: its moments, its bounds, and the scales it promises.

Statistical tests run on fixed seeds. For a new seed each of their assertions would
raise a false alarm with probability `ALARM` at most, Bonferroni's correction included.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import trimtab as tt
from trimtab.arrays import Array, Ints
from trimtab.errors import InvalidInput
from trimtab.sim.worlds import Bounded, Correlated, Gaussian, Noise, Recorded, Summable

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
    return np.array([noise.draw(rng, GRAPH, t) for t in range(1, ROUNDS + 1)])  # (T, m)


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
        noise.draw(np.random.default_rng(seed), GRAPH, 1).tolist() for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("noise", [Gaussian(0.0), Bounded(0.0), Correlated(0.0)])
def test_no_noise(noise: Noise) -> None:
    assert noise.draw(np.random.default_rng(0), GRAPH, 1).tolist() == [0.0] * 5


# Sums over many rounds.

SUMMED: Ints = np.array([3, 0, 2, 4, 1, 0])  # in any order, one twice, one without noise
OF_ROUNDS: Ints = np.array([2, 1, 50, 7, 10**6, 3])


def sums(noise: Summable, seed: int = 0) -> tuple[Array, Array]:
    """Means and squares of 20,000 draws: (T, c) each."""
    rng = np.random.default_rng(seed)
    found = np.array([noise.sums(rng, SUMMED, OF_ROUNDS) for _ in range(ROUNDS)])
    return found[:, 0], found[:, 1]


def test_only_gaussian_noise_can_be_summed() -> None:
    assert isinstance(Gaussian(0.1), Summable)
    others: list[object] = [Bounded(0.1), Correlated(0.1), Recorded([[0.1]])]
    assert not any(isinstance(noise, Summable) for noise in others)


@pytest.mark.parametrize("sigma", [SCALES, 0.7])
def test_sums_have_the_distribution_of_cochrans_theorem(sigma: Any) -> None:
    """A normal mean of variance sigma^2 / n, and sigma^2 chi-square(n - 1) squares about it."""
    means, squares = sums(Gaussian(sigma))
    scale = np.broadcast_to(sigma, 5)[SUMMED]
    for c in np.flatnonzero(scale == 0):
        assert not means[:, c].any()
        assert not squares[:, c].any()
    p_values = []
    for c in np.flatnonzero(scale > 0):
        n = int(OF_ROUNDS[c])
        z = means[:, c] * np.sqrt(n) / scale[c]
        p_values.append(stats.kstest(z, "norm").pvalue)
        if n == 1:
            assert not squares[:, c].any()  # one value is its own mean, exactly
        else:
            ratio = squares[:, c] / scale[c] ** 2
            p_values.append(stats.kstest(ratio, "chi2", args=(n - 1,)).pvalue)
    assert len(p_values) >= 9
    assert min(p_values) > ALARM / len(p_values)


def test_sums_are_independent_of_each_other() -> None:
    means, squares = sums(Gaussian([0.1, 0.5, 1.0, 2.0, 3.0]))
    several = OF_ROUNDS > 1
    # A square grows with the deviation of its mean in either direction, if with any.
    assert independent(np.hstack((means, squares[:, several])))
    assert independent(np.hstack((means**2, squares[:, several])))


def test_sums_agree_with_as_many_draws() -> None:
    """Against rounds drawn one by one and summed up: Kolmogorov and Smirnov, two samples."""
    n, runs = 5, 2000
    rng = np.random.default_rng(1)
    noise = Gaussian(SCALES)
    single = [[noise.draw(rng, GRAPH, t)[:4] for t in range(1, n + 1)] for _ in range(runs)]
    rounds = np.array(single)  # (runs, n, 4)
    slow = np.hstack((rounds.mean(axis=1), n * rounds.var(axis=1)))
    criteria = np.arange(4)
    fast = np.array([np.concatenate(noise.sums(rng, criteria, np.full(4, n))) for _ in range(runs)])
    p_values = [stats.ks_2samp(slow[:, c], fast[:, c]).pvalue for c in range(8)]
    assert min(p_values) > ALARM / 8


def test_sums_are_reproducible() -> None:
    first, again, other = (
        np.array(Gaussian(0.4).sums(np.random.default_rng(seed), SUMMED, OF_ROUNDS)).tolist()
        for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


# Recorded noise.


@st.composite
def tables(draw: st.DrawFn) -> Array:
    """Up to 12 rounds of up to 4 criteria, of which some are missing, but none always."""
    rounds, m = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    value = st.just(np.nan) | st.sampled_from([0.0, 0.5]) | st.floats(-10, 10)
    row = st.lists(value, min_size=m, max_size=m)
    rows = draw(st.lists(row, min_size=rounds, max_size=rounds))
    rows[draw(st.integers(0, rounds - 1))] = [0.25] * m
    return np.array(rows)


@given(tables())
def test_recorded_draws_its_rows(table: Array) -> None:
    graph = tt.Graph.complete(table.shape[1])
    noise = Recorded(table)
    rng = np.random.default_rng(0)
    rows = np.array([noise.draw(rng, graph, t) for t in range(1, len(table) + 1)])
    np.testing.assert_array_equal(rows, table)
    assert rng.random() == np.random.default_rng(0).random()  # nothing was drawn


def test_recorded_keeps_its_table_to_itself() -> None:
    table = np.array([[0.5, np.nan], [1.5, 2.5]])
    noise = Recorded(table)
    table[:] = 7.0
    row = noise.draw(np.random.default_rng(0), tt.Graph.complete(2), 2)
    row += 1.0
    np.testing.assert_array_equal(noise.table, [[0.5, np.nan], [1.5, 2.5]])
    assert not noise.table.flags.writeable


@given(tables())
def test_recorded_seen(table: Array) -> None:
    direct = [(~np.isnan(table[:t])).sum(axis=0).tolist() for t in range(len(table) + 1)]
    assert Recorded(table).seen.tolist() == direct


@given(tables())
def test_recorded_scales(table: Array) -> None:
    found = Recorded(table).scales(tt.Graph.complete(table.shape[1]))
    np.testing.assert_allclose(found, np.nanstd(table, axis=0), rtol=1e-12, atol=1e-14)


@given(tables(), st.data())
def test_recorded_until(table: Array, data: st.DataObject) -> None:
    """Round after round until somebody has been seen often enough, or the table ends."""
    T, m = table.shape
    t = data.draw(st.integers(0, T - 1))
    often = st.integers(1, 14) | st.just(tt.learn.NEVER)
    need = np.array(data.draw(st.lists(often, min_size=m, max_size=m)))
    seen = np.zeros(m, int)
    rounds = 0
    while t + rounds < T and (seen < need).all():
        seen += ~np.isnan(table[t + rounds])
        rounds += 1
    assert Recorded(table).until(t, need) == rounds


@given(tables(), st.data())
def test_recorded_summary(table: Array, data: st.DataObject) -> None:
    i = data.draw(st.integers(0, table.shape[1] - 1))
    first = data.draw(st.integers(0, len(table)))
    last = data.draw(st.integers(first, len(table)))
    values = [x for x in table[first:last, i].tolist() if x == x]
    mean, squares = Recorded(table).summary(i, first, last)
    if not values:
        assert (mean, squares) == (0.0, 0.0)
    else:
        assert mean == pytest.approx(np.mean(values), rel=1e-12, abs=1e-12)
        assert squares == pytest.approx(np.var(values) * len(values), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([0.1, 0.2], "table has shape (2,); give a row per round"),
        (0.1, "table has shape (); give a row per round"),
        ([[[0.1]]], "table has shape (1, 1, 1); give a row per round"),
        (np.empty((0, 3)), "table has shape (0, 3); give a row per round"),
        (np.empty((3, 0)), "table has shape (3, 0); give a row per round"),
        ([[0.1, np.inf]], "table holds an infinite value; use NaN for a missing loss"),
        ([[0.1, -np.inf]], "table holds an infinite value; use NaN for a missing loss"),
        ([[0.1, 0.2], [0.3]], "table is ragged"),
        ([["a", "b"]], "table must hold real numbers"),
    ],
)
def test_tables_that_are_none_are_refused(table: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{re.escape(says)}"):
        Recorded(table)


def test_a_table_ends() -> None:
    with pytest.raises(InvalidInput, match=r"^round 4 is not in the table; it has 1 to 3$"):
        Recorded(np.zeros((3, 5))).draw(np.random.default_rng(0), GRAPH, 4)


def test_a_table_has_a_column_per_criterion() -> None:
    message = "^table has 4 columns for 5 criteria$"
    with pytest.raises(InvalidInput, match=message):
        Recorded(np.zeros((3, 4))).scales(GRAPH)
    with pytest.raises(InvalidInput, match=message):
        world(Recorded(np.zeros((3, 4))))


# What is refused.


def world(noise: Noise) -> tt.worlds.World:
    problem = tt.Problem(GRAPH, basis=tt.bases.Linear())
    return tt.worlds.World(problem, theta=[np.ones(d) for d in problem.dims], noise=noise)


WRONG: list[tuple[Any, str]] = [
    (-0.1, "-0.1"),
    (float("nan"), "nan"),
    (float("inf"), "inf"),
    ("loud", "must hold real numbers"),
    ([[0.1, 0.2]], "has shape (1, 2)"),
]
WRONG_PER_CRITERION: list[tuple[Any, str]] = [
    ([0.1, 0.1, -2.0, 0.1, 0.1], "[2] = -2 must be at least 0"),
    ([0.1, 0.1, 0.1, float("nan"), 0.1], "[3] = nan is not finite"),
]


@pytest.mark.parametrize(
    ("make", "named", "bad", "says"),
    [
        *((Gaussian, "sigma", bad, says) for bad, says in WRONG + WRONG_PER_CRITERION),
        *((Bounded, "width", bad, says) for bad, says in WRONG + WRONG_PER_CRITERION),
        *((Correlated, "sigma", bad, says) for bad, says in WRONG),
        (Correlated, "sigma", [0.1] * 5, "has shape (5,); give a single number"),
    ],
)
def test_scales_that_are_none_are_refused(make: Any, named: str, bad: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{named}.*{re.escape(says)}"):
        make(bad)


@pytest.mark.parametrize("wrong", [[0.1, 0.1], [0.1], [], [0.1] * 6])
@pytest.mark.parametrize(("make", "named"), [(Gaussian, "sigma"), (Bounded, "width")])
def test_scales_for_other_criteria_are_refused(make: Any, named: str, wrong: list[float]) -> None:
    noise = make(wrong)
    says = f"{named} has shape ({len(wrong)},), expected (5,); give one value per criterion"
    with pytest.raises(InvalidInput, match=f"^{re.escape(says)}$"):
        noise.scales(GRAPH)
    with pytest.raises(InvalidInput, match=f"^{re.escape(says)}$"):
        world(noise)
