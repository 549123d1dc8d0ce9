"""The first losses are kept, and those that turn out to be outliers do not count."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array
from trimtab.learn.beliefs import Beliefs
from trimtab.learn.losses.first_losses import MOST, outliers

RING = tt.Graph.from_edges(6, [(j, (j + 1) % 6) for j in range(6)])
WORLD = tt.worlds.quadratic(RING, seed=1)


def beliefs_of(policy: tt.SteadyGraphLinUCB) -> Beliefs:
    assert policy.learner.beliefs is not None
    return policy.learner.beliefs


def walked(losses: Array, states: Array) -> tt.SteadyGraphLinUCB:
    """A learner that was led through these states, with a look after every other round."""
    policy = tt.SteadyGraphLinUCB(WORLD.problem, start=states[0])
    for t, (row, state) in enumerate(zip(losses, states, strict=True)):
        policy.place(state)
        policy.learner.observe(row, played=None, count=1)
        if t >= 2 and t % 2 == 0:
            policy.learner.absorb(policy.problem.all_criteria)
    policy.learner.absorb(policy.problem.all_criteria)
    return policy


def path(seed: int, rounds: int = 12) -> tuple[Array, Array]:
    """Three rounds at the start, then two at each of some states near it; and their losses."""
    rng = np.random.default_rng(seed)
    near = np.clip(0.5 + 0.2 * rng.uniform(-1.0, 1.0, (rounds, 6)), 0.0, 1.0)
    states = np.repeat(near, 2, axis=0)[:rounds]
    states[:3] = 0.5
    means = np.array([WORLD.mean(state) for state in states])
    return states, means + 0.1 * rng.standard_normal(means.shape)


@pytest.mark.parametrize("seed", range(4))
def test_spikes_among_the_first_losses_are_as_if_they_had_not_been_seen(seed: int) -> None:
    states, losses = path(seed)
    spiked, gone = losses.copy(), losses.copy()
    for t, i, far in ((1, 0, 2.0), (4, 2, -1.5), (5, 3, 3.0), (7, 5, 2.5)):
        spiked[t, i] += far
        gone[t, i] = np.nan
    found, expected, plain = (walked(x, states) for x in (spiked, gone, losses))
    stats, other = found.learner.estimators.stats, expected.learner.estimators.stats
    np.testing.assert_array_equal(stats.seen, other.seen)
    assert [np.flatnonzero(out).tolist() for out in beliefs_of(found).first.out.T] == [
        [1],
        [],
        [4],
        [5],
        [],
        [7],
    ]
    assert not beliefs_of(plain).first.out.any()
    for state in states:
        mine, its, theirs = (
            policy.learner.lcb.predict(state, policy.problem.all_criteria)[0]
            + policy.learner.estimators.stats.offset
            for policy in (found, expected, plain)
        )
        np.testing.assert_allclose(mine, its, atol=0.1)
        np.testing.assert_allclose(mine, theirs, atol=0.2)
    assert found.learner.scales is not None
    assert expected.learner.scales is not None
    np.testing.assert_allclose(found.learner.scales.sigma, expected.learner.scales.sigma, rtol=0.2)
    assert beliefs_of(found).wander < 0.05


@pytest.mark.slow
def test_normal_losses_are_hardly_ever_left_out() -> None:
    """Of 100 paths with 72 losses each: one loss in a thousand at most."""
    out = sum(
        int(beliefs_of(walked(losses, states)).first.out.sum())
        for states, losses in map(path, range(100))
    )
    assert out <= 7


def test_what_is_left_out_depends_on_no_unit_and_no_level() -> None:
    states, losses = path(2)
    losses[4, 2] += 1.5
    small = tt.Problem(RING, weights=np.full(6, 1e-3))
    found = []
    for problem, told in ((WORLD.problem, losses), (small, 1e3 * losses + 1e5)):
        policy = tt.SteadyGraphLinUCB(problem, start=states[0])
        for row, state in zip(told, states, strict=True):
            policy.place(state)
            policy.learner.observe(row, played=None, count=1)
        policy.learner.absorb(problem.all_criteria)
        found.append(beliefs_of(policy).first.out)
    assert found[0].sum() == 1
    np.testing.assert_array_equal(found[0], found[1])


def test_only_so_many_are_kept_and_then_none() -> None:
    policy, rng = tt.SteadyGraphLinUCB(WORLD.problem, start=[0.5] * 6), np.random.default_rng(0)
    for t in range(MOST):
        policy.tell(WORLD.mean(policy.ask()) + 0.1 * rng.standard_normal(6))
        assert len(beliefs_of(policy).first.clocks) == t + 1
    policy.tell(WORLD.mean(policy.ask()))
    assert not beliefs_of(policy).first.open
    assert beliefs_of(policy).first.losses.size == 0


def test_a_refused_loss_is_not_kept() -> None:
    policy = tt.SteadyGraphLinUCB(WORLD.problem, start=[0.5] * 6)
    with pytest.raises(tt.InvalidInput):
        policy.tell([0.1, np.inf, 0.0, 0.0, 0.0, 0.0])
    assert len(beliefs_of(policy).first.clocks) == 0


def test_a_change_of_the_world_gives_them_up() -> None:
    policy = walked(*reversed(path(0)))
    policy.learner.widen(np.array([1]))
    assert not beliefs_of(policy).first.open


def test_rows_are_kept_like_single_tells() -> None:
    _, losses = path(3)
    one, many = (tt.SteadyGraphLinUCB(WORLD.problem, start=[0.5] * 6) for _ in "ab")
    losses[5, 1] += 2.0
    done = 0
    while done < len(losses):
        taken, _ = many.tell_rows(losses[done:])
        done += taken
    for row in losses:
        one.tell(row)
    mine, other = one.snapshot(), many.snapshot()
    for name in mine:
        np.testing.assert_array_equal(mine[name], other[name], err_msg=name)
    assert beliefs_of(one).first.out.sum() == 1


def test_a_restored_policy_goes_on_with_the_losses_kept() -> None:
    _, losses = path(1)
    losses[4, 2] -= 1.5
    policy = tt.SteadyGraphLinUCB(WORLD.problem, start=[0.5] * 6)
    for row in losses[:6]:
        policy.tell(row)
    again = tt.restore(WORLD.problem, policy.snapshot())
    for row in losses[6:]:
        policy.tell(row)
        again.tell(row)
        np.testing.assert_array_equal(policy.ask(), again.ask())
    mine, other = policy.snapshot(), again.snapshot()
    for name in mine:
        np.testing.assert_array_equal(mine[name], other[name], err_msg=name)
    assert mine["first.out"].any()


def test_at_most_every_third_loss_is_an_outlier() -> None:
    rng = np.random.default_rng(0)
    y = 10.0 * rng.standard_normal(12) ** 3
    out = outliers(y, np.full((12, 12), 1e4), np.eye(12), np.array([0.01]), np.zeros(1))
    assert out.sum() == 4
