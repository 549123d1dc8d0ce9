"""The simplex, and the geometry that gradient policies need of every domain."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.model.domain import Balls, BoundBox, BoundConvexDomain, BoundSimplex, Box, Simplex
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem

points = st.integers(1, 6).flatmap(
    lambda k: st.lists(st.floats(-5, 5) | st.sampled_from([0.0, 0.5, 1.0]), min_size=k, max_size=k)
)

DOMAINS: dict[str, BoundConvexDomain] = {
    "cube": Box().bind(4),
    "box": Box(low=[0.1, 0.0, 0.5, 0.2], high=[0.4, 1.0, 0.5, 0.9]).bind(4),
    "balls": Balls([[0, 2], [3], [1]]).bind(4),
    "one ball": Balls([[0, 1, 2, 3]]).bind(4),
    "simplex": Simplex().bind(4),
}
domains = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)


def extremes(domain: BoundConvexDomain, rng: np.random.Generator, n: int = 400) -> Array:
    """States of which the domain is the hull, or many of them: (n, k)."""
    k = domain.knobs
    if isinstance(domain, BoundBox):
        return np.array(list(product(*zip(domain.low, domain.high, strict=True))))
    if isinstance(domain, BoundSimplex):
        return np.eye(k)
    x = rng.normal(size=(n, k))
    for b in np.unique(domain.components):
        block = domain.components == b
        x[:, block] /= np.linalg.norm(x[:, block], axis=1, keepdims=True)
    return x


# The simplex


def test_the_simplex_of_three() -> None:
    simplex = Simplex().bind(3)
    assert (simplex.knobs, simplex.diameter) == (3, 2.0)
    assert simplex.diameter_l2 == pytest.approx(np.sqrt(2))
    assert simplex.anchor.tolist() == pytest.approx([1 / 3] * 3)
    assert simplex.components.tolist() == [0, 0, 0]
    assert simplex.low.tolist() == [0, 0, 0]
    assert simplex.high.tolist() == [1, 1, 1]
    for array in (simplex.anchor, simplex.components, simplex.low, simplex.high):
        assert not array.flags.writeable


def test_one_share_is_everything() -> None:
    simplex = Simplex().bind(1)
    assert (simplex.diameter, simplex.diameter_l2) == (0.0, 0.0)
    assert simplex.project(np.array([-7.0])).tolist() == [1.0]
    assert simplex.sample(np.random.default_rng(0)).tolist() == [1.0]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ([0.5, 0.6, 0.0], "state adds up to 1.1, not 1; divide it by its sum"),
        ([0.5, 0.6, -0.1], "state[2] = -0.1 is negative; a share is at least 0"),
        ([0.5, np.nan, 0.5], "state[1] = nan is not finite; every entry must be a number"),
        ([0.5, 0.5], "state has shape (2,), expected (3,); give one value per knob"),
    ],
)
def test_states_that_are_refused(state: list[float], message: str) -> None:
    simplex = Simplex().bind(3)
    with pytest.raises(InvalidInput, match=f"^{re.escape(message)}$"):
        simplex.check(state)
    assert not simplex.contains(state)


def test_rounding_is_accepted_and_nothing_is_changed() -> None:
    third = [1 / 3, 1 / 3, 1 / 3 + 1e-12]
    assert Simplex().bind(3).check(third).tolist() == third


def test_a_problem_refuses_it() -> None:
    message = "domain is Simplex(); give tt.Box(...) or tt.Balls(...)"
    with pytest.raises(InvalidInput, match=f"^{re.escape(message)}$"):
        Problem(Graph.complete(2), domain=Simplex())  # type: ignore[arg-type]


def by_bisection(point: Array) -> Array:
    """The projection by its threshold: sum max(x - tau, 0) = 1, found without sorting."""
    low, high = float(point.min()) - 2.0, float(point.max())
    for _ in range(200):
        tau = 0.5 * (low + high)
        low, high = (tau, high) if np.maximum(point - tau, 0.0).sum() > 1.0 else (low, tau)
    return np.maximum(point - low, 0.0)


@given(points)
def test_the_projection_by_bisection(point: list[float]) -> None:
    x = np.array(point)
    found = Simplex().bind(x.size).project(x)
    np.testing.assert_allclose(found, by_bisection(x), atol=1e-12)
    Simplex().bind(x.size).check(found)


def test_points_far_away_are_projected_too() -> None:
    simplex = Simplex().bind(3)
    assert simplex.project(np.array([1e17, -1e17, 0.0])).tolist() == [1.0, 0.0, 0.0]
    np.testing.assert_allclose(simplex.project(np.full(3, -1e15)), [1 / 3] * 3)


def test_samples_are_uniform() -> None:
    rng = np.random.default_rng(0)
    simplex = Simplex().bind(3)
    draws = np.array([simplex.sample(rng) for _ in range(4000)])
    for s in draws[:50]:
        simplex.check(s)
    # Each share is Beta(1, 2): mean 1/3, variance 1/18. Five standard errors: 6e-7 each.
    np.testing.assert_allclose(draws.mean(axis=0), 1 / 3, atol=5 * np.sqrt(1 / 18 / 4000))
    np.testing.assert_allclose(draws.var(axis=0), 1 / 18, atol=0.004)


# Every domain


@domains
def test_projections_are_nearest(domain: BoundConvexDomain) -> None:
    """P is the projection of x if and only if <x - P, z - P> <= 0 for every state z."""
    rng = np.random.default_rng(1)
    z = extremes(domain, rng)
    moved = 0
    for _ in range(200):
        x = rng.normal(scale=1.5, size=4)
        before = x.copy()
        P = domain.project(x)
        domain.check(P)
        assert ((z - P) @ (x - P)).max() <= 1e-9
        moved += bool(np.abs(P - x).max() > 1e-6)
        np.testing.assert_array_equal(x, before)
        np.testing.assert_allclose(domain.project(P), P, atol=1e-15)
    assert moved > 150


@domains
def test_states_stay_where_they_are(domain: BoundConvexDomain) -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        s = domain.sample(rng)
        np.testing.assert_allclose(domain.project(s), s, atol=1e-15)


@domains
def test_minimisers_of_linear_functions(domain: BoundConvexDomain) -> None:
    rng = np.random.default_rng(3)
    z = extremes(domain, rng, n=4000)
    for _ in range(100):
        c = rng.normal(size=4)
        s = domain.minimiser(c)
        domain.check(s)
        assert c @ s <= (z @ c).min() + 1e-12
    domain.check(domain.minimiser(np.zeros(4)))


@domains
def test_farthest_states_and_diameters(domain: BoundConvexDomain) -> None:
    rng = np.random.default_rng(4)
    z = extremes(domain, rng, n=4000)
    longest = longest_l1 = 0.0
    for start in (*(domain.sample(rng) for _ in range(50)), domain.anchor, *z[:20]):
        away = domain.farthest(start)
        domain.check(away)
        far = float(np.linalg.norm(away - start))
        assert far >= np.linalg.norm(z - start, axis=1).max() - 1e-12
        longest = max(longest, far)
        longest_l1 = max(longest_l1, float(np.abs(z - start).sum(axis=1).max()))
    assert longest == pytest.approx(domain.diameter_l2)  # from an extreme state it is attained
    assert 0.9 * domain.diameter < longest_l1 <= domain.diameter + 1e-12


@domains
def test_components_are_factors_of_the_product(domain: BoundConvexDomain) -> None:
    """Knobs of different components may be taken from different states."""
    rng = np.random.default_rng(5)
    assert domain.components.shape == (4,)
    for _ in range(50):
        a, b = domain.sample(rng), domain.sample(rng)
        mine = rng.random(int(domain.components.max()) + 1) < 0.5
        domain.check(np.where(mine[domain.components], a, b))


def test_levels_are_projected_to_the_nearest() -> None:
    box = Box(levels=[None, [0.0, 0.4, 1.0]]).bind(2)
    assert box.project(np.array([-3.0, 0.19])).tolist() == [0.0, 0.0]
    assert box.project(np.array([0.3, 0.71])).tolist() == [0.3, 1.0]
    assert box.project(np.array([0.3, 0.7])).tolist() == [0.3, 0.4]


def test_unbound_gives_the_same_domain() -> None:
    box = Box(low=[0.1, 0.0, 0.5], high=[0.4, 1.0, 0.5], levels={1: [0.0, 0.3]}).bind(3)
    balls = Balls([[2], [0, 1]]).bind(3)
    for domain in (box, balls):
        again = domain.unbound().bind(3)
        for left, right in zip(domain.signature, again.signature, strict=True):
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    ("part", "within"),
    [
        (Box(), False),
        (Box(low=0.2, high=0.8), False),
        (Box(low=0.3, high=0.8), False),  # a continuous knob where the other has levels
        (Box(low=0.2, high=0.8, levels={1: [0.3, 0.6]}), True),
        (Box(low=0.2, high=0.8, levels={1: [0.3, 0.7]}), False),
        (Box(low=0.1, high=0.8, levels={1: [0.3]}), False),
        (Box(low=0.2, high=0.8, levels={0: [0.2, 0.8], 1: [0.3]}), True),
    ],
)
def test_within(part: Box, within: bool) -> None:
    box = Box(low=0.2, high=0.9, levels={1: [0.3, 0.6, 0.8]}).bind(2)
    assert part.bind(2).within(box) is within
    assert not part.bind(3).within(box)
