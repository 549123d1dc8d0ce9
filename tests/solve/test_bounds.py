"""Lower bounds of the objective: valid in every box, and tight where they should be."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.builders import (
    Datum,
    Reference,
    affine,
    by_hand,
    example_1,
    noise,
    played,
    polynomial,
    posterior,
    quadratic,
    random_graph,
    random_posterior,
)
from trimtab.arrays import Array, Ints
from trimtab.model.bases import (
    Basis,
    Custom,
    FourierFeatures,
    Linear,
    PairwiseQuadratic,
    Polynomial,
    Quadratic,
)
from trimtab.model.bases.monomial import ONE, MonomialBasis, Template
from trimtab.model.domain import Balls, BoundBox, Box
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.policies.lcb import LCB
from trimtab.solve import elimination, solve
from trimtab.solve.certify import grid_bound
from trimtab.solve.certify.box_bound import floors, terms_and_floors
from trimtab.solve.elimination import undominated
from trimtab.solve.subproblem import Part

ROUNDING = 1e-9  # of the values compared


@dataclass(frozen=True)
class Mixed(MonomialBasis):
    """Products of higher powers, which no basis of ours has."""

    normalize: bool = True
    needs_centre = False

    def template(self, n: int) -> Template:
        return [ONE, *((a, 1 + a, b, 3 - b % 2) for a in range(n) for b in range(n) if a != b)]


BASES: list[Basis] = [
    Linear(),
    Linear(intercept=True),
    Quadratic(),
    PairwiseQuadratic(),
    Polynomial(3),
    Polynomial(5),
    Mixed(),
    FourierFeatures(9, lengthscale=0.3),
    FourierFeatures(8, lengthscale=2.0, normalize=False),
]
basis_cases = pytest.mark.parametrize("basis", BASES, ids=repr)


def a_part(
    lcb: LCB, rng: np.random.Generator, *, knobs: Ints | None = None, price: float = 0.0
) -> Part:
    """A random present state, and prices around the one given."""
    graph = lcb.problem.graph
    free = np.arange(graph.knobs) if knobs is None else knobs
    read = [i for i in range(graph.criteria) if np.isin(graph.scope(i), free).any()]
    return Part(
        bound=lcb,
        now=lcb.problem.domain.sample(rng),
        knobs=free,
        criteria=np.array(read, np.int64),
        price=price * rng.uniform(0.0, 2.0, size=graph.knobs) * (rng.random(graph.knobs) < 0.7),
    )


def some_states(part: Part, rng: np.random.Generator, count: int) -> list[Array]:
    domain = part.bound.problem.domain
    return [part.put(domain.sample(rng)[part.knobs]) for _ in range(count)]


def mixture(low: Array, high: Array, s: Array) -> list[tuple[Array, Array]]:
    """The corners of a box, and their weights in the interpolation at the points s (..., n)."""
    share = (s - low) / (high - low)
    return [
        (np.where(up, high, low), np.where(up, share, 1.0 - share).prod(axis=-1))
        for up in product([False, True], repeat=low.size)
    ]


# One box


@basis_cases
def test_the_drift_from_the_interpolation_is_enclosed(basis: Basis) -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_scopes([[0, 2, 3], [3, 1]], knobs=4, centres=[2, 1])
    lcb = random_posterior(rng, graph, basis)
    problem = lcb.problem
    terms = floors(a_part(lcb, rng))
    assert terms is not None
    tightest = np.inf
    for _ in range(60):
        ends = np.sort(rng.random((2, 4)) ** rng.choice([0.2, 1.0, 3.0]), axis=0)
        ends[1] = ends[0] + (ends[1] - ends[0]) * rng.choice([0.01, 0.3, 1.0])
        low, high = ends
        for i, term in enumerate(terms):
            scope = graph.scope(i)
            bend = term.enclosure.bend(low[scope], high[scope])
            lo, hi = (e[0] for e in term.enclosure.drift(bend[None], high[None, scope]))
            mine = slice(problem.features.offsets[i], problem.features.offsets[i + 1])
            for s in rng.uniform(low, high, size=(10, 4)):
                phi = problem.phi(s)[mine]
                np.testing.assert_allclose(term.enclosure.at(s[None, scope])[0], phi, atol=1e-14)
                drift = phi - sum(w * problem.phi(c)[mine] for c, w in mixture(low, high, s))
                assert (lo - 1e-14 <= drift).all()
                assert (drift <= hi + 1e-14).all()
                tightest = min(tightest, float((drift - lo)[lo < 0].min(initial=np.inf)))
    assert isinstance(basis, Linear) or tightest < 1e-3


@basis_cases
@pytest.mark.parametrize("data", [noise, played])
def test_floors_are_below_the_term_in_random_boxes(basis: Basis, data: Any) -> None:
    """Boxes from the whole domain to tiny ones, 200 states in each."""
    rng = np.random.default_rng(1)
    boxes = 0
    for trial in range(12):
        lcb = random_posterior(rng, random_graph(rng, 4, 3), basis, data=data, states=trial)
        part = a_part(lcb, rng, knobs=np.sort(rng.permutation(4)[:3]))
        terms = floors(part)
        assert terms is not None
        for i, term in zip(part.criteria, terms, strict=True):
            free = part.knobs[term.places]
            for _ in range(8):
                low = np.where(rng.random(free.size) < 0.2, 0.0, 0.999 * rng.random(free.size))
                wide = rng.uniform(0.1, 1.0, size=free.size) * 10.0 ** -rng.uniform(0.0, 4.0)
                high = low + wide * (1.0 - low)
                sides = term.enclosure.bend(low, high)
                X = rng.uniform(low, high, size=(200, free.size))
                values, same = term(X, np.zeros((200, *sides.shape)), X)
                np.testing.assert_allclose(same, values, atol=ROUNDING)
                for x in X[:3]:
                    state = part.now.copy()
                    state[free] = x
                    known = lcb.value(state, np.array([i]))
                    assert term(x[None], 0.0 * sides[None], x[None])[0] == pytest.approx(known)
                below = np.zeros(200)
                for corner, weight in mixture(low, high, X):
                    here, floor = term(corner[None], sides[None], high[None])
                    assert floor[0] <= here[0]
                    below += weight * floor[0]
                assert (below <= values + ROUNDING).all()
                boxes += 1
    assert boxes >= 150


@pytest.mark.parametrize("sign", [-1.0, 0.0], ids=["falling", "both ways"])
@pytest.mark.parametrize("alone", [False, True], ids=["mean and width", "width"])
def test_a_floor_is_below_every_drift(sign: float, alone: bool) -> None:
    """At all corners of the enclosure, where the concave term is least."""
    rng = np.random.default_rng(10)
    tightest = np.inf
    for _ in range(300):
        R = np.tril(rng.normal(size=(4, 4))) + 0.3 * np.eye(4)
        inverse = np.asarray(np.linalg.inv(R), np.float64)
        phi, far = rng.normal(size=4), rng.random(4) * 10.0 ** rng.uniform(-2, 1)
        far *= rng.random(4) < 0.7
        lo, hi = -far, far if sign == 0.0 else 0.0 * far
        v = 0.0 * phi if alone else rng.normal(size=4)
        beta = rng.uniform(0.1, 3.0)
        _, floor = terms_and_floors(phi[None], lo[None], hi[None], inverse, v, beta)
        u = (phi + np.array(list(product(*zip(lo, hi, strict=True))))) @ inverse.T
        least = (u @ v - beta * np.sqrt((u * u).sum(axis=1))).min()
        assert floor[0] <= least + ROUNDING
        tightest = min(tightest, float((least - floor[0]) / (1.0 + abs(least))))
    assert tightest < 1e-3


# All knobs


def fine(part: Part, rng: np.random.Generator) -> tuple[float, Array]:
    """The least G known, and where: states all over, and the better ones of many searches."""
    states = some_states(part, rng, 300)
    if part.price.any():
        states += [
            part.put(
                np.where(rng.random(part.knobs.size) < 0.5, s[part.knobs], part.now[part.knobs])
            )
            for s in states
        ]
    found = solve(part.bound, part.now, free=part.knobs).state
    best = min([part.now, found, *states], key=part.value)
    for step in np.geomspace(0.3, 1e-4, 60):  # a walk downhill, levels left alone
        domain = part.bound.problem.domain
        assert isinstance(domain, BoundBox)
        loose = np.setdiff1d(part.knobs, domain.leveled)
        near = best.copy()
        near[loose] = (near + step * rng.normal(size=near.size)).clip(domain.low, domain.high)[
            loose
        ]
        best = min(best, near, key=part.value)
    return part.value(best), best


@basis_cases
def test_no_state_is_below_the_bound(basis: Basis) -> None:
    """With weights, prices, fixed knobs and levels; to whatever gap the budget allows."""
    rng = np.random.default_rng(2)
    closed = 0
    for trial in range(12):
        k = int(rng.integers(2, 6))
        box = Box(low=0.1 * (trial % 3), levels={0: [0.2, 0.25, 0.5, 0.9]} if trial % 2 else None)
        lcb = random_posterior(
            rng, random_graph(rng, k, 4), basis, domain=box, data=(noise, played)[trial % 2]
        )
        knobs = np.sort(rng.permutation(k)[: int(rng.integers(1, k + 1))])
        part = a_part(lcb, rng, knobs=knobs, price=(0.0, 0.3, 3.0)[trial % 3])
        if part.criteria.size == 0:
            continue
        least, best = fine(part, rng)
        width = lcb.width(best)
        for budget in (1, 40, 4000):
            bound = grid_bound.lower_bound(part, best, target=1e-3 * width, budget=budget)
            assert bound.spent <= budget
            assert bound.value <= least + ROUNDING
            assert bound.upper == part.value(bound.state) <= least + ROUNDING
            assert bound.value <= bound.upper
            assert part.bound.problem.domain.contains(bound.state)
            fixed = np.setdiff1d(np.arange(k), knobs)
            assert bound.state[fixed].tolist() == part.now[fixed].tolist()
        closed += bound.upper - bound.value <= 1e-3 * width
        for poor in some_states(part, rng, 2):  # a good one would hide a bound that is too high
            for budget in (1, 9, 60):
                assert (
                    grid_bound.lower_bound(part, poor, target=0.0, budget=budget).value
                    <= least + ROUNDING
                )
    assert closed >= (2 if isinstance(basis, FourierFeatures) else 8)


@pytest.mark.parametrize(
    ("basis", "reference"),
    [
        (PairwiseQuadratic(), example_1),
        (Quadratic(), quadratic),
        (Polynomial(3), polynomial(3)),
        (Linear(intercept=True), affine),
    ],
    ids=["pairwise", "quadratic", "cubic", "affine"],
)
def test_no_value_of_a_dense_sample_of_a_ring_is_below_the_bounds(
    basis: Basis, reference: Reference
) -> None:
    rng = np.random.default_rng(3)
    graph = ring(6)
    lcb = random_posterior(rng, graph, basis, data=played)
    part = a_part(lcb, rng)
    found = solve(lcb, part.now).state
    near = found + 10.0 ** rng.uniform(-4, 0, size=(50_000, 1)) * rng.normal(size=(50_000, 6))
    states = np.concatenate((rng.random((50_000, 6)), near.clip(0.0, 1.0)))
    F = np.zeros(len(states))
    for i, w in enumerate(lcb.problem.weights):
        R, v, _ = lcb.estimators.split(i)
        top = np.linalg.norm(by_hand(reference, graph, i, np.ones((1, 6))))
        u = np.linalg.solve(R, by_hand(reference, graph, i, states) / top)
        F += w * (v @ u - lcb.radii[i] * np.sqrt((u * u).sum(axis=0)))
    bound = grid_bound.lower_bound(part, found, target=0.0, budget=10**5)
    assert bound.value <= F.min() + ROUNDING
    assert bound.upper - bound.value <= 0.25 * lcb.width(found)


def test_levels_are_bounded_exactly() -> None:
    rng = np.random.default_rng(4)
    levels = [[0.0, 0.1, 0.35, 1.0], [0.2, 0.6], [0.5], [0.0, 0.5, 0.8, 0.9, 1.0]]
    for basis in (Quadratic(), Linear(), FourierFeatures(8), Polynomial(4)) * 5:
        lcb = random_posterior(rng, random_graph(rng, 4, 5), basis, domain=Box(levels=levels))
        part = a_part(lcb, rng, price=0.2)
        least = min(part.value(np.array(s)) for s in product(*levels))
        poor = max(some_states(part, rng, 20), key=part.value)
        bound = grid_bound.lower_bound(part, poor, target=0.0, budget=2000)
        assert bound.upper == pytest.approx(least, abs=ROUNDING)
        assert bound.value == pytest.approx(least, abs=ROUNDING)


def test_a_level_between_two_others_is_not_forgotten() -> None:
    """The middle one of three is best; a bound from the outer two alone would be too high."""
    problem = Problem(Graph.complete(1), basis=Quadratic(), domain=Box(levels={0: [0, 0.5, 1]}))
    data = [Datum(np.array([x]), np.array([(x - 0.5) ** 2]), np.array([100])) for x in (0, 0.5, 1)]
    lcb = posterior(problem, data, reg=np.full(1, 0.01), radii=np.full(1, 0.1))
    part = a_part(lcb, np.random.default_rng(0))
    for budget in (1, 2, 3, 20):
        bound = grid_bound.lower_bound(part, np.zeros(1), target=0.0, budget=budget)
        assert bound.value <= lcb.value(np.array([0.5])) < lcb.value(np.zeros(1)) - 0.1


def test_where_elimination_does_not_fit_the_tables_alone_give_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(11)
    lcb = random_posterior(rng, ring(6), PairwiseQuadratic())
    part = a_part(lcb, rng, price=0.3)
    least, best = fine(part, rng)
    full = grid_bound.lower_bound(part, best, target=0.0, budget=20_000)
    monkeypatch.setattr(elimination, "plan", lambda *_: None)
    bound = grid_bound.lower_bound(part, best, target=0.0, budget=20_000)
    assert -np.inf < bound.value <= full.value <= least + ROUNDING


# Tightness


def ring(k: int) -> Graph:
    return Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


def after_play(graph: Graph, rounds: int) -> tuple[Part, Array]:
    """The whole problem as a policy sees it after some rounds, and its own minimiser."""
    world = tt.worlds.quadratic(graph, seed=0)
    start = np.full(graph.knobs, 0.5)
    policy = tt.LazyGraphLinUCB(world.problem, start=start, radius=0.5, factor=10.0)
    tt.play(policy, world, horizon=rounds, seed=1)
    lcb = policy.learner.lcb
    part = a_part(lcb, np.random.default_rng(0))
    return part, solve(lcb, part.now).state


@pytest.mark.parametrize("rounds", [100, 10_000, 1_000_000])
@pytest.mark.slow
def test_a_ring_of_200_is_certified_by_cells(rounds: int) -> None:
    part, found = after_play(ring(200), rounds)
    width = part.bound.width(found)
    bound = grid_bound.lower_bound(part, found, target=0.1 * width, budget=2_000_000)
    assert bound.upper - bound.value <= 0.1 * width
    rng = np.random.default_rng(0)
    least = min(
        part.value((bound.state + step * rng.normal(size=200)).clip(0.0, 1.0))
        for step in np.geomspace(1e-4, 1.0, 1000)
    )
    assert bound.value <= least


def test_a_wide_graph_is_certified_once_much_is_known() -> None:
    """Dominance leaves so few candidates that the width of the graph does not matter."""
    edges = [(a, b) for a in range(30) for b in range(a) if (a * 7 + b * 13) % 10 == 0]
    part, found = after_play(Graph.from_edges(30, edges), 10_000)
    width = part.bound.width(found)
    bound = grid_bound.lower_bound(part, found, target=width, budget=3_000_000)
    assert bound.upper - bound.value <= width


@pytest.mark.parametrize("basis", [PairwiseQuadratic(), Quadratic()], ids=repr)
@pytest.mark.parametrize("data", [noise, played])
def test_blocks_of_three_are_certified_closely(basis: Basis, data: Any) -> None:
    rng = np.random.default_rng(5)
    for trial in range(10):
        lcb = random_posterior(rng, Graph.complete(3), basis, data=data, states=8)
        part = a_part(lcb, rng, price=0.2 * (trial % 2))
        found = solve(lcb, part.now).state
        target = 1e-3 * lcb.width(found)
        bound = grid_bound.lower_bound(part, found, target=target, budget=50_000)
        assert bound.upper - bound.value <= target


@pytest.mark.parametrize("data", [noise, played])
def test_wiggly_curves_of_one_knob_are_certified_closely(data: Any) -> None:
    rng = np.random.default_rng(6)
    basis = FourierFeatures(30, lengthscale=0.1)
    for _ in range(5):
        lcb = random_posterior(rng, Graph.complete(1), basis, data=data)
        part = a_part(lcb, rng)
        grid = [lcb.value(np.array([x])) for x in np.linspace(0.0, 1.0, 2001)]
        target = 1e-3 * lcb.width(solve(lcb, part.now).state)
        bound = grid_bound.lower_bound(part, part.now, target=target, budget=50_000)
        assert bound.value <= min(grid) + ROUNDING
        assert bound.upper - bound.value <= target


# Behaviour


def test_more_budget_never_gives_a_lower_bound_and_the_target_stops_early() -> None:
    part, found = after_play(ring(6), 1000)
    last = grid_bound.Proof(-np.inf, 0, found, np.inf)
    for budget in (0, 1, 10, 100, 1000, 10_000):
        bound = grid_bound.lower_bound(part, found, target=0.0, budget=budget)
        again = grid_bound.lower_bound(part, found, target=0.0, budget=budget)
        assert (bound.value, bound.spent, bound.upper) == (again.value, again.spent, again.upper)
        assert bound.value >= last.value
        assert bound.spent <= budget
        last = bound
    width = part.bound.width(found)
    easy = grid_bound.lower_bound(part, found, target=width, budget=10_000)
    assert easy.spent < last.spent
    assert easy.upper - easy.value <= width


def test_a_bad_incumbent_is_improved_on_the_way() -> None:
    part, found = after_play(ring(4), 1000)
    bound = grid_bound.lower_bound(
        part, np.ones(4), target=0.01 * part.bound.width(found), budget=10_000
    )
    assert bound.upper <= part.value(found) + 0.01 * part.bound.width(found)


def test_of_user_functions_and_balls_nothing_is_known() -> None:
    rng = np.random.default_rng(7)
    custom = Custom(function=lambda i, x: [1.0, x.sum()], bound=5.0)
    lcb = random_posterior(rng, Graph.complete(2), custom)
    part = a_part(lcb, rng)
    assert grid_bound.lower_bound(part, part.now, target=0.0, budget=1000).value == -np.inf
    problem = Problem(Graph.complete(2), basis=Linear(), domain=Balls([[0, 1]]))
    lcb = posterior(problem, [], reg=np.ones(2), radii=np.ones(2))
    part = a_part(lcb, rng)
    assert grid_bound.lower_bound(part, part.now, target=0.0, budget=1000).value == -np.inf


def test_nothing_is_known_where_tables_are_huge() -> None:
    rng = np.random.default_rng(8)
    lcb = random_posterior(rng, Graph.complete(13), PairwiseQuadratic())
    part = a_part(lcb, rng)
    assert grid_bound.lower_bound(part, part.now, target=0.0, budget=10**6).value == -np.inf


def test_dominated_candidates_are_in_no_minimum() -> None:
    rng = np.random.default_rng(9)
    gone = 0
    for _ in range(100):
        counts = rng.integers(1, 5, size=4)
        scopes = [np.sort(rng.permutation(4)[:n]) for n in (1, 2, 3, 2)] + [np.arange(4)[:, None]]
        scopes = [*scopes[:-1], *(np.array([n]) for n in range(4))]
        tables = [rng.normal(size=counts[scope]) * rng.choice([0.1, 3.0]) for scope in scopes]
        kept, left = undominated(scopes, tables, 4)
        everything = np.zeros(counts)
        for scope, table in zip(scopes, tables, strict=True):
            everything += table.reshape([counts[n] if n in scope else 1 for n in range(4)])
        best = np.unravel_index(everything.argmin(), everything.shape)
        assert all(c in candidates for c, candidates in zip(best, kept, strict=True))
        for scope, table, rest in zip(scopes, tables, left, strict=True):
            assert (rest == table[np.ix_(*(kept[n] for n in scope))]).all()
        gone += counts.sum() - sum(candidates.size for candidates in kept)
    assert gone > 200
