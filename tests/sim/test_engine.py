"""The compiled engine against the readable route, and against itself in other pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.builders import random_graph
from trimtab._core import LocalUpdate
from trimtab.arrays import Ints
from trimtab.sim.worlds import World

BASES = (tt.bases.PairwiseQuadratic(), tt.bases.Quadratic())


def by_hand(policy: tt.AsyncLazyGraphLinUCB) -> tt.AsyncLazyGraphLinUCB:
    """The same policy, whose updates go through `Learner.resolve`."""
    policy.learner.__dict__["local"] = None
    return policy


def ring_world(k: int, basis: tt.bases.Quadratic | tt.bases.PairwiseQuadratic, seed: int) -> World:
    ring = tt.Graph.from_edges(k, [(i, (i + 1) % k) for i in range(k)])
    return tt.worlds.quadratic(ring, basis=basis, seed=seed, noise=tt.worlds.Gaussian(0.2))


def policy_of(world: World, *, fixed: bool, review: bool = True) -> tt.AsyncLazyGraphLinUCB:
    radius = 0.5 if fixed else tt.Confidence(sigma=0.2, norm=world.norms)
    start = np.full(world.problem.knobs, 0.5)
    return tt.AsyncLazyGraphLinUCB(
        world.problem, start=start, radius=radius, cold_start="keep", review=review
    )


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)
def test_the_engine_makes_the_same_run_as_the_readable_route(
    basis: tt.bases.Quadratic | tt.bases.PairwiseQuadratic, fixed: bool
) -> None:
    world = ring_world(12, basis, seed=5)
    fast, slow = policy_of(world, fixed=fixed), by_hand(policy_of(world, fixed=fixed))
    assert fast.learner.local is not None
    a = tt.play(fast, world, horizon=20_000, seed=1)
    b = tt.play(slow, world, horizon=20_000, seed=1)
    assert a.solves == b.solves > 100
    assert a.reviews == b.reviews > 5
    assert a.ends.tolist() == b.ends.tolist()
    assert a.attributions.tolist() == b.attributions.tolist()
    assert a.changed.tolist() == b.changed.tolist()
    assert a.values == pytest.approx(b.values, abs=1e-9)
    assert a.rates == pytest.approx(b.rates, rel=1e-12)
    assert fast.certificate.bound == pytest.approx(slow.certificate.bound, rel=1e-12)
    assert fast.certificate.certified == slow.certificate.certified
    assert fast.rounds == slow.rounds == 20_000
    assert fast.ask() == pytest.approx(slow.ask(), abs=1e-9)
    assert fast.learner.solved == slow.learner.solved


def test_the_engine_goes_on_where_a_snapshot_was_taken() -> None:
    world = ring_world(9, tt.bases.PairwiseQuadratic(), seed=2)
    whole, rng = policy_of(world, fixed=False), np.random.default_rng(4)
    tt.play(whole, world, horizon=3_000, seed=rng)
    again = tt.restore(world.problem, whole.snapshot())
    state = rng.bit_generator.state
    tt.play(whole, world, horizon=5_000, seed=rng)
    rng.bit_generator.state = state
    tt.play(again, world, horizon=5_000, seed=rng)
    assert whole.ask().tolist() == again.ask().tolist()
    assert whole.certificate == again.certificate


class InPieces:
    """Runs that stop after 700 rounds, as if there were no more room."""

    def __init__(self, local: LocalUpdate) -> None:
        self.local, self.visits, self.update = local, 0, local.update

    def play(self, *, t: int, stop: int, **rest: Any) -> Any:
        self.visits += 1
        run = self.local.play(t=t, stop=min(t + 700, stop), **rest)
        if run["status"] == "done" and run["t"] < stop:
            run["status"] = "full"
        return run


def test_full_buffers_only_interrupt_a_run() -> None:
    world = ring_world(10, tt.bases.PairwiseQuadratic(), seed=3)
    whole = tt.play(policy_of(world, fixed=False), world, horizon=10_000, seed=0)
    policy = policy_of(world, fixed=False)
    assert policy.learner.local is not None
    local = InPieces(policy.learner.local)
    policy.learner.__dict__["local"] = local
    pieces = tt.play(policy, world, horizon=10_000, seed=0)
    assert local.visits > 14
    assert pieces.ends[-1] == whole.ends[-1]
    assert pieces.states[-1] == pytest.approx(whole.states[-1], abs=1e-9)
    assert pieces.movement == pytest.approx(whole.movement, rel=1e-9)
    assert pieces.regret == pytest.approx(whole.regret, rel=1e-9)


def test_linear_parts_are_handed_back_and_solved_at_vertices() -> None:
    ring = tt.Graph.from_edges(6, [(i, (i + 1) % 6) for i in range(6)])
    world = tt.worlds.linear(ring, seed=1)
    policy = policy_of(world, fixed=True, review=False)
    assert updated(policy, np.array([0])) is None
    trace = tt.play(policy, world, horizon=2_000, seed=0)
    other = tt.play(by_hand(policy_of(world, fixed=True, review=False)), world, horizon=2_000)
    assert set(np.unique(trace.values)) <= {0.0, 1.0}
    assert trace.solves == other.solves > 5
    assert trace.values.tolist() == other.values.tolist()


def test_values_beyond_floating_point_fail_and_move_nothing() -> None:
    world = ring_world(5, tt.bases.PairwiseQuadratic(), seed=0)
    policy = policy_of(world, fixed=True)
    before = policy.ask()
    policy.learner.lcb.radii[:] = 1e308
    for _ in range(3):
        with np.errstate(over="ignore", invalid="ignore"):
            told = failed(policy)
        if told:
            break
    assert told
    assert policy.ask().tolist() == before.tolist()


def failed(policy: tt.AsyncLazyGraphLinUCB) -> bool:
    try:
        policy.tell(np.zeros(policy.problem.criteria))
    except tt.SolverFailed as error:
        return "too large for floating point" in str(error)
    return False


def updated(policy: tt.AsyncLazyGraphLinUCB, around: Ints) -> Any:
    """What the core says of an update around these criteria."""
    local = policy.learner.local
    assert local is not None
    return local.update(
        state=policy.ask(),
        width=1.0,
        around=around,
        triggered=around,
        factor=2.0,
        effort=0.0,
        seed=0,
    )


def test_the_criteria_concerned_are_those_of_the_graph() -> None:
    """They are flushed, and nobody else is."""
    rng = np.random.default_rng(0)
    several = 0
    for _ in range(60):
        k = int(rng.integers(2, 40))
        graph = random_graph(rng, k, int(rng.integers(1, 60)), widest=4)
        problem = tt.Problem(graph)
        policy = tt.AsyncLazyGraphLinUCB(problem, start=np.full(k, 0.5), radius=0.5)
        estimators = policy.learner.estimators
        for _ in range(5):
            size = int(rng.integers(1, min(6, graph.criteria) + 1))
            around = np.sort(rng.choice(graph.criteria, size, replace=False))
            free, criteria = graph.reach(around)
            estimators.add(np.zeros(graph.criteria))
            assert updated(policy, around) is not None
            assert np.flatnonzero(estimators.frozen()[0] == 0).tolist() == criteria.tolist()
            several += len(graph.parts(free)) > 1
    assert several > 50
