"""Pooled criteria in use: gaps, counts, unknown noise, jumps, snapshots and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.policies.test_conformance import drive, same
from tests.policies.test_pooling import SIGMAS, kinds, pooled_of, twins, world_of
from trimtab.arrays import Array, Ints
from trimtab.learn.confidence import BoundConfidence
from trimtab.policies.pooled.pools import Pools, alike

# What goes in


def statistics(policy: tt.PooledGraphLinUCB) -> dict[str, Array]:
    """What the groups have learned, everything flushed."""
    policy.learner.absorb(policy.learner.problem.all_criteria)
    stats = policy.learner.estimators.stats
    return {name: getattr(stats, name).copy() for name in ("R", "seen", "pure_error", "pure_df")}


def test_a_group_learns_from_a_round_only_if_all_its_members_were_seen() -> None:
    world = world_of(twins(), 1, tt.worlds.Gaussian(SIGMAS))
    policy = pooled_of(world, cold_start="keep", review=False, factor=1e9)
    policy.tell([1.0, 2.0, 3.0, 4.0, np.nan, 6.0])
    policy.tell([np.nan, 2.0, 3.0, np.nan, 5.0, 6.0], count=4)
    policy.tell([np.nan, 2.0, np.nan, np.nan, np.nan, 6.0], count=[1, 7, 1, 1, 1, 3])
    assert policy.rounds == 1 + 4 + 7  # although the last of them has taught nothing
    assert policy.certificate.bound == pytest.approx(12 * policy.learner.bound_per_round)
    assert statistics(policy)["seen"].tolist() == [1, 4, 1]


def test_different_counts_in_a_group_count_for_the_smallest() -> None:
    world = world_of(twins(), 1, tt.worlds.Gaussian(SIGMAS))
    options: dict[str, Any] = {"cold_start": "keep", "review": False, "factor": 1e9}
    mixed, least = (pooled_of(world, **options) for _ in range(2))
    for t in range(1, 20):
        y = world.draw(mixed.ask(), np.random.default_rng(t))
        away = [0.25, 0.75, 1.0] if t % 3 == 0 else None
        mixed.tell(y, played=away, count=[2, 5, 7, 3, 1 + t, 9])
        least.tell(y, played=away, count=[2, min(5, 1 + t), 2, 3, min(5, 1 + t), 2])
    left, right = statistics(mixed), statistics(least)
    for name, values in left.items():
        np.testing.assert_array_equal(values, right[name])
    assert mixed.rounds == sum(max(9, 1 + t) for t in range(1, 20) if t % 3)


def test_unknown_noise_is_that_of_the_sum_however_its_parts_depend() -> None:
    """The pure error of each group is that of its pooled losses; none is taken from sigma."""
    problem = twins()
    policy = pooled_of(
        world_of(problem, 1, tt.worlds.Correlated(0.3)),
        radius=tt.Confidence(sigma=None, norm=1.0),
    )
    rng, shares = np.random.default_rng(0), policy.pools.shares
    rows = rng.normal(size=(21, 6)) @ rng.normal(size=(6, 6))
    causes = [policy.tell(row).cause for row in rows]
    assert causes == ["none"] * 20 + ["trigger"]  # the start state stays for 21 rounds
    stats = policy.learner.estimators.stats
    for g, members in enumerate(policy.groups):
        y = rows[:, members] @ shares[members]
        assert stats.pure_error[g] == pytest.approx(((y - y.mean()) ** 2).sum())
    rule = policy.learner.lcb.radius
    assert isinstance(rule, BoundConfidence)
    assert rule.sigma is None
    before = policy.snapshot()
    with pytest.raises(tt.InvalidInput, match=r"count\[2\] = 3, and 2 for another.*same count"):
        policy.tell(rows[0], count=[2, 1, 3, 1, 1, 2])
    assert same(policy.snapshot(), before)
    policy.tell(np.where([0, 0, 1, 0, 0, 0], np.nan, rows[0]), count=[2, 1, 3, 1, 1, 2])  # unused


def test_the_naive_reduction_is_charged_for_rounds_without_a_total() -> None:
    policy = tt.ScalarLinUCB(twins(), start=[0.5] * 3, radius=0.5)
    for losses, count in (([np.nan] + [1.0] * 5, 5), ([1.0] * 6, [2, 3, 4, 2, 9, 2])):
        before, rate = policy.certificate.bound, policy.learner.bound_per_round
        policy.tell(losses, count=count)
        assert policy.certificate.bound == pytest.approx(before + np.max(count) * rate)
    assert policy.rounds == 14
    assert policy.learner.estimators.stats.seen[0] == 2


# Jumps


@kinds
@pytest.mark.parametrize("sigma", [0.3, None])
def test_recorded_noise_with_gaps_is_played_as_round_by_round(
    kind: str, sigma: float | None
) -> None:
    rng = np.random.default_rng(2)
    table = 0.3 * rng.normal(size=(400, 6))
    table[rng.random(table.shape) < 0.15] = np.nan
    world = world_of(twins(), 5, tt.worlds.Recorded(table))
    radius = tt.Confidence(sigma=sigma, norm=world.norms)
    policies = [pooled_of(world, kind, radius=radius, reg=0.2) for _ in range(2)]
    by_rounds = tt.play(policies[0], world, horizon=400, path="rounds")
    by_events = tt.play(policies[1], world, horizon=400, path="events")
    assert same(policies[0].snapshot(), policies[1].snapshot())
    named = by_rounds.attributions
    np.testing.assert_array_equal(named, by_events.attributions)
    assert by_rounds.solves > 5
    assert named[0] == named[2] == named[5]


def test_sums_of_many_rounds_have_the_noise_of_the_group() -> None:
    """2,000 means of 50 rounds: the variance within 6 deviations, the squares on average too.

    The variance of 2,000 normal draws has a relative deviation of 0.032: a false alarm in
    three groups has probability 1e-8; the squares vary less.
    """
    world = world_of(twins(), 5, tt.worlds.Gaussian(SIGMAS))
    pools = Pools(world.problem, alike(world.problem, np.ones(6)))
    rng = np.random.default_rng(9)

    def owed(criteria: Ints, n: Ints) -> tuple[Array, Array]:
        return tt.worlds.Gaussian(SIGMAS).sums(rng, criteria, n)

    groups = np.array([2, 0, 1])
    found = [pools.owed(owed)(groups, np.array([50, 50, 20])) for _ in range(2000)]
    means, squares = (np.array(x) for x in zip(*found, strict=True))
    sigma2 = pools.scale(SIGMAS, "independent")[groups] ** 2
    np.testing.assert_allclose(means.var(axis=0) * [50, 50, 20], sigma2, rtol=6 * 0.032)
    np.testing.assert_allclose(squares.mean(axis=0) / [49, 49, 19], sigma2, rtol=0.05)


@kinds
def test_a_long_run_costs_its_looks(kind: str) -> None:
    world = world_of(twins(), 5, tt.worlds.Gaussian(SIGMAS))
    policy = pooled_of(world, kind)
    trace = tt.play(policy, world, horizon=10**8)
    assert policy.rounds == 10**8
    assert 10 < trace.solves < 1000
    assert trace.attributions[0] == trace.attributions[2] == trace.attributions[5] > 0
    assert trace.regret < policy.certificate.bound


def test_unknown_noise_is_played_round_by_round() -> None:
    """Jumps are single rounds: the sums of squares of a pooled loss are those of its rounds."""
    world = world_of(twins(), 5, tt.worlds.Gaussian(SIGMAS))
    policy = pooled_of(world, radius=tt.Confidence(sigma=None, norm=world.norms))
    tt.play(policy, world, horizon=3000)
    found, seen = statistics(policy), policy.pools.scale(SIGMAS, "independent")
    # 3,000 degrees less one per state: within 6 deviations of sqrt(2 / 2,800), 1e-8 for all.
    assert (found["pure_df"] > 2800).all()
    np.testing.assert_allclose(found["pure_error"] / found["pure_df"], seen**2, rtol=0.16)
    with pytest.raises(tt.InvalidInput, match="one at a time"):
        policy.skip(2, lambda criteria, n: (np.zeros(criteria.size), np.zeros(criteria.size)))


# Memory and bad input


@kinds
def test_interrupted_and_restored(kind: str, tmp_path: Path) -> None:
    world = world_of(twins(move_cost=0.3), 5, tt.worlds.Gaussian(SIGMAS))
    policy = pooled_of(world, kind, reg=[1.0, 0.5, 1.0, 0.5, 2.0, 1.0])
    assert policy.groups == [[0, 2, 5], [1], [3], [4]]
    assert policy.learner.estimators.reg.tolist() == [1.0, 0.5, 0.5, 2.0]
    drive(policy, 33, 1)
    policy.place([0.25, 0.25, 1.0])
    drive(policy, 5, 2)
    tt.save(policy, tmp_path / "policy")
    again = tt.load(world.problem, tmp_path / "policy")
    assert isinstance(again, tt.PooledGraphLinUCB)
    assert again.groups == policy.groups
    assert same(again.snapshot(), policy.snapshot())
    for left, right in zip(drive(policy, 30, 3), drive(again, 30, 3), strict=True):
        np.testing.assert_array_equal(left[0], right[0])
        assert left[1:] == right[1:]
    runs = [tt.play(p, world, horizon=10**4, seed=1) for p in (policy, again)]
    np.testing.assert_array_equal(runs[0].states, runs[1].states)
    assert same(again.snapshot(), policy.snapshot())


@pytest.mark.parametrize(
    ("message", "entries"),
    [
        ("group is missing", None),
        ("group has shape", {"group": np.zeros(5, np.int64)}),
        ("does not number groups", {"group": np.array([0, 1, 0, 3, 1, 0])}),
        ("does not number groups", {"group": np.array([0, -1, 0, 2, 1, 0])}),
        ("does not number groups", {"group": np.array([0, 1, 0, np.nan, 1, 0])}),
        ("another problem", {"group": np.array([0, 0, 0, 1, 1, 1])}),
        ("clock is missing", {"inner.clock": None}),
    ],
)
def test_damaged_snapshots(message: str, entries: dict[str, Any] | None) -> None:
    policy = pooled_of(world_of(twins(), 5, tt.worlds.Gaussian(SIGMAS)))
    saved = policy.snapshot() | ({"group": None} if entries is None else entries)
    saved = {name: x for name, x in saved.items() if x is not None}
    with pytest.raises(tt.InvalidInput, match=message):
        tt.restore(policy.problem, saved)


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("noise = 'white'", {"noise": "white"}),
        ("then = .*LinUCB", {"then": tt.LinUCB}),
        ("then = .*Adaptive", {"then": tt.AdaptiveGraphLinUCB}),
        ("then = .*Pooled", {"then": tt.PooledGraphLinUCB}),
        ("then = JointLazyGraphLinUCB does not", {"then": tt.JointLazyGraphLinUCB, "radius": 0.5}),
        ("then = 'steady'", {"then": "steady"}),
        (r"reg\[1\]", {"reg": [1.0, 0.0, 1.0, 1.0, 1.0, 1.0]}),
        ("reg", {"reg": [1.0, 1.0, 1.0]}),
        ("sigma", {"radius": tt.Confidence(sigma=[0.1] * 3, norm=1.0)}),
        ("radius", {"radius": [0.1] * 3}),
        (r"start\[0\]", {"start": [2.0, 0.0, 0.0]}),
        ("factor", {"factor": 0.5}),
    ],
)
def test_bad_options(message: str, options: dict[str, Any]) -> None:
    world = world_of(twins(), 5, tt.worlds.Gaussian(SIGMAS))
    with pytest.raises(tt.InvalidInput, match=message):
        tt.PooledGraphLinUCB(
            world.problem,
            **{"start": [0.5] * 3, "noise": "independent"}
            | {"radius": tt.Confidence(sigma=SIGMAS, norm=world.norms)}
            | options,
        )


def test_the_graph_of_groups_cannot_be_learned() -> None:
    with pytest.raises(tt.InvalidInput, match=r"then = .*Pooled"):
        tt.AdaptiveGraphLinUCB(
            twins(),
            start=[0.5] * 3,
            radius=0.5,
            gamma=1.0,
            then=tt.PooledGraphLinUCB,
            noise="independent",
        )
