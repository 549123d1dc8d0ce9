"""The bounds as functions: by hand, by a slower route, and where they are attained."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    ],
)
def test_arguments_that_make_no_sense_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{re.escape(message)}"):
        call()
