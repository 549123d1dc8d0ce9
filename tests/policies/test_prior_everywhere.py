"""The prior with every policy and every basis: V0, a run that pays, snapshots, limits, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array
from trimtab.learn.statistics import unpack
from trimtab.learn.subset_refit import kept_features, on_graph
from trimtab.model.bases import Basis
from trimtab.model.domain import BoundBox, Domain
from trimtab.policies import Policy

SCOPES, CENTRES = [[0, 1], [1, 2], [0, 1]], [0, 2, 0]  # two criteria are alike


def custom(i: int, x: Array) -> list[float]:
    return [1.0, *x, float(np.sin(3.0 * x[0]))]


def slopes(i: int, x: Array) -> Array:
    wave = 3.0 * np.cos(3.0 * x[0]) * np.eye(x.size)[0]
    return np.vstack((np.zeros(x.size), np.eye(x.size), wave))


ANY = tt.bases.Custom(function=custom, jacobian=slopes, bound=3.0)
BASES: dict[str, Basis] = {
    "linear": tt.bases.Linear(),
    "linear with intercept": tt.bases.Linear(intercept=True),
    "polynomial": tt.bases.Polynomial(3),
    "quadratic": tt.bases.Quadratic(),
    "quadratic as it is": tt.bases.Quadratic(normalize=False),
    "products": tt.bases.Products(3),
    "pairwise": tt.bases.PairwiseQuadratic(),
    "fourier": tt.bases.FourierFeatures(16),
    "custom": ANY,
}
DOMAINS: dict[str, Domain] = {
    "box": tt.Box(),
    "sub-box": tt.Box(low=0.2, high=[0.9, 0.6, 1.0]),
    "levels": tt.Box(levels={0: [0.0, 0.25, 0.5, 1.0], 2: [0.0, 0.5, 1.0]}),
    "binary knob": tt.Box(levels={1: [0.0, 1.0]}),
    "fixed knob": tt.Box(low=[0.0, 0.4, 0.0], high=[1.0, 0.4, 1.0]),
}


def problem_of(basis: str, domain: str) -> tt.Problem:
    graph = tt.Graph.from_scopes(SCOPES, knobs=3, centres=CENTRES)
    return tt.Problem(graph, basis=BASES[basis], domain=DOMAINS[domain], weights=[1.0, 2.0, 0.5])


def balls(*, intercept: bool) -> tt.Problem:
    return tt.Problem(
        tt.Graph.from_scopes([[0, 1], [2, 3], [0, 1]], knobs=4),
        basis=tt.bases.Linear(intercept=intercept),
        domain=tt.Balls([[0, 1], [2, 3]]),
    )


PROBLEMS: dict[str, tt.Problem] = {
    **{f"{b}, {d}": problem_of(b, d) for b in BASES for d in DOMAINS},
    "linear, balls": balls(intercept=False),
    "linear with intercept, balls": balls(intercept=True),
}
# One of every basis, and one of every domain.
SOME = [
    *(f"{b}, box" for b in BASES),
    *(f"quadratic, {d}" for d in DOMAINS if d != "box"),
    *("linear, balls", "linear with intercept, balls"),
]

Make = Callable[..., Policy]
POLICIES: dict[str, Make] = {
    "LinUCB": tt.LinUCB,
    "Lazy": tt.LazyGraphLinUCB,
    "Async": tt.AsyncLazyGraphLinUCB,
    "Steady": tt.SteadyGraphLinUCB,
    "Pooled": tt.PooledGraphLinUCB,
    "Adaptive": tt.AdaptiveGraphLinUCB,
    "Joint": tt.JointLazyGraphLinUCB,
    "Scalar": tt.ScalarLinUCB,
}
NOT_NESTED = ("fourier", "custom")
NOT_SHARED = ("pairwise", *NOT_NESTED)


def goes(policy: str, problem: str) -> bool:
    """Whether the policy has such problems at all: two need to know what a feature is made of."""
    without = {"Adaptive": NOT_NESTED, "Joint": NOT_SHARED}.get(policy, ())
    return problem.split(",")[0] not in without


PLAYED = [(p, name) for p in POLICIES for name in SOME if goes(p, name)]


def K_of(problem: tt.Problem, i: int) -> Array:
    bound = tt.Prior().bind(problem)
    before = problem.dims[:i]
    start = int(((before + 1) * (before + 2) // 2).sum())
    d = int(problem.dims[i])
    L = unpack(bound.roots[bound.usual], start, d + 1)[:d, :d]
    return np.asarray(L @ L.T)


# V0.


@pytest.mark.parametrize("name", PROBLEMS)
def test_V0_is_positive_definite(name: str) -> None:
    problem = PROBLEMS[name]
    for i in range(problem.criteria):
        K = K_of(problem, i)
        values = np.linalg.eigvalsh(K)
        assert values[0] > 1e-13 * values[-1]
    rng = np.random.default_rng(0)
    learner = tt.LazyGraphLinUCB(problem, start=problem.domain.sample(rng)).learner
    for _ in range(10):
        spread = learner.lcb.predict(problem.domain.sample(rng), problem.all_criteria)[1]
        assert np.isfinite(spread).all()
        assert (spread > 0.0).all()


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("basis", [b for b in BASES if b not in NOT_NESTED])
def test_V0_of_a_part_of_the_scope_is_a_block_of_the_whole(basis: str, domain: str) -> None:
    """In the units of its features, which may be scaled by their number."""
    scopes = ([[0, 1, 2]], [[0, 1]], [[0, 2]], [[0]])
    whole, *parts = (
        tt.Problem(
            tt.Graph.from_scopes(scope, knobs=3, centres=[0]),
            basis=BASES[basis],
            domain=DOMAINS[domain],
        )
        for scope in scopes
    )
    K = K_of(whole, 0)
    for part in parts:
        kept, ratio = kept_features(whole, on_graph(whole, part.graph), 0)
        block = ratio**2 * K[np.ix_(kept, kept)]
        np.testing.assert_allclose(K_of(part, 0), block, rtol=1e-6, atol=1e-7 * np.abs(block).max())


# Runs.


def world_of(problem: tt.Problem) -> tuple[Array, Callable[[Array], Array]]:
    """A start, and losses that fall with every knob read, with a level where the basis has one."""
    domain, graph = problem.domain, problem.graph
    level = 3.0 if problem.has_constants else 0.0
    start = domain.project(np.full(problem.knobs, 0.5))
    if isinstance(domain, BoundBox):
        start = domain.project(0.85 * domain.high + 0.15 * domain.low)

    def losses(state: Array) -> Array:
        return np.array([level + state[graph.scope(i)].mean() for i in range(graph.criteria)])

    return start, losses


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "name"), PLAYED)
def test_a_run_pays_and_goes_on_from_its_snapshot_bit_for_bit(policy: str, name: str) -> None:
    """Told nothing, 60 rounds cost less than staying put; then a restored policy is the same.

    24 rounds are enough of policies that look in every round.
    """
    problem = PROBLEMS[name]
    start, losses = world_of(problem)
    rng = np.random.default_rng(5)
    made = POLICIES[policy](problem, start=start)
    assert made.learner.prior is not None
    excess = []
    rounds = 24 if policy in ("LinUCB", "Scalar") else 60
    for _ in range(rounds):
        state = made.ask()
        problem.domain.check(state)
        excess.append(problem.weights @ (losses(state) - losses(start)))
        made.tell(losses(state) + 0.05 * rng.standard_normal(problem.criteria))
    assert np.mean(excess) < -0.05
    assert np.mean(excess[rounds // 2 :]) < np.mean(excess[: rounds // 2])
    assert made.learner.scales is not None
    assert not made.certificate.certified
    again = tt.restore(problem, made.snapshot())
    for _ in range(12):
        y = losses(made.ask()) + 0.05 * rng.standard_normal(problem.criteria)
        y[rng.random(y.size) < 0.2] = np.nan
        told, same = made.tell(y), again.tell(y)
        assert (told.cause, told.moved) == (same.cause, same.moved)
        np.testing.assert_array_equal(made.ask(), again.ask())
    assert made.certificate == again.certificate


# Which V0 when.


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": tt.Prior(), "reg": 1.0}, "prior with radius or reg"),
        ({"prior": tt.Prior(), "radius": 1.0, "gamma": 1.0}, "prior with radius or reg"),
        ({"reg": 1.0}, "reg without radius"),
    ],
)
def test_contradictions_are_refused(policy: str, options: dict[str, Any], message: str) -> None:
    given = {key: x for key, x in options.items() if key != "gamma" or policy == "Adaptive"}
    with pytest.raises(tt.InvalidInput, match=message):
        POLICIES[policy](problem_of("quadratic", "box"), start=[0.5] * 3, **given)


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_told_is_believed(policy: str) -> None:
    problem = problem_of("quadratic", "box")
    options = {"noise": "independent"} if policy == "Pooled" else {}
    m = 1 if policy == "Scalar" else problem.criteria
    prior = tt.Prior(spread=np.full(m, 2.0), sigma=np.full(m, 0.3))
    made = POLICIES[policy](problem, start=[0.5] * 3, prior=prior, **options)
    rng = np.random.default_rng(0)
    for _ in range(20):
        made.tell(rng.standard_normal(problem.criteria))
    scales = made.learner.scales
    assert scales is not None
    np.testing.assert_allclose(scales.spread, 2.0, rtol=1e-12)
    expected = [0.3] * m
    if policy == "Pooled":  # criteria 0 and 2 with weights 1 and 1/2, and criterion 1
        expected = [0.3 * np.sqrt(1.0 + 0.25) / 1.5, 0.3]
    np.testing.assert_allclose(scales.sigma, expected)


@pytest.mark.parametrize("kind", [tt.PooledGraphLinUCB, tt.AdaptiveGraphLinUCB])
@pytest.mark.parametrize("then", [tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB])
def test_other_policies_inside(kind: Any, then: Any) -> None:
    world = tt.worlds.quadratic(tt.Graph.complete(3), seed=1)
    policy = kind(world.problem, start=[0.5] * 3, then=then)
    assert type(policy.inner) is then
    assert tt.play(policy, world, horizon=100, seed=1).moves > 2
    with pytest.raises(tt.InvalidInput, match="cuts single losses"):
        tt.play(policy, world, horizon=10, path="events")


def test_single_losses_are_played_one_by_one() -> None:
    world = tt.worlds.quadratic(tt.Graph.complete(3), seed=1)
    policy = tt.JointLazyGraphLinUCB(world.problem, start=[0.5] * 3)
    assert not policy.sums_suffice
    with pytest.raises(tt.InvalidInput, match="cuts single losses"):
        tt.play(policy, world, horizon=10, path="events")


# Limits.

LIMITED: dict[str, Callable[[tt.Problem], Any]] = {
    "Pooled": lambda problem: tt.PooledGraphLinUCB(problem, start=[0.5] * 3),
    "Adaptive": lambda problem: tt.AdaptiveGraphLinUCB(problem, start=[0.5] * 3, warmup=40),
    "Adaptive, iid": lambda problem: tt.AdaptiveGraphLinUCB(
        problem, start=[0.5] * 3, warmup=40, design="iid"
    ),
    "Joint": lambda problem: tt.JointLazyGraphLinUCB(problem, start=[0.5] * 3),
    "Joint, proven": lambda problem: tt.JointLazyGraphLinUCB(
        problem, start=[0.5] * 3, radius=tt.Confidence(sigma=0.1, norm=3.0), factor_norm=3.0
    ),
    "Pooled, proven": lambda problem: tt.PooledGraphLinUCB(
        problem, start=[0.5] * 3, radius=0.5, noise="correlated"
    ),
}


@pytest.mark.parametrize("name", LIMITED)
@pytest.mark.parametrize("domain", ["box", "levels"])
def test_within_limits_every_answer(name: str, domain: str) -> None:
    problem = problem_of("quadratic", domain)
    policy = LIMITED[name](problem)
    low, high = np.array([0.2, 0.4, 0.5]), np.array([0.5, 0.6, 1.0])
    policy.within(low, high)
    rng = np.random.default_rng(2)
    states = []
    for t in range(80):
        state = policy.ask()
        states.append(state)
        assert (state >= low).all()
        assert (state <= high).all()
        policy.tell(3.0 * state[[0, 1, 2]] + 0.1 * rng.standard_normal(3))
        if t == 20:
            policy = tt.restore(problem, policy.snapshot())
    assert len(np.unique(states, axis=0)) > 1
    policy.within(None, None)
    for _ in range(100):
        policy.tell(3.0 * policy.ask() + 0.1 * rng.standard_normal(3))
    assert policy.ask()[1] < 0.4


def test_the_tour_goes_as_far_as_the_limits_allow_and_on_as_they_move() -> None:
    problem = problem_of("quadratic", "box")
    design = [[1.0, 1.0, 1.0]]
    policy = tt.AdaptiveGraphLinUCB(problem, start=[0.5] * 3, warmup=8, design=design)
    np.testing.assert_array_equal(policy.ask(), 1.0)
    policy.place([0.5] * 3)  # somebody holds it back: it may go a tenth at a time
    seen = []
    for t in range(7):
        state = policy.ask()
        policy.within(state - 0.1, np.minimum(state + 0.1, 1.0))
        told = policy.tell([float(t), 1.0, 1.0])
        assert told.moved == pytest.approx(np.abs(policy.ask() - state).sum(), abs=1e-12)
        assert (told.cause == "review") == (told.moved > 0.0)
        seen.append(policy.ask()[0])
    np.testing.assert_allclose(seen, [0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0])
    assert policy.warming


def test_balls_cannot_be_limited() -> None:
    for kind in (tt.PooledGraphLinUCB, tt.AdaptiveGraphLinUCB, tt.JointLazyGraphLinUCB):
        policy: Any = kind(balls(intercept=True), start=[0.0] * 4)
        with pytest.raises(tt.InvalidInput, match="only a box can be narrowed"):
            policy.within(0.0, 0.5)


# Rows.


@pytest.mark.parametrize("name", LIMITED)
def test_rows_are_told_as_single_rounds_are(name: str) -> None:
    problem = problem_of("quadratic", "box")
    rows = np.random.default_rng(3).standard_normal((70, 3))
    rows[40, 1] = np.nan
    one, many = LIMITED[name](problem), LIMITED[name](problem)
    done = 0
    while done < len(rows):
        taken, _ = many.tell_rows(rows[done:])
        for row in rows[done : done + taken]:
            one.tell(row)
        done += taken
        np.testing.assert_allclose(many.ask(), one.ask(), atol=1e-9)
    assert many.rounds == one.rounds == 70
    for i in range(many.learner.problem.criteria):
        V = one.learner.estimators.V(i)
        np.testing.assert_allclose(many.learner.estimators.V(i), V, rtol=1e-9, atol=1e-9)
