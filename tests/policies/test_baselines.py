"""What policies are measured against: staying, guessing, the naive reduction, on or off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array
from trimtab.model.bases import (
    Custom,
    FourierFeatures,
    Linear,
    Monomials,
    PairwiseQuadratic,
    Polynomial,
    Quadratic,
)
from trimtab.model.domain import BoundBox
from trimtab.policies.pooled.scalar import Total

RING = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])


def world_of(*, move_cost: float = 0.0) -> tt.worlds.World:
    return tt.worlds.quadratic(RING, seed=1, move_cost=move_cost)


# Staying and guessing


def test_a_fixed_state_costs_its_loss() -> None:
    world = world_of()
    trace = tt.play(tt.FixedState(world.problem, start=[0.2] * 4), world, horizon=50)
    assert trace.loss == pytest.approx(50 * world.loss(np.full(4, 0.2)))
    assert (trace.moves, trace.solves, trace.movement) == (0, 0, 0.0)


def test_a_fixed_state_stays_where_it_is_put() -> None:
    policy = tt.FixedState(world_of().problem, start=[0.2] * 4)
    policy.place([0.7] * 4)
    for _ in range(5):
        told = policy.tell(np.ones(4))
    assert (told.cause, told.moved, told.next_review) == ("none", 0.0, 2**62)
    assert policy.ask().tolist() == [0.7] * 4


@pytest.mark.parametrize("every", [1, 7])
def test_random_states_change_on_time(every: int) -> None:
    policy = tt.RandomState(world_of().problem, start=[0.2] * 4, every=every, seed=5)
    seen = [policy.ask()]
    for t in range(1, 50):
        told = policy.tell(np.ones(4))
        seen.append(policy.ask())
        assert (told.cause == "review") == (told.moved > 0.0) == (t % every == 0)
        assert told.next_review == every - t % every
    assert len(np.unique(seen, axis=0)) == 49 // every + 1


def test_random_states_cover_the_domain() -> None:
    """Their mean is the middle of the box; five standard errors, 6e-7 a knob."""
    problem = tt.Problem(
        RING, basis=tt.bases.Quadratic(), domain=tt.Box(low=0.2, levels={2: [0.2, 1.0]})
    )
    policy = tt.RandomState(problem, start=[0.2] * 4)
    states = []
    for _ in range(500):
        policy.tell(np.ones(4))
        states.append(problem.domain.check(policy.ask()))
    error = np.std(states, axis=0) / np.sqrt(500)
    assert (np.abs(np.mean(states, axis=0) - 0.6) < 5 * error).all()


def test_a_batch_may_pass_several_changes() -> None:
    policy = tt.RandomState(world_of().problem, start=[0.2] * 4, every=3)
    told = policy.tell(np.ones(4), count=10)
    assert (told.cause, told.next_review, policy.rounds) == ("review", 3, 10)


def test_bad_every() -> None:
    with pytest.raises(tt.InvalidInput, match="every = 0"):
        tt.RandomState(world_of().problem, start=[0.2] * 4, every=0)


# The naive reduction


def odd(criterion: int, x: Array) -> list[float]:
    return [1.0, float(np.sin(3 * x).sum()) / 4, float(x[0] * x[-1])]


def slopes(criterion: int, x: Array) -> Array:
    J = np.zeros((3, x.size))
    J[1] = 3 * np.cos(3 * x) / 4
    J[2, 0] += x[-1]
    J[2, -1] += x[0]
    return J


PROBLEMS: dict[str, Callable[[], tt.Problem]] = {
    "quadratic": lambda: tt.Problem(RING, basis=tt.bases.Quadratic(), weights=[1.0, 2.0, 0.5, 1.0]),
    "pairwise, raw": lambda: tt.Problem(RING, basis=PairwiseQuadratic(normalize=False)),
    "powers": lambda: tt.Problem(tt.Graph.from_scopes([[0, 3], [2]], knobs=4), basis=Polynomial(3)),
    "linear": lambda: tt.Problem(RING, basis=Linear(intercept=True)),
    "balls": lambda: tt.Problem(
        tt.Graph.from_scopes([[0, 1], [2, 3], [0, 1, 2, 3]], knobs=4),
        basis=Linear(intercept=True),
        domain=tt.Balls([[0, 1], [2, 3]]),
    ),
    "Fourier": lambda: tt.Problem(RING, basis=FourierFeatures(10, 0.5, seed=1)),
    "a function": lambda: tt.Problem(
        tt.Graph.from_scopes([[0, 1], [1, 3]], knobs=4),
        basis=Custom(function=odd, jacobian=slopes, bound=2.0),
    ),
}
problems = pytest.mark.parametrize("problem", [make() for make in PROBLEMS.values()], ids=PROBLEMS)


def states_of(problem: tt.Problem, n: int) -> list[Array]:
    rng = np.random.default_rng(0)
    return [problem.domain.sample(rng) for _ in range(n)]


@problems
def test_the_total_is_linear_in_the_features_of_the_reduction(problem: tt.Problem) -> None:
    """Whatever the parameters of the parts; and no feature is there twice."""
    total = Total(problem)
    assert (total.criteria, total.knobs) == (1, 4)
    states = states_of(problem, 3 * int(problem.dims.sum()))
    phi = np.array([total.phi(s) for s in states])
    rng = np.random.default_rng(1)
    theta = rng.normal(size=int(problem.dims.sum()))
    losses = [
        problem.weights @ np.add.reduceat(theta * problem.phi(s), problem.features.offsets[:-1])
        for s in states
    ]
    fit, *_ = np.linalg.lstsq(phi, np.array(losses))
    np.testing.assert_allclose(phi @ fit, losses, atol=1e-8)
    if isinstance(problem.basis, Linear | Polynomial | PairwiseQuadratic | Quadratic):
        assert np.linalg.matrix_rank(phi) == phi.shape[1] <= problem.dims.sum()


@problems
def test_features_of_the_reduction_are_within_their_bound(problem: tt.Problem) -> None:
    total = Total(problem)
    (bound,) = total.features.bounds
    states = states_of(problem, 200)
    if isinstance(problem.domain, BoundBox):
        states.append(problem.domain.high)
    longest = max(float(np.linalg.norm(total.phi(s))) for s in states)
    assert 0.6 * bound < longest <= bound * (1 + 1e-12)
    if isinstance(total.features, Monomials) and isinstance(problem.domain, BoundBox):
        assert longest == pytest.approx(bound)  # at the upper corner


@problems
def test_derivatives_of_the_reduction(problem: tt.Problem) -> None:
    total = Total(problem)
    scope = total.graph.scope(0)
    for s in (0.1 + 0.8 * x for x in states_of(problem, 5)):  # off the ends of the intervals
        J = total.features.jacobian(0, s)
        for c, j in enumerate(scope):
            h = np.zeros(4)
            h[j] = 1e-6
            np.testing.assert_allclose(
                J[:, c], (total.phi(s + h) - total.phi(s - h)) / 2e-6, atol=1e-7
            )


def test_one_criterion_makes_it_linucb() -> None:
    """Nothing to add up: the same decisions, on the same noise."""
    graph = tt.Graph.from_scopes([[0, 1, 2]], knobs=3)
    world = tt.worlds.quadratic(graph, seed=2)
    traces = [
        tt.play(kind(world.problem, start=[0.5] * 3, radius=0.3), world, horizon=60, seed=1)
        for kind in (tt.LinUCB, tt.ScalarLinUCB)
    ]
    np.testing.assert_allclose(traces[0].states, traces[1].states, atol=1e-6)
    assert traces[0].moves > 10


def test_it_learns_the_weighted_total() -> None:
    world = tt.worlds.World(
        tt.Problem(RING, basis=tt.bases.Quadratic(), weights=[1.0, 3.0, 0.5, 1.0]),
        theta=np.split(world_of().theta, world_of().problem.features.offsets[1:-1]),
        noise=tt.worlds.Gaussian(0.01),
    )
    policy = tt.ScalarLinUCB(world.problem, start=[0.5] * 4, radius=0.1, reg=1e-7)
    guess = tt.RandomState(world.problem, start=[0.5] * 4)
    rng = np.random.default_rng(0)
    for t in range(1, 200):  # what somebody else plays
        x = guess.ask()
        losses = world.draw(x, rng, t)
        policy.tell(losses, played=x)
        guess.tell(losses)
    assert policy.rounds == 0
    theta = policy.learner.estimators.theta(0)
    for s in states_of(world.problem, 20):
        assert policy.learner.problem.phi(s) @ theta == pytest.approx(world.loss(s), abs=0.05)
    assert world.loss(policy.ask()) < world.optimum.value + 0.1


def test_a_missing_loss_teaches_nothing_but_takes_a_round() -> None:
    policy = tt.ScalarLinUCB(world_of().problem, start=[0.5] * 4, radius=0.3)
    before = policy.learner.estimators.V(0)
    policy.tell([0.1, np.nan, 0.3, 0.4], count=5)
    np.testing.assert_array_equal(policy.learner.estimators.V(0), before)
    assert policy.rounds == 5
    phi = policy.learner.problem.phi(policy.ask())
    policy.tell([0.1, 0.2, 0.3, 0.4], count=[5, 2, 3, 4])  # all four are means of 2 at least
    after = before + 2.0 * np.outer(phi, phi)
    np.testing.assert_allclose(policy.learner.estimators.V(0), after, atol=1e-12)
    assert policy.rounds == 10


# On or off


def test_binary_states_in_a_world_of_intervals() -> None:
    world = world_of(move_cost=2.0)
    problem = tt.binary(world.problem)
    policy = tt.LazyGraphLinUCB(problem, start=[0.0, 1.0, 0.0, 1.0], radius=0.5)
    trace = tt.play(policy, world, horizon=3000, seed=1)
    assert trace.moves >= 2
    assert np.isin(trace.states, [0.0, 1.0]).all()
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * 4)).reshape(4, -1).T
    best = min(world.loss(s) for s in corners)
    assert world.loss(trace.states[-1]) == pytest.approx(best, abs=0.2)
    # Regret counts against the best state of the intervals.
    assert trace.best[0] == world.optimum.value < best
    assert trace.move_cost == pytest.approx(2.0 * trace.movement)


def test_binary_takes_the_ends() -> None:
    problem = tt.Problem(
        RING,
        basis=tt.bases.Quadratic(),
        domain=tt.Box(low=0.2, high=[0.8, 0.2, 1.0, 0.9], levels={3: [0.3]}),
    )
    box = tt.binary(problem).domain
    assert isinstance(box, BoundBox)
    assert [box.levels_of(j).tolist() for j in range(4)] == [[0.2, 0.8], [0.2], [0.2, 1.0], [0.3]]


def test_binary_needs_a_box() -> None:
    with pytest.raises(tt.InvalidInput, match="only the knobs of a Box have two ends"):
        tt.binary(PROBLEMS["balls"]())


def test_only_the_worlds_problem_or_its_levels_play_in_it() -> None:
    world = world_of()
    binary = tt.binary(world.problem)
    for other in (
        tt.Problem(
            RING,
            basis=tt.bases.Quadratic(),
            domain=tt.Box(levels=[[0, 1]] * 4),
            weights=[1, 1, 1, 2.0],
        ),
        tt.Problem(RING, domain=tt.Box(levels=[[0, 1]] * 4), basis=Polynomial(2)),
        tt.Problem(
            RING, basis=tt.bases.Quadratic(), domain=tt.Box(levels=[[0, 1]] * 4), move_cost=1.0
        ),
        tt.Problem(
            tt.Graph.complete(4), basis=tt.bases.Quadratic(), domain=tt.Box(levels=[[0, 1]] * 4)
        ),
    ):
        with pytest.raises(tt.InvalidInput, match="another problem"):
            tt.play(tt.FixedState(other, start=[0.0] * 4), world, horizon=9)
    tt.play(tt.FixedState(binary, start=[0.0] * 4), world, horizon=9)
    some = tt.Problem(RING, basis=tt.bases.Quadratic(), domain=tt.Box(levels={0: [0.0, 0.3, 1.0]}))
    tt.play(tt.FixedState(some, start=[0.3, 0.5, 0.5, 0.5]), world, horizon=9)
    for narrow in (tt.Box(low=0.2), tt.Box(high=0.7), tt.Box(levels={0: [0.0, 0.3]})):
        policy = tt.FixedState(
            tt.Problem(RING, basis=tt.bases.Quadratic(), domain=narrow), start=[0.3] * 4
        )
        with pytest.raises(tt.InvalidInput, match="another problem"):
            tt.play(policy, world, horizon=9)
    # And not the other way round.
    small = tt.worlds.World(
        binary,
        theta=np.split(world.theta, binary.features.offsets[1:-1]),
        noise=tt.worlds.Gaussian(0.1),
    )
    with pytest.raises(tt.InvalidInput, match="another problem"):
        tt.play(tt.FixedState(world.problem, start=[0.0] * 4), small, horizon=9)
