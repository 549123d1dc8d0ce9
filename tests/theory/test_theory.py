"""The bounds as functions: by hand, by a slower route, and where they are attained."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimtab as tt
from trimtab import theory
from trimtab.arrays import Array
from trimtab.errors import InvalidInput

positive = st.floats(0.01, 100)
factors = st.floats(1.05, 10)
horizons = st.integers(0, 10**12)


@st.composite
def criteria(draw: st.DrawFn) -> tuple[list[int], list[float], list[float]]:
    """Dimensions, ridge parameters and bounds of up to 5 criteria."""
    m = draw(st.integers(1, 5))
    dims = draw(st.lists(st.integers(1, 50), min_size=m, max_size=m))
    reg = draw(st.lists(positive, min_size=m, max_size=m))
    bound = draw(st.lists(st.just(0.0) | positive, min_size=m, max_size=m))
    return dims, reg, bound


# max_gain


def test_max_gain_by_hand() -> None:
    # d = 1, reg = 2: log(1 + 6 * 9 / 2) = log 28;  d = 3, reg = 1: 3 log(1 + 6 * 4 / 3) = 3 log 9.
    found = theory.max_gain([1, 3], 6, reg=[2.0, 1.0], bound=[3.0, 2.0])
    np.testing.assert_allclose(found, [math.log(28), 3 * math.log(9)])
    assert theory.max_gain([1, 3], 0, reg=1.0).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(theory.max_gain(2, 2, reg=0.5), [2 * math.log(3)])


@given(criteria(), horizons)
def test_max_gain_criterion_by_criterion(case: Any, T: int) -> None:
    direct = [d * math.log(1 + T * L**2 / (d * lam)) for d, lam, L in zip(*case, strict=True)]
    dims, reg, bound = case
    np.testing.assert_allclose(
        theory.max_gain(dims, T, reg=reg, bound=bound), direct, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("reg", [0.1, 1.0, 3.0])
def test_max_gain_bounds_the_gain_and_is_attained(reg: float) -> None:
    rng = np.random.default_rng(0)
    d, T, L = 3, 60, 2.0
    (most,) = theory.max_gain(d, T, reg=reg, bound=L)

    def gain(features: Array) -> float:
        V = reg * np.eye(d) + features.T @ features
        return float(np.linalg.slogdet(V)[1] - d * math.log(reg))

    for _ in range(20):
        x = rng.normal(size=(T, d)) * rng.uniform(0.2, 1.0, d)
        x *= L * rng.uniform(0.5, 1.0, (T, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
        assert 0 < gain(x) <= most
    assert gain(np.tile(L * np.eye(d), (T // d, 1))) == pytest.approx(most)


# max_epochs and max_reviews


def test_max_epochs_by_hand() -> None:
    # log_2(1 + 7) = 3 and 2 log_2(1 + 6 / 2) = 4.
    assert theory.max_epochs([1], 7, reg=1.0) == pytest.approx(3.0)
    assert theory.max_epochs([2], 6, reg=1.0) == pytest.approx(4.0)
    assert theory.max_epochs([1, 1], 7, reg=1.0) == pytest.approx(6.0)
    assert theory.max_epochs([1], 26, reg=1.0, factor=3.0) == pytest.approx(3.0)
    assert theory.max_epochs([1], 26, reg=4.0, bound=2.0, factor=3.0) == pytest.approx(3.0)
    assert theory.max_epochs([1], 0, reg=1.0) == 0.0


@given(criteria(), horizons, factors)
def test_max_epochs_criterion_by_criterion(case: Any, T: int, C: float) -> None:
    direct = sum(d * math.log(1 + T * L**2 / (d * lam), C) for d, lam, L in zip(*case, strict=True))
    dims, reg, bound = case
    found = theory.max_epochs(dims, T, reg=reg, bound=bound, factor=C)
    assert found == pytest.approx(direct, rel=1e-9, abs=1e-11)


def count_triggers(T: int, *, reg: float, phi: float, C: float) -> int:
    """Triggers of one criterion with one constant feature: V grows by phi^2 in every round."""
    V = since = reg
    triggers = 0
    t = 0
    while True:
        n = (
            math.floor((C * since - V) / phi**2 + 1e-9) + 1
        )  # the first n with V + n phi^2 > C V_tau
        t += n
        if t > T:
            return triggers
        V += n * phi**2
        since = V
        triggers += 1


def test_the_logarithm_of_lemma_number_of_epochs_has_base_c() -> None:
    # V runs through 1, 3, 7, ..., 2^(j + 1) - 1 <= T + 1.
    T = 10**6
    M = count_triggers(T, reg=1.0, phi=1.0, C=2.0)
    assert M == 18
    assert math.log(1 + T) < M  # the natural logarithm, 13.8, is no bound
    assert M <= theory.max_epochs([1], T, reg=1.0) < 20


@pytest.mark.parametrize("reg", [0.01, 0.1, 1.0, 7.0])
@pytest.mark.parametrize("phi", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("C", [1.5, 2.0, 8.0])
def test_lemma_number_of_epochs_for_any_reg_and_bound(reg: float, phi: float, C: float) -> None:
    M = count_triggers(10**6, reg=reg, phi=phi, C=C)
    most = theory.max_epochs([1], 10**6, reg=reg, bound=phi, factor=C)
    assert 3 <= M <= most


def test_max_reviews_by_hand() -> None:
    found = [theory.max_reviews(T) for T in (1, 2, 3, 4, 7, 8, 1023, 1024)]
    assert found == [1, 2, 2, 3, 3, 4, 10, 11]


def test_a_clock_that_doubles_reviews_no_more_often() -> None:
    last = reviews = 0
    for t in range(1, 5000):
        if t >= 2 * max(last, 1):
            last, reviews = t, reviews + 1
        assert theory.max_reviews(t) - 1 <= reviews <= theory.max_reviews(t)
    assert reviews == 12


# epoch_spread and potential_constant


def test_epoch_spread_by_hand() -> None:
    found = theory.epoch_spread(reg=[1.0, 0.1, 8.0], bound=[1.0, 2.0, 4.0])
    np.testing.assert_allclose(found, [2.0, 41.0, 3.0])
    np.testing.assert_allclose(theory.epoch_spread(reg=2.0, factor=5.0), [4.5])
    np.testing.assert_allclose(theory.epoch_spread(reg=2.0, factor=5.0, batch=10), [9.0])
    np.testing.assert_allclose(theory.epoch_spread(reg=[2.0, 4.0], factor=1.0), [0.5, 0.25])


@given(criteria(), st.floats(1, 10), st.integers(1, 10**6))
def test_epoch_spread_criterion_by_criterion(case: Any, C: float, n: int) -> None:
    _, reg, bound = case
    direct = [C - 1 + n * L**2 / lam for lam, L in zip(reg, bound, strict=True)]
    found = theory.epoch_spread(reg=reg, bound=bound, factor=C, batch=n)
    np.testing.assert_allclose(found, direct, rtol=1e-12)


@pytest.mark.parametrize(("reg", "C", "batch"), [(1.0, 2.0, 1), (0.1, 2.0, 1), (2.0, 4.0, 5)])
def test_epoch_spread_bounds_an_epoch(reg: float, C: float, batch: int) -> None:
    """Features that vary within the epoch, told in batches until the determinant has grown."""
    rng = np.random.default_rng(0)
    (most,) = theory.epoch_spread(reg=reg, factor=C, batch=batch)
    largest = 0.0
    for _ in range(300):
        d = int(rng.integers(1, 4))
        warm = rng.normal(size=(int(rng.integers(0, 5)), d))
        V_tau = reg * np.eye(d) + warm.T @ warm
        V, spread = V_tau.copy(), 0.0
        while np.linalg.det(V) <= C * np.linalg.det(V_tau) * (1 + 1e-12):
            phi = rng.normal(size=d)
            phi /= np.linalg.norm(phi)
            V += batch * np.outer(phi, phi)
            spread += batch * float(phi @ np.linalg.solve(V_tau, phi))
        assert spread <= most * (1 + 1e-12)
        largest = max(largest, spread)
    assert largest > 0.5 * most


@pytest.mark.parametrize("reg", [1, 2, 7])
def test_epoch_spread_is_attained(reg: int) -> None:
    # phi = 1: after reg rounds the determinant has doubled, a tie, so there is one more.
    det, rounds = reg, 0
    while det <= 2 * reg:
        det, rounds = det + 1, rounds + 1
    assert theory.epoch_spread(reg=reg).tolist() == [rounds / reg]


def test_potential_constant_by_hand() -> None:
    found = theory.potential_constant(reg=[1.0, 0.01])
    np.testing.assert_allclose(found, [2 / math.log(3), 101 / math.log(102)])
    assert found[0] == pytest.approx(1.8205, abs=5e-5)
    np.testing.assert_allclose(
        theory.potential_constant(reg=2.0, bound=2.0, factor=5.0), [6 / math.log(7)]
    )
    np.testing.assert_allclose(
        theory.potential_constant(reg=2.0, factor=5.0, batch=10), [9 / math.log(10)]
    )


def test_potential_constant_where_nothing_spreads() -> None:
    # S / log(1 + S) tends to 1 from above.
    found = theory.potential_constant(reg=1.0, bound=[0.0, 1e-9, 1e-4, 1.0], factor=1.0, batch=7)
    assert found[0] == 1.0
    np.testing.assert_allclose(found[1:3], [1.0, 1.0 + 0.5 * 7e-8], rtol=1e-12)
    assert found[3] == pytest.approx(7 / math.log(8))
    assert theory.prediction_regret(0.5, 4.0, 9, reg=1.0, bound=0.0, factor=1.0) == 6.0


@given(positive, st.just(0.0) | positive, factors, st.integers(1, 10**6), st.floats(0, 1))
def test_potential_constant_turns_a_spread_into_a_gain(
    reg: float, bound: float, C: float, n: int, part: float
) -> None:
    (c,) = theory.potential_constant(reg=reg, bound=bound, factor=C, batch=n)
    (most,) = theory.epoch_spread(reg=reg, bound=bound, factor=C, batch=n)
    x = part * most
    assert x <= c * math.log1p(x) * (1 + 1e-12)
    assert most == pytest.approx(c * math.log1p(most))  # no smaller constant would do
    assert 1.5 * most > c * math.log1p(1.5 * most)


# Theorem 1'


def test_prediction_regret_by_hand() -> None:
    # 2 beta sqrt(c T Gamma) with c = 2 / log 3 is 2 * 0.5 * sqrt(2 * 50) at Gamma = log 3, T = 50.
    assert theory.prediction_regret(0.5, math.log(3), 50, reg=1.0) == pytest.approx(10.0)
    both = theory.prediction_regret([0.5, 1.0], math.log(3), 50, reg=1.0, weights=[3.0, 0.5])
    assert both == pytest.approx(3 * 10.0 + 0.5 * 20.0)
    assert theory.prediction_regret([0.5, 1.0], [1.0, 2.0], 0, reg=1.0) == 0.0
    assert theory.prediction_regret(
        2.0, math.log(7), 24, reg=2.0, bound=2.0, factor=5.0
    ) == pytest.approx(4 * 12.0)
    # Told 10 rounds at once, S = 4 + 10 / 2.
    assert theory.prediction_regret(
        2.0, math.log(10), 16, reg=2.0, factor=5.0, batch=10
    ) == pytest.approx(4 * 12.0)


@given(criteria(), horizons, factors, st.integers(1, 10**6), st.data())
def test_prediction_regret_criterion_by_criterion(
    case: Any, T: int, C: float, n: int, data: st.DataObject
) -> None:
    _, reg, bound = case
    m = len(reg)
    some = st.lists(positive, min_size=m, max_size=m)
    radii, gains, weights = data.draw(some), data.draw(some), data.draw(some)
    direct = 0.0
    for i in range(m):
        S = C - 1 + n * bound[i] ** 2 / reg[i]
        c = S / math.log(1 + S)
        direct += 2 * weights[i] * radii[i] * math.sqrt(c * T * gains[i])
    found = theory.prediction_regret(
        radii, gains, T, reg=reg, bound=bound, factor=C, batch=n, weights=weights
    )
    assert found == pytest.approx(direct, rel=1e-9)


def test_a_number_stands_for_one_per_criterion() -> None:
    each = theory.prediction_regret([0.5] * 3, [4.0] * 3, 9, reg=[2.0] * 3, bound=[1.5] * 3)
    same = theory.prediction_regret([0.5] * 3, 4.0, 9, reg=2.0, bound=1.5, weights=1.0)
    assert same == pytest.approx(each)
    one, three = (theory.max_gain(d, 9, reg=2.0, bound=1.5) for d in ([4], [4, 4, 4]))
    np.testing.assert_allclose(three, np.repeat(one, 3))


def test_any_argument_may_be_the_one_per_criterion() -> None:
    np.testing.assert_allclose(theory.epoch_spread(reg=1.0, bound=[1.0, 2.0]), [2.0, 5.0])
    np.testing.assert_allclose(theory.epoch_spread(reg=[1.0, 0.1]), [2.0, 11.0])
    np.testing.assert_allclose(
        theory.potential_constant(reg=1.0, bound=[1.0, 2.0]), [2 / math.log(3), 5 / math.log(6)]
    )
    np.testing.assert_allclose(theory.max_gain(1, 3, reg=[1.0, 3.0]), [math.log(4), math.log(2)])
    np.testing.assert_allclose(
        theory.max_gain(1, 3, reg=1.0, bound=[1.0, 2.0]), [math.log(4), math.log(13)]
    )
    assert theory.max_epochs(1, 3, reg=[1.0, 3.0]) == pytest.approx(2.0 + 1.0)
    assert theory.max_epochs(1, 3, reg=1.0, bound=[1.0, 0.0]) == pytest.approx(2.0)


@pytest.mark.parametrize(
    "several",
    [
        {"radii": [0.5, 1.5]},
        {"gains": [2.0, 3.0]},
        {"reg": [0.3, 7.0]},
        {"bound": [0.4, 3.0]},
        {"weights": [2.0, 0.1]},
    ],
    ids=str,
)
def test_any_argument_of_theorem_1_may_be_the_one_per_criterion(
    several: dict[str, list[float]],
) -> None:
    single: dict[str, Any] = {"radii": 0.5, "gains": 2.0, "reg": 0.3, "bound": 1.5, "weights": 0.7}
    ((name, values),) = several.items()
    parts = [theory.prediction_regret(horizon=9, **(single | {name: x})) for x in values]
    assert parts[0] != parts[1]
    both = theory.prediction_regret(horizon=9, **(single | several))
    assert both == pytest.approx(sum(parts))


def test_movement_regret_by_hand() -> None:
    assert theory.movement_regret(4.0, 0, move_cost=0.25) == 1.0  # the cold start alone
    assert theory.movement_regret(4.0, 9, move_cost=0.25) == 10.0
    assert theory.movement_regret(3.0, 2.5, move_cost=2.0) == 21.0
    assert theory.movement_regret(3.0, 100, move_cost=0.0) == 0.0


# Radii


def test_radii_by_hand() -> None:
    gains, sigma, norm, reg = [1.0, 4.0], [0.1, 0.2], [1.0, 3.0], [4.0, 0.25]
    found = theory.confidence_radius(gains, sigma=sigma, norm=norm, reg=reg, delta=0.1)
    union = 2 * math.log(2 / 0.1)
    np.testing.assert_allclose(
        found, [0.1 * math.sqrt(1 + union) + 2.0, 0.2 * math.sqrt(4 + union) + 1.5]
    )
    # d log((1 + 30 * 4 / 4) / 0.1) at d = 3, without a union.
    (printed,) = theory.printed_radius(3, 30, sigma=0.1, norm=1.0, reg=4.0, bound=2.0, delta=0.1)
    assert printed == pytest.approx(0.1 * math.sqrt(3 * math.log(310)) + 2.0)
    several = theory.printed_radius([3, 1], 30, sigma=0.1, norm=1.0, reg=4.0, bound=[2.0, 0.0])
    assert several[1] == pytest.approx(0.1 * math.sqrt(math.log(1 / 0.05)) + 2.0)


@pytest.mark.parametrize("form", ["logdet", "paper"])
def test_radii_are_those_of_a_policy(form: Any) -> None:
    problem = tt.Problem(tt.Graph.from_edges(3, [(0, 1)]))
    known: dict[str, Any] = {"sigma": 0.3, "norm": [1.0, 2.0, 3.0], "delta": 0.2}
    policy = tt.LazyGraphLinUCB(
        problem, start=[0.5] * 3, radius=tt.Confidence(form=form, **known), reg=0.7
    )
    for _ in range(40):
        policy.tell([0.1, 0.2, 0.3])
    policy.learner.absorb(problem.all_criteria)
    if form == "logdet":
        gains = policy.learner.estimators.stats.gain
        found = theory.confidence_radius(gains, reg=0.7, **known)
    else:
        L = problem.features.bounds
        found = theory.printed_radius(problem.dims, 40, reg=0.7, bound=L, **known)
    np.testing.assert_allclose(policy.learner.lcb.radii, found)


# As printed


def test_printed_theorem_1_by_hand() -> None:
    # M = 3 at d = 1, T = 7; sqrt(3 * 3 * 7) a unit of radius.
    once = theory.printed_lazy_regret(2.0, 1, 7, reg=1.0, knobs=5)
    assert once == pytest.approx(2 * math.sqrt(63))
    both = theory.printed_lazy_regret([2.0, 1.0], [1, 1], 7, reg=1.0, knobs=5, move_cost=0.1)
    assert both == pytest.approx(3 * math.sqrt(63) + 0.1 * 5 * 6)


def test_printed_theorem_1_is_no_bound_of_the_widths() -> None:
    """Whose proof counts a criterion's own epochs only.

    phi_1 = 1 triggers, phi_2 = 1/2 never does where both clocks are reset: M_2 = 0. The sum of
    its widths grows like sqrt(T) all the same, and above the term of the proof, which is 0.
    """
    V = np.array([1.0, 1.0])
    tau, T, widths, own = V.copy(), 10**5, 0.0, 0
    phi = np.array([1.0, 0.5])
    for _ in range(T):
        widths += float(phi[1] / np.sqrt(tau[1]))
        V += phi**2
        triggered = V / tau > 2.0
        if triggered.any():
            own += int(triggered[1])
            tau = V.copy()
    assert own == 0
    assert widths > math.sqrt(3 * (own + 1) * T)
    gain = math.log(V[1])
    (c,) = theory.potential_constant(reg=1.0, bound=0.5)
    assert widths <= math.sqrt(c * T * gain)


def test_printed_misspecified_epochs_are_exceeded() -> None:
    printed = theory.printed_misspecified_epochs([1], 10**6, reg=1.0)
    assert printed == pytest.approx(math.log(1 + 10**6))
    assert count_triggers(10**6, reg=1.0, phi=1.0, C=2.0) > printed
    in_base_2 = theory.max_epochs([3, 5], 1000, reg=2.0)
    printed = theory.printed_misspecified_epochs([3, 5], 1000, reg=2.0)
    assert printed == pytest.approx(in_base_2 * math.log(2))


def test_corollary_graph_misspecification() -> None:
    """Algorithm 1 on a super-graph keeps Theorem 1' with the dimensions of that graph.

    On the good event, which has probability 0.95; the seed is fixed.
    """
    world = tt.worlds.sparse(4, degree=1, gamma=0.3, seed=2)
    problem = world.problem
    assert problem.graph == tt.Graph.complete(4) != world.truth
    radius = tt.Confidence(sigma=0.3, norm=world.norms)
    policy = tt.LazyGraphLinUCB(problem, start=[0.5] * 4, radius=radius)
    trace = tt.play(policy, world, horizon=10**5, seed=1)
    L = problem.features.bounds
    gains = theory.max_gain(problem.dims, trace.horizon, reg=1.0, bound=L)
    radii = theory.confidence_radius(gains, sigma=0.3, norm=world.norms, reg=1.0)
    most = theory.prediction_regret(radii, gains, trace.horizon, reg=1.0, bound=L)
    assert 0.0 < trace.regret <= most
    M = theory.max_epochs(problem.dims, trace.horizon, reg=1.0, bound=L)
    assert 20 < trace.solves - trace.reviews <= M


def test_movement_of_local_updates_by_hand() -> None:
    assert theory.local_movement([2, 3], np.log([2, 8])) == pytest.approx(2 * 1 + 3 * 3)
    found = theory.local_movement([2, 3], math.log(9), factor=3.0, move_cost=0.5)
    assert found == pytest.approx(0.5 * 5 * 2)
    printed = theory.printed_async_movement(3, [1, 1], 7, reg=1.0, move_cost=2.0)
    assert printed == pytest.approx(2 * 3 * 6)


def test_movement_of_local_updates() -> None:
    """Part (c) on a ring, where part (b) has no proof."""
    ring = tt.Graph.from_edges(5, [(j, (j + 1) % 5) for j in range(5)])
    world = tt.worlds.quadratic(ring, seed=4)
    problem = world.problem
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    policy = tt.AsyncLazyGraphLinUCB(problem, start=[0.5] * 5, radius=radius, review=False)
    trace = tt.play(policy, world, horizon=20_000, seed=1)
    policy.learner.absorb(problem.all_criteria)
    gains = policy.learner.estimators.stats.gain
    local, cold = theory.local_movement(3.0, gains), problem.domain.diameter
    assert 5.0 < trace.movement <= local + cold
    worst = theory.max_gain(problem.dims, 20_000, reg=1.0, bound=problem.features.bounds)
    printed = theory.printed_async_movement(
        3, problem.dims, 20_000, reg=1.0, bound=problem.features.bounds
    )
    assert local <= theory.local_movement(3.0, worst) == pytest.approx(printed)


def test_recovery_error_of_the_adaptive_theorem() -> None:
    """What is off after tau rounds, on designs of which kappa is the least eigenvalue."""
    beta, kappa, gamma = 2.0, 0.5, 0.4
    for printed, off in ((False, gamma / 2), (True, gamma / 4)):
        tau = theory.warmup_rounds(beta, kappa=kappa, gamma=gamma, printed=printed)
        assert theory.recovery_error(beta, round(tau), kappa=kappa) == pytest.approx(off)
    rng = np.random.default_rng(3)
    largest = 0.0
    for _ in range(200):
        x = rng.normal(size=(50, 3)) * rng.uniform(0.2, 1.0, 3)
        V = x.T @ x
        least = float(np.linalg.eigvalsh(V)[0]) / 50  # lambda_min(V) = kappa tau
        miss = np.linalg.solve(np.linalg.cholesky(V).T, rng.normal(size=3))
        beta = math.sqrt(miss @ V @ miss)  # the ellipsoid just holds
        share = float(np.abs(miss).max()) / theory.recovery_error(beta, 50, kappa=least)
        assert share <= 1.0 + 1e-9
        largest = max(largest, share)
    assert largest > 0.9


def test_printed_adaptive_regret_by_hand() -> None:
    found = theory.printed_adaptive_regret(9, [2, 3], 100, kappa=0.5, gamma=0.1)
    assert found == pytest.approx(27 / 0.005 + 50 + 81 * math.log(100))
    # The same in units of the losses a hundred times as large: no price, no R_max in it.
    assert theory.adaptive_regret(10, 0.0, worst=100.0, path=2.0, move_cost=3.0) == 1006.0


def test_price_of_sparsity() -> None:
    """The three budgets that the paper names, losses only: T^(1/2), T^(2/3), T^(3/4)."""
    T = 10**12
    for budget, order in ((T, 1 / 2), (10**8, 2 / 3), (10**6, 3 / 4)):
        found = theory.ogd_regret(2.0, T, lipschitz=3.0, budget=budget)
        assert found == pytest.approx(6.0 * T**order)


def test_printed_corollary_of_heterogeneous_budgets() -> None:
    each = [
        theory.printed_ogd_regret(D, 100, lipschitz=G, budget=M, move_cost=0.5)
        for D, G, M in ((1.0, 2.0, 25), (3.0, 1.0, 100))
    ]
    both = theory.printed_ogd_regret(
        [1.0, 3.0], 100, lipschitz=[2.0, 1.0], budget=[25, 100], move_cost=0.5
    )
    assert both == pytest.approx(sum(each))
    assert each[0] == pytest.approx(0.5 * 25 + math.sqrt(2) * 2 * 100 / 5)


# Every statement of the paper has a place.

STATEMENTS = [
    *(f"Section {n}" for n in ("3", "4", "5.1", "5.2", "5.3", "6", "7")),
    *(f"Appendix {letter}" for letter in "BCD"),
    *("Algorithm 1", "Algorithm 2", "Definition, graph-structured features"),
    *("Lemma (confidence ellipsoid)", "Lemma (number of epochs)", "Lemma (error per epoch)"),
    *("Theorem (regret of Lazy Graph-LinUCB)", "Corollary (graph misspecification)"),
    *("Theorem (minimax lower bound)", "Theorem (regret of async)"),
    *("Theorem (regret of adaptive refinement)", "Theorem (regret of the joint estimator)"),
    *("Theorem (sparsity budget)", "Corollary (heterogeneous budgets)"),
    *(f"Assumption {letter}" for letter in "ABCD"),
    *("Lemma (justification of Assumption A)", "Example 1", "Example 2"),
    *(f"Table {n}" for n in (1, 2, 3)),
    *(f"Figure {n}" for n in (1, 2, 3, 4, 5)),
]


def map_of_the_paper() -> str:
    return (Path(__file__).parents[2] / "docs" / "paper-map.md").read_text(encoding="utf-8")


def test_every_equation_has_a_row() -> None:
    rows = [line for line in map_of_the_paper().splitlines() if line.startswith("|")]
    named: set[int] = set()
    for line in rows:
        for first, last in re.findall(r"Eqs?\. \((\d+)\)(?: (?:to|and) \((\d+)\))?", line):
            named |= set(range(int(first), int(last or first) + 1))
    assert named == set(range(1, 42))


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_has_a_row(statement: str) -> None:
    assert re.search(rf"{re.escape(statement)}(?!\d)", map_of_the_paper())


def test_every_bound_of_theory_has_a_row() -> None:
    named = set(re.findall(r"\w+", map_of_the_paper()))
    assert [name for name in theory.__all__ if name not in named] == []


# What is refused.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.max_gain([1], -1, reg=1.0), "horizon = -1; it must be at least 0"),
        (lambda: theory.max_gain([1], 1.5, reg=1.0), "horizon = 1.5; give a whole number"),  # type: ignore[arg-type]
        (lambda: theory.max_gain([1, 0], 9, reg=1.0), "dims[1] = 0 must be at least 1"),
        (lambda: theory.max_gain([1], 9, reg=0.0), "reg[0] = 0 must be greater than 0"),
        (lambda: theory.max_gain([1, 1], 9, reg=[1, -1]), "reg[1] = -1 must be greater than 0"),
        (lambda: theory.max_gain([1], 9, reg=math.nan), "reg[0] = nan is not finite"),
        (lambda: theory.max_gain([1, 1], 9, reg=[1, 1, 1]), "dims has shape (2,), expected (3,)"),
        (lambda: theory.max_gain([1, 1, 1], 9, reg=[1, 1]), "reg has shape (2,), expected (3,)"),
        (lambda: theory.max_gain([], 9, reg=1.0), "dims has shape (0,), expected (1,)"),
        (
            lambda: theory.epoch_spread(reg=[1, 1], bound=[1, 1, 1]),
            "reg has shape (2,), expected (3,)",
        ),
        (lambda: theory.max_gain([1], 9, reg=1.0, bound=-1), "bound[0] = -1 must be at least 0"),
        (lambda: theory.max_gain("ab", 9, reg=1.0), "dims must hold real numbers"),
        (lambda: theory.max_epochs([1], 9, reg=1.0, factor=1.0), "factor = 1; it must be finite"),
        (lambda: theory.max_epochs([1], 9, reg=0.0), "reg[0] = 0 must be greater than 0"),
        (lambda: theory.max_epochs([1], -9, reg=1.0), "horizon = -9; it must be at least 0"),
        (lambda: theory.max_reviews(0), "horizon = 0; it must be at least 1"),
        (lambda: theory.max_reviews(2.5), "horizon = 2.5; give a whole number"),  # type: ignore[arg-type]
        (lambda: theory.epoch_spread(reg=0.0), "reg[0] = 0 must be greater than 0"),
        (lambda: theory.epoch_spread(reg=1.0, bound=-1), "bound[0] = -1 must be at least 0"),
        (lambda: theory.epoch_spread(reg=1.0, factor=0.9), "factor = 0.9; it must be finite"),
        (lambda: theory.epoch_spread(reg=1.0, batch=0), "batch = 0; it must be at least 1"),
        (lambda: theory.potential_constant(reg=[1, 0]), "reg[1] = 0 must be greater than 0"),
        (lambda: theory.potential_constant(reg=1, factor=math.inf), "factor = inf; it must be"),
        (lambda: theory.potential_constant(reg=1, batch=0), "batch = 0; it must be at least 1"),
        (lambda: theory.potential_constant(reg=1, batch=1.5), "batch = 1.5; give a whole number"),  # type: ignore[arg-type]
        (lambda: theory.prediction_regret(-1, 1, 9, reg=1), "radii[0] = -1 must be at least 0"),
        (lambda: theory.prediction_regret(1, -1, 9, reg=1), "gains[0] = -1 must be at least 0"),
        (lambda: theory.prediction_regret(1, 1, -9, reg=1), "horizon = -9; it must be at least 0"),
        (lambda: theory.prediction_regret(1, 1, 9, reg=0), "reg[0] = 0 must be greater than 0"),
        (
            lambda: theory.prediction_regret(1, 1, 9, reg=1, weights=0),
            "weights[0] = 0 must be greater than 0",
        ),
        (
            lambda: theory.prediction_regret([1, 1], [1, 1, 1], 9, reg=1),
            "radii has shape (2,), expected (3,)",
        ),
        (
            lambda: theory.prediction_regret([1, 1, 1], [1, 1], 9, reg=1),
            "gains has shape (2,), expected (3,)",
        ),
        (
            lambda: theory.prediction_regret([1, 1], 1, 9, reg=1, weights=[1]),
            "weights has shape (1,), expected (2,)",
        ),
        (
            lambda: theory.prediction_regret([1, 1], 1, 9, reg=1, bound=[1]),
            "bound has shape (1,), expected (2,)",
        ),
        (
            lambda: theory.prediction_regret(1, 1, 9, reg=1, batch=0),
            "batch = 0; it must be at least 1",
        ),
        (
            lambda: theory.prediction_regret(1, 1, 9, reg=1, factor=0.9),
            "factor = 0.9; it must be finite",
        ),
        (lambda: theory.movement_regret(-1, 1, move_cost=1), "diameter = -1; it must be finite"),
        (lambda: theory.movement_regret(1, -1, move_cost=1), "solves = -1; it must be finite"),
        (lambda: theory.movement_regret(1, 1, move_cost=-1), "move_cost = -1; it must be finite"),
        (lambda: theory.local_movement(-1, 1), "extents[0] = -1 must be at least 0"),
        (lambda: theory.local_movement(1, -1), "gains[0] = -1 must be at least 0"),
        (lambda: theory.local_movement(1, 1, factor=1), "factor = 1; it must be finite"),
        (lambda: theory.local_movement(1, 1, move_cost=-1), "move_cost = -1; it must be finite"),
        (lambda: theory.local_movement([1, 1], [1, 1, 1]), "extents has shape (2,), expected (3,)"),
        (
            lambda: theory.confidence_radius(-1, sigma=1, norm=1, reg=1),
            "gains[0] = -1 must be at least 0",
        ),
        (
            lambda: theory.confidence_radius(1, sigma=0, norm=1, reg=1),
            "sigma[0] = 0 must be greater than 0",
        ),
        (
            lambda: theory.confidence_radius(1, sigma=1, norm=1, reg=1, delta=0),
            "delta = 0; it must be finite",
        ),
        (
            lambda: theory.printed_radius(0, 9, sigma=1, norm=1, reg=1),
            "dims[0] = 0 must be at least 1",
        ),
        (
            lambda: theory.printed_radius(1, -9, sigma=1, norm=1, reg=1),
            "rounds = -9; it must be at least 0",
        ),
        (
            lambda: theory.printed_lazy_regret(1, 1, 9, reg=1, knobs=0),
            "knobs = 0; it must be at least 1",
        ),
        (
            lambda: theory.printed_lazy_regret(-1, 1, 9, reg=1, knobs=1),
            "radii[0] = -1 must be at least 0",
        ),
        (
            lambda: theory.printed_async_movement(0, 1, 9, reg=1),
            "degree = 0; it must be at least 1",
        ),
        (lambda: theory.recovery_error(1, 0, kappa=1), "rounds = 0; it must be at least 1"),
        (lambda: theory.recovery_error(1, 1, kappa=0), "kappa = 0; it must be finite"),
        (
            lambda: theory.printed_adaptive_regret(1, [1], 9, kappa=1, gamma=0),
            "gamma = 0; it must be finite",
        ),
    ],
)
def test_arguments_that_make_no_sense_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{re.escape(message)}"):
        call()
