"""The paper's lower bound as a world: no policy has less regret, on average over its signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab import theory
from trimtab.errors import InvalidInput

DIMS, T, SEEDS = [2, 3], 400, 60


def options(world: tt.worlds.World) -> dict[str, Any]:
    return {"start": np.zeros(5), "radius": tt.Confidence(sigma=1.0, norm=world.norms)}


POLICIES: dict[str, Callable[[tt.worlds.World], Any]] = {
    "lazy": lambda world: tt.LazyGraphLinUCB(world.problem, **options(world)),
    "greedy": lambda world: tt.LazyGraphLinUCB(world.problem, start=np.zeros(5), radius=1e-6),
    "async": lambda world: tt.AsyncLazyGraphLinUCB(world.problem, **options(world)),
    "fixed": lambda world: tt.FixedState(world.problem, start=np.zeros(5)),
}


@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_has_less_regret_than_the_lower_bound(name: str) -> None:
    """Means of 60 worlds; a false alarm would be four standard errors."""
    found = []
    for seed in range(SEEDS):
        world = tt.worlds.hard(DIMS, horizon=T, seed=seed)
        found.append(tt.play(POLICIES[name](world), world, horizon=T, seed=seed).regret)
    bound = theory.lower_bound(DIMS, T)
    error = float(np.std(found, ddof=1)) / np.sqrt(SEEDS)
    assert np.mean(found) > bound - 4.0 * error
    assert np.mean(found) > bound  # and here by more than that


def test_the_bound_by_hand_and_its_world() -> None:
    assert theory.lower_bound([2, 3], 10_000) == pytest.approx(100 * 5 / (16 * 3**0.5))
    assert theory.lower_bound([2, 3], 10_000, sigma=0.1) == pytest.approx(50 / (16 * 3**0.5))
    world = tt.worlds.hard([2, 3], horizon=100, sigma=0.5, seed=4)
    parts = np.split(world.theta, [2])
    for d, theta in zip([2, 3], parts, strict=True):
        np.testing.assert_allclose(np.abs(theta), 0.5 * np.sqrt(d / 4800))
        assert theta @ theta == pytest.approx(0.25 * d**2 / 4800)
    best = -sum(float(np.linalg.norm(theta)) for theta in parts)
    assert world.optimum.value == pytest.approx(best)
    assert world.noise.scales(world.problem.graph).tolist() == [0.5, 0.5]


def test_one_objective_is_the_bandit_of_the_book() -> None:
    world = tt.worlds.hard([4], horizon=50, seed=1)
    assert world.problem.criteria == 1
    assert theory.lower_bound([4], 50) == pytest.approx(4 * 50**0.5 / (16 * 3**0.5))


def test_the_upper_bound_is_above_it() -> None:
    """Theorem 1' and the lower bound have the order sqrt(T) sum_i d_i up to logarithms."""
    for horizon in (10**3, 10**5, 10**7):
        gain = theory.max_gain(DIMS, horizon, reg=1.0)
        radii = np.sqrt(gain + 2 * np.log(2 / 0.05)) + 1.0
        upper = theory.prediction_regret(radii, gain, horizon, reg=1.0)
        assert 100 < upper / theory.lower_bound(DIMS, horizon) < 2000


def test_what_is_refused() -> None:
    with pytest.raises(InvalidInput, match="horizon = 1; it must be at least half"):
        theory.lower_bound([4], 1)
    with pytest.raises(InvalidInput, match="horizon = 1; it must be at least 2"):
        tt.worlds.hard([4], horizon=1)
    with pytest.raises(InvalidInput, match=r"dims\[1\] = 0"):
        tt.worlds.hard([4, 0], horizon=10)
