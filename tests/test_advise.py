"""The variant guide: every branch, its numbers by the bounds themselves, and runs within them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab import theory
from trimtab.estimators.joint_model import Factors
from trimtab.sim.worlds.joint import factored
from trimtab.theory.variants import DESIGN, Case

NAMES = [
    "LinUCB",
    "LazyGraphLinUCB",
    "AsyncLazyGraphLinUCB",
    "SteadyGraphLinUCB",
    "AdaptiveGraphLinUCB",
    "JointLazyGraphLinUCB",
    "LazyOGD",
]
KNOWN: dict[str, Any] = {"sigma": 0.1, "norm": 1.0}


def ring(k: int) -> tt.Graph:
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


def built(problem: tt.Problem, advice: theory.Advice) -> Any:
    """The policy that the advice is about."""
    kind = getattr(tt, advice.variant)
    where = problem.domain if kind is tt.LazyOGD else problem
    return kind(where, start=np.full(problem.knobs, 0.5), **advice.options)


def known(bound: float | None) -> float:
    assert bound is not None
    return bound


# Every branch, and that its options build the policy.


@pytest.mark.parametrize(
    ("variant", "problem", "horizon", "answers"),
    [
        ("SteadyGraphLinUCB", lambda: tt.Problem(ring(6), move_cost=100.0), 10**6, {}),
        ("SteadyGraphLinUCB", lambda: tt.Problem(ring(6), move_cost=0.01), 10**6, {}),
        ("SteadyGraphLinUCB", lambda: tt.Problem(ring(6)), 10**6, {}),
        ("SteadyGraphLinUCB", lambda: tt.Problem(ring(6), move_cost=1.0), 10**6, {"drift": True}),
        # One clique: local updates are global ones. Free moves: they save nothing.
        ("SteadyGraphLinUCB", lambda: tt.Problem(tt.Graph.complete(3), move_cost=1.0), 10**6, {}),
        ("SteadyGraphLinUCB", lambda: tt.Problem(tt.Graph.cliques([2, 2])), 10**6, {}),
        (
            "AsyncLazyGraphLinUCB",
            lambda: tt.Problem(tt.Graph.cliques([2, 2, 1]), move_cost=1.0),
            10**6,
            {},
        ),
        # Shorter than the looks that Algorithm 1 may need.
        ("LinUCB", lambda: tt.Problem(tt.Graph.complete(4)), 100, {}),
        ("SteadyGraphLinUCB", lambda: tt.Problem(tt.Graph.complete(4), move_cost=1.0), 100, {}),
        (
            "AdaptiveGraphLinUCB",
            lambda: tt.Problem(tt.Graph.complete(4), move_cost=1.0),
            10**6,
            {"graph_known": False, "gamma": 0.3},
        ),
        # The warm-up is longer than the horizon; a gamma is missing; the graph is known.
        (
            "SteadyGraphLinUCB",
            lambda: tt.Problem(tt.Graph.complete(4), move_cost=1.0),
            10**4,
            {"graph_known": False, "gamma": 0.003},
        ),
        (
            "SteadyGraphLinUCB",
            lambda: tt.Problem(tt.Graph.complete(4), move_cost=1.0),
            10**6,
            {"graph_known": False},
        ),
        (
            "SteadyGraphLinUCB",
            lambda: tt.Problem(tt.Graph.complete(4), move_cost=1.0),
            10**6,
            {"gamma": 0.3},
        ),
        # All knobs are read: there is nothing to be learned.
        (
            "SteadyGraphLinUCB",
            lambda: tt.Problem(tt.Graph.complete(4), move_cost=1.0),
            10**6,
            {"graph_known": False, "gamma": 0.3, "reads": 4},
        ),
        (
            "JointLazyGraphLinUCB",
            lambda: tt.Problem(tt.Graph.complete(4), move_cost=1.0),
            10**6,
            {"factor_norm": 1.0},
        ),
        (
            "JointLazyGraphLinUCB",
            lambda: tt.Problem(tt.Graph.complete(4), move_cost=1.0),
            10**6,
            {"factor_norm": 1.0, "correlated": True},
        ),
        (
            "SteadyGraphLinUCB",
            lambda: tt.Problem(tt.Graph.complete(4), move_cost=1.0),
            10**6,
            {"factor_norm": 1e6},
        ),
        # Its basis has no factors.
        (
            "SteadyGraphLinUCB",
            lambda: tt.Problem(
                tt.Graph.complete(3), basis=tt.bases.PairwiseQuadratic(), move_cost=1.0
            ),
            10**6,
            {"factor_norm": 1.0},
        ),
        (
            "LazyOGD",
            lambda: tt.Problem(ring(6), move_cost=2.0),
            10**4,
            {"adversarial": True, "lipschitz": 1.0, "budget": 50},
        ),
        ("LazyOGD", lambda: tt.Problem(ring(6), move_cost=2.0), 10**4, {"lipschitz": 1.0}),
        (
            "LazyOGD",
            lambda: tt.Problem(ring(6)),
            10**4,
            {"lipschitz": 1.0, "drift": True, "adversarial": True},
        ),
        ("SteadyGraphLinUCB", lambda: tt.Problem(ring(6)), 10**4, {"lipschitz": 1e6}),
        (
            "SteadyGraphLinUCB",
            lambda: tt.Problem(ring(6)),
            10**4,
            {"lipschitz": 1.0, "drift": True},
        ),
    ],
)
def test_recommended(
    variant: str, problem: Callable[[], tt.Problem], horizon: int, answers: dict[str, Any]
) -> None:
    case = problem()
    advice = theory.advise(case, horizon, **KNOWN, **answers)
    assert advice.variant == variant
    assert [row.name for row in advice.rows] == NAMES
    assert type(built(case, advice)) is getattr(tt, variant)
    for row in advice.rows:  # everything else has something against it
        assert bool(row.against) == (row.name != variant)
        assert row.guaranteed == (row.total is not None) == (row.regret is not None)
        if row.guaranteed:
            assert row.assumes
    assert advice.reasons
    assert all(re.fullmatch(r"[A-Z].*\.", reason) for reason in advice.reasons)
    assert str(advice).count("*") == 1
    assert f"* {variant}" in str(advice)


def test_steady_names_what_weighs_more() -> None:
    dear, cheap, free = (
        theory.advise(tt.Problem(ring(6), move_cost=price), 10**6, **KNOWN)
        for price in (100.0, 0.01, 0.0)
    )
    assert "exceeds its regret bound" in dear.reasons[0]
    assert "is below its regret bound" in cheap.reasons[0]
    assert "Moves are free" in free.reasons[0]
    lazy = dear.row("LazyGraphLinUCB")
    assert f"({known(lazy.price):,.0f})" in dear.reasons[0]
    assert f"({known(lazy.regret):,.0f})" in dear.reasons[0]


def test_a_bound_that_says_nothing_is_said_to() -> None:
    problem = tt.Problem(ring(4), move_cost=1.0)
    short, long = (theory.advise(problem, T, **KNOWN) for T in (100, 10**6))
    assert "says nothing yet" in short.reasons[-1]
    assert "says nothing" not in " ".join(long.reasons)


def test_a_known_range_of_the_losses() -> None:
    problem = tt.Problem(tt.Graph.complete(4), move_cost=1.0)
    rows = [
        theory.advise(problem, 10**4, worst=worst, graph_known=False, gamma=0.1, **KNOWN)
        for worst in (None, 8.0, 0.5)  # 2 * 4 * norm by default
    ]
    assert rows[0].rows == rows[1].rows
    steady, learner = ([a.row(name).total for a in rows] for name in NAMES[3:5])
    assert known(steady[0]) - known(steady[2]) == pytest.approx(2 * 7.5)
    _, tau, _ = Case(problem, 10**4, radius=tt.Confidence(**KNOWN), reg=1.0, factor=2.0).adaptive(
        0.1, 1
    )
    assert known(learner[0]) - known(learner[2]) == pytest.approx(tau * 7.5)


def test_what_is_left_in_a_world_that_drifts() -> None:
    advice = theory.advise(tt.Problem(ring(6), move_cost=1.0), 10**6, drift=True, **KNOWN)
    calm = theory.advise(tt.Problem(ring(6), move_cost=1.0), 10**6, **KNOWN)
    assert advice.options["alarm"] is True
    assert not any(row.guaranteed for row in advice.rows)
    assert advice.row("LazyGraphLinUCB").movement == calm.row("LazyGraphLinUCB").movement
    assert advice.row("SteadyGraphLinUCB").movement is None  # restarts are not counted
    assert "never forgets" in advice.row("LazyGraphLinUCB").against
    assert "graph is known" in advice.row("AdaptiveGraphLinUCB").against


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
    return tt.Problem(graph, weights=WEIGHTS, move_cost=PRICES, domain=domain)


def asked(problem: tt.Problem, **answers: Any) -> theory.Advice:
    return theory.advise(
        problem, T, sigma=SIGMA, norm=NORM, delta=DELTA, reg=REG, factor=C, **answers
    )


def theorem_1(problem: tt.Problem, *, factor: float) -> float:
    L = problem.features.bounds
    gains = theory.max_gain(problem.dims, T, reg=REG, bound=L)
    radii = SIGMA * np.sqrt(gains + 2 * np.log(4 / DELTA)) + np.sqrt(REG) * NORM
    return theory.prediction_regret(
        radii, gains, T, reg=REG, bound=L, factor=factor, weights=WEIGHTS
    )


def test_numbers_of_the_node_wise_variants() -> None:
    problem = uneven(tt.Graph.cliques([2, 2]))
    advice = asked(problem)
    L = problem.features.bounds
    gains = theory.max_gain(problem.dims, T, reg=REG, bound=L)
    looks = theory.max_epochs(problem.dims, T, reg=REG, bound=L, factor=C) + theory.max_reviews(T)
    D1, dear = float((HIGH - LOW).sum()), float(PRICES @ (HIGH - LOW))
    assert pytest.approx(problem.domain.diameter) == D1

    row = advice.row("LinUCB")
    assert row.regret == pytest.approx(theorem_1(problem, factor=1.0))
    assert (row.looks, row.expected_looks) == (T, T)
    assert row.movement == pytest.approx(theory.movement_regret(D1, T, move_cost=1.0))
    assert row.price == pytest.approx(theory.movement_regret(dear, T, move_cost=1.0))

    lazy = advice.row("LazyGraphLinUCB")
    assert lazy.regret == pytest.approx(theorem_1(problem, factor=C))
    assert lazy.looks == pytest.approx(looks)
    assert lazy.movement == pytest.approx(theory.movement_regret(D1, looks, move_cost=1.0))
    assert lazy.price == pytest.approx(theory.movement_regret(dear, looks, move_cost=1.0))
    assert lazy.total == pytest.approx(known(lazy.regret) + known(lazy.price))

    steady = advice.row("SteadyGraphLinUCB")
    start = 2 * 2 * float((WEIGHTS * NORM) @ L)  # two rounds at the largest loss difference
    assert steady.total == pytest.approx(known(lazy.total) + start)
    assert steady.regret == steady.total  # it trades one for the other
    assert (steady.price, steady.looks) == (lazy.price, lazy.looks)

    local = advice.row("AsyncLazyGraphLinUCB")
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
    advice = theory.advise(tt.Problem(graph, move_cost=1.0), 10**5, **KNOWN)
    row = advice.row("AsyncLazyGraphLinUCB")
    assert row.guaranteed is holds
    assert (row.regret is not None) is holds
    assert row.movement is not None  # part (c) holds on every graph
    if not holds:
        assert "no clique" in row.against


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
    problem = tt.Problem(tt.Graph.complete(6), move_cost=1.0)
    case = Case(problem, 10**6, radius=tt.Confidence(**KNOWN), reg=1.0, factor=2.0)
    _, tau, pays = case.adaptive(0.3, 1)
    assert pays == tau > 100  # the bounds alone would say less


def test_the_warm_up_of_the_policy_is_within_what_was_said() -> None:
    problem = tt.Problem(tt.Graph.complete(3), move_cost=1.0)
    advice = theory.advise(problem, 10**6, graph_known=False, gamma=0.05, **KNOWN)
    case = Case(problem, 10**6, radius=tt.Confidence(**KNOWN), reg=1.0, factor=2.0)
    _, tau, _ = case.adaptive(0.05, 1)
    policy = built(problem, advice)
    assert isinstance(policy, tt.AdaptiveGraphLinUCB)
    assert 0.1 * tau < policy.warmup.length <= tau
    assert policy.warmup.blocks <= DESIGN * int(problem.dims.max())
    assert f"{tau:,} rounds" in advice.reasons[0]


@pytest.mark.parametrize("correlated", [False, True])
def test_numbers_of_the_joint_variant(correlated: bool) -> None:
    problem = uneven(ring(4))
    advice = asked(problem, factor_norm=1.5, correlated=correlated)
    row = advice.row("JointLazyGraphLinUCB")
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
    row = asked(problem, lipschitz=G, budget=M).row("LazyOGD")
    step = asked(problem, lipschitz=G, budget=M, adversarial=True).options["step"]
    assert row.regret == pytest.approx(theory.ogd_regret(D, T, lipschitz=G, budget=M, step=step))
    assert row.movement == pytest.approx(
        min(theory.ogd_path(4, T, lipschitz=G, step=step), M * problem.domain.diameter)
    )
    assert row.looks == M
    assert row.expected_looks == T // math.ceil(T / M)

    def total(eta: float) -> float:
        regret = theory.ogd_regret(D, T, lipschitz=G, budget=T, step=eta)
        return regret + eta * G * T * float(np.linalg.norm(PRICES))

    best = asked(problem, lipschitz=G, adversarial=True).options["step"]
    assert all(total(best) < total(best * by) for by in (0.5, 0.99, 1.01, 2.0))
    free = theory.advise(tt.Problem(ring(4)), T, lipschitz=G, budget=M, adversarial=True, **KNOWN)
    assert free.options["step"] == pytest.approx(
        float(theory.ogd_step(2.0, T, lipschitz=G, budget=M)[0])
    )


# Runs stay within their rows.


@pytest.mark.parametrize(
    "kind",
    [tt.LinUCB, tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB, tt.SteadyGraphLinUCB],
)
def test_runs_stay_within_their_rows(kind: type[Any]) -> None:
    """With probability 0.95 or more; the seeds are fixed."""
    horizon = 300 if kind is tt.LinUCB else 20_000
    world = tt.worlds.quadratic(tt.Graph.cliques([2, 2]), seed=3, move_cost=2.0)
    advice = theory.advise(world.problem, horizon, sigma=0.1, norm=world.norms)
    row = advice.row(kind.__name__)
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
    advice = theory.advise(
        world.problem,
        10**5,
        sigma=0.3,
        norm=world.norms,
        reg=radius.balanced_reg,
        graph_known=False,
        gamma=0.3,
        reads=2,
    )
    assert advice.variant == "AdaptiveGraphLinUCB"
    policy = built(world.problem, advice)
    trace = tt.play(policy, world, horizon=10**5, seed=1)
    row = advice.row("AdaptiveGraphLinUCB")
    assert policy.graph == world.truth
    assert 0.0 < trace.regret <= known(row.regret)
    assert 1.0 < trace.movement <= known(row.movement)
    assert 5 < trace.solves <= known(row.looks)


def test_a_run_of_shared_factors_stays_within_its_row() -> None:
    """With probability 0.95 or more; the seed is fixed."""
    world, w = factored(tt.Graph.complete(3), seed=1, noise=tt.worlds.Gaussian(0.5))
    advice = theory.advise(
        world.problem,
        10**4,
        sigma=0.5,
        norm=world.norms,
        factor_norm=float(np.linalg.norm(w)),
    )
    assert advice.variant == "JointLazyGraphLinUCB"
    trace = tt.play(built(world.problem, advice), world, horizon=10**4, seed=1)
    row = advice.row("JointLazyGraphLinUCB")
    assert 0.0 < trace.regret <= known(row.regret)
    assert 1.0 < trace.movement <= known(row.movement)
    assert 5 < trace.solves <= known(row.looks)


def test_a_run_against_an_adversary_stays_within_its_row() -> None:
    problem = tt.Problem(ring(4), move_cost=0.1)
    advice = theory.advise(
        problem, 2000, adversarial=True, lipschitz=1.0, budget=100, sigma=1.0, norm=1.0
    )
    policy = built(problem, advice)
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
    row = advice.row("LazyOGD")
    assert 0.0 < regret <= known(row.regret)
    assert 0.0 < path <= known(row.movement)
    assert 10 < changes <= known(row.looks)


# What is refused, and what it is made of.


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"sigma": 0.0}, "sigma[0] = 0 must be greater than 0"),
        ({"sigma": None}, "sigma = None; the bounds depend on the noise"),
        ({"norm": -1.0}, "norm[0] = -1 must be at least 0"),
        ({"norm": [1.0, 1.0]}, "norm has shape (2,), expected (4,)"),
        ({"delta": 1.0}, "delta = 1; it must be finite, > 0 and < 1"),
        ({"reg": 0.0}, "reg[0] = 0 must be greater than 0"),
        ({"factor": 1.0}, "factor = 1; it must be finite, > 1"),
        ({"horizon": 0}, "horizon = 0; it must be at least 1"),
        ({"horizon": 1.5}, "horizon = 1.5; give a whole number"),
        ({"adversarial": True}, "lipschitz is missing; adversarial losses need gradients"),
        ({"lipschitz": 0.0}, "lipschitz = 0; it must be finite, > 0"),
        ({"lipschitz": 1.0, "budget": 0}, "budget = 0; it must be at least 1"),
        ({"lipschitz": 1.0, "budget": 2000}, "budget[0] = 2000 is above the horizon 1000"),
        ({"graph_known": False, "gamma": 0.0}, "gamma[0] = 0 must be greater than 0"),
        ({"graph_known": False, "gamma": 1.0, "reads": 0}, "reads = 0; it must be at least 1"),
        ({"worst": -1.0}, "worst = -1; it must be finite, >= 0"),
        ({"factor_norm": -1.0}, "factor_norm = -1; it must be finite, >= 0"),
    ],
    ids=str,
)
def test_bad_answers(answers: dict[str, Any], message: str) -> None:
    options = {"horizon": 1000, **KNOWN} | answers
    with pytest.raises(tt.InvalidInput, match=f"^{re.escape(message)}"):
        theory.advise(tt.Problem(ring(4)), **options)


def test_no_variant_is_left() -> None:
    problem = tt.Problem(ring(4), domain=tt.Box(levels={1: [0.0, 0.5, 1.0]}))
    with pytest.raises(tt.InvalidInput, match="nothing has a bound against an adversary here"):
        theory.advise(problem, 1000, adversarial=True, lipschitz=1.0, **KNOWN)
    row = theory.advise(problem, 1000, lipschitz=1.0, **KNOWN).row("LazyOGD")
    assert "levels" in row.against


def test_what_cannot_be_learned() -> None:
    """Nothing to exclude, or features of which no knob can be left out."""
    asked = {"graph_known": False, "gamma": 0.3} | KNOWN
    alone = theory.advise(tt.Problem(tt.Graph.from_edges(3, [])), 1000, **asked)
    assert "no scope" in alone.row("AdaptiveGraphLinUCB").against.lower()
    mixed = tt.Problem(tt.Graph.complete(2), basis=tt.bases.FourierFeatures(6, lengthscale=0.5))
    row = theory.advise(mixed, 1000, **asked).row("AdaptiveGraphLinUCB")
    assert "not possible here" in row.against
    assert row.total is None


def test_advice_is_plain_data() -> None:
    advice = theory.advise(tt.Problem(ring(4)), 1000, **KNOWN)
    with pytest.raises(FrozenInstanceError):
        advice.variant = "LinUCB"  # type: ignore[misc]
    with pytest.raises(tt.InvalidInput, match="variant 'Oracle' was not considered"):
        advice.row("Oracle")
    assert max(map(len, str(advice).splitlines())) <= 100
