"""The lazy regressions against direct ones."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimtab as tt
from trimtab.arrays import Array, Ints
from trimtab.learn import NodewiseEstimators, as_radius
from trimtab.policies.lcb import LCB


def ring(k: int) -> tt.Graph:
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


class Direct:
    """Ridge regression of one criterion from the list of its data."""

    def __init__(self, reg: float, rows: list[tuple[Array, float, int]]) -> None:
        phi = np.array([row[0] for row in rows])
        y = np.array([row[1] for row in rows])
        n = np.array([row[2] for row in rows], np.float64)
        d = phi.shape[1]
        self.V = reg * np.eye(d) + (phi * n[:, None]).T @ phi
        self.theta = np.linalg.solve(self.V, (phi * n[:, None]).T @ y)
        self.gain = np.linalg.slogdet(self.V)[1] - d * np.log(reg)
        fit = n @ (y - phi @ self.theta) ** 2
        self.ridge_objective = fit + reg * self.theta @ self.theta


@given(st.integers(0, 10**6), st.booleans())
def test_every_statistic_equals_direct_regression(seed: int, with_gaps: bool) -> None:
    rng = np.random.default_rng(seed)
    problem = tt.Problem(ring(4), basis=tt.bases.PairwiseQuadratic(normalize=bool(seed % 2)))
    m = problem.criteria
    reg = rng.uniform(0.05, 5.0, m)
    estimators = NodewiseEstimators(problem, reg=reg, factor=2.0, state=np.full(4, 0.5))
    told: list[list[list[tuple[float, int]]]] = [[[] for _ in range(6)] for _ in range(m)]
    phis = []
    state = np.full(4, 0.5)
    for epoch in range(6):
        phis.append(np.split(problem.phi(state), problem.features.offsets[1:-1]))
        for _ in range(int(rng.integers(1, 8))):
            y = 5.0 + rng.normal(size=m)
            if with_gaps:
                y[rng.random(m) < 0.4] = np.nan
            count = rng.integers(1, 4, m) if with_gaps else None
            estimators.add(y, count)
            for i in np.flatnonzero(~np.isnan(y)).tolist():
                told[i][epoch].append((float(y[i]), 1 if count is None else int(count[i])))
        estimators.flush(problem.all_criteria)
        state = rng.random(4)
        estimators.deploy(state, problem.all_criteria)
    for i in range(m):
        rows, between = [], []
        pure_error, pure_df = 0.0, 0
        for epoch, seen in enumerate(told[i]):
            if seen:
                y_, n_ = np.array(seen).T
                mean = float(y_ @ n_ / n_.sum())
                pure_error += float(n_ @ (y_ - mean) ** 2)
                pure_df += len(seen) - 1
                between.append((phis[epoch][i], mean, int(n_.sum())))
                rows += [(phis[epoch][i], y, n) for y, n in seen]
        if not rows:
            continue
        every, states = Direct(reg[i], rows), Direct(reg[i], between)
        np.testing.assert_allclose(estimators.V(i), every.V, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(estimators.theta(i), every.theta, rtol=1e-8, atol=1e-9)
        assert estimators.stats.gain[i] == pytest.approx(every.gain, rel=1e-11, abs=1e-12)
        # The losses' spread splits exactly into noise at a state and what the fit leaves.
        assert estimators.residual(i) == pytest.approx(states.ridge_objective, rel=1e-8, abs=1e-9)
        assert estimators.stats.pure_error[i] == pytest.approx(pure_error, rel=1e-8, abs=1e-9)
        assert estimators.stats.pure_df[i] == pure_df
        assert every.ridge_objective == pytest.approx(
            states.ridge_objective + pure_error, rel=1e-8, abs=1e-9
        )
        assert estimators.stats.seen[i] == sum(n for _, _, n in rows)


def test_elsewhere_and_frozen_data_commute() -> None:
    """A datum of another state may come before, between or after frozen rounds."""
    problem = tt.Problem(ring(5))
    rng = np.random.default_rng(1)
    here, there = rng.random((2, 5))
    rounds, far = rng.normal(size=(6, 5)), rng.normal(size=5)
    results = []
    for slot in (0, 3, 6):
        estimators = NodewiseEstimators(problem, reg=np.full(5, 0.3), factor=2.0, state=here)
        for t, y in enumerate(rounds):
            if t == slot:
                estimators.add_elsewhere(far, np.full(5, 4), there)
            estimators.add(y)
        if slot == 6:
            estimators.add_elsewhere(far, np.full(5, 4), there)
        left, rang = estimators.rounds_left, estimators.triggered()
        estimators.flush(problem.all_criteria)
        results.append((estimators.V(2), estimators.theta(2), left, rang.tolist()))
    for V, theta, left, rang in results[1:]:
        np.testing.assert_allclose(V, results[0][0], rtol=1e-13)
        np.testing.assert_allclose(theta, results[0][1], rtol=1e-10)
        assert (left, rang) == results[0][2:]


def test_weighted_tell_equals_repeated_tell() -> None:
    problem = tt.Problem(ring(4))
    rng = np.random.default_rng(2)
    y = rng.normal(size=4)
    one, many = (
        NodewiseEstimators(problem, reg=np.ones(4), factor=2.0, state=np.full(4, 0.7))
        for _ in range(2)
    )
    one.add(y, np.full(4, 1000))
    for _ in range(1000):
        many.add(y)
    np.testing.assert_array_equal(one.triggered(), many.triggered())
    for estimators in (one, many):
        estimators.flush(problem.all_criteria)
    np.testing.assert_allclose(one.stats.R, many.stats.R, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(one.stats.gain, many.stats.gain)


def add_rounds(estimators: NodewiseEstimators, losses: Array) -> None:
    """`estimators.add(row, ...)` for every row; all but two in a compiled loop."""
    for row in losses[:2]:
        estimators.add(row)
    estimators.add(losses[2:])


@pytest.mark.slow
def test_ten_million_rounds_keep_nine_digits() -> None:
    """Against 60 digits: 10^7 single rounds over 60 states, V with condition 10^6 and more."""
    graph = tt.Graph.from_scopes([[0, 1], [0]], knobs=2)
    problem = tt.Problem(graph, basis=tt.bases.Quadratic(normalize=False))
    rng = np.random.default_rng(7)
    reg = np.array([0.1, 1.0])
    states = np.clip(0.4 + 0.05 * rng.normal(size=(60, 2)), 0.0, 1.0)
    lengths = np.diff(np.geomspace(10, 10**7, 61)).astype(np.int64)
    lengths[-1] += 10**7 - lengths.sum()
    estimators = NodewiseEstimators(problem, reg=reg, factor=2.0, state=states[0])
    sums = np.zeros((60, 2))
    for j, (state, n) in enumerate(zip(states, lengths, strict=True)):
        estimators.deploy(state, problem.all_criteria)
        left = int(n)
        while left:
            # Multiples of 2^-20: their sums are exact, so the reference knows them.
            rows = np.round((0.3 + 0.1 * rng.normal(size=(min(left, 10**6), 2))) * 2**20) / 2**20
            add_rounds(estimators, rows)
            sums[j] += rows.sum(axis=0)
            left -= len(rows)
        estimators.flush(problem.all_criteria)
    assert estimators.stats.seen.tolist() == [10**7, 10**7]
    for i in range(2):
        _compare_with_reference(problem, estimators, i, float(reg[i]), states, lengths, sums[:, i])


def _compare_with_reference(
    problem: tt.Problem,
    estimators: NodewiseEstimators,
    i: int,
    reg: float,
    states: Array,
    lengths: Ints,
    sums: Array,
) -> None:
    part = slice(*problem.features.offsets[i : i + 2])
    d = int(problem.dims[i])
    with mpmath.workdps(60):
        V = mpmath.mpf(reg) * mpmath.eye(d)
        b = mpmath.zeros(d, 1)
        for state, n, total in zip(states, lengths, sums, strict=True):
            phi = mpmath.matrix(problem.phi(state)[part].tolist())
            V += int(n) * phi * phi.T
            b += mpmath.mpf(float(total)) * phi
        theta = mpmath.lu_solve(V, b)
        gain = mpmath.log(mpmath.det(V)) - d * mpmath.log(mpmath.mpf(reg))
        condition = float(mpmath.mnorm(V, 1) * mpmath.mnorm(V**-1, 1))
        assert condition > 1e6  # or the test would prove little
        assert abs(estimators.stats.gain[i] / gain - 1) < 1e-12
        for state in (states[3], states[-1], np.array([0.9, 0.1])):
            phi = mpmath.matrix(problem.phi(state)[part].tolist())
            spread = (phi.T * mpmath.lu_solve(V, phi))[0]
            mean = (phi.T * theta)[0]
            lcb = LCB(estimators, as_radius(1.0, 2))
            means, widths = lcb.terms(state, np.array([i]))
            assert abs(widths[0] ** 2 / spread - 1) < 1e-9
            assert abs(means[0] / mean - 1) < 1e-9


def test_s0_zero_with_linear_features() -> None:
    """The paper to the letter never leaves s0 = 0; a solve or a review does."""
    world = tt.worlds.linear(ring(4), seed=3)
    zeros = np.zeros(4)

    def moved(**options: object) -> bool:
        policy = tt.LazyGraphLinUCB(
            world.problem,
            start=zeros,
            radius=0.5,
            **options,  # type: ignore[arg-type]
        )
        trace = tt.play(policy, world, horizon=300, seed=1)
        return trace.moves > 0

    assert not moved(cold_start="keep", review=False)
    assert moved(cold_start="solve", review=False)
    assert moved(cold_start="keep", review=True)
