"""Rounds in which nothing is learned after a move are a price of the move."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array, Ints
from trimtab.policies.weighing import BLIND, MOST_BLIND

RING = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
WORLD = tt.worlds.quadratic(RING, seed=3, move_cost=0.5)
ROUNDS = 120


def played(settling: Ints | None) -> tuple[Array, list[tt.policies.Told]]:
    """The states of all rounds, and what was said at every look."""
    policy = tt.SteadyGraphLinUCB(WORLD.problem, start=[0.5] * 4)
    policy.settling(settling)
    rng, states, looks = np.random.default_rng(0), [], []
    for _ in range(ROUNDS):
        states.append(policy.ask())
        told = policy.tell(WORLD.draw(policy.ask(), rng))
        if told.record is not None:
            looks.append(told)
    return np.array(states), looks


def test_without_settling_nothing_changes() -> None:
    free, _ = played(None)
    np.testing.assert_array_equal(played(np.zeros(4, np.int64))[0], free)
    assert (free != free[0]).any(axis=0).all()


def test_fewer_moves_where_knobs_settle_but_not_none() -> None:
    """However long they settle: who stays learns little that is new."""

    def moves(settling: int) -> int:
        states, _ = played(np.full(4, settling))
        return int((states[1:] != states[:-1]).any(axis=1).sum())

    assert moves(0) > moves(10) > 0
    assert moves(10**6) > 0


def test_a_knob_that_settles_for_long_moves_less_than_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trimtab.policies.weighing.MOST_BLIND", 1e9)
    states, looks = played(np.array([0, 0, 0, 10**6]))
    np.testing.assert_array_equal(states[:, 3], 0.5)
    assert (states[:, :3] != 0.5).any(axis=0).all()
    states, looks = played(np.full(4, 10**6))
    np.testing.assert_array_equal(states, 0.5)
    held = [told.record for told in looks if told.record is not None and told.record.gain > 0.0]
    assert held
    assert all(record.gain * record.rounds < record.price for record in held)


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_record_has_the_price_of_blind_rounds(rounds: int) -> None:
    """A width is what may be won by learning; rounds without it cost BLIND of it each."""
    policy = tt.SteadyGraphLinUCB(WORLD.problem, start=[0.5] * 4)
    rng, compared = np.random.default_rng(0), 0
    for _ in range(ROUNDS):
        other = tt.restore(WORLD.problem, policy.snapshot())
        other.settling(np.full(4, rounds))
        losses = WORLD.draw(policy.ask(), rng)
        free, priced = policy.tell(losses).record, other.tell(losses).record
        if free is None or priced is None or priced.held:
            continue
        np.testing.assert_array_equal(other.ask(), policy.ask())
        blind = min(BLIND * rounds, MOST_BLIND * priced.rounds)
        width = policy.learner.lcb.width(policy.ask())
        assert priced.price == pytest.approx(free.price + blind * width)
        assert priced.gain * priced.rounds >= priced.price
        compared += 1
    assert compared >= 3
