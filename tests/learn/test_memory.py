"""A memory of H rounds: data fade, looks go on, and what does not show is found out again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.builders import random_graph
from tests.policies.test_conformance import drive, same
from tests.sim.test_events import Watched, recorded_world
from trimtab.arrays import Array, Ints
from trimtab.learn.confidence import Evidence
from trimtab.learn.fading import decay
from trimtab.policies.record import Record
from trimtab.sim.worlds import Drifting, World

SIGMA = 0.3


def one_knob(levels: Array, *, degree: int = 2) -> tt.Problem:
    """One criterion, polynomial in its only knob, on levels: every solve is exact."""
    return tt.Problem(
        tt.Graph.complete(1),
        basis=tt.bases.Polynomial(degree),
        domain=tt.Box(levels=[levels]),
    )


def parabola(problem: tt.Problem, least: float) -> World:
    """The loss (s - least)^2, with noise."""
    theta = np.array([least**2, -2.0 * least, 1.0]) / problem.phi(np.ones(1))
    return World(problem, theta=[theta], noise=tt.worlds.Gaussian(SIGMA))


def restless(seed: int) -> tuple[Drifting, tt.Confidence]:
    """20,000 rounds, another parabola every 4,000; a radius that holds in each."""
    problem = one_knob(np.linspace(0.0, 1.0, 21))
    worlds = [parabola(problem, x) for x in np.random.default_rng(seed).uniform(size=5)]
    norm = max(float(world.norms[0]) for world in worlds)
    return Drifting(worlds, changes=[4001, 8001, 12001, 16001]), tt.Confidence(
        sigma=SIGMA, norm=norm
    )


def records(trace: tt.Trace, cause: str) -> list[Record]:
    return [record for record in trace.records if record.cause == cause]


# The matrices.


@pytest.mark.parametrize("seed", range(3))
def test_every_statistic_equals_direct_weighted_regression(seed: int) -> None:
    """Gaps, batches, other states and places; every round's weight is computed by itself."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 4, 5)
    problem = tt.Problem(
        graph, basis=tt.bases.Quadratic(), weights=rng.uniform(0.5, 2.0, 5), move_cost=0.2
    )
    m, cut, H = problem.criteria, problem.features.offsets[1:-1], int(rng.integers(3, 40))
    g, reg = 1.0 - 1.0 / H, rng.uniform(0.2, 3.0, m)
    policy = tt.SteadyGraphLinUCB(
        problem, start=np.full(4, 0.5), radius=0.5, reg=reg, memory=H, seed=seed
    )
    estimators = policy.learner.estimators
    # (the rounds over which the weight is averaged, criterion, phi, loss, count)
    data: list[tuple[Ints, int, Array, float, int]] = []
    flushed, looks = 0, 0

    def check() -> None:
        for i in range(m):
            d = int(problem.dims[i])
            V, b = reg[i] * np.eye(d), np.zeros(d)
            for rounds, criterion, phi, y, n in data:
                if criterion == i:
                    weight = n * float(np.mean(g ** (flushed - rounds)))
                    V += weight * np.outer(phi, phi)
                    b += weight * y * phi
            np.testing.assert_allclose(estimators.V(i), V, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(estimators.theta(i), np.linalg.solve(V, b), atol=1e-9)
            gain = np.linalg.slogdet(V)[1] - d * np.log(reg[i])
            assert estimators.stats.gain[i] == pytest.approx(gain, abs=1e-9)

    def carry(sums: list[tuple[int, Array, float, int]]) -> None:
        """What was seen since the last flush goes in, with the mean weight of its rounds."""
        nonlocal flushed
        rounds = np.arange(flushed + 1, policy.rounds + 1)
        data.extend((rounds, i, phi, y, n) for i, phi, y, n in sums)
        flushed = policy.rounds

    sums: list[tuple[int, Array, float, int]] = []
    for _ in range(120):
        here, before = policy.ask(), policy.rounds
        y, n = rng.normal(size=m), rng.integers(1, 4, m)
        y[rng.random(m) < 0.3] = np.nan
        act = rng.random()
        at = problem.domain.sample(rng) if act < 0.1 else here
        phi = np.split(problem.phi(at), cut)
        seen = [(i, phi[i], float(y[i]), int(n[i])) for i in range(m) if y[i] == y[i]]
        if act < 0.1:  # as old as the flush before it
            data.extend((np.array([flushed]), *datum) for datum in seen)
        told = policy.tell(y, played=at, count=n)
        assert (policy.rounds == before) == (act < 0.1)
        sums += seen if act >= 0.1 else []
        if told.cause != "none":
            carry(sums)
            sums, looks = [], looks + 1
            check()
        elif 0.1 <= act < 0.13:
            policy.place(problem.domain.sample(rng))
            carry(sums)
            sums = []
            check()
    assert looks >= 10
    assert flushed > 5 * H


def test_a_whole_epoch_seen_is_the_sum_of_all_weights() -> None:
    """Constant features, everything observed: V is the plain discounted sum, round by round."""
    problem = tt.Problem(
        tt.Graph.complete(1), basis=tt.bases.Quadratic(), domain=tt.Box(levels=[[0.7]])
    )
    H, reg = 25, 0.4
    policy = tt.SteadyGraphLinUCB(problem, start=[0.7], radius=0.5, reg=reg, memory=H)
    phi = problem.phi(np.array([0.7]))
    V, losses = reg * np.eye(phi.size), np.random.default_rng(0).normal(size=1000)
    looks = 0
    for y in losses:
        told = policy.tell([y])
        V = (1 - 1 / H) * V + reg / H * np.eye(phi.size) + np.outer(phi, phi)
        if told.cause != "none":
            np.testing.assert_allclose(policy.learner.estimators.V(0), V, rtol=1e-11, atol=1e-11)
            looks += 1
    assert looks >= 20


def test_epochs_much_longer_than_the_memory_leave_nothing() -> None:
    """What is left of 10^9 rounds is H rounds at the state; the rest is reg again."""
    problem = tt.Problem(
        tt.Graph.complete(1), basis=tt.bases.Quadratic(), domain=tt.Box(levels=[[0.2, 0.9]])
    )
    policy = tt.SteadyGraphLinUCB(problem, start=[0.2], radius=0.5, reg=2.0, memory=10)
    policy.tell([1.0], count=10**9)
    phi = problem.phi(np.array([0.2]))
    estimators = policy.learner.estimators
    V = 2.0 * np.eye(phi.size) + 10.0 * np.outer(phi, phi)
    np.testing.assert_allclose(estimators.V(0), V, rtol=1e-12, atol=1e-12)
    policy.tell([1.0], count=10**9)
    assert np.isfinite(estimators.stats.gain).all()


def test_without_a_memory_nothing_changes() -> None:
    world = tt.worlds.quadratic(tt.Graph.from_edges(3, [(0, 1), (1, 2)]), seed=1, move_cost=1.0)
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    one = tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 3, radius=radius)
    two = tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 3, radius=radius, memory=None)
    for left, right in zip(drive(one, 200, 1), drive(two, 200, 1), strict=True):
        np.testing.assert_array_equal(left[0], right[0])
        assert left[1:] == right[1:]
    assert same(one.snapshot(), two.snapshot())
    assert not one.learner.estimators.evidence(np.arange(3)).faded.any()  # type: ignore[union-attr]


def test_an_endless_memory_is_none() -> None:
    """The other kernel, with weights that hardly fade: the same looks, and the same matrices."""
    world = tt.worlds.quadratic(tt.Graph.from_edges(3, [(0, 1), (1, 2)]), seed=1, move_cost=1.0)
    policies = [
        tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 3, radius=0.5, memory=memory)
        for memory in (None, 10**15)
    ]
    traces = [tt.play(policy, world, horizon=3000, path="rounds") for policy in policies]
    np.testing.assert_array_equal(traces[0].ends, traces[1].ends)
    np.testing.assert_allclose(traces[0].states, traces[1].states, atol=1e-7)
    stats = [policy.learner.estimators.stats for policy in policies]
    np.testing.assert_allclose(stats[0].R, stats[1].R, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(stats[0].gain, stats[1].gain, rtol=1e-9)
    left, right = (trace.records for trace in traces)
    assert len(left) == len(right) >= 10
    for a, b in zip(left, right, strict=True):
        assert a.information == pytest.approx(b.information, rel=1e-6, abs=1e-9)


# The trigger.


def test_it_fires_when_n_w_passes_c_minus_1_and_goes_on_for_ever() -> None:
    """At a state that cannot change, by hand; a discounted determinant stops growing there."""
    problem = tt.Problem(
        tt.Graph.complete(1), basis=tt.bases.Quadratic(), domain=tt.Box(levels=[[0.7]])
    )
    H, C, T = 100, 2.0, 10_000
    policy = tt.SteadyGraphLinUCB(
        problem, start=[0.7], radius=0.5, reg=0.7, memory=H, factor=C, review=False
    )
    phi, prior = problem.phi(np.array([0.7])), 0.7 * np.eye(3)
    w, begun, fired = float(phi @ phi) / 0.7, 0, []
    V = prior  # discounted in every round, with the paper's trigger
    last, stopped = np.linalg.slogdet(V)[1], []
    for t in range(1, T + 1):
        promised = policy.rounds_left()
        told = policy.tell([0.5])
        n = t - begun
        assert (n * w > C - 1.0) == (told.cause == "trigger") == (promised == 1)
        if told.cause == "trigger":
            begun, w = t, float(phi @ np.linalg.solve(policy.learner.estimators.V(0), phi))
            fired.append(t)
        V = (1 - 1 / H) * V + prior / H + np.outer(phi, phi)
        if np.linalg.slogdet(V)[1] > last + np.log(C):
            last = np.linalg.slogdet(V)[1]
            stopped.append(t)
    assert 2 <= len(stopped) <= 10
    assert max(stopped) < 5 * H
    late = np.diff([t for t in fired if t > T // 2])
    assert late.size >= T // 2 // (2 * H)
    assert late.min() == late.max()


def test_what_has_accrued_does_not_fade_when_somebody_moves_the_state() -> None:
    """(1 + n w) (1 + n' w') > C, each w in the V at which its stretch began."""
    problem = tt.Problem(tt.Graph.complete(1), basis=tt.bases.Quadratic())
    policy = tt.SteadyGraphLinUCB(
        problem, start=[0.3], radius=0.5, reg=100.0, memory=10, factor=2.0, review=False
    )

    def w() -> float:
        phi = problem.phi(policy.ask())
        return float(phi @ np.linalg.solve(policy.learner.estimators.V(0), phi))

    first, n = w(), 50
    for _ in range(n):
        assert policy.tell([0.5]).cause == "none"
    policy.place([0.8])
    left = int(np.floor((2.0 / (1.0 + n * first) - 1.0) / w())) + 1
    assert policy.rounds_left() == left > 5
    causes = [policy.tell([0.5]).cause for _ in range(left)]
    assert causes == ["none"] * (left - 1) + ["trigger"]


@pytest.mark.parametrize("seed", range(2))
def test_number_of_accruals(seed: int) -> None:
    """20,000 rounds with four changes: about 80 triggers, at most 112, and 38 without fading."""
    world, radius = restless(seed)
    policy = tt.SteadyGraphLinUCB(
        world.problem, start=[0.5], radius=radius, memory=1000, factor=2.0, alarm=False
    )
    trace = tt.play(policy, world, horizon=20_000, seed=seed)
    most = tt.theory.max_accruals([3], 20_000, memory=1000, reg=1.0)
    assert tt.theory.max_epochs([3], 20_000, reg=1.0) < 70 <= trace.attributions.sum() <= most < 112
    gain = policy.learner.estimators.stats.gain
    assert (gain <= tt.theory.max_faded_gain([3], memory=1000, reg=1.0)).all()


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_number_of_accruals_of_many_criteria(missing: float) -> None:
    """Overlapping scopes, other regs, raw features longer than 1, and losses that are missing."""
    rng = np.random.default_rng(7)
    graph = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    problem = tt.Problem(graph, basis=tt.bases.Quadratic(normalize=False))
    world, reg = recorded_world(problem, rng, 2000, missing), rng.uniform(0.1, 3.0, 4)
    policy = tt.SteadyGraphLinUCB(
        problem, start=np.full(4, 0.5), radius=0.5, reg=reg, memory=30, factor=1.5
    )
    trace = tt.play(policy, world, horizon=2000)
    most = tt.theory.max_accruals(
        problem.dims, 2000, memory=30, reg=reg, bound=problem.features.bounds, factor=1.5
    )
    unfaded = tt.theory.max_epochs(
        problem.dims, 2000, reg=reg, bound=problem.features.bounds, factor=1.5
    )
    assert 0.5 * unfaded < trace.attributions.sum() <= most


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_events_equal_rounds(missing: float, seed: int) -> None:
    """The same looks at the same rounds, and the same matrices in the end."""
    rng = np.random.default_rng((seed, int(10 * missing)))
    problem = tt.Problem(random_graph(rng, 5, 5), basis=tt.bases.Quadratic(), move_cost=0.3)
    world = recorded_world(problem, rng, 400, missing)
    reg = rng.uniform(0.1, 3.0, 5)
    logs, traces, snapshots = [], [], []
    for path in ("rounds", "events"):
        policy = tt.SteadyGraphLinUCB(
            problem,
            start=np.full(5, 0.5),
            radius=tt.Confidence(sigma=0.2, norm=world.norms),
            reg=reg,
            memory=50,
            review=bool(seed % 2),
            period=40 if seed == 2 else None,
        )
        watched = Watched(policy)
        traces.append(tt.play(policy, world, horizon=400, path=path))
        logs.append(watched.log)
        policy.place(np.zeros(5))
        snapshots.append(policy.snapshot())
    assert logs[0] == logs[1]
    assert sum(cause == "trigger" for _, cause, _ in logs[0]) >= 10
    np.testing.assert_array_equal(traces[0].ends, traces[1].ends)
    np.testing.assert_allclose(traces[0].states, traces[1].states, rtol=0, atol=1e-9)
    for name in ("R", "gain", "since", "pure_error", "seen", "radii", "_aged"):
        np.testing.assert_allclose(
            snapshots[0][name], snapshots[1][name], rtol=1e-7, atol=1e-9, err_msg=name
        )


# The radius.


def test_the_radius_holds_at_all_times_and_not_without_its_union() -> None:
    """One feature, always 1; 400 runs of 2,000 rounds with a memory of 5, delta = 0.3.

    Without `anew` every run leaves its interval at some time. With it a run does so with
    probability 0.3 at most, in truth almost never: more than 160 of 400 has probability 1e-5.
    """
    H, delta, T, runs = 5, 0.3, 2000, 400
    rule = tt.Confidence(sigma=1.0, norm=0.0, delta=delta).bind(1)
    rng, g = np.random.default_rng(0), 1.0 - 1.0 / H
    S, V = np.zeros(runs), 1.0
    failed = {"plain": np.zeros(runs, bool), "anew": np.zeros(runs, bool)}
    for t in range(1, T + 1):
        S = g * S + rng.normal(size=runs)
        V = g * V + (1 - g) + 1.0
        for name, faded in (("plain", 0.0), ("anew", t * decay(H))):
            evidence = Evidence(
                criteria=np.zeros(1, np.int64),
                gain=np.array([np.log(V)]),
                seen=np.array([t]),
                dims=np.ones(1, np.int64),
                reg=np.ones(1),
                bounds=np.ones(1),
                pure_error=np.zeros(1),
                pure_df=np.zeros(1, np.int64),
                faded=np.array([faded]),
            )
            failed[name] |= np.abs(S) / V > rule.radii(evidence)[0] / np.sqrt(V)
    assert failed["plain"].mean() > 0.9
    assert failed["anew"].sum() <= 160


def test_the_radius_of_a_policy_is_the_formula() -> None:
    world, radius = restless(0)
    H, reg = 300, 0.5
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5], radius=radius, reg=reg, memory=H)
    trace = tt.play(policy, world, horizon=5000)
    at = trace.records[-1].round
    V = policy.learner.estimators.V(0)
    gain = np.linalg.slogdet(V)[1] - 3 * np.log(reg)
    k = 1 + np.floor(3 * at * -np.log(1 - 1 / H))
    inside = gain + 2 * np.log(1 / 0.05) + 2 + 2 * np.log(k * (k + 1))
    expected = SIGMA * np.sqrt(inside) + np.sqrt(reg) * float(np.asarray(radius.norm))
    assert policy.learner.lcb.radii[0] == pytest.approx(expected, rel=1e-10)
    assert k > 40


def test_nothing_is_certified() -> None:
    problem = one_knob(np.linspace(0.0, 1.0, 21))
    world = parabola(problem, 0.4)
    told = {}
    for memory in (None, 500):
        policy = tt.SteadyGraphLinUCB(
            problem, start=[0.5], radius=tt.Confidence(sigma=SIGMA, norm=world.norms), memory=memory
        )
        trace = tt.play(policy, world, horizon=2000)
        proven = [record.certified for record in trace.records]
        told[memory] = (policy.certificate.certified, any(proven), all(proven))
        assert ("not proven" in str(trace.records[-1])) == (memory is not None)
        assert all(record.information >= 0.0 for record in trace.records)
    assert told == {None: (True, True, True), 500: (False, False, False)}


# What it is worth.


def test_a_change_that_does_not_show_is_found_out() -> None:
    """At 0.2 the loss stays 0; at 0.9 it was 1 and becomes -1, which no alarm can hear."""
    problem = one_knob(np.array([0.2, 0.9]), degree=1)
    scale, worlds = problem.phi(np.ones(1)), []
    for high in (1.0, -1.0):
        slope = high / 0.7
        theta = np.array([-0.2 * slope, slope]) / scale
        worlds.append(World(problem, theta=[theta], noise=tt.worlds.Gaussian(SIGMA)))
    world = Drifting(worlds, changes=[3001])
    radius = tt.Confidence(sigma=SIGMA, norm=max(float(each.norms[0]) for each in worlds))
    ends, late = {}, {}
    for memory in (None, 300):
        policy = tt.SteadyGraphLinUCB(
            problem, start=[0.2], radius=radius, reg=radius.balanced_reg, memory=memory
        )
        trace = tt.play(policy, world, horizon=12_000)
        ends[memory] = float(trace.state(12_000)[0])
        late[memory] = float(trace.regret - trace.regret_at([3000])[0])
        assert float(trace.state(3000)[0]) == 0.2
    assert ends == {None: 0.2, 300: 0.9}
    assert late[None] == pytest.approx(9000.0)
    assert late[300] < 0.4 * late[None]


# Memory, and what is refused.


def test_a_restored_policy_fades_alike() -> None:
    """Saved in the middle of an epoch, when rounds have passed that have not aged anything yet."""
    world, radius = restless(1)
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5], radius=radius, memory=200)
    tt.play(policy, world, horizon=1000)
    while policy.snapshot()["_aged"] == policy.rounds:
        policy.tell([0.1])
    snapshot = policy.snapshot()
    assert snapshot["memory"] == policy.memory == 200
    again = tt.restore(world.problem, snapshot)
    for left, right in zip(drive(policy, 300, 4), drive(again, 300, 4), strict=True):
        np.testing.assert_array_equal(left[0], right[0])
        assert left[1:] == right[1:]
    assert same(policy.snapshot(), again.snapshot())
    del snapshot["_aged"]
    with pytest.raises(tt.InvalidInput, match="_aged"):
        tt.restore(world.problem, snapshot)


@pytest.mark.parametrize("memory", [0, 1, -5, 2.5, np.nan, np.inf, "long", [3, 4]])
def test_bad_memories(memory: Any) -> None:
    with pytest.raises(tt.InvalidInput, match="memory"):
        tt.SteadyGraphLinUCB(one_knob(np.ones(1)), start=[1.0], radius=0.5, memory=memory)
    with pytest.raises(tt.InvalidInput, match="memory"):
        tt.theory.max_accruals([3], 100, memory=memory, reg=1.0)
