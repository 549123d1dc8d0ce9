"""Levels that wander: the Kalman step, how far it must go, and what it is worth."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array, Ints
from trimtab.learn import NodewiseEstimators
from trimtab.learn.empirical_bayes import Scales
from trimtab.learn.losses.level import EPOCHS, FAR, GRID, MISSED, Diary
from trimtab.learn.statistics import NEVER, unpack

RING = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
SIGMA, SPREAD = 0.1, 1.0


def estimators(state: Array) -> NodewiseEstimators:
    """Regressions that begin where spread and noise are known."""
    problem = tt.Problem(RING, basis=tt.bases.Quadratic())
    prior = tt.Prior().bind(problem)
    found = NodewiseEstimators(problem, reg=np.ones(4), factor=2.0, state=state, prior=prior)
    found.start_at(np.full(4, (SIGMA / SPREAD) ** 2), np.full(4, SIGMA), prior.usual)
    return found


def scales() -> Scales:
    return Scales(np.full(4, SPREAD), np.full(4, SIGMA), 0.1, 0)


# The step.


def test_a_step_adds_to_the_variance_of_the_level_alone() -> None:
    """V^-1 + variance e0 e0', directly; the estimate stays."""
    rng = np.random.default_rng(0)
    stats = estimators(np.full(4, 0.5)).stats
    stats.R[:], stats.alone[:] = rng.standard_normal((2, stats.R.size))
    stats.alone[stats.blocks[0]] = 0.0  # nothing is known of the first level but its start
    stats.alone[stats.blocks[1:-1]] = 1.5
    R, alone, lost = stats.R.copy(), stats.alone.copy(), np.full(4, 0.5)
    stats.core.flush(np.empty(0, np.int64), 0, NEVER, 0.1 * 7, lost)
    for i, d in enumerate(np.diff(stats.offsets).tolist()):
        start = int(stats.blocks[i])
        A, B = unpack(R, start, d + 1), unpack(stats.R, start, d + 1)
        V, theta = A[:d, :d] @ A[:d, :d].T, np.linalg.solve(A[:d, :d].T, A[d, :d])
        expected = np.linalg.inv(V)
        expected[0, 0] += 0.1 * 7 / stats.phi[stats.offsets[i]] ** 2
        np.testing.assert_allclose(np.linalg.inv(B[:d, :d] @ B[:d, :d].T), expected, rtol=1e-6)
        np.testing.assert_allclose(np.linalg.solve(B[:d, :d].T, B[d, :d]), theta, rtol=1e-6)
        np.testing.assert_array_equal(B[:, 1:], A[:, 1:])
        left = (stats.alone[start] / alone[start]) ** 2 if i else 1.0
        assert lost[i] == pytest.approx(1.5 - left)
    assert (lost[1:] > 0.5).all()


def test_a_learner_lets_levels_wander_between_epochs_and_keeps_its_estimates() -> None:
    """In units of one loss: the level is worth g a round, whatever the scale of the features."""
    policy = tt.SteadyGraphLinUCB(tt.Problem(RING), start=[0.3] * 4, review=False)
    learner, rng = policy.learner, np.random.default_rng(1)
    beliefs = learner.beliefs
    assert beliefs is not None
    assert beliefs.levels
    for _ in range(20):
        learner.observe(0.1 * rng.standard_normal(4), played=None, count=1)
    learner.absorb(policy.problem.all_criteria)
    V = [learner.estimators.V(i) for i in range(4)]
    theta = [learner.estimators.theta(i) for i in range(4)]
    beliefs.wander = 0.3
    learner.wait(5)
    beliefs.absorb(policy.problem.all_criteria, learner.clock)
    first = policy.problem.features.offsets[:-1]
    for i in range(4):
        expected = np.linalg.inv(V[i])
        expected[0, 0] += 5 * 0.3 / learner.estimators.stats.phi[first[i]] ** 2
        found = np.linalg.inv(learner.estimators.V(i))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * expected[0, 0])
        np.testing.assert_allclose(learner.estimators.theta(i), theta[i], rtol=1e-6, atol=1e-6)


# How far they wander.


def written(
    diary: Diary, stats_state: NodewiseEstimators, g: float, seed: int, epochs: int
) -> None:
    """Epochs of 4 rounds at random states; the level of each criterion is a random walk."""
    rng = np.random.default_rng(seed)
    world = tt.worlds.quadratic(RING, seed=seed)
    walk = np.zeros(4)
    for _ in range(epochs):
        state = np.full(4, 0.5) + 0.2 * rng.random(4)
        total = np.zeros(4)
        for _ in range(4):
            walk += np.sqrt(g) * SIGMA * rng.standard_normal(4)
            total += world.mean(state) + walk + SIGMA * rng.standard_normal(4)
        n = np.full(4, 4, np.int64)
        diary.write(n, total / 4.0, stats_state.problem.phi(state), 4)


def learned(g: float, seed: int, epochs: int = 30) -> float:
    found = estimators(np.full(4, 0.5))
    diary = Diary(found.stats)
    written(diary, found, g, seed, epochs)
    return diary.wander(found.stats, scales())


def test_levels_that_stay_do_not_wander_and_random_walks_do() -> None:
    still, slow, fast = ([learned(g, seed) for seed in range(10)] for g in (0.0, 0.04, 0.64))
    assert max(still) < 0.002, still
    assert min(slow) > 0.005, slow
    assert max(slow) < 0.1 < min(fast), (slow, fast)
    assert np.median(slow) == pytest.approx(0.04, abs=0.02)
    assert np.median(fast) > 0.5


def test_nothing_wanders_before_two_epochs_are_known() -> None:
    assert learned(0.64, 0, epochs=1) == 0.0
    assert learned(0.64, 0, epochs=2) > 0.0


@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_is_that_of_a_kalman_filter(seed: int) -> None:
    """Each epoch from those before, by plain covariances; epochs that some have not seen too."""
    rng = np.random.default_rng(seed)
    found = estimators(np.full(4, 0.5))
    stats, offsets = found.stats, found.problem.features.offsets
    T = 12
    states = rng.random((T, 4))
    phi = np.array([found.problem.phi(state) for state in states])
    n = rng.integers(0, 4, (T, 4)).astype(np.float64)
    losses = rng.standard_normal((T, 4))
    losses[5] += 50.0  # farther off than counts
    rounds = rng.integers(1, 9, T).astype(np.float64)
    sigma, misfit = rng.uniform(0.05, 0.3, 4), MISSED * rng.uniform(0.5, 2.0, 4)
    criteria = np.array([0, 2, 3])

    def likelihood(some: Ints) -> Array:
        features = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in some])
        return stats.core.likelihood(
            criteria=some,
            phi=np.ascontiguousarray(phi[:, features]),
            n=np.ascontiguousarray(n[:, some]),
            losses=np.ascontiguousarray(losses[:, some]),
            rounds=rounds,
            sigma=sigma[some],
            misfit=misfit[some],
            grid=GRID,
            far=FAR,
        )

    total = np.zeros(GRID.size)
    for i in criteria.tolist():
        d = int(offsets[i + 1] - offsets[i])
        A = unpack(stats.R0, int(stats.blocks[i]), d + 1)
        for a, g in enumerate(GRID):
            P = np.linalg.inv(A[:d, :d] @ A[:d, :d].T)
            theta = np.linalg.solve(A[:d, :d].T, A[d, :d])
            seen, expected = False, 0.0
            for t in range(T):
                x = phi[t, offsets[i] : offsets[i + 1]]
                if seen:
                    P[0, 0] += g * rounds[t] / x[0] ** 2
                if n[t, i] == 0:
                    continue
                rest = losses[t, i] - x @ theta
                known = x @ P @ x + 1.0 / n[t, i]
                if seen:
                    variance = sigma[i] ** 2 * known + misfit[i] ** 2
                    expected -= 0.5 * (np.log(variance) + min(rest**2 / variance, FAR))
                seen = True
                gain = P @ x / known
                theta, P = theta + gain * rest, P - np.outer(gain, x @ P)
            assert likelihood(np.array([i]))[a] == pytest.approx(expected, rel=1e-5)
            total[a] += expected
    np.testing.assert_allclose(likelihood(criteria), total, rtol=1e-5)


def test_the_diary_keeps_the_last_epochs_and_goes_through_a_snapshot() -> None:
    found = estimators(np.full(4, 0.5))
    diary, short = Diary(found.stats), Diary(found.stats)
    written(diary, found, 0.64, 1, EPOCHS)
    written(diary, found, 0.0, 2, EPOCHS)  # what was before is forgotten
    written(short, found, 0.0, 2, EPOCHS)
    again = Diary(found.stats)
    again.recall(diary.to_plain())
    for one, other in ((diary, short), (diary, again)):
        for name, x in one.to_plain().items():
            np.testing.assert_array_equal(x, other.to_plain()[name])
    assert len(diary.to_plain()["diary.rounds"]) == EPOCHS
    assert again.wander(found.stats, scales()) == diary.wander(found.stats, scales()) < 0.005


def test_only_features_with_a_level_first_wander() -> None:
    linear = tt.Problem(RING, basis=tt.bases.Linear())
    for problem, wanders in ((linear, False), (tt.Problem(RING), True)):
        policy = tt.SteadyGraphLinUCB(problem, start=[0.5] * 4)
        beliefs = policy.learner.beliefs
        assert beliefs is not None
        assert beliefs.levels == wanders


# What it is worth.


def test_a_daily_cycle_costs_less() -> None:
    """Losses go up and down by five times their noise, wherever the knobs are."""
    costs = {True: 0.0, False: 0.0}
    for levels in costs:
        for seed in range(2):
            world = tt.worlds.quadratic(RING, seed=seed)
            policy = tt.SteadyGraphLinUCB(world.problem, start=[0.15] * 4)
            beliefs = policy.learner.beliefs
            assert beliefs is not None
            beliefs.levels = levels
            rng = np.random.default_rng(seed)
            for t in range(250):
                mean = world.mean(policy.ask())
                costs[levels] += float(mean.sum())
                cycle = 0.5 * np.sin(2.0 * np.pi * t / 100.0)
                policy.tell(mean + cycle + 0.1 * rng.standard_normal(4))
            assert (beliefs.wander > 0.0) == levels
    assert costs[True] < 0.8 * costs[False], costs
