"""ROBD, LCP and the best path in hindsight: against slower routes, and their guarantees."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import trimtab as tt
from benchmarks import smoothed
from benchmarks.smoothed import cost, lcp, offline, offline_squared, robd, squared_cost

START = np.array([0.5])


def instance(seed: int, rounds: int, c: float, a: float = 1.0) -> smoothed.Instance:
    return np.random.default_rng(seed).random((rounds, 1)), a, c


@pytest.mark.parametrize("c", [0.02, 0.2, 2.0])
def test_the_best_path_equals_enumeration(c: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoothed, "LEVELS", 5)
    targets = instance(1, 5, c)
    found = cost(offline(targets, START), targets, START)
    paths = product(np.linspace(0.0, 1.0, 5), repeat=5)
    assert found == pytest.approx(
        min(cost(np.array(path)[:, None], targets, START) for path in paths)
    )


def test_the_best_path_without_a_price_is_the_targets_and_dear_it_stays() -> None:
    free, dear = instance(2, 30, 0.0), instance(2, 30, 1e6)
    np.testing.assert_allclose(offline(free, START), free[0], atol=0.003)
    np.testing.assert_array_equal(offline(dear, START), 0.5)


@pytest.mark.parametrize("a", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(5))
def test_robd_keeps_its_guarantee(seed: int, a: float) -> None:
    """(1 + sqrt(1 + 4/a)) / 2 times the best path, for squared moves (Goel et al. 2019)."""
    targets = instance(seed, 200, 0.0, a)
    best = offline_squared(targets, START)
    ratio = squared_cost(robd(targets, START), targets, START)
    ratio /= squared_cost(best, targets, START)
    assert 1.0 - 1e-9 <= ratio <= 0.5 * (1.0 + np.sqrt(1.0 + 4.0 / a))
    noisy = best + 1e-3 * np.random.default_rng(0).normal(size=best.shape)
    assert squared_cost(noisy, targets, START) > squared_cost(best, targets, START)


@pytest.mark.parametrize("c", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_lcp_keeps_its_guarantee(seed: int, c: float) -> None:
    """Three times the best path (Lin et al. 2011), and a little for the last way down."""
    targets = instance(seed, 100, c)
    assert (
        cost(lcp(targets, START), targets, START)
        <= 3.0 * cost(offline(targets, START), targets, START) + 2.0 * c
    )


def test_lcp_without_a_price_follows_and_with_one_it_is_lazy() -> None:
    free = instance(3, 50, 0.0)
    np.testing.assert_allclose(lcp(free, START), free[0], atol=0.003)
    dear = instance(3, 50, 1.0)
    moved = [np.abs(np.diff(lcp(x, START), axis=0)).sum() for x in (free, dear)]
    assert moved[1] < 0.2 * moved[0]


def test_full_budget_is_plain_gradient_descent() -> None:
    targets = instance(4, 40, 0.1)
    x, path = 0.5, []
    eta = tt.LazyOGD(tt.Box(), start=START, horizon=40, lipschitz=1.0, budget=40).step[0]
    for y in targets[0][:, 0]:
        path.append(x)
        x = min(max(x - eta * (x - y), 0.0), 1.0)
    np.testing.assert_allclose(smoothed.descent(targets, START, 40)[:, 0], path)


def test_the_tables() -> None:
    text = smoothed.table(smoothed.recorded(40), "a recorded service", (0.1,))
    assert text.count("\n|") == 12
    assert smoothed.recorded(40).min() == 0.0
    assert smoothed.recorded(40).max() == 1.0
