"""The lower confidence bound against plain linear algebra, and its slope against differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.builders import Datum, noise, played, posterior, random_graph, random_posterior
from trimtab.arrays import Array
from trimtab.learn import Confidence, NodewiseEstimators, as_radius
from trimtab.model.bases import (
    Basis,
    Custom,
    FourierFeatures,
    Linear,
    PairwiseQuadratic,
    Polynomial,
    Quadratic,
)
from trimtab.model.domain import Box
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.policies.lcb import LCB
from trimtab.solve import solve

BASES: list[Basis] = [
    Linear(),
    Linear(intercept=True, normalize=False),
    Polynomial(3),
    PairwiseQuadratic(),
    Quadratic(normalize=False),
    FourierFeatures(7, lengthscale=0.3),
    Custom(function=lambda i, x: [1.0, np.sin(x).sum() + i, np.cos(3 * x[0])], bound=10.0),
]
every_basis = pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)


def random_problem(rng: np.random.Generator, basis: Basis) -> Problem:
    k, m = int(rng.integers(2, 6)), int(rng.integers(1, 8))
    box = Box(low=0.05, high=0.95, levels={0: [0.05, 0.4, 0.95]})
    graph = random_graph(rng, k, m, widest=4)
    return Problem(graph, basis=basis, domain=box, weights=rng.uniform(0.2, 4.0, size=m))


def ridge(problem: Problem, data: list[Datum], reg: Array, i: int) -> tuple[Array, Array]:
    """V_i and b_i as the paper writes them: one term per round."""
    lo, hi = problem.features.offsets[i : i + 2]
    V, b = reg[i] * np.eye(hi - lo), np.zeros(hi - lo)
    for datum in data:
        if not np.isnan(datum.losses[i]):
            phi = problem.phi(datum.state)[lo:hi]
            for _ in range(datum.count[i]):
                V += np.outer(phi, phi)
                b += phi * datum.losses[i]
    return V, b


@every_basis
@pytest.mark.parametrize("seed", range(6))
def test_value_width_and_terms_from_the_matrices(basis: Basis, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, basis)
    m, offsets = problem.criteria, problem.features.offsets
    data = noise(problem, rng, states=int(rng.integers(0, 7)))
    reg, radii = rng.choice([0.05, 0.5, 3.0], size=m), rng.uniform(0.0, 2.0, size=m)
    lcb = posterior(problem, data, reg=reg, radii=radii)
    matrices = [ridge(problem, data, reg, i) for i in range(m)]
    for _ in range(4):
        s = problem.domain.sample(rng)
        phi = problem.phi(s)
        means, widths = np.empty(m), np.empty(m)
        for i, (V, b) in enumerate(matrices):
            x = phi[offsets[i] : offsets[i + 1]]
            means[i] = problem.weights[i] * (x @ np.linalg.inv(V) @ b)
            widths[i] = problem.weights[i] * radii[i] * np.sqrt(x @ np.linalg.inv(V) @ x)
        mean, width = lcb.terms(s)
        assert mean == pytest.approx(means, rel=1e-9, abs=1e-11)
        assert width == pytest.approx(widths, rel=1e-9, abs=1e-11)
        assert lcb.width(s) == pytest.approx(widths.sum(), rel=1e-9)
        assert lcb.value(s) == pytest.approx(means.sum() - widths.sum(), rel=1e-9, abs=1e-10)
        asked = rng.permutation(m)[: int(rng.integers(1, m + 1))]
        mean, width = lcb.terms(s, asked)
        assert mean == pytest.approx(means[asked], rel=1e-9, abs=1e-11)
        assert width == pytest.approx(widths[asked], rel=1e-9, abs=1e-11)
        part = (means - widths)[asked].sum()
        assert lcb.value(s, asked) == pytest.approx(part, rel=1e-9, abs=1e-10)


@every_basis
@pytest.mark.parametrize("data", [noise, played])
def test_gradient_equals_central_differences(
    basis: Basis, data: Callable[..., list[Datum]]
) -> None:
    rng = np.random.default_rng(3)
    h = 1e-6
    for _ in range(8):
        graph = random_graph(rng, 4, 5)
        lcb = random_posterior(rng, graph, basis, data=data)
        s = rng.uniform(0.05, 0.95, size=4)
        asked = rng.permutation(5)[:3]
        for criteria in (None, asked):
            steps = h * np.eye(4)
            rise = [lcb.value(s + e, criteria) - lcb.value(s - e, criteria) for e in steps]
            slope = lcb.gradient(s, criteria)
            scale = 1.0 + np.abs(slope).max()
            assert slope == pytest.approx(np.array(rise) / (2 * h), abs=2e-6 * scale)
        unread = np.setdiff1d(np.arange(4), np.concatenate([graph.scope(i) for i in asked]))
        assert (lcb.gradient(s, asked)[unread] == 0.0).all()


def test_at_a_width_of_zero_the_slope_is_the_means() -> None:
    problem = Problem(Graph.complete(1), basis=Linear(), weights=3.0)
    data = [Datum(np.array([0.5]), np.array([2.0]), np.array([4]))]
    lcb = posterior(problem, data, reg=np.array([1.0]), radii=np.array([5.0]))
    theta = 4 * 0.5 * 2.0 / (1.0 + 4 * 0.25)
    assert lcb.value(np.zeros(1)) == 0.0
    assert lcb.gradient(np.zeros(1)) == pytest.approx([3.0 * theta])


def test_without_data_only_the_width_is_left() -> None:
    problem = Problem(Graph.complete(2), basis=Linear(normalize=False), weights=[1.0, 2.0])
    lcb = posterior(problem, [], reg=np.array([4.0, 0.25]), radii=np.array([1.0, 3.0]))
    s = np.array([0.6, 0.8])  # of length 1
    assert lcb.value(s) == pytest.approx(-(1.0 * 1.0 / 2.0 + 2.0 * 3.0 / 0.5))
    assert lcb.width(s) == pytest.approx(-lcb.value(s))


@pytest.mark.parametrize("seed", range(5))
def test_the_core_prunes_as_a_loop_over_values_does(seed: int) -> None:
    """Moves that hardly matter go back; no more is given up than may be."""
    rng = np.random.default_rng(seed)
    lcb = random_posterior(rng, random_graph(rng, 6, 7), Quadratic())
    slow = LCB(lcb.estimators, lcb.radius)
    slow.core = None
    now, price = rng.random(6), rng.uniform(0.0, 0.01, 6)
    best = solve(lcb, now).state
    best[:2] = now[:2] + np.where(now[:2] < 0.5, 1e-6, -1e-6)
    left = 0.05 * lcb.width(best)
    found = lcb.pruned(best, now, price, left)
    np.testing.assert_array_equal(found, slow.pruned(best, now, price, left))
    np.testing.assert_array_equal(found[:2], now[:2])
    assert ((found == best) | (found == now)).all()
    assert (found != now).any()
    given_up = lcb.value(found) - lcb.value(best) - price @ (abs(best - now) - abs(found - now))
    assert given_up <= left
    np.testing.assert_allclose(lcb.terms(best), slow.terms(best), rtol=1e-12)


def test_radii_are_those_of_the_last_update() -> None:
    """A confidence radius grows with the data, for the criteria that are updated."""
    problem = Problem(Graph.complete(2), basis=Linear(normalize=False))
    reg = np.array([2.0, 0.5])
    estimators = NodewiseEstimators(problem, reg=reg, factor=2.0, state=np.ones(2))
    lcb = LCB(estimators, as_radius(Confidence(sigma=0.3, norm=2.0, delta=0.1), 2))
    start = 0.3 * np.sqrt(2 * np.log(2 / 0.1)) + np.sqrt(reg) * 2.0
    assert lcb.radii == pytest.approx(start)
    estimators.add_elsewhere(np.array([1.0, 1.0]), np.array([10, 10]), np.array([1.0, 0.5]))
    assert lcb.radii == pytest.approx(start)
    lcb.update(np.array([1]))
    gain = np.log(np.linalg.det(np.eye(2) + 10 * np.outer([1, 0.5], [1, 0.5]) / 0.5))
    grown = 0.3 * np.sqrt(gain + 2 * np.log(2 / 0.1)) + np.sqrt(0.5) * 2.0
    assert lcb.radii == pytest.approx([start[0], grown])
    assert lcb.width(np.ones(2)) == pytest.approx(
        sum(
            lcb.radii[i] * np.sqrt(np.ones(2) @ np.linalg.solve(estimators.V(i), np.ones(2)))
            for i in range(2)
        )
    )
