"""Moves that cost their Euclidean length, or a fixed price: against brute force on few knobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.builders import bound_at, lattice, played, random_graph, random_posterior
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.model.bases import Basis, Linear, PairwiseQuadratic, Polynomial, Quadratic
from trimtab.model.domain import BoundBox
from trimtab.model.toll import Toll
from trimtab.policies.lcb import LCB
from trimtab.solve import Constraint, solve

FINE = {1: 4001, 2: 161, 3: 41}
LEVELS = tt.Box(levels=[[0.0, 0.2, 0.55, 0.9], [0.1, 0.4, 0.7], [0.0, 0.5, 1.0]])


def random_lcb(seed: int, k: int, basis: Basis, domain: tt.Box | None = None) -> LCB:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, k, 3, widest=min(k, 2))
    if getattr(basis, "needs_centre", False):
        graph = tt.Graph.complete(k)
    return random_posterior(rng, graph, basis, domain=domain, data=played)


def brute_force(lcb: LCB, current: Array, toll: Toll) -> float:
    """The least F plus price over a fine grid, the current state and the levels included."""
    box, k = lcb.problem.domain, current.size
    axes = []
    for j in range(k):
        levels = box.levels_of(j) if isinstance(box, BoundBox) else np.empty(0)
        fine = np.linspace(0.0, 1.0, FINE[k])
        axes.append(levels if levels.size else np.unique(np.append(fine, current[j])))
    states = lattice(*axes)
    way = np.abs(states - current)
    length = way @ toll.per_knob
    if toll.norm == "l2":
        length = np.sqrt(((toll.per_knob * way) ** 2).sum(axis=1))
    return float((bound_at(lcb, states) + length + toll.switch * way.any(axis=1)).min())


BASES = [Linear(), PairwiseQuadratic(), Quadratic(), Polynomial(3)]
TOLLS = [("l2", 0.0), ("l1", 0.3), ("l2", 0.3), ("l1", 0.02)]


@pytest.mark.parametrize(("norm", "switch"), TOLLS)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_prices_equal_brute_force(basis: Basis, k: int, norm: Any, switch: float) -> None:
    moved = stayed = 0
    for seed in range(3):
        lcb, rng = random_lcb(seed, k, basis), np.random.default_rng(seed)
        current = lcb.problem.domain.sample(rng)
        toll = Toll(per_knob=rng.uniform(0.05, 1.5, k), norm=norm, switch=switch)
        found = solve(lcb, current, price=toll, effort=2.0, seed=seed)
        paid = lcb.value(found.state) + toll.of(current, found.state)
        assert found.value == pytest.approx(paid, abs=1e-9)
        assert found.value <= brute_force(lcb, current, toll) + 1e-6
        moved += not np.array_equal(found.state, current)
        stayed += np.array_equal(found.state, current)
    assert moved + stayed == 3


@pytest.mark.parametrize(("norm", "switch"), TOLLS)
def test_levels_equal_enumeration(norm: Any, switch: float) -> None:
    for seed in range(4):
        lcb, rng = random_lcb(seed, 3, Quadratic(), LEVELS), np.random.default_rng(seed)
        current = lcb.problem.domain.sample(rng)
        toll = Toll(per_knob=rng.uniform(0.05, 1.5, 3), norm=norm, switch=switch)
        found = solve(lcb, current, price=toll, effort=2.0, seed=seed)
        assert found.value == pytest.approx(brute_force(lcb, current, toll), abs=1e-9)
        assert lcb.problem.domain.contains(found.state)


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_base_cases_are_exact(basis: Basis) -> None:
    lcb = random_lcb(3, 3, basis)
    current = np.array([0.2, 0.7, 0.4])
    prices = np.array([0.4, 0.1, 0.8])
    plain = solve(lcb, current, price=prices)
    same = solve(lcb, current, price=Toll(per_knob=prices))
    assert (same.state.tolist(), same.value) == (plain.state.tolist(), plain.value)
    free = solve(lcb, current, price=Toll(per_knob=np.zeros(3)))
    assert free.state.tolist() == solve(lcb, current).state.tolist()
    # One knob that may move: the Euclidean length is its distance.
    one = solve(lcb, current, free=np.array([1]), price=Toll(per_knob=prices, norm="l2"))
    l1 = solve(lcb, current, free=np.array([1]), price=prices)
    assert (one.state.tolist(), one.value) == (l1.state.tolist(), l1.value)
    # A price of any move that is larger than all there is to gain: nothing moves.
    dear = solve(lcb, current, price=Toll(per_knob=prices, switch=1e6))
    assert dear.state.tolist() == current.tolist()
    assert dear.value == pytest.approx(lcb.value(current))


@pytest.mark.parametrize(("norm", "switch"), TOLLS)
def test_lower_bounds_hold(norm: Any, switch: float) -> None:
    proven = 0
    for seed in range(5):
        lcb, rng = random_lcb(seed, 2, Quadratic()), np.random.default_rng(seed)
        current = rng.random(2)
        toll = Toll(per_knob=rng.uniform(0.05, 1.0, 2), norm=norm, switch=switch)
        found = solve(lcb, current, price=toll, certify=0.01)
        if found.lower_bound is not None:
            proven += 1
            assert found.lower_bound <= brute_force(lcb, current, toll) + 1e-9
            assert found.lower_bound <= found.value + 1e-9
    assert proven >= 4


WAVES: list[Basis] = [tt.bases.FourierFeatures(6, lengthscale=0.6), tt.bases.PairwiseFourier(2)]


@pytest.mark.parametrize("leveled", [False, True], ids=["intervals", "levels"])
@pytest.mark.parametrize(("norm", "switch"), [("l2", 0.0), ("l2", 0.05), ("l1", 0.05)])
@pytest.mark.parametrize("basis", WAVES, ids=repr)
def test_prices_of_waves_equal_brute_force(
    basis: Basis, norm: Any, switch: float, leveled: bool
) -> None:
    domain = tt.Box(levels=[[0.0, 0.2, 0.55, 0.9], None]) if leveled else None
    for seed in range(2):
        lcb, rng = random_lcb(seed, 2, basis, domain), np.random.default_rng(seed)
        current = lcb.problem.domain.sample(rng)
        toll = Toll(per_knob=rng.uniform(0.05, 0.5, 2), norm=norm, switch=switch)
        found = solve(lcb, current, price=toll, effort=1.0, seed=seed)
        paid = lcb.value(found.state) + toll.of(current, found.state)
        assert found.value == pytest.approx(paid, abs=1e-9)
        assert found.value <= brute_force(lcb, current, toll) + 1e-5
        assert lcb.problem.domain.contains(found.state)


def discs(n: int) -> Array:
    """Points of n discs: polar grids of each, all combinations: (N, 2 n)."""
    radius, angle = np.linspace(0.0, 1.0, 9), np.linspace(0.0, 2.0 * np.pi, 72, endpoint=False)
    if n == 1:
        radius, angle = np.linspace(0.0, 1.0, 81), np.linspace(0.0, 2.0 * np.pi, 720)
    one = np.array([[r * np.cos(a), r * np.sin(a)] for r in radius for a in angle])
    if n == 1:
        return one
    return np.array([[*a, *b] for a in one[::2] for b in one[::2]])


@pytest.mark.parametrize(("norm", "switch"), [("l2", 0.0), ("l2", 0.1), ("l1", 0.1)])
@pytest.mark.parametrize("n", [1, 2])
def test_prices_on_balls_equal_brute_force(n: int, norm: Any, switch: float) -> None:
    blocks = [[2 * b, 2 * b + 1] for b in range(n)]
    graph = tt.Graph.from_scopes([*blocks, list(range(2 * n))], knobs=2 * n)
    moved = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        basis, domain = Linear(), tt.Balls(blocks)
        lcb = random_posterior(rng, graph, basis, domain=domain, data=played)
        current = lcb.problem.domain.sample(rng)
        toll = Toll(per_knob=rng.uniform(0.05, 0.6, 2 * n), norm=norm, switch=switch)
        found = solve(lcb, current, price=toll, effort=2.0, seed=seed)
        paid = lcb.value(found.state) + toll.of(current, found.state)
        assert found.value == pytest.approx(paid, abs=1e-9)
        assert lcb.problem.domain.contains(found.state)
        states = np.vstack((discs(n), current))
        way = states - current
        length = np.abs(way) @ toll.per_knob
        if norm == "l2":
            length = np.sqrt(((toll.per_knob * way) ** 2).sum(axis=1))
        brute = bound_at(lcb, states) + length + switch * way.any(axis=1)
        assert found.value <= float(brute.min()) + 1e-6
        moved += not np.array_equal(found.state, current)
    assert moved > 0


def test_one_knob_of_waves_and_no_price_are_the_base_cases_exactly() -> None:
    lcb = random_lcb(1, 2, WAVES[0])
    current, prices = np.array([0.2, 0.7]), np.array([0.4, 0.1])
    one = solve(lcb, current, free=np.array([1]), price=Toll(per_knob=prices, norm="l2"))
    l1 = solve(lcb, current, free=np.array([1]), price=prices)
    assert (one.state.tolist(), one.value) == (l1.state.tolist(), l1.value)
    same = solve(lcb, current, price=Toll(per_knob=prices))
    assert same.state.tolist() == solve(lcb, current, price=prices).state.tolist()


@pytest.mark.parametrize(("norm", "switch"), TOLLS)
def test_prices_with_constraints_equal_brute_force(norm: Any, switch: float) -> None:
    """Of the admissible states of a grid none is better, and staying is one only if admissible."""
    barred = 0
    for seed in range(4):
        lcb, rng = random_lcb(seed, 2, Quadratic()), np.random.default_rng(seed)
        other = random_lcb(seed + 10, 2, Quadratic())
        grid = lattice(*[np.linspace(0.0, 1.0, 61)] * 2)
        upper = np.array([sum(map(np.sum, other.terms(s))) for s in grid])
        limit = Constraint(other, float(np.quantile(upper, 0.4)))
        current = grid[int(np.argmax(upper))] if seed % 2 else grid[int(np.argmin(upper))]
        barred += limit.excess(current) > 0.0
        toll = Toll(per_knob=rng.uniform(0.05, 1.0, 2), norm=norm, switch=switch)
        found = solve(lcb, current, price=toll, constraints=[limit], effort=2.0, seed=seed)
        assert limit.excess(found.state) <= 1e-9
        way = grid - current
        length = np.abs(way) @ toll.per_knob
        if norm == "l2":
            length = np.sqrt(((toll.per_knob * way) ** 2).sum(axis=1))
        brute = (bound_at(lcb, grid) + length + switch * way.any(axis=1))[upper <= limit.limit]
        assert found.value <= float(brute.min()) + 1e-3
        paid = lcb.value(found.state) + toll.of(current, found.state)
        assert found.value == pytest.approx(paid, abs=1e-9)
    assert barred == 2


def test_what_is_refused() -> None:
    with pytest.raises(InvalidInput, match="move_norm = 'l3'; choose 'l1' or 'l2'"):
        tt.Problem(tt.Graph.complete(2), move_norm="l3")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="switch_cost = -1"):
        tt.Problem(tt.Graph.complete(2), switch_cost=-1.0)


RING = tt.Graph.from_edges(3, [(0, 1), (1, 2), (2, 0)])


def world_of(**prices: Any) -> tt.worlds.World:
    drawn = tt.worlds.quadratic(RING, seed=2)
    problem = tt.Problem(RING, basis=Quadratic(), **prices)
    theta = np.split(drawn.theta, problem.features.offsets[1:-1])
    return tt.worlds.World(problem, theta=theta, noise=tt.worlds.Gaussian(0.1))


def test_problems_differ_by_their_prices_and_old_ones_keep_their_name() -> None:
    plain = tt.Problem(RING, move_cost=2.0)
    assert plain.fingerprint() == tt.Problem(RING, move_cost=2.0, move_norm="l1").fingerprint()
    others = {
        tt.Problem(RING, move_cost=2.0, move_norm="l2").fingerprint(),
        tt.Problem(RING, move_cost=2.0, switch_cost=0.1).fingerprint(),
        plain.fingerprint(),
    }
    assert len(others) == 3


@pytest.mark.parametrize("learned", [True, False], ids=["prior", "radius"])
@pytest.mark.parametrize(
    "prices",
    [
        {"move_cost": 3.0, "switch_cost": 1.0},
        {"move_cost": 3.0, "move_norm": "l2"},
        {"move_cost": [3.0, 1.0, 0.2], "move_norm": "l2", "switch_cost": 0.5},
    ],
    ids=["switch", "l2", "both"],
)
def test_steady_pays_what_its_records_and_the_trace_say(prices: Any, learned: bool) -> None:
    world = world_of(**prices)
    known: dict[str, Any] = {} if learned else {"radius": 0.5}
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 3, **known)
    trace = tt.play(policy, world, horizon=400, seed=1, path="rounds")
    toll, before, paid = world.problem.toll, trace.start, 0.0
    for state in trace.states:
        paid += toll.of(before, state)
        before = state
    assert trace.move_cost == pytest.approx(paid)
    moves = [record for record in trace.records if not record.held]
    assert len(moves) >= 1
    assert sum(record.price for record in moves) == pytest.approx(paid)
    last = toll.of(trace.states[-2], trace.states[-1]) if trace.lengths[-1] == 0 else 0.0
    assert trace.total_regret_at([400])[0] == pytest.approx(trace.regret + paid - last)
    again = tt.restore(world.problem, policy.snapshot())
    np.testing.assert_array_equal(again.ask(), policy.ask())


def test_no_state_is_better_than_the_one_steady_takes_price_included() -> None:
    """At every look the move is the best over its rounds, by brute force over a grid."""
    world = world_of(move_cost=2.0, move_norm="l2", switch_cost=0.5)
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 3, radius=0.5)
    grid, rng, looks = lattice(*[np.linspace(0.0, 1.0, 21)] * 3), np.random.default_rng(0), 0
    for t in range(300):
        before = policy.ask()
        told = policy.tell(world.draw(before, rng, t))
        if told.record is None:
            continue
        looks += 1
        rounds, lcb, toll = told.record.rounds, policy.learner.lcb, world.problem.toll
        mine = lcb.value(policy.ask()) + toll.of(before, policy.ask()) / rounds
        prices = np.sqrt(((2.0 * (grid - before)) ** 2).sum(axis=1)) + 0.5 * (
            (grid != before).any(axis=1)
        )
        assert mine <= float((bound_at(lcb, grid) + prices / rounds).min()) + 1e-3
        assert mine <= lcb.value(before) + 1e-9
    assert looks > 5


def test_a_fixed_price_makes_moves_rarer_and_longer() -> None:
    traces = []
    for switch in (0.0, 5.0):
        world = world_of(move_cost=0.1, switch_cost=switch)
        policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 3)
        traces.append(tt.play(policy, world, horizon=1000, seed=1))
    assert 1 <= traces[1].moves < traces[0].moves
    longest = [trace.movement / trace.moves for trace in traces]
    assert longest[1] > longest[0]


def test_no_price_per_switch_and_l1_is_the_policy_as_it_was() -> None:
    a, b = world_of(move_cost=3.0), world_of(move_cost=3.0, move_norm="l1", switch_cost=0.0)
    runs = [
        tt.play(tt.SteadyGraphLinUCB(w.problem, start=[0.5] * 3), w, horizon=300, seed=1)
        for w in (a, b)
    ]
    np.testing.assert_array_equal(runs[0].states, runs[1].states)
    assert runs[0].move_cost == runs[1].move_cost
