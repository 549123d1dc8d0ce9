"""The solver against dense grids and enumeration, and the rule by which ties are broken."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.builders import (
    Datum,
    Reference,
    affine,
    example_1,
    lattice,
    linear,
    noise,
    played,
    polynomial,
    posterior,
    quadratic,
    random_graph,
    random_posterior,
    terms_at,
    values_at,
)
from trimtab._core import choose
from trimtab.arrays import Array
from trimtab.errors import SolverFailed
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
from trimtab.model.domain import Balls, Box, Domain
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.policies.lcb import LCB
from trimtab.solve import Solution, solve

GRID = np.linspace(0.0, 1.0, 20001)
TIED = 1e-9  # the tie-break may give away this much, relatively


def worse(value: float, best: float) -> float:
    """By how much a value exceeds the best known one, relatively."""
    return 0.0 if value == best else (value - best) / abs(best)


def random_current(lcb: LCB, rng: np.random.Generator) -> Array:
    return lcb.problem.domain.sample(rng)


# One knob: the step of the coordinate descent is exact


def wild(problem: Problem, rng: np.random.Generator, *, states: int) -> list[Datum]:
    """Losses and counts over many orders of magnitude."""
    m = problem.criteria
    return [
        Datum(
            problem.domain.sample(rng),
            rng.normal(size=m) * 10 ** rng.uniform(-2, 3),
            (10 ** rng.uniform(0, 9, size=m)).astype(np.int64),
        )
        for _ in range(states)
    ]


@pytest.mark.parametrize("data", [played, wild])
@pytest.mark.parametrize(
    ("basis", "degree"),
    [(Quadratic(), 2), (Polynomial(3), 3), (Polynomial(4), 4)],
    ids=["quadratic", "cubic", "quartic"],
)
def test_one_knob_is_solved_as_well_as_by_a_dense_grid(
    basis: Basis, degree: int, data: Callable[..., list[Datum]]
) -> None:
    rng = np.random.default_rng(degree)
    powers = np.vander(GRID, degree + 1, increasing=True).T / np.sqrt(degree + 1)
    inside = 0
    failures = []
    for trial in range(100):
        m = int(rng.integers(1, 6))
        graph = Graph.from_scopes([[0]] * m, knobs=1)
        problem = Problem(graph, basis=basis, weights=rng.uniform(0.3, 3.0, size=m))
        seen = data(problem, rng, states=int(rng.integers(0, 12)))
        reg = 10 ** rng.uniform(-3, 1, size=m)
        lcb = posterior(problem, seen, reg=reg, radii=np.ones(m))
        means, widths = terms_at(lcb, lambda i: powers)
        for radii in 10 ** rng.uniform(-2, 2 if data is wild else 0.5, size=(5, m)):
            lcb = LCB(lcb.estimators, as_radius(radii, m))
            F = means.sum(axis=0) - radii @ widths
            found = solve(lcb, random_current(lcb, rng))
            inside += 0.0 < found.state[0] < 1.0
            if worse(found.value, F.min()) > TIED:
                failures.append((trial, worse(found.value, F.min()), found.state, GRID[F.argmin()]))
    assert inside > 30
    assert not failures


@pytest.mark.parametrize(("x", "best"), [(0.52, 0.54), (0.58, 0.56)])
def test_both_sides_of_a_state_played_long_are_seen(x: float, best: float) -> None:
    """At a state played 10^5 times the width is nearly 0 and grows to both sides: two valleys."""
    problem = Problem(Graph.complete(1), basis=Quadratic())
    data = [
        Datum(np.array([s]), np.array([(s - best) ** 2]), np.array([n]))
        for s, n in ((0.0, 100), (1.0, 100), (x, 100_000))
    ]
    lcb = posterior(problem, data, reg=np.ones(1), radii=np.array([0.5]))
    F = values_at(lcb, quadratic, GRID[:, None])
    falls = np.diff(F) < 0
    assert np.count_nonzero(falls[:-1] & ~falls[1:]) == 2
    assert worse(solve(lcb, np.array([x])).value, F.min()) <= TIED


# A few knobs


@pytest.mark.parametrize("data", [noise, played])
@pytest.mark.parametrize(
    ("basis", "reference"),
    [(Quadratic(), quadratic), (PairwiseQuadratic(), example_1), (Polynomial(3), polynomial(3))],
    ids=["quadratic", "pairwise", "cubic"],
)
@pytest.mark.parametrize(("k", "points"), [(2, 101), (3, 31)])
def test_a_few_knobs_are_solved_as_well_as_by_a_polished_grid(
    k: int, points: int, basis: Basis, reference: Reference, data: Callable[..., list[Datum]]
) -> None:
    rng = np.random.default_rng((k, points))
    states = lattice(*[np.linspace(0, 1, points)] * k)
    for _ in range(12):
        graph = random_graph(rng, k, int(rng.integers(1, 6)), widest=k)
        lcb = random_posterior(rng, graph, basis, data=data, states=int(rng.integers(0, 9)))
        found = solve(lcb, random_current(lcb, rng))
        F = values_at(lcb, reference, states)
        best = min(polished(lcb, states[n]) for n in np.argsort(F)[:3])
        assert worse(found.value, min(best, F.min())) <= TIED


def polished(lcb: LCB, state: Array) -> float:
    """The least value that L-BFGS-B finds from this state."""
    box = [(0.0, 1.0)] * state.size
    return float(minimize(lcb.value, state, jac=lcb.gradient, bounds=box, method="L-BFGS-B").fun)


# Linear features: vertices


AFFINE = pytest.mark.parametrize(
    ("basis", "reference"),
    [(Linear(), linear), (Linear(intercept=True), affine), (Polynomial(1), polynomial(1))],
    ids=["linear", "affine", "polynomial"],
)


@AFFINE
def test_linear_features_make_the_bound_concave(basis: Basis, reference: Reference) -> None:
    """With linear features the LCB is concave, for every regularisation."""
    rng = np.random.default_rng(0)
    bent = 0
    for reg in (0.01, 1.0, 100.0):
        problem = Problem(random_graph(rng, 5, 6, widest=4), basis=basis)
        data = played(problem, rng, states=6)
        lcb = posterior(problem, data, reg=np.full(6, reg), radii=rng.uniform(0.5, 2.0, size=6))
        a, b = rng.random((300, 5)), rng.random((300, 5))
        t = rng.random(300)
        F = values_at(lcb, reference, t[:, None] * a + (1 - t)[:, None] * b)
        chord = t * values_at(lcb, reference, a) + (1 - t) * values_at(lcb, reference, b)
        assert (chord - F <= 1e-12).all()
        bent += int(np.count_nonzero(F - chord > 1e-4))
    assert bent > 100  # it is not merely linear


def assert_best_vertex(lcb: LCB, reference: Reference, current: Array) -> None:
    """The solution is a vertex in every knob that is read, as good as the best, and proven."""
    found = solve(lcb, current)
    read = np.unique(lcb.problem.graph.scope_knobs)
    assert np.isin(found.state[read], [0.0, 1.0]).all()
    vertices = lattice(*[np.array([0.0, 1.0])] * current.size)
    least = values_at(lcb, reference, vertices).min()
    assert found.value == pytest.approx(least, rel=1e-12)
    assert found.lower_bound == pytest.approx(least, rel=1e-12)
    assert found.certified
    assert found.gap is not None
    assert found.gap >= 0.0


@AFFINE
@pytest.mark.parametrize("k", [1, 4, 7, 10])
def test_linear_features_lead_to_the_best_vertex(
    k: int, basis: Basis, reference: Reference
) -> None:
    rng = np.random.default_rng(k)
    for n in range(40):
        graph = Graph.complete(k) if n % 4 == 0 else random_graph(rng, k, k, widest=4)
        lcb = random_posterior(rng, graph, basis, states=int(rng.integers(0, 9)))
        assert_best_vertex(lcb, reference, rng.random(k))


@pytest.mark.parametrize("data", [noise, played])
@pytest.mark.parametrize("k", range(2, 17))
def test_linear_features_of_up_to_16_knobs_in_one_piece_are_solved_exactly(
    k: int, data: Callable[..., list[Datum]]
) -> None:
    rng = np.random.default_rng((k, 16))
    for basis, reference in ((Linear(), linear), (Linear(intercept=True), affine)):
        lcb = random_posterior(rng, Graph.complete(k), basis, data=data, states=8)
        assert_best_vertex(lcb, reference, rng.random(k))


# Many knobs


@pytest.mark.parametrize("data", [noise, played])
@pytest.mark.parametrize(
    ("basis", "reference"),
    [(PairwiseQuadratic(), example_1), (Polynomial(3), polynomial(3)), (Linear(), linear)],
    ids=["pairwise", "cubic", "linear"],
)
def test_no_single_knob_can_improve_the_answer(
    basis: Basis, reference: Reference, data: Callable[..., list[Datum]]
) -> None:
    rng = np.random.default_rng(12)
    k = 12
    ring = Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])
    for _ in range(10):
        lcb = random_posterior(rng, ring, basis, data=data, states=int(rng.integers(0, 20)))
        found = solve(lcb, random_current(lcb, rng))
        states = np.repeat(found.state[None], k * 501, axis=0).reshape(k, 501, k)
        for j in range(k):
            states[j, :, j] = np.linspace(0.0, 1.0, 501)
        F = values_at(lcb, reference, states.reshape(-1, k))
        assert worse(found.value, F.min()) <= TIED


# Levels, intervals and pinned knobs


@pytest.mark.parametrize(
    ("basis", "reference"),
    [(Quadratic(), quadratic), (PairwiseQuadratic(), example_1), (Linear(), linear)],
    ids=["quadratic", "pairwise", "linear"],
)
@pytest.mark.parametrize(("k", "size"), [(1, 9), (2, 7), (3, 5), (5, 3)])
def test_levels_are_solved_as_well_as_by_enumeration(
    k: int, size: int, basis: Basis, reference: Reference
) -> None:
    rng = np.random.default_rng((k, size))
    for data in (noise, played) * 10:
        levels = [rng.choice(np.linspace(0, 1, 21), size, replace=False) for _ in range(k)]
        lcb = random_posterior(
            rng, random_graph(rng, k, k + 1), basis, domain=Box(levels=levels), data=data
        )
        found = solve(lcb, random_current(lcb, rng))
        assert all(x in levels[j] for j, x in enumerate(found.state))
        assert worse(found.value, values_at(lcb, reference, lattice(*levels)).min()) <= TIED


def test_levels_mix_with_intervals_and_pinned_knobs() -> None:
    rng = np.random.default_rng(1)
    levels = [np.array([0.0, 0.35, 0.8]), np.array([0.1, 0.9])]
    box = Box(
        low=[0.2, 0.0, 0.4, 0.0], high=[0.7, 1.0, 0.4, 1.0], levels={1: levels[0], 3: levels[1]}
    )
    free = np.linspace(0.2, 0.7, 2001)
    states = lattice(free, levels[0], np.array([0.4]), levels[1])
    interior = 0
    for data in (noise, played) * 20:
        lcb = random_posterior(
            rng, random_graph(rng, 4, 5), Quadratic(), domain=box, data=data, radii=(0.0, 0.1)
        )
        found = solve(lcb, random_current(lcb, rng))
        assert lcb.problem.domain.contains(found.state)
        assert found.state[2] == 0.4
        assert worse(found.value, values_at(lcb, quadratic, states).min()) <= TIED
        interior += 0.2 < found.state[0] < 0.7
    assert interior > 3


@pytest.mark.parametrize("basis", [Quadratic(), Polynomial(3), Linear()], ids=str)
def test_a_box_is_searched_between_its_own_ends(basis: Basis) -> None:
    rng = np.random.default_rng(2)
    box = Box(low=[0.3, 0.0], high=[0.6, 0.5])
    reference = {"Quadratic": quadratic, "Polynomial": polynomial(3), "Linear": linear}
    states = lattice(np.linspace(0.3, 0.6, 151), np.linspace(0.0, 0.5, 151))
    for data in (noise, played) * 10:
        lcb = random_posterior(rng, random_graph(rng, 2, 3), basis, domain=box, data=data)
        found = solve(lcb, random_current(lcb, rng))
        F = values_at(lcb, reference[type(basis).__name__], states)
        assert lcb.problem.domain.contains(found.state)
        assert worse(found.value, F.min()) <= TIED


@pytest.mark.parametrize("basis", [Quadratic(), FourierFeatures(6)], ids=["monomial", "fourier"])
def test_a_domain_of_one_state_is_answered_with_it(basis: Basis) -> None:
    box = Box(low=[0.4, 0.7], high=[0.4, 0.7])
    lcb = random_posterior(np.random.default_rng(0), Graph.complete(2), basis, domain=box)
    state = np.array([0.4, 0.7])
    found = solve(lcb, state)
    assert found.state.tolist() == [0.4, 0.7]
    assert found.value == pytest.approx(lcb.value(state))


def test_levels_are_certified_when_all_combinations_were_tried() -> None:
    rng = np.random.default_rng(3)
    lcb = random_posterior(
        rng, Graph.complete(3), Quadratic(), domain=Box(levels=[[0, 0.5, 1]] * 3)
    )
    found = solve(lcb, np.zeros(3))
    assert found.certified
    assert found.gap == pytest.approx(0.0, abs=1e-8)
    half = Box(levels={0: [0, 1], 1: [0, 1]})
    assert not solve(
        random_posterior(rng, Graph.complete(3), Quadratic(), domain=half), np.zeros(3)
    ).certified


def test_a_long_chain_of_levels_is_solved_exactly() -> None:
    """4^10 combinations, against min-sum elimination along the chain."""
    rng = np.random.default_rng(5)
    k, levels = 10, np.array([0.0, 0.2, 0.7, 1.0])
    chain = Graph.from_scopes([[j, j + 1] for j in range(k - 1)], knobs=k)
    for data in (noise, played) * 10:
        lcb = random_posterior(rng, chain, Quadratic(), domain=Box(levels=[levels] * k), data=data)
        found = solve(lcb, random_current(lcb, rng))
        assert np.isin(found.state, levels).all()
        pairs = lattice(levels, levels)
        best = np.zeros(4)  # of everything to the left, for each level of this knob
        for i in range(k - 1):
            states = np.zeros((16, k))
            states[:, [i, i + 1]] = pairs
            table = np.array([lcb.value(s, np.array([i])) for s in states]).reshape(4, 4)
            best = (best[:, None] + table).min(axis=0)
        assert found.certified
        assert found.value == pytest.approx(best.min(), rel=1e-12)


def test_too_many_combinations_are_searched_instead() -> None:
    """Eight criteria that all read eight knobs of 9 levels; a search, not a proof.

    Two knobs at once are beyond what a descent looks at, so now and then a pair is missed.
    """
    rng = np.random.default_rng(6)
    k, levels = 8, np.linspace(0.0, 1.0, 9)
    pairs = list(combinations(range(k), 2))
    missed = 0
    for data in (noise, played) * 4:
        lcb = random_posterior(
            rng, Graph.complete(k), Quadratic(), domain=Box(levels=[levels] * k), data=data
        )
        found = solve(lcb, random_current(lcb, rng))
        assert np.isin(found.state, levels).all()
        assert not found.certified
        states = np.repeat(found.state[None], len(pairs) * 81, axis=0).reshape(-1, 81, k)
        for n, pair in enumerate(pairs):
            states[n][:, pair] = lattice(levels, levels)
        F = values_at(lcb, quadratic, states.reshape(-1, k))
        missed += worse(found.value, F.min()) > TIED
    assert missed <= 1  # of 8


# Some knobs only


@pytest.mark.parametrize(
    "basis", [Quadratic(), FourierFeatures(6, seed=1)], ids=["monomial", "fourier"]
)
def test_only_free_knobs_move_and_all_their_readers_count(basis: Basis) -> None:
    rng = np.random.default_rng(8)
    graph = Graph.from_scopes([[0, 1], [1, 2, 3], [3], [4, 0], [2]], knobs=5)
    readers = np.array([0, 1, 2])  # of knobs 1 and 3
    moved = 0
    for data in (noise, played) * 4:
        lcb = random_posterior(rng, graph, basis, data=data)
        current = rng.random(5)
        found = solve(lcb, current, free=np.array([1, 3]))
        assert found.state[[0, 2, 4]].tolist() == current[[0, 2, 4]].tolist()
        assert found.value == pytest.approx(lcb.value(found.state, readers), rel=1e-12)
        states = np.repeat(current[None], 21 * 21, axis=0)
        states[:, [1, 3]] = lattice(*[np.linspace(0, 1, 21)] * 2)
        best = min(lcb.value(s) for s in states)
        assert worse(lcb.value(found.state), best) <= TIED
        moved += not np.array_equal(found.state, current)
    assert moved > 0


def test_with_no_free_knob_nothing_moves() -> None:
    lcb = random_posterior(np.random.default_rng(0), Graph.complete(3), Quadratic())
    current = np.array([0.3, 0.4, 0.5])
    found = solve(lcb, current, free=np.empty(0, np.int64))
    assert found.state.tolist() == current.tolist()
    assert found.value == 0.0


# Components


def test_disjoint_parts_are_solved_as_if_alone() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        halves = [[[0, 1], [1], [2, 0]], [[0], [1, 0], [1]]]
        interleaved = [[0, 2], [2], [4, 0], [1], [3, 1], [3]]  # knobs 0, 2, 4 and 1, 3
        graphs = [
            Graph.from_scopes(halves[0], knobs=3),
            Graph.from_scopes(halves[1], knobs=2),
            Graph.from_scopes(interleaved, knobs=5),
        ]
        weights, reg = rng.uniform(0.5, 2.0, size=6), rng.uniform(0.1, 2.0, size=6)
        radii = rng.uniform(0.1, 1.0, size=6)
        whole = Problem(graphs[2], basis=Quadratic(), weights=weights)
        data = noise(whole, rng, states=6)
        current = rng.random(5)
        together = solve(posterior(whole, data, reg=reg, radii=radii), current)
        value = 0.0
        for graph, knobs, part in (
            (graphs[0], [0, 2, 4], slice(0, 3)),
            (graphs[1], [1, 3], slice(3, 6)),
        ):
            cut = [Datum(d.state[knobs], d.losses[part], d.count[part]) for d in data]
            problem = Problem(graph, basis=Quadratic(), weights=weights[part])
            alone = solve(posterior(problem, cut, reg=reg[part], radii=radii[part]), current[knobs])
            assert together.state[knobs] == pytest.approx(alone.state, abs=1e-6)
            value += alone.value
        assert together.value == pytest.approx(value, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("basis", [Quadratic(), Linear(), FourierFeatures(6)], ids=str)
def test_a_knob_nobody_reads_never_moves(basis: Basis) -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_scopes([[0, 3], [3]], knobs=5)
    moved = 0
    for _ in range(5):
        lcb = random_posterior(rng, graph, basis)
        current = rng.random(5)
        found = solve(lcb, current)
        assert found.state[[1, 2, 4]].tolist() == current[[1, 2, 4]].tolist()
        moved += not np.array_equal(found.state, current)
    assert moved > 0


# What a solution says


@pytest.mark.parametrize(
    ("basis", "proven"), [(Quadratic(), False), (Linear(), True), (FourierFeatures(6), False)]
)
def test_a_solution_reports_its_value_and_a_bound_where_it_has_one(
    basis: Basis, proven: bool
) -> None:
    rng = np.random.default_rng(0)
    lcb = random_posterior(rng, Graph.cliques([2, 3]), basis)
    current = rng.random(5)
    kept = current.copy()
    found = solve(lcb, current, effort=0.4)
    assert current.tolist() == kept.tolist()
    assert not np.shares_memory(found.state, current)
    assert found.value == pytest.approx(lcb.value(found.state), rel=1e-12)
    assert found.certified == proven
    if found.lower_bound is None:
        assert found.gap is None
    else:
        assert found.lower_bound <= found.value
        assert found.gap == pytest.approx(0.0, abs=1e-12 * abs(found.value))


def test_the_gap_is_the_value_above_the_bound() -> None:
    bounded = Solution(state=np.zeros(1), value=2.0, lower_bound=1.5)
    assert (bounded.gap, bounded.certified) == (0.5, True)
    unknown = Solution(state=np.zeros(1), value=2.0, lower_bound=None)
    assert (unknown.gap, unknown.certified) == (None, False)


@pytest.mark.parametrize("basis", [Quadratic(), FourierFeatures(6)], ids=["monomial", "fourier"])
def test_the_same_arguments_give_the_same_answer(basis: Basis) -> None:
    def once() -> Solution:
        rng = np.random.default_rng(5)
        lcb = random_posterior(rng, random_graph(rng, 6, 7), basis, data=played)
        return solve(lcb, rng.random(6), seed=3)

    one, two = once(), once()
    assert one.state.tolist() == two.state.tolist()
    assert one.value == two.value


def test_values_beyond_floating_point_are_refused() -> None:
    problem = Problem(Graph.complete(2), basis=Quadratic())
    lcb = posterior(problem, [], reg=np.full(2, 1e-4), radii=np.full(2, 1e308))
    with pytest.raises(SolverFailed, match=r"^the lower confidence bound is not finite "):
        solve(lcb, np.ones(2))


# Ties


def test_choose_takes_the_least_value_however_far() -> None:
    candidates = np.array([[0.5, 0.5], [0.5, 0.6], [1.0, 1.0]])
    assert choose(candidates, np.array([0.0, -0.5, -1.0]), candidates[0]) == 2


@pytest.mark.parametrize(
    ("values", "taken"),
    [
        ([-1.0, -1.0, -1.0], 0),  # the current state wins a tie
        ([-1.0 + 0.9e-9, -1.0, -1.0], 0),  # also a near one: 1e-9 of |-1|
        ([-1.0 + 1.1e-9, -1.0, -1.0], 1),  # then the nearest of the others
        ([0.0, -1.0, -1.0 - 1e-12], 1),
        ([0.0, 0.0, -1.0], 2),
    ],
)
def test_choose_prefers_the_nearest_among_ties(values: list[float], taken: int) -> None:
    candidates = np.array([[0.5, 0.5], [0.5, 0.7], [0.0, 0.5]])
    assert choose(candidates, np.array(values), candidates[0]) == taken


def test_choose_measures_distance_in_l1() -> None:
    """(0.3, 0.3) is nearer than (0.5, 0) in l2 and in the largest knob, but not in l1."""
    candidates = np.array([[0.3, 0.3], [0.5, 0.0]])
    assert choose(candidates, np.zeros(2), np.zeros(2)) == 1


def test_choose_breaks_what_is_left_in_lexicographic_order() -> None:
    current = np.array([0.5, 0.5])
    corners = np.array([[1.0, 0.5], [0.5, 1.0], [0.5, 0.0], [0.0, 0.5]])
    assert choose(corners, np.zeros(4), current) == 3
    assert choose(corners[:3], np.zeros(3), current) == 2
    rng = np.random.default_rng(0)
    for _ in range(10):
        order = rng.permutation(4)
        assert corners[order][choose(corners[order], np.zeros(4), current)].tolist() == [0.0, 0.5]
    rounded = np.array([[0.5, 1.0 - 1e-15], [0.0, 0.5]])  # equally far but for rounding
    assert choose(rounded, np.zeros(2), current) == 1


def test_with_nothing_known_staying_at_a_minimiser_is_chosen() -> None:
    """LCB_0 of Example 1 is least where all knobs are 1, that of even Fourier features anywhere."""
    for basis, current in (
        (PairwiseQuadratic(), np.ones(3)),
        (FourierFeatures(6), np.array([0.2, 0.7, 0.4])),
        (FourierFeatures(6), np.zeros(3)),
    ):
        problem = Problem(Graph.complete(3), basis=basis)
        lcb = posterior(problem, [], reg=np.full(3, 2.0), radii=np.ones(3))
        assert solve(lcb, current).state.tolist() == current.tolist()


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ([0.9, 0.2], [1.0, 0.0]),
        ([0.2, 0.9], [0.0, 1.0]),
        ([0.5, 0.5], [0.0, 1.0]),  # equally near: the first in lexicographic order
        ([1.0, 0.0], [1.0, 0.0]),  # one of them already
    ],
)
def test_of_equal_minima_the_nearest_is_chosen(current: list[float], expected: list[float]) -> None:
    """A loss seen at (1, 1) alone says nothing of s_0 - s_1: (1, 0) and (0, 1) are alike."""
    problem = Problem(Graph.from_scopes([[0, 1]], knobs=2), basis=Linear())
    data = [Datum(np.ones(2), np.array([1.0]), np.array([50]))]
    lcb = posterior(problem, data, reg=np.ones(1), radii=np.array([2.0]))
    corners = [lcb.value(np.array(s)) for s in product([0.0, 1.0], repeat=2)]
    assert corners[1] == pytest.approx(corners[2], rel=1e-12)
    assert corners[1] < min(corners[0], corners[3]) - 0.1
    assert solve(lcb, np.array(current)).state.tolist() == expected


SCALES = pytest.mark.parametrize("scale", [1e-12, 1e12])
ROUTES: list[Any] = [
    pytest.param(Quadratic(), None, id="quadratic"),
    pytest.param(Polynomial(3), None, id="cubic"),
    pytest.param(Linear(), None, id="vertices"),
    pytest.param(Linear(), Balls([[0, 1], [2, 3]]), id="balls"),
    pytest.param(Linear(), Balls([[0, 1, 2, 3]]), id="one ball"),
    pytest.param(Quadratic(), Box(levels=[[0.0, 0.3, 0.6, 1.0]] * 4), id="levels"),
    pytest.param(Quadratic(), Box(levels={0: [0.0, 0.5, 1.0]}), id="some levels"),
    pytest.param(FourierFeatures(8), Box(levels=[[0.0, 0.4, 1.0]] * 4), id="fourier on levels"),
    pytest.param(
        FourierFeatures(8),
        None,
        id="fourier",
    ),
]


@SCALES
@pytest.mark.parametrize(("basis", "domain"), ROUTES)
def test_the_unit_of_the_losses_does_not_matter(
    basis: Basis, domain: Domain | None, scale: float
) -> None:
    """What counts as equal is measured against |F|, and never against 1."""
    whole, halves = [0, 1, 2, 3], [[0, 1], [2, 3]]
    graph = Graph.from_scopes([whole] if domain == Balls([whole]) else [whole, *halves], knobs=4)
    moved = 0
    for seed in range(5):
        found = []
        for unit in (1.0, scale):
            rng = np.random.default_rng(seed)
            weights = unit * rng.uniform(0.3, 3.0, size=graph.criteria)
            problem = Problem(graph, basis=basis, domain=domain, weights=weights)
            data = noise(problem, rng, states=6)
            reg, radii = rng.uniform(0.1, 2.0, size=(2, graph.criteria))
            lcb = posterior(problem, data, reg=reg, radii=radii)
            current = random_current(lcb, rng)
            found += [solve(lcb, current), solve(lcb, current, price=0.05 * unit)]
        for plain, scaled in ((found[0], found[2]), (found[1], found[3])):
            assert scaled.state == pytest.approx(plain.state, abs=1e-6)
            assert scaled.value == pytest.approx(scale * plain.value, rel=1e-9, abs=0.0)
            moved += not np.array_equal(plain.state, current)
    assert moved >= 7  # of 10


# Bases without an exact step


def bumps(i: int, x: Array) -> Any:
    return [1.0, np.sin(4.0 * x[0] + i), np.cos(2.0 * x.sum())]


def bump_slopes(i: int, x: Array) -> Any:
    J = np.zeros((3, x.size))
    J[1, 0], J[2] = 4.0 * np.cos(4.0 * x[0] + i), -2.0 * np.sin(2.0 * x.sum())
    return J


def bumps_at(i: int, x: Array) -> Array:
    return np.array([x**0, np.sin(4.0 * x + i), np.cos(2.0 * x)]) / 2.0


BUMPS = Custom(function=bumps, bound=2.0, jacobian=bump_slopes)
DIFFERENCES = pytest.param(
    Custom(function=bumps, bound=2.0),
    bumps_at,
    marks=pytest.mark.filterwarnings("ignore::trimtab.errors.FiniteDifferences"),
)


def fourier(dim: int, lengthscale: float, seed: int) -> tuple[Basis, Callable[[int, Array], Array]]:
    """Fourier features of one knob, and the same by hand."""
    pairs = (dim + 1) // 2
    omega = np.random.default_rng((seed, 1)).normal(size=pairs) / lengthscale

    def features(i: int, x: Array) -> Array:
        waves = [f(w * x) for w in omega for f in (np.cos, np.sin)][:dim]
        return np.asarray(np.array(waves) / np.sqrt(pairs))

    return FourierFeatures(dim, lengthscale=lengthscale, seed=seed), features


@pytest.mark.parametrize("data", [noise, played])
@pytest.mark.parametrize(
    ("basis", "features"),
    [
        DIFFERENCES,
        (BUMPS, bumps_at),
        *(fourier(*shape) for shape in ((8, 0.5, 1), (9, 0.5, 2), (30, 0.5, 3))),
    ],
    ids=["custom", "custom with slopes", "even", "odd", "many"],
)
@pytest.mark.slow
def test_smooth_bases_are_solved_nearly_as_well_as_by_a_dense_grid(
    basis: Basis,
    features: Callable[[int, Array], Array],
    data: Callable[..., list[Datum]],
) -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        m = int(rng.integers(1, 4))
        lcb = random_posterior(
            rng,
            Graph.from_scopes([[0]] * m, knobs=1),
            basis,
            data=data,
            states=int(rng.integers(0, 8)),
        )
        means, widths = terms_at(lcb, lambda i: features(i, GRID))
        F = means.sum(axis=0) - lcb.radii @ widths
        current = random_current(lcb, rng)
        found = solve(lcb, current)
        assert worse(found.value, lcb.value(current)) <= TIED
        # L-BFGS-B stops at a relative gain of 2.2e-9; these curves are wide enough for its grid
        assert worse(found.value, F.min()) <= 1e-8


def test_a_single_search_finds_the_middle_of_three_valleys() -> None:
    """A descent from an end would stay in an outer one; a look along the knob comes first."""

    def ripple(i: int, x: Any) -> Any:
        return [np.cos(18.0 * (x[0] - 0.45)), 4.0 * (x[0] - 0.45) ** 2]

    def slopes(i: int, x: Any) -> Any:
        return [[-18.0 * np.sin(18.0 * (x[0] - 0.45))], [8.0 * (x[0] - 0.45)]]

    basis = Custom(function=ripple, bound=2.0, jacobian=slopes)
    problem = Problem(Graph.complete(1), basis=basis)
    data = [
        Datum(np.array([x]), np.array([ripple(0, [x])[1] - ripple(0, [x])[0]]), np.array([1000]))
        for x in (0.1, 0.5, 0.8)
    ]
    lcb = posterior(problem, data, reg=np.ones(1), radii=np.array([0.1]))
    F = np.array([lcb.value(np.array([x])) for x in GRID[::10]])
    falls = np.diff(F) < 0
    assert np.count_nonzero(falls[:-1] & ~falls[1:]) == 3
    for x in (0.0, 1.0):
        assert worse(solve(lcb, np.array([x]), effort=0).value, F.min()) <= 1e-8


@pytest.mark.parametrize(
    "basis",
    [FourierFeatures(8, lengthscale=0.1), BUMPS, Quadratic(), Linear()],
    ids=["fourier", "custom", "quadratic", "linear"],
)
def test_no_basis_leads_to_a_state_worse_than_the_current_one(basis: Basis) -> None:
    rng = np.random.default_rng(1)
    box = Box(low=0.1, levels={1: [0.1, 0.4, 1.0]})
    better = 0
    for _ in range(10):
        lcb = random_posterior(rng, random_graph(rng, 4, 4), basis, domain=box)
        current = random_current(lcb, rng)
        for _ in range(2):  # the second time from where the first has led
            found = solve(lcb, current, effort=0.3, seed=7)
            assert lcb.problem.domain.contains(found.state)
            assert worse(found.value, lcb.value(current)) <= TIED
            better += found.value < lcb.value(current) - 1e-6
            current = found.state
    assert better >= 10


@pytest.mark.parametrize(
    "basis", [FourierFeatures(8), Custom(function=bumps, bound=2.0)], ids=["fourier", "custom"]
)
def test_smooth_bases_on_levels_are_solved_as_well_as_by_enumeration(basis: Basis) -> None:
    rng = np.random.default_rng(4)
    levels = [np.array([0.0, 0.3, 0.6, 1.0]), np.array([0.2, 0.5, 0.9])]
    for _ in range(10):
        lcb = random_posterior(rng, random_graph(rng, 2, 3), basis, domain=Box(levels=levels))
        found = solve(lcb, random_current(lcb, rng))
        best = min(lcb.value(np.array(s)) for s in product(*levels))
        assert worse(found.value, best) <= TIED
