"""Waves of one knob and of two: features, derivatives, sizes and norms by slower routes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import trimtab as tt
from trimtab.model.bases.orthonormal import coordinates
from trimtab.model.bases.pairwise_fourier import Waves
from trimtab.solve.certify.box_bound import enclosure

BASIS = tt.bases.PairwiseFourier(4, lengthscale=0.4, seed=3)
GRAPH = tt.Graph.from_scopes([[0, 2, 3], [1], [1, 2]], knobs=4)


def waves(problem: tt.Problem) -> Waves:
    assert isinstance(problem.features, Waves)
    return problem.features


@pytest.mark.parametrize("normalize", [True, False])
def test_waves_are_those_of_the_definition(normalize: bool) -> None:
    basis = tt.bases.PairwiseFourier(3, lengthscale=0.4, seed=3, normalize=normalize)
    problem = tt.Problem(GRAPH, basis=basis)
    state = np.array([0.1, 0.7, 0.3, 0.9])
    one, two = basis.frequencies(1), basis.frequencies(2)
    assert one.shape == (3, 1)
    np.testing.assert_array_equal(one[0], one[1])  # a cosine and a sine of one frequency
    expected = []
    for scope in ([0, 2, 3], [1], [1, 2]):
        phi = [1.0]
        for j in scope:
            phi += [np.cos(one[f, 0] * state[j] - np.pi / 2 * (f % 2)) for f in range(3)]
        for a, b in combinations(scope, 2):
            phi += [
                np.cos(two[f, 0] * state[a] + two[f, 1] * state[b] - np.pi / 2 * (f % 2))
                for f in range(3)
            ]
        phi[1:] = (np.sqrt(2.0 / 3.0) * np.array(phi[1:])).tolist()
        groups = len(scope) + len(scope) * (len(scope) - 1) // 2
        longest = np.sqrt(1.0 + groups * 4.0 / 3.0)
        expected += (np.array(phi) / (longest if normalize else 1.0)).tolist()
    np.testing.assert_allclose(problem.phi(state), expected, rtol=1e-12, atol=1e-12)


def test_derivatives_equal_central_differences() -> None:
    problem = tt.Problem(GRAPH, basis=BASIS)
    features, state, h = problem.features, np.array([0.1, 0.7, 0.3, 0.9]), 1e-6
    for i in range(3):
        J, mine = features.jacobian(i, state), slice(*features.offsets[i : i + 2])
        for c, j in enumerate(GRAPH.scope(i)):
            up, down = state.copy(), state.copy()
            up[j], down[j] = state[j] + h, state[j] - h
            slope = (problem.phi(up)[mine] - problem.phi(down)[mine]) / (2.0 * h)
            np.testing.assert_allclose(J[:, c], slope, atol=1e-8)


def test_no_features_are_longer_than_their_bound_and_even_ones_are_as_long() -> None:
    for dim in (3, 4):
        problem = tt.Problem(GRAPH, basis=tt.bases.PairwiseFourier(dim, normalize=False))
        for state in np.random.default_rng(0).random((50, 4)):
            lengths = np.sqrt(
                np.add.reduceat(problem.phi(state) ** 2, problem.features.offsets[:-1])
            )
            assert (lengths <= problem.features.bounds + 1e-12).all()
            if dim == 4:
                np.testing.assert_allclose(lengths, problem.features.bounds)


def test_a_knob_owns_what_changes_with_it() -> None:
    problem = tt.Problem(GRAPH, basis=BASIS)
    rng = np.random.default_rng(1)
    for i in range(3):
        for j in range(4):
            changed: set[int] = set()
            for state in rng.random((5, 4)):
                other = state.copy()
                other[j] = rng.random()
                mine = slice(*problem.features.offsets[i : i + 2])
                changed |= set(np.flatnonzero(problem.phi(state)[mine] != problem.phi(other)[mine]))
            assert changed == set(problem.features.owned(i, j).tolist())


@pytest.mark.parametrize(
    "domain",
    [
        tt.Box(),
        tt.Box(low=[0.0, 0.2, 0.1], high=[1.0, 0.7, 0.6]),
        tt.Box(levels=[[0.0, 0.3, 1.0]] * 3),
    ],
    ids=["cube", "box", "levels"],
)
def test_sizes_of_waves_are_variances(domain: tt.Box) -> None:
    """Mean, variance and total effects of a random loss, by drawing many states."""
    problem = tt.Problem(tt.Graph.complete(3), basis=BASIS, domain=domain)
    found, shape = coordinates(waves(problem), problem.domain, 0), waves(problem).shapes[0]
    rng = np.random.default_rng(2)
    theta = rng.normal(size=shape.b.size)
    X = np.array([problem.domain.sample(rng) for _ in range(60_000)])

    def loss(states: np.ndarray) -> np.ndarray:
        return (shape.amplitude * np.cos(states @ shape.W.T + shape.b)) @ theta

    c, y = found.B.T @ theta, loss(X)
    spread = y.std()
    assert abs(float(c[found.constant].sum()) - y.mean()) < 0.03 * spread
    assert float((c[~found.constant] ** 2).sum()) == pytest.approx(y.var(), rel=0.04)
    for j in range(3):
        other = X.copy()
        other[:, j] = X[rng.permutation(len(X)), j]
        effect = 0.5 * float(((y - loss(other)) ** 2).mean())  # Jansen's estimate
        assert float((c[found.columns(np.array([j]))] ** 2).sum()) == pytest.approx(
            effect, rel=0.06
        )


def test_enclosures_hold() -> None:
    problem = tt.Problem(GRAPH, basis=BASIS)
    found = enclosure(problem.features, 0, GRAPH.scope(0))
    assert found is not None
    rng = np.random.default_rng(3)
    for _ in range(20):
        low = rng.uniform(0.0, 0.8, 3)
        high = low + rng.uniform(0.0, 0.2, 3)
        lo, hi = found.drift(found.bend(low, high)[None], high[None])
        corners = np.array(np.meshgrid(*zip(low, high, strict=True))).T.reshape(-1, 3)
        at = found.at(corners)
        share = rng.random(3)
        weights = np.prod(
            np.where(corners == high, share, 1.0 - share) / (1.0 + (high == low)), axis=1
        )
        inside = found.at((low + share * (high - low))[None])[0]
        flat = weights @ at
        assert (inside >= flat + lo[0] - 1e-9).all()
        assert (inside <= flat + hi[0] + 1e-9).all()


def test_balls_and_bad_arguments_are_refused() -> None:
    with pytest.raises(tt.InvalidInput, match="PairwiseFourier on Balls"):
        tt.Problem(tt.Graph.complete(2), basis=BASIS, domain=tt.Balls([[0, 1]]))
    with pytest.raises(tt.InvalidInput, match="dim = 0"):
        tt.bases.PairwiseFourier(0)
    with pytest.raises(tt.InvalidInput, match="lengthscale"):
        tt.bases.PairwiseFourier(4, lengthscale=0.0)
