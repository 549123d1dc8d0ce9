"""Flips in tables: never worse, at rest under every flip, and right where all can be tried."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from trimtab.arrays import Array, Ints
from trimtab.solvers.flips import descend


def random_tables(
    rng: np.random.Generator, n: int, factors: int, most: int
) -> tuple[list[Ints], Ints, list[Array]]:
    """Tables over up to three variables each; every variable is in at least one."""
    counts = rng.integers(1, most + 1, n)
    scopes = [np.array([v]) for v in range(n)]
    scopes += [np.sort(rng.choice(n, min(3, n), replace=False)) for _ in range(factors)]
    return scopes, counts, [rng.normal(size=counts[scope]) for scope in scopes]


def total(scopes: list[Ints], tables: list[Array], choice: Ints) -> float:
    return sum(
        float(table[tuple(choice[scope])]) for scope, table in zip(scopes, tables, strict=True)
    )


def search(
    scopes: list[Ints], counts: Ints, tables: list[Array], start: Ints, lookups: int
) -> tuple[Ints, int]:
    flat = np.concatenate([table.ravel() for table in tables])
    return descend(scopes, counts, flat, start, lookups, seed=1)


@pytest.mark.parametrize("seed", range(30))
def test_small_sums_are_solved_as_well_as_by_trying_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scopes, counts, tables = random_tables(rng, n=7, factors=9, most=3)
    least = min(total(scopes, tables, np.array(c)) for c in product(*map(range, counts)))
    choice, looked = search(scopes, counts, tables, np.zeros(7, np.int64), 50_000)
    assert total(scopes, tables, choice) == pytest.approx(least, abs=1e-12)
    assert looked >= 50_000


@pytest.mark.parametrize("seed", range(10))
def test_no_flip_improves_what_is_found_and_the_start_is_left_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scopes, counts, tables = random_tables(rng, n=60, factors=120, most=4)
    start = rng.integers(0, counts)
    kept = start.copy()
    choice, _ = search(scopes, counts, tables, start, 20_000)
    np.testing.assert_array_equal(start, kept)
    found = total(scopes, tables, choice)
    assert found < total(scopes, tables, start)
    for v in range(60):
        for candidate in range(counts[v]):
            other = choice.copy()
            other[v] = candidate
            assert total(scopes, tables, other) >= found - 1e-9


def test_a_kick_leaves_a_minimum_that_no_single_flip_leaves() -> None:
    # From (0, 0) the way to (1, 1) is uphill first.
    pair = np.array([[0.0, 2.0], [2.0, -1.0]])
    choice, _ = search([np.array([0, 1])], np.array([2, 2]), [pair], np.zeros(2, np.int64), 100)
    assert choice.tolist() == [1, 1]


def test_equal_sums_stay_where_they_are() -> None:
    flat = [np.zeros((2, 2)), np.zeros(2)]
    scopes = [np.array([0, 1]), np.array([0])]
    choice, _ = search(scopes, np.array([2, 2]), flat, np.array([1, 0]), 1000)
    assert choice.tolist() == [1, 0]


def test_the_same_arguments_give_the_same_answer() -> None:
    rng = np.random.default_rng(3)
    scopes, counts, tables = random_tables(rng, n=40, factors=80, most=3)
    start = np.zeros(40, np.int64)
    one, two = (search(scopes, counts, tables, start, 5000) for _ in range(2))
    np.testing.assert_array_equal(one[0], two[0])
    assert one[1] == two[1]
