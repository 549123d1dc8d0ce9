"""What the adaptive policy is made of: coordinates, tests of edges, refits, designs, tours."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

import trimtab as tt
from tests.builders import lattice, noise
from trimtab.arrays import Array
from trimtab.learn import NodewiseEstimators, as_radius
from trimtab.learn.sparsity_test import Edges, Regression, group, orthonormal
from trimtab.learn.subset_refit import check_nested, kept_features, on_graph, refit, sub_factor
from trimtab.model.bases import Basis, Linear, PairwiseQuadratic, Polynomial, Quadratic
from trimtab.policies.adaptive.design import colours, nearest_levels, optimal_states, slots_of
from trimtab.policies.adaptive.refit import refitted
from trimtab.policies.adaptive.visiting_order import tour
from trimtab.policies.adaptive.warmup_length import rounds_needed
from trimtab.theory.adaptive import mean_grams

BASES: list[Basis] = [
    Linear(),
    Linear(intercept=True),
    Polynomial(4),
    PairwiseQuadratic(),
    Quadratic(),
    Quadratic(normalize=False),
]
LEVELS = [0.2, 0.3, 0.9]
DOMAIN = tt.Box(low=[0.1, 0.0, 0.2], high=[0.7, 1.0, 0.9], levels={2: LEVELS})
bases = pytest.mark.parametrize("basis", BASES, ids=repr)


def exact_draws() -> tuple[Array, Array]:
    """States and weights with the moments of independent uniform knobs in DOMAIN."""
    x, w = leggauss(8)
    axes = [0.1 + 0.6 * (x + 1) / 2, (x + 1) / 2, np.array(LEVELS)]
    weights = lattice(w / 2, w / 2, np.full(3, 1 / 3)).prod(axis=1)
    return lattice(*axes), weights


def features_of(problem: tt.Problem, i: int, states: Array) -> Array:
    lo, hi = problem.features.offsets[i : i + 2]
    return np.array([problem.phi(s)[lo:hi] for s in states])


@bases
def test_coordinates_are_orthonormal(basis: Basis) -> None:
    """phi = B psi with E psi psi' = I, so that E phi phi' = B B'."""
    problem = tt.Problem(tt.Graph.complete(3), basis=basis, domain=DOMAIN)
    states, weights = exact_draws()
    for i in range(3):
        phi, B = features_of(problem, i, states), orthonormal(problem, i).B
        np.testing.assert_allclose(B @ B.T, phi.T @ (weights[:, None] * phi), atol=1e-13)


def test_coordinates_on_the_unit_interval_are_shifted_legendre() -> None:
    problem = tt.Problem(tt.Graph.complete(1), basis=Polynomial(2, normalize=False))
    a, b = 1 / np.sqrt(12.0), 1 / np.sqrt(180.0)
    expected = np.array([[1.0, 0.0, 0.0], [1 / 2, a, 0.0], [1 / 3, a, b]])
    np.testing.assert_allclose(orthonormal(problem, 0).B, expected, atol=1e-14)


@bases
def test_size_is_the_variance_that_a_knob_contributes(basis: Basis) -> None:
    """size^2 = E Var(loss | all other knobs), Sobol's total effect, by summing over the grid."""
    problem = tt.Problem(tt.Graph.complete(3), basis=basis, domain=DOMAIN)
    states, weights = exact_draws()
    theta = np.random.default_rng(3).normal(size=int(problem.dims[1]))
    loss, map_ = features_of(problem, 1, states) @ theta, orthonormal(problem, 1)
    for j in range(3):
        others = np.delete(states, j, axis=1)
        _, cell = np.unique(others.round(12), axis=0, return_inverse=True)
        mass = np.bincount(cell, weights)
        mean = np.bincount(cell, weights * loss) / mass
        expected = float(weights @ (loss - mean[cell]) ** 2)
        G, C = group(problem, map_, 1, np.array([j]))
        assert np.sum((C.T @ theta[G]) ** 2) == pytest.approx(expected, rel=1e-9)


def test_coordinates_of_a_knob_with_too_few_values() -> None:
    """With two levels a square tells nothing beyond the knob; a fixed knob tells nothing."""
    domain = tt.Box(low=[0.0, 0.4], high=[1.0, 0.4], levels={0: [0.0, 1.0]})
    problem = tt.Problem(tt.Graph.complete(2), basis=tt.bases.Quadratic(), domain=domain)
    map_ = orthonormal(problem, 0)
    G, C = group(problem, map_, 0, np.array([0]))
    assert np.linalg.matrix_rank(C) == 1
    G, C = group(problem, map_, 0, np.array([1]))
    assert G.size == 3
    np.testing.assert_allclose(C, 0.0, atol=1e-15)


# The sparsity test and the refit


def some_regression(basis: Basis) -> NodewiseEstimators:
    """Losses without any pattern at 30 states, reg and weights different from 1."""
    rng = np.random.default_rng(5)
    problem = tt.Problem(tt.Graph.complete(3), basis=basis, domain=DOMAIN)
    reg = np.array([0.3, 2.0, 0.7])
    found = NodewiseEstimators(problem, reg=reg, factor=2.0, state=problem.domain.low.copy())
    for datum in noise(problem, rng, states=30):
        found.add_elsewhere(datum.losses, datum.count, datum.state)
    return found


@bases
def test_statistics_equal_the_dense_formulas(basis: Basis) -> None:
    estimators = some_regression(basis)
    for i in range(3):
        inverse, theta = np.linalg.inv(estimators.V(i)), estimators.theta(i)
        for j in range(3):
            G, C = group(estimators.problem, orthonormal(estimators.problem, i), i, np.array([j]))
            assert G.tolist() == estimators.problem.features.owned(i, j).tolist()
            block = inverse[np.ix_(G, G)]
            statistic, size, reach = Regression(estimators, i).test(np.array([j]))
            assert statistic == pytest.approx(theta[G] @ np.linalg.inv(block) @ theta[G], rel=1e-6)
            assert size == pytest.approx(np.linalg.norm(C.T @ theta[G]), rel=1e-9)
            assert reach**2 == pytest.approx(np.linalg.eigvalsh(C.T @ block @ C)[-1], rel=1e-6)


@bases
def test_refit_is_the_regression_on_the_smaller_scopes(basis: Basis) -> None:
    """The same data told to a regression that never knew the larger scopes."""
    large = some_regression(basis)
    problem = large.problem
    smaller = on_graph(
        problem, tt.Graph.from_scopes([[0, 2], [1], [0, 1, 2]], knobs=3, centres=range(3))
    )
    saved = refit(large, smaller)
    direct = NodewiseEstimators(
        smaller, reg=saved["reg"], factor=2.0, state=problem.domain.low.copy()
    )
    for datum in noise(problem, np.random.default_rng(5), states=30):
        direct.add_elsewhere(datum.losses, datum.count, datum.state)
    np.testing.assert_allclose(saved["R"], direct.stats.R, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(saved["gain"], direct.stats.gain, rtol=1e-9)
    np.testing.assert_array_equal(saved["seen"], direct.stats.seen)
    lo, hi = large.stats.blocks[2:4]
    np.testing.assert_array_equal(saved["R"][-(hi - lo) :], large.stats.R[lo:hi])  # to the bit
    kept, ratio = kept_features(problem, smaller, 0)
    cut = large.theta(0)[kept] / ratio
    assert np.abs(direct.theta(0) - cut).max() > 1e-3 * np.abs(cut).max()  # it is not the old one


def test_sub_factor_keeps_digits_that_squaring_would_lose() -> None:
    """Columns of size 1e-9 beside 1: the product A A' would have lost them."""
    A = np.array([[1.0, 0, 0, 0], [1.0, 1e-9, 0, 0], [1.0, 1e-9, 1e-9, 0], [1.0, 0, 2e-9, 1e-9]])
    L = sub_factor(A, np.array([0, 2]))
    np.testing.assert_allclose(np.diag(L), [1.0, 2**0.5 * 1e-9, 3**0.5 * 1e-9], rtol=1e-6)


@pytest.mark.parametrize("due", [True, False])
def test_a_refitted_learner_goes_on_from_the_same_data(due: bool) -> None:
    """Same state, clock and bound; the radius with the reg, norm and delta of the old units."""
    world = tt.worlds.sparse(3, degree=2, gamma=0.3, seed=1)
    radius = tt.Confidence(sigma=0.3, norm=4.0)
    policy = tt.LazyGraphLinUCB(world.problem, start=[0.5] * 3, radius=radius, reg=0.1)
    tt.play(policy, world, horizon=500)
    old = policy.learner
    old.absorb(world.problem.all_criteria)
    graph = tt.Graph.from_scopes([[0, 2], [1], [0, 1, 2]], knobs=3, centres=range(3))
    new = refitted(old, on_graph(world.problem, graph), delta=0.01, due=due)
    assert (new.clock, new.certificate) == (old.clock, old.certificate)
    np.testing.assert_array_equal(new.state, old.state)
    assert new.estimators.triggered().tolist() == ([0, 1, 2] if due else [])
    for i in range(3):
        kept, _ = kept_features(world.problem, new.problem, i)
        V = old.estimators.V(i)[np.ix_(kept, kept)]
        gain = np.linalg.slogdet(V)[1] - kept.size * np.log(0.1)
        beta = 0.3 * np.sqrt(gain + 2 * np.log(3 / 0.01)) + np.sqrt(0.1) * 4.0
        assert new.lcb.radii[i] == pytest.approx(beta, rel=1e-9)
        phi = world.problem.phi(old.state)[world.problem.features.offsets[i] :][kept]
        assert new.estimators.stats.spread[i] == pytest.approx(
            phi @ np.linalg.inv(V) @ phi, rel=1e-6
        )


def test_bases_that_cannot_shrink() -> None:
    class Odd(Quadratic):
        def template(self, n: int) -> list[tuple[int, int, int, int]]:
            return [*super().template(n), (0, 3, 0, 0)][: -1 if n == 3 else None]

    check_nested(tt.Problem(tt.Graph.complete(3), basis=tt.bases.Quadratic()))
    with pytest.raises(tt.InvalidInput, match="nested"):
        check_nested(tt.Problem(tt.Graph.complete(3), basis=Odd()))
    fourier = tt.Problem(tt.Graph.complete(3), basis=tt.bases.FourierFeatures(6))
    with pytest.raises(tt.InvalidInput, match="monomials"):
        orthonormal(fourier, 0)


def test_the_last_knob_of_a_scope_without_centre_stays() -> None:
    problem = tt.Problem(tt.Graph.from_scopes([[0, 1], [1]], knobs=2), basis=tt.bases.Quadratic())
    estimators = NodewiseEstimators(problem, reg=np.ones(2), factor=2.0, state=np.zeros(2))
    for s in ([0.0, 0.0], [1.0, 0.2], [0.5, 1.0]) * 3:
        estimators.add_elsewhere(np.array([s[1], 0.0]), np.full(2, 50), np.array(s))
    edges = Edges(problem)
    assert [edge.decision for edge in edges] == ["undecided", "undecided", "fixed"]
    assert edges.test(estimators, np.full(2, 10.0), np.full(2, 1e6), 450)
    assert [edge.decision for edge in edges] == ["excluded", "undecided", "fixed"]
    assert edges.scopes() == [[1], [1]]
    assert not edges.test(estimators, np.full(2, 10.0), np.full(2, 1e6), 450)


def test_the_text_of_the_evidence() -> None:
    text = str(Edges(tt.Problem(tt.Graph.complete(2), basis=tt.bases.Quadratic()))).splitlines()
    assert text[0].split() == [
        "criterion",
        "knob",
        "statistic",
        "threshold",
        "size",
        "bound",
        "decision",
    ]
    assert text[2].split() == ["0", "1", "0", "inf", "0", "inf", "undecided"]


# Designs and tours


def variance(problem: tt.Problem, states: Array) -> float:
    """What the design minimises, from scratch: the variances of all coefficients but constants."""
    total = 0.0
    for i in range(problem.criteria):
        map_, P = orthonormal(problem, i), features_of(problem, i, states)
        B = map_.B[:, ~map_.constant]
        total += float(np.trace(B.T @ np.linalg.inv(P.T @ P + 1e-6 * np.eye(P.shape[1])) @ B))
    return total


@pytest.mark.parametrize("basis", [PairwiseQuadratic(), Linear(), Polynomial(3)], ids=repr)
def test_no_single_exchange_improves_the_design(basis: Basis) -> None:
    problem = tt.Problem(tt.Graph.complete(3), basis=basis)
    states = optimal_states(problem)
    best = variance(problem, states)
    for p in range(len(states)):
        for slot in slots_of(problem):
            for value in slot.values:
                other = states.copy()
                other[p, slot.knobs] = value
                assert variance(problem, other) > best * (1 - 1e-3)
    rng = np.random.default_rng(0)
    draws = [variance(problem, rng.random(states.shape)) for _ in range(20)]
    assert best < 0.7 * min(draws)


def test_designs_respect_levels_and_boxes() -> None:
    problem = tt.Problem(tt.Graph.complete(3), basis=tt.bases.Quadratic(), domain=DOMAIN)
    states = optimal_states(problem)
    for s in states:
        problem.domain.check(s)
    assert np.unique(states[:, 0]).tolist() == pytest.approx([0.1, 0.4, 0.7])
    assert np.unique(states[:, 2]).tolist() == LEVELS
    np.testing.assert_array_equal(
        nearest_levels(np.array([0.0, 1.0]), np.array([0, 0.5, 1])), [0, 1]
    )


def test_knobs_with_different_choices_have_different_colours() -> None:
    """Two and three levels, never read together: each still gets values of its own."""
    domain = tt.Box(low=0.2, levels={0: [0.2, 0.9], 1: [0.2, 0.9]})
    problem = tt.Problem(tt.Graph.cliques([2, 2]), basis=tt.bases.Quadratic(), domain=domain)
    assert np.unique(colours(problem, slots_of(problem))).size == 4
    for s in optimal_states(problem):
        problem.domain.check(s)


@pytest.mark.slow
def test_few_states_serve_a_large_sparse_graph() -> None:
    """Knobs that no criterion reads together share a colour: a ring of 300 needs 20 states."""
    ring = tt.Graph.from_edges(300, [(j, (j + 1) % 300) for j in range(300)])
    problem = tt.Problem(ring, basis=tt.bases.Quadratic())
    colour = colours(problem, slots_of(problem))
    for i in range(300):
        assert np.unique(colour[ring.scope(i)]).size == 3
    states = optimal_states(problem)
    assert states.shape == (20, 300)
    assert tt.theory.kappa(problem, states) > tt.theory.kappa(problem)


def test_the_kappa_of_the_design_of_ten_knobs() -> None:
    """Uniform draws have kappa 1; the design tells more per round of the weakest knob."""
    problem = tt.Problem(tt.Graph.complete(10), basis=PairwiseQuadratic())
    assert tt.theory.kappa(problem) == pytest.approx(1.0)
    assert tt.theory.kappa(problem, optimal_states(problem)) > 2.2


def test_kappa_by_hand_and_unseen_dependencies() -> None:
    problem = tt.Problem(tt.Graph.complete(2), basis=tt.bases.Quadratic())
    rng = np.random.default_rng(2)
    states = rng.random((9, 2))
    (M, _), least = mean_grams(problem, states), np.inf
    for i, j in ((0, 1), (1, 0)):
        G, C = group(problem, orthonormal(problem, i), i, np.array([j]))
        least = min(least, 1 / np.linalg.eigvalsh(C.T @ np.linalg.inv(M)[np.ix_(G, G)] @ C)[-1])
    assert tt.theory.kappa(problem, states) == pytest.approx(least, rel=1e-4)
    assert tt.theory.kappa(problem, states[:4]) == 0.0


@pytest.mark.slow
def test_tours_visit_everything_on_a_short_way() -> None:
    """Against the best of all orders of seven states: at most a quarter longer in 20 cases."""
    rng = np.random.default_rng(4)

    def way(start: Array, states: Array) -> float:
        return float(np.abs(np.diff(np.vstack((start, states)), axis=0)).sum())

    for _ in range(20):
        start, states = rng.random(3), rng.random((7, 3))
        order = tour(start, states)
        assert sorted(order.tolist()) == list(range(7))
        best = min(way(start, states[list(other)]) for other in permutations(range(7)))
        assert way(start, states[order]) <= 1.25 * best
    assert tour(np.zeros(2), np.empty((0, 2))).size == 0
    for _ in range(20):  # and no stretch of it would be better turned around
        start, states = rng.random(4), rng.random((30, 4))
        found = states[tour(start, states)]
        for a in range(30):
            for b in range(a + 2, 31):
                turned = np.vstack((found[:a], found[a:b][::-1], found[b:]))
                assert way(start, turned) >= way(start, found) - 1e-9


def test_the_length_is_the_first_that_suffices() -> None:
    """Recomputed with inverses: 2 beta |W C| < gamma there for all edges, not 3 % before."""
    problem = tt.Problem(tt.Graph.complete(3), basis=PairwiseQuadratic())
    edges, grams = Edges(problem), mean_grams(problem)
    reg, gamma = np.array([0.1, 1.0, 3.0]), np.array([0.3, 0.5, 0.4])
    radius = as_radius(tt.Confidence(sigma=0.3, norm=1.0), 3)
    n = rounds_needed(problem, edges, grams, reg=reg, radius=radius, gamma=gamma, most=1e9)

    def certain(n: float) -> bool:
        for i in range(3):
            V = reg[i] * np.eye(7) + n * grams[i]
            gain = np.linalg.slogdet(V)[1] - 7 * np.log(reg[i])
            beta = 0.3 * np.sqrt(gain + 2 * np.log(3 / 0.05)) + np.sqrt(reg[i])
            for j in {0, 1, 2} - {i}:
                G, C = group(problem, orthonormal(problem, i), i, np.array([j]))
                block = C.T @ np.linalg.inv(V)[np.ix_(G, G)] @ C
                if 2 * beta * np.sqrt(np.linalg.eigvalsh(block)[-1]) >= gamma[i]:
                    return False
        return True

    assert n > 100
    assert certain(n)
    assert not certain(0.97 * n)


def test_break_even_and_lengths() -> None:
    assert tt.theory.break_even(0.0, learned=lambda T: 1.0, given=lambda T: 1.0) == 1
    assert tt.theory.break_even(10.0, learned=lambda T: T, given=lambda T: 2 * T) == 10
    assert tt.theory.break_even(1.0, learned=lambda T: T, given=lambda T: T) == np.inf
    with pytest.raises(tt.InvalidInput, match="kappa"):
        tt.theory.warmup_rounds(1.0, kappa=0.0, gamma=0.3)
