"""The price of movement: what is paid, when staying is the answer, and that it is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.builders import (
    Datum,
    bound_at,
    lattice,
    noise,
    played,
    posterior,
    random_graph,
    random_posterior,
    terms_at,
)
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.learn import as_radius
from trimtab.model.bases import (
    Basis,
    Custom,
    FourierFeatures,
    Linear,
    PairwiseQuadratic,
    Polynomial,
    Quadratic,
)
from trimtab.model.domain import Balls, BoundBox, Box
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.policies.lcb import LCB
from trimtab.solve import Solution, solve
from trimtab.solve.ball import lowest

GRID = np.linspace(0.0, 1.0, 20001)


def ripples(i: int, x: Array) -> Any:
    return [1.0, np.sin(4.0 * x[0] + i), np.cos(3.0 * x.sum())]


def ripple_slopes(i: int, x: Array) -> Any:
    J = np.zeros((3, x.size))
    J[1, 0], J[2] = 4.0 * np.cos(4.0 * x[0] + i), -3.0 * np.sin(3.0 * x.sum())
    return J


HALF = Box(low=[0.0, 0.2, 0.0], levels={0: [0.0, 0.35, 0.8], 2: [0.1, 0.5, 0.6, 1.0]})
LEVELS = Box(levels=[[0.0, 0.2, 0.55, 0.9], [0.1, 0.4, 0.7], [0.0, 0.5, 1.0]])
# Every route through the solver that takes a box, on three knobs.
ROUTES = [
    pytest.param(Linear(), None, id="linear"),
    pytest.param(PairwiseQuadratic(), None, id="pairwise"),
    pytest.param(Quadratic(), None, id="quadratic"),
    pytest.param(Polynomial(3), None, id="cubic"),
    pytest.param(FourierFeatures(8), None, id="fourier"),
    pytest.param(Custom(function=ripples, bound=2.0, jacobian=ripple_slopes), None, id="custom"),
    pytest.param(Quadratic(), LEVELS, id="levels"),
    pytest.param(FourierFeatures(8), LEVELS, id="fourier on levels"),
    pytest.param(Quadratic(), HALF, id="some levels"),
    pytest.param(Linear(), HALF, id="linear, some levels"),
    pytest.param(FourierFeatures(8), HALF, id="fourier, some levels"),
]
EVERY_ROUTE = pytest.mark.parametrize(("basis", "domain"), ROUTES)


def random_problem(rng: np.random.Generator, basis: Basis, domain: Box | None, n: int) -> LCB:
    data = noise if n % 2 == 0 else played
    return random_posterior(rng, random_graph(rng, 3, 4), basis, domain=domain, data=data)


def same(one: Solution, other: Solution) -> bool:
    """Equal bit for bit."""
    return (
        one.state.tobytes() == other.state.tobytes()
        and (one.value, one.lower_bound) == (other.value, other.lower_bound)
        and one.work == other.work
    )


# What is paid


@EVERY_ROUTE
def test_the_value_is_the_bound_plus_the_price_of_the_way(basis: Basis, domain: Box | None) -> None:
    rng = np.random.default_rng(0)
    moved = 0
    for n in range(10):
        lcb = random_problem(rng, basis, domain, n)
        current, price = lcb.problem.domain.sample(rng), rng.uniform(0.0, 0.2, size=3)
        found = solve(lcb, current, price=price)
        way = np.abs(found.state - current)
        assert found.value == pytest.approx(lcb.value(found.state) + price @ way, rel=1e-11)
        assert found.value <= lcb.value(current)
        assert lcb.problem.domain.contains(found.state)
        moved += way.max() > 0.0
    assert moved >= 5


@EVERY_ROUTE
def test_a_price_of_0_is_no_price(basis: Basis, domain: Box | None) -> None:
    rng = np.random.default_rng(1)
    for n in range(4):
        lcb = random_problem(rng, basis, domain, n)
        current = lcb.problem.domain.sample(rng)
        free = solve(lcb, current, seed=n)
        assert same(solve(lcb, current, price=0.0, seed=n), free)
        assert same(solve(lcb, current, price=np.zeros(3), seed=n), free)


@EVERY_ROUTE
def test_one_price_is_the_same_price_for_every_knob(basis: Basis, domain: Box | None) -> None:
    rng = np.random.default_rng(2)
    lcb = random_problem(rng, basis, domain, 0)
    current = lcb.problem.domain.sample(rng)
    assert same(solve(lcb, current, price=0.1), solve(lcb, current, price=[0.1, 0.1, 0.1]))


# Staying


@EVERY_ROUTE
def test_where_moving_costs_too_much_everything_stays(basis: Basis, domain: Box | None) -> None:
    rng = np.random.default_rng(3)
    for n in range(6):
        lcb = random_problem(rng, basis, domain, n)
        current = lcb.problem.domain.sample(rng)
        assert not np.array_equal(solve(lcb, current).state, current)
        for price in (1e3, 1e9):
            found = solve(lcb, current, price=price)
            assert found.state.tolist() == current.tolist()
            assert found.value == pytest.approx(lcb.value(current), rel=1e-12)


@EVERY_ROUTE
def test_only_the_knob_that_is_too_dear_stays(basis: Basis, domain: Box | None) -> None:
    """As if it were not free at all; what is found then is no better."""
    rng = np.random.default_rng(4)
    others = 0
    for n in range(12):
        lcb = random_problem(rng, basis, domain, n)
        current = lcb.problem.domain.sample(rng)
        price = np.zeros(3)
        price[n % 3] = 1e4
        found = solve(lcb, current, price=price)
        assert found.state[n % 3] == current[n % 3]
        rest = np.delete(np.arange(3), n % 3)
        pinned = solve(lcb, current, free=rest)
        state = current.copy()
        state[rest] = pinned.state[rest]
        assert found.value <= lcb.value(state) + 1e-8 * abs(found.value)
        others += not np.array_equal(found.state, current)
    assert others >= 9


def test_independent_parabolas_are_soft_thresholded() -> None:
    """a s^2 + b s + price |s - now| has its minimum in closed form, and many stay exactly."""
    rng = np.random.default_rng(5)
    k = 200
    graph = Graph.from_scopes([[j] for j in range(k)], knobs=k)
    problem = Problem(graph, basis=Quadratic(), weights=rng.uniform(0.5, 2.0, size=k))
    target = rng.random(k)
    data = [
        Datum(np.full(k, x), (x - target) ** 2, np.full(k, 1000))
        for x in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    lcb = posterior(problem, data, reg=np.full(k, 0.1), radii=np.zeros(k))
    current, price = rng.random(k), 10 ** rng.uniform(-2, 0.5, size=k)
    found = solve(lcb, current, price=price)
    a, b = np.empty(k), np.empty(k)
    for i in range(k):
        R, v, _ = lcb.estimators.split(i)
        theta = problem.weights[i] * np.linalg.solve(R.T, v) / np.sqrt(3.0)
        b[i], a[i] = theta[1:]
    below, above = (-b - price) / (2 * a), (price - b) / (2 * a)
    expected = np.clip(np.clip(current, below, above), 0.0, 1.0)
    stays = expected == current
    assert 40 <= np.count_nonzero(stays) <= 160
    assert found.state[stays].tolist() == current[stays].tolist()
    assert found.state == pytest.approx(expected, abs=1e-9)


# As good as it gets


def best_of_grid(lcb: LCB, current: Array, price: Array, points: int) -> float:
    """The least G on a grid with the old values in it, refined around its best states."""
    domain = lcb.problem.domain
    assert isinstance(domain, BoundBox)

    def heights(states: Array) -> Array:
        return bound_at(lcb, states) + np.abs(states - current) @ price

    def around(centre: Array, half: float, count: int) -> Array:
        axes = []
        for j, levels in enumerate(map(domain.levels_of, range(current.size))):
            near = centre[j] + half * np.linspace(-1.0, 1.0, count)
            near = np.append(near.clip(domain.low[j], domain.high[j]), current[j])
            axes.append(levels if levels.size else np.unique(near))
        return lattice(*axes)

    states = around(np.full(current.size, 0.5), 0.5, points)
    least = np.inf
    for n in np.argsort(heights(states))[:3]:
        centre, half = states[n], 1.0 / (points - 1)
        while half > 1e-6:
            near = around(centre, half, 4)
            centre, half = near[int(np.argmin(heights(near)))], 0.6 * half
        least = min(least, float(heights(centre[None])[0]))
    return least


@pytest.mark.slow
@EVERY_ROUTE
def test_priced_moves_are_as_good_as_on_a_refined_grid(basis: Basis, domain: Box | None) -> None:
    """Equality, since the value found is that of a state: see the test of the value above."""
    rng = np.random.default_rng(6)
    smooth = isinstance(basis, FourierFeatures | Custom) and domain is not LEVELS
    # L-BFGS-B stops early, and a search is not a proof
    effort, short = (8.0, 1e-6) if smooth else (1.0, 1e-9)
    some = 0
    for n in range((4 if isinstance(basis, Custom) else 8) if smooth else 16):
        lcb = random_problem(rng, basis, domain, n)
        current = lcb.problem.domain.sample(rng)
        price = 10 ** rng.uniform(-1.5, 0.5, size=3)
        found = solve(lcb, current, price=price, effort=effort)
        least = best_of_grid(lcb, current, price, 9 if smooth else 11)
        assert (found.value - least) / abs(least) <= short
        some += 0 < int(np.count_nonzero(found.state == current)) < 3
    assert some >= 1  # some knobs stayed and others moved


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_one_priced_knob_is_solved_as_well_as_by_a_dense_grid(degree: int) -> None:
    rng = np.random.default_rng((7, degree))
    powers = np.vander(GRID, degree + 1, increasing=True).T / np.sqrt(degree + 1)
    stayed = moved = inside = 0
    failures = []
    for trial in range(60):
        m = int(rng.integers(1, 6))
        problem = Problem(
            Graph.from_scopes([[0]] * m, knobs=1),
            basis=Polynomial(degree),
            weights=rng.uniform(0.3, 3.0, size=m),
        )
        data = (noise if trial % 2 else played)(problem, rng, states=int(rng.integers(0, 12)))
        lcb = posterior(problem, data, reg=10 ** rng.uniform(-3, 1, size=m), radii=np.ones(m))
        means, widths = terms_at(lcb, lambda i: powers)
        for radii in 10 ** rng.uniform(-2, 1.0, size=(5, m)):
            lcb = LCB(lcb.estimators, as_radius(radii, m))
            current, price = rng.random(1), float(10 ** rng.uniform(-2, 1))
            found = solve(lcb, current, price=price)
            G = means.sum(axis=0) - radii @ widths + price * np.abs(GRID - current)
            least = min(float(G.min()), lcb.value(current))
            stayed += bool(found.state == current)
            inside += bool(found.state != current and 0.0 < found.state < 1.0)
            moved += bool(found.state != current)
            if (found.value - least) / abs(least) > 1e-9:
                failures.append((trial, found.value - least, found.state, current, price))
    assert not failures
    assert stayed > 30
    assert moved > 30
    assert inside > 5 or degree == 1  # a concave curve ends at an end or stays


def exact_problem(rng: np.random.Generator, kind: str) -> LCB:
    if kind == "one knob":
        return random_posterior(rng, Graph.from_scopes([[0]] * 3, knobs=1), Quadratic())
    graph = random_graph(rng, 5, 6)
    if kind == "levels":
        return random_posterior(rng, graph, Quadratic(), domain=Box(levels=[[0, 0.3, 0.6, 1]] * 5))
    return random_posterior(rng, graph, Linear())


@pytest.mark.parametrize("kind", ["vertices", "levels", "one knob"])
def test_a_higher_price_never_moves_further(kind: str) -> None:
    """G(price) = min over s of F + price way: it rises with the price, ever more slowly."""
    rng = np.random.default_rng(8)
    lengths = set()
    for _ in range(15):
        lcb = exact_problem(rng, kind)
        current = lcb.problem.domain.sample(rng)
        prices = np.linspace(0.0, 2.0, 41)
        found = [solve(lcb, current, price=p) for p in prices]
        way = np.array([np.abs(x.state - current).sum() for x in found])
        values = np.array([x.value for x in found])
        slack = 1e-8 * np.abs(values).max()
        assert (np.diff(way) <= 1e-7).all()
        rise = np.diff(values)
        assert (rise <= way[:-1] * 0.05 + slack).all()  # staying put costs that much more
        assert (rise >= way[1:] * 0.05 - slack).all()
        assert (np.diff(rise) <= 2 * slack).all()
        lengths.update(np.round(way, 6).tolist())
    assert len(lengths) > 20


@pytest.mark.parametrize("kind", ["vertices", "levels"])
def test_exact_solves_stay_exact_with_a_price(kind: str) -> None:
    rng = np.random.default_rng(9)
    for _ in range(10):
        lcb = exact_problem(rng, kind)
        found = solve(lcb, lcb.problem.domain.sample(rng), price=rng.uniform(0.0, 0.5, size=5))
        assert found.certified
        assert found.gap == pytest.approx(0.0, abs=1e-9 * abs(found.value))


def test_a_price_only_counts_for_free_knobs() -> None:
    rng = np.random.default_rng(10)
    lcb = random_posterior(rng, Graph.complete(3), Quadratic())
    current = rng.random(3)
    some = np.array([0, 2])
    dear = solve(lcb, current, free=some, price=[0.1, 5.0, 0.2])
    assert same(dear, solve(lcb, current, free=some, price=[0.1, 0.0, 0.2]))


# Balls


def disc(n: int, rng: np.random.Generator) -> Array:
    """Points all over the unit ball and on its surface."""
    x = rng.normal(size=(40_000, n))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[::2] *= rng.random((20_000, 1)) ** (1.0 / n)
    return np.asarray(x)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_lowest_is_the_least_priced_tangent_on_a_ball(n: int) -> None:
    rng = np.random.default_rng((11, n))
    points = disc(n, rng)
    some = 0
    for _ in range(40):
        now = points[rng.integers(len(points))]
        slope = rng.normal(size=n)
        price = rng.uniform(0.0, 1.5, size=n) * rng.integers(0, 2, size=n)

        x = lowest(slope, now, price)
        assert np.linalg.norm(x) <= 1.0 + 1e-12
        heights = points @ slope + np.abs(points - now) @ price
        height = slope @ x + price @ np.abs(x - now)
        assert height <= min(heights.min(), slope @ now) + 1e-9
        some += 0 < int(np.count_nonzero(x == now)) < n
        # And it is least: the sum of subgradients with a multiple of x, its own, vanishes.
        nu = max(float(-(slope + price * np.sign(x - now)) @ x), 0.0) if (x != now).all() else None
        if nu is not None:
            np.testing.assert_allclose(slope + price * np.sign(x - now) + nu * x, 0.0, atol=1e-9)
    assert n == 1 or some >= 5


def test_lowest_stays_exactly_where_every_move_costs_more_than_it_gains() -> None:
    now = np.array([0.3, -0.4])
    assert lowest(np.array([0.5, -0.2]), now, np.array([0.5, 0.3])).tolist() == now.tolist()
    assert lowest(np.array([0.5, -0.2]), now, np.array([0.4, 0.3]))[1] == now[1]


def ball_lcb(rng: np.random.Generator, problem: Problem) -> LCB:
    m = problem.criteria
    data = noise(problem, rng, states=6)
    reg, radii = rng.uniform(0.1, 2.0, size=(2, m))
    return posterior(problem, data, reg=reg, radii=radii)


@pytest.mark.parametrize("n", [2, 3])
def test_priced_moves_on_one_ball_are_as_good_as_a_dense_sample(n: int) -> None:
    rng = np.random.default_rng((12, n))
    graph = Graph.from_scopes([list(range(n))] * 2, knobs=n)
    problem = Problem(graph, basis=Linear(), domain=Balls([list(range(n))]))
    points = disc(n, rng)
    stayed = moved = 0
    for _ in range(30):
        lcb = ball_lcb(rng, problem)
        current, price = problem.domain.sample(rng), 10 ** rng.uniform(-1, 0.5, size=n)
        found = solve(lcb, current, price=price)
        way = np.abs(found.state - current)
        problem.domain.check(found.state)
        assert found.value == pytest.approx(lcb.value(found.state) + price @ way, rel=1e-11)
        means, widths = terms_at(lcb, lambda i: points.T)
        G = means.sum(axis=0) - lcb.radii @ widths + np.abs(points - current) @ price
        assert found.value <= min(float(G.min()), lcb.value(current)) + 1e-9
        stayed += int(np.count_nonzero(way == 0.0))
        moved += int(np.count_nonzero(way))
    assert stayed >= 5
    assert moved >= 20


def test_priced_moves_on_two_balls_are_as_good_as_pairs_of_points() -> None:
    rng = np.random.default_rng(13)
    problem = Problem(
        Graph.from_scopes([[0, 1], [0, 1, 2, 3], [2, 3]], knobs=4),
        basis=Linear(),
        domain=Balls([[0, 1], [2, 3]]),
    )
    angle = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    circle = np.column_stack((np.cos(angle), np.sin(angle)))
    for _ in range(10):
        lcb = ball_lcb(rng, problem)
        current, price = problem.domain.sample(rng), rng.uniform(0.0, 0.3, size=4)
        found = solve(lcb, current, price=price)
        left, right = (np.vstack((circle, current[block])) for block in ([0, 1], [2, 3]))
        states = np.hstack((np.repeat(left, len(right), axis=0), np.tile(right, (len(left), 1))))
        G = bound_at(lcb, states) + np.abs(states - current) @ price
        assert found.value <= G.min() + 1e-9
        assert solve(lcb, current, price=1e4).state.tolist() == current.tolist()
        assert same(solve(lcb, current, price=0.0), solve(lcb, current))


# What is refused


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"price": -0.1}, r"^price.* = -0\.1 must be at least 0"),
        ({"price": [0.1, -2.0, 0.1]}, r"^price\[1\] = -2 must be at least 0"),
        ({"price": np.nan}, r"^price.* = nan"),
        ({"price": [0.1, 0.1, np.inf]}, r"^price\[2\] = inf"),
        ({"price": [0.1, 0.2]}, r"^price has shape \(2,\)"),
        ({"price": "much"}, "^price"),
        ({"effort": -1.0}, "^effort = -1; it must be finite, >= 0"),
        ({"effort": np.nan}, "^effort = nan; it must be finite, >= 0"),
        ({"effort": np.inf}, "^effort = inf; it must be finite, >= 0"),
        ({"effort": [1.0]}, r"^effort has shape \(1,\); give a single number"),
        ({"certify": -0.5}, "^certify = -0.5; it must be finite, >= 0"),
        ({"certify": np.nan}, "^certify = nan; it must be finite, >= 0"),
        ({"certify": 0.1, "budget": -1}, "^budget = -1; it must be at least 0"),
        ({"certify": 0.1, "budget": 2.5}, "^budget = 2.5; give a whole number"),
        ({"budget": -1}, "^budget = -1; it must be at least 0"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_and_change_nothing(
    argument: dict[str, Any], message: str
) -> None:
    rng = np.random.default_rng(14)
    lcb = random_posterior(rng, Graph.complete(3), Quadratic())
    current = rng.random(3)
    kept, before = current.copy(), solve(lcb, current)
    with pytest.raises(InvalidInput, match=message):
        solve(lcb, current, **argument)
    assert current.tolist() == kept.tolist()
    assert same(solve(lcb, current), before)
