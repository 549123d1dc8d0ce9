"""The asynchronous policy by the paper's rules, and where its theorem fails."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab as tt
from trimtab import theory
from trimtab.sim.worlds import World


def ring(k: int) -> tt.Graph:
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


def test_only_the_scopes_of_triggering_criteria_move() -> None:
    """supp(s_t - s_{t-1}) lies in the union of the triggering scopes, with own clocks."""
    moved_knobs = partial = 0
    for seed in range(5):
        world = tt.worlds.quadratic(ring(8), seed=seed)
        policy = tt.AsyncLazyGraphLinUCB(
            world.problem,
            start=np.full(8, 0.5),
            radius=1.0,
            reg=np.linspace(0.1, 3.0, 8),
            cold_start="keep",
            review=False,
        )
        rng = np.random.default_rng(seed)
        for _ in range(500):
            before = policy.ask()
            since = policy.learner.estimators.stats.since.copy()
            told = policy.tell(world.draw(before, rng))
            changed = np.flatnonzero(policy.ask() != before)
            scopes = {int(j) for i in told.triggered for j in world.problem.graph.scope(int(i))}
            assert set(changed.tolist()) <= scopes
            after = policy.learner.estimators.stats.since
            assert (after[told.triggered] == 0.0).all()
            others = np.setdiff1d(np.arange(8), told.triggered)
            assert (after[others] >= since[others]).all()  # nobody else's clock is reset
            moved_knobs += changed.size
            partial += 0 < len(scopes) < 8
    assert moved_knobs > 50
    assert partial > 50


def test_local_update_minimises_all_affected_criteria() -> None:
    """Against a grid over the free knobs of the sum over every criterion that reads one."""
    world = tt.worlds.quadratic(ring(6), seed=4, basis=tt.bases.PairwiseQuadratic())
    policy = tt.AsyncLazyGraphLinUCB(
        world.problem, start=np.full(6, 0.5), radius=0.3, reg=np.linspace(0.5, 3.0, 6), review=False
    )
    rng = np.random.default_rng(0)
    axis = np.linspace(0.0, 1.0, 21)
    checked = 0
    while checked < 4:
        before = policy.ask()
        told = policy.tell(world.draw(before, rng))
        if told.triggered.size == 1 and policy.rounds > 20:
            free, affected = world.problem.graph.reach(told.triggered)
            lcb = policy.learner.lcb
            trial = before.copy()
            least = np.inf
            for point in np.stack(np.meshgrid(axis, axis, axis), -1).reshape(-1, 3):
                trial[free] = point
                least = min(least, lcb.value(trial, affected))
            width = lcb.terms(policy.ask(), affected)[1].sum()
            # A search from the present state is a heuristic: within a tenth of the width here.
            assert lcb.value(policy.ask(), affected) <= least + 0.1 * width
            assert lcb.value(policy.ask(), affected) <= lcb.value(before, affected) + 1e-9
            checked += 1


def test_async_theorem_part_a() -> None:
    """With varying features within an epoch of its own, S <= (C - 1) + L^2 / reg, for all i."""
    world = tt.worlds.quadratic(ring(6), seed=1, basis=tt.bases.PairwiseQuadratic())
    problem = world.problem
    reg = np.linspace(0.3, 2.0, 6)
    policy = tt.AsyncLazyGraphLinUCB(
        problem, start=np.full(6, 0.5), radius=1.0, reg=reg, review=False
    )
    rng = np.random.default_rng(2)
    V = [lam * np.eye(int(d)) for lam, d in zip(reg, problem.dims, strict=True)]
    V_tau = [x.copy() for x in V]
    spread = np.zeros(6)
    largest, varied = np.zeros(6), 0
    seen: list[set[tuple[float, ...]]] = [set() for _ in range(6)]
    for _ in range(3000):
        state = policy.ask()
        phi = np.split(problem.phi(state), problem.features.offsets[1:-1])
        told = policy.tell(world.draw(state, rng))
        for i in range(6):
            spread[i] += phi[i] @ np.linalg.solve(V_tau[i], phi[i])
            V[i] = V[i] + np.outer(phi[i], phi[i])
            seen[i].add(tuple(phi[i]))
        largest = np.maximum(largest, spread)
        for i in told.triggered:
            varied += len(seen[i]) > 1
            V_tau[i] = V[i].copy()
            spread[i] = 0.0
            seen[i] = set()
    assert (largest <= theory.epoch_spread(reg=reg) + 1e-9).all()
    assert varied > 20  # features did vary within epochs
    assert (largest > 1.0).all()


@pytest.mark.parametrize("k", [6, 12])
def test_async_theorem_part_c(k: int) -> None:
    """Movement is at most the sum over triggers of the sizes of their scopes."""
    for seed in range(3):
        world = tt.worlds.quadratic(ring(k), seed=seed, move_cost=0.5)
        policy = tt.AsyncLazyGraphLinUCB(
            world.problem, start=np.full(k, 0.5), radius=1.0, cold_start="keep", review=False
        )
        trace = tt.play(policy, world, horizon=10**5, seed=seed)
        sizes = np.diff(world.problem.graph.scope_offsets)
        bound = float(trace.attributions @ sizes)
        assert 0.0 < trace.movement <= bound <= sizes.max() * trace.attributions.sum()
        assert trace.move_cost <= 0.5 * bound
        gains = policy.learner.estimators.stats.gain
        assert (trace.attributions <= gains / np.log(2.0) + 1.0).all()


def test_async_of_one_criterion_is_sync() -> None:
    graph = tt.Graph.from_scopes([[0, 1, 2]], knobs=3)
    world = tt.worlds.quadratic(graph, seed=2)
    traces = [
        tt.play(
            kind(world.problem, start=np.full(3, 0.5), radius=0.5, review=False),
            world,
            horizon=300,
            path="rounds",
        )
        for kind in (tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB)
    ]
    np.testing.assert_array_equal(traces[0].ends, traces[1].ends)
    assert traces[0].solves > 10


def glass_policy(
    kind: type[tt.LazyGraphLinUCB | tt.AsyncLazyGraphLinUCB], world: World, seed: int, review: bool
) -> tt.LazyGraphLinUCB | tt.AsyncLazyGraphLinUCB:
    reg = np.random.default_rng((seed, 9)).uniform(1.0, 3.0, world.problem.criteria)
    return kind(
        world.problem,
        start=np.zeros(world.problem.knobs),
        radius=tt.Confidence(sigma=0.1, norm=1.5, delta=0.05),
        reg=reg,
        cold_start="solve",
        review=review,
    )


@pytest.mark.slow
def test_async_counterexample_has_linear_regret() -> None:
    """On the spin glass Async sticks: regret grows with T, while Algorithm 1's does not.

    Exact solves on both sides, a valid radius, 5 fixed seeds, of which some stay stuck at a loss
    of 0.08 to 0.1 a round.
    """
    late, early, sync = [], [], []
    for seed in range(5):
        world = tt.worlds.spin_glass(seed=seed)
        policy = glass_policy(tt.AsyncLazyGraphLinUCB, world, seed, review=False)
        early.append(tt.play(policy, world, horizon=10**5, seed=seed).regret)
        late.append(tt.play(policy, world, horizon=9 * 10**5, seed=seed + 100).regret)
        policy = glass_policy(tt.LazyGraphLinUCB, world, seed, review=False)
        sync.append(tt.play(policy, world, horizon=10**6, seed=seed).regret)
    stuck = np.array(late) > 5e-2 * 9 * 10**5
    assert stuck.sum() >= 2
    # Where it sticks, the regret per round stays what it was once the first rounds are over.
    assert (np.array(late)[stuck] / np.array(early)[stuck] > 7.0).all()
    assert max(sync) < 0.05 * np.array(late)[stuck].min()


@pytest.mark.slow
def test_review_frees_the_stuck_state() -> None:
    for seed in range(4):
        world = tt.worlds.spin_glass(seed=seed)
        policy = glass_policy(tt.AsyncLazyGraphLinUCB, world, seed, review=True)
        trace = tt.play(policy, world, horizon=10**6, seed=seed)
        assert trace.regret < 1e-3 * 10**6
        assert trace.reviews >= 5


STIFFNESS = [0.19, 0.25, 0.67, 0.86, 1.06, 1.11, 1.26, 1.28, 1.40, 1.61]
BEFOREHAND = [14.2, 15.2, 13.7, 13.2, 12.5, 12.5, 12.2, 12.0, 11.5, 11.5]


@pytest.mark.slow
def test_update_counts_on_cliques() -> None:
    """The paper's second experiment: ten circles, T = 1000, radius 0.5, sigma 0.5, 16 seeds.

    Measured beforehand with an independent program: the means in BEFOREHAND, whose sum is 128
    (published: 131). Counts of a clique have a standard deviation below 0.8 between
    seeds, which is asserted; means over 16 seeds, compared with means over as few as 20,
    then differ by more than 1.2 on any of ten cliques with probability below 1e-4.
    """
    blocks = [[2 * c, 2 * c + 1] for c in range(10)]
    graph = tt.Graph.from_scopes(blocks, knobs=20)
    problem = tt.Problem(graph, basis=tt.bases.Linear(normalize=False), domain=tt.Balls(blocks))
    counts, sync_updates = [], []
    for seed in range(16):
        rng = np.random.default_rng((seed, 5))
        raw = rng.normal(size=(10, 2))
        theta = list(raw / np.linalg.norm(raw, axis=1, keepdims=True))
        world = World(problem, theta=theta, noise=tt.worlds.Gaussian(0.5))
        policies = [
            kind(problem, start=np.zeros(20), radius=0.5, reg=STIFFNESS, review=False)
            for kind in (tt.AsyncLazyGraphLinUCB, tt.LazyGraphLinUCB)
        ]
        counts.append(tt.play(policies[0], world, horizon=1000, seed=seed).attributions)
        sync_updates.append(tt.play(policies[1], world, horizon=1000, seed=seed).solves)
    mean = np.mean(counts, axis=0)
    assert np.std(counts, axis=0).max() < 0.8
    np.testing.assert_allclose(mean, BEFOREHAND, rtol=0, atol=1.2)
    assert 125 <= mean.sum() <= 134
    assert 18 <= np.mean(sync_updates) <= 24  # Algorithm 1 as printed: about 21, not 41
