"""Solves under constraints: admissible, and as good as brute force on up to three knobs."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab as tt
from tests.builders import bound_at, lattice, played, posterior, terms_at
from trimtab.arrays import Array
from trimtab.errors import InvalidInput, SolverFailed
from trimtab.model.domain import BoundBox
from trimtab.policies.lcb import LCB
from trimtab.solve import Bound, Constraint, solve

FINE = {1: 2001, 2: 201, 3: 41}  # grid points of a knob
CASES = [
    (knobs, basis, seed)
    for knobs in (1, 2, 3)
    for basis in (tt.bases.Quadratic(), tt.bases.Linear(intercept=True), tt.bases.Polynomial(3))
    for seed in range(2)
]


def random_bound(rng: np.random.Generator, problem: tt.Problem) -> LCB:
    data, m = played(problem, rng, states=8), problem.criteria
    return posterior(problem, data, reg=np.ones(m), radii=rng.uniform(0.1, 1.0, m))


def constrained_problem(
    knobs: int, basis: tt.bases.Basis, seed: int
) -> tuple[LCB, Constraint, Array]:
    """A bound, a constraint that the present state keeps and the free minimiser breaks."""
    rng = np.random.default_rng((seed, knobs))
    problem = tt.Problem(tt.Graph.complete(knobs), basis=basis)
    while True:
        bound, other = random_bound(rng, problem), random_bound(rng, problem)
        now, best = rng.random(knobs), solve(bound, np.full(knobs, 0.5)).state
        at_now, at_best = (Constraint(other, 0.0).excess(s) for s in (now, best))
        if at_best > at_now + 0.05:
            return bound, Constraint(other, 0.5 * (at_now + at_best)), now


def upper_at(bound: Bound, states: Array) -> Array:
    """Mean plus width at the states (S, k)."""
    phi, offsets = np.array([bound.problem.phi(s) for s in states]), bound.problem.features.offsets
    means, widths = terms_at(bound, lambda i: phi[:, offsets[i] : offsets[i + 1]].T)
    return np.asarray(means.sum(axis=0) + bound.radii @ widths)


def brute_force(bound: Bound, constraint: Constraint, now: Array, price: Array) -> float:
    """The least G on a grid of admissible states, the present one among them."""
    domain = bound.domain
    assert isinstance(domain, BoundBox)
    ends = zip(domain.low, domain.high, now, strict=True)
    axes = [np.unique(np.append(np.linspace(a, b, FINE[now.size]), x)) for a, b, x in ends]
    states = lattice(*axes)
    G = bound_at(bound, states) + np.abs(states - now) @ price
    admissible = upper_at(constraint.bound, states) <= constraint.limit
    return float(G[admissible].min())


@pytest.mark.parametrize(("knobs", "basis", "seed"), CASES)
def test_as_good_as_brute_force(knobs: int, basis: tt.bases.Basis, seed: int) -> None:
    bound, constraint, now = constrained_problem(knobs, basis, seed)
    price = np.full(knobs, 0.02 * (seed % 2))
    found = solve(bound, now, price=price, constraints=[constraint])
    assert constraint.excess(found.state) <= 0.0
    assert bound.domain.contains(found.state)
    value = bound.value(found.state) + float(price @ np.abs(found.state - now))
    assert found.value == pytest.approx(value, rel=1e-12)
    assert value <= brute_force(bound, constraint, now, price) + 1e-3 * bound.width(found.state)
    if found.lower_bound is not None:
        assert found.lower_bound <= value


@pytest.mark.parametrize(("knobs", "basis", "seed"), CASES)
@pytest.mark.parametrize("constrained", [False, True])
def test_bounds_of_the_knobs_by_brute_force(
    knobs: int, basis: tt.bases.Basis, seed: int, constrained: bool
) -> None:
    bound, constraint, now = constrained_problem(knobs, basis, seed)
    rng = np.random.default_rng((seed, knobs, 1))
    domain = bound.domain
    assert isinstance(domain, BoundBox)
    part = bound.within(
        domain.narrowed(now - rng.uniform(0.0, 0.3, knobs), now + rng.uniform(0.0, 0.3, knobs))
    )
    limit = constraint if constrained else Constraint(constraint.bound, np.inf)
    found = solve(part, now, constraints=[constraint] if constrained else [])
    assert part.domain.contains(found.state)
    assert not constrained or constraint.excess(found.state) <= 0.0
    least = brute_force(part, limit, now, np.zeros(knobs))
    assert found.value <= least + 1e-3 * bound.width(found.state)


def test_constraints_that_hold_change_nothing() -> None:
    bound, constraint, now = constrained_problem(3, tt.bases.Quadratic(), 1)
    free = solve(bound, now)
    found = solve(bound, now, constraints=[Constraint(constraint.bound, 1e6)])
    assert np.array_equal(found.state, free.state)
    assert found.value == free.value


def test_only_free_knobs_move() -> None:
    bound, constraint, now = constrained_problem(3, tt.bases.Quadratic(), 2)
    found = solve(bound, now, free=np.array([0, 2]), constraints=[constraint])
    assert found.state[1] == now[1]
    assert constraint.excess(found.state) <= 0.0


def test_levels_are_kept() -> None:
    rng = np.random.default_rng(5)
    domain = tt.Box(levels={0: [0.0, 0.25, 0.5, 1.0]})
    problem = tt.Problem(tt.Graph.complete(2), basis=tt.bases.Quadratic(), domain=domain)
    bound, other = random_bound(rng, problem), random_bound(rng, problem)
    now = np.array([0.5, 0.5])
    limit = Constraint(other, 0.0).excess(now) + 0.01
    found = solve(bound, now, constraints=[Constraint(other, limit)])
    axes = np.array([0.0, 0.25, 0.5, 1.0]), np.linspace(0.0, 1.0, 4001)
    states = lattice(*axes)
    admissible = upper_at(other, states) <= limit
    least = bound_at(bound, states)[admissible].min()
    assert found.state[0] in axes[0]
    assert found.value <= least + 1e-3 * bound.width(found.state)


def test_a_present_state_that_is_not_admissible_is_left() -> None:
    bound, constraint, now = constrained_problem(2, tt.bases.Quadratic(), 3)
    breaking = solve(bound, now).state
    assert constraint.excess(breaking) > 0.0
    found = solve(bound, breaking, constraints=[constraint])
    assert constraint.excess(found.state) <= 0.0
    least = brute_force(bound, constraint, breaking, np.zeros(2))
    assert found.value <= least + 1e-3 * bound.width(found.state)


def test_nothing_admissible_is_an_error() -> None:
    bound, constraint, now = constrained_problem(2, tt.bases.Quadratic(), 0)
    with pytest.raises(SolverFailed, match="no admissible state"):
        solve(bound, now, constraints=[Constraint(constraint.bound, -1e6)])


def test_balls_are_refused() -> None:
    problem = tt.Problem(tt.Graph.complete(2), basis=tt.bases.Linear(), domain=tt.Balls([[0, 1]]))
    bound = Bound.of_parameters(problem, np.ones(4))
    with pytest.raises(InvalidInput, match="boxes"):
        solve(bound, np.zeros(2), constraints=[Constraint(bound, -9.0)])


def test_factors_of_another_size_are_refused() -> None:
    problem = tt.Problem(tt.Graph.complete(2), basis=tt.bases.Linear())
    with pytest.raises(InvalidInput, match="R has shape"):
        Bound(problem, np.zeros(3), 0.0)
    with pytest.raises(InvalidInput, match="radii"):
        Bound(problem, np.zeros(12), [-1.0, 0.0])
