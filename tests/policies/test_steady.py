"""Steady: a move must be worth its price, and the total cost stays within Theorem 1'.

Levels, and linear features, make every solve exact here, so that what the policy chose is
compared with every other choice it had.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import trimtab as tt
from tests.builders import lattice, terms_at
from trimtab import theory
from trimtab.arrays import Array, ArrayLike, Ints
from trimtab.policies import Told
from trimtab.policies.base import Cause
from trimtab.sim.worlds import Noise, World

SIGMA = 0.1
PATH = tt.Graph.from_edges(3, [(0, 1), (1, 2)])
RING = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
ROUNDS = 1200


# Worlds that are solved exactly, with all the states there are to choose from.


def on_levels(
    seed: int,
    *,
    move_cost: ArrayLike = 0.0,
    noise: Noise | None = None,
    missing: float = 0.0,
    scale: float = 1.0,
) -> tuple[World, Array]:
    """A quadratic world on five levels a knob, and its 125 states."""
    levels = np.linspace(0.0, 1.0, 5)
    problem = tt.Problem(
        PATH,
        basis=tt.bases.Quadratic(),
        domain=tt.Box(levels=[levels] * 3),
        weights=[1.0, 0.6, 1.7],
        move_cost=scale * np.asarray(move_cost),
    )
    theta = scale * tt.worlds.quadratic(PATH, seed=seed).theta
    world = World(
        problem,
        theta=np.split(theta, problem.features.offsets[1:-1]),
        noise=noise or tt.worlds.Gaussian(scale * SIGMA),
        missing=missing,
    )
    return world, lattice(levels, levels, levels)


def linear(
    seed: int,
    *,
    move_cost: ArrayLike = 0.0,
    noise: Noise | None = None,
    missing: float = 0.0,
) -> tuple[World, Array]:
    """A linear world, the vertices and start values that are minimisers, and other states."""
    world = tt.worlds.linear(
        RING, seed=seed, intercept=True, move_cost=move_cost, noise=noise, missing=missing
    )
    values = np.array([0.0, 0.5, 1.0])
    others = np.random.default_rng(seed).uniform(size=(100, 4))
    return world, np.concatenate((lattice(values, values, values, values), others))


WORLDS = {"levels": on_levels, "linear": linear}
exact = pytest.mark.parametrize("make", WORLDS.values(), ids=WORLDS)


@dataclass(frozen=True)
class Look:
    """What could be known at a look, from the factors by plain numpy."""

    record: tt.Record
    before: Array
    after: Array
    states: Array  # (S, k) what might have been chosen
    F: Array  # (S,) without the price of moving
    W: Array  # (S,)
    w: Array  # (S,) the largest phi' V^-1 phi of any criterion
    logdet: float  # of all V together

    def at(self, state: Array) -> int:
        return int(np.flatnonzero((self.states == state).all(axis=1))[0])

    def tolls(self, price: Array) -> Array:
        """What moving to each state costs: (S,)."""
        return np.asarray(np.abs(self.states - self.before) @ price)


class Watched(tt.SteadyGraphLinUCB):
    """A Steady that notes every look, the cold start's included."""

    def __init__(self, problem: tt.Problem, states: Array, **options: Any) -> None:
        self.looks: list[Look] = []
        self.states = states
        self.phi = np.array([problem.phi(s) for s in states])
        super().__init__(problem, **options)

    def _look(self, cause: Cause, criteria: Ints) -> Told:
        before = self.ask()
        told = super()._look(cause, criteria)
        assert told.record is not None
        lcb, offsets = self.learner.lcb, self.problem.features.offsets
        means, widths = terms_at(lcb, lambda i: self.phi[:, offsets[i] : offsets[i + 1]].T)
        W = lcb.radii @ widths
        w = ((widths / self.problem.weights[:, None]) ** 2).max(axis=0)
        F = means.sum(axis=0) - W
        logdet = sum(
            float(np.linalg.slogdet(lcb.estimators.V(i))[1]) for i in range(self.problem.criteria)
        )
        self.looks.append(Look(told.record, before, self.ask(), self.states, F, W, w, logdet))
        return told


def confidence(world: World, scale: float = 1.0) -> tt.Confidence:
    return tt.Confidence(sigma=scale * SIGMA, norm=world.norms, delta=0.05)


def watch(
    world: World,
    states: Array,
    *,
    horizon: int = ROUNDS,
    seed: int = 0,
    path: Literal["rounds", "events"] = "rounds",
    **options: Any,
) -> tuple[Watched, tt.Trace]:
    middle = np.full(world.problem.knobs, 0.5)
    options = {"start": middle, "radius": confidence(world), "reg": 0.3} | options
    policy = Watched(world.problem, states, **options)
    trace = tt.play(policy, world, horizon=horizon, seed=seed, path=path)
    return policy, trace


def epochs(policy: Watched) -> list[tuple[Look, int]]:
    """Every look, and the rounds until the next one or the end."""
    clocks = [look.record.round for look in policy.looks] + [policy.rounds]
    return [
        (look, last - first)
        for look, (first, last) in zip(policy.looks, pairwise(clocks), strict=True)
    ]


def whole_price(problem: tt.Problem) -> float:
    """lambda D1: the price of moving every knob across its range."""
    return float(problem.move_cost @ (problem.domain.high - problem.domain.low))


# Rule B.


@exact
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("move_cost", [0.0, 0.3, 5.0, 60.0])
@pytest.mark.parametrize("cold_start", ["solve", "keep"])
def test_no_state_is_better_than_the_one_deployed_over_its_epoch_price_included(
    make: Any, missing: float, move_cost: float, cold_start: str
) -> None:
    """n (F(s_j) - F(s)) + lambda |s_j - s'| <= q lambda |s - s'| + (1 - q) lambda |s_j - s'|."""
    prices = move_cost * np.linspace(0.5, 1.5, 4 if make is linear else 3)
    world, states = make(3, move_cost=prices, missing=missing)
    lam, D1 = world.problem.move_cost, whole_price(world.problem)
    policy, _ = watch(world, states, cold_start=cold_start, alarm=False)
    early = held = moved = 0
    for look, n in epochs(policy):
        rounds = look.record.rounds
        assert 0 <= n <= rounds  # 0 only where the run ends with a look
        q = n / rounds
        here, toll = look.at(look.after), look.tolls(lam)
        left = n * (look.F[here] - look.F) + toll[here]
        right = q * toll + (1.0 - q) * toll[here]
        slack = 1e-8 * max(n, 1) * np.abs(look.F).max()  # values this close count as tied
        assert (left <= right + slack).all()
        assert (right <= D1 + 1e-9).all()
        early += 0 < n < rounds
        held += look.record.held and look.record.gain > 0.0
        moved += not look.record.held
    assert len(policy.looks) >= 10
    assert moved >= 1
    assert held >= 3 or move_cost < 60.0
    assert early >= 1 or not move_cost


@exact
@pytest.mark.parametrize("period", [None, 7])
@pytest.mark.parametrize("alarm", [False, True])
def test_an_epoch_ends_in_time_though_nothing_is_observed(
    make: Any, period: int | None, alarm: bool
) -> None:
    world, states = make(1, move_cost=2.0)
    policy = Watched(
        world.problem,
        states,
        start=np.full(world.problem.knobs, 0.5),
        radius=confidence(world),
        period=period,
        alarm=alarm,
    )
    rng = np.random.default_rng(0)
    for t in range(200):
        losses = world.draw(policy.ask(), rng)
        policy.tell(np.full(losses.size, np.nan) if t >= 20 else losses)
    lengths = [n for _, n in epochs(policy)]
    assert all(n <= look.record.rounds for look, n in epochs(policy))
    silent = [n for look, n in epochs(policy) if look.record.round >= 20]
    assert len(silent) >= 3
    assert max(lengths) <= (64 if period is None else 7)


@exact
def test_an_epoch_must_pay_over_no_fewer_rounds_than_it_may_last(make: Any) -> None:
    """n_hat is at least n*(s') and n*(s), up to the review, and grows where the first is short."""
    world, states = make(5, move_cost=3.0)
    policy, _ = watch(world, states, alarm=False)
    C = policy.learner.estimators.factor
    grown = 0
    for look, _ in epochs(policy):
        limit, rounds = max(look.record.round, 1), look.record.rounds
        before, after = (
            min(np.floor((C * np.exp(1e-12) - 1.0) / look.w[look.at(s)]) + 1.0, limit)
            for s in (look.before, look.after)
        )
        assert max(before, after) <= rounds <= limit
        assert look.record.next_review == min(after, limit)
        grown += rounds > before
    assert grown >= 1


# Theorem 1' with the price of movement.


def holds(policy: Watched, world: World) -> bool:
    """Whether all ellipsoids hold at the end."""
    learner, offsets = policy.learner, world.problem.features.offsets
    learner.absorb(world.problem.all_criteria)
    inside = []
    for i in range(world.problem.criteria):
        miss = learner.estimators.theta(i) - world.theta[offsets[i] : offsets[i + 1]]
        inside.append(miss @ learner.estimators.V(i) @ miss <= learner.lcb.radii[i] ** 2)
    return all(inside)


@exact
@pytest.mark.parametrize("rho", [0.0, 1.0])
@pytest.mark.parametrize("move_cost", [0.5, 20.0])
def test_theorem_1_prime_bounds_regret_and_movement_together(
    make: Any, rho: float, move_cost: float
) -> None:
    """Two seeds a case; each good event has probability at least 0.95, and it is checked."""
    for seed in range(2):
        world, states = make(seed, move_cost=move_cost)
        T, problem = 20_000, world.problem
        policy, trace = watch(
            world,
            states,
            horizon=T,
            seed=seed,
            path="events",
            rho=rho,
            cold_start="solve",
            alarm=False,
        )
        D1 = whole_price(problem)
        total = trace.regret + trace.move_cost
        widths = sum(n * float(look.W[look.at(look.after)]) for look, n in epochs(policy))
        M = trace.solves
        assert len(policy.looks) == M + 1 >= 15
        assert holds(policy, world)
        learner = policy.learner
        two_widths = theory.prediction_regret(
            learner.lcb.radii,
            learner.estimators.stats.gain,
            T,
            reg=0.3,
            bound=problem.features.bounds,
            factor=learner.estimators.factor,
            weights=problem.weights,
        )
        assert 2.0 * widths <= two_widths
        assert 0.0 < total <= (2.0 + rho) * widths + D1 * (M + 1)
        assert total <= (1.0 + rho / 2.0) * two_widths + D1 * (M + 1)


# Rule A: the ladder.


@exact
@pytest.mark.parametrize("rho", [0.0, 0.2, 1.0])
def test_the_state_taken_is_within_rho_widths_of_the_best(make: Any, rho: float) -> None:
    world, states = make(2, move_cost=1.0)
    policy, _ = watch(world, states, rho=rho, alarm=False)
    second_best = 0
    for look, _ in epochs(policy):
        here = look.at(look.after)
        G = look.F + look.tolls(world.problem.move_cost) / look.record.rounds
        excess = float(G[here] - G.min())
        assert excess <= rho * look.W[here] + 1e-8 * np.abs(G).max()
        second_best += excess > 1e-6 * np.abs(G).max()
        # The first rung that will do is taken, so one moves only where staying will not do.
        stay = look.at(look.before)
        if not look.record.held and rho:
            assert G[stay] - G.min() > rho * look.W[stay] - 1e-8 * np.abs(G).max()
    assert len(policy.looks) >= 10
    assert (second_best >= 3) == (rho > 0.0)


@exact
def test_a_larger_rho_holds_more(make: Any) -> None:
    movement, held = [], []
    for rho in (0.0, 0.5, 1e6):
        world, states = make(4, move_cost=0.5)
        policy, trace = watch(world, states, rho=rho, cold_start="keep", alarm=False)
        movement.append(trace.movement)
        held.append(np.mean([look.record.held for look in policy.looks]))
    assert movement[0] > movement[1] > movement[2] == 0.0
    assert held[0] < held[1] < held[2] == 1.0


def test_a_rung_moves_only_what_the_triggering_criteria_read() -> None:
    """Six knobs in a row, on three levels: some moves stay within reach of the trigger."""
    line = tt.Graph.from_edges(6, [(j, j + 1) for j in range(5)])
    problem = tt.Problem(
        line,
        basis=tt.bases.Quadratic(),
        domain=tt.Box(levels=[(0.0, 0.5, 1.0)] * 6),
        move_cost=0.05,
    )
    theta = tt.worlds.quadratic(line, seed=4).theta
    world = World(
        problem,
        theta=np.split(theta, problem.features.offsets[1:-1]),
        noise=tt.worlds.Gaussian(SIGMA),
    )
    policy = tt.SteadyGraphLinUCB(
        problem,
        start=np.full(6, 0.5),
        radius=confidence(world),
        reg=np.array([3.0, 3.0, 3.0, 3.0, 3.0, 0.05]),  # the last criterion triggers most
        rho=0.3,
        alarm=False,
    )
    trace = tt.play(policy, world, horizon=5000)
    near = 0
    for record in trace.records:
        if record.criteria.size and not record.held:
            reach = line.reach(line.reach(record.criteria)[1])[0]
            near += set(record.knobs.tolist()) <= set(reach.tolist()) and reach.size < 6
    assert near >= 1


# What is proven.


def test_a_certificate_needs_every_gap_proven_and_a_valid_radius() -> None:
    """Levels are solved exactly; elsewhere the proof must be asked for."""
    leveled, states = on_levels(1, move_cost=1.0)
    policy, trace = watch(leveled, states, alarm=False)
    assert policy.certificate.certified
    assert all(record.certified for record in trace.records)
    fixed, trace = watch(leveled, states, radius=1.0)
    assert not fixed.certificate.certified
    assert not any(record.certified for record in trace.records)

    world = tt.worlds.quadratic(tt.Graph.complete(2), seed=1, move_cost=1.0)
    proven = tt.SteadyGraphLinUCB(
        world.problem, start=[0.5, 0.5], radius=confidence(world), certify=0.5
    )
    trace = tt.play(proven, world, horizon=300)
    assert len(trace.records) >= 10
    assert all(record.certified for record in trace.records)
    assert proven.certificate.certified
    assert 0.0 < trace.regret <= proven.certificate.bound

    found = tt.SteadyGraphLinUCB(
        world.problem, start=[0.5, 0.5], radius=confidence(world), factor=1.1
    )
    assert found.certificate.certified  # nothing was played yet
    told = found.tell([0.1, 0.1])
    assert told.record is not None
    assert not told.record.certified
    assert found.certificate.certified  # before any data the bound is known
    found.tell([0.1, 0.1])
    assert not found.certificate.certified


def test_one_look_without_a_proof_ends_the_certificate() -> None:
    world = tt.worlds.quadratic(tt.Graph.complete(2), seed=1, move_cost=1.0)
    policy = tt.SteadyGraphLinUCB(
        world.problem, start=[0.5, 0.5], radius=confidence(world), certify=0.5, alarm=False
    )
    tt.play(policy, world, horizon=200)
    assert policy.certificate.certified
    policy.certify = np.inf
    rng = np.random.default_rng(1)
    while (told := policy.tell(world.draw(policy.ask(), rng))).record is None:
        pass
    assert not told.record.certified
    policy.certify = 0.5
    while (told := policy.tell(world.draw(policy.ask(), rng))).record is None:
        pass
    assert told.record.certified
    assert not policy.certificate.certified


@exact
@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_the_certificate_is_the_sum_of_two_widths_and_the_gap(make: Any, rho: float) -> None:
    world, states = make(2, move_cost=2.0)
    policy, trace = watch(world, states, rho=rho, alarm=False, path="events", horizon=5000)
    known = 0.0
    for look, n in epochs(policy):
        here = look.at(look.after)
        assert look.record.gap == pytest.approx(look.F[here] - look.F.min(), abs=1e-8)
        known += n * float(2.0 * look.W[here] + look.F[here] - look.F.min())
    first = policy.looks[0].record.round
    before = policy.certificate.bound - known  # of the rounds before the first look
    start = Watched(
        world.problem,
        states,
        start=np.full(world.problem.knobs, 0.5),
        radius=confidence(world),
        reg=0.3,
    )
    assert before == pytest.approx(first * start.learner.bound_per_round, rel=1e-6)
    assert 0.0 < trace.regret <= policy.certificate.bound


# What is chosen where nothing is said.


@pytest.mark.parametrize("price", [0.0, 1e6])
@pytest.mark.parametrize(
    "told", [{}, {"radius": 1.0}, {"radius": tt.Confidence(sigma=0.1, norm=1.0)}]
)
def test_the_factor_is_2_whatever_is_known(price: float, told: Any) -> None:
    problem = tt.Problem(PATH, basis=tt.bases.Quadratic(), move_cost=price)
    assert tt.SteadyGraphLinUCB(problem, start=[0.5] * 3, **told).learner.estimators.factor == 2.0


@pytest.mark.parametrize("scale", [2.0**10, 2.0**-20])
def test_the_unit_of_the_losses_does_not_matter(scale: float) -> None:
    """Losses, sigma, norm and move_cost times a power of two: the same run to the bit."""
    traces = []
    for unit in (1.0, scale):
        world, _ = on_levels(2, move_cost=[0.5, 1.0, 4.0], scale=unit)
        policy = tt.SteadyGraphLinUCB(
            world.problem, start=[0.5] * 3, radius=confidence(world, unit), rho=0.1
        )
        traces.append(tt.play(policy, world, horizon=3000, seed=5))
    one, other = traces
    assert one.moves >= 3
    np.testing.assert_array_equal(one.ends, other.ends)
    np.testing.assert_array_equal(one.states, other.states)
    assert other.move_cost == scale * one.move_cost
    for left, right in zip(one.records, other.records, strict=True):
        assert (right.gain, right.price) == (scale * left.gain, scale * left.price)
        assert right.information == left.information


BASES: dict[str, tuple[tt.bases.Basis, bool]] = {
    "quadratic": (tt.bases.Quadratic(), True),
    "pairwise": (tt.bases.PairwiseQuadratic(), True),
    "polynomial": (tt.bases.Polynomial(degree=2), True),
    "intercept": (tt.bases.Linear(intercept=True), True),
    "linear": (tt.bases.Linear(), False),
}


@pytest.mark.parametrize("name", BASES)
def test_the_start_state_is_kept_where_it_teaches_something(name: str) -> None:
    """Linear features without a constant vanish at 0, which would teach nothing for ever."""
    basis, keeps = BASES[name]
    problem = tt.Problem(PATH, basis=basis)
    start = np.zeros(3)
    policy = tt.SteadyGraphLinUCB(problem, start=start, radius=1.0)
    assert np.array_equal(policy.ask(), start) == keeps
    kept = tt.SteadyGraphLinUCB(problem, start=start, radius=1.0, cold_start="keep")
    assert np.array_equal(kept.ask(), start)
    solved = tt.SteadyGraphLinUCB(problem, start=start, radius=1.0, cold_start="solve")
    assert not np.array_equal(solved.ask(), start)
    with pytest.raises(tt.InvalidInput, match="cold_start"):
        tt.SteadyGraphLinUCB(problem, start=start, radius=1.0, cold_start="warm")  # type: ignore[arg-type]


# Where movement costs nothing, or everything.


def free_to_move(make: Any, *, review: bool, reg: float) -> list[tt.Trace]:
    """Steady with nothing to weigh, and Algorithm 1, told the same losses."""
    world, _ = make(6)
    noise = SIGMA * np.random.default_rng(9).normal(size=(ROUNDS, world.problem.criteria))
    world, _ = make(6, noise=tt.worlds.Recorded(noise))
    options: dict[str, Any] = {
        "start": np.full(world.problem.knobs, 0.5),
        "radius": confidence(world),
        "reg": reg,
        "factor": 2.0,
        "cold_start": "keep",
        "review": review,
    }
    steady = tt.SteadyGraphLinUCB(world.problem, alarm=False, **options)
    lazy = tt.LazyGraphLinUCB(world.problem, **options)
    return [tt.play(policy, world, horizon=ROUNDS, path="rounds") for policy in (steady, lazy)]


@exact
@pytest.mark.parametrize("reg", [0.3, 3.0])
def test_where_movement_is_free_it_is_algorithm_1(make: Any, reg: float) -> None:
    steady, lazy = free_to_move(make, review=False, reg=reg)
    np.testing.assert_array_equal(steady.ends, lazy.ends)
    np.testing.assert_array_equal(steady.states, lazy.states)
    assert steady.solves == lazy.solves
    assert lazy.moves >= 5


@exact
def test_where_movement_is_free_it_is_algorithm_1_with_its_review(make: Any) -> None:
    steady, lazy = free_to_move(make, review=True, reg=3.0)
    np.testing.assert_array_equal(steady.ends, lazy.ends)
    np.testing.assert_array_equal(steady.states, lazy.states)
    assert steady.solves == lazy.solves


@exact
def test_a_move_that_costs_too_much_is_not_made_and_the_record_says_so(make: Any) -> None:
    world, states = make(3, move_cost=1e6)
    policy, trace = watch(world, states, horizon=500, cold_start="keep")
    assert trace.movement == 0.0
    assert len(trace.records) >= 5
    for record in trace.records:
        assert record.held
        assert record.knobs.size == record.before.size == record.after.size == 0
        assert record.gain * record.rounds < record.price
    wanted = [record for record in trace.records if record.gain > 0.0]
    assert len(wanted) >= 5
    assert all(record.price > 0.0 for record in wanted)
    assert policy.rounds == 500


@exact
def test_an_expensive_knob_stays_while_cheap_ones_move(make: Any) -> None:
    k = 3 + (make is linear)
    free, _ = make(3)
    start = 1.0 - np.round(free.optimum.state)  # every knob has a reason to move
    price = np.full(k, 0.01)
    price[1] = 1e6
    world, _ = make(3, move_cost=price)
    policy = tt.SteadyGraphLinUCB(
        world.problem, start=start, radius=confidence(world), cold_start="keep"
    )
    trace = tt.play(policy, world, horizon=3000)
    assert (trace.states[:, 1] == start[1]).all()
    assert {0, 2} <= set(trace.changed.tolist())
    assert all(1 not in record.knobs for record in trace.records)


# Every look explains itself.


@exact
@pytest.mark.parametrize("rho", [0.0, 0.5])
@pytest.mark.parametrize("move_cost", [0.2, 20.0])
def test_a_record_says_what_was_learned_gained_and_paid(
    make: Any, rho: float, move_cost: float
) -> None:
    world, states = make(7, move_cost=move_cost)
    lam, problem = world.problem.move_cost, world.problem
    policy, trace = watch(world, states, rho=rho, cold_start="keep", alarm=False, period=15)
    assert trace.records == tuple(look.record for look in policy.looks)
    logdet = float(problem.dims.sum() * np.log(0.3))
    kinds = set()
    for look, n in epochs(policy):
        record = look.record
        assert record.information == pytest.approx(look.logdet - logdet, rel=1e-6, abs=1e-9)
        assert record.information > 0.0
        logdet = look.logdet
        knobs = np.flatnonzero(look.before != look.after)
        np.testing.assert_array_equal(record.knobs, knobs)
        np.testing.assert_array_equal(record.before, look.before[knobs])
        np.testing.assert_array_equal(record.after, look.after[knobs])
        assert record.held == (knobs.size == 0)
        stay, best = look.at(look.before), int(np.argmin(look.F))
        reached = best if record.held else look.at(look.after)
        gain = float(look.F[stay] - look.F[reached])
        assert record.gain == pytest.approx(gain, rel=1e-6, abs=1e-9)
        tied = look.F - look.F[reached] <= 1e-9 * abs(look.F[reached])
        prices = look.tolls(lam)[tied if record.held else [reached]]
        assert np.isclose(prices, record.price, rtol=1e-12).any()
        if policy.rounds - record.round > n:
            assert record.next_review == n
        assert record.cause in ("trigger", "review")
        assert (record.cause == "trigger") == (record.criteria.size > 0)
        kinds.add((record.cause, record.held))
    assert {cause for cause, _ in kinds} == {"trigger", "review"}
    assert {held for _, held in kinds} == {True, False}


def test_the_first_look_with_everything_observed_comes_when_it_was_said() -> None:
    """`Told.next_review` counts down to the look, alarm checks notwithstanding."""
    world, states = on_levels(7, move_cost=2.0)
    policy = Watched(world.problem, states, start=[0.5] * 3, radius=confidence(world))
    rng = np.random.default_rng(4)
    left = policy.next_look()
    for _ in range(300):
        told = policy.tell(world.draw(policy.ask(), rng))
        assert (told.record is not None) == (left == 1)
        left = told.next_review
        assert left >= 1
    assert policy.snapshot()["_checks"] >= 50
    assert sum(look.record.cause == "alarm" for look in policy.looks) == 0


def test_a_record_reads_as_one_line() -> None:
    move = tt.Record(
        round=1234,
        cause="trigger",
        criteria=np.array([2, 5]),
        cut=np.empty(0, int),
        information=3.456,
        gain=0.0234,
        expected=0.0123,
        rounds=1200,
        price=7.5,
        gap=0.0125,
        certified=True,
        knobs=np.array([1, 3]),
        before=np.array([0.5, 0.25]),
        after=np.array([0.75, 0.0]),
        next_review=1100,
    )
    assert str(move) == (
        "round 1,234, trigger of objective 2, 5, 3.46 nats learned: move knob 1 0.5 -> 0.75, "
        "knob 3 0.25 -> 0: it gains 0.0123 a round, 14.8 over 1,200 rounds, and costs 7.5; "
        "at most 0.0125 a round is left; next look in 1,100"
    )
    nothing: Any = {"knobs": np.empty(0, int), "before": np.empty(0), "after": np.empty(0)}
    hold = replace(move, cause="review", criteria=np.empty(0, int), certified=False, **nothing)
    assert str(hold) == (
        "round 1,234, review, 3.46 nats learned: hold: the best move is worth "
        "0.0234 a round, 28.1 over 1,200 rounds, and costs 7.5; "
        "at most 0.0125 a round is left (not proven); next look in 1,100"
    )
    assert "hold: nothing better is known;" in str(replace(hold, gain=0.0))
    assert "it could gain up to 0.0234 a round, 28.1 over" in str(replace(move, expected=0.006))
    many = replace(
        move,
        cause="alarm",
        criteria=np.arange(5),
        knobs=np.arange(4),
        before=np.zeros(4),
        after=np.ones(4),
    )
    assert "alarm of objective 0, 1, 2 and 2 more," in str(many)
    assert "knob 2 0 -> 1 and 1 more: it gains" in str(many)
    assert all("\n" not in str(record) for record in (move, hold, many))


def assert_same_records(left: tuple[tt.Record, ...], right: tuple[tt.Record, ...]) -> None:
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        for name in (field.name for field in fields(tt.Record)):
            a, b = getattr(one, name), getattr(other, name)
            if isinstance(a, int | str):
                assert a == b, name
            else:
                np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=name)


@exact
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_rounds_and_events_look_at_the_same_times_for_the_same_reasons(
    make: Any, missing: float, seed: int
) -> None:
    world, _ = make(seed)
    rng = np.random.default_rng((seed, 1))
    table = SIGMA * rng.normal(size=(ROUNDS, world.problem.criteria))
    table[rng.random(table.shape) < missing] = np.nan
    world, states = make(seed, move_cost=[0.1, 1.0, 10.0][seed], noise=tt.worlds.Recorded(table))
    (left, rounds), (right, events) = (
        watch(world, states, path=path, rho=0.1 * seed) for path in ("rounds", "events")
    )
    assert len(rounds.records) >= 10
    assert_same_records(rounds.records, events.records)
    np.testing.assert_array_equal(rounds.ends, events.ends)
    np.testing.assert_allclose(rounds.states, events.states, rtol=0, atol=1e-9)
    assert rounds.records == tuple(look.record for look in left.looks if look.record.round)
    assert left._checks == right._checks >= 20


# Memory.


@pytest.mark.parametrize("cut", [3, 37, 150, 151, 152, 153, 154, 155])
@pytest.mark.parametrize("through_a_file", [False, True])
def test_a_policy_restored_within_an_epoch_goes_on_bit_for_bit(
    cut: int, through_a_file: bool, tmp_path: Path
) -> None:
    world, _ = on_levels(8, move_cost=1.0)
    policy = tt.SteadyGraphLinUCB(
        world.problem,
        start=[0.5] * 3,
        radius=confidence(world),
        rho=0.05,
        certify=0.7,
        period=90,
        seed=4,
    )
    rng = np.random.default_rng(cut)
    for _ in range(cut):
        losses = world.draw(policy.ask(), rng)
        losses[rng.random(3) < 0.2] = np.nan
        policy.tell(losses)
    if through_a_file:
        tt.save(policy, tmp_path / "steady")
        again = tt.load(world.problem, tmp_path / "steady")
    else:
        again = tt.restore(world.problem, policy.snapshot())
    assert isinstance(again, tt.SteadyGraphLinUCB)
    looks = 0
    for _ in range(300):
        losses = world.draw(policy.ask(), rng)
        left, right = policy.tell(losses), again.tell(losses)
        np.testing.assert_array_equal(policy.ask(), again.ask())
        assert (left.cause, left.moved, left.next_review) == (
            right.cause,
            right.moved,
            right.next_review,
        )
        assert str(left.record) == str(right.record)
        looks += left.record is not None
    assert looks >= 5
    before, after = policy.snapshot(), again.snapshot()
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(before[name], after[name], err_msg=name)


# Where the noise is not known beforehand.


def test_an_unknown_noise_keeps_the_start_state_until_it_is_known() -> None:
    world = tt.worlds.linear(RING, seed=1, move_cost=0.1)
    policy = tt.SteadyGraphLinUCB(
        world.problem, start=[0.5] * 4, radius=tt.Confidence(sigma=None, norm=world.norms)
    )
    np.testing.assert_array_equal(policy.ask(), np.full(4, 0.5))
    trace = tt.play(policy, world, horizon=1000)
    assert trace.records[0].round == 21


def test_the_next_review_is_ahead_while_the_noise_is_unknown() -> None:
    world = tt.worlds.quadratic(RING, seed=1, move_cost=0.1)
    policy = tt.SteadyGraphLinUCB(
        world.problem, start=[0.5] * 4, radius=tt.Confidence(sigma=None, norm=world.norms)
    )
    rng = np.random.default_rng(0)
    for t in range(1, 21):
        assert policy.tell(world.draw(policy.ask(), rng)).next_review == 21 - t


# Where block updates get stuck.


@pytest.mark.parametrize("seed", [0, 1, 6])
def test_regret_levels_off_in_the_spin_glass(seed: int) -> None:
    """Where Async is stuck, Steady's regret less than doubles in a hundred times the rounds."""
    world = tt.worlds.spin_glass(seed=seed)
    options: dict[str, Any] = {
        "start": np.zeros(16),
        "radius": tt.Confidence(sigma=SIGMA, norm=1.5),
        "reg": np.random.default_rng((seed, 9)).uniform(1.0, 3.0, 16),
        "cold_start": "solve",
    }
    stuck = tt.AsyncLazyGraphLinUCB(world.problem, review=False, **options)
    assert tt.play(stuck, world, horizon=10**6, seed=seed).regret > 0.05 * 10**6
    policy = tt.SteadyGraphLinUCB(world.problem, **options)
    trace = tt.play(policy, world, horizon=10**6, seed=seed, path="events")
    early, later, last = trace.regret_at([10**4, 10**5, 10**6])
    assert 0.0 < later <= last < 2.0 * early, (early, later, last)
    assert world.loss(policy.ask()) == pytest.approx(world.optimum.value)


@pytest.mark.parametrize("seed", range(3))
def test_no_knob_goes_to_an_end_of_its_range_before_much_is_known(seed: int) -> None:
    """Where every loss falls towards an end, told nothing: three quarters of the way a look."""
    k, rng = 4, np.random.default_rng(seed)
    problem = tt.Problem(tt.Graph.from_scopes([[j] for j in range(k)], knobs=k))
    policy = tt.SteadyGraphLinUCB(problem, start=[0.15] * k)
    states = []
    for _ in range(200):
        states.append(policy.ask())
        policy.tell(states[-1] + 0.01 * rng.standard_normal(k))
    early = np.array(states[:20])
    assert early.min() > 0.0
    assert early.max() < 1.0
    assert (np.array(states) == 0.0).any()  # later they may
