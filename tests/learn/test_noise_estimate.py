"""Noise that nobody knows: estimated while a state stays, and then used as if it were known."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import trimtab as tt
from tests.policies.test_conformance import same
from trimtab.arrays import Array
from trimtab.learn.noise import LEAST_DF, sigma_bound
from trimtab.policies import LazyPolicy
from trimtab.sim.losses import losses_of
from trimtab.sim.worlds import World

KINDS: dict[str, Callable[..., LazyPolicy]] = {
    "sync": tt.LazyGraphLinUCB,
    "async": tt.AsyncLazyGraphLinUCB,
}
kinds = pytest.mark.parametrize("kind", KINDS)
PATH = tt.Graph.from_edges(3, [(0, 1), (1, 2)])
SIGMAS = np.array([0.05, 0.3, 2.0])


@cache
def small_world(seed: int = 0) -> World:
    return tt.worlds.quadratic(PATH, seed=seed, noise=tt.worlds.Gaussian(SIGMAS))


@cache
def on_levels(seed: int) -> World:
    """A random world whose solves are quick, and exact."""
    problem = tt.Problem(
        PATH, basis=tt.bases.Quadratic(), domain=tt.Box(levels=[(0.0, 0.25, 0.5, 0.75, 1.0)] * 3)
    )
    rng = np.random.default_rng(seed)
    theta = [rng.normal(size=int(d)) for d in problem.dims]
    return World(problem, theta=theta, noise=tt.worlds.Gaussian(SIGMAS))


def unknown(world: World, **options: Any) -> tt.Confidence:
    return tt.Confidence(sigma=None, norm=world.norms, **options)


# The bound on sigma


def test_sigma_bound_has_its_level_at_one_number_of_degrees() -> None:
    """At nu = 20 it fails with probability alpha / 21 exactly; 50,000 draws, 5 deviations: 6e-7."""
    rng = np.random.default_rng(1)
    alpha, draws = 0.9, 50_000
    for nu in (20, 37):
        squares = 0.7**2 * rng.chisquare(nu, draws)
        failed = sigma_bound(squares, np.full(draws, nu), alpha) < 0.7
        level = alpha * 20 / (nu * (nu + 1))
        assert abs(failed.mean() - level) < 5 * np.sqrt(level / draws)


def test_sigma_bound_holds_at_all_degrees_together() -> None:
    """Looked at in every degree from 20 to 2,000, at alpha = 0.5, 4,000 sequences.

    A failure anywhere has probability 0.5 at most, so that more than 2,150 have probability
    1e-6 (measured: 192, since neighbouring degrees fail together).
    """
    rng = np.random.default_rng(2)
    squares = np.cumsum(rng.standard_normal((4000, 2000)) ** 2, axis=1)[:, LEAST_DF - 1 :]
    nu = np.arange(LEAST_DF, 2001)
    failed = np.sqrt(squares) * sigma_bound(np.ones(nu.size), nu, 0.5) < 1.0
    assert 40 < failed.any(axis=1).sum() <= 2150
    assert np.isclose((20.0 / (nu * (nu + 1.0))).sum(), 1.0 - 20 / 2001)


def test_sigma_bound_of_huge_samples() -> None:
    for nu in (10**6, 10**9, 10**12):
        found = sigma_bound(np.array([float(nu)]), np.array([nu]), 0.01)[0]
        assert 1.0 < found < 1.0 + 12.0 / np.sqrt(2.0 * nu)


def test_radii_from_their_formula() -> None:
    world, delta, reg = small_world(), 0.1, np.array([0.5, 1.0, 2.0])
    policy = tt.LazyGraphLinUCB(
        world.problem, start=np.full(3, 0.5), radius=unknown(world, delta=delta), reg=reg
    )
    np.testing.assert_allclose(policy.learner.lcb.radii, np.sqrt(reg) * world.norms)
    tt.play(policy, world, horizon=500)
    policy.place(np.zeros(3))
    sums = policy.learner.estimators.stats
    for i, (squares, nu) in enumerate(zip(sums.pure_error, sums.pure_df, strict=True)):
        a = delta / 6 * 20 / (nu * (nu + 1))
        sigma_up = np.sqrt(squares / stats.chi2.ppf(a, nu))
        V = policy.learner.estimators.V(i)
        gamma = np.linalg.slogdet(V)[1] - len(V) * np.log(reg[i])
        beta = sigma_up * np.sqrt(gamma + 2 * np.log(6 / delta)) + np.sqrt(reg[i]) * world.norms[i]
        assert policy.learner.lcb.radii[i] == pytest.approx(beta, rel=1e-9)


@pytest.mark.slow
def test_coverage_under_adaptive_play() -> None:
    """Ellipsoids and sigma_up at every look of 100 runs, at delta = 0.2.

    A run may fail with probability 0.2: more than 38 of 100 with probability 1e-5.
    sigma_up alone may fail with probability 0.1: more than 25 with probability 4e-6.
    """
    delta, failed, too_small, looks, late = 0.2, 0, 0, 0, []
    for run in range(100):
        world = on_levels(run % 10)
        policy = tt.LazyGraphLinUCB(
            world.problem, start=np.full(3, 0.5), radius=unknown(world, delta=delta), reg=0.5
        )
        truth = np.split(world.theta, world.problem.features.offsets[1:-1])
        estimators, lcb = policy.learner.estimators, policy.learner.lcb
        sums, losses = estimators.stats, losses_of(world, np.random.default_rng(run), 0)
        missed = under = False
        while policy.rounds < 1300:  # from look to look
            losses.means.visit(policy.ask())
            policy.skip(policy.rounds_left(), losses.owed)
            sigma_up = sigma_bound(sums.pure_error, sums.pure_df, delta / 6)
            under |= bool((sigma_up < SIGMAS).any())
            for i, theta in enumerate(truth):
                R, _, _ = estimators.split(i)
                missed |= bool(np.linalg.norm(R.T @ (estimators.theta(i) - theta)) > lcb.radii[i])
            looks += 1
        failed += missed
        too_small += under
        late.append(sigma_up / SIGMAS)
        assert (sums.pure_df >= 1000).all()
    assert looks > 100 * 10
    assert failed <= 38
    assert too_small <= 25
    # sigma_up > 1.5 sigma at 1,000 degrees needs a chi-square of 1.7 times its mean: < 1e-30.
    assert np.max(late) < 1.5


# The hold


@kinds
@pytest.mark.parametrize("cold_start", ["solve", "keep"])
def test_the_start_stays_for_21_rounds(kind: str, cold_start: str) -> None:
    """And then the first solve is made, though with this reg nothing triggers and none is due."""
    world, rng = small_world(), np.random.default_rng(3)
    start = np.array([0.4, 0.5, 0.6])
    policy = KINDS[kind](
        world.problem,
        start=start,
        radius=unknown(world),
        reg=1000.0,
        review=False,
        cold_start=cold_start,
    )
    for left in range(21, 0, -1):
        assert policy.rounds_left() == left
        assert not policy.learner.ready
        told = policy.tell(world.draw(start, rng))
        assert (told.cause == "none") == (left > 1)
        assert np.array_equal(policy.ask(), start) == (left > 1)
    assert policy.learner.ready
    assert policy.learner.solved == 1
    assert np.isfinite(policy.learner.lcb.radii).all()
    policy.learner.absorb(world.problem.all_criteria)
    np.testing.assert_array_equal(policy.learner.estimators.stats.pure_df, 20)


def test_linucb_waits_as_well() -> None:
    world, rng = small_world(), np.random.default_rng(3)
    policy = tt.LinUCB(world.problem, start=np.full(3, 0.5), radius=unknown(world))
    causes = []
    for t in range(30):
        told = policy.tell(world.draw(policy.ask(), rng))
        causes.append(told.cause)
        assert told.next_review == max(20 - t, 1)
    assert causes == ["none"] * 20 + ["trigger"] * 10
    np.testing.assert_array_equal(policy.learner.estimators.stats.pure_df, 20)


def test_a_rare_criterion_is_waited_for() -> None:
    """Means of several rounds count once each, and each stretch costs a degree."""
    world, rng = small_world(), np.random.default_rng(4)
    policy = tt.LazyGraphLinUCB(world.problem, start=np.full(3, 0.5), radius=unknown(world))
    seen = 0
    while policy.learner.solved == 0:
        y = world.draw(policy.ask(), rng)
        if policy.rounds % 3:
            y[1] = np.nan
        seen += not np.isnan(y[1])
        if policy.rounds == 12:
            policy.place([0.2, 0.3, 0.4])  # a second stretch: one more observation is needed
        assert policy.needs().min() == tt.learn.NEVER
        policy.tell(y)
    assert seen == 22
    assert policy.learner.estimators.stats.pure_df.tolist() == [62, 20, 62]
    batches = tt.LazyGraphLinUCB(world.problem, start=np.full(3, 0.5), radius=unknown(world))
    for _ in range(20):
        assert batches.tell(world.draw(batches.ask(), rng), count=1000).cause == "none"
    assert batches.tell(world.draw(batches.ask(), rng), count=1000).cause != "none"


def test_the_certificate_covers_the_hold() -> None:
    """Before any solve |loss_i| <= norm_i |phi_i| is known, for Gaussian or any other noise."""
    world, rng = small_world(), np.random.default_rng(5)
    problem = world.problem
    policy = tt.LazyGraphLinUCB(problem, start=np.zeros(3), radius=unknown(world))
    regret = 0.0
    for t in range(300):
        if t == 7:
            policy.place(np.full(3, 0.9))
        if t == 9:
            policy.tell(world.draw(np.ones(3), rng), played=np.ones(3))
            assert np.isinf(policy.learner.lcb.radii).all()  # seen, but the noise is unknown
        regret += world.loss(policy.ask()) - world.optimum.value
        policy.tell(world.draw(policy.ask(), rng))
        if t == 6:
            phi = np.split(problem.phi(np.zeros(3)), problem.features.offsets[1:-1])
            lengths = np.array([np.linalg.norm(part) for part in phi])
            direct = 7 * world.norms @ (lengths + problem.features.bounds)
            assert policy.certificate.bound == pytest.approx(direct)
            assert policy.certificate.certified
        assert regret <= policy.certificate.bound < np.inf


# Memory, and the two paths


@kinds
@pytest.mark.parametrize("path", ["rounds", "events"])
@pytest.mark.parametrize("stop", [1, 13, 20, 21, 300])
def test_saved_in_the_hold_and_after(kind: str, path: Any, stop: int, tmp_path: Path) -> None:
    world = small_world(2)
    policy = KINDS[kind](world.problem, start=np.full(3, 0.5), radius=unknown(world))
    rng = np.random.default_rng(stop)
    tt.play(policy, world, horizon=stop, seed=rng, path=path)
    assert policy.learner.holding == (stop < 21)
    tt.save(policy, tmp_path / "policy")
    again = tt.load(world.problem, tmp_path / "policy")
    assert same(policy.snapshot(), again.snapshot())
    state = rng.bit_generator.state
    first = tt.play(policy, world, horizon=1000, seed=rng, path=path)
    rng.bit_generator.state = state
    second = tt.play(again, world, horizon=1000, seed=rng, path=path)
    np.testing.assert_array_equal(first.ends, second.ends)
    np.testing.assert_array_equal(first.values, second.values)
    assert same(policy.snapshot(), again.snapshot())
    assert first.moves > 2


@kinds
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_events_equal_rounds(kind: str, missing: float, seed: int) -> None:
    rng = np.random.default_rng((seed, int(10 * missing)))
    noise: Array = 0.2 * rng.normal(size=(600, 3))
    noise[rng.random(noise.shape) < missing] = np.nan
    problem = tt.Problem(PATH, basis=tt.bases.Quadratic())
    theta = [rng.normal(size=int(d)) for d in problem.dims]
    world = World(problem, theta=theta, noise=tt.worlds.Recorded(noise))
    traces, snapshots = [], []
    for path in ("rounds", "events"):
        policy = KINDS[kind](
            problem, start=np.full(3, 0.5), radius=unknown(world), review=bool(seed % 2)
        )
        traces.append(tt.play(policy, world, horizon=600, path=path))
        policy.place(np.zeros(3))
        snapshots.append(policy.snapshot())
    rounds, events = traces
    np.testing.assert_array_equal(rounds.ends, events.ends)
    np.testing.assert_allclose(rounds.states, events.states, rtol=0, atol=1e-9)
    enough = (np.cumsum(~np.isnan(noise), axis=0) > LEAST_DF).all(axis=1)
    assert rounds.ends[0] == np.argmax(enough) + 1
    assert rounds.solves == events.solves > 3
    for name in ("R", "radii", "pure_error", "pure_df", "data", "_bound"):
        np.testing.assert_allclose(
            snapshots[0][name], snapshots[1][name], rtol=1e-7, atol=1e-9, err_msg=name
        )


# The boundary


def test_what_an_unknown_sigma_cannot_do() -> None:
    with pytest.raises(tt.InvalidInput, match="sigma = None has no balanced reg"):
        _ = tt.Confidence(sigma=None, norm=1.0).balanced_reg
    with pytest.raises(tt.InvalidInput, match="norm"):
        tt.Confidence(sigma=None, norm=-1.0)
    assert tt.Confidence(sigma=None, norm=1.0).bind(2).certified
    assert not tt.Confidence(sigma=None, norm=1.0, form="paper").bind(2).certified
