"""The bounds of every variant: their numbers by the formulas themselves, and runs within them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab import theory
from trimtab.learn.joint.model import Factors
from trimtab.sim.worlds.joint import factored
from trimtab.theory.variants import DESIGN, Case, descent

KNOWN: dict[str, Any] = {"sigma": 0.1, "norm": 1.0}


def ring(k: int) -> tt.Graph:
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


def known(bound: float | None) -> float:
    assert bound is not None
    return bound


def case_of(problem: tt.Problem, horizon: int, *, reg: Any = 1.0, **known: Any) -> Case:
    radius = tt.Confidence(**(known or KNOWN))
    return Case(problem, horizon, radius=radius, reg=reg, factor=2.0)


# Numbers: by the functions of theory, on a problem in which nothing is 1.

WEIGHTS = np.array([1.0, 2.0, 0.5, 1.5])
PRICES = np.array([1.0, 3.0, 0.0, 2.0])
REG = np.array([0.5, 1.0, 2.0, 0.1])
SIGMA = np.array([0.1, 0.2, 0.3, 0.4])
NORM = np.array([1.0, 2.0, 1.0, 0.5])
LOW, HIGH = np.array([0.0, 0.1, 0.0, 0.5]), np.array([1.0, 0.9, 0.5, 1.0])
T, C, DELTA = 12345, 3.0, 0.1


def uneven(graph: tt.Graph) -> tt.Problem:
    domain = tt.Box(low=LOW.tolist(), high=HIGH.tolist())
    return tt.Problem(
        graph, basis=tt.bases.Quadratic(), weights=WEIGHTS, move_cost=PRICES, domain=domain
    )


def asked(problem: tt.Problem, worst: float | None = None) -> Case:
    radius = tt.Confidence(sigma=SIGMA, norm=NORM, delta=DELTA)
    return Case(problem, T, radius=radius, reg=REG, factor=C, worst=worst)


def theorem_1(problem: tt.Problem, *, factor: float) -> float:
    L = problem.features.bounds
    gains = theory.max_gain(problem.dims, T, reg=REG, bound=L)
    radii = SIGMA * np.sqrt(gains + 2 * np.log(4 / DELTA)) + np.sqrt(REG) * NORM
    return theory.prediction_regret(
        radii, gains, T, reg=REG, bound=L, factor=factor, weights=WEIGHTS
    )


def test_numbers_of_the_node_wise_variants() -> None:
    problem = uneven(tt.Graph.cliques([2, 2]))
    case = asked(problem)
    L = problem.features.bounds
    gains = theory.max_gain(problem.dims, T, reg=REG, bound=L)
    looks = theory.max_epochs(problem.dims, T, reg=REG, bound=L, factor=C) + theory.max_reviews(T)
    D1, dear = float((HIGH - LOW).sum()), float(PRICES @ (HIGH - LOW))
    assert pytest.approx(problem.domain.diameter) == D1

    row = case.linucb()
    assert row.regret == pytest.approx(theorem_1(problem, factor=1.0))
    assert (row.looks, row.expected_looks) == (T, T)
    assert row.movement == pytest.approx(theory.movement_regret(D1, T, move_cost=1.0))
    assert row.price == pytest.approx(theory.movement_regret(dear, T, move_cost=1.0))

    lazy = case.lazy()
    assert lazy.regret == pytest.approx(theorem_1(problem, factor=C))
    assert lazy.looks == pytest.approx(looks)
    assert lazy.movement == pytest.approx(theory.movement_regret(D1, looks, move_cost=1.0))
    assert lazy.price == pytest.approx(theory.movement_regret(dear, looks, move_cost=1.0))
    assert lazy.total == pytest.approx(known(lazy.regret) + known(lazy.price))

    steady = case.steady()
    start = 2 * 2 * float((WEIGHTS * NORM) @ L)  # two rounds at the largest loss difference
    assert steady.total == pytest.approx(known(lazy.total) + start)
    assert steady.regret == steady.total  # it trades one for the other
    assert (steady.price, steady.looks) == (lazy.price, lazy.looks)

    local = case.local()
    width = HIGH - LOW
    near = theory.local_movement(
        [width[:2].sum()] * 2 + [width[2:].sum()] * 2, gains, factor=C
    ) + theory.movement_regret(D1, theory.max_reviews(T), move_cost=1.0)
    assert local.movement == pytest.approx(near)
    assert local.regret == lazy.regret
    assert known(local.total) < known(lazy.total)


@pytest.mark.parametrize(
    ("graph", "holds"),
    [
        (tt.Graph.cliques([3, 1]), True),
        (tt.Graph.complete(4), True),
        (tt.Graph.from_edges(4, []), True),
        (tt.Graph.from_edges(4, [(0, 1), (1, 2)]), False),
        (ring(4), False),
        (tt.Graph.from_scopes([[0, 1], [1, 0], [2, 3], [2]], knobs=4), False),
        (tt.Graph.from_scopes([[0, 1], [1, 0], [2, 3], [2, 3]], knobs=5), True),  # one unread
    ],
)
def test_async_has_a_regret_bound_on_cliques_only(graph: tt.Graph, holds: bool) -> None:
    row = case_of(tt.Problem(graph, basis=tt.bases.Quadratic(), move_cost=1.0), 10**5).local()
    assert row.guaranteed is holds
    assert (row.regret is not None) is holds
    assert row.movement is not None  # part (c) holds on every graph


def test_lengths_on_balls() -> None:
    price = np.array([1.0, 2.0, 3.0])
    problem = tt.Problem(
        tt.Graph.from_scopes([[0, 2], [1], [0, 1, 2]], knobs=3),
        basis=tt.bases.Linear(),
        domain=tt.Balls([[0, 2], [1]]),
        move_cost=price,
    )
    case = Case(problem, 100, radius=tt.Confidence(sigma=1.0, norm=1.0), reg=1.0, factor=2.0)
    assert case.lengths.sum() == pytest.approx(problem.domain.diameter)
    rng = np.random.default_rng(0)
    pairs = [(problem.domain.sample(rng), problem.domain.sample(rng)) for _ in range(2000)]
    largest = max(float(price @ np.abs(x - y)) for x, y in pairs)
    assert 0.7 * case.prices.sum() < largest <= case.prices.sum()
    x = np.array([1.0, 0.0, 3.0]) / math.sqrt(10)  # the ends of the diameter
    x[1] = 1.0
    assert float(price @ np.abs(2 * x)) == pytest.approx(float(case.prices.sum()))


def test_numbers_of_the_adaptive_variant() -> None:
    problem = uneven(tt.Graph.complete(4))
    case = Case(
        problem,
        T,
        radius=tt.Confidence(sigma=SIGMA, norm=NORM, delta=DELTA),
        reg=REG,
        factor=C,
    )
    row, tau, pays = case.adaptive([0.2, 0.3, 0.4, 0.5], 2)
    gains = theory.max_gain(problem.dims, T, reg=REG, bound=problem.features.bounds)
    radii = theory.confidence_radius(gains, sigma=SIGMA, norm=NORM, reg=REG, delta=DELTA / 2)
    told = theory.kappa(problem)
    each = [
        theory.warmup_rounds(beta, kappa=told, gamma=gamma)
        for beta, gamma in zip(radii.tolist(), [0.2, 0.3, 0.4, 0.5], strict=True)
    ]
    assert tau == math.ceil(max(each))
    worst = 2 * float((WEIGHTS * NORM) @ problem.features.bounds)
    scopes = [[0, 1], [0, 1], [0, 2], [0, 3]]  # the centre, and the first of the others
    sparse = uneven(tt.Graph.from_scopes(scopes, knobs=4, centres=[0, 1, 2, 3]))
    small = theory.max_gain(sparse.dims, T, reg=REG, bound=sparse.features.bounds)
    later = theory.prediction_regret(
        theory.confidence_radius(small, sigma=SIGMA, norm=NORM, reg=REG, delta=DELTA / 4),
        small,
        T,
        reg=REG,
        bound=sparse.features.bounds,
        factor=C,
        weights=WEIGHTS,
    )
    assert row.regret == pytest.approx(theory.adaptive_regret(tau, later, worst=worst, path=0.0))
    tour = 8 * int(problem.dims.max()) * float(PRICES @ (HIGH - LOW))

    def given(rounds: int) -> float:  # Algorithm 1 on the super-graph
        gains = theory.max_gain(problem.dims, rounds, reg=REG, bound=problem.features.bounds)
        radii = theory.confidence_radius(gains, sigma=SIGMA, norm=NORM, reg=REG, delta=DELTA)
        looks = float(gains.sum()) / math.log(C) + theory.max_reviews(rounds)
        return theory.prediction_regret(
            radii,
            gains,
            rounds,
            reg=REG,
            bound=problem.features.bounds,
            factor=C,
            weights=WEIGHTS,
        ) + float(PRICES @ (HIGH - LOW)) * (looks + 1)

    assert case.cost(T) == pytest.approx(given(T))
    # It pays at its break-even horizon and not before, unless the warm-up is what takes longest.
    late = case.adaptive([0.02] * 4, 2)
    assert tau < late[1] <= late[2] < math.inf
    assert tau <= pays <= late[2]
    once = theory.break_even(
        tau * worst + tour,
        learned=lambda rounds: Case(sparse, T, radius=case.radius, reg=REG, factor=C).cost(
            rounds, share=0.25
        ),
        given=given,
    )
    assert pays == max(once, tau)


def test_nothing_pays_before_the_warm_up_is_over() -> None:
    problem = tt.Problem(tt.Graph.complete(6), basis=tt.bases.Quadratic(), move_cost=1.0)
    case = Case(problem, 10**6, radius=tt.Confidence(**KNOWN), reg=1.0, factor=2.0)
    _, tau, pays = case.adaptive(0.3, 1)
    assert pays == tau > 100  # the bounds alone would say less


def test_the_warm_up_of_the_policy_is_within_what_was_said() -> None:
    problem = tt.Problem(tt.Graph.complete(3), basis=tt.bases.Quadratic(), move_cost=1.0)
    _, tau, _ = case_of(problem, 10**6).adaptive(0.05, 1)
    policy = tt.AdaptiveGraphLinUCB(
        problem, start=[0.5] * 3, radius=tt.Confidence(**KNOWN), gamma=0.05
    )
    assert 0.1 * tau < policy.warmup.length <= tau
    assert policy.warmup.blocks <= DESIGN * int(problem.dims.max())


@pytest.mark.parametrize("correlated", [False, True])
def test_numbers_of_the_joint_variant(correlated: bool) -> None:
    problem = uneven(ring(4))
    row, _ = asked(problem).joint(1.5, correlated=correlated)
    covariance = np.diag(SIGMA * SIGMA.sum()) if correlated else None
    policy = tt.JointLazyGraphLinUCB(
        problem,
        start=[0.3, 0.5, 0.3, 0.6],
        radius=tt.Confidence(sigma=SIGMA, norm=NORM, delta=DELTA),
        reg=REG,
        factor=C,
        factor_norm=1.5,
        covariance=covariance,
    )
    options = policy.learner.options
    if covariance is not None:  # the ridge follows the whitened features
        options = replace(options, reg=options.reg / float(np.diag(covariance).mean()))
        policy.learner.options = options
    factors = Factors(problem)
    S = np.ones(4) if covariance is None else np.diag(covariance)
    rows = (factors.shares * factors.features.bounds) / np.sqrt(S)[:, None]
    gain = theory.max_joint_gain(
        factors.dim, T, reg=options.reg, frobenius=float(np.linalg.norm(rows))
    )
    policy.learner.joint.gain = gain  # the radius of the policy, had it learned so much
    beta = policy.learner.joint_radius()
    assert row.regret == pytest.approx(
        theory.joint_regret(
            beta,
            gain,
            T,
            reg=options.reg,
            norm=float(np.linalg.norm(rows, 2)),
            load=float(WEIGHTS**2 @ S),
            factor=C,
        )
    )
    looks = theory.max_joint_epochs(gain, factor=C) + theory.max_reviews(T)
    assert row.looks == pytest.approx(looks)


def test_the_covariance_suggested_is_above_every_other() -> None:
    """Of the same variances, correlated within components."""
    problem = uneven(tt.Graph.cliques([3, 1]))
    case = Case(problem, T, radius=tt.Confidence(sigma=SIGMA, norm=NORM), reg=REG, factor=C)
    above = case.covariance()
    rng = np.random.default_rng(0)
    least = math.inf
    for n in range(300):
        B = rng.normal(size=(3, 1 + n % 3))
        B[rng.random(3) < 0.2] *= 0.1
        B /= np.linalg.norm(B, axis=1, keepdims=True)
        S = np.zeros((4, 4))
        S[:3, :3] = SIGMA[:3, None] * (B @ B.T) * SIGMA[:3]
        S[3, 3] = SIGMA[3] ** 2
        least = min(least, float(np.linalg.eigvalsh(np.diag(above) - S)[0]))
    assert least >= -1e-12
    assert least < 1e-3  # and not far above


def test_numbers_of_gradient_descent() -> None:
    problem = uneven(ring(4))
    D, G, M = problem.domain.diameter_l2, 3.0, 100
    row, step = descent(problem, T, lipschitz=G, budget=M)
    assert row.regret == pytest.approx(theory.ogd_regret(D, T, lipschitz=G, budget=M, step=step))
    assert row.movement == pytest.approx(
        min(theory.ogd_path(4, T, lipschitz=G, step=step), M * problem.domain.diameter)
    )
    assert row.looks == M
    assert row.expected_looks == T // math.ceil(T / M)

    def total(eta: float) -> float:
        regret = theory.ogd_regret(D, T, lipschitz=G, budget=T, step=eta)
        return regret + eta * G * T * float(np.linalg.norm(PRICES))

    _, best = descent(problem, T, lipschitz=G, budget=None)
    assert all(total(best) < total(best * by) for by in (0.5, 0.99, 1.01, 2.0))
    _, free = descent(tt.Problem(ring(4), basis=tt.bases.Quadratic()), T, lipschitz=G, budget=M)
    assert free == pytest.approx(float(theory.ogd_step(2.0, T, lipschitz=G, budget=M)[0]))


# Runs stay within their rows.


@pytest.mark.parametrize(
    "kind",
    [tt.LinUCB, tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB, tt.SteadyGraphLinUCB],
)
def test_runs_stay_within_their_rows(kind: type[Any]) -> None:
    """With probability 0.95 or more; the seeds are fixed."""
    horizon = 300 if kind is tt.LinUCB else 20_000
    world = tt.worlds.quadratic(tt.Graph.cliques([2, 2]), seed=3, move_cost=2.0)
    case = case_of(world.problem, horizon, sigma=0.1, norm=world.norms)
    rows = (case.linucb(), case.lazy(), case.local(), case.steady())
    row = {each.name: each for each in rows}[kind.__name__]
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    options = {} if kind is tt.LinUCB else {"factor": 2.0}
    policy = kind(world.problem, start=[0.5] * 4, radius=radius, **options)
    trace = tt.play(policy, world, horizon=horizon, seed=1)
    assert 0.0 < trace.regret <= known(row.regret)
    assert 1.0 < trace.movement <= known(row.movement)
    assert trace.move_cost <= known(row.price)
    assert trace.regret + trace.move_cost <= known(row.total)
    assert 5 < trace.solves <= known(row.looks)
    assert policy.certificate.bound <= known(row.total)


def test_a_run_that_learns_the_graph_stays_within_its_row() -> None:
    """With probability 0.95 or more; the seed is fixed. Every criterion reads two knobs."""
    world = tt.worlds.sparse(4, degree=1, gamma=0.3, seed=2, move_cost=1.0)
    radius = tt.Confidence(sigma=0.3, norm=world.norms)
    reg = radius.balanced_reg
    row, _, _ = case_of(world.problem, 10**5, reg=reg, sigma=0.3, norm=world.norms).adaptive(0.3, 2)
    policy = tt.AdaptiveGraphLinUCB(
        world.problem, start=[0.5] * 4, radius=radius, reg=reg, gamma=0.3
    )
    trace = tt.play(policy, world, horizon=10**5, seed=1)
    assert policy.graph == world.truth
    assert 0.0 < trace.regret <= known(row.regret)
    assert 1.0 < trace.movement <= known(row.movement)
    assert 5 < trace.solves <= known(row.looks)


def test_a_run_of_shared_factors_stays_within_its_row() -> None:
    """With probability 0.95 or more; the seed is fixed."""
    world, w = factored(tt.Graph.complete(3), seed=1, noise=tt.worlds.Gaussian(0.5))
    length = float(np.linalg.norm(w))
    radius = tt.Confidence(sigma=0.5, norm=world.norms)
    row, reg = case_of(world.problem, 10**4, sigma=0.5, norm=world.norms).joint(
        length, correlated=False
    )
    policy = tt.JointLazyGraphLinUCB(
        world.problem, start=[0.5] * 3, radius=radius, factor_norm=length, factor_reg=reg
    )
    trace = tt.play(policy, world, horizon=10**4, seed=1)
    assert 0.0 < trace.regret <= known(row.regret)
    assert 1.0 < trace.movement <= known(row.movement)
    assert 5 < trace.solves <= known(row.looks)


def test_a_run_against_an_adversary_stays_within_its_row() -> None:
    problem = tt.Problem(ring(4), basis=tt.bases.Quadratic(), move_cost=0.1)
    row, step = descent(problem, 2000, lipschitz=1.0, budget=100)
    policy = tt.LazyOGD(
        problem.domain, start=[0.5] * 4, horizon=2000, lipschitz=1.0, budget=100, step=step
    )
    rng = np.random.default_rng(5)
    gradients = rng.normal(size=(2000, 4)) + np.array([1.0, -1.0, 0.5, 0.0])
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    loss = path = 0.0
    changes = 0
    for g in gradients:
        before = policy.ask()
        loss += float(g @ before)
        policy.tell(g)
        path += float(np.abs(policy.ask() - before).sum())
        changes += not np.array_equal(policy.ask(), before)
    total = gradients.sum(axis=0)
    regret = loss - float(np.minimum(total, 0.0).sum())
    assert 0.0 < regret <= known(row.regret)
    assert 0.0 < path <= known(row.movement)
    assert 10 < changes <= known(row.looks)


def test_a_known_range_of_the_losses() -> None:
    problem = tt.Problem(tt.Graph.complete(4), basis=tt.bases.Quadratic(), move_cost=1.0)
    radius = tt.Confidence(**KNOWN)
    cases = [
        Case(problem, 10**4, radius=radius, reg=1.0, factor=2.0, worst=worst)
        for worst in (None, 8.0, 0.5)  # 2 * 4 * norm by default
    ]
    assert cases[0].steady() == cases[1].steady()
    assert known(cases[0].steady().total) - known(cases[2].steady().total) == pytest.approx(2 * 7.5)
    learners = [case.adaptive(0.1, 1) for case in cases]
    tau = learners[0][1]
    gap = known(learners[0][0].total) - known(learners[2][0].total)
    assert gap == pytest.approx(tau * 7.5)


def test_what_has_no_bound_says_why() -> None:
    """Nothing to exclude, features of which no knob can be left out, levels."""
    alone = case_of(
        tt.Problem(tt.Graph.from_edges(3, []), basis=tt.bases.Quadratic()), 1000
    ).adaptive(0.3, 1)[0]
    assert "no scope" in alone.lacks
    mixed = tt.Problem(tt.Graph.complete(2), basis=tt.bases.FourierFeatures(6, lengthscale=0.5))
    bound = case_of(mixed, 1000).adaptive(0.3, 1)[0]
    assert "not possible here" in bound.lacks
    assert bound.total is None
    assert not bound.guaranteed
    levels = tt.Problem(
        ring(4), basis=tt.bases.Quadratic(), domain=tt.Box(levels={1: [0.0, 0.5, 1.0]})
    )
    assert "levels" in descent(levels, 1000, lipschitz=1.0, budget=None)[0].lacks
