"""Minima on balls against dense samples of the sphere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab as tt
from trimtab.arrays import Array
from trimtab.learn import NodewiseEstimators, as_radius
from trimtab.policies.lcb import LCB
from trimtab.solve import solve
from trimtab.solve.ball import farthest, lowest


def height(x: Array, a: Array, M: Array, beta: float) -> Array:
    return np.asarray(x @ a - beta * np.sqrt(np.einsum("...i,ij,...j->...", x, M, x)))


def sphere(n: int, rng: np.random.Generator, points: int = 20_000) -> Array:
    if n == 2:
        angle = np.linspace(0.0, 2.0 * np.pi, points)
        return np.column_stack((np.cos(angle), np.sin(angle)))
    x = rng.normal(size=(points, n))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


@given(st.integers(0, 10**6), st.integers(1, 4))
@settings(max_examples=60)
def test_farthest_point_is_the_minimum_on_the_sphere(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n)) * 10 ** rng.uniform(-3, 1, size=n)
    a, M = rng.normal(size=n) * 10 ** rng.uniform(-8, 1), A @ A.T
    beta = float(10 ** rng.uniform(-3, 1))
    x = farthest(a, M, beta, np.zeros(n))[0]
    assert np.linalg.norm(x) == pytest.approx(1.0, abs=1e-12)
    least = height(sphere(n, rng), a, M, beta).min()
    assert height(x, a, M, beta) <= least + 1e-9 * (1.0 + abs(least))


@pytest.mark.parametrize("beta", [1e-250, 1e-160, 1e-80])
def test_a_tiny_radius_is_none(beta: float) -> None:
    """The secular equation's root is so far away then that its square overflows."""
    a, M = np.array([3.0, -4.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(farthest(a, M, beta, np.zeros(2))[0], [-0.6, 0.8], atol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans())
@settings(max_examples=200)
@pytest.mark.slow
def test_lowest_has_no_better_neighbour_and_does_not_move_by_rounding(
    seed: int, n: int, outermost: bool
) -> None:
    rng = np.random.default_rng(seed)
    now = rng.normal(size=n) * rng.integers(0, 2, size=n)
    now *= (1.0 if outermost else rng.random()) / max(float(np.linalg.norm(now)), 1e-9)
    slope = rng.normal(size=n) * 10 ** rng.uniform(-4, 2)
    price = rng.random(n) * rng.integers(0, 2, size=n) * np.abs(slope).max()
    x = lowest(slope, now, price)

    def cost(at: Array) -> Array:
        return np.asarray(at @ slope + np.abs(at - now) @ price)

    assert np.linalg.norm(x) <= 1.0 + 1e-14
    assert not ((x != now) & (np.abs(x - now) < 1e-14)).any()
    near = x + rng.normal(size=(2_000, n)) * 10 ** rng.uniform(-4, 0, size=(2_000, 1))
    near /= np.maximum(np.linalg.norm(near, axis=1, keepdims=True), 1.0)
    assert cost(x) <= min(cost(near).min(), cost(now)) + 1e-13 * np.abs(slope).max()
    if np.linalg.norm(now) > 0.0:  # outward from the sphere there is nothing
        edge = now / np.linalg.norm(now)
        assert lowest(-edge, edge, 0.1 * price / np.abs(slope).max()).tolist() == edge.tolist()


def test_the_hard_case() -> None:
    """No part of `a` along the largest eigenvalue: two minima, mirror images of each other."""
    a, M = np.array([0.0, 1.0]), np.diag([4.0, 1.0])
    pair = farthest(a, M, 1.0, np.array([0.3, 0.1]))
    least = height(sphere(2, np.random.default_rng(0)), a, M, 1.0).min()
    np.testing.assert_allclose(height(pair, a, M, 1.0), least, atol=1e-7)
    np.testing.assert_allclose(pair[0], [-pair[1][0], pair[1][1]], atol=1e-12)
    assert pair[0][0] > 0.0  # the one on the side of the state now comes first
    # And where beta is too small for it, only one.
    alone = farthest(a, M, 0.1, np.array([0.3, 0.1]))
    np.testing.assert_allclose(alone[0], [0.0, -1.0], atol=1e-12)


def test_nearly_the_hard_case_is_not_decided_by_rounding() -> None:
    M = np.diag([4.0, 1.0])
    for tilt in (1e-17, -1e-17, 1e-14, -1e-14):
        pair = farthest(np.array([tilt, 1.0]), M, 1.0, np.array([0.0, 0.0]))
        assert {round(float(x[0]), 6) for x in pair} == {-0.816497, 0.816497}


def test_no_uncertainty_and_no_preference() -> None:
    toward = np.array([0.6, 0.8])
    np.testing.assert_allclose(farthest(np.array([0.0, 2.0]), np.eye(2), 0.0, toward)[0], [0, -1])
    np.testing.assert_allclose(farthest(np.zeros(2), np.zeros((2, 2)), 1.0, toward)[0], toward)
    np.testing.assert_allclose(farthest(np.zeros(2), np.eye(2), 1.0, toward)[0], toward)


def random_lcb(rng: np.random.Generator, problem: tt.Problem) -> LCB:
    m = problem.criteria
    estimators = NodewiseEstimators(
        problem, reg=rng.uniform(0.1, 2.0, m), factor=2.0, state=problem.domain.anchor
    )
    for _ in range(6):
        estimators.add_elsewhere(
            rng.normal(size=m), rng.integers(1, 20, m), problem.domain.sample(rng)
        )
    return LCB(estimators, as_radius(rng.uniform(0.2, 2.0, m), m))


def test_one_criterion_on_one_ball_is_exact_and_says_so() -> None:
    rng = np.random.default_rng(0)
    problem = tt.Problem(
        tt.Graph.from_scopes([[0, 1]], knobs=2),
        basis=tt.bases.Linear(),
        domain=tt.Balls([[0, 1]]),
    )
    points = sphere(2, rng)
    for _ in range(20):
        lcb = random_lcb(rng, problem)
        found = solve(lcb, problem.domain.sample(rng))
        assert found.certified
        assert found.gap == 0.0
        assert found.value <= min(lcb.value(x) for x in points[::50]) + 1e-9


@pytest.mark.slow
def test_products_of_balls_against_a_grid_of_angles() -> None:
    """Criteria on one ball, on the other and on both: 60 x 60 pairs of angles, 15 problems."""
    rng = np.random.default_rng(1)
    problem = tt.Problem(
        tt.Graph.from_scopes([[0, 1], [2, 3], [0, 1, 2, 3], [0, 1, 2, 3]], knobs=4),
        basis=tt.bases.Linear(intercept=True),
        domain=tt.Balls([[0, 1], [2, 3]]),
        weights=[1.0, 2.0, 0.5, 1.0],
    )
    angle = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    circle = np.column_stack((np.cos(angle), np.sin(angle)))
    for _ in range(15):
        lcb = random_lcb(rng, problem)
        found = solve(lcb, problem.domain.sample(rng))
        assert not found.certified
        problem.domain.check(found.state)
        least = min(lcb.value(np.concatenate((x, y))) for x in circle for y in circle)
        assert found.value <= least + 1e-9
        assert found.value == pytest.approx(lcb.value(found.state), abs=1e-9)


def test_balls_refuse_what_they_cannot_hold() -> None:
    graph = tt.Graph.from_scopes([[0, 1], [1, 2]], knobs=3)
    with pytest.raises(tt.InvalidInput, match="union of blocks"):
        tt.Problem(graph, basis=tt.bases.Linear(), domain=tt.Balls([[0, 1], [2]]))
    whole = tt.Graph.from_scopes([[0, 1, 2]], knobs=3)
    for basis in (
        tt.bases.Quadratic(),
        tt.bases.FourierFeatures(4),
        tt.bases.Custom(function=lambda i, x: x, bound=2.0),
    ):
        with pytest.raises(tt.InvalidInput, match="balls take a Linear basis"):
            tt.Problem(whole, basis=basis, domain=tt.Balls([[0, 1, 2]]))
    for blocks, message in [
        ([], "empty"),
        ([[0], []], "empty"),
        ([[0, 1], [1]], "twice"),
        ([[0, 1]], "it must name 0 to 2, each once"),
        ([[0, 1], [3]], "it must name 0 to 2, each once"),
    ]:
        with pytest.raises(tt.InvalidInput, match=message):
            tt.Problem(whole, basis=tt.bases.Linear(), domain=tt.Balls(blocks))
    problem = tt.Problem(whole, basis=tt.bases.Linear(), domain=tt.Balls([[0, 1, 2]]))
    assert problem.domain.diameter == pytest.approx(2.0 * np.sqrt(3.0))
    assert problem.features.bounds.tolist() == [1.0]
    for state in ([0.9, 0.9, 0.0], [0.0, np.nan, 0.0], [0.0, 0.0]):
        assert not problem.domain.contains(state)
    assert problem.domain.contains([0.6, 0.8, 0.0])
