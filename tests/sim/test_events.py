"""Jumping from review to review is the same run as playing every round."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import trimtab as tt
from trimtab.arrays import Array
from trimtab.policies import LazyPolicy, Told
from trimtab.sim.worlds import World

KINDS: dict[str, Callable[..., LazyPolicy]] = {
    "sync": tt.LazyGraphLinUCB,
    "async": tt.AsyncLazyGraphLinUCB,
}


class Watched:
    """A lazy policy that notes every review: when, and what triggered."""

    def __init__(self, policy: LazyPolicy) -> None:
        self.policy = policy
        self.log: list[tuple[int, str, list[int]]] = []
        self._check = policy._check
        policy._check = self.check  # type: ignore[method-assign]

    def check(self) -> Told:
        told = self._check()
        if told.cause != "none":
            self.log.append((self.policy.rounds, told.cause, told.triggered.tolist()))
        return told


def random_problem(rng: np.random.Generator, domain: str, *, overlap: bool = True) -> tt.Problem:
    """A random problem; on balls with a criterion across two of them where `overlap` says so.

    Balls have two knobs at most then. Such a criterion can leave a continuum of minimisers
    where two directions of a ball are still unexplored: every state of a circle has the least
    F to 1e-11, and rounding decides which of them the search visits, so that two runs may part.
    """
    if domain == "balls":
        sizes = rng.integers(1, 3 if overlap else 4, int(rng.integers(2, 6)))
        edges = np.concatenate(([0], np.cumsum(sizes)))
        blocks = [list(range(a, b)) for a, b in pairwise(edges)]
        scopes = [*blocks, blocks[0] + blocks[1]] if overlap else blocks
        graph = tt.Graph.from_scopes(scopes, knobs=int(edges[-1]))
        return tt.Problem(graph, basis=tt.bases.Linear(), domain=tt.Balls(blocks))
    k = int(rng.integers(2, 31))
    pairs = [(i, j) for i in range(k) for j in range(i) if rng.random() < 2.0 / k]
    basis = [tt.bases.PairwiseQuadratic(), tt.bases.Quadratic(), tt.bases.Linear(intercept=True)]
    return tt.Problem(tt.Graph.from_edges(k, pairs), basis=basis[int(rng.integers(3))])


def recorded_world(
    problem: tt.Problem, rng: np.random.Generator, rounds: int, missing: float
) -> World:
    noise = 0.2 * rng.normal(size=(rounds, problem.criteria))
    noise[rng.random(noise.shape) < missing] = np.nan
    theta = [rng.normal(size=int(d)) for d in problem.dims]
    return World(problem, theta=theta, noise=tt.worlds.Recorded(noise))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("domain", ["box", "balls"])
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_events_equal_rounds(kind: str, domain: str, missing: float, seed: int) -> None:
    """24 random problems: the same triggers at the same rounds, states within 1e-9."""
    rng = np.random.default_rng((seed, len(kind), len(domain), int(10 * missing)))
    problem = random_problem(rng, domain, overlap=seed % 2 == 0)
    horizon = 400 if domain == "box" else 100
    world = recorded_world(problem, rng, horizon, missing)
    start = problem.domain.sample(rng)
    reg = rng.uniform(0.1, 3.0, problem.criteria)
    logs, traces, states = [], [], []
    for path in ("rounds", "events"):
        policy = KINDS[kind](
            problem, start=start, radius=0.7, reg=reg, review=bool(seed % 2), seed=seed
        )
        watched = Watched(policy)
        traces.append(tt.play(policy, world, horizon=horizon, path=path))
        logs.append(watched.log)
        states.append(policy.ask())
    assert logs[0] == logs[1]
    assert sum(cause == "trigger" for _, cause, _ in logs[0]) >= 1
    rounds, events = traces
    np.testing.assert_array_equal(rounds.ends, events.ends)
    np.testing.assert_allclose(rounds.states, events.states, rtol=0, atol=1e-9)
    np.testing.assert_allclose(states[0], states[1], rtol=0, atol=1e-9)
    assert events.loss == pytest.approx(rounds.loss, rel=1e-9)
    assert events.regret == pytest.approx(rounds.regret, rel=1e-7, abs=1e-7)
    np.testing.assert_array_equal(rounds.attributions, events.attributions)


def test_estimators_equal_after_both_paths() -> None:
    """Not only the states: factors, gains, pure errors and certificates agree as well."""
    rng = np.random.default_rng(3)
    problem = random_problem(rng, "box")
    world = recorded_world(problem, rng, 500, 0.2)
    snapshots = []
    for path in ("rounds", "events"):
        policy = tt.AsyncLazyGraphLinUCB(
            problem,
            start=np.full(problem.knobs, 0.5),
            radius=tt.Confidence(sigma=0.2, norm=world.norms),
        )
        tt.play(policy, world, horizon=500, path=path)
        policy.place(np.zeros(problem.knobs))  # flushes everything
        snapshots.append(policy.snapshot())
    for name in ("R", "gain", "since", "pure_error", "seen", "pure_df", "clock", "_bound"):
        np.testing.assert_allclose(
            snapshots[0][name], snapshots[1][name], rtol=1e-7, atol=1e-9, err_msg=name
        )


def assert_totals_agree(world: World, make: Callable[[], LazyPolicy], seeds: int) -> None:
    """Runs that draw sums against as many others that draw every round, in five figures.

    Two-sample Kolmogorov-Smirnov tests, each at level 1e-4: all five together raise a
    false alarm with probability 5e-4.
    """
    figures: dict[str, Array] = {}
    for path in ("rounds", "events"):
        rows = []
        for seed in range(seeds):
            policy = make()
            trace = tt.play(
                policy,
                world,
                horizon=300,
                seed=seed + 1000 * (path == "events"),
                path=path,
            )
            policy.place(np.zeros(world.problem.knobs))
            sums = policy.learner.estimators.stats
            rows.append(
                [
                    trace.regret,
                    trace.movement,
                    trace.solves,
                    sums.pure_error.sum(),
                    trace.states[-1].sum(),
                ]
            )
        figures[path] = np.array(rows)
    for column in range(5):
        left, right = (figures[path][:, column] for path in ("rounds", "events"))
        assert stats.ks_2samp(left, right).pvalue > 1e-4
    assert figures["events"].std(axis=0).min() > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_sums_agree_in_distribution(kind: str) -> None:
    world = tt.worlds.quadratic(
        tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)]), seed=8, noise=tt.worlds.Gaussian(0.3)
    )
    assert_totals_agree(
        world,
        lambda: KINDS[kind](world.problem, start=np.full(4, 0.5), radius=0.6, reg=0.1),
        seeds=60,
    )


@pytest.mark.slow
def test_sums_of_steady_agree_in_distribution() -> None:
    """Its alarm included, which both paths listen to."""
    world = tt.worlds.quadratic(
        tt.Graph.from_edges(2, [(0, 1)]), seed=8, noise=tt.worlds.Gaussian(0.3), move_cost=3.0
    )
    radius = tt.Confidence(sigma=0.3, norm=world.norms)
    assert_totals_agree(
        world,
        lambda: tt.SteadyGraphLinUCB(
            world.problem, start=[0.5, 0.5], radius=radius, reg=0.1, factor=4.0
        ),
        seeds=60,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_drifting_world(kind: str) -> None:
    """Recorded noise in three phases: both paths agree, and regret is against each phase."""
    rng = np.random.default_rng(5)
    problem = tt.Problem(tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)]))
    noise = tt.worlds.Recorded(0.1 * rng.normal(size=(600, 4)))
    phases = [
        World(problem, theta=[rng.normal(size=int(d)) for d in problem.dims], noise=noise)
        for _ in range(3)
    ]
    world = tt.worlds.Drifting(phases, changes=[151, 401])
    traces = []
    for path in ("rounds", "events"):
        policy = KINDS[kind](problem, start=np.full(4, 0.5), radius=1.0)
        traces.append(tt.play(policy, world, horizon=600, path=path))
    rounds, events = traces
    np.testing.assert_array_equal(rounds.ends, events.ends)
    np.testing.assert_allclose(rounds.states, events.states, rtol=0, atol=1e-9)
    direct = sum(
        phases[(t > 150) + (t > 400)].loss(rounds.state(t))
        - phases[(t > 150) + (t > 400)].optimum.value
        for t in range(1, 601)
    )
    assert rounds.regret == pytest.approx(direct, rel=1e-9)
    assert events.regret == pytest.approx(direct, rel=1e-9)
    assert {151 - 1, 401 - 1} <= set(rounds.ends.tolist())


def test_skip_does_not_go_beyond_the_review() -> None:
    world = tt.worlds.quadratic(tt.Graph.complete(3), seed=1)
    policy = tt.LazyGraphLinUCB(world.problem, start=np.full(3, 0.5), radius=0.5)
    before = policy.snapshot()
    left = policy.rounds_left()
    for rounds in (0, -1, left + 1):
        with pytest.raises(tt.InvalidInput, match="rounds"):
            policy.skip(rounds, lambda criteria, n: (np.zeros(3), np.zeros(3)))
    with pytest.raises(tt.InvalidInput, match="rounds"):
        policy.skip(1, lambda criteria, n: (np.zeros(3), np.zeros(3)), seen=np.full(3, 10**6))
    after = policy.snapshot()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_billion_rounds() -> None:
    world = tt.worlds.quadratic(tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)]), seed=2)
    policy = tt.LazyGraphLinUCB(
        world.problem, start=np.full(4, 0.5), radius=tt.Confidence(sigma=0.1, norm=world.norms)
    )
    trace = tt.play(policy, world, horizon=10**9)
    assert trace.horizon == policy.rounds == 10**9
    bound = tt.theory.max_epochs(world.problem.dims, 10**9, reg=1.0) + tt.theory.max_reviews(10**9)
    assert trace.solves <= bound
    assert 0.0 < trace.regret <= policy.certificate.bound


def test_an_interrupted_run_owes_nothing() -> None:
    """A progress callback that stops the run: what was skipped is paid by the same world."""
    world = tt.worlds.quadratic(tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)]), seed=2)
    policy = tt.AsyncLazyGraphLinUCB(world.problem, start=np.full(4, 0.5), radius=0.5)

    def stop(rounds: int) -> None:
        if policy.rounds > 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tt.play(policy, world, horizon=10**6, progress=stop)
    estimators = policy.learner.estimators
    assert not (estimators.stats.counters[1] + estimators.stats.owed).any()
