"""Shakes: all knobs around one a little elsewhere, where most are inside their intervals."""

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
from trimtab.solvers.coordinate import Effort, Minima, descents, settle, shaken, walk_for
from trimtab.solvers.part import Part
from trimtab.solvers.solve import FEW, INSIDE, SHAKES_PER_KNOB
from trimtab.solvers.walk import Walk

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


def whole(lcb: LCB, now: Array, price: float = 0.0) -> tuple[Part, Walk]:
    """All knobs as one part, and what its searches take."""
    problem = lcb.problem
    assert isinstance(problem.domain, BoundBox)
    assert isinstance(problem.features, Monomials)
    knobs, criteria = (x.copy() for x in next(iter(problem.graph.components())))
    part = Part(lcb=lcb, now=now, knobs=knobs, criteria=criteria, price=np.full(K, price))
    return part, walk_for(part, problem.domain, problem.features)


def settled(lcb: LCB, current: Array, steps: int, seed: int = 0, price: float = 0.0) -> float:
    """G where a search from the present state ends that only shakes, for so many steps."""
    part, walk = whole(lcb, current, price)
    found = settle(part, walk, current, Effort(shakes=steps), seed)
    assert found.counts[0] >= steps
    assert (found.counts[1] > 0) == (steps > 0)
    assert found.values[0] == pytest.approx(part.value(part.put(found.states[0])), rel=1e-12)
    return float(found.values[0])


def was_shaken(found: Solution, n: int, effort: float = 1.0) -> bool:
    """Whether there were shakes of n knobs, and no more of them than the effort allows."""
    steps = effort * SHAKES_PER_KNOB * n
    counters, starting = found.counters, 60 * n * max(effort, 1.0)
    shaken = counters.entries == 0 and counters.kicks > 0
    return shaken and steps < counters.steps < steps + starting


def inside(state: Array) -> float:
    return float(np.mean((state > 0.0) & (state < 1.0)))


def test_shakes_lead_from_the_minimum_that_a_descent_finds_to_the_best_known() -> None:
    """Unless that is the best known itself, as in three of eight cases."""
    lower = 0
    for seed in range(8):
        lcb, current = played_long(seed)
        W = lcb.width(current)
        still, shaken = settled(lcb, current, 0), settled(lcb, current, 6000)
        best = solve(lcb, current, effort=20.0, seed=1).value
        assert shaken == pytest.approx(best, rel=0, abs=1e-4 * W)
        lower += shaken < still - 1e-3 * W
    assert lower >= 4


def test_another_seed_shakes_elsewhere() -> None:
    lcb, current = played_long(0)
    assert len({settled(lcb, current, 300, seed) for seed in range(8)}) > 1


def shaken_from(lcb: LCB, now: Array, starts: int, steps: int) -> Minima:
    part, walk = whole(lcb, now)
    first = descents(part, walk, now[None], Effort(), 0)
    return shaken(part, walk, first, starts, steps, 0)


def test_shakes_from_several_starts() -> None:
    """Each has its share of the steps, and most digits of its value; together they get lower."""
    alone = together = 0.0
    for seed in range(6):
        lcb, current = played_long(seed)
        one, many = (shaken_from(lcb, current, starts, 3000) for starts in (1, 4))
        assert one.states.shape == (1, K)
        assert many.states.shape == (4, K)
        assert np.unique(many.states, axis=0).shape == (4, K)
        assert 3000 <= many.counts[0] <= 3000 + 4 * 60 * K
        W = lcb.width(current)
        for state, value in zip(many.states, many.values, strict=True):
            assert value == pytest.approx(lcb.value(state), rel=1e-9, abs=1e-12)
            assert solve(lcb, state, effort=0.0).value > value - 1e-3 * W
        alone += one.values[0] / W
        together += many.values.min() / W
    assert together < alone


def test_the_first_start_is_the_present_state() -> None:
    """Near a state that is better than what most starts lead to, that is found again."""
    rng = np.random.default_rng(0)
    for seed in range(6):
        lcb, current = played_long(seed)
        best = solve(lcb, current, effort=20.0)
        near = np.clip(best.state + rng.normal(scale=1e-3, size=K), 0.0, 1.0)
        again = solve(lcb, near, effort=0.1)
        assert inside(again.state) > INSIDE
        assert again.value <= best.value + 1e-9 * abs(best.value)


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


def test_shaken_knobs_on_levels_stay_on_levels() -> None:
    rng = np.random.default_rng(1)
    ring = tt.Graph.from_edges(K, [(j, (j + 1) % K) for j in range(K)])
    domain = tt.Box(levels={j: [0.1, 0.4, 0.6, 0.9] for j in range(4)})
    lcb = random_posterior(rng, ring, tt.bases.PairwiseQuadratic(), states=6, domain=domain)
    now = np.full(K, 0.4)
    ends = shaken_from(lcb, now, 100, 20_000)
    assert np.isin(ends.states[:, :4], [0.1, 0.4, 0.6, 0.9]).all()
