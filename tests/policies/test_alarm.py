"""The frozen-stream alarm: it rings where the world has changed, and hardly ever else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

import trimtab as tt
from trimtab.arrays import Array, Ints
from trimtab.policies import Told
from trimtab.policies.alarm import normal_equivalent
from trimtab.sim.worlds import Drifting, Noise, World

SIGMA = 0.1
PATH = tt.Graph.from_edges(3, [(0, 1), (1, 2)])
MIDDLE = np.full(3, 0.5)


def problem(move_cost: float = 0.0) -> tt.Problem:
    """Quadratic on five levels a knob, so that every solve is exact."""
    levels = np.linspace(0.0, 1.0, 5)
    return tt.Problem(
        PATH, basis=tt.bases.Quadratic(), domain=tt.Box(levels=[levels] * 3), move_cost=move_cost
    )


def phase(
    seed: int,
    *,
    move_cost: float = 0.0,
    noise: Noise | None = None,
    shift: Sequence[float] = (0.0, 0.0, 0.0),
) -> World:
    """A random world in which the losses of each criterion are shifted, at all states."""
    its = problem(move_cost)
    theta = tt.worlds.quadratic(PATH, seed=seed).theta.copy()
    constant = its.phi(np.zeros(3))  # at 0 nothing else is left
    theta += np.repeat(shift, its.dims) * np.divide(
        1.0, constant, out=np.zeros_like(constant), where=constant > 0.0
    )
    return World(
        its,
        theta=np.split(theta, its.features.offsets[1:-1]),
        noise=noise or tt.worlds.Gaussian(SIGMA),
    )


def confidence(*worlds: World, delta: float = 0.05) -> tt.Confidence:
    """Valid in all of the worlds."""
    norm = np.max([world.norms for world in worlds], axis=0)
    return tt.Confidence(sigma=SIGMA, norm=norm, delta=delta)


def alarms(trace: tt.Trace) -> list[tt.Record]:
    return [record for record in trace.records if record.cause == "alarm"]


# The rule.


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(2))
def test_it_rings_where_the_mean_leaves_its_interval(missing: float, seed: int) -> None:
    """Every check of 1,000 rounds with many jumps, recomputed from the losses by plain numpy."""
    world = phase(seed, move_cost=0.3)
    m, delta, reg = 3, 0.2, 0.003
    radius = tt.Confidence(sigma=SIGMA, norm=world.norms, delta=delta)
    policy = tt.SteadyGraphLinUCB(world.problem, start=MIDDLE, radius=radius, reg=reg)
    learner, offsets = policy.learner, world.problem.features.offsets
    rng = np.random.default_rng((seed, int(10 * missing)))

    def expected() -> tuple[Array, Array]:
        """The mean loss at the deployed state, and how far it may be from there."""
        phi = np.split(world.problem.phi(policy.ask()), offsets[1:-1])
        V = [learner.estimators.V(i) for i in range(m)]
        mean = [p @ learner.estimators.theta(i) for i, p in enumerate(phi)]
        spread = [p @ np.linalg.solve(V_i, p) for p, V_i in zip(phi, V, strict=True)]
        return np.array(mean), learner.lcb.radii * np.sqrt(spread)

    begun, checks, rung, quiet = 0, 0, 0, 0
    (centre, known), losses, jump = expected(), np.empty((0, m)), np.zeros(m)
    for t in range(1, 1001):
        if rng.random() < 0.01:
            jump = rng.normal(size=m) * (rng.random(m) < 0.5)
        y = world.draw(policy.ask(), rng) + jump
        y[rng.random(m) < missing] = np.nan
        losses = np.vstack((losses, y))
        told = policy.tell(y)
        age = t - begun
        if told.cause != "none" or age & (age - 1) == 0:
            checks += 1
            delta_j = delta / (m * checks * (checks + 1))
            n = (~np.isnan(losses)).sum(axis=0)
            mean = np.nansum(losses, axis=0) / np.maximum(n, 1)
            n_ = np.maximum(n, 1)
            noise = SIGMA * np.sqrt(2 * (1 + 1 / n_) * np.log(2 * np.sqrt(n_ + 1) / delta_j) / n_)
            out = np.flatnonzero((n > 0) & (np.abs(mean - centre) > known + noise))
            assert (told.cause == "alarm") == (out.size > 0)
            if out.size:
                assert told.record is not None
                np.testing.assert_array_equal(told.record.criteria, out)
                assert told.triggered.size == 0
                rung += 1
            else:
                quiet += 1
        if told.record is not None:
            begun, losses = t, np.empty((0, m))
            centre, known = expected()
    assert policy.snapshot()["_checks"] == checks
    assert rung >= 3
    assert quiet >= 100


class Listened(tt.SteadyGraphLinUCB):
    """A Steady that notes when its alarm was looked at, and when its epochs began."""

    def __init__(self, problem: tt.Problem, **options: Any) -> None:
        self.checked: list[int] = []
        self.begun: list[int] = []
        super().__init__(problem, **options)

    def _listen(self) -> Ints:
        self.checked.append(self.rounds)
        return super()._listen()

    def _begin_epoch(self, rounds: int) -> None:
        self.begun.append(self.learner.clock)
        super()._begin_epoch(rounds)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(2))
def test_both_paths_check_after_1_2_4_rounds_and_at_the_end(missing: float, seed: int) -> None:
    """Recorded noise in a world that changes at rounds 401 and 801."""
    rng = np.random.default_rng((seed, int(10 * missing)))
    table = SIGMA * rng.normal(size=(1200, 3))
    table[rng.random(table.shape) < missing] = np.nan
    noise = tt.worlds.Recorded(table)
    worlds = [
        phase(10 * seed + p, noise=noise, move_cost=0.5, shift=(0.0, 2.0 * p, -p)) for p in range(3)
    ]
    world = Drifting(worlds, changes=[401, 801])
    policies, traces = [], []
    for path in ("rounds", "events"):
        policy = Listened(world.problem, start=MIDDLE, radius=confidence(*worlds), reg=0.003)
        traces.append(tt.play(policy, world, horizon=1200, path=path))
        policies.append(policy)
    (rounds, events), (left, right) = traces, policies
    assert left.checked == right.checked
    assert left.begun == right.begun
    np.testing.assert_array_equal(rounds.ends, events.ends)
    np.testing.assert_allclose(rounds.states, events.states, rtol=0, atol=1e-9)
    assert [(r.round, r.cause, r.criteria.tolist()) for r in rounds.records] == [
        (r.round, r.cause, r.criteria.tolist()) for r in events.records
    ]
    assert len(alarms(rounds)) >= 2
    due = {
        first + 2**e
        for first, last in pairwise([*left.begun, 1200])
        for e in range(11)
        if first + 2**e <= last
    }
    assert set(left.checked) == due | set(left.begun[1:])
    assert len(left.checked) == len(set(left.checked))


# The level.


@pytest.mark.slow
def test_a_world_that_stays_hardly_ever_rings() -> None:
    """60 runs of 2,000 rounds at delta = 0.1, in each of which some false alarm has p <= 0.1.

    More than 17 runs with one would then have probability 2e-5, for a new seed.
    """
    assert stats.binom.sf(17, 60, 0.1) < 2e-5
    world = tt.worlds.linear(tt.Graph.complete(2), seed=1, intercept=True, move_cost=0.5)
    rang = checks = 0
    for seed in range(60):
        radius = confidence(world, delta=0.1)
        policy = tt.SteadyGraphLinUCB(
            world.problem, start=[0.5, 0.5], radius=radius, reg=radius.balanced_reg, factor=2.0
        )
        rang += bool(alarms(tt.play(policy, world, horizon=2000, seed=seed)))
        checks += policy.snapshot()["_checks"]
    assert rang <= 17, f"{rang} of 60 runs rang, in {checks} checks"
    assert checks >= 60 * 50


@pytest.mark.slow
def test_a_noise_larger_than_said_rings() -> None:
    """The level is no idle promise: with five times the sigma nearly every run rings."""
    world = phase(1, noise=tt.worlds.Gaussian(5 * SIGMA))
    rang = 0
    for seed in range(10):
        policy = tt.SteadyGraphLinUCB(
            world.problem, start=MIDDLE, radius=confidence(world), factor=1.1
        )
        rang += bool(alarms(tt.play(policy, world, horizon=1000, seed=seed)))
    assert rang >= 9, rang


def test_switched_off_it_never_rings() -> None:
    worlds = [phase(0), phase(0, shift=(3.0, 3.0, 3.0))]
    world = Drifting(worlds, changes=[500])
    for alarm, rings in ((True, True), (None, True), (False, False)):
        policy = Listened(world.problem, start=MIDDLE, radius=confidence(*worlds), alarm=alarm)
        trace = tt.play(policy, world, horizon=1500)
        assert bool(alarms(trace)) == bool(policy.checked) == rings
        assert policy.certificate.certified == (not rings)


def test_it_needs_to_know_the_noise() -> None:
    world = phase(0)
    with pytest.raises(tt.InvalidInput, match="alarm=True needs a radius that holds"):
        tt.SteadyGraphLinUCB(world.problem, start=MIDDLE, radius=1.0, alarm=True)
    for radius in (1.0, tt.Confidence(sigma=SIGMA, norm=world.norms, form="paper")):
        policy = Listened(world.problem, start=MIDDLE, radius=radius)
        tt.play(policy, world, horizon=100)
        assert not policy.alarm
        assert not policy.checked


# What it hears, and what comes of it.

CHANGE, WITHIN = 1000, 64


@pytest.mark.parametrize("changed", [[1], [0, 2]])
@pytest.mark.parametrize("seed", range(5))
def test_a_change_is_heard_in_the_criteria_that_changed(changed: list[int], seed: int) -> None:
    """A shift of 10 sigma after 1,000 rounds rings within 64, and in no other criterion.

    A false alarm anywhere has probability 0.01 a run at most: 0.1 over the ten.
    """
    shift = [10 * SIGMA * (i in changed) for i in range(3)]
    worlds = [phase(seed, move_cost=1.0), phase(seed, move_cost=1.0, shift=shift)]
    world = Drifting(worlds, changes=[CHANGE + 1])
    policy = tt.SteadyGraphLinUCB(
        world.problem,
        start=MIDDLE,
        radius=confidence(*worlds, delta=0.01),
        reg=0.1,
        factor=1.1,
    )
    trace = tt.play(policy, world, horizon=2 * CHANGE, seed=seed)
    rang = alarms(trace)
    heard = {i: record.round for record in reversed(rang) for i in record.criteria.tolist()}
    assert sorted(heard) == changed
    assert all(CHANGE < t <= CHANGE + WITHIN for t in heard.values()), heard


def test_the_criterion_that_rang_starts_anew_and_the_others_keep_all_they_know() -> None:
    reg = np.array([0.1, 0.2, 0.4])
    worlds = [phase(3), phase(3, shift=(0.0, 1.0, 0.0))]
    policy = tt.SteadyGraphLinUCB(
        worlds[0].problem, start=MIDDLE, radius=confidence(*worlds), reg=reg
    )
    rng = np.random.default_rng(0)
    V = [lam * np.eye(int(d)) for lam, d in zip(reg, worlds[0].problem.dims, strict=True)]
    b = [np.zeros(int(d)) for d in worlds[0].problem.dims]

    def play(world: World) -> Told:
        phi = np.split(world.problem.phi(policy.ask()), world.problem.features.offsets[1:-1])
        losses = world.draw(policy.ask(), rng)
        for i in range(3):
            V[i] += np.outer(phi[i], phi[i])
            b[i] += phi[i] * losses[i]
        return policy.tell(losses)

    for _ in range(1000):
        assert play(worlds[0]).cause != "alarm"
    assert policy.certificate.certified
    while (told := play(worlds[1])).cause != "alarm":
        assert policy.rounds < 1100
    assert told.record is not None
    assert told.record.criteria.tolist() == [1]
    assert "alarm of objective 1" in str(told.record)
    assert not policy.certificate.certified
    estimators = policy.learner.estimators
    fresh_V = reg[1] * np.eye(int(worlds[0].problem.dims[1]))
    np.testing.assert_allclose(estimators.V(1), fresh_V, rtol=1e-15, atol=0.0)
    np.testing.assert_array_equal(estimators.theta(1), 0.0)
    assert estimators.stats.seen.tolist() == [policy.rounds, 0, policy.rounds]
    assert estimators.stats.gain[1] == 0.0
    fresh = tt.Confidence(sigma=SIGMA, norm=confidence(*worlds).norm).bind(3)
    assert policy.learner.lcb.radii[1] == pytest.approx(
        fresh.radii(estimators.evidence(np.array([1])))[0]
    )
    for i in (0, 2):
        np.testing.assert_allclose(estimators.V(i), V[i], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(V[i] @ estimators.theta(i), b[i], rtol=1e-6, atol=1e-6)
    # From here on criterion 1 learns only of the new world.
    V[1], b[1] = fresh_V, 0.0 * b[1]
    for _ in range(500):
        assert play(worlds[1]).cause != "alarm"
    policy.learner.absorb(worlds[0].problem.all_criteria)
    for i in range(3):
        np.testing.assert_allclose(estimators.V(i), V[i], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(V[i] @ estimators.theta(i), b[i], rtol=1e-6, atol=1e-6)
    assert not policy.certificate.certified


def test_what_is_forgotten_is_not_information() -> None:
    worlds = [phase(3), phase(3, shift=(0.0, 1.0, 0.0))]
    world = Drifting(worlds, changes=[1001])
    policy = tt.SteadyGraphLinUCB(world.problem, start=MIDDLE, radius=confidence(*worlds))
    trace = tt.play(policy, world, horizon=1500)
    assert len(alarms(trace)) == 1
    assert all(record.information >= 0.0 for record in trace.records)


def test_a_policy_restored_between_checks_rings_at_the_same_time() -> None:
    worlds = [phase(3), phase(3, shift=(0.0, 0.5, 0.0))]
    policy = Listened(worlds[0].problem, start=MIDDLE, radius=confidence(*worlds), reg=0.1)
    rng = np.random.default_rng(0)
    for _ in range(1000):
        policy.tell(worlds[0].draw(policy.ask(), rng))
    for _ in range(3):
        policy.tell(worlds[1].draw(policy.ask(), rng))
    snapshot = policy.snapshot() | {"policy": "SteadyGraphLinUCB"}
    again = tt.restore(worlds[0].problem, snapshot)
    causes = []
    for _ in range(300):
        losses = worlds[1].draw(policy.ask(), rng)
        left, right = policy.tell(losses), again.tell(losses)
        assert (left.cause, str(left.record)) == (right.cause, str(right.record))
        np.testing.assert_array_equal(policy.ask(), again.ask())
        causes.append(left.cause)
    assert causes.count("alarm") == 1


# What it is worth.


def restless(seed: int) -> tuple[Drifting, tt.Confidence]:
    """20,000 rounds, another world every 4,000."""
    worlds = [phase(100 * seed + p) for p in range(5)]
    return Drifting(worlds, changes=[4001, 8001, 12001, 16001]), confidence(*worlds)


@pytest.mark.slow
def test_after_changes_a_restart_saves_half_the_regret() -> None:
    regret = {"alarm": 0.0, "none": 0.0, "lazy": 0.0}
    rang = []
    for seed in range(3):
        world, radius = restless(seed)
        options: dict[str, Any] = {
            "start": MIDDLE,
            "radius": radius,
            "reg": radius.balanced_reg,
        }
        policies = {
            "alarm": tt.SteadyGraphLinUCB(world.problem, **options),
            "none": tt.SteadyGraphLinUCB(world.problem, alarm=False, **options),
            "lazy": tt.LazyGraphLinUCB(world.problem, **options),
        }
        for name, policy in policies.items():
            trace = tt.play(policy, world, horizon=20_000, seed=seed)
            regret[name] += trace.regret
            if name == "alarm":
                rang.append(len(alarms(trace)))
    assert min(rang) >= 4, rang
    assert 2.0 * regret["alarm"] <= min(regret["none"], regret["lazy"]), (regret, rang)


def test_without_changes_the_alarm_costs_nothing() -> None:
    """Three runs, silent but with probability 3 x 0.05: then not a state differs."""
    for seed in range(3):
        world = phase(seed, move_cost=0.5)
        traces = []
        for alarm in (True, False):
            policy = tt.SteadyGraphLinUCB(
                world.problem, start=MIDDLE, radius=confidence(world), reg=0.1, alarm=alarm
            )
            traces.append(tt.play(policy, world, horizon=4000, seed=seed, path="rounds"))
        heard, deaf = traces
        assert not alarms(heard)
        np.testing.assert_array_equal(heard.ends, deaf.ends)
        np.testing.assert_array_equal(heard.states, deaf.states)
        assert heard.regret == deaf.regret > 0.0


@pytest.mark.parametrize(("times", "rings"), [(0.99, False), (1.01, True)])
def test_the_first_loss_rings_just_outside_its_interval(times: float, rings: bool) -> None:
    world, reg, delta = phase(0), 0.5, 0.05
    radius = tt.Confidence(sigma=SIGMA, norm=world.norms, delta=delta)
    policy = tt.SteadyGraphLinUCB(
        world.problem, start=MIDDLE, radius=radius, reg=reg, cold_start="keep"
    )
    features = np.split(world.problem.phi(MIDDLE), world.problem.features.offsets[1:-1])
    lengths = np.array([np.linalg.norm(phi) for phi in features])
    beta = SIGMA * np.sqrt(2 * np.log(3 / delta)) + np.sqrt(reg) * world.norms
    slack = SIGMA * np.sqrt(4 * np.log(2 * np.sqrt(2) / (delta / 6)))
    told = policy.tell(times * (beta * lengths / np.sqrt(reg) + slack))
    assert (told.cause == "alarm") == rings


# With a prior.


@pytest.mark.parametrize("df", [3, 16, 100])
@pytest.mark.parametrize("tail", [1e-2, 1e-4, 1e-6])
def test_a_sum_of_squares_is_as_improbable_as_its_normal_equivalent(df: int, tail: float) -> None:
    found = normal_equivalent(float(stats.chi2.isf(tail, df)), df)
    assert found == pytest.approx(stats.norm.isf(tail), abs=0.2)


@pytest.mark.parametrize("seed", range(5))
def test_small_changes_of_all_criteria_ring_together(seed: int) -> None:
    """Twelve criteria change by 0.9 standard deviations each: eight losses show 2.4 of each."""
    m, rng = 12, np.random.default_rng(seed)
    problem = tt.Problem(tt.Graph.from_scopes([[i] for i in range(m)], knobs=m), move_cost=1e4)
    policy = tt.SteadyGraphLinUCB(problem, start=[0.5] * m)
    before = [policy.tell(SIGMA * rng.standard_normal(m)).cause for _ in range(60)]
    assert "alarm" not in before
    after = [policy.tell(SIGMA * (0.9 + rng.standard_normal(m))) for _ in range(20)]
    rung = next(told.rung for told in after if told.cause == "alarm")
    assert rung.size >= m // 3


RING8 = tt.Graph.from_edges(8, [(j, (j + 1) % 8) for j in range(8)])


@pytest.mark.parametrize("change", [30, 45, 60])
@pytest.mark.parametrize("seed", range(4))
def test_another_workload_rings_while_knobs_still_move(change: int, seed: int) -> None:
    """Levels and shapes of all losses change; no state was played for long, before or after."""
    rng = np.random.default_rng(seed)
    before, after = (
        tt.worlds.quadratic(RING8, seed=seed + add, move_cost=1.0) for add in (0, 1000)
    )
    policy = tt.SteadyGraphLinUCB(before.problem, start=[0.5] * 8)
    higher = rng.uniform(3.0, 10.0, 8) * SIGMA
    calm = [policy.tell(before.draw(policy.ask(), rng)).cause for _ in range(change)]
    assert "alarm" not in calm
    assert sum(cause != "none" for cause in calm) > change / 8  # looks
    loud = [policy.tell(after.draw(policy.ask(), rng) + higher).cause for _ in range(20)]
    assert "alarm" in loud


@pytest.mark.parametrize("seed", range(6))
def test_another_workload_rings_where_the_knobs_stay(seed: int) -> None:
    """Three objectives, of which one falls: by 2.5 to 5 standard deviations, from round 31 on."""
    rng = np.random.default_rng(seed)
    problem = tt.Problem(tt.Graph.from_scopes([[0], [1], [2]], knobs=3), move_cost=1e4)
    policy = tt.SteadyGraphLinUCB(problem, start=MIDDLE)
    calm = [policy.tell(SIGMA * rng.standard_normal(3)).cause for _ in range(30)]
    shift = np.array([5.0, -2.5, 4.0])
    loud = [policy.tell(SIGMA * (shift + rng.standard_normal(3))).cause for _ in range(20)]
    assert "alarm" not in calm
    assert "alarm" in loud


@pytest.mark.parametrize("seed", range(3))
def test_losses_that_go_up_and_down_together_with_the_hours_ring_nothing(seed: int) -> None:
    """Five standard deviations up and down in 150 rounds, ten times."""
    rng = np.random.default_rng(seed)
    world = tt.worlds.quadratic(RING8, seed=seed, move_cost=3.0)
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 8)
    for t in range(1500):
        hour = 5.0 * SIGMA * np.sin(2.0 * np.pi * t / 150)
        assert policy.tell(world.draw(policy.ask(), rng) + hour).cause != "alarm"


def test_segments_wait_for_enough_losses_and_go_on_in_the_next_epoch() -> None:
    """A snapshot in the middle of such a segment changes nothing."""
    rng = np.random.default_rng(1)
    problem = tt.Problem(tt.Graph.from_scopes([[0], [1], [2]], knobs=3), move_cost=1e4)
    policy = tt.SteadyGraphLinUCB(problem, start=MIDDLE)
    waiting = 0
    for t in range(80):
        beliefs = policy.learner.beliefs
        assert beliefs is not None
        waiting += bool((beliefs.heard[4] < 0.0).any())
        again = tt.restore(problem, policy.snapshot())
        losses = SIGMA * (rng.standard_normal(3) + (t > 60) * np.array([4.0, 3.0, -2.0]))
        left, right = policy.tell(losses), again.tell(losses)
        assert (left.cause, left.rung.tolist()) == (right.cause, right.rung.tolist())
        restored = again.learner.beliefs
        assert restored is not None
        np.testing.assert_array_equal(beliefs.heard, restored.heard)
        np.testing.assert_array_equal(beliefs.together, restored.together)
    assert waiting
