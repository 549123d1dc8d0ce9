"""Problems: what they hold, what they refuse, and when two of them are the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.builders import by_hand, quadratic
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.model.bases import (
    Custom,
    FourierFeatures,
    Linear,
    PairwiseQuadratic,
    Polynomial,
    Quadratic,
)
from trimtab.model.domain import Box
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem

SCOPES = [[0, 1], [1], [2, 0, 3]]
GRAPH = Graph.from_scopes(SCOPES, knobs=4, centres=[0, 1, 2])


def refused(message: str) -> Any:
    return pytest.raises(InvalidInput, match=f"^{re.escape(message)}$")


def first(criterion: int, x: Array) -> list[float]:
    return [1.0, float(x[0])]


def last(criterion: int, x: Array) -> list[float]:
    return [1.0, float(x[-1])]


# What it holds


def test_the_defaults() -> None:
    problem = Problem(GRAPH)
    assert (problem.knobs, problem.criteria) == (4, 3)
    assert problem.basis == Quadratic(powers=6)
    assert problem.dims.tolist() == [14, 7, 22]
    assert problem.domain.low.tolist() == [0.0] * 4
    assert problem.domain.high.tolist() == [1.0] * 4
    assert problem.weights.tolist() == [1.0] * 3
    assert problem.move_cost.tolist() == [0.0] * 4
    assert problem.all_criteria.tolist() == [0, 1, 2]
    assert repr(problem) == (
        "Problem(Graph(knobs=4, criteria=3), basis=Quadratic(powers=6, normalize=True))"
    )


def test_weights_and_costs_are_spread_copied_and_closed() -> None:
    weights, cost = np.array([1.0, 2.0, 0.5]), np.array([0.0, 1.0, 2.0, 3.0])
    problem = Problem(GRAPH, weights=weights, move_cost=cost)
    weights[:], cost[:] = 9.0, 9.0
    assert problem.weights.tolist() == [1.0, 2.0, 0.5]
    assert problem.move_cost.tolist() == [0.0, 1.0, 2.0, 3.0]
    for array in (problem.weights, problem.move_cost, problem.all_criteria):
        assert not array.flags.writeable
    assert Problem(GRAPH, weights=3, move_cost=5).weights.tolist() == [3.0] * 3
    assert Problem(GRAPH, weights=3, move_cost=5).move_cost.tolist() == [5.0] * 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": [1, 0, 1]}, "weights[1] = 0 must be greater than 0"),
        ({"weights": -2.0}, "weights[0] = -2 must be greater than 0"),
        (
            {"weights": [1, 1, np.inf]},
            "weights[2] = inf is not finite; every entry must be a number",
        ),
        (
            {"weights": [1, 1, 1, 1]},
            "weights has shape (4,), expected (3,); give one value per criterion",
        ),
        ({"move_cost": [0, 0, -1e-3, 0]}, "move_cost[2] = -0.001 must be at least 0"),
        (
            {"move_cost": [0, np.nan, 0, 0]},
            "move_cost[1] = nan is not finite; every entry must be a number",
        ),
        (
            {"move_cost": [0, 0, 0]},
            "move_cost has shape (3,), expected (4,); give one value per knob",
        ),
        (
            {"domain": Box(low=[0.0, 0.1])},
            "low has shape (2,), expected (4,); give one value per knob",
        ),
    ],
)
def test_what_a_problem_refuses(settings: dict[str, Any], message: str) -> None:
    with refused(message):
        Problem(GRAPH, **settings)


def test_a_graph_must_be_a_graph() -> None:
    with refused("graph is a list; build it with tt.Graph"):
        Problem(SCOPES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings", [{"basis": Quadratic}, {"basis": "quadratic"}, {"domain": "box"}, {"domain": Box}]
)
def test_basis_and_domain_must_be_what_they_are_called(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"^{next(iter(settings))} "):
        Problem(GRAPH, **settings)


def test_phi_is_all_features_in_one_row() -> None:
    rng = np.random.default_rng(0)
    problem = Problem(GRAPH, basis=Quadratic(normalize=False))
    for _ in range(5):
        s = problem.domain.sample(rng)
        blocks = [by_hand(quadratic, GRAPH, i, s[None])[:, 0] for i in range(3)]
        assert problem.phi(s) == pytest.approx(np.concatenate(blocks), rel=1e-14)


# When two are the same


def build(**changes: Any) -> Problem:
    settings: dict[str, Any] = {
        "graph": Graph.from_scopes(SCOPES, knobs=4, centres=[0, 1, 2]),
        "basis": PairwiseQuadratic(),
        "domain": Box(low=0.1, high=[0.9, 1.0, 1.0, 1.0], levels={3: [0.1, 0.5, 1.0]}),
        "weights": [1.0, 2.0, 3.0],
        "move_cost": 0.5,
    }
    settings |= changes
    return Problem(settings.pop("graph"), **settings)


def test_equal_problems_share_a_fingerprint() -> None:
    fingerprint = build().fingerprint()
    assert re.fullmatch("[0-9a-f]{64}", fingerprint)
    assert build().fingerprint() == fingerprint
    said_otherwise = build(
        graph=Graph.from_scopes([[1, 0], [1], [3, 2, 0]], knobs=4, centres=[0, 1, 2]),
        domain=Box(low=[0.1] * 4, high=[0.9, 1, 1, 1], levels=[None, None, None, (1.0, 0.5, 0.1)]),
        weights=np.array([1, 2, 3]),
        move_cost=[0.5] * 4,
    )
    assert said_otherwise.fingerprint() == fingerprint


@pytest.mark.parametrize(
    "changes",
    [
        {"graph": Graph.from_scopes([[0, 1], [1], [2, 0]], knobs=4, centres=[0, 1, 2])},
        {"graph": Graph.from_scopes([[0, 2], [1], [2, 0, 3]], knobs=4, centres=[0, 1, 2])},
        {"graph": Graph.from_scopes([[0, 1], [1], [2, 0, 3]], knobs=4, centres=[1, 1, 2])},
        {"graph": Graph.from_scopes([[0, 1], [1], [2, 0, 3]], knobs=4, centres=[0, 1, 3])},
        {"basis": PairwiseQuadratic(normalize=False)},
        {"basis": Quadratic()},
        {"basis": Polynomial(2)},
        {"basis": Polynomial(3)},
        {"basis": Linear()},
        {"basis": Linear(intercept=True)},
        {"basis": FourierFeatures(5)},
        {"basis": FourierFeatures(5, seed=1)},
        {"basis": FourierFeatures(5, lengthscale=0.4)},
        {"basis": Custom(function=first, bound=2.0)},
        {"basis": Custom(function=last, bound=2.0)},
        {"basis": Custom(function=first, bound=2.5)},
        {"domain": Box(low=0.1, high=[0.9, 1.0, 1.0, 0.99], levels={3: [0.1, 0.5, 0.99]})},
        {"domain": Box(low=0.0, high=[0.9, 1.0, 1.0, 1.0], levels={3: [0.1, 0.5, 1.0]})},
        {"domain": Box(low=0.1, high=[0.9, 1.0, 1.0, 1.0])},
        {"domain": Box(low=0.1, high=[0.9, 1.0, 1.0, 1.0], levels={3: [0.1, 0.6, 1.0]})},
        {"domain": Box(low=0.1, high=[0.9, 1.0, 1.0, 1.0], levels={3: [0.1, 1.0]})},
        {"domain": Box(low=0.1, high=[0.9, 1.0, 1.0, 1.0], levels={2: [0.1, 0.5, 1.0]})},
        {"weights": [1.0, 2.0, 3.0 + 1e-12]},
        {"weights": [2.0, 1.0, 3.0]},
        {"move_cost": 0.25},
        {"move_cost": [0.5, 0.5, 0.5, 0.0]},
    ],
)
def test_one_changed_ingredient_changes_the_fingerprint(changes: dict[str, Any]) -> None:
    assert build(**changes).fingerprint() != build().fingerprint()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (FourierFeatures(5), FourierFeatures(5, seed=1)),
        (FourierFeatures(5), FourierFeatures(5, lengthscale=0.4)),
        (FourierFeatures(5), FourierFeatures(5, normalize=False)),
        (Custom(function=first, bound=2.0), Custom(function=first, bound=2.5)),
        (Custom(function=first, bound=2.0), Custom(function=last, bound=2.0)),
        (Polynomial(2), Polynomial(3)),
        (Linear(), Linear(intercept=True)),
    ],
)
def test_bases_of_one_kind_are_told_apart(a: Any, b: Any) -> None:
    assert build(basis=a).fingerprint() != build(basis=b).fingerprint()


@pytest.mark.parametrize("box", [Box(), Box(levels=[[0, 1]] * 2)], ids=["cube", "binary"])
def test_a_symmetric_domain_does_not_hide_the_centres_or_the_order_of_knobs(box: Box) -> None:
    """At states whose knobs are all equal, x_0 x_1 and x_1 x_0 look alike."""
    one = Graph.from_scopes([[0, 1]], knobs=2, centres=[0])
    other = Graph.from_scopes([[0, 1]], knobs=2, centres=[1])
    a, b = (Problem(graph, basis=PairwiseQuadratic(), domain=box) for graph in (one, other))
    s = np.array([0.0, 1.0])
    assert a.phi(s).tolist() != b.phi(s).tolist()
    assert a.fingerprint() != b.fingerprint()
    a, b = (Problem(one, basis=Custom(function=f, bound=2.0), domain=box) for f in (first, last))
    assert a.fingerprint() != b.fingerprint()
