"""The higher powers of each knob: the basis, and how large the prior takes that part to be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array
from trimtab.learn.prior import BENDS
from trimtab.learn.subset_refit import check_nested
from trimtab.model.bases import Quadratic

RING = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])

# The basis.


def test_powers_come_after_the_quadratic() -> None:
    higher = [(0, 3, 0, 0), (0, 4, 0, 0), (1, 3, 0, 0), (1, 4, 0, 0)]
    assert Quadratic(powers=4).template(2) == Quadratic().template(2) + higher
    assert Quadratic(powers=2) == Quadratic()
    assert tt.Problem(RING).basis == Quadratic(powers=6)


def test_features_are_those_powers() -> None:
    problem = tt.Problem(
        tt.Graph.from_scopes([[0, 1]], knobs=2), basis=Quadratic(powers=5, normalize=False)
    )
    x, y = s = np.array([0.3, 0.9])
    expected = [1, x, y, x**2, y**2, x * y, x**3, x**4, x**5, y**3, y**4, y**5]
    np.testing.assert_allclose(problem.phi(s), expected, rtol=1e-12)


@pytest.mark.parametrize("powers", [1, 0, -1, 17, 2.5])
def test_powers_are_whole_and_from_2_to_16(powers: int) -> None:
    with pytest.raises(tt.InvalidInput, match="powers"):
        Quadratic(powers=powers)
    assert len(Quadratic(powers=16).template(1)) == 17


def test_a_part_of_a_scope_has_a_part_of_the_features() -> None:
    """What `AdaptiveGraphLinUCB` needs of a basis: a knob that nobody reads can be left out."""
    whole, part = (Quadratic(powers=6).template(n) for n in (3, 2))
    assert [row for row in whole if row[0] < 2 and row[2] < 2] == part
    check_nested(tt.Problem(tt.Graph.complete(3)))


# What is learned of it.


def bend_of(loss: Callable[[Array], Array], seed: int) -> float:
    """What multiplies the higher powers, after 40 states of 4 rounds each."""
    policy = tt.LazyGraphLinUCB(tt.Problem(RING), start=[0.5] * 4)
    learner, rng = policy.learner, np.random.default_rng(seed)
    for state in rng.random((40, 4)):
        policy.place(state)
        for _ in range(4):
            learner.observe(loss(state) + 0.05 * rng.standard_normal(4), played=None, count=1)
    learner.absorb(policy.problem.all_criteria)
    scales, prior = learner.scales, learner.estimators.prior
    assert scales is not None
    assert prior is not None
    np.testing.assert_array_equal(prior.bends, BENDS)
    return float(prior.bends[scales.bend])


@pytest.mark.parametrize("seed", range(3))
def test_a_quadratic_world_bends_little_and_a_cliff_much(seed: int) -> None:
    quadratic = tt.worlds.quadratic(RING, seed=seed).mean
    assert bend_of(quadratic, seed) < 1.0
    assert bend_of(lambda s: np.where(s > 0.85, 4.0, 0.0), seed) > 1.0


def test_a_prior_without_higher_powers_has_nothing_to_learn() -> None:
    bound = tt.Prior().bind(tt.Problem(RING, basis=Quadratic()))
    np.testing.assert_array_equal(bound.bends, 1.0)
    assert len(bound.roots) == 1
    assert bound.usual == 0
    many = tt.Prior().bind(tt.Problem(RING))
    assert len(many.roots) == len(BENDS)
    assert many.bends[many.usual] == 1.0


def test_a_bend_multiplies_the_deviations_of_all_degrees_above_2() -> None:
    """Quadratics have one K whatever the bend, and losses vary more where they may bend more."""
    problem = tt.Problem(tt.Graph.complete(1), basis=Quadratic(powers=4))
    bound = tt.Prior().bind(problem)
    d = int(problem.dims[0])
    states = np.linspace(0.0, 1.0, 41)
    phi = np.array([problem.phi(np.array([s])) for s in states])
    rough = np.linalg.lstsq(np.vander(states, 3), np.eye(41), rcond=None)[0]
    rest = np.eye(41) - np.vander(states, 3) @ rough  # what no quadratic explains
    sizes = []
    for root in bound.roots:
        L = np.zeros((d, d))
        L[np.tril_indices(d)] = root[: d * (d + 1) // 2]
        half = np.linalg.solve(L, phi.T)
        sizes.append(float(np.trace(rest @ half.T @ half @ rest)))
    np.testing.assert_allclose(np.array(sizes) / sizes[bound.usual], np.square(BENDS), rtol=1e-3)


def test_parameters_are_drawn_with_the_usual_bend() -> None:
    """With zeros they are the mean, and their covariance is S^2 K^-1."""
    problem = tt.Problem(tt.Graph.from_scopes([[0], [0, 1]], knobs=2))
    bound = tt.Prior().bind(problem)
    spread = np.array([2.0, 3.0])
    dims = problem.dims
    zero = bound.parameters(spread, np.zeros(int(dims.sum())))
    np.testing.assert_allclose(zero, np.repeat(spread, dims) * bound.mean)
    d, first = int(dims[1]), int(dims[0])
    L = np.zeros((d, d))
    start = (first + 1) * (first + 2) // 2
    root = bound.roots[bound.usual][start : start + d * (d + 1) // 2]
    L[np.tril_indices(d)] = root
    moved = np.array(
        [bound.parameters(spread, row)[first:] for row in np.eye(int(dims.sum()))[first:]]
    )
    found = (moved - zero[first:]).T @ (moved - zero[first:])
    states = np.random.default_rng(0).random((20, 2))
    phi = np.array([problem.phi(s)[first:] for s in states])
    expected = 9.0 * phi @ np.linalg.solve(L @ L.T, phi.T)
    np.testing.assert_allclose(phi @ found @ phi.T, expected, rtol=1e-4, atol=1e-6)
