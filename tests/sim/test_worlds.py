"""Simulated systems: expected losses, what is seen of them, and the best fixed state."""

from __future__ import annotations

import re
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

import trimtab as tt
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.model.bases import Custom, Linear, PairwiseQuadratic, Polynomial, Quadratic
from trimtab.sim.worlds import Drifting, Gaussian, Recorded, World

ALARM = 1e-6  # the probability of a false alarm of each statistical assertion, for a new seed

RING = tt.Graph.from_edges(6, [(j, (j + 1) % 6) for j in range(6)])
STAR = tt.Graph.from_edges(5, [(0, j) for j in range(1, 5)])
SCOPES = tt.Graph.from_scopes([[2, 0], [1], [0, 1, 2], [3, 1]], knobs=4, centres=[0, 1, 2, 3])
GRAPHS = {
    "ring": RING,
    "star": STAR,
    "complete": tt.Graph.complete(4),
    "cliques": tt.Graph.cliques([3, 1, 2]),
    "scopes": SCOPES,
    "one knob": tt.Graph.complete(1),
}


def direct_features(basis: object, x: list[float], centre: int) -> list[float]:
    """The features of one criterion at the knobs x of its scope, one by one; not normalised."""
    match basis:
        case Linear(intercept=intercept):
            return [1.0] * intercept + x
        case Polynomial(degree=degree):
            return [1.0] + [y**p for y in x for p in range(1, degree + 1)]
        case PairwiseQuadratic():
            own, others = x[centre], x[:centre] + x[centre + 1 :]
            return [1.0, own, own**2, *others, *(own * y for y in others)]
        case Quadratic():
            return [1.0, *x, *(y**2 for y in x), *(y * z for y, z in combinations(x, 2))]
    raise AssertionError(basis)


def direct_means(world: World, state: Array) -> list[float]:
    """phi_i' theta_i of each criterion, in plain Python."""
    problem, graph = world.problem, world.problem.graph
    losses, first = [], 0
    for i in range(problem.criteria):
        scope = graph.scope(i).tolist()
        centre = 0 if graph.centres is None else scope.index(graph.centres[i])
        phi = direct_features(problem.basis, [float(state[j]) for j in scope], centre)
        top = direct_features(problem.basis, [float(problem.domain.high[j]) for j in scope], centre)
        longest = sum(y * y for y in top) ** 0.5 if problem.basis.normalize else 1.0  # type: ignore[attr-defined]
        theta = world.theta[first : first + len(phi)].tolist()
        losses.append(sum(y / longest * t for y, t in zip(phi, theta, strict=True)))
        first += len(phi)
    assert first == world.theta.size
    return losses


def direct_loss(state: Array, world: World) -> float:
    means = zip(world.problem.weights.tolist(), direct_means(world, state), strict=True)
    return float(sum(w * y for w, y in means))


def hessian(world: World) -> Array:
    """Of the total loss; second differences are exact for a quadratic, whatever the step."""
    k = world.problem.knobs
    s, e = np.full(k, 0.5), 0.5 * np.eye(k)
    H = np.empty((k, k))
    for a, b in product(range(k), repeat=2):
        H[a, b] = (
            world.loss(s + e[a] + e[b])
            - world.loss(s + e[a] - e[b])
            - world.loss(s - e[a] + e[b])
            + world.loss(s - e[a] - e[b])
        )
    return H  # over (2 step)^2 = 1


def random_world(problem: tt.Problem, seed: int, **options: Any) -> World:
    rng = np.random.default_rng(seed)
    return World(
        problem, theta=[rng.normal(size=d) for d in problem.dims], noise=Gaussian(0.1), **options
    )


# Expected losses.


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize(
    "basis",
    [
        Linear(),
        Linear(intercept=True, normalize=False),
        Polynomial(3),
        PairwiseQuadratic(),
        PairwiseQuadratic(normalize=False),
        Quadratic(),
        Quadratic(normalize=False),
    ],
    ids=repr,
)
def test_mean_is_the_sum_over_features(graph: tt.Graph, basis: Any) -> None:
    problem = tt.Problem(graph, basis=basis, domain=tt.Box(high=0.8))
    world = random_world(problem, seed=1)
    rng = np.random.default_rng(2)
    samples = [problem.domain.sample(rng) for _ in range(3)]
    for state in (problem.domain.low, problem.domain.high, *samples):
        np.testing.assert_allclose(world.mean(state), direct_means(world, state), atol=1e-13)


def test_mean_with_features_of_ones_own() -> None:
    def phi(criterion: int, x: Array) -> list[float]:
        return [np.cos(x.sum()), criterion - x[0]][: 1 + criterion % 2]

    problem = tt.Problem(SCOPES, basis=Custom(function=phi, bound=4.0, normalize=False))
    theta = [[2.0], [0.5, -1.0], [-3.0], [1.0, 1.0]]
    world = World(problem, theta=theta, noise=Gaussian(0.1))
    s = np.array([0.1, 0.2, 0.4, 0.8])
    expected = [
        2.0 * np.cos(0.5),
        0.5 * np.cos(0.2) - (1 - 0.2),
        -3.0 * np.cos(0.7),
        np.cos(1.0) + (3 - 0.2),
    ]
    np.testing.assert_allclose(world.mean(s), expected)


@pytest.mark.parametrize("criteria", [[0], [3, 1], [2, 0, 3, 1], [1, 1], []])
@pytest.mark.parametrize("basis", [Linear(), Quadratic(), PairwiseQuadratic()], ids=repr)
def test_mean_of_some_criteria(basis: Any, criteria: list[int]) -> None:
    world = random_world(tt.Problem(SCOPES, basis=basis), seed=1)
    s = np.array([0.1, 0.7, 0.4, 0.9])
    some = np.array(criteria, np.int64)
    expected = np.array(direct_means(world, s))[some]
    np.testing.assert_allclose(world.expected(s, some), expected, atol=1e-13)
    assert world.expected(s, some).tolist() == world.mean(s)[some].tolist()


def test_loss_is_weighted_and_draws_are_not() -> None:
    weights = np.array([1.0, 10.0, 0.1, 3.0])
    problem = tt.Problem(SCOPES, basis=tt.bases.Quadratic(), weights=weights)
    world = random_world(problem, seed=1)
    plain = World(
        tt.Problem(SCOPES, basis=tt.bases.Quadratic()),
        theta=np.split(world.theta, problem.features.offsets[1:-1]),
        noise=Gaussian(0.1),
    )
    s = np.array([0.1, 0.7, 0.4, 0.9])
    means = direct_means(world, s)
    assert world.loss(s) == pytest.approx(sum(w * y for w, y in zip(weights, means, strict=True)))
    assert plain.loss(s) == pytest.approx(sum(means))
    seen = [w.draw(s, np.random.default_rng(5)).tolist() for w in (world, plain)]
    assert seen[0] == seen[1]


def test_norms_are_those_of_the_parameters() -> None:
    problem = tt.Problem(tt.Graph.cliques([1, 2]), basis=Linear())
    theta = [[-2.0], [3.0, 4.0], [0.0, 1.0]]
    world = World(problem, theta=theta, noise=Gaussian(0.1))
    np.testing.assert_allclose(world.norms, [2.0, 5.0, 1.0])


# What is seen of them.


def test_a_draw_is_the_mean_plus_noise() -> None:
    world = tt.worlds.quadratic(RING, seed=3, noise=Gaussian([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
    s = np.linspace(0.1, 0.9, 6)
    rng, n = np.random.default_rng(0), 2000
    noise = np.array([world.draw(s, rng) for _ in range(n)]) - direct_means(world, s)
    z = np.sqrt(n) * noise.mean(axis=0) / [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert np.abs(z).max() < stats.norm.isf(ALARM / 6 / 2)
    ratio = (noise**2).sum(axis=0) / np.square([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert stats.chi2.ppf(ALARM / 6 / 2, n) < ratio.min()
    assert ratio.max() < stats.chi2.isf(ALARM / 6 / 2, n)


def test_draws_are_reproducible() -> None:
    world = tt.worlds.quadratic(RING, missing=0.3)
    s = np.full(6, 0.5)

    def stream(seed: int) -> Array:
        rng = np.random.default_rng(seed)
        return np.array([world.draw(s, rng) for _ in range(5)])

    np.testing.assert_array_equal(stream(1), stream(1))
    assert not np.array_equal(stream(1), stream(2), equal_nan=True)
    assert len({str(row) for row in stream(1)}) == 5  # rounds differ


def test_a_draw_is_of_the_state_now_and_its_mean_is_computed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, asked = tt.worlds.quadratic(RING, seed=3), list[float]()
    mean = world.expected

    def counted(state: Array) -> Array:
        asked.append(state.flat[2])
        return mean(state)

    monkeypatch.setattr(world, "expected", counted)
    s = np.full(6, 0.5)
    for t, x in enumerate([0.5, 0.5, 0.25, 0.25, 0.25, 0.5]):
        s[2] = x  # the same array
        noise = world.noise.draw(np.random.default_rng(t), RING, 1)
        drawn = world.draw(s, np.random.default_rng(t))
        assert drawn.tolist() == (mean(s) + noise).tolist()  # bit for bit
        drawn[:] = np.nan  # is the caller's
    assert asked == [0.5, 0.25, 0.5]  # of the six rounds
    for shape in ((6, 1), (1, 6)):
        with refused(f"state has shape {shape}"):
            world.draw(s.reshape(shape), np.random.default_rng(0))


def test_a_draw_has_the_noise_of_its_round() -> None:
    table = np.random.default_rng(1).normal(size=(4, 6))
    table[2, 1] = np.nan
    world = tt.worlds.quadratic(RING, seed=3, noise=Recorded(table))
    s, rng = np.linspace(0.1, 0.9, 6), np.random.default_rng(0)
    for t in range(1, 5):
        expected = direct_means(world, s) + table[t - 1]
        np.testing.assert_allclose(world.draw(s, rng, t), expected, atol=1e-12)
    np.testing.assert_allclose(world.draw(s, rng), direct_means(world, s) + table[0], atol=1e-12)
    with refused("round 5 is not in the table; it has 1 to 4"):
        world.draw(s, rng, 5)


@pytest.mark.parametrize("missing", [0.0, 0.05, 0.7])
def test_losses_go_missing_at_their_rate(missing: float) -> None:
    world = tt.worlds.quadratic(RING, seed=3, missing=missing, noise=Gaussian(0.0))
    s = np.linspace(0.1, 0.9, 6)
    rng, n = np.random.default_rng(0), 3000
    losses = np.array([world.draw(s, rng) for _ in range(n)])
    gone = np.isnan(losses)
    expected = np.broadcast_to(direct_means(world, s), losses.shape)
    np.testing.assert_allclose(losses[~gone], expected[~gone], atol=1e-12)  # the others are as ever
    per_criterion = [stats.binomtest(int(c), n, missing).pvalue for c in gone.sum(axis=0)]
    assert min(per_criterion) > ALARM / 6
    # Independent of each other: all six at once with probability missing^6.
    together = int(gone.all(axis=1).sum())
    assert stats.binomtest(together, n, missing**6).pvalue > ALARM


# Systems that change.


def worlds_of_one_problem(n: int) -> list[World]:
    problem = tt.Problem(RING, basis=tt.bases.Quadratic())
    return [random_world(problem, seed=seed) for seed in range(n)]


@pytest.mark.parametrize("t", [1, 2, 10**12])
def test_a_world_stays_as_it_is(t: int) -> None:
    (world,) = worlds_of_one_problem(1)
    assert world.at(t) == (world, None)
    assert Drifting([world], changes=[]).at(t) == (world, None)


@pytest.mark.parametrize("changes", [[4, 5, 9], [2, 3, 4], [100, 200, 10**12]])
def test_a_drifting_world_is_one_after_another(changes: list[int]) -> None:
    worlds = worlds_of_one_problem(4)
    drifting = Drifting(worlds, changes=changes)
    assert drifting.problem is worlds[0].problem
    edges = {1, *changes, *(t - 1 for t in changes), *(t + 1 for t in changes)}
    for t in sorted(edges | set(range(1, 20))):
        begun = sum(first <= t for first in changes)
        now, last = drifting.at(t)
        assert now is worlds[begun]
        assert last == ([first - 1 for first in changes] + [None])[begun]
        assert last is None or last >= t


# The best fixed state.


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("intercept", [False, True])
def test_linear_optimum_is_the_best_vertex(graph: tt.Graph, intercept: bool) -> None:
    vertices = [np.array(v, float) for v in product((0, 1), repeat=graph.knobs)]
    for seed in range(3):
        world = tt.worlds.linear(graph, seed=seed, intercept=intercept)
        best = min(vertices, key=lambda s: direct_loss(s, world))
        optimum = world.optimum
        assert optimum.state.tolist() == best.tolist()
        assert optimum.value == pytest.approx(direct_loss(best, world), abs=1e-12)


def test_linear_parameters_are_on_the_unit_sphere() -> None:
    np.testing.assert_allclose(tt.worlds.linear(STAR, seed=2).norms, np.ones(5))


CENTRED = {name: graph for name, graph in GRAPHS.items() if graph.centres is not None}


@pytest.mark.parametrize("basis", [Quadratic(), PairwiseQuadratic()], ids=repr)
@pytest.mark.parametrize("graph", CENTRED.values(), ids=CENTRED)
def test_quadratic_optimum_is_the_convex_programs(graph: tt.Graph, basis: Any) -> None:
    for seed in range(3):
        world = tt.worlds.quadratic(graph, seed=seed, basis=basis)
        found = minimize(
            direct_loss,
            np.full(graph.knobs, 0.5),
            args=(world,),
            bounds=[(0, 1)] * graph.knobs,
            options={"ftol": 1e-15, "gtol": 1e-9},
        )
        optimum = world.optimum
        assert optimum.value == pytest.approx(direct_loss(optimum.state, world), abs=1e-12)
        assert optimum.value <= found.fun + 1e-9
        np.testing.assert_allclose(optimum.state, found.x, atol=1e-4)


@pytest.mark.parametrize("basis", [Quadratic(), PairwiseQuadratic()], ids=repr)
def test_quadratic_optimum_on_a_grid(basis: Any) -> None:
    inside = 0
    grid = np.linspace(0, 1, 41)
    for seed in range(6):
        world = tt.worlds.quadratic(tt.Graph.complete(2), seed=seed, basis=basis)
        values = {(x, y): world.loss(np.array([x, y])) for x, y in product(grid, repeat=2)}
        nearest = min(values, key=lambda s, values=values: values[s])  # type: ignore[misc]
        optimum = world.optimum
        # The curvature is at most the trace of the Hessian: what the grid may lose is known.
        most = 0.5 * np.trace(hessian(world)) * 2 * (0.5 / 40) ** 2
        assert optimum.value <= values[nearest] + 1e-12
        assert optimum.value >= values[nearest] - most
        inside += bool(((optimum.state > 0.02) & (optimum.state < 0.98)).all())
    assert inside >= 3


@pytest.mark.parametrize("seed", range(4))
def test_optimum_on_levels_weights_and_intervals(seed: int) -> None:
    domain = tt.Box(low=[0.2, 0.0, 0.0, 0.1], high=[0.4, 1.0, 1.0, 1.0], levels={1: [0, 0.7, 1]})
    levels, free = (0.0, 0.7, 1.0), [0, 2, 3]
    raw = tt.worlds.quadratic(SCOPES, seed=seed, basis=Quadratic(normalize=False))
    problem = tt.Problem(SCOPES, basis=raw.problem.basis, domain=domain, weights=[0.3, 1, 2, 5])
    theta = np.split(raw.theta, problem.features.offsets[1:-1])
    world = World(problem, theta=theta, noise=Gaussian(0.1))

    def total(x: Array, level: float) -> float:
        return direct_loss(np.insert(x, 1, level), world)

    box = [(0.2, 0.4), (0.0, 1.0), (0.1, 1.0)]
    found = [
        minimize(total, [0.3, 0.5, 0.5], args=(v,), bounds=box, options={"ftol": 1e-15})
        for v in levels
    ]
    best = int(np.argmin([trial.fun for trial in found]))
    optimum = world.optimum
    assert domain.bind(4).contains(optimum.state)
    assert optimum.state[1] == levels[best]
    np.testing.assert_allclose(optimum.state[free], found[best].x, atol=1e-4)
    assert optimum.value == pytest.approx(found[best].fun, abs=1e-8)
    assert optimum.value == pytest.approx(world.loss(optimum.state), abs=1e-12)


def test_optimum_on_levels_only() -> None:
    for seed in range(5):
        basis, domain = Quadratic(normalize=False), tt.Box(levels=[[0.1, 0.4, 0.6, 0.9]] * 6)
        problem = tt.Problem(RING, basis=basis, domain=domain)
        raw = tt.worlds.quadratic(RING, seed=seed, basis=basis, coupling=0.9)
        theta = np.split(raw.theta, problem.features.offsets[1:-1])
        world = World(problem, theta=theta, noise=Gaussian(0.1))
        # The loss is a quadratic: from its values at a few states follow those at all 4^6.
        H, states = hessian(world), np.array(list(product([0.1, 0.4, 0.6, 0.9], repeat=6)))
        unit, zero = np.eye(6), world.loss(np.zeros(6))
        slope = np.array([world.loss(e) - zero for e in unit]) - np.diag(H) / 2
        values = zero + states @ slope + 0.5 * np.einsum("sa,ab,sb->s", states, H, states)
        best = states[int(np.argmin(values))]
        assert values.min() == pytest.approx(direct_loss(best, world), abs=1e-10)
        assert world.optimum.state.tolist() == best.tolist()


# Random quadratic worlds.


@pytest.mark.parametrize("coupling", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("basis", [Quadratic(), PairwiseQuadratic(normalize=False)], ids=repr)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_the_total_is_strongly_convex(graph: tt.Graph, basis: Any, coupling: float) -> None:
    for seed in range(4):
        H = hessian(tt.worlds.quadratic(graph, seed=seed, basis=basis, coupling=coupling))
        np.testing.assert_allclose(H, H.T, atol=1e-10)
        diagonal = np.diag(H)
        others = np.abs(H).sum(axis=1) - diagonal
        assert (diagonal >= 1.0 - 1e-9).all()  # a curvature of 1/2 at least
        assert (others <= coupling + 1e-9).all()
        assert np.linalg.eigvalsh(H).min() >= 1.0 - coupling - 1e-9
        if graph.knobs > 1:
            assert (others.max() > 0.01) == (coupling > 0)


def test_uncoupled_criteria_pull_to_targets_of_their_own() -> None:
    world = tt.worlds.quadratic(tt.Graph.complete(3), seed=5, coupling=0.0)
    zero, e = np.zeros(3), np.eye(3)
    bottoms = []
    for i in range(3):
        # Loss i is sum_j c_j (s_j - t_j)^2; at 0, e_j and -e_j it says what c and t are.
        at = [world.mean(zero)[i], *((world.mean(x)[i], world.mean(-x)[i]) for x in e)]
        c = np.array([(up + down) / 2 - at[0] for up, down in at[1:]])
        t = np.array([(down - up) / 4 for up, down in at[1:]]) / c
        assert ((c >= 0.5) & (c <= 1.5) & (t >= 0.0) & (t <= 1.0)).all()
        assert world.mean(t)[i] == pytest.approx(0.0, abs=1e-12)
        bottoms.append(t)
    assert min(np.abs(a - b).max() for a, b in combinations(bottoms, 2)) > 0.05  # a conflict


def test_worlds_depend_on_their_seed_alone() -> None:
    for make in (tt.worlds.linear, tt.worlds.quadratic):
        first, again, other = (make(RING, seed=seed).theta.tolist() for seed in (1, 1, 2))
        assert first == again
        assert first != other


def test_options_reach_the_world() -> None:
    noise = tt.worlds.Correlated(0.2)
    for make in (tt.worlds.linear, tt.worlds.quadratic):
        world = make(RING, noise=noise, missing=0.25, move_cost=[1, 2, 3, 4, 5, 6])
        assert world.noise is noise
        assert world.missing == 0.25
        assert world.problem.move_cost.tolist() == [1, 2, 3, 4, 5, 6]
    assert isinstance(tt.worlds.quadratic(RING).problem.basis, Quadratic)
    assert tt.worlds.linear(RING, normalize=False).problem.features.bounds[0] == pytest.approx(
        3**0.5
    )


# What is refused.


def refused(message: str) -> Any:
    return pytest.raises(InvalidInput, match=f"^{re.escape(message)}")


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ([[1.0, 2.0]], "theta has 1 parts, expected 2; one per criterion"),
        ([[1.0, 2.0], [1.0]], "theta[1] has shape (1,), expected (2,); give one value per feature"),
        ([[[1.0, 2.0]], [1.0, 2.0]], "theta[0] has shape (1, 2), expected (2,)"),
        ([[1.0, 2.0], [np.nan, 1.0]], "theta[1][0] = nan is not finite"),
        ([["a", "b"], [1.0, 2.0]], "theta[0] must hold real numbers"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(theta: Any, message: str) -> None:
    problem = tt.Problem(tt.Graph.complete(2), basis=Linear())
    with refused(message):
        World(problem, theta=theta, noise=Gaussian(0.1))


@pytest.mark.parametrize("missing", [-0.1, 1.0, 1.5, np.nan, np.inf])
def test_missing_is_a_probability_below_one(missing: float) -> None:
    message = f"missing = {missing:g}; it must be finite, >= 0 and < 1"
    with refused(message):
        tt.worlds.linear(RING, missing=missing)
    with refused(message):
        tt.worlds.quadratic(RING, missing=missing)


@pytest.mark.parametrize("basis", [Linear(), Polynomial(2)], ids=repr)
def test_a_quadratic_world_needs_products_or_a_centre(basis: Any) -> None:
    with refused(f"basis = {basis!r}; choose Quadratic() or PairwiseQuadratic()"):
        tt.worlds.quadratic(RING, basis=basis)


@pytest.mark.parametrize("coupling", [-0.1, 1.0, np.nan])
def test_a_coupling_that_may_break_convexity_is_refused(coupling: float) -> None:
    with refused(f"coupling = {coupling:g}; it must be finite, >= 0 and < 1"):
        tt.worlds.quadratic(RING, coupling=coupling)


@pytest.mark.parametrize("make", [tt.worlds.linear, tt.worlds.quadratic])
@pytest.mark.parametrize("seed", [-1, 0.5])
def test_seeds_are_whole_numbers(make: Any, seed: float) -> None:
    with refused(f"seed = {seed}"):
        make(RING, seed=seed)


@pytest.mark.parametrize(
    ("graph", "basis", "knob"),
    [
        (tt.Graph.from_scopes([[0, 1]], knobs=2, centres=[0]), PairwiseQuadratic(), 1),
        (tt.Graph.from_scopes([[0, 2], [1, 2]], knobs=3, centres=[2, 1]), PairwiseQuadratic(), 0),
        (tt.Graph.from_scopes([[0, 1], [3]], knobs=4), Quadratic(), 2),
    ],
    ids=["nobody's centre", "the first of them", "read by nobody"],
)
def test_a_knob_without_a_square_is_refused(graph: tt.Graph, basis: Any, knob: int) -> None:
    with refused(
        f"knob {knob} has no square in any criterion, so the loss would not be convex in it; "
        "let a criterion read it, or be centred at it, or use Quadratic()"
    ):
        tt.worlds.quadratic(graph, basis=basis)


def test_a_square_in_any_criterion_is_enough() -> None:
    graph = tt.Graph.from_scopes([[0, 1], [0, 1]], knobs=2, centres=[0, 1])
    world = tt.worlds.quadratic(graph, basis=PairwiseQuadratic())
    assert np.linalg.eigvalsh(hessian(world)).min() > 0


@pytest.mark.parametrize("shape", [(5,), (7,), (), (0,), (6, 1), (1, 6)])
def test_a_state_has_one_value_per_knob(shape: tuple[int, ...]) -> None:
    world, rng = tt.worlds.quadratic(RING), np.random.default_rng(0)
    s = np.full(shape, 0.5)
    calls = (world.mean, world.loss, lambda s: world.expected(s, np.array([0])))
    for call in (*calls, lambda s: world.draw(s, rng)):
        with refused(f"state has shape {shape}, expected (6,); give one value per knob"):
            call(s)
    assert rng.random() == np.random.default_rng(0).random()  # nothing was drawn


@pytest.mark.parametrize("noise", [0.1, None, "Gaussian"])
def test_noise_is_more_than_a_number(noise: Any) -> None:
    problem = tt.Problem(RING, basis=tt.bases.Quadratic())
    with refused(f"noise = {noise!r}; say which, for example Gaussian({noise!r})"):
        World(problem, theta=[np.ones(d) for d in problem.dims], noise=noise)


@pytest.mark.parametrize(
    ("worlds", "changes", "message"),
    [
        (0, [], "0 changes for 0 worlds; give one less than worlds"),
        (0, [3], "1 changes for 0 worlds; give one less than worlds"),
        (1, [3], "1 changes for 1 worlds; give one less than worlds"),
        (3, [3], "1 changes for 3 worlds; give one less than worlds"),
        (2, [3, 5], "2 changes for 2 worlds; give one less than worlds"),
        (3, [5, 3], "changes = [5, 3]; they must ascend"),
        (3, [5, 5], "changes = [5, 5]; they must ascend"),
        (2, [1], "changes = 1; it must be at least 2"),
        (2, [-4], "changes = -4; it must be at least 2"),
        (2, [2.5], "changes = 2.5; give a whole number"),
    ],
)
def test_changes_that_make_no_sense_are_refused(worlds: int, changes: Any, message: str) -> None:
    with refused(message):
        Drifting(worlds_of_one_problem(worlds), changes=changes)


@pytest.mark.parametrize(
    "other",
    [
        tt.Problem(STAR, basis=tt.bases.Quadratic()),
        tt.Problem(RING, basis=PairwiseQuadratic()),
        tt.Problem(RING, basis=tt.bases.Quadratic(), weights=[1, 1, 1, 1, 1, 2]),
        tt.Problem(RING, basis=tt.bases.Quadratic(), move_cost=0.5),
    ],
    ids=["graph", "basis", "weights", "move_cost"],
)
def test_a_drifting_world_has_one_problem(other: tt.Problem) -> None:
    first, second = worlds_of_one_problem(2)
    with refused("the worlds have different problems; build them from one"):
        Drifting([first, second, random_world(other, seed=2)], changes=[5, 9])
    twin = random_world(tt.Problem(RING, basis=tt.bases.Quadratic()), seed=2)  # equal is enough
    assert Drifting([first, second, twin], changes=[5, 9]).at(9) == (twin, None)
