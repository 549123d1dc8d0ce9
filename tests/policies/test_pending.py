"""Losses that come late: a round counts when it is played, and teaches when it is answered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.policies.test_conformance import POLICIES, PROBLEMS, same, start_of
from trimtab.arrays import Array
from trimtab.policies import Policy
from trimtab.policies.learner import Learner
from trimtab.policies.pending import MOST, Pending

NAN = float("nan")
RING = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
HERE, THERE = np.array([0.5, 0.5]), np.array([0.2, 0.8])


def entries(pending: Pending) -> list[tuple[list[float], list[int]]]:
    return [(state.tolist(), count.tolist()) for state, count in pending]


def two_criteria(**options: Any) -> tt.SteadyGraphLinUCB:
    return tt.SteadyGraphLinUCB(tt.Problem(tt.Graph.complete(2)), start=HERE, **options)


# The list of pending rounds.


def test_rounds_of_one_state_are_one_entry_and_each_criterion_is_answered_alone() -> None:
    pending = Pending(knobs=2, criteria=2)
    assert not pending
    pending.add(HERE, 2)
    pending.add(THERE, 1)
    pending.add(HERE, 3)
    assert entries(pending) == [([0.5, 0.5], [5, 5]), ([0.2, 0.8], [1, 1])]
    np.testing.assert_array_equal(pending.answer(HERE, np.array([4, 9])), [4, 5])
    assert entries(pending) == [([0.5, 0.5], [1, 0]), ([0.2, 0.8], [1, 1])]
    np.testing.assert_array_equal(pending.answer(HERE, np.array([1, 1])), [1, 0])
    assert entries(pending) == [([0.2, 0.8], [1, 1])]
    np.testing.assert_array_equal(pending.answer(HERE, np.array([1, 1])), [0, 0])
    assert pending


def test_the_oldest_of_many_states_is_given_up() -> None:
    pending = Pending(knobs=1, criteria=1)
    for x in range(MOST + 3):
        pending.add(np.array([x / 100.0]), 1)
    kept = [state[0] for state, _ in pending]
    assert kept == [x / 100.0 for x in range(3, MOST + 3)]
    np.testing.assert_array_equal(pending.answer(np.array([0.0]), np.array([1])), [0])


# What pending rounds change, and what they do not.


def taught(rounds: int = 30) -> tt.SteadyGraphLinUCB:
    """A policy that has seen some states, with spread and noise learned."""
    world = tt.worlds.quadratic(RING, seed=3)
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.3] * 4)
    rng = np.random.default_rng(0)
    for t in range(rounds):
        policy.tell(world.draw(policy.ask(), rng, t))
    policy.learner.absorb(policy.problem.all_criteria)
    assert policy.learner.scales is not None
    return policy


def means_at(learner: Learner, states: Array) -> Array:
    return np.array([learner.lcb.mean(state) for state in states])


def test_estimates_know_nothing_of_pending_rounds() -> None:
    """Means, spread, noise and certificate are those of a learner for which the time has passed."""
    left, right = taught(), taught()
    states = np.random.default_rng(1).random((10, 4))
    for _ in range(7):
        left.learner.observe(None, played=None, count=1)
        right.learner.wait(1)
    for policy in (left, right):
        policy.learner.absorb(policy.problem.all_criteria)
    assert left.learner.pending
    assert left.certificate == right.certificate
    assert left.rounds == right.rounds == 37
    for x, y in (
        (left.learner.estimators.stats.R, right.learner.estimators.stats.R),
        (left.learner.estimators.stats.seen, right.learner.estimators.stats.seen),
        (left.learner.lcb.radii, right.learner.lcb.radii),
    ):
        np.testing.assert_array_equal(x, y)
    scales, others = left.learner.scales, right.learner.scales
    assert scales is not None
    assert others is not None
    np.testing.assert_array_equal(scales.sigma, others.sigma)
    np.testing.assert_array_equal(scales.spread, others.spread)
    with left.learner.foreseeing():
        found = means_at(left.learner, states)
    np.testing.assert_allclose(found, means_at(right.learner, states), rtol=0.0, atol=1e-9)
    np.testing.assert_array_equal(
        left.learner.estimators.stats.R, right.learner.estimators.stats.R
    )  # nothing is left of it


def spreads(policy: Policy, states: Array) -> Array:
    lcb, everybody = policy.learner.lcb, policy.problem.all_criteria
    return np.array([lcb.predict(state, everybody)[1] for state in states])


def test_widths_shrink_as_if_the_expected_losses_had_come() -> None:
    left, right = taught(), taught()
    states = np.random.default_rng(1).random((10, 4))
    left.learner.observe(None, played=None, count=6)
    right.learner.wait(6)
    for policy in (left, right):
        policy.place(states[0])
    left.learner.observe(None, played=None, count=2)
    right.learner.wait(2)
    for policy in (left, right):
        policy.learner.absorb(policy.problem.all_criteria)
    estimators = right.learner.estimators
    for state, count in left.learner.pending:
        phi = np.split(right.problem.phi(state), right.problem.features.offsets[1:-1])
        mean = np.array([phi[i] @ estimators.theta(i) for i in range(4)])
        estimators.add_elsewhere(mean + estimators.stats.offset, count, state)
    before = spreads(left, states)
    with left.learner.foreseeing():
        found = spreads(left, states)
    np.testing.assert_allclose(found, spreads(right, states), rtol=1e-6)
    assert (found < before).all()
    assert np.min(found / before) < 0.8


def test_the_answer_that_is_on_its_way_is_not_looked_for_again() -> None:
    """The solve counts pending rounds: it goes where nothing is under way."""
    problem = tt.Problem(
        tt.Graph.complete(1), domain=tt.Box(levels=[[0.0, 1.0]]), basis=tt.bases.Polynomial(2)
    )
    moved = []
    for waiting in (False, True):
        policy = tt.LazyGraphLinUCB(
            problem, start=[0.0], radius=1.0, cold_start="keep", review=False
        )
        policy.learner.observe([0.0], played=[0.0], count=1)
        policy.place([1.0])
        if waiting:
            policy.learner.observe(None, played=None, count=50)
        policy.learner.resolve(reset=problem.all_criteria)
        moved.append(policy.ask()[0])
    assert moved == [1.0, 0.0]


def test_losses_of_10_keep_the_mean_at_10_whatever_is_pending() -> None:
    policy = two_criteria()
    rng = np.random.default_rng(0)
    for _ in range(20):
        policy.learner.observe(10.0 + 0.1 * rng.standard_normal(2), played=None, count=1)
        policy.learner.observe(None, played=None, count=1)
    policy.learner.absorb(policy.problem.all_criteria)
    stats = policy.learner.estimators.stats
    np.testing.assert_allclose(stats.mean + stats.offset, 10.0, atol=0.2)
    with policy.learner.foreseeing():
        phi = policy.problem.phi(HERE)
        for i, mine in enumerate(np.split(phi, policy.problem.features.offsets[1:-1])):
            here = mine @ policy.learner.estimators.theta(i) + stats.offset[i]
            assert here == pytest.approx(10.0, abs=0.2)


# The clock.


def test_the_clock_advances_once_per_round() -> None:
    policy = two_criteria()
    played = [policy.ask() for _ in range(5)]
    for _ in range(5):
        policy.tell(None)
    assert policy.rounds == 5
    for state in played:
        policy.tell([0.1, 0.2], played=state)
    assert policy.rounds == 5
    assert not policy.learner.pending
    np.testing.assert_array_equal(policy.learner.estimators.observed(), 5)
    policy.tell([0.1, 0.2], played=policy.ask())  # was not pending
    assert policy.rounds == 6


def test_an_answer_for_more_rounds_than_were_pending_counts_the_others() -> None:
    policy = two_criteria(review=False)
    policy.tell(None, count=3)
    assert policy.rounds == 3
    policy.tell([0.1, 0.2], played=HERE, count=5)
    assert policy.rounds == 5
    assert not policy.learner.pending


def test_criteria_may_be_answered_one_by_one() -> None:
    policy = two_criteria()
    policy.tell(None)
    policy.tell([0.1, NAN], played=HERE, count=[1, 0])
    assert entries(policy.learner.pending) == [([0.5, 0.5], [0, 1])]
    policy.tell([NAN, NAN], played=HERE, count=0)  # nothing has come yet
    assert entries(policy.learner.pending) == [([0.5, 0.5], [0, 1])]
    policy.tell([NAN, 0.2], played=HERE, count=[0, 1])
    assert not policy.learner.pending
    assert policy.rounds == 1
    np.testing.assert_array_equal(policy.learner.estimators.observed(), 1)


def test_a_round_given_up_is_pending_no_longer_and_teaches_nothing() -> None:
    policy = two_criteria()
    policy.tell(None)
    policy.tell(None)
    policy.tell([NAN, NAN], played=HERE)
    assert entries(policy.learner.pending) == [([0.5, 0.5], [1, 1])]
    policy.tell([NAN, 0.3], played=HERE)
    assert not policy.learner.pending
    assert policy.rounds == 2
    np.testing.assert_array_equal(policy.learner.estimators.observed(), [0, 1])


def test_a_late_answer_teaches_of_the_state_that_was_played() -> None:
    policy = two_criteria(review=False)
    policy.tell(None)
    policy.place(THERE)
    policy.tell([0.1, 0.2], played=HERE)
    assert policy.rounds == 1
    assert not policy.learner.pending
    np.testing.assert_array_equal(policy.learner.estimators.stats.seen, 1)
    np.testing.assert_array_equal(policy.learner.estimators.frozen()[0], 0)


# Every policy.


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_takes_rounds_whose_losses_come_later(name: str) -> None:
    problem = PROBLEMS["quadratic path"]()
    policy = POLICIES[name](problem, start_of(problem), 1)
    rng = np.random.default_rng(0)
    late: list[Array] = []
    for t in range(24):
        if t % 2:
            late.append(policy.ask())
            told = policy.tell(None)
            assert told.cut.size == told.rung.size == 0
        else:
            policy.tell(rng.standard_normal(problem.criteria))
        assert policy.rounds == t + 1
        assert problem.domain.contains(policy.ask())
    for state in late:
        policy.tell(rng.standard_normal(problem.criteria), played=state)
    assert policy.rounds == 24
    assert not policy.learner.pending


@pytest.mark.parametrize("name", POLICIES)
def test_a_snapshot_goes_on_bit_for_bit_with_pending_rounds(name: str) -> None:
    problem = PROBLEMS["scopes, levels and weights"]()
    policy = POLICIES[name](problem, start_of(problem), 1)
    rng = np.random.default_rng(2)
    first = policy.ask()
    policy.tell(None, count=2)
    for _ in range(9):
        policy.tell(rng.standard_normal(problem.criteria))
    policy.tell(None)
    again = tt.restore(problem, policy.snapshot())
    assert entries(again.learner.pending) == entries(policy.learner.pending) != []
    for t in range(12):
        losses = rng.standard_normal(problem.criteria)
        for each in (policy, again):
            each.tell(losses, played=first if t == 3 else None)
            if t % 5 == 0:
                each.tell(None)
        np.testing.assert_array_equal(policy.ask(), again.ask())
    assert same(policy.snapshot(), again.snapshot())


# What is refused.


@pytest.mark.parametrize(
    ("losses", "options", "message"),
    [
        (None, {"played": [2.0] * len(HERE)}, "played"),
        (None, {"count": 0}, "count"),
        (None, {"count": [1, 1]}, "count"),
        (None, {"count": 1.5}, "count"),
        ([0.1, 0.2], {"played": HERE, "count": 0}, r"count\[0\] = 0 is below 1"),
        ([0.1, NAN], {"played": HERE, "count": [0, 0]}, r"count\[0\] = 0 is below 1"),
        ([0.1, NAN], {"count": [1, -1]}, r"count\[1\] = -1"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(
    losses: Any, options: dict[str, Any], message: str
) -> None:
    policy = two_criteria()
    policy.tell([0.1, 0.2])
    policy.tell(None)
    before = policy.snapshot()
    with pytest.raises(tt.InvalidInput, match=message):
        policy.tell(losses, **options)
    assert same(policy.snapshot(), before)


def test_a_move_has_to_pay_within_as_many_rounds_as_were_answered() -> None:
    policy, rng = two_criteria(), np.random.default_rng(0)
    for _ in range(20):
        policy.tell(None)
    record, answered = None, 0
    while record is None and answered < 10:
        policy.tell(None)
        answered += 1
        record = policy.tell(0.1 * rng.standard_normal(2), played=HERE).record
    assert record is not None
    assert record.round == 20 + answered
    assert record.rounds <= answered
