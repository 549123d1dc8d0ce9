"""Variable elimination against brute force, and the tables of a part against its LCB."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import Datum, noise, played, random_graph, random_posterior
from trimtab._core import Elimination
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
from trimtab.model.graph import Graph
from trimtab.policies.lcb import LCB
from trimtab.solve.elimination import plan
from trimtab.solve.exact import entries, tables
from trimtab.solve.subproblem import Part

PLENTY = 2**24


def planned(scopes: list[Ints], counts: Ints, most: int = PLENTY) -> Elimination:
    found = plan(scopes, counts, most)
    assert found is not None
    return found


def entries_of(scopes: list[Ints], counts: Ints) -> int:
    """The bag entries that an elimination takes."""
    size = sum(int(counts[scope].prod()) for scope in scopes)
    return planned(scopes, counts).minimum(np.zeros(size), np.zeros(int(counts.sum())))[2]


def totals(scopes: list[Ints], counts: Ints, flat: Array) -> Array:
    """The sum of the factors at every choice: one axis per variable."""
    total = np.zeros(counts.tolist())
    start = 0
    for scope in scopes:
        size = int(counts[scope].prod())
        shape = [counts[v] if v in scope else 1 for v in range(counts.size)]
        total += flat[start : start + size].reshape(shape)
        start += size
    assert start == flat.size
    return total


def unary(counts: Ints) -> list[Ints]:
    return [np.array([v]) for v in range(counts.size)]


def random_tables(rng: np.random.Generator, scopes: list[Ints], counts: Ints) -> Array:
    return rng.normal(size=sum(int(counts[scope].prod()) for scope in scopes))


def ring(k: int) -> list[Ints]:
    """Each variable with its two neighbours."""
    return [np.unique([(j - 1) % k, j, (j + 1) % k]) for j in range(k)]


# The minimum


@st.composite
def factor_graphs(draw: st.DrawFn) -> tuple[list[Ints], Ints]:
    """Up to 7 variables, some with one candidate, some in no scope; scopes may repeat."""
    counts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=7))
    scope = st.sets(st.integers(0, len(counts) - 1), min_size=1, max_size=4).map(sorted)
    scopes = draw(st.lists(scope, max_size=9))
    return [np.array(scope, np.int64) for scope in scopes], np.array(counts)


@given(factor_graphs(), st.integers(0, 2**32))
def test_elimination_equals_brute_force(graph: tuple[list[Ints], Ints], seed: int) -> None:
    scopes, counts = graph
    rng = np.random.default_rng(seed)
    flat = random_tables(rng, scopes, counts) * 10 ** rng.uniform(-6, 6)
    total = totals(scopes, counts, flat)
    choice, least, _ = planned(scopes, counts).minimum(flat, rng.random(int(counts.sum())))
    size = np.abs(flat).sum()
    assert least == pytest.approx(total.min(), rel=0.0, abs=1e-13 * size)
    assert total[tuple(choice)] <= total.min() + 1e-9 * size


@given(factor_graphs(), st.integers(0, 2**32))
def test_of_equal_sums_the_smallest_toll_wins(graph: tuple[list[Ints], Ints], seed: int) -> None:
    """Sums that tie often, among whole numbers, times a number that makes them inexact."""
    scopes, counts = graph
    rng = np.random.default_rng(seed)
    whole = np.round(random_tables(rng, scopes, counts))
    toll = np.round(rng.random(int(counts.sum())), 1)
    total = totals(scopes, counts, whole)
    tolls = totals(unary(counts), counts, toll)
    choice, *_ = planned(scopes, counts).minimum(whole / 3.0 * rng.uniform(0.1, 10.0), toll)
    assert total[tuple(choice)] == total.min()
    assert tolls[tuple(choice)] == pytest.approx(tolls[total == total.min()].min(), abs=1e-12)


def test_variables_that_nobody_reads_stay_where_the_toll_is_least() -> None:
    counts = np.array([3, 1, 2])
    toll = np.array([0.4, 0.1, 0.1, 5.0, 0.2, 0.3])
    choice, least, _ = planned([], counts).minimum(np.empty(0), toll)
    assert choice.tolist() == [1, 0, 0]
    assert least == 0.0


def test_factors_of_variables_without_a_choice_are_constants() -> None:
    counts = np.array([1, 2, 1])
    scopes = [np.array([0]), np.array([0, 2]), np.array([0, 1, 2])]
    choice, least, _ = planned(scopes, counts).minimum(np.array([3.0, 4.0, 1.0, 0.5]), np.zeros(4))
    assert choice.tolist() == [0, 1, 0]
    assert least == 7.5


def test_a_ring_of_200_equals_the_transfer_matrix() -> None:
    """Min-plus products along the ring, whose state is the last two variables."""
    rng = np.random.default_rng(0)
    k = 200
    counts = np.full(k, 2)
    scopes = ring(k)
    for _ in range(5):
        cubes = rng.normal(size=(k, 2, 2, 2))  # factor j over (j - 1, j, j + 1)
        flat = np.concatenate([cubes[0].transpose(1, 2, 0).ravel(), cubes[1:-1].ravel()])
        flat = np.concatenate([flat, cubes[-1].transpose(2, 0, 1).ravel()])
        choice, least, _ = planned(scopes, counts).minimum(flat, np.zeros(2 * k))
        best = np.inf
        for a, b in product(range(2), repeat=2):  # the first two variables
            reach = np.full((2, 2), np.inf)
            reach[a, b] = 0.0
            for j in range(1, k - 1):
                reach = (reach[:, :, None] + cubes[j]).min(axis=0)
            best = min(best, (reach + cubes[-1][:, :, a] + cubes[0][:, a, b]).min())
        assert least == pytest.approx(best, rel=1e-12)
        around = np.arange(k)
        here = cubes[around, choice[around - 1], choice, choice[(around + 1) % k]].sum()
        assert here == pytest.approx(best, rel=1e-12)


# Ties


def test_the_nearest_of_equals_wins() -> None:
    """Only the choices (0, 1) and (1, 0) are least."""
    flat = np.array([1.0, 0.0, 0.0, 1.0])
    found = planned([np.array([0, 1])], np.array([2, 2]))
    for toll, expected in (
        ([0.9, 0.1, 0.2, 0.8], [1, 0]),
        ([0.1, 0.9, 0.8, 0.2], [0, 1]),
        ([0.3, 0.7, 0.3, 0.7], [0, 1]),  # equally near: the first in lexicographic order
    ):
        choice, least, _ = found.minimum(flat, np.array(toll))
        assert choice.tolist() == expected
        assert least == 0.0


@pytest.mark.parametrize("k", [2, 3, 6])
def test_of_equals_that_are_equally_near_the_first_in_lexicographic_order_wins(k: int) -> None:
    rng = np.random.default_rng(k)
    counts = np.full(k, 3)
    for _ in range(20):
        flat = rng.integers(0, 3, size=3**k) / 7.0
        choice, *_ = planned([np.arange(k)], counts).minimum(flat, np.full(3 * k, 0.1))
        assert (
            np.ravel_multi_index(tuple(choice), tuple(counts))
            == np.flatnonzero(flat == flat.min()).min()
        )


def test_values_are_equal_up_to_rounding_only() -> None:
    found = planned([np.array([0])], np.array([2]))
    toll = np.array([0.5, 0.0])
    for gap, expected in ((1e-12, 1), (1e-7, 0)):
        choice, least, _ = found.minimum(100.0 * np.array([1.0, 1.0 + gap]), toll)
        assert choice.tolist() == [expected]
        assert least == 100.0
    rounded = np.array([0.5, 0.5 - 1e-15])
    assert found.minimum(np.zeros(2), rounded)[0].tolist() == [0]


def test_a_ring_without_a_preference_stays() -> None:
    """Every factor is the same at all choices but for rounding."""
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 5, size=100)
    scopes = ring(100)
    flat = 1.0 + 1e-15 * random_tables(rng, scopes, counts)
    toll = np.concatenate([rng.permutation(count) * 0.25 for count in counts])
    choice, *_ = planned(scopes, counts).minimum(flat, toll)
    assert (toll[np.cumsum(counts) - counts + choice] == 0.0).all()


def test_values_beyond_floating_point_still_give_a_choice() -> None:
    counts = np.array([2, 3])
    found = planned([np.array([0, 1])], counts)
    for flat in (np.full(6, np.nan), np.full(6, np.inf), np.full(6, -np.inf)):
        choice, least, _ = found.minimum(flat, np.zeros(5))
        assert ((choice >= 0) & (choice < counts)).all()
        assert not np.isfinite(least)


# The plan


def test_the_entries_are_the_sizes_of_the_bags() -> None:
    chain = [np.array([j, j + 1]) for j in range(4)]
    assert entries_of(chain, np.array([2, 3, 4, 5, 1])) == 1 + 2 * 3 + 3 * 4 + 5 * 4 + 4


@pytest.mark.parametrize(
    ("scopes", "k"),
    [
        (ring(12), 12),
        ([np.array([0, j]) for j in range(1, 30)], 30),
        ([np.arange(6)] * 6, 6),
        (unary(np.ones(9, np.int64)), 9),
    ],
    ids=["ring", "star", "complete", "unary"],
)
def test_a_plan_is_refused_just_below_its_entries(scopes: list[Ints], k: int) -> None:
    counts = np.full(k, 2)
    work = entries_of(scopes, counts)
    assert plan(scopes, counts, work) is not None
    assert plan(scopes, counts, work - 1) is None


@given(factor_graphs())
def test_the_budget_decides_only_whether_there_is_a_plan(graph: tuple[list[Ints], Ints]) -> None:
    scopes, counts = graph
    work = entries_of(scopes, counts)
    assert plan(scopes, counts, work) is not None
    assert plan(scopes, counts, work - 1) is None


def test_trees_and_rings_take_a_bag_per_variable() -> None:
    k = 300
    tree = [np.array([(j - 1) // 3, j]) for j in range(1, k)]
    assert entries_of(tree, np.full(k, 3)) == 9 * (k - 1) + 3
    assert entries_of(ring(k), np.full(k, 2)) <= 2**5 * k
    star = [np.array([0, j]) for j in range(1, k)]
    assert entries_of(star, np.full(k, 2)) == 4 * (k - 1) + 2


def test_a_dense_graph_is_refused() -> None:
    k = 200
    pairs = [np.array([a, b]) for b in range(k) for a in range(b)]
    assert plan(pairs, np.full(k, 2), 2**22) is None
    assert plan([np.arange(k)], np.full(k, 2), 2**62) is None
    assert plan(unary(np.full(k, 2)), np.full(k, 2), 2 * k) is not None
    rng = np.random.default_rng(0)
    triples = [np.sort(rng.permutation(k)[:3]) for _ in range(k)]
    assert plan(triples, np.full(k, 2), 2**16) is None


# The tables


def ripples(i: int, x: Array) -> Any:
    return [1.0, np.sin(4.0 * x[0] + i), np.cos(2.0 * x.sum())]


def ripple_slopes(i: int, x: Array) -> Any:
    first = np.zeros(x.size)
    first[0] = 4.0 * np.cos(4.0 * x[0] + i)
    return np.array([np.zeros(x.size), first, np.full(x.size, -2.0 * np.sin(2.0 * x.sum()))])


def random_part(
    rng: np.random.Generator, lcb: LCB, *, free: Ints | None = None, priced: bool = False
) -> Part:
    """A part of the LCB with these knobs free, all of them by default."""
    graph = lcb.problem.graph
    knobs = np.arange(graph.knobs) if free is None else free
    price = rng.choice([0.0, 0.5, 2.0], size=graph.knobs) if priced else np.zeros(graph.knobs)
    criteria = [i for i in range(graph.criteria) if np.isin(graph.scope(i), knobs).any()]
    return Part(lcb, rng.random(graph.knobs), knobs, np.array(criteria), price)


@pytest.mark.parametrize("data", [noise, played])
@pytest.mark.parametrize("free", [None, np.array([1, 2, 4])], ids=["all", "some"])
@pytest.mark.parametrize(
    "basis",
    [
        Linear(),
        PairwiseQuadratic(),
        Quadratic(),
        Polynomial(3),
        FourierFeatures(6, seed=1),
        Custom(function=ripples, bound=2.0, jacobian=ripple_slopes),
    ],
    ids=["linear", "pairwise", "quadratic", "cubic", "fourier", "custom"],
)
def test_tables_hold_the_bound_of_each_criterion(
    basis: Basis, free: Ints | None, data: Callable[..., list[Datum]]
) -> None:
    rng = np.random.default_rng(3)
    for n in range(6):
        graph = random_graph(rng, 5, 6, widest=4)
        lcb = random_posterior(rng, graph, basis, data=data, states=int(rng.integers(0, 9)))
        part = random_part(rng, lcb, free=free, priced=n % 2 == 1)
        if part.criteria.size == 0:
            continue
        values = [rng.random(int(rng.integers(1, 6))) for _ in part.knobs]
        counts = np.array([x.size for x in values])
        scopes, flat = tables(part, values)
        assert flat.size == entries(part, counts)
        start = 0
        for c, scope in enumerate(scopes):
            assert (np.diff(scope) > 0).all()
            expected = []
            for at in product(*(values[p] for p in scope)):
                state = part.now.copy()
                state[part.knobs[scope]] = at
                if c < part.criteria.size:
                    expected.append(lcb.value(state, part.criteria[c : c + 1]))
                else:
                    expected.append(part.toll(state[part.knobs]))
            found = flat[start : start + len(expected)]
            scale = np.abs(expected).max()
            assert found == pytest.approx(np.array(expected), rel=0.0, abs=1e-12 * scale)
            start += len(expected)
        read = {*part.knobs[np.concatenate(scopes)].tolist()}
        assert all(set(graph.scope(i)) & {*part.knobs.tolist()} <= read for i in part.criteria)
        priced = part.knobs[part.price[part.knobs] > 0.0]
        assert len(scopes) == part.criteria.size + priced.size


def test_entries_of_a_wide_criterion_do_not_overflow() -> None:
    lcb = random_posterior(np.random.default_rng(0), Graph.complete(100), Linear(), states=0)
    part = random_part(np.random.default_rng(0), lcb)
    assert entries(part, np.full(100, 3)) == pytest.approx(100 * 3.0**100)


@pytest.mark.parametrize("priced", [False, True], ids=["free of charge", "priced"])
@pytest.mark.parametrize("wide", [False, True], ids=["ring", "complete"])
def test_linear_features_lead_to_the_best_of_all_vertices(wide: bool, priced: bool) -> None:
    rng = np.random.default_rng(12)
    k = 12
    edges = [(j, (j + 1) % k) for j in range(k)]
    graph = Graph.complete(k) if wide else Graph.from_edges(k, edges)
    corners = np.array([0.0, 1.0])
    vertices = np.array(list(product(corners, repeat=k)))
    moved = 0
    for data in (noise, played) * 2:
        part = random_part(rng, random_posterior(rng, graph, Linear(), data=data), priced=priced)
        scopes, flat = tables(part, [corners] * k)
        toll = np.abs(corners - part.now[:, None]).ravel()
        choice, least, _ = planned(scopes, np.full(k, 2)).minimum(flat, toll)
        values = np.array([part.value(vertex) for vertex in vertices])
        assert least == pytest.approx(values.min(), rel=1e-12)
        assert part.value(corners[choice]) == pytest.approx(values.min(), rel=1e-9)
        moved += int(choice.sum())
    assert 0 < moved < 4 * k
