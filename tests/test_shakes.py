"""Shakes: other radii for a while, where most knobs are inside their intervals."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import trimtab as tt
from tests.builders import random_posterior
from trimtab.arrays import Array
from trimtab.bases import Monomials
from trimtab.domain import BoundBox
from trimtab.lcb import LCB
from trimtab.solvers import Solution, solve
from trimtab.solvers.coordinate import Effort, descents, graded, settle, walk_for
from trimtab.solvers.part import Part
from trimtab.solvers.solve import FEW, INSIDE, SHAKES_PER_KNOB
from trimtab.solvers.walk import walk_of

K = 24


@cache
def played_long(seed: int) -> tuple[LCB, Array]:
    """What a policy on a ring knows after a million rounds, and the state it is in."""
    ring = tt.Graph.from_edges(K, [(j, (j + 1) % K) for j in range(K)])
    world = tt.worlds.quadratic(ring, seed=seed, basis=tt.bases.PairwiseQuadratic())
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    policy = tt.AsyncLazyGraphLinUCB(world.problem, start=np.full(K, 0.5), radius=radius)
    tt.play(policy, world, horizon=10**6, seed=seed)
    current = policy.ask()
    policy.place(np.where(current > 0.5, 0.0, 1.0))
    return policy.learner.lcb, current


def settled(lcb: LCB, current: Array, steps: int, seed: int = 0, price: float = 0.0) -> float:
    """G where a search from the present state ends that only shakes, for so many steps."""
    problem = lcb.problem
    assert isinstance(problem.domain, BoundBox)
    assert isinstance(problem.features, Monomials)
    knobs, criteria = next(iter(problem.graph.components()))
    part = Part(
        lcb=lcb, now=current, knobs=knobs.copy(), criteria=criteria.copy(), price=np.full(K, price)
    )
    walk = walk_for(part, problem.domain, problem.features)
    found = settle(part, walk, current, Effort(shakes=steps), seed)
    assert found.counts[0] >= steps
    assert (found.counts[1] > 0) == (steps > 0)
    assert found.values[0] == pytest.approx(part.value(part.put(found.states[0])), rel=1e-12)
    return float(found.values[0])


def was_shaken(found: Solution, n: int, effort: float = 1.0) -> bool:
    """Whether there were shakes of n knobs, and no more of them than the effort allows."""
    steps = effort * SHAKES_PER_KNOB * n
    counters = found.counters
    return counters.entries == 0 and counters.kicks > 0 and steps < counters.steps < steps + 60 * n


def inside(state: Array) -> float:
    return float(np.mean((state > 0.0) & (state < 1.0)))


def test_shakes_lead_below_the_minimum_that_a_descent_finds() -> None:
    """A shake is kept only if G falls; what remains is the difference of two last descents."""
    lower = 0
    for seed in range(6):
        lcb, current = played_long(seed)
        W = lcb.width(current)
        still, shaken = settled(lcb, current, 0), settled(lcb, current, 6000)
        assert shaken <= still + 1e-3 * W
        lower += shaken < still - 1e-4 * W
    assert lower >= 4


def test_another_seed_shakes_elsewhere() -> None:
    lcb, current = played_long(0)
    assert len({settled(lcb, current, 300, seed) for seed in range(8)}) > 1


def test_the_radii_are_the_true_ones_again() -> None:
    lcb, current = played_long(1)
    before = lcb.radii.tobytes()
    settled(lcb, current, 2000)
    assert lcb.radii.tobytes() == before
    domain, features = lcb.problem.domain, lcb.problem.features
    assert isinstance(domain, BoundBox)
    assert isinstance(features, Monomials)
    assert walk_of(lcb, domain, features).trail.share.tolist() == [1.0] * K


def test_a_minimum_inside_is_shaken_and_one_at_the_boundary_kicked() -> None:
    lcb, current = played_long(2)
    found = solve(lcb, current)
    assert inside(found.state) > INSIDE
    assert K >= FEW
    assert was_shaken(found, K)
    assert was_shaken(solve(lcb, current, effort=3.0), K, effort=3.0)
    wide = LCB(lcb.estimators, tt.estimators.as_radius(1e6, K))
    corner = solve(wide, current)
    assert inside(corner.state) < INSIDE
    assert not was_shaken(corner, K)
    assert corner.counters.kicks > 0  # by single knobs


def test_a_price_is_paid_for_shakes_too() -> None:
    lcb, current = played_long(3)
    now = np.clip(current + 0.1, 0.0, 1.0)
    price = np.linspace(0.0, 0.2, K)

    def cost(state: Array) -> float:
        return lcb.value(state) + float(price @ np.abs(state - now))

    found = solve(lcb, now, price=price, effort=4.0)
    assert found.counters.entries == 0  # it was shaken
    assert found.value == pytest.approx(cost(found.state), rel=1e-12)
    assert found.value < cost(now)
    stayed = found.state == now
    assert stayed[-4:].all()  # dear knobs are exactly where they were
    assert not stayed[:4].all()
    steps = np.random.default_rng(0).normal(scale=0.02, size=(2000, K))
    assert min(cost(np.clip(found.state + x, 0.0, 1.0)) for x in steps) >= found.value


@pytest.mark.parametrize("price", [0.01, 0.03])
def test_a_shake_is_kept_only_if_it_is_worth_its_price(price: float) -> None:
    for seed in range(6):
        lcb, current = played_long(seed)
        now = np.clip(current + 0.1, 0.0, 1.0)
        still, shaken = (settled(lcb, now, steps, price=price) for steps in (0, 6000))
        assert shaken <= still + 1e-3 * lcb.width(current)


def test_shakes_leave_knobs_alone_that_are_not_free() -> None:
    lcb, current = played_long(4)
    free = np.arange(K - 4)
    found = solve(lcb, current, free=free, effort=4.0)
    assert was_shaken(found, K - 4, effort=4.0)
    assert found.state[K - 4 :].tolist() == current[K - 4 :].tolist()
    assert found.value <= solve(lcb, current, free=free, effort=0.0).value + 1e-12


def test_radii_that_grow_from_nothing_lead_to_better_minima() -> None:
    """From the same states: more often below a descent with all of them than above it."""
    better = worse = 0
    for seed in range(6):
        lcb, current = played_long(seed)
        problem = lcb.problem
        assert isinstance(problem.domain, BoundBox)
        assert isinstance(problem.features, Monomials)
        knobs, criteria = (x.copy() for x in next(iter(problem.graph.components())))
        for now in (current, np.zeros(K), np.ones(K), np.full(K, 0.5)):
            part = Part(lcb=lcb, now=now, knobs=knobs, criteria=criteria, price=np.zeros(K))
            walk = walk_for(part, problem.domain, problem.features)
            at_once = descents(part, walk, now[None], Effort(), 0)
            by_grades = graded(part, walk, 0)
            margin = 1e-4 * lcb.width(current)
            better += bool(by_grades.values[0] < at_once.values[0] - margin)
            worse += bool(by_grades.values[0] > at_once.values[0] + margin)
    assert better > worse


def test_knobs_on_levels_are_not_inside() -> None:
    """A part of nearly only levels is kicked, although none of them is at an end."""
    rng = np.random.default_rng(0)
    ring = tt.Graph.from_edges(K, [(j, (j + 1) % K) for j in range(K)])
    levels = {j: [0.3, 0.5, 0.7] for j in range(K - 1)}
    domain = tt.Box(levels=levels)
    lcb = random_posterior(rng, ring, tt.bases.PairwiseQuadratic(), states=6, domain=domain)
    found = solve(lcb, np.full(K, 0.5))
    assert inside(found.state) > INSIDE
    assert not was_shaken(found, K)
