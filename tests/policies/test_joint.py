"""The joint estimator and its policy: every number by a second, slower route."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.builders import by_hand, quadratic, random_graph
from trimtab.arrays import Array, Ints
from trimtab.learn.joint.estimator import JointEstimator, rounds_to_pass
from trimtab.learn.joint.model import Factors
from trimtab.learn.joint.noise import joint_noise, scope_covariance
from trimtab.learn.statistics import NEVER
from trimtab.policies.joint import bound as joint_bound
from trimtab.sim.worlds.joint import factored, world_of
from trimtab.solve import Bound


def path(k: int) -> tt.Graph:
    return tt.Graph.from_edges(k, [(j, j + 1) for j in range(k - 1)])


def random_edges(rng: np.random.Generator, k: int) -> tt.Graph:
    pairs = [(i, j) for i in range(k) for j in range(i) if rng.random() < 0.5]
    return tt.Graph.from_edges(k, pairs)


# The model.


@pytest.mark.parametrize("seed", range(10))
def test_the_shares_add_up_to_the_total(seed: int) -> None:
    """omega' Psi w = L, with psi and L from their definitions, for any weights and shares."""
    rng = np.random.default_rng(seed)
    graph = random_edges(rng, 5) if seed % 2 else random_graph(rng, 5, 6)
    problem = tt.Problem(
        graph, basis=tt.bases.Quadratic(), weights=rng.uniform(0.3, 3.0, graph.criteria)
    )
    scopes = Factors(problem).scopes
    A = rng.uniform(0.1, 1.0, (graph.criteria, len(scopes)))
    for i, (c, scope) in product(range(graph.criteria), enumerate(scopes)):
        A[i, c] *= set(scope) <= set(graph.scope(i).tolist())
    A /= A.sum(axis=0)
    factors = Factors(problem, factors=scopes, shares=A)
    w = rng.normal(size=factors.dim)
    world = world_of(factors, w, noise=tt.worlds.Gaussian(0.1))
    for state in rng.random((5, 5)):
        psi = []
        for c in range(len(scopes)):
            raw = by_hand(quadratic, factors.graph, c, state[None])[:, 0]
            longest = np.linalg.norm(by_hand(quadratic, factors.graph, c, np.ones((1, 5))))
            psi.append(raw / longest)
        parts = np.split(w, np.cumsum([x.size for x in psi])[:-1])
        losses = A @ [x @ part for x, part in zip(psi, parts, strict=True)]
        np.testing.assert_allclose(factors.Psi(state) @ w, losses, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(world.mean(state), losses, rtol=1e-11, atol=1e-11)
        total = problem.weights @ losses
        assert problem.weights @ factors.Psi(state) @ w == pytest.approx(total, rel=1e-12)
        assert world.loss(state) == pytest.approx(total, rel=1e-11)
        assert np.linalg.norm(factors.Psi(state), 2) <= factors.norm + 1e-12
        assert np.linalg.norm(factors.Psi(state)) <= factors.frobenius + 1e-12
        assert np.linalg.norm(factors.Psi(state).T @ problem.weights) <= factors.bound + 1e-12


def test_equal_shares_without_weights_are_assumption_d() -> None:
    """1' Psi = (psi_C')_C: every factor counts once, however many share in it."""
    factors = Factors(
        tt.Problem(
            tt.Graph.from_edges(4, [(0, 1), (1, 2), (0, 2), (2, 3)]), basis=tt.bases.Quadratic()
        )
    )
    assert factors.scopes == [[0, 1, 2], [2, 3]]
    np.testing.assert_array_equal(factors.shares[:, 0], [1 / 3, 1 / 3, 1 / 3, 0])
    psi = np.empty(factors.dim)
    state = np.array([0.1, 0.2, 0.3, 0.4])
    factors.features.fill(psi, state, np.arange(2))
    np.testing.assert_allclose(factors.Psi(state).sum(axis=0), psi, rtol=1e-14)


def stacked(factors: Factors, states: int = 200) -> Array:
    rng = np.random.default_rng(0)
    rows = [factors.Psi(s) for s in rng.random((states, factors.problem.knobs))]
    return np.concatenate(rows)


def test_a_monomial_of_two_factors_is_two_features() -> None:
    """On a path no feature is redundant; with s_1 in one factor only, losses would be lost."""
    factors = Factors(tt.Problem(path(3), basis=tt.bases.Linear()))
    X = stacked(factors)
    assert np.linalg.matrix_rank(X) == factors.dim == 4
    # On an even cycle the shares do not tell everything apart.
    ring = Factors(
        tt.Problem(
            tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)]), basis=tt.bases.Quadratic()
        )
    )
    X = stacked(ring)
    rank = np.linalg.matrix_rank(X)
    assert rank == ring.dim - 1  # the constants: 4 of rank 3
    for n in (1.0, 1e3, 1e6):  # and the information gained grows with the rank alone
        gain = np.linalg.slogdet(np.eye(ring.dim) + n * X.T @ X)[1]
        twice = np.linalg.slogdet(np.eye(ring.dim) + 1e3 * n * X.T @ X)[1]
        assert twice - gain <= rank * np.log(1e3) + 1e-6


def test_default_factors() -> None:
    scopes = tt.Graph.from_scopes([[0, 1], [1], [2, 0], [1, 0]], knobs=3)
    factors = Factors(tt.Problem(scopes, basis=tt.bases.Quadratic()))
    assert factors.scopes == [[0, 1], [0, 2], [1]]  # distinct scopes
    np.testing.assert_allclose(factors.shares[:, 2], [1 / 3, 1 / 3, 0, 1 / 3])
    balls = tt.Problem(
        tt.Graph.from_scopes([[0, 1], [2, 3]], knobs=4),
        basis=tt.bases.Linear(),
        domain=tt.Balls([[0, 1], [2, 3]]),
    )
    assert Factors(balls).dim == 4


# The regression.


class FromScratch:
    """V, b and the determinant test by plain numpy, rebuilt from all that was ever told."""

    def __init__(self, policy: tt.JointLazyGraphLinUCB, factor: float) -> None:
        joint = policy.learner.joint
        self.factors, self.reg, self.S = joint.factors, joint.reg, joint.noise.covariance
        self.ordinary, self.factor = joint.noise.precision is None, factor
        d = self.factors.dim
        self.V, self.b = self.reg * np.eye(d), np.zeros(d)
        self.reset()

    def see(self, state: Array, losses: Array, count: Ints) -> None:
        O = np.flatnonzero(~np.isnan(losses))  # noqa: E741
        Psi, n = self.factors.Psi(state)[O], count[O]
        P = np.diag(1.0 * n)
        if not self.ordinary and self.S is not None:
            shared = np.minimum.outer(n, n) / np.outer(n, n)
            P = np.linalg.inv(self.S[np.ix_(O, O)] * shared)
        self.V = self.V + Psi.T @ P @ Psi
        self.b = self.b + Psi.T @ P @ losses[O]

    def reset(self) -> None:
        self.V_tau = self.V

    @property
    def log_ratio(self) -> float:
        return float(np.linalg.slogdet(self.V)[1] - np.linalg.slogdet(self.V_tau)[1])


FEEDBACK = ("full", "missing", "batched", "elsewhere", "placed")


def told_once(
    policy: tt.JointLazyGraphLinUCB, rng: np.random.Generator, feedback: str
) -> tuple[Any, Array, Array, Ints]:
    problem = policy.problem
    m = problem.criteria
    if feedback == "placed" and rng.random() < 0.2:
        policy.place(problem.domain.sample(rng))
    state = policy.ask()
    losses = rng.normal(size=m)
    count = np.ones(m, np.int64)
    if feedback == "batched":
        count = rng.integers(1, 5, m) if rng.random() < 0.5 else np.full(m, rng.integers(1, 5))
    away = feedback == "elsewhere" and rng.random() < 0.3
    played = problem.domain.sample(rng) if away else state
    if feedback in ("missing", "elsewhere"):
        losses[rng.random(m) < 0.3] = np.nan
    told = policy.tell(losses, played=played if away else None, count=count)
    return told, played, losses, count


@pytest.mark.parametrize("weighed", [False, True], ids=["ols", "gls"])
@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("seed", range(2))
def test_triggers_and_estimates_equal_recomputation(
    seed: int, feedback: str, weighed: bool
) -> None:
    rng = np.random.default_rng((seed, len(feedback), weighed))
    graph = random_edges(rng, 4) if seed else random_graph(rng, 4, 5)
    problem = tt.Problem(graph, basis=tt.bases.Linear(intercept=True))
    factor = float(rng.choice([1.5, 2.0, 4.0]))
    policy = tt.JointLazyGraphLinUCB(
        problem,
        start=rng.random(4),
        radius=0.5,
        factor_reg=float(rng.uniform(0.2, 3.0)),
        factor=factor,
        covariance=scope_covariance(graph, sigma=0.5, floor=0.2) if weighed else None,
        joint_only=True,
        cold_start="keep",
        review=False,
    )
    direct = FromScratch(policy, factor)
    joint = policy.learner.joint
    triggers = 0
    for _ in range(60):
        announced = policy.rounds_left()
        told, played, losses, count = told_once(policy, rng, feedback)
        direct.see(played, losses, count)
        ratio = direct.log_ratio
        assert abs(ratio - np.log(factor)) > 1e-9  # no ties here
        assert (told.cause == "trigger") == (ratio > np.log(factor))
        if feedback == "full":
            assert (told.cause == "trigger") == (announced == 1)
        if told.cause == "trigger":
            np.testing.assert_array_equal(told.triggered, problem.all_criteria)
            direct.reset()
            triggers += 1
    policy.learner.absorb(problem.all_criteria)
    np.testing.assert_allclose(joint.V, direct.V, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(joint.w, np.linalg.solve(direct.V, direct.b), rtol=1e-8, atol=1e-9)
    gain = np.linalg.slogdet(direct.V)[1] - joint.factors.dim * np.log(joint.reg)
    assert joint.gain == pytest.approx(gain, rel=1e-10)
    np.testing.assert_allclose(joint.mean, joint.factors.Psi(policy.ask()) @ joint.w, atol=1e-9)
    assert triggers >= 4


def test_n_star_equals_the_naive_count() -> None:
    """The first n at which prod (1 + n a_i) passes the factor, in 300 random cases."""
    rng = np.random.default_rng(3)
    longest = 0
    for _ in range(300):
        m = int(rng.integers(1, 7))
        a = 10.0 ** rng.uniform(-3.0, 1.0, m) * (rng.random(m) < 0.8)
        room = float(rng.uniform(-0.2, 2.0))
        found = rounds_to_pass(a, room)
        n = 0
        while n < 10**4 and not (room <= 0.0 or np.log1p(n * a).sum() > room):
            n += 1
        assert found == (NEVER if n == 10**4 else n)
        longest = max(longest, n if n < 10**4 else 0)
    assert longest > 200


def test_n_star_at_ties() -> None:
    """det V = 2 det V_tau exactly does not trigger: unit features, whole-numbered reg."""
    for reg in (1.0, 2.0, 3.0, 7.0, 49.0, 333.0):
        a = np.array([1.0 / reg])
        assert rounds_to_pass(a, np.log(2.0) + 1e-12) == int(reg) + 1
    for n in (2, 3, 8):  # not even without the tolerance: passing is more than reaching
        assert rounds_to_pass(np.array([1.0 / n]), float(np.log1p(1.0))) == n + 1
    assert rounds_to_pass(np.array([1e-3, 1e-17]), np.log(2.0) + 1e-12) == 1001
    assert rounds_to_pass(np.zeros(3), 1.0) == NEVER


def test_generalised_least_squares_is_regression_on_whitened_losses() -> None:
    rng = np.random.default_rng(5)
    problem = tt.Problem(path(4), basis=tt.bases.Quadratic())
    factors = Factors(problem)
    S = scope_covariance(problem.graph, sigma=0.7, floor=0.3)
    joint = JointEstimator(
        factors, noise=joint_noise(S, 4), reg=0.4, factor=2.0, state=np.full(4, 0.5)
    )
    whiten = np.linalg.inv(np.linalg.cholesky(S))
    X, y = [np.sqrt(0.4) * np.eye(factors.dim)], [np.zeros(factors.dim)]
    for _ in range(30):
        state, losses, n = rng.random(4), rng.normal(size=4), int(rng.integers(1, 9))
        joint.add_elsewhere(losses, np.full(4, n), state)
        X.append(np.sqrt(n) * whiten @ factors.Psi(state))
        y.append(np.sqrt(n) * whiten @ losses)
    direct = np.linalg.lstsq(np.concatenate(X), np.concatenate(y), rcond=None)[0]
    np.testing.assert_allclose(joint.w, direct, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_coverage_under_correlated_noise() -> None:
    """How often the ellipsoid of w fails in 150 rounds of a clique of 6, at delta = 0.1.

    The noise of all six is the same number. With the largest eigenvalue of its covariance, and
    by generalised least squares with a floor, at most 10 % of all runs may fail; of 60 more than
    16 would do so with probability 6e-5. With each criterion's own sigma, as if independent,
    about half of them fail: were it valid, more than 16 would have that probability.
    """
    graph, delta, runs = tt.Graph.complete(6), 0.1, 60
    noise = tt.worlds.Correlated(0.3)
    S = scope_covariance(graph, sigma=0.3, floor=1e-9)
    S[:] = S.round(6)  # without the floor: singular
    ways: dict[str, Array | None] = {
        "plain": None,
        "eigenvalue": S,
        "weighed": scope_covariance(graph, sigma=0.3, floor=0.01),
    }
    assert joint_noise(ways["eigenvalue"], 6).precision is None
    failed = dict.fromkeys(ways, 0)
    sigma = float(noise.scales(graph).max())
    problem = tt.Problem(graph, basis=tt.bases.Linear())
    factors = Factors(problem)
    for run in range(runs):
        rng = np.random.default_rng(run)
        world, w = factored(graph, seed=run, basis=tt.bases.Linear(), noise=noise)
        data = [(s, world.draw(s, rng)) for s in rng.random((150, 6))]
        for way, covariance in ways.items():
            joint = JointEstimator(
                factors,
                noise=joint_noise(covariance, 6),
                reg=1.0,
                factor=2.0,
                state=np.full(6, 0.5),
            )
            scale = joint.noise.sigma or sigma
            for t, (state, losses) in enumerate(data):
                joint.add_elsewhere(losses, np.ones(6, np.int64), state)
                if t % 10 == 9:
                    miss = joint.w - w
                    beta = scale * np.sqrt(joint.gain - 2.0 * np.log(delta)) + np.linalg.norm(w)
                    if miss @ joint.V @ miss > beta**2:
                        failed[way] += 1
                        break
    assert failed["plain"] > 16
    assert failed["eigenvalue"] <= 16
    assert failed["weighed"] <= 16


# The bound and its minimum.


def at_many(lcb: Bound, states: Array) -> Array:
    return np.array([lcb.value(s) for s in states])


def test_the_joint_bound_from_the_matrices() -> None:
    """F_J = omega' Psi w - beta |Psi' omega| in V^-1, and the interval of both bounds."""
    world, w = factored(path(4), seed=2, weights=[1.0, 0.5, 2.0, 1.5])
    policy = tt.JointLazyGraphLinUCB(
        world.problem,
        start=np.full(4, 0.5),
        radius=tt.Confidence(sigma=0.1, norm=world.norms, delta=0.1),
        factor_norm=float(np.linalg.norm(w)),
        factor_reg=0.7,
    )
    tt.play(policy, world, horizon=300)
    learner, joint = policy.learner, policy.learner.joint
    learner.absorb(world.problem.all_criteria)
    gain = np.linalg.slogdet(joint.V)[1] - joint.factors.dim * np.log(0.7)
    beta = 0.1 * np.sqrt(gain + 2 * np.log(1 / 0.05)) + np.sqrt(0.7) * np.linalg.norm(w)
    assert learner.joint_radius() == pytest.approx(beta, rel=1e-9)
    for state in np.random.default_rng(0).random((20, 4)):
        x = joint.factors.Psi(state).T @ world.problem.weights
        mean, width = x @ joint.w, beta * np.sqrt(x @ np.linalg.solve(joint.V, x))
        means, widths = learner.lcb.terms(state)
        low = max(mean - width, (means - widths).sum())
        high = min(mean + width, (means + widths).sum())
        np.testing.assert_allclose(learner.bound.interval(state), (low, high), rtol=1e-8)
        assert learner.bound.total.width(state) == pytest.approx(width, rel=1e-8)


@pytest.mark.slow
def test_no_state_of_a_grid_is_better() -> None:
    """Every look of 6 runs against 41 x 41 (x 21) states; some where both bounds must balance."""
    looks = balanced = 0
    for seed in range(6):
        graph = tt.Graph.complete(2) if seed % 2 else tt.Graph.cliques([1, 2])
        k, sigma = graph.knobs, 0.1 if seed < 3 else 0.5
        world, w = factored(graph, seed=seed, noise=tt.worlds.Gaussian(sigma))
        policy = tt.JointLazyGraphLinUCB(
            world.problem,
            start=np.full(k, 0.5),
            radius=tt.Confidence(sigma=sigma, norm=world.norms),
            factor_norm=float(np.linalg.norm(w)),
        )
        axes = np.meshgrid(*[np.linspace(0, 1, 41 if k == 2 else 13)] * k, indexing="ij")
        grid = np.stack([axis.ravel() for axis in axes], axis=1)
        rng = np.random.default_rng(seed)
        for t in range(250):
            if policy.tell(world.draw(policy.ask(), rng)).cause == "none" or t < 20:
                continue
            bound = policy.learner.bound
            assert bound.nodes is not None
            F_J, F_node = at_many(bound.total, grid), at_many(bound.nodes, grid)
            low, high = bound.interval(policy.ask())
            assert low <= np.maximum(F_J, F_node).min() + 0.005 * (high - low)
            looks += 1
            balanced += bool(
                F_node[F_J.argmin()] > F_J.min() and F_J[F_node.argmin()] > F_node.min()
            )
    assert looks > 40
    assert balanced > 3


WAYS = {"none": (0, 0), "mixtures": (6, 0), "steps": (0, 19), "both": (6, 19)}


def test_mixtures_and_steps_both_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither bound alone decides, each finds better states than the two minimisers."""
    world, w = factored(tt.Graph.cliques([1, 2]), seed=7, noise=tt.worlds.Gaussian(0.5))
    policy = tt.JointLazyGraphLinUCB(
        world.problem,
        start=np.full(3, 0.5),
        radius=tt.Confidence(sigma=0.5, norm=world.norms),
        factor_norm=float(np.linalg.norm(w)),
    )
    rng = np.random.default_rng(7)
    values = []
    for _ in range(400):
        if policy.tell(world.draw(policy.ask(), rng)).cause == "none":
            continue
        bound = policy.learner.bound
        low, high = bound.interval(policy.ask())
        row = []
        for halvings, steps in WAYS.values():
            with monkeypatch.context() as patch:
                patch.setattr(joint_bound, "HALVINGS", halvings)
                patch.setattr(joint_bound, "STEPS", joint_bound.STEPS[:steps])
                found = bound.solve(np.full(3, 0.5))
            assert found.value == pytest.approx(bound.value(found.state), rel=1e-12)
            row.append(found.value / (high - low))
        values.append(row)
    none, mixtures, steps, both = np.array(values).T
    assert (mixtures < none - 0.005).any()
    assert (steps < none - 0.005).any()
    assert (both < mixtures - 0.001).any()
    assert (both <= np.minimum(mixtures, steps) + 0.005).all()


def test_mixtures_are_mixtures() -> None:
    world, w = factored(path(3), seed=1, weights=[1.0, 3.0, 0.5])
    policy = tt.JointLazyGraphLinUCB(
        world.problem,
        start=np.full(3, 0.5),
        radius=tt.Confidence(sigma=0.1, norm=world.norms),
        factor_norm=float(np.linalg.norm(w)),
    )
    tt.play(policy, world, horizon=200)
    bound = policy.learner.bound
    assert bound.nodes is not None
    for share, state in zip((0.1, 0.5, 0.9), np.random.default_rng(1).random((3, 3)), strict=True):
        mixed = share * bound.nodes.value(state) + (1 - share) * bound.total.value(state)
        assert bound._mixed(bound.nodes, share).value(state) == pytest.approx(mixed, rel=1e-9)


def test_a_lower_bound_is_proven_where_it_is_claimed() -> None:
    """On levels both solves are exact, so every look is certified; elsewhere none is."""
    graph = path(3)
    for levels in ([[0.0, 0.3, 0.7, 1.0]] * 3, None):
        problem = tt.Problem(graph, basis=tt.bases.Quadratic(), domain=tt.Box(levels=levels))
        policy = tt.JointLazyGraphLinUCB(
            problem,
            start=np.zeros(3),
            radius=tt.Confidence(sigma=0.1, norm=1.0),
            factor_norm=1.0,
        )
        rng = np.random.default_rng(0)
        for _ in range(100):
            policy.tell(rng.normal(size=3))
        assert policy.certificate.certified == (levels is not None)
        if levels is not None:
            states = np.array(list(product(*levels)))
            policy.learner.absorb(problem.all_criteria)
            bound = policy.learner.bound
            found = bound.solve(policy.ask())
            assert found.lower_bound is not None
            assert found.lower_bound <= min(bound.value(s) for s in states) + 1e-9


# Base cases.


@pytest.mark.parametrize("joint_only", [True, False])
@pytest.mark.parametrize("basis", [tt.bases.Quadratic(), tt.bases.Linear(intercept=True)])
def test_one_criterion_is_algorithm_1(
    joint_only: bool, basis: tt.bases.Quadratic | tt.bases.Linear
) -> None:
    """The only factor is the scope and its share is 1: the same states, round by round."""
    problem = tt.Problem(tt.Graph.from_scopes([[0, 1, 2]], knobs=3), basis=basis)
    radius: Any = 0.7
    options: dict[str, Any] = {"start": np.full(3, 0.5), "reg": 0.4}
    if joint_only:
        radius = tt.Confidence(sigma=0.3, norm=1.5, delta=0.1)
    lazy = tt.LazyGraphLinUCB(problem, radius=radius, **options)
    joint = tt.JointLazyGraphLinUCB(
        problem, radius=radius, factor_norm=1.5, joint_only=joint_only, **options
    )
    rng = np.random.default_rng(0)
    solves = 0
    for _ in range(300):
        np.testing.assert_allclose(joint.ask(), lazy.ask(), atol=1e-6)
        y = [float(np.sum((lazy.ask() - [0.2, 0.5, 0.8]) ** 2) + 0.3 * rng.normal())]
        one, two = lazy.tell(y), joint.tell(y)
        assert (one.cause, one.next_review) == (two.cause, two.next_review)
        solves += one.cause == "trigger"
    assert solves > 8
    assert joint.certificate.bound == pytest.approx(lazy.certificate.bound, rel=1e-5)


def test_isolated_criteria_share_nothing() -> None:
    """Each factor is one criterion's own: the estimates are the node-wise ones."""
    world, w = factored(tt.Graph.cliques([1] * 5), seed=3)
    policy = tt.JointLazyGraphLinUCB(
        world.problem,
        start=np.full(5, 0.5),
        radius=tt.Confidence(sigma=0.1, norm=world.norms),
        factor_norm=float(np.linalg.norm(w)),
    )
    tt.play(policy, world, horizon=500)
    learner = policy.learner
    learner.absorb(world.problem.all_criteria)
    learner.estimators.measure(world.problem.all_criteria)
    np.testing.assert_allclose(learner.joint.mean, learner.estimators.stats.mean, rtol=1e-9)
    np.testing.assert_allclose(
        learner.joint.G, np.diag(learner.estimators.stats.spread), rtol=1e-8, atol=1e-15
    )
    assert learner.joint.gain == pytest.approx(learner.estimators.stats.gain.sum(), rel=1e-10)


# Playing.


def test_events_equal_rounds_with_gaps() -> None:
    """Recorded noise, a fifth of it missing: jumps see the same triggers at the same rounds."""
    rng = np.random.default_rng(2)
    table = 0.3 * rng.normal(size=(3000, 4))
    table[rng.random(table.shape) < 0.2] = np.nan
    world, w = factored(path(4), seed=1, noise=tt.worlds.Recorded(table))
    runs = []
    for way in ("rounds", "events"):
        policy = tt.JointLazyGraphLinUCB(
            world.problem,
            start=np.full(4, 0.5),
            radius=tt.Confidence(sigma=0.3, norm=world.norms),
            factor_norm=float(np.linalg.norm(w)),
        )
        runs.append(tt.play(policy, world, horizon=3000, path=way))
    assert runs[0].solves == runs[1].solves > 30
    np.testing.assert_array_equal(runs[0].ends, runs[1].ends)
    np.testing.assert_allclose(runs[0].states, runs[1].states, atol=1e-6)


def test_jumps_over_gaps_cannot_be_weighed() -> None:
    table = np.zeros((50, 3))
    table[3, 1] = np.nan
    world, _ = factored(path(3), seed=1, noise=tt.worlds.Recorded(table))
    policy = tt.JointLazyGraphLinUCB(
        world.problem,
        start=np.full(3, 0.5),
        radius=1e-3,
        reg=100.0,
        covariance=scope_covariance(world.problem.graph, sigma=0.1, floor=0.01),
        factor_reg=1e4,
        review=False,
    )
    with pytest.raises(tt.InvalidInput, match="path='rounds'"):
        tt.play(policy, world, horizon=50, path="events")
    assert policy.rounds == 0
    assert tt.play(policy, world, horizon=50, path="rounds").horizon == 50


def test_unknown_noise_holds_the_start() -> None:
    world, w = factored(path(3), seed=1)
    policy = tt.JointLazyGraphLinUCB(
        world.problem,
        start=np.full(3, 0.5),
        radius=tt.Confidence(sigma=None, norm=world.norms),
        factor_norm=float(np.linalg.norm(w)),
    )
    assert policy.rounds_left() == 21
    trace = tt.play(policy, world, horizon=10_000)
    np.testing.assert_array_equal(trace.state(21), np.full(3, 0.5))
    assert trace.solves > 20
    assert np.isfinite(policy.learner.joint_radius())
    assert trace.regret <= policy.certificate.bound


def test_weights_and_missing_losses_in_a_long_run() -> None:
    world, w = factored(
        tt.Graph.cliques([3, 2]), seed=4, weights=[1.0, 2.0, 0.5, 1.0, 3.0], missing=0.2
    )
    policy = tt.JointLazyGraphLinUCB(
        world.problem,
        start=np.full(5, 0.5),
        radius=tt.Confidence(sigma=0.1, norm=world.norms),
        factor_norm=float(np.linalg.norm(w)),
    )
    trace = tt.play(policy, world, horizon=2000)
    assert trace.regret <= policy.certificate.bound
    # The good event, and that the estimate is of the true w.
    joint = policy.learner.joint
    policy.learner.absorb(world.problem.all_criteria)
    miss = joint.w - w
    assert miss @ joint.V @ miss <= policy.learner.joint_radius() ** 2


# Bad input.

BAD: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "no factors": ("factors is empty", lambda: {"factors": []}),
    "an empty factor": (r"factors\[1\] is empty", lambda: {"factors": [[0], []]}),
    "an unknown knob": (r"factors\[0\] names knob 7", lambda: {"factors": [[7]]}),
    "a criterion without": ("criterion 2 shares in no", lambda: {"factors": [[0, 1]]}),
    "shares of another shape": (r"shares has shape \(2, 2\)", lambda: {"shares": np.ones((2, 2))}),
    "a share outside": (r"shares\[0, 1\]", lambda: {"shares": np.full((3, 2), 1 / 3)}),
    "a negative share": (
        r"shares\[0, 0\] = -1",
        lambda: {"shares": [[-1.0, 0.0], [2.0, 0.5], [0.0, 0.5]]},
    ),
    "a share of NaN": (
        r"shares\[0, 0\] = nan",
        lambda: {"shares": [[np.nan, 0.0], [0.5, 0.5], [0.0, 0.5]]},
    ),
    "shares that do not sum to 1": (
        r"shares\[:, 1\] sum to 0.9",
        lambda: {"shares": [[0.5, 0.0], [0.5, 0.4], [0.0, 0.5]]},
    ),
    "no bound on w": (
        "factor_norm is missing",
        lambda: {"radius": tt.Confidence(sigma=1.0, norm=1.0)},
    ),
    "a negative bound": (
        "factor_norm = -1",
        lambda: {"radius": tt.Confidence(sigma=1.0, norm=1.0), "factor_norm": -1.0},
    ),
    "a covariance of another shape": ("covariance has shape", lambda: {"covariance": np.eye(2)}),
    "an asymmetric covariance": (
        "symmetric",
        lambda: {"covariance": np.eye(3) + np.triu(np.ones((3, 3)), 1)},
    ),
    "a covariance of NaN": ("finite", lambda: {"covariance": np.full((3, 3), np.nan)}),
    "a negative covariance": ("eigenvalues", lambda: {"covariance": -np.eye(3)}),
    "an indefinite covariance": ("eigenvalues", lambda: {"covariance": np.eye(3) - 0.9}),
    "no ridge": ("factor_reg = 0", lambda: {"factor_reg": 0.0}),
    "a negative reg": ("reg", lambda: {"reg": -1.0}),
    "words for reg": ("reg", lambda: {"reg": "much"}),
    "a factor of 1": ("factor = 1", lambda: {"factor": 1.0}),
    "an odd cold start": ("cold_start", lambda: {"cold_start": "warm"}),
    "a start outside": (r"start\[1\]", lambda: {"start": [0.5, 1.5, 0.5]}),
    "a negative seed": ("seed", lambda: {"seed": -1}),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    message, bad = BAD[case]
    options: dict[str, Any] = {"start": np.full(3, 0.5), "radius": 0.5}
    with pytest.raises(tt.InvalidInput, match=message):
        tt.JointLazyGraphLinUCB(tt.Problem(path(3), basis=tt.bases.Quadratic()), **options | bad())


def test_functions_of_a_criterion_are_refused() -> None:
    basis = tt.bases.Custom(function=lambda i, x: [1.0], bound=1.0)
    with pytest.raises(tt.InvalidInput, match="a factor is none"):
        Factors(tt.Problem(path(3), basis=basis))


def test_a_factor_that_nobody_shares_in_is_refused() -> None:
    with pytest.raises(tt.InvalidInput, match=r"factors\[1\] = \[0, 3\] lies within no criterion"):
        Factors(tt.Problem(path(4), basis=tt.bases.Quadratic()), factors=[[0, 1], [0, 3], [2, 3]])


def test_too_many_features_are_refused() -> None:
    graph = tt.Graph.from_scopes([range(150)], knobs=150)
    with pytest.raises(tt.InvalidInput, match="11476 features in all"):
        Factors(tt.Problem(graph, basis=tt.bases.Quadratic()))


def test_a_restored_policy_has_the_same_bounds() -> None:
    world, w = factored(path(3), seed=1)
    policy = tt.JointLazyGraphLinUCB(
        world.problem,
        start=np.full(3, 0.5),
        radius=tt.Confidence(sigma=0.1, norm=world.norms),
        factor_norm=float(np.linalg.norm(w)),
        covariance=scope_covariance(world.problem.graph, sigma=0.1, floor=0.1),
    )
    tt.play(policy, world, horizon=200)
    again = tt.restore(world.problem, policy.snapshot())
    assert isinstance(again, tt.JointLazyGraphLinUCB)
    left, right = policy.learner.bound, again.learner.bound
    for state in np.random.default_rng(0).random((5, 3)):
        assert left.interval(state) == right.interval(state)


def test_a_damaged_snapshot() -> None:
    problem = tt.Problem(path(3), basis=tt.bases.Quadratic())
    policy = tt.JointLazyGraphLinUCB(problem, start=np.full(3, 0.5), radius=0.5)
    saved = policy.snapshot()
    for message, spoiled in [
        ("incomplete: joint.shares", {k: v for k, v in saved.items() if k != "joint.shares"}),
        ("incomplete: joint.R", {k: v for k, v in saved.items() if k != "joint.R"}),
        ("damaged: joint.part", saved | {"joint.part": np.zeros(3)}),
        ("factors", saved | {"joint.factor_knobs": np.array([0, 1, 1, 9])}),
    ]:
        with pytest.raises(tt.InvalidInput, match=message):
            tt.restore(problem, spoiled)
