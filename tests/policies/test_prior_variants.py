"""What the policies around others, and the one of shared factors, make of the prior."""

from __future__ import annotations

from math import e
from typing import Any

import numpy as np
import pytest
from numpy.polynomial.legendre import legval
from scipy.stats import multivariate_normal

import trimtab as tt
from trimtab.arrays import Array
from trimtab.learn import NodewiseEstimators
from trimtab.learn import prior as priors
from trimtab.learn import sparsity_test as edge_tests
from trimtab.learn.joint import prior as joint_priors
from trimtab.learn.joint.model import Factors
from trimtab.learn.joint.noise import joint_noise
from trimtab.learn.sparsity_test import EXCLUDED, INCLUDED, Edges, posterior_radii
from trimtab.policies.adaptive.policy import LEAST_SIZE
from trimtab.policies.joint.learner import KAPPA
from trimtab.sim.worlds.joint import factored

RING = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])


def legendre(s: float, n: int) -> float:
    return float(np.sqrt(2 * n + 1) * legval(2.0 * s - 1.0, np.eye(n + 1)[n]))


# Pooled.


def test_pooled_is_the_policy_of_the_sums_with_a_prior_of_its_own() -> None:
    """Bit for bit the policy on the problem of the groups, told weighted means by hand."""
    w = np.array([1.0, 2.0, 0.5, 1.0, 1.0])
    graph = tt.Graph.cliques([3, 2])
    problem = tt.Problem(graph, weights=w, move_cost=0.3)
    pooled = tt.PooledGraphLinUCB(problem, start=[0.3] * 5)
    groups = tt.Graph.from_scopes([[0, 1, 2], [3, 4]], knobs=5, centres=[0, 3])
    sums = tt.Problem(groups, weights=[3.5, 2.0], move_cost=0.3)
    direct = tt.SteadyGraphLinUCB(sums, start=[0.3] * 5)
    world = tt.worlds.quadratic(graph, seed=3)
    rng = np.random.default_rng(1)
    for t in range(80):
        y = world.draw(pooled.ask(), rng, t)
        told = pooled.tell(y)
        means = pooled.pools.mean(y)
        np.testing.assert_allclose(means, [w[:3] @ y[:3] / 3.5, w[3:] @ y[3:] / 2.0], rtol=1e-12)
        same = direct.tell(means)
        assert (told.cause, told.moved) == (same.cause, same.moved)
        np.testing.assert_array_equal(pooled.ask(), direct.ask())
    assert pooled.learner.scales is not None
    assert pooled.learner.scales.sigma.size == 2


def test_pooled_learns_the_noise_of_the_sum_whatever_it_shares() -> None:
    problem = tt.Problem(tt.Graph.complete(4))
    for shared, expected in ((0.0, 0.1), (0.2, np.hypot(0.1, 0.2))):
        policy = tt.PooledGraphLinUCB(problem, start=[0.5] * 4)
        rng = np.random.default_rng(4)
        for _ in range(150):
            y = ((policy.ask() - 0.3) ** 2).sum() + shared * rng.standard_normal()
            policy.tell(y + 0.2 * rng.standard_normal(4))
        assert policy.learner.scales is not None
        assert policy.learner.scales.sigma[0] == pytest.approx(expected, rel=0.2)


def test_a_given_noise_is_pooled_only_if_it_is_said_how() -> None:
    problem = tt.Problem(tt.Graph.complete(2))
    with pytest.raises(tt.InvalidInput, match="noise is missing"):
        tt.PooledGraphLinUCB(problem, start=[0.5] * 2, radius=0.5)
    with pytest.raises(tt.InvalidInput, match="noise is missing"):
        tt.PooledGraphLinUCB(problem, start=[0.5] * 2, prior=tt.Prior(sigma=0.1))


# Adaptive.


def test_edges_are_decided_at_the_level_of_the_posterior() -> None:
    """Losses drawn from the prior, 60 worlds: what is excluded is smaller than gamma.

    At a level of 0.05 for all edges of a world three of 60 worlds may be wrong on average.
    """
    problem = tt.Problem(tt.Graph.from_scopes([[0, 1, 2, 3]], knobs=4), basis=tt.bases.Quadratic())
    bound = tt.Prior().bind(problem)
    d, gamma, wrong, decided = int(problem.dims[0]), np.array([0.1]), 0, np.zeros(4, np.int64)
    L = _root(bound.roots[bound.usual], d)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        theta = bound.mean + np.linalg.solve(L.T, rng.standard_normal(d))
        for knob in rng.choice(4, 2, replace=False):  # some are hardly read
            theta[problem.features.owned(0, int(knob))] *= 0.02
        found = NodewiseEstimators(
            problem, reg=np.ones(1), factor=2.0, state=np.full(4, 0.5), prior=bound
        )
        for state in rng.random((60, 4)):
            found.deploy(state, problem.all_criteria)
            found.add(problem.phi(state)[None] @ theta + 0.05 * rng.standard_normal(1))
            found.flush(problem.all_criteria)
        found.start_at(np.full(1, 0.05**2), np.full(1, 0.05), bound.usual)
        edges = Edges(problem)
        edges.test(found, posterior_radii(problem, edges, np.full(1, 0.05)), gamma, 60)
        map_ = edge_tests.orthonormal(problem, 0)
        for edge, decision in zip(edges, edges.decision, strict=True):
            G, C = edge_tests.group(problem, map_, 0, np.array([edge.knob]))
            size = np.linalg.norm(C.T @ theta[G])
            wrong += bool(decision == EXCLUDED and size >= gamma[0])
            decided[decision] += 1
    assert wrong <= 3
    assert decided[INCLUDED] > 60
    assert decided[EXCLUDED] > 60


def _root(roots: Array, d: int) -> Array:
    A = np.zeros((d + 1, d + 1))
    A[np.tril_indices(d + 1)] = roots[: (d + 1) * (d + 2) // 2]
    return A[:d, :d]


def test_the_radius_of_a_test_is_that_of_its_largest_group() -> None:
    problem = tt.Problem(tt.Graph.complete(3), basis=tt.bases.Quadratic())
    edges = Edges(problem)  # six of them are up for decision, with 4 features each
    radii = posterior_radii(problem, edges, np.array([1.0, 2.0, 3.0]))
    rng = np.random.default_rng(0)
    far = (rng.standard_normal((400_000, 4)) ** 2).sum(axis=1)
    assert (far > radii[0] ** 2).mean() == pytest.approx(0.05 / 6.0, rel=0.1)
    np.testing.assert_allclose(radii, radii[0] * np.array([1.0, 2.0, 3.0]))


def adaptive(seed: int = 2, **options: Any) -> tuple[tt.AdaptiveGraphLinUCB, Any]:
    world = tt.worlds.sparse(4, degree=1, gamma=0.3, seed=seed)
    return tt.AdaptiveGraphLinUCB(world.problem, start=[0.5] * 4, **options), world


def test_after_the_warm_up_the_regressions_are_those_of_the_learned_scopes() -> None:
    """Excluded knobs leave; V, theta and the gain are as if they had never been there."""
    policy, world = adaptive(warmup=200)
    assert policy.learner.beliefs is not None
    policy.learner.beliefs.levels = False  # otherwise V forgets some of the level
    rng = np.random.default_rng(0)
    seen: list[tuple[Array, Array]] = []
    while policy.warming:
        seen.append((policy.ask(), world.draw(policy.ask(), rng, len(seen))))
        policy.tell(seen[-1][1])
    assert policy.edges.counts(EXCLUDED).sum() > 0
    learner = policy.learner
    assert learner.scales is not None
    assert learner.prior is not None
    smaller = learner.problem
    direct = NodewiseEstimators(
        smaller,
        reg=np.ones(4),
        factor=2.0,
        state=seen[0][0],
        prior=tt.Prior().bind(smaller),
    )
    for n, (state, y) in enumerate(seen):
        if n and not np.array_equal(state, seen[n - 1][0]):
            direct.flush(smaller.all_criteria)
            direct.deploy(state, smaller.all_criteria)
        direct.add(y)
    direct.flush(smaller.all_criteria)
    direct.start_at(learner.scales.ratio, learner.scales.sigma, learner.scales.bend)
    for i in range(4):
        np.testing.assert_allclose(learner.estimators.V(i), direct.V(i), rtol=1e-6, atol=1e-6)
        theta = direct.theta(i)
        np.testing.assert_allclose(learner.estimators.theta(i), theta, rtol=0.05, atol=0.05)
        assert learner.estimators.stats.gain[i] == pytest.approx(direct.stats.gain[i], rel=1e-6)


def test_what_a_dependency_is_at_least_is_learned_with_the_spread() -> None:
    policy, world = adaptive(warmup=200)
    tt.play(policy, world, horizon=230, seed=1)
    assert np.isnan(policy.gamma).all()
    assert policy.learner.scales is not None
    excluded = [edge for edge in policy.edges if edge.decision == "excluded"]
    assert excluded
    assert max(edge.bound for edge in excluded) < 2.0 * LEAST_SIZE * policy.learner.scales.spread[0]
    given, world = adaptive(warmup=200, gamma=1e-6)
    tt.play(given, world, horizon=230, seed=1)
    assert given.edges.counts(EXCLUDED).sum() == 0
    with pytest.raises(tt.InvalidInput, match="gamma is missing"):
        adaptive(radius=0.5)


def test_the_look_that_ends_the_warm_up_is_around_the_best_state_visited() -> None:
    policy, world = adaptive(seed=5)
    rng = np.random.default_rng(3)
    t = 0
    while policy.warming:
        before = policy.ask()
        told = policy.tell(world.draw(before, rng, t))
        t += 1
    assert t == len(policy.warmup.states) == 5  # a round for every two of 9 features
    assert told.moved == pytest.approx(np.abs(policy.ask() - before).sum())
    assert told.record is not None
    np.testing.assert_array_equal(told.record.before, before[told.record.knobs])
    np.testing.assert_array_equal(told.record.after, policy.ask()[told.record.knobs])
    lcb = policy.learner.lcb
    visited = [lcb.value(x) for x in (*policy.warmup.states, policy.start)]
    assert lcb.value(policy.ask()) <= min(visited) + 1e-9


def test_it_is_steady_with_a_prior_and_lazy_with_a_radius() -> None:
    assert type(adaptive()[0].inner) is tt.SteadyGraphLinUCB
    assert type(adaptive(radius=0.5, gamma=0.3)[0].inner) is tt.LazyGraphLinUCB
    assert type(adaptive(then=tt.LazyGraphLinUCB)[0].inner) is tt.LazyGraphLinUCB


def test_a_tour_told_nothing_at_all_decides_nothing() -> None:
    policy, _ = adaptive(warmup=6)
    for _ in range(8):
        policy.tell(np.full(4, np.nan))
    assert not policy.warming
    assert policy.graph == policy.problem.graph
    assert policy.learner.scales is None


# Joint.


def joint_prior_of(problem: tt.Problem, **options: Any) -> tuple[Factors, Any]:
    factors = Factors(problem)
    return factors, joint_priors.joint_prior(
        tt.Prior(**options), factors, joint_noise(None, problem.criteria)
    )


def test_the_prior_of_factors_is_one_of_functions() -> None:
    """The covariance of a factor at two states, in losses, is that of orthonormal polynomials."""
    problem = tt.Problem(
        tt.Graph.from_edges(3, [(0, 1), (1, 2)]),
        weights=[1.0, 2.0, 4.0],
        basis=tt.bases.Quadratic(),
    )
    factors, prior = joint_prior_of(problem)
    K = prior.L @ prior.L.T
    np.testing.assert_allclose(factors.pull, [1.5, 3.0])
    rng = np.random.default_rng(0)
    s, t = rng.random(3), rng.random(3)
    phi = []
    for state in (s, t):
        row = np.empty(factors.dim)
        factors.features.fill(row, state, np.arange(2))
        phi.append(row)
    for c, scope in enumerate(factors.scopes):
        mine = factors.owner == c
        found = (phi[0] * mine) @ np.linalg.solve(K, phi[1] * mine)
        expected: Any = priors.CONSTANT**2
        for j in scope:
            for n in (1, 2):
                expected += priors.ALONE[n - 1] ** 2 * legendre(s[j], n) * legendre(t[j], n)
        both = [np.prod([legendre(x[j], 1) for j in scope]) for x in (s, t)]
        expected += priors.TOGETHER**2 * both[0] * both[1]
        assert found == pytest.approx(expected / factors.pull[c] ** 2, rel=1e-5)
        mean = np.linalg.solve(prior.L.T, prior.mean)  # of w, for a spread of 1
        bowl = priors.BOWL * sum(legendre(s[j], 2) for j in scope)
        assert (phi[0] * mine) @ mean == pytest.approx(bowl / factors.pull[c], abs=1e-6)


def told_joint(rounds: int = 60, **options: Any) -> tuple[tt.JointLazyGraphLinUCB, list[Any]]:
    world, _ = factored(RING, seed=4, noise=tt.worlds.Gaussian(0.2))
    problem = tt.Problem(RING, weights=[1.0, 2.0, 0.5, 1.0])
    policy = tt.JointLazyGraphLinUCB(problem, start=[0.4] * 4, **options)
    rng = np.random.default_rng(2)
    seen = []
    for t in range(rounds):
        state = policy.ask()
        y = 5.0 + world.draw(state, rng, t)
        if t % 7 == 3:
            y[t % 4] = np.nan
        elsewhere = rng.random(4) if t % 11 == 5 else None
        policy.tell(y, played=elsewhere)
        seen.append((state if elsewhere is None else elsewhere, y))
    policy.learner.absorb(problem.all_criteria)
    return policy, seen


def test_the_joint_estimate_is_the_posterior_by_a_slower_route() -> None:
    policy, seen = told_joint()
    learner = policy.learner
    factors, prior, scales = learner.options.factors, learner.joint.prior, learner.joint_scales
    assert prior is not None
    assert scales is not None
    first, w = learner.estimators.stats.offset, policy.problem.weights
    V = scales.ratio * prior.L @ prior.L.T
    b = scales.sigma * np.sqrt(scales.ratio) * prior.L @ prior.mean
    for state, y in seen:
        told = ~np.isnan(y)
        Psi = w[told, None] * factors.Psi(state)[told]
        V = V + Psi.T @ Psi
        b = b + Psi.T @ (w * (y - first))[told]
    np.testing.assert_allclose(learner.joint.V, V, rtol=1e-7, atol=1e-7)
    # Single losses were cut, but for few of them.
    np.testing.assert_allclose(
        factors.Psi(np.full(4, 0.5)) @ learner.joint.w,
        factors.Psi(np.full(4, 0.5)) @ np.linalg.solve(V, b),
        atol=0.02,
    )
    _, all_of_it = np.linalg.slogdet(V)
    _, before = np.linalg.slogdet(scales.ratio * prior.L @ prior.L.T)
    assert learner.joint.gain == pytest.approx(all_of_it - before, abs=1e-4)
    state = np.full(4, 0.3)
    low, high = learner.bound.total.terms(state)
    total = w @ factors.Psi(state)
    sd = scales.sigma * np.sqrt(total @ np.linalg.solve(V, total))
    kappa = KAPPA * np.sqrt(np.log(e + policy.rounds / 300.0))
    assert high[0] == pytest.approx(kappa * sd, rel=1e-6)
    assert low[0] == pytest.approx(total @ learner.joint.w, rel=1e-6)


def test_the_likelihood_of_spread_and_noise_is_that_of_all_losses() -> None:
    """The joint density of all weighted losses less their levels, computed directly here."""
    problem = tt.Problem(RING, weights=[1.0, 2.0, 0.5, 1.0])
    factors, prior = joint_prior_of(problem)
    rng = np.random.default_rng(1)
    states, y = rng.random((9, 4)), rng.standard_normal((9, 4))
    w = problem.weights
    Psi = np.array([w[:, None] * factors.Psi(s) for s in states])  # in units of weighted loss
    z = w * y
    data = joint_priors.JointData(
        A=np.einsum("tid,tie->de", Psi, Psi),
        b=np.einsum("tid,ti->d", Psi, z),
        c=float((z**2).sum()),
        n=36,
        H=np.einsum("tid->di", Psi),
        W=9.0 * np.eye(4),
        T=z.sum(axis=0),
    )
    rows, target = Psi.reshape(36, -1), z.reshape(36)
    levels = np.tile(np.eye(4), (9, 1))
    contrasts = np.linalg.svd(levels.T)[2][4:]
    K = prior.L @ prior.L.T
    mean = np.linalg.solve(prior.L.T, prior.mean)

    def direct(S: float, sigma: float) -> float:
        cov = S**2 * rows @ np.linalg.solve(K, rows.T) + sigma**2 * np.eye(36)
        rest = contrasts @ (target - S * rows @ mean)
        return float(multivariate_normal(np.zeros(32), contrasts @ cov @ contrasts.T).logpdf(rest))

    known = data.without_levels()
    grid = [(1.0, 0.5), (3.0, 0.2), (0.2, 1.5)]
    found = [
        float(joint_priors.likelihood(known, prior, np.array([S]), np.array([x]))[0, 0])
        for S, x in grid
    ]
    expected = [direct(S, x) for S, x in grid]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-5)


@pytest.mark.slow
def test_spread_and_noise_of_factors_are_found_or_told() -> None:
    policy, _ = told_joint(rounds=300)
    scales = policy.learner.joint_scales
    assert scales is not None
    weights = policy.problem.weights
    assert scales.sigma == pytest.approx(0.2 * np.sqrt(np.mean(weights**2)), rel=0.1)
    told, _ = told_joint(rounds=20, prior=tt.Prior(spread=2.0, sigma=0.3))
    assert told.learner.joint_scales is not None
    assert told.learner.joint_scales.spread == pytest.approx(2.0 * weights.mean())
    assert told.learner.joint_scales.sigma == 1.0  # observations are weighed by sigma itself
    np.testing.assert_allclose(told.learner.joint.Q, np.eye(4) / 0.09)
    S = 0.04 * np.eye(4) + 0.02
    given, _ = told_joint(rounds=20, covariance=S)
    np.testing.assert_allclose(given.learner.joint.Q, np.linalg.inv(S))
    assert given.learner.joint_scales is not None
    assert given.learner.joint_scales.sigma == 1.0


@pytest.mark.slow
def test_levels_and_units_of_all_losses_change_no_decision() -> None:
    world, _ = factored(RING, seed=6, noise=tt.worlds.Gaussian(0.1))
    paths = []
    for shift, scale in ((np.zeros(4), 1.0), (np.array([64.0, -8.0, 1.0, 512.0]), 4.0)):
        problem = tt.Problem(RING, weights=np.full(4, 1.0 / scale))
        policy = tt.JointLazyGraphLinUCB(problem, start=[0.2] * 4)
        rng = np.random.default_rng(5)
        states = []
        for t in range(50):
            states.append(policy.ask())
            policy.tell(scale * world.draw(policy.ask(), rng, t) + shift)
        paths.append(np.array(states))
    assert len(np.unique(paths[0], axis=0)) > 4
    np.testing.assert_allclose(paths[1], paths[0], atol=1e-4)


@pytest.mark.parametrize("name", ["factor_norm", "factor_reg"])
def test_a_prior_of_factors_replaces_their_ridge(name: str) -> None:
    options: Any = {name: 1.0}
    with pytest.raises(tt.InvalidInput, match=f"{name} without radius"):
        tt.JointLazyGraphLinUCB(tt.Problem(RING), start=[0.5] * 4, **options)


# Specs.


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"kind": "PooledGraphLinUCB", "delta": 0.1}, "policy.noise: Pooled"),
        ({"kind": "AdaptiveGraphLinUCB", "radius": 0.5}, "policy.gamma: Adaptive"),
        ({"kind": "JointLazyGraphLinUCB", "reg": 1.0}, "policy.factor_norm: Joint"),
    ],
)
def test_a_spec_that_asks_for_bounds_says_what_they_need(
    policy: dict[str, Any], message: str
) -> None:
    from tests.live.spec.test_spec import MINIMAL
    from trimtab.live import Spec

    tables = Spec.parse(MINIMAL).to_dict()
    with pytest.raises(tt.InvalidInput, match=message):
        Spec.from_dict(tables | {"policy": policy})
    for option in ("delta", "radius", "reg"):
        policy.pop(option, None)
    built = Spec.from_dict(tables | {"policy": policy}).new_policy(seed=1)
    assert built.learner.prior is not None
