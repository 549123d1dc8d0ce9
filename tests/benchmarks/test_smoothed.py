"""ROBD, LCP and the best path in hindsight: against slower routes, and their guarantees."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import trimtab as tt
from benchmarks import smoothed
from benchmarks.smoothed import cost, offline

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
