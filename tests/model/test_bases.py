"""Bases: every feature by a slow second route, derivatives, bounds, owners and refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import (
    Reference,
    affine,
    by_hand,
    example_1,
    graphs,
    linear,
    polynomial,
    quadratic,
    random_graph,
)
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.model.bases import (
    Basis,
    Custom,
    Features,
    FourierFeatures,
    Linear,
    PairwiseQuadratic,
    Polynomial,
    Quadratic,
)
from trimtab.model.domain import BoundBox, Box
from trimtab.model.graph import Graph

MONOMIAL: list[tuple[Basis, Basis, Reference]] = [
    (Linear(), Linear(normalize=False), linear),
    (Linear(intercept=True), Linear(intercept=True, normalize=False), affine),
    *((Polynomial(p), Polynomial(p, normalize=False), polynomial(p)) for p in (1, 2, 3, 4)),
    (PairwiseQuadratic(), PairwiseQuadratic(normalize=False), example_1),
    (Quadratic(), Quadratic(normalize=False), quadratic),
]
monomial = pytest.mark.parametrize(
    ("basis", "raw", "reference"), MONOMIAL, ids=[str(basis) for basis, _, _ in MONOMIAL]
)


def waves(criterion: int, x: Array) -> Array:
    """A custom map whose features all depend on every knob of the scope; at most 3 long."""
    y = float(np.sum(np.arange(1, x.size + 1) * x))
    return np.array([1.0 / (1.0 + y), np.sin(y + criterion), np.exp(-y), np.tanh(y + 0.1)])


def wave_slopes(criterion: int, x: Array) -> Array:
    dy = np.arange(1.0, x.size + 1)
    y = float(np.sum(dy * x))
    outer = [-1.0 / (1.0 + y) ** 2, np.cos(y + criterion), -np.exp(-y), 1 - np.tanh(y + 0.1) ** 2]
    return np.outer(outer, dy)


ALL: list[Basis] = [
    *(basis for basis, _, _ in MONOMIAL),
    *(raw for _, raw, _ in MONOMIAL),
    FourierFeatures(6, lengthscale=0.4, seed=3),
    FourierFeatures(7, lengthscale=0.4, seed=3),
    FourierFeatures(7, lengthscale=0.4, seed=3, normalize=False),
    FourierFeatures(1),
    Custom(function=waves, bound=3.0),
    Custom(function=waves, bound=3.0, normalize=False),
    Custom(function=waves, bound=3.0, jacobian=wave_slopes),
    Custom(function=waves, bound=3.0, jacobian=wave_slopes, normalize=False),
]
every_basis = pytest.mark.parametrize(
    "basis", ALL, ids=[re.sub(r"<function (\w+) at 0x\w+>", r"\1", str(basis)) for basis in ALL]
)

DOMAINS = [
    Box(),
    Box(low=0.2, high=0.7),
    Box(low=[0.0, 0.3, 0.5, 0.0], high=[0.4, 1.0, 0.5, 0.9]),
    Box(levels={0: [0.1, 0.5], 2: [0.0, 0.25, 0.75]}),
]


def refused(message: str) -> Any:
    return pytest.raises(InvalidInput, match=f"^{re.escape(message)}$")


def block(features: Features, i: int, state: Array) -> Array:
    """phi_i(state), and nothing else written."""
    phi = np.full(int(features.offsets[-1]), np.nan)
    features.fill(phi, state, np.array([i]))
    lo, hi = features.offsets[i], features.offsets[i + 1]
    assert np.isnan(phi[:lo]).all()
    assert np.isnan(phi[hi:]).all()
    return phi[lo:hi]


def states(domain: BoundBox, rng: np.random.Generator) -> list[Array]:
    """All corners of the box, and some random states of it."""
    corners = product(*zip(domain.low, domain.high, strict=True))
    return [*map(np.array, corners), *(domain.sample(rng) for _ in range(20))]


# Values


@monomial
@settings(max_examples=50)
@given(graph=graphs(), seed=st.integers(0, 2**32 - 1))
def test_monomials_are_those_of_the_definition(
    basis: Basis, raw: Basis, reference: Reference, graph: Graph, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    high = rng.uniform(0.1, 1.0, size=graph.knobs)
    domain = Box(high=high.tolist()).bind(graph.knobs)
    scaled, plain = basis.bind(graph, domain), raw.bind(graph, domain)
    state = domain.sample(rng)
    for i in range(graph.criteria):
        expected, top = by_hand(reference, graph, i, np.array([state, high])).T
        longest = float(np.linalg.norm(top))
        assert block(plain, i, state) == pytest.approx(expected, rel=1e-13)
        assert block(scaled, i, state) == pytest.approx(expected / longest, rel=1e-13)
        assert plain.bounds[i] == pytest.approx(longest, rel=1e-13)
        assert scaled.bounds[i] == 1.0


@pytest.mark.parametrize("dim", [1, 6, 7])
def test_fourier_features_are_cosines_and_sines_of_random_projections(dim: int) -> None:
    rng = np.random.default_rng(dim)
    graph = random_graph(rng, 4, 7)
    domain = Box().bind(4)
    raw = FourierFeatures(dim, lengthscale=0.3, seed=5, normalize=False).bind(graph, domain)
    scaled = FourierFeatures(dim, lengthscale=0.3, seed=5).bind(graph, domain)
    pairs = (dim + 1) // 2
    for i in range(graph.criteria):
        scope = graph.scope(i)
        omega = np.random.default_rng((5, scope.size)).normal(size=(pairs, scope.size)) / 0.3
        for _ in range(5):
            s = domain.sample(rng)
            angles = [sum(w * s[j] for w, j in zip(row, scope, strict=True)) for row in omega]
            both = [f(angle) for angle in angles for f in (np.cos, np.sin)][:dim]
            assert block(raw, i, s) == pytest.approx(np.sqrt(2 / dim) * np.array(both), abs=1e-13)
            assert block(scaled, i, s) == pytest.approx(np.array(both) / np.sqrt(pairs), abs=1e-13)


def test_fourier_features_approach_the_gaussian_kernel() -> None:
    """Their product has mean exp(-|x - y|^2 / 2 l^2); 4,000 pairs leave under 0.05 (4 sigma)."""
    graph, domain = Graph.complete(3), Box().bind(3)
    features = FourierFeatures(8000, lengthscale=0.4, seed=1).bind(graph, domain)
    rng = np.random.default_rng(0)
    kernels = []
    for _ in range(20):
        x, y = domain.sample(rng), domain.sample(rng)
        kernels.append(float(np.exp(-np.sum((x - y) ** 2) / (2 * 0.4**2))))
        assert block(features, 0, x) @ block(features, 0, y) == pytest.approx(kernels[-1], abs=0.05)
    assert min(kernels) < 0.2
    assert max(kernels) > 0.6


@pytest.mark.parametrize("normalize", [True, False])
def test_custom_features_are_the_function_of_the_scope(normalize: bool) -> None:
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 5, 6)
    domain = Box().bind(5)
    features = Custom(function=waves, bound=3.0, normalize=normalize).bind(graph, domain)
    for i in range(graph.criteria):
        s = domain.sample(rng)
        x = np.array([s[j] for j in sorted(graph.scope(i).tolist())])
        assert block(features, i, s) == pytest.approx(waves(i, x) / (3.0 if normalize else 1.0))


def expected_dim(basis: Basis, n: int) -> int:
    match basis:
        case Linear():
            return n + basis.intercept
        case Polynomial():
            return 1 + n * basis.degree
        case PairwiseQuadratic():
            return 3 + 2 * (n - 1)
        case Quadratic():
            return 1 + 2 * n + n * (n - 1) // 2
        case FourierFeatures():
            return basis.dim
    return waves(0, np.zeros(n)).size


@every_basis
def test_dims_follow_the_scope_and_criteria_are_filled_one_by_one(basis: Basis) -> None:
    graph = Graph.from_scopes([[2], [3, 0], [1, 3, 2], [0]], knobs=4, centres=[2, 3, 1, 0])
    features = basis.bind(graph, Box().bind(4))
    assert np.diff(features.offsets).tolist() == [expected_dim(basis, n) for n in (1, 2, 3, 1)]
    assert features.bounds.shape == (4,)
    state = np.array([0.1, 0.5, 0.9, 0.3])
    whole = np.empty(int(features.offsets[-1]))
    features.fill(whole, state, np.arange(4))
    parts = [block(features, i, state) for i in range(4)]
    assert np.array_equal(whole, np.concatenate(parts))


# Bounds


@every_basis
@pytest.mark.parametrize("box", DOMAINS, ids=["cube", "inner", "ragged", "levels"])
def test_no_features_are_longer_than_their_bound(basis: Basis, box: Box) -> None:
    rng = np.random.default_rng(4)
    graph, domain = random_graph(rng, 4, 6), box.bind(4)
    features = basis.bind(graph, domain)
    normalize = getattr(basis, "normalize", None)
    for i in range(graph.criteria):
        longest = max(float(np.linalg.norm(block(features, i, s))) for s in states(domain, rng))
        assert longest <= features.bounds[i] * (1 + 1e-12)
        if normalize:
            assert features.bounds[i] == 1.0
        if not isinstance(basis, Custom | FourierFeatures):  # monomials grow with every knob
            top = float(np.linalg.norm(block(features, i, domain.high)))
            assert top == pytest.approx(float(features.bounds[i]), rel=1e-13)


def test_fourier_features_of_even_dim_have_length_1_and_of_odd_dim_at_most() -> None:
    rng = np.random.default_rng(0)
    graph, domain = Graph.complete(2), Box().bind(2)
    even = FourierFeatures(6, seed=2).bind(graph, domain)
    odd = FourierFeatures(7, seed=2).bind(graph, domain)
    plain = FourierFeatures(7, seed=2, normalize=False).bind(graph, domain)
    assert plain.bounds == pytest.approx(np.sqrt(8 / 7))
    lengths = []
    for _ in range(200):
        s = domain.sample(rng)
        assert np.linalg.norm(block(even, 0, s)) == pytest.approx(1.0, rel=1e-14)
        lengths.append(float(np.linalg.norm(block(odd, 0, s))))
    assert 0.98 < max(lengths) <= 1.0
    assert min(lengths) < 0.9


def test_a_scope_pinned_at_0_has_linear_features_of_length_0() -> None:
    graph, domain = Graph.from_scopes([[0], [1]], knobs=2), Box(high=[0.0, 0.5]).bind(2)
    features = Linear().bind(graph, domain)
    assert features.bounds.tolist() == [0.0, 1.0]
    assert block(features, 0, np.zeros(2)).tolist() == [0.0]
    assert block(features, 1, np.array([0.0, 0.25])).tolist() == [0.5]


# Derivatives and owners


@every_basis
@settings(max_examples=30)
@given(graph=graphs(most_knobs=5, most_criteria=4), seed=st.integers(0, 2**32 - 1))
def test_jacobian_equals_central_differences(basis: Basis, graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = basis.bind(graph, Box().bind(graph.knobs))
    state = rng.uniform(0.01, 0.99, size=graph.knobs)
    h = 1e-4
    for i in range(graph.criteria):
        columns = []
        for j in graph.scope(i):
            step = np.zeros(graph.knobs)
            step[j] = h
            rise = block(features, i, state + step) - block(features, i, state - step)
            columns.append(rise / (2 * h))
        J = features.jacobian(i, state)
        assert J.shape == (np.diff(features.offsets)[i], graph.scope(i).size)
        # third derivatives stay below (5 / lengthscale)^3 = 2000, and h^2 / 6 of that is 3e-6
        np.testing.assert_allclose(J, np.array(columns).T, rtol=1e-6, atol=5e-6)


@every_basis
def test_jacobian_at_the_corners_equals_one_sided_differences(basis: Basis) -> None:
    graph = Graph.from_scopes([[0, 2], [1], [2, 1, 0]], knobs=3, centres=[2, 1, 0])
    domain = Box(low=[0.0, 0.2, 0.0], high=[1.0, 1.0, 0.8]).bind(3)
    features = basis.bind(graph, domain)
    h = 1e-6
    for corner in product(*zip(domain.low, domain.high, strict=True)):
        state = np.array(corner)
        inward = np.where(state == domain.low, h, -h)
        for i, scope in enumerate([[0, 2], [1], [0, 1, 2]]):
            J = features.jacobian(i, state)
            for c, j in enumerate(scope):
                moved = state.copy()
                moved[j] += inward[j]
                slope = (block(features, i, moved) - block(features, i, state)) / inward[j]
                np.testing.assert_allclose(J[:, c], slope, atol=2e-4)


@every_basis
def test_a_knob_owns_exactly_the_features_that_change_with_it(basis: Basis) -> None:
    rng = np.random.default_rng(11)
    graph, domain = random_graph(rng, 5, 8, widest=4), Box().bind(5)
    features = basis.bind(graph, domain)
    owners = 0
    for i in range(graph.criteria):
        for j in range(graph.knobs):
            changed: set[int] = set()
            for _ in range(3):
                s = rng.uniform(0.1, 1.0, size=5)
                moved = s.copy()
                moved[j] = rng.uniform(0.1, 1.0)
                differs = block(features, i, s) != block(features, i, moved)
                changed |= set(np.flatnonzero(differs).tolist())
            owned = features.owned(i, j).tolist()
            assert owned == sorted(changed)
            owners += bool(owned)
    assert owners == graph.scope_knobs.size  # a knob of the scope owns something, others nothing


def test_finite_differences_stay_inside_the_domain() -> None:
    domain = Box(low=[0.2, 0.0], high=[0.9, 0.5]).bind(2)
    asked = []

    def recorded(i: int, x: Array) -> Array:
        asked.append(x.tolist())
        return waves(i, x)

    features = Custom(function=recorded, bound=3.0).bind(Graph.complete(2), domain)
    for corner in product([0.2, 0.9], [0.0, 0.5]):
        features.jacobian(1, np.array(corner))
    assert len(asked) > 16
    assert all(domain.contains(x) for x in asked)


def test_a_pinned_knob_has_no_slope_by_finite_differences() -> None:
    domain = Box(low=[0.0, 0.5], high=[1.0, 0.5]).bind(2)
    features = Custom(function=waves, bound=3.0).bind(Graph.complete(2), domain)
    J = features.jacobian(0, np.array([0.3, 0.5]))
    assert (J[:, 1] == 0.0).all()
    assert (J[:, 0] != 0.0).all()


# What is refused


def test_pairwise_quadratic_needs_centres() -> None:
    with refused(
        "PairwiseQuadratic needs a centre knob per criterion and this graph has none; "
        "pass centres= to Graph.from_scopes or use Quadratic()"
    ):
        PairwiseQuadratic().bind(Graph.from_scopes([[0, 1]], knobs=2), Box().bind(2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Polynomial(0), "degree = 0; it must be at least 1"),
        (
            lambda: Polynomial(1.5),  # type: ignore[arg-type]
            "degree = 1.5; give a whole number",
        ),
        (lambda: Polynomial(17), "degree = 17; powers above 16 are all alike on [0, 1]"),
        (lambda: FourierFeatures(0), "dim = 0; it must be at least 1"),
        (
            lambda: FourierFeatures(2.5),  # type: ignore[arg-type]
            "dim = 2.5; give a whole number",
        ),
        (lambda: FourierFeatures(4, seed=-1), "seed = -1; it must be at least 0"),
        (
            lambda: FourierFeatures(4, lengthscale=0.0),
            "lengthscale = 0; it must be finite, > 0",
        ),
        (
            lambda: FourierFeatures(4, lengthscale=float("nan")),
            "lengthscale = nan; it must be finite, > 0",
        ),
        (lambda: bind_custom(lambda i, x: [1.0], bound=0.0), "bound = 0; it must be finite, > 0"),
    ],
)
def test_bad_settings_are_refused(make: Callable[[], object], message: str) -> None:
    with refused(message):
        make()


@pytest.mark.parametrize(
    "make", [Polynomial, FourierFeatures, lambda n: FourierFeatures(4, seed=n)]
)
def test_a_whole_number_given_as_a_float_is_that_number(make: Callable[[Any], Basis]) -> None:
    graph, domain, state = Graph.complete(2), Box().bind(2), np.array([0.3, 0.8])
    expected = block(make(3).bind(graph, domain), 0, state)
    assert np.array_equal(block(make(3.0).bind(graph, domain), 0, state), expected)


def bind_custom(function: Any, *, bound: float = 2.0, jacobian: Any = None) -> Features:
    basis = Custom(function=function, bound=bound, jacobian=jacobian)
    return basis.bind(Graph.from_scopes([[0], [0, 1]], knobs=2), Box().bind(2))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda i, x: [1.0, float("nan")] if i else [1.0],
            "the basis function gave array([ 1., nan]) for criterion 1 at [1. 1.]; "
            "it must return a finite vector",
        ),
        (
            lambda i, x: [],
            "the basis function gave array([], dtype=float64) for criterion 0 at [1.]; "
            "it must return a finite vector",
        ),
        (
            lambda i, x: 1.0,
            "the basis function gave array(1.) for criterion 0 at [1.]; "
            "it must return a finite vector",
        ),
        (
            lambda i, x: [1.5, 2.0],
            "the basis function gave features of length 2.5 for criterion 0 at [1.], "
            "over its bound 2; raise the bound",
        ),
        (
            lambda i, x: ["1"],
            "features of criterion 0 must hold real numbers, not <U1; convert it first",
        ),
    ],
)
def test_a_custom_function_is_tried_once_when_bound(function: Any, message: str) -> None:
    with refused(message):
        bind_custom(function)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda i, x: [1.0 / x[0]],
            "the basis function gave features of length 4 for criterion 1 at [0.25 0.5 ], "
            "over its bound 2; raise the bound",
        ),
        (
            lambda i, x: [1.0] if x[0] == 1 else [0.5, 0.5, 0.5],
            "the basis function gave 3 features for criterion 1 at [0.25 0.5 ] and 1 at another "
            "state; their number must not change",
        ),
        (
            lambda i, x: [1.0 if x[0] == 1 else float("inf")],
            "the basis function gave array([inf]) for criterion 1 at [0.25 0.5 ]; "
            "it must return a finite vector",
        ),
    ],
)
def test_a_custom_function_is_watched_at_every_state(function: Any, message: str) -> None:
    features = bind_custom(function)
    with refused(message):
        block(features, 1, np.array([0.25, 0.5]))


def test_a_custom_jacobian_must_have_a_row_per_feature_and_a_column_per_knob() -> None:
    features = bind_custom(lambda i, x: [1.0, x[0]], jacobian=lambda i, x: [[0.0, 1.0]])
    with refused(
        "the Jacobian of criterion 1 has shape (1, 2), expected (2, 2): "
        "one row per feature, one column per knob"
    ):
        features.jacobian(1, np.array([0.25, 0.5]))


def test_a_custom_jacobian_must_be_finite() -> None:
    features = bind_custom(lambda i, x: [x[0]], jacobian=lambda i, x: np.full((1, x.size), np.nan))
    with pytest.raises(InvalidInput, match="Jacobian of criterion 1"):
        features.jacobian(1, np.array([0.25, 0.5]))


def test_a_custom_function_cannot_change_the_state_it_is_given() -> None:
    def vandal(i: int, x: Array) -> list[float]:
        x[:] = 0.0
        return [1.0]

    features = bind_custom(vandal, jacobian=lambda i, x: vandal(i, x) and np.zeros((1, x.size)))
    state = np.array([0.25, 0.5])
    block(features, 1, state)
    features.jacobian(1, state)
    assert state.tolist() == [0.25, 0.5]


def test_a_refusal_shows_the_values_asked_for_whatever_became_of_them() -> None:
    def vandal(i: int, x: Array) -> list[float]:
        long = 9.0 if x[0] < 1 else 1.0
        x[:] = 0.0
        return [long]

    with pytest.raises(InvalidInput, match=r"criterion 0 at \[0\.25\], over its bound 2"):
        block(bind_custom(vandal), 0, np.array([0.25, 0.5]))
