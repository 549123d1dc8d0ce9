"""The basis of powers and products of two knobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.errors import InvalidInput
from trimtab.model.bases import Products, Quadratic
from trimtab.model.graph import Graph


def test_degree_two_is_the_quadratic_basis() -> None:
    graph = Graph.complete(3)
    mine, theirs = (tt.Problem(graph, basis=basis) for basis in (Products(2), Quadratic()))
    state = np.array([0.2, 0.5, 0.9])
    np.testing.assert_allclose(np.sort(mine.phi(state)), np.sort(theirs.phi(state)))


def test_degree_three_by_hand() -> None:
    problem = tt.Problem(Graph.complete(2), basis=Products(3, normalize=False))
    phi = problem.phi(np.array([0.5, 0.75]))
    powers = sorted(0.5**p * 0.75**q for p in range(4) for q in range(4) if p + q <= 3)
    np.testing.assert_allclose(np.sort(phi[:10]), powers)


def test_features_are_at_most_one_long() -> None:
    problem = tt.Problem(Graph.complete(3), basis=Products(4))
    np.testing.assert_allclose(np.linalg.norm(problem.phi(np.ones(3))[: problem.dims[0]]), 1.0)


@pytest.mark.parametrize("degree", [0, 17, 2.5, "3"])
def test_bad_degrees_are_refused(degree: Any) -> None:
    with pytest.raises(InvalidInput, match="degree"):
        Products(degree)
