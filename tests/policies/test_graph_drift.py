"""An edge that was excluded and becomes active: it reopens, with the evidence."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

import trimtab as tt
from trimtab.learn.sparsity_test import group, orthonormal
from trimtab.policies.adaptive.refit import refitted
from trimtab.sim.worlds import Drifting, World

K, CHANGE, ROUNDS, SIGMA = 6, 20_000, 60_000, 0.3


class Case(NamedTuple):
    world: Drifting
    edge: tuple[int, int]  # the criterion, and the knob that it reads from the change on
    known: dict[str, Any]


def case(seed: int, size: float = 1.0) -> Case:
    """A sparse world in which criterion 0 begins to depend on a knob that it did not read."""
    first = tt.worlds.sparse(K, degree=2, gamma=SIGMA, seed=seed, move_cost=1.0)
    problem, rng = first.problem, np.random.default_rng(seed)
    theta = [part.copy() for part in np.split(first.theta, problem.features.offsets[1:-1])]
    j = next(j for j in range(K) if j not in first.truth.scope(0))
    G, C = group(problem, orthonormal(problem, 0), 0, np.array([j]))
    part = np.zeros(theta[0].size)
    part[G] = rng.normal(size=G.size)
    theta[0] += part * size / np.linalg.norm(C.T @ part[G])
    second = World(problem, theta=theta, noise=first.noise)
    radius = tt.Confidence(sigma=SIGMA, norm=np.maximum(first.norms, second.norms))
    known = {"radius": radius, "reg": radius.balanced_reg, "start": [0.5] * K}
    return Case(Drifting([first, second], changes=[CHANGE]), (0, j), known)


def adaptive(given: Case, **options: Any) -> tt.AdaptiveGraphLinUCB:
    return tt.AdaptiveGraphLinUCB(
        given.world.problem, gamma=SIGMA, reopen=True, **given.known, **options
    )


STEADY: dict[str, Any] = {"then": tt.SteadyGraphLinUCB, "period": 1000}


def recovered(seed: int) -> bool:
    """Whether late regret is small and the total near that of who excludes nothing."""
    given = case(seed)
    policy = adaptive(given, probe=9000, **STEADY)
    trace = tt.play(policy, given.world, horizon=ROUNDS, seed=seed)
    after = given.world.worlds[1]
    late = float(np.diff(trace.regret_at([4 * ROUNDS // 5, ROUNDS]))[0]) / (ROUNDS // 5)
    lost = after.loss(trace.state(CHANGE - 1)) - after.optimum.value  # a round, had it stayed
    whole = tt.SteadyGraphLinUCB(given.world.problem, period=1000, **given.known)
    total = tt.play(whole, given.world, horizon=ROUNDS, seed=seed).regret
    opened = [again for again in policy.reopened if (again.criterion, again.knob) == given.edge]
    return (
        late < 0.05 * lost
        and trace.regret <= 1.3 * total
        and given.edge[1] in policy.graph.scope(0)
        and opened[0].round > CHANGE
    )


@pytest.mark.slow
def test_regret_after_an_excluded_edge_becomes_active() -> None:
    assert [seed for seed in range(6) if not recovered(seed)] == []


@pytest.mark.slow
def test_a_probe_sees_what_does_not_show_where_the_policy_plays() -> None:
    """With seed 4 the new dependency is s_2 and s_0 s_2, and knob 2 is at 0."""
    given = case(4)
    before, after = given.world.worlds
    blind, seeing = adaptive(given, **STEADY), adaptive(given, probe=10_500, **STEADY)
    runs = [tt.play(policy, given.world, horizon=30_000, seed=4) for policy in (blind, seeing)]
    state = runs[0].state(CHANGE - 1)
    assert after.mean(state)[0] == pytest.approx(before.mean(state)[0], abs=1e-9)
    assert blind.reopened == ()
    opened = next(x for x in seeing.reopened if (x.criterion, x.knob) == given.edge)
    assert opened.cause == "probe"
    assert 21_000 < opened.round <= 21_000 + 8 * K
    assert abs(opened.statistic) > 0.5  # by so much the losses were off
    late = [float(np.diff(run.regret_at([25_000, 30_000]))[0]) / 5000 for run in runs]
    assert late[1] < 0.3 * late[0]


def test_probes_move_one_knob_alone_and_come_back() -> None:
    given = case(0)
    policy = adaptive(given, probe=5000, warmup=2000, **STEADY)
    rng, world, path = np.random.default_rng(0), given.world.worlds[0], []
    for t in range(5200):
        path.append(policy.ask().copy())
        policy.tell(world.draw(policy.ask(), rng, t))
    states = np.array(path)
    away = np.flatnonzero((states[5000:] != states[4999]).any(axis=1)) + 5000
    excluded = {edge.knob for edge in policy.edges if edge.decision == "excluded"}
    assert 0 < away.size <= 8 * len(excluded) + 60
    lap = states[5000 : 5000 + 8 * len(excluded)]
    moved = [np.flatnonzero(x != states[4999]).tolist() for x in lap]
    assert all(len(x) == 1 for x in moved)
    assert [x[0] for x in moved[::8]] == sorted(excluded)
    assert policy.reopened == ()


def test_a_lap_of_probes_goes_on_from_its_snapshot_and_by_events_as_by_rounds() -> None:
    given = case(0)
    world = given.world.worlds[0]
    policy = adaptive(given, probe=2500, warmup=2000, **STEADY)
    tt.play(policy, world, horizon=2510, seed=0)  # in the midst of a lap
    again = tt.restore(world.problem, policy.snapshot())
    a, b = (tt.play(each, world, horizon=300, seed=1) for each in (policy, again))
    np.testing.assert_array_equal(a.states, b.states)
    one, two = (adaptive(given, probe=2500, warmup=2000, **STEADY) for _ in range(2))
    jumps = tt.play(one, world, horizon=2700, seed=5, path="events")
    steps = tt.play(two, world, horizon=2700, seed=5, path="rounds")
    assert jumps.lengths.sum() == steps.lengths.sum() == 2700
    home = [
        int((np.abs(np.diff(run.states, axis=0)) > 0).any(axis=1).sum()) for run in (jumps, steps)
    ]
    assert min(home) >= 7  # a lap at least: the noise differs, so that states do


def test_rows_told_at_once_are_tells_through_a_lap_of_probes() -> None:
    given = case(0)
    world, rng = given.world.worlds[0], np.random.default_rng(0)
    one, many = (adaptive(given, probe=1200, warmup=1000, **STEADY) for _ in range(2))
    for t in range(1600):
        np.testing.assert_array_equal(one.ask(), many.ask())
        row, before = world.draw(one.ask(), rng, t), one.ask()
        told = one.tell(row)
        assert told.moved == pytest.approx(np.abs(one.ask() - before).sum())
        assert told.next_review >= 1
        assert many.tell_rows(row[None])[0] == 1
    assert one.rounds == many.rounds == 1600


def test_probes_that_never_come_are_none_bit_for_bit() -> None:
    given = case(0)
    without, beyond = (
        adaptive(given, warmup=1000, probe=probe, **STEADY) for probe in (None, 10**6)
    )
    a, b = (tt.play(x, given.world.worlds[0], horizon=3000, seed=1) for x in (without, beyond))
    np.testing.assert_array_equal(a.states, b.states)
    np.testing.assert_array_equal(a.lengths, b.lengths)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"probe": 50}, "probe = 50"),
        ({"probe": 5000, "reopen": False}, "reopen=True and a Box"),
        ({"probe": 5000, "radius": 0.5}, "a radius that holds"),
    ],
)
def test_probes_that_cannot_be(options: dict[str, Any], message: str) -> None:
    given = case(0)
    known = given.known | {"gamma": SIGMA, "reopen": True, "warmup": 100} | options
    with pytest.raises(tt.InvalidInput, match=message):
        tt.AdaptiveGraphLinUCB(given.world.problem, **known)


def test_lack_of_fit_reopens_where_there_is_no_alarm() -> None:
    given = case(0)
    policy = adaptive(given)  # Algorithm 1 goes on
    trace = tt.play(policy, given.world, horizon=ROUNDS, seed=0)
    again = policy.reopened[0]
    assert (again.criterion, again.cause) == (0, "lack of fit")
    assert again.statistic > again.critical > 1.0
    assert again.round > CHANGE
    after = given.world.worlds[1]
    late = float(np.diff(trace.regret_at([4 * ROUNDS // 5, ROUNDS]))[0]) / (ROUNDS // 5)
    assert late < 0.05 * (after.loss(trace.state(CHANGE - 1)) - after.optimum.value)


@pytest.mark.parametrize("options", [{}, STEADY], ids=["lazy", "steady"])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_reopens_in_a_world_that_stays(seed: int, options: dict[str, Any]) -> None:
    given = case(seed)
    policy = adaptive(given, probe=9000 if options else None, **options)
    tt.play(policy, given.world.worlds[0], horizon=ROUNDS, seed=seed)
    assert policy.reopened == ()
    assert not policy.warming
    assert policy.graph.scope(0).size < K


def test_a_criterion_that_begins_anew_is_one_that_never_was_refined() -> None:
    given = case(0)
    policy = adaptive(given)
    tt.play(policy, given.world.worlds[0], horizon=10_000, seed=0)
    learner, wide = policy.learner, given.world.problem
    small = learner.problem
    assert small.dims[0] < wide.dims[0]
    scopes = [small.graph.scope(i).tolist() for i in range(K)]
    scopes[0] = list(range(K))
    graph = tt.Graph.from_scopes(scopes, knobs=K, centres=range(K))
    grown = tt.Problem(graph, basis=wide.basis, move_cost=1.0)
    learner.absorb(small.all_criteria)
    again = refitted(learner, grown, delta=0.01, due=False, fresh=np.array([0]))
    np.testing.assert_allclose(again.estimators.V(0), given.known["reg"][0] * np.eye(wide.dims[0]))
    np.testing.assert_array_equal(again.estimators.theta(0), np.zeros(wide.dims[0]))
    assert again.estimators.reg[0] == pytest.approx(given.known["reg"][0])
    for i in range(1, K):
        np.testing.assert_array_equal(again.estimators.V(i), learner.estimators.V(i))
        np.testing.assert_array_equal(again.estimators.theta(i), learner.estimators.theta(i))
    assert again.estimators.needs()[0] <= 0  # due at once


def test_a_learned_prior_reopens_too_and_evidence_is_in_the_snapshot() -> None:
    given = case(0)
    world = Drifting(list(given.world.worlds), changes=[2000])
    policy = tt.AdaptiveGraphLinUCB(world.problem, start=[0.5] * K, warmup=400)
    tt.play(policy, world, horizon=1999, seed=0)
    assert given.edge[1] not in policy.graph.scope(0)
    after, rng = world.worlds[1], np.random.default_rng(1)
    for t in range(2000):
        policy.tell(after.draw(policy.ask(), rng, t))
    assert given.edge in {(again.criterion, again.knob) for again in policy.reopened}
    assert given.edge[1] in policy.graph.scope(0)
    again = tt.restore(world.problem, policy.snapshot())
    assert isinstance(again, tt.AdaptiveGraphLinUCB)
    assert again.reopened == policy.reopened or np.isnan(again.reopened[0].statistic)
    assert str(again.reopened) == str(policy.reopened)
    a, b = (tt.play(each, after, horizon=300, seed=3) for each in (policy, again))
    np.testing.assert_array_equal(a.states, b.states)


def test_lack_of_fit_waits_for_the_clock_to_double() -> None:
    """A basis that is wrong on every scope reopens a criterion ever more rarely."""

    class Bent(World):
        def mean(self, state: Any) -> Any:
            bend = np.zeros(K)
            bend[0] = 3.0 * np.cos(9.0 * state[0])
            return super().mean(state) + bend

    first = case(0).world.worlds[0]
    theta = np.split(first.theta, first.problem.features.offsets[1:-1])
    world = Bent(first.problem, theta=theta, noise=first.noise)
    policy = adaptive(case(0), warmup=20_000)
    tt.play(policy, world, horizon=200_000, seed=0)
    rounds = sorted({again.round for again in policy.reopened if again.criterion == 0})
    assert all(b >= 2 * a for a, b in pairwise(rounds))
