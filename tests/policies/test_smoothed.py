"""ROBD and LCP: against slower routes, their guarantees, and in worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import trimtab as tt
from benchmarks import smoothed
from benchmarks.smoothed import cost, lcp, offline, offline_squared, robd, squared_cost
from trimtab.arrays import Array

START = np.array([0.5])


def instance(seed: int, rounds: int, c: float, a: float = 1.0) -> smoothed.Instance:
    return np.random.default_rng(seed).random((rounds, 1)), a, c


# ROBD.


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


@pytest.mark.parametrize("domain", [tt.Box(), tt.Simplex()], ids=["box", "simplex"])
def test_a_step_of_robd_is_the_minimiser_by_a_general_solver(domain: Any) -> None:
    a, c, y = 0.7, 2.0, np.array([1.3, 0.2, 0.4])
    start = np.array([0.2, 0.3, 0.5])
    policy = tt.ROBD(domain, start=start, curvature=a, move_cost=c, lipschitz=10.0)
    policy.tell(a * (start - y))
    lam = 2.0 * c / (1.0 + np.sqrt(1.0 + 4.0 * c / a))

    def total(x: Array) -> float:
        return float(0.5 * a * ((x - y) ** 2).sum() + 0.5 * lam * ((x - start) ** 2).sum())

    sums: Any = []
    if isinstance(domain, tt.Simplex):
        sums = [{"type": "eq", "fun": lambda x: x.sum() - 1.0}]
    found = minimize(
        total, start, bounds=[(0.0, 1.0)] * 3, constraints=sums, options={"ftol": 1e-15}
    )
    np.testing.assert_allclose(policy.ask(), found.x, atol=1e-5)


def test_robd_whose_moves_cost_nothing_follows_and_dear_ones_hardly_move_it() -> None:
    free = tt.ROBD(tt.Box(), start=[0.5], curvature=2.0, move_cost=0.0)
    free.tell([2.0 * (0.5 - 0.9)])
    assert free.ask()[0] == pytest.approx(0.9)
    dear = tt.ROBD(tt.Box(), start=[0.5], curvature=2.0, move_cost=1e9)
    dear.tell([2.0 * (0.5 - 0.9)])
    assert abs(dear.ask()[0] - 0.5) < 1e-4


# LCP.


def by_definition(targets: smoothed.Instance, start: float, levels: int = 1001) -> Array:
    """LCP on a fine grid: the last states of two best paths so far, by dynamic programming."""
    (y, a, c), grid = targets, np.linspace(0.0, 1.0, levels)
    ways = grid[None, :] - grid[:, None]  # from row to column
    low, high = 2.0 * c * np.maximum(grid - start, 0.0), 2.0 * c * np.maximum(start - grid, 0.0)
    path, x = [], start
    for t, target in enumerate(y[:, 0]):
        if t:
            low = (low[:, None] + 2.0 * c * np.maximum(ways, 0.0)).min(axis=0)
            high = (high[:, None] + 2.0 * c * np.maximum(-ways, 0.0)).min(axis=0)
        loss = 0.5 * a * (grid - target) ** 2
        low, high = low + loss, high + loss
        x = min(max(x, grid[int(np.argmin(low))]), grid[int(np.argmin(high))])
        path.append(x)
    return np.array(path)


@pytest.mark.parametrize("c", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("a", [0.5, 3.0])
def test_lcp_is_what_its_definition_says(c: float, a: float) -> None:
    targets = instance(7, 30, c, a)
    np.testing.assert_allclose(lcp(targets, START)[:, 0], by_definition(targets, 0.5), atol=0.004)


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
    np.testing.assert_allclose(lcp(free, START), free[0], atol=1e-9)
    dear = instance(3, 50, 1.0)
    moved = [np.abs(np.diff(lcp(x, START), axis=0)).sum() for x in (free, dear)]
    assert moved[1] < 0.2 * moved[0]


def test_knobs_of_lcp_do_not_know_each_other() -> None:
    y, price = np.random.default_rng(2).random((20, 2)), np.array([0.05, 0.4])
    both = tt.LCP(tt.Box(), start=[0.3, 0.6], curvature=1.0, move_cost=price)
    each = [
        tt.LCP(tt.Box(), start=[s], curvature=1.0, move_cost=c)
        for s, c in zip([0.3, 0.6], price, strict=True)
    ]
    for row in y:
        both.tell(both.ask() - row)
        for one, target in zip(each, row, strict=True):
            one.tell(one.ask() - target)
        np.testing.assert_array_equal(both.ask(), np.concatenate([one.ask() for one in each]))


# In worlds.


@pytest.mark.parametrize(
    "adversary",
    [
        tt.worlds.DriftingQuadratics(200),
        tt.worlds.RecordedTargets(smoothed.recorded(200)),
    ],
    ids=["drifting quadratics", "a recorded trace"],
)
def test_they_play_in_worlds_and_pay_for_their_moves(adversary: Any) -> None:
    """A round late, as everybody in `play`: the trace has losses, movement and its price."""
    world = tt.worlds.Adversarial(tt.Box(), knobs=3, adversary=adversary, move_cost=0.05)
    a, start = 1.0 / np.sqrt(3.0), [0.5] * 3
    runs = {}
    for policy in (
        tt.LCP(world.domain, start=start, curvature=a, move_cost=0.05),
        tt.ROBD(world.domain, start=start, curvature=a),
        tt.LazyOGD(world.domain, start=start, horizon=200, lipschitz=1.0, budget=20),
    ):
        trace = tt.play(policy, world, horizon=200, seed=0)
        assert trace.horizon == 200
        assert trace.move_cost == pytest.approx(0.05 * trace.movement)
        runs[type(policy).__name__] = trace
    assert runs["LCP"].movement < runs["ROBD"].movement
    if isinstance(adversary, tt.worlds.DriftingQuadratics):  # who follows beats any fixed state
        assert runs["ROBD"].regret < 0.0 < runs["LazyOGD"].regret + 20.0
        assert runs["LCP"].total_regret < runs["LazyOGD"].total_regret


def test_targets_are_refused_with_a_reason() -> None:
    with pytest.raises(tt.InvalidInput, match="a row a round"):
        tt.worlds.RecordedTargets(np.array([1.0, 2.0]))
    world = tt.worlds.Adversarial(
        tt.Box(), knobs=2, adversary=tt.worlds.RecordedTargets(np.ones((3, 3)))
    )
    policy = tt.ROBD(world.domain, start=[0.5, 0.5], curvature=1.0)
    with pytest.raises(tt.InvalidInput, match="3 columns for 2 knobs"):
        tt.play(policy, world, horizon=3)
    with pytest.raises(tt.InvalidInput, match="curvature = 0"):
        tt.ROBD(tt.Box(), start=[0.5], curvature=0.0)
    with pytest.raises(tt.InvalidInput, match="above lipschitz"):
        tt.LCP(tt.Box(), start=[0.5], curvature=1.0, move_cost=0.1).tell([1.5])
