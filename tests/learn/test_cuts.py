"""What a policy says of losses that are far from all others, and of what it does to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array, Ints
from trimtab.learn import NodewiseEstimators
from trimtab.learn.beliefs import HOLD, ODD, Beliefs
from trimtab.learn.losses.first_losses import CRITERIA
from trimtab.policies.base import Policy, Told

RING = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
WORLD = tt.worlds.quadratic(RING, seed=1)
KINDS = (tt.LinUCB, tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB, tt.SteadyGraphLinUCB)


def usual(policy: Policy, rng: np.random.Generator) -> Array:
    return WORLD.mean(policy.ask()) + 0.1 * rng.standard_normal(4)


def taught(kind: Any, rounds: int = 60) -> tuple[Any, np.random.Generator]:
    policy, rng = kind(WORLD.problem, start=[0.4] * 4), np.random.default_rng(0)
    for _ in range(rounds):
        policy.tell(usual(policy, rng))
    return policy, rng


def wild(policy: Policy, rng: np.random.Generator, criteria: list[int]) -> Array:
    losses = usual(policy, rng)
    losses[criteria] += 100.0
    return losses


# Told.cut and Record.cut.


@pytest.mark.parametrize("kind", KINDS)
def test_a_tell_names_the_criteria_of_which_a_loss_was_cut(kind: Any) -> None:
    policy, rng = taught(kind)
    assert policy.tell(WORLD.mean(policy.ask())).cut.tolist() == []
    assert policy.tell(wild(policy, rng, [1, 3])).cut.tolist() == [1, 3]
    some = wild(policy, rng, [2])
    some[0] = np.nan
    assert policy.tell(some).cut.tolist() == [2]


@pytest.mark.parametrize("kind", KINDS)
def test_a_late_loss_of_another_state_is_cut_as_well(kind: Any) -> None:
    """So that one wild loss moves no estimate by more than a few times the noise."""
    (policy, rng), (other, _) = taught(kind), taught(kind)
    late = np.array([0.3, 0.5, 0.6, 0.4])
    losses = WORLD.mean(late) + 0.1 * rng.standard_normal(4)
    spoiled = losses + 1000.0 * np.eye(4)[2]
    for each in (policy, other):
        each.place([0.45] * 4)
    assert policy.learner.observe(losses, played=late, count=1).size == 0
    assert other.learner.observe(spoiled, played=late, count=1).tolist() == [2]
    first = WORLD.problem.features.offsets
    mine = WORLD.problem.phi(late)[first[2] : first[3]]
    means = [mine @ each.learner.estimators.theta(2) for each in (policy, other)]
    assert abs(means[1] - means[0]) < 1.0


def test_the_joint_regression_sees_the_late_loss_cut_as_well() -> None:
    late, means = np.array([0.3, 0.5, 0.6, 0.4]), []
    for extra in (0.0, 1000.0):
        rng = np.random.default_rng(0)
        policy = tt.JointLazyGraphLinUCB(WORLD.problem, start=[0.4] * 4)
        for state in rng.random((8, 4)):
            policy.place(state)
            for _ in range(4):
                policy.learner.observe(usual(policy, rng), played=None, count=1)
        policy.place([0.45] * 4)
        losses = WORLD.mean(late) + 0.1 * rng.standard_normal(4) + extra * np.eye(4)[2]
        cut = policy.learner.observe(losses, played=late, count=1)
        assert cut.tolist() == [2] * (extra > 0.0)
        means.append(policy.learner.bound.total.mean(late))
    assert means[0] != means[1]
    assert abs(means[1] - means[0]) < 1.0


def test_rows_name_them_too() -> None:
    policy, rng = taught(tt.SteadyGraphLinUCB, rounds=64)
    rows = np.array([usual(policy, rng), wild(policy, rng, [2])])
    taken, told = policy.tell_rows(rows)
    assert taken == 2
    assert told.cut.tolist() == [2]
    _, told = policy.tell_rows(WORLD.mean(policy.ask())[None])
    assert told.cut.tolist() == []


def test_a_warm_up_names_them_too() -> None:
    policy = tt.AdaptiveGraphLinUCB(WORLD.problem, start=[0.4] * 4, warmup=400)
    rng = np.random.default_rng(0)
    learner = policy.learner
    for _ in range(100):
        policy.tell(usual(policy, rng))
    learner.absorb(policy.problem.all_criteria)
    learner.place(np.full(4, 0.45))  # losses are expected from here on
    assert policy.warming
    assert policy.tell(wild(policy, rng, [3])).cut.tolist() == [3]


def test_a_record_names_all_that_were_cut_since_the_last_look() -> None:
    policy, rng = taught(tt.SteadyGraphLinUCB)
    while policy.tell(usual(policy, rng)).record is None:
        pass
    policy.tell(wild(policy, rng, [0]))
    told = policy.tell(wild(policy, rng, [2]))
    assert told.record is None
    while told.record is None:
        told = policy.tell(WORLD.mean(policy.ask()))
    assert told.cut.tolist() == []
    assert told.record.cut.tolist() == [0, 2]
    assert "wild losses of 2 cut" in str(told.record)
    told = policy.tell(WORLD.mean(policy.ask()))
    while told.record is None:
        told = policy.tell(WORLD.mean(policy.ask()))
    assert told.record.cut.tolist() == []
    assert "wild" not in str(told.record)


def test_pooled_criteria_are_named_by_their_members() -> None:
    scopes = tt.Graph.from_scopes([[0], [1], [0], [1]], knobs=2)
    policy = tt.PooledGraphLinUCB(tt.Problem(scopes), start=[0.4, 0.4])
    assert [sorted(group) for group in policy.groups] == [[0, 2], [1, 3]]
    rng = np.random.default_rng(0)
    for _ in range(60):
        policy.tell(0.1 * rng.standard_normal(4))
    assert policy.tell([0.0, 0.0, 100.0, 0.0]).cut.tolist() == [0, 2]


# Told.rung.


@pytest.mark.parametrize("told_nothing", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_tell_names_the_criteria_that_rang(seed: int, told_nothing: bool) -> None:
    """Seeds 0 to 2 look at the state a few rounds before or after the change."""
    radius = None if told_nothing else tt.Confidence(sigma=0.1, norm=2.0 * WORLD.norms)
    policy = tt.SteadyGraphLinUCB(WORLD.problem, start=[0.4] * 4, radius=radius)
    rng = np.random.default_rng(seed)
    found: list[Told] = []
    for t in range(400):
        shift = np.array([0.0, 0.0, 3.0, 0.0]) * (t >= 200)
        found.append(policy.tell(usual(policy, rng) + shift))
    assert all((told.cause == "alarm") == (told.rung.size > 0) for told in found)
    assert not any(told.rung.size for told in found[:200])
    heard = next(told for told in found[200:] if told.rung.size)
    assert heard.rung.tolist() == [2]
    assert heard.record is not None
    np.testing.assert_array_equal(heard.record.criteria, heard.rung)


# The first losses.


def noises(first: Array, prior: tt.Prior | None = None) -> tuple[Array, Ints]:
    """The noise that is learned from these losses of one state, and how often each was seen."""
    m = first.shape[1]
    scopes = tt.Graph.from_scopes([[i % 2] for i in range(m)], knobs=2)
    policy = tt.SteadyGraphLinUCB(tt.Problem(scopes), start=[0.5, 0.5], prior=prior)
    for row in first:
        policy.learner.observe(row, played=None, count=1)
    policy.learner.absorb(policy.problem.all_criteria)
    scales = policy.learner.scales
    assert scales is not None
    return scales.sigma, policy.learner.estimators.stats.seen.copy()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("wild", range(HOLD))
def test_a_wild_first_loss_does_not_inflate_the_noise(wild: int, seed: int) -> None:
    """Nothing can be cut yet, but it can be left out when the noise of the others is known."""
    losses = 0.1 * np.random.default_rng(seed).standard_normal((HOLD, 5))
    plain, seen = noises(losses)
    np.testing.assert_array_equal(seen, HOLD)
    losses[wild, 3] += 50.0
    found, seen = noises(losses)
    np.testing.assert_array_equal(seen, [HOLD, HOLD, HOLD, HOLD - 1, HOLD])
    assert found[3] < 4.0 * np.median(plain)
    np.testing.assert_allclose(np.delete(found, 3), np.delete(plain, 3), rtol=0.5)


def test_a_criterion_that_is_noisier_than_others_keeps_its_losses() -> None:
    losses = 0.1 * np.random.default_rng(0).standard_normal((HOLD, 5))
    losses[:, 3] *= 0.5 * ODD
    found, seen = noises(losses)
    np.testing.assert_array_equal(seen, HOLD)
    assert found[3] > 1.5 * np.median(found)


def test_one_criterion_does_not_tell_what_is_wild_but_a_noise_that_was_told_does() -> None:
    losses = 0.1 * np.random.default_rng(0).standard_normal((HOLD, 5))
    losses[0, 1] += 50.0
    _, seen = noises(losses[:, 1:2])
    np.testing.assert_array_equal(seen, HOLD)
    found, seen = noises(losses, tt.Prior(sigma=0.1))
    np.testing.assert_array_equal(seen, [HOLD, HOLD - 1, HOLD, HOLD, HOLD])
    np.testing.assert_array_equal(found, 0.1)


def test_with_very_many_criteria_the_first_losses_of_a_wild_one_are_forgotten() -> None:
    """They are not kept one by one then."""
    losses = 0.1 * np.random.default_rng(0).standard_normal((HOLD, CRITERIA + 1))
    losses[1, 3] += 50.0
    _, seen = noises(losses)
    assert np.flatnonzero(seen != HOLD).tolist() == [3]
    assert seen[3] == 0


def estimators_with(limit: float) -> NodewiseEstimators:
    """Regressions that have seen nothing, whose losses are cut beyond the limit either way."""
    policy = tt.SteadyGraphLinUCB(WORLD.problem, start=[0.4] * 4, alarm=False)
    stats = policy.learner.estimators.stats
    stats.low[:], stats.high[:] = -limit, limit
    return policy.learner.estimators


def test_the_few_losses_that_were_cut_are_left_out_of_the_sums() -> None:
    cut, plain = estimators_with(0.3), estimators_with(np.inf)
    losses = np.array(
        [[0.1, 0.2, 0.5, -0.9], [0.0, 0.1, 0.1, 1.9], [0.2, 0.1, 0.2, 0.2], [0.1, 0.0, 0.6, 0.1]]
    )
    for row in losses:
        cut.add(row)
        plain.add(np.where(np.abs(row) > 0.3, np.nan, row))
    before = [estimators.rounds_left for estimators in (cut, plain)]
    cut.leave_out(cut.stats.cut.copy(), cut.stats.excess.copy(), np.full(4, 4.0))
    for mine, other in zip(cut.frozen(), plain.frozen(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)
    assert before[0] <= before[1] == cut.rounds_left  # it waits for losses that count
    for estimators in (cut, plain):
        estimators.flush(WORLD.problem.all_criteria)
    np.testing.assert_allclose(cut.stats.pure_error, plain.stats.pure_error, atol=1e-12)
    np.testing.assert_array_equal(cut.stats.pure_df, plain.stats.pure_df)


def test_losses_a_little_beyond_their_limits_count_as_much_as_these() -> None:
    estimators = estimators_with(0.3)
    for row in ([0.4] * 4, [0.2] * 4, [0.1] * 4):
        estimators.add(np.array(row))
    estimators.leave_out(
        estimators.stats.cut.copy(), estimators.stats.excess.copy(), np.full(4, 3.0)
    )
    n, mean = estimators.frozen()
    np.testing.assert_array_equal(n, 3)
    np.testing.assert_allclose(mean, 0.2)


def test_most_losses_being_cut_says_that_the_expectation_was_wrong() -> None:
    estimators = estimators_with(0.3)
    for row in ([0.5] * 4, [0.5] * 4, [0.1] * 4):
        estimators.add(np.array(row))
    stats = estimators.stats
    estimators.leave_out(stats.cut.copy(), stats.excess.copy(), np.full(4, 3.0))
    n, mean = estimators.frozen()
    np.testing.assert_array_equal(n, 3)
    np.testing.assert_allclose(mean, 0.7 / 3)


def test_no_limit_is_known_before_the_noise() -> None:
    policy = tt.SteadyGraphLinUCB(WORLD.problem, start=[0.4] * 4)
    assert isinstance(policy.learner.beliefs, Beliefs)
    assert policy.learner.beliefs.limits() is None
    assert policy.tell([1e6, 0.0, 0.0, 0.0]).cut.size == 0


def test_cuts_that_are_taken_back_leave_the_sums_of_the_losses_as_they_came() -> None:
    """Losses that are equally far out: their squares are known exactly then."""
    cut, raw = estimators_with(0.3), estimators_with(np.inf)
    losses = np.array([[0.1, 0.2, 0.5, -0.1], [0.0, 0.1, 0.5, -0.7], [0.2, 0.1, 0.5, -0.7]])
    for estimators in (cut, raw):
        for row in losses:
            estimators.add(row)
    criteria = np.flatnonzero(cut.stats.cut)
    assert criteria.tolist() == [2, 3]
    np.testing.assert_array_equal(cut.stats.cut, [0, 0, 3, 2])
    cut.uncut(criteria, cut.stats.cut[criteria].astype(float), cut.stats.excess[criteria])
    for i in range(4):
        moments = []
        for stats in (cut.stats, raw.stats):  # sums about a shift, of which 0 is taken here
            n, shift = len(losses), stats.shift[i]
            squares = stats.squares[i] + 2 * shift * stats.total[i] + n * shift**2
            moments.append((stats.total[i] + n * shift, squares))
        np.testing.assert_allclose(moments[0], moments[1], rtol=1e-12)
    np.testing.assert_array_equal(cut.stats.cut, 0)
    np.testing.assert_allclose(cut.stats.excess, 0.0, atol=1e-12)
    assert np.isinf(cut.stats.high[criteria]).all()


def test_what_the_first_move_shows_is_not_cut() -> None:
    """Losses of one state say nothing of the spread, so that more of it is possible elsewhere."""
    policy = tt.SteadyGraphLinUCB(WORLD.problem, start=[0.4] * 4)
    policy.within([0.4] * 4, [0.4] * 4)
    rng, first = np.random.default_rng(0), WORLD.mean(np.full(4, 0.4))
    while policy.rounds < 12:
        policy.tell(first + 0.01 * rng.standard_normal(4))
    policy.within(None, None)
    policy.place([0.6, 0.4, 0.4, 0.4])
    beliefs, stats = policy.learner.beliefs, policy.learner.estimators.stats
    assert beliefs is not None
    assert beliefs.scales is not None
    limits = beliefs.limits()
    assert limits is not None
    assert limits.larger == np.exp(beliefs.scales.doubt**2) > 3.0
    middle, half = (stats.high + stats.low) / 2.0, (stats.high - stats.low) / 2.0
    np.testing.assert_allclose(half, limits.half(stats.spread), rtol=1e-12)
    known = replace(limits, larger=1.0).half(stats.spread)
    reads = np.array([0, 1, 3])  # the knob that has moved
    assert (half[reads] > 2.0 * known[reads]).all()
    told = policy.tell(middle + 0.5 * (known + half))
    assert told.cut.size == 0
    for _ in range(60):
        policy.tell(usual(policy, rng))
    limits = beliefs.limits()
    assert limits is not None
    assert limits.larger < 1.1
