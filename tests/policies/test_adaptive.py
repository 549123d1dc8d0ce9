"""Adaptive graph refinement: the graph is found, at the price that was promised, and used."""

from __future__ import annotations

from itertools import pairwise
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.policies.test_conformance import drive, same
from trimtab.arrays import Array
from trimtab.learn.sparsity_test import EXCLUDED, INCLUDED, UNDECIDED
from trimtab.model.bases import Linear, PairwiseQuadratic, Quadratic
from trimtab.policies import LazyPolicy
from trimtab.policies.adaptive.design import optimal_states
from trimtab.policies.adaptive.refit import delta_share
from trimtab.sim.worlds import SparseWorld

TEN = tt.Problem(tt.Graph.complete(10), basis=PairwiseQuadratic())


@pytest.fixture(scope="module")
def design() -> Array:
    """The states of every warm-up on ten knobs."""
    return optimal_states(TEN)


def world_of(seed: int, knobs: int = 10, **more: Any) -> SparseWorld:
    options = {"degree": 3, "gamma": 0.3, "products_only": True} | more
    return tt.worlds.sparse(knobs, seed=seed, **options)


def options_of(world: tt.worlds.World, delta: float = 0.05) -> dict[str, Any]:
    radius = tt.Confidence(sigma=0.3, norm=world.norms, delta=delta)
    start = np.full(world.problem.knobs, 0.5)
    return {"start": start, "radius": radius, "reg": radius.balanced_reg}


def adaptive(world: SparseWorld, **more: Any) -> tt.AdaptiveGraphLinUCB:
    return tt.AdaptiveGraphLinUCB(world.problem, **({"gamma": 0.3} | options_of(world) | more))


def wrong(policy: tt.AdaptiveGraphLinUCB, world: SparseWorld) -> int:
    """Edges decided against the truth."""
    absent, decision = world.sizes < 1e-9, policy.edges.decision
    return int(((decision == INCLUDED) & absent).sum() + ((decision == EXCLUDED) & ~absent).sum())


# The graph is found


@pytest.mark.parametrize("seed", range(10))
def test_the_exact_graph_of_ten_knobs(seed: int, design: Array) -> None:
    """Within 1.2 times 4 beta^2 / (kappa gamma^2) rounds, where signals are in products alone.

    On the good event every edge is decided and rightly so: a failure has probability 0.05 at
    most for each seed, in truth far less.
    """
    world = world_of(seed)
    policy = adaptive(world, design=design)
    trace = tt.play(policy, world, horizon=policy.warmup.length, seed=seed)
    assert policy.graph == world.truth
    assert wrong(policy, world) == 0
    rounds, edges = int(policy.edges.round.max()), policy.edges
    beta = float(np.sqrt(edges.threshold[edges.decision != 3].max()))
    kappa = tt.theory.kappa(world.problem, design)
    assert 42 < rounds <= 1.2 * tt.theory.warmup_rounds(beta, kappa=kappa, gamma=0.3)
    assert policy.warmup.length <= 1.2 * tt.theory.warmup_rounds(beta, kappa=kappa, gamma=0.3)
    assert trace.movement_at([rounds])[0] < 250.0


@pytest.mark.parametrize("then", [tt.AsyncLazyGraphLinUCB, tt.SteadyGraphLinUCB])
def test_other_policies_go_on(then: type[LazyPolicy]) -> None:
    """With squares and products among all knobs, a directed truth, and a price of movement."""
    ring = tt.Graph.from_edges(6, [(j, (j + 1) % 6) for j in range(6)])
    world = world_of(3, knobs=6, degree=1, within=ring, basis=Quadratic(), move_cost=2.0)
    assert not world.truth.is_undirected
    policy = adaptive(world, then=then)
    trace = tt.play(policy, world, horizon=20_000)
    assert isinstance(policy.inner, then)
    assert policy.graph == world.truth
    assert trace.solves > 20
    assert all(record.information >= 0.0 for record in trace.records)
    assert policy.certificate.bound >= trace.regret


@pytest.mark.slow
def test_no_false_inclusion_where_nothing_is_read() -> None:
    """40 worlds without any dependency, delta = 0.5: at most 1/4 may include any edge.

    If the level were attained, 20 of 40 or more would have probability 6e-4.
    """
    false = undecided = 0
    states = optimal_states(world_of(0, knobs=3, degree=0).problem)
    for seed in range(40):
        world = world_of(seed, knobs=3, degree=0)
        radius = options_of(world, delta=0.5)["radius"]
        policy = adaptive(world, warmup=60, radius=radius, design=states)
        tt.play(policy, world, horizon=60, seed=seed)
        false += int((policy.edges.decision == INCLUDED).any())
        undecided += int(policy.edges.open.any())
    assert false < 20
    assert undecided < 40


@pytest.mark.slow
def test_ellipsoids_hold_on_the_learned_graph() -> None:
    """25 worlds, delta = 0.5: all true parameters are within their radius after the refinement.

    Failures have probability 1/2 at most; 22 of 25 would have probability 8e-5.
    """
    failed = refined = 0
    states = optimal_states(world_of(0, knobs=4, degree=1).problem)
    for seed in range(25):
        world = world_of(seed, knobs=4, degree=1)
        policy = adaptive(world, radius=options_of(world, delta=0.5)["radius"], design=states)
        tt.play(policy, world, horizon=2_000, seed=seed)
        refined += policy.graph == world.truth
        if policy.graph != world.truth:
            failed += 1
            continue
        known, estimators = world.known(), policy.learner.estimators
        parts = np.split(known.theta, known.problem.features.offsets[1:-1])
        for i, theta in enumerate(parts):
            off = estimators.theta(i) - theta
            failed += bool(off @ estimators.V(i) @ off > policy.learner.lcb.radii[i] ** 2)
    assert refined > 20
    assert failed < 22


def test_delta_suffices_for_all_scopes_that_may_be_learned() -> None:
    """The shares of all scopes with e needless knobs, at most those of e undecided, are <= 1/2."""
    world = world_of(0, knobs=4, degree=1)
    for n in range(1, 30):
        assert sum(comb(n, e) * 0.25 * (2 * n) ** -e for e in range(n + 1)) <= 0.5
    policy = adaptive(world)
    assert policy.learner.lcb.radius.delta == 0.025  # type: ignore[attr-defined]
    assert delta_share(policy.edges) == 0.5  # nothing is excluded
    policy.edges.decision[[1, 2, 3]] = INCLUDED, EXCLUDED, EXCLUDED
    assert delta_share(policy.edges) == 0.25
    policy.edges.decision[[1, 2, 3]] = UNDECIDED, EXCLUDED, UNDECIDED
    assert delta_share(policy.edges) == 0.25 / 6**2


# Its price


def test_movement_is_independent_of_the_length(design: Array) -> None:
    world = world_of(1)
    moved = []
    for gamma in (0.3, 0.1, 0.03):
        policy = adaptive(world, gamma=gamma, design=design, laps=1)
        rounds = policy.warmup.length
        trace = tt.play(policy, world, horizon=rounds)
        assert not policy.warming
        moved.append((rounds, float(trace.movement_at([rounds])[0])))
        way = np.vstack((np.full(10, 0.5), policy.warmup.states))  # the first move counts
        assert moved[-1][1] == pytest.approx(np.abs(np.diff(way, axis=0)).sum())
    assert moved[2][0] > 100 * moved[0][0]
    assert len({movement for _, movement in moved}) == 1
    uniform = adaptive(world, design="iid", warmup=300)
    trace = tt.play(uniform, world, horizon=300)
    assert trace.movement_at([300])[0] == pytest.approx(300 * 10 / 3, rel=0.1)  # 6 sigma


def test_laps_go_there_and_back() -> None:
    policy = adaptive(world_of(0, knobs=4, degree=1))
    plan, J = policy.warmup, len(policy.warmup.states)
    visited = [plan.block(b) for b in range(plan.blocks)]
    np.testing.assert_array_equal(visited[J][0], visited[J - 1][0])
    counts: dict[bytes, int] = {}
    for state, rounds in visited:
        counts[state.tobytes()] = counts.get(state.tobytes(), 0) + rounds
    assert len(set(counts.values())) == 1 or len(counts) < J
    assert sum(rounds for _, rounds in visited) == plan.length
    ends = [b for b in range(1, plan.blocks + 1) if plan.ends_lap(b)]
    assert ends == [J * (n + 1) for n in range(plan.rounds.size)]


@pytest.mark.slow
def test_regret_after_the_warm_up_is_that_of_knowing_the_graph(design: Array) -> None:
    """Two worlds, 30,000 rounds: within 20 % together, and the warm-up has paid for itself."""
    after, known, total, dense = np.zeros((4, 2))
    for seed in range(2):
        world = world_of(seed)
        policy = adaptive(world, design=design)
        trace = tt.play(policy, world, horizon=30_000, seed=seed)
        rounds = int(policy.edges.round.max())
        after[seed], total[seed] = trace.regret - trace.regret_at([rounds])[0], trace.regret
        for w, regrets in ((world.known(), known), (world, dense)):
            lazy = tt.LazyGraphLinUCB(w.problem, **options_of(w))
            regrets[seed] = tt.play(lazy, w, horizon=30_000, seed=seed).regret
    assert after.sum() <= 1.2 * known.sum()
    assert total.sum() <= 0.6 * dense.sum()


def test_weak_signals_keep_the_super_graph(design: Array) -> None:
    world = world_of(2, gamma=0.01)
    policy = adaptive(world, gamma=0.01, design=design, warmup=500)
    tt.play(policy, world, horizon=600)
    assert not policy.warming
    assert policy.graph == world.problem.graph
    assert (policy.edges.counts(UNDECIDED) == 9).all()


@pytest.mark.parametrize("then", [tt.LazyGraphLinUCB, tt.SteadyGraphLinUCB])
def test_undecided_edges_are_decided_later(then: type[LazyPolicy]) -> None:
    """After a short warm-up edges stay; what is seen later decides them, never wrongly."""
    world = world_of(5, knobs=5, degree=2)
    policy = adaptive(world, warmup=55, then=then)
    tt.play(policy, world, horizon=policy.warmup.length)
    assert not policy.warming
    early = int(policy.edges.open.sum())
    rng, learned = np.random.default_rng(1), [policy.graph]
    assert early > 0
    for x in policy.warmup.states.tolist() * 4:  # somebody else tries other states
        policy.tell(world.mean(np.array(x)) + 0.1 * rng.normal(size=5), played=x, count=9)
        told = policy.tell(world.draw(policy.ask(), rng))
        assert told.record is None or told.record.information >= 0.0
        learned.append(policy.graph)
    tt.play(policy, world, horizon=10**4)
    assert policy.graph == world.truth
    assert wrong(policy, world) == 0
    sizes = [graph.scope_knobs.size for graph in learned]
    assert all(a >= b for a, b in pairwise(sizes))
    assert policy.edges.open.sum() < early


# What it reduces to


def test_without_a_warm_up_it_is_the_inner_policy() -> None:
    world = world_of(1, knobs=4, degree=1)
    for then in (tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB, tt.SteadyGraphLinUCB):
        policy = adaptive(world, warmup=0, then=then, factor=1.5)
        plain = then(world.problem, factor=1.5, **options_of(world))
        for left, right in zip(drive(policy, 60, 3), drive(plain, 60, 3), strict=True):
            np.testing.assert_array_equal(left[0], right[0])
            assert left[1:] == right[1:]
        assert same(policy.inner.snapshot(), plain.snapshot())


@pytest.mark.parametrize(
    "radius", [0.5, tt.Confidence(sigma=0.3, norm=2.0)], ids=["number", "level"]
)
def test_if_every_edge_is_included_it_is_the_inner_policy_on_the_same_data(radius: Any) -> None:
    """The plain policy is led through the same states, with the half of delta left to it."""
    world = world_of(4, knobs=3, degree=2, gamma=3.0)
    assert world.truth == world.problem.graph
    start = np.full(3, 0.5)
    policy = tt.AdaptiveGraphLinUCB(world.problem, start=start, radius=radius, gamma=2.0)
    if isinstance(radius, tt.Confidence):
        radius = tt.Confidence(sigma=0.3, norm=2.0, delta=0.025)
    plain = tt.LazyGraphLinUCB(world.problem, start=start, radius=radius, cold_start="keep")
    rng = np.random.default_rng(0)
    while policy.warming:
        plain.place(policy.ask())
        losses = world.draw(policy.ask(), rng)
        plain.learner.observe(losses, played=None, count=1)
        policy.tell(losses)
    assert (policy.edges.counts(INCLUDED) == 2).all()
    plain._solve_globally()
    for left, right in zip(drive(policy, 80, 5), drive(plain, 80, 5), strict=True):
        np.testing.assert_array_equal(left[0], right[0])
        assert left[1:] == right[1:]
    np.testing.assert_array_equal(
        policy.learner.estimators.stats.R, plain.learner.estimators.stats.R
    )


# Odd problems and odd input


def test_blocks_of_a_ball_stand_or_fall_together() -> None:
    blocks = [[0, 1], [2, 3], [4, 5]]
    graph = tt.Graph.from_scopes([[0, 1, 2, 3], [2, 3, 4, 5]], knobs=6, centres=[0, 5])
    problem = tt.Problem(graph, basis=Linear(), domain=tt.Balls(blocks))
    theta = [[1.0, -1.0, 0.0, 0.0], [0.0, 1.5, 0.5, 0.5]]
    world = tt.worlds.World(problem, theta=theta, noise=tt.worlds.Gaussian(0.1))
    radius = tt.Confidence(sigma=0.1, norm=2.0)
    policy = tt.AdaptiveGraphLinUCB(problem, start=np.zeros(6), radius=radius, gamma=0.2)
    decided = [edge.decision for edge in policy.edges]
    assert decided == ["fixed"] * 2 + ["undecided"] * 4 + ["fixed"] * 2
    tt.play(policy, world, horizon=3_000)
    assert policy.graph.scope(0).tolist() == [0, 1]
    assert policy.graph.scope(1).tolist() == [2, 3, 4, 5]


def test_levels_and_scopes_without_centres() -> None:
    domain = tt.Box(levels={0: [0.0, 1.0], 2: [0.0, 0.5, 1.0]})
    problem = tt.Problem(
        tt.Graph.from_scopes([[0, 1, 2], [2, 3]], knobs=4),
        basis=tt.bases.Quadratic(),
        domain=domain,
    )
    theta = [np.zeros(10), np.zeros(6)]
    theta[0][2], theta[1][1] = 8.0, 8.0  # s_1 and s_2
    world = tt.worlds.World(problem, theta=theta, noise=tt.worlds.Gaussian(0.1))
    radius = tt.Confidence(sigma=0.1, norm=8.0)
    policy = tt.AdaptiveGraphLinUCB(
        problem, start=np.zeros(4), radius=radius, gamma=0.3, reg=radius.balanced_reg
    )
    tt.play(policy, world, horizon=5_000)
    assert [policy.graph.scope(i).tolist() for i in range(2)] == [[1], [2]]


def test_jumps_through_the_warm_up_equal_rounds() -> None:
    """With recorded noise and gaps the jumps are the same run, warm-up and afterwards."""
    world = world_of(6, knobs=4, degree=1)
    rng = np.random.default_rng(2)
    table = 0.3 * rng.normal(size=(1_500, 4))
    table[rng.random(table.shape) < 0.1] = np.nan
    theta = np.split(world.theta, world.problem.features.offsets[1:-1])
    replay = tt.worlds.World(world.problem, theta=theta, noise=tt.worlds.Recorded(table))
    for more in ({}, {"design": "iid", "warmup": 200}, {"then": tt.SteadyGraphLinUCB}):
        one, two = adaptive(world, **more), adaptive(world, **more)
        left = tt.play(one, replay, horizon=1_500, path="rounds")
        right = tt.play(two, replay, horizon=1_500, path="events")
        assert not one.warming
        np.testing.assert_array_equal(left.ends, right.ends)
        np.testing.assert_allclose(left.states, right.states, atol=1e-9)
        np.testing.assert_array_equal(one.edges.decision, two.edges.decision)


@pytest.mark.parametrize("rounds", [5, 400])
def test_saved_in_the_middle(rounds: int, tmp_path: Path) -> None:
    world = world_of(7, knobs=4, degree=1)
    policy = adaptive(world)
    tt.play(policy, world, horizon=rounds)
    assert policy.warming == (rounds == 5)
    tt.save(policy, tmp_path / "policy")
    again = tt.load(world.problem, tmp_path / "policy")
    assert isinstance(again, tt.AdaptiveGraphLinUCB)
    assert str(again.edges) == str(policy.edges)
    left, right = (tt.play(p, world, horizon=2_000, seed=3) for p in (policy, again))
    np.testing.assert_array_equal(left.states, right.states)
    assert same(policy.snapshot(), again.snapshot())


def test_damaged_snapshots_of_adaptive() -> None:
    world = world_of(7, knobs=4, degree=1)
    saved = adaptive(world).snapshot()
    for name in ("gamma", "edges.decision", "warmup.states", "_until", "inner.R", "inner.format"):
        with pytest.raises(tt.InvalidInput, match="snapshot"):
            tt.restore(world.problem, {key: x for key, x in saved.items() if key != name})
    for name in ("gamma", "edges.decision", "warmup.states", "inner.R"):
        with pytest.raises(tt.InvalidInput, match="damaged"):
            tt.restore(world.problem, saved | {name: np.zeros(3)})


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("gamma", {"gamma": 0.0}),
        (r"gamma\[1\]", {"gamma": [0.3, -1.0, 0.3, 0.3]}),
        ("warmup", {"warmup": -1}),
        ("laps", {"laps": 0}),
        ("design", {"design": "best"}),
        ("design has shape", {"design": [0.5] * 4}),
        (r"design\[1\]\[2\]", {"design": [[0.5] * 4, [0.5, 0.5, 1.5, 0.5]]}),
        ("then", {"then": tt.LinUCB}),
        ("then", {"then": "lazy"}),
        ("then", {"then": tt.AdaptiveGraphLinUCB}),
        ("sigma", {"radius": tt.Confidence(sigma=None, norm=1.0)}),
        ("too small", {"gamma": 1e-9}),
        ("factor", {"factor": 0.5}),
    ],
)
def test_bad_options_of_adaptive(message: str, options: dict[str, Any]) -> None:
    with pytest.raises(tt.InvalidInput, match=message):
        adaptive(world_of(0, knobs=4, degree=1), **options)


def test_a_policy_that_does_not_learn_by_criterion_is_refused() -> None:
    world = world_of(0, knobs=4, degree=1, basis=Quadratic())
    with pytest.raises(tt.InvalidInput, match="criterion by criterion"):
        adaptive(world, then=tt.JointLazyGraphLinUCB, factor_norm=1.0)


def test_bases_without_owners_are_refused_unless_nothing_is_to_be_learned() -> None:
    problem = tt.Problem(tt.Graph.complete(2), basis=tt.bases.FourierFeatures(8))
    options: dict[str, Any] = {"start": [0.5, 0.5], "radius": 0.5, "gamma": 0.3}
    with pytest.raises(tt.InvalidInput, match="monomials"):
        tt.AdaptiveGraphLinUCB(problem, **options)
    assert not tt.AdaptiveGraphLinUCB(problem, warmup=0, **options).warming
    alone = tt.Problem(tt.Graph.cliques([1, 1]), basis=tt.bases.FourierFeatures(8))
    assert not tt.AdaptiveGraphLinUCB(alone, **options).warming


# Its worlds


@pytest.mark.parametrize("basis", [PairwiseQuadratic(), Quadratic()], ids=["pairwise", "quadratic"])
@pytest.mark.parametrize("products_only", [True, False])
def test_sparse_worlds(basis: Any, products_only: bool) -> None:
    world = world_of(3, knobs=6, degree=2, basis=basis, products_only=products_only)
    graph, rng = world.problem.graph, np.random.default_rng(0)
    known = world.known()
    assert known.problem.graph == world.truth
    assert (np.diff(world.truth.scope_offsets) == 3).all()
    for _ in range(20):
        s = rng.random(6)
        np.testing.assert_allclose(world.mean(s), known.mean(s), rtol=1e-12)
    others = graph.scope_rows() != graph.scope_knobs
    edges = [j in world.truth.scope(i) for i in range(6) for j in graph.scope(i)]
    present = np.array(edges) & others
    assert (world.sizes[present] >= 0.3 - 1e-12).all()
    assert (world.sizes[present] <= 0.45 + 1e-12).all()
    assert (world.sizes[~np.array(edges)] == 0.0).all()
    s = rng.random(6)
    for i, j in zip(graph.scope_rows()[present], graph.scope_knobs[present], strict=True):
        s[i] = 0.0
        moved = s.copy()
        moved[j] = 1.0 - moved[j]
        change = abs(world.mean(moved)[i] - world.mean(s)[i])
        assert (change < 1e-12) == products_only  # s_i s_j does nothing where s_i = 0


def test_sparse_worlds_refuse_what_they_cannot_be() -> None:
    for options in ({"degree": 5}, {"within": tt.Graph.complete(4)}, {"basis": Linear()}):
        with pytest.raises(tt.InvalidInput):
            world_of(0, **({"knobs": 5, "degree": 2} | options))
    star = tt.Graph.from_edges(4, [(0, 1), (0, 2), (0, 3)])
    with pytest.raises(tt.InvalidInput, match="degree"):
        world_of(0, knobs=4, degree=2, within=star)
