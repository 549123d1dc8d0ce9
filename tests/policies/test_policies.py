"""Schedules: when the state is looked at again, and what that reduces to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array
from trimtab.policies.lazy_policy import ColdStart, LazyPolicy


def ring(k: int) -> tt.Graph:
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


def test_linucb_is_lazy_with_threshold_one() -> None:
    world = tt.worlds.quadratic(ring(5), seed=1)
    eager = tt.LinUCB(world.problem, start=np.full(5, 0.5), radius=1.0)
    lazy = tt.LazyGraphLinUCB(
        world.problem, start=np.full(5, 0.5), radius=1.0, factor=1 + 1e-9, review=False
    )
    rng = np.random.default_rng(0)
    for _ in range(200):
        np.testing.assert_array_equal(eager.ask(), lazy.ask())
        losses = world.draw(eager.ask(), rng)
        np.testing.assert_array_equal(eager.tell(losses).triggered, lazy.tell(losses).triggered)


@pytest.mark.slow
def test_linucb_state_minimises_the_lcb() -> None:
    """Against a grid of 101 x 101 states, at every 20th round."""
    world = tt.worlds.quadratic(tt.Graph.complete(2), seed=2)
    policy = tt.LinUCB(world.problem, start=[0.5, 0.5], radius=1.0)
    rng = np.random.default_rng(0)
    axis = np.linspace(0.0, 1.0, 101)
    for t in range(100):
        policy.tell(world.draw(policy.ask(), rng))
        if t % 20 == 0:
            lcb = policy.learner.lcb
            grid = min(lcb.value(np.array([x, y])) for x in axis for y in axis)
            assert lcb.value(policy.ask()) <= grid + 1e-12


def test_weighted_tell_is_repeated_tell() -> None:
    """Told at once or one by one, ten equal rounds lead to the same state."""
    world = tt.worlds.quadratic(ring(4), seed=3)
    at_once, one_by_one = (
        tt.LazyGraphLinUCB(
            world.problem, start=np.full(4, 0.5), radius=1.0, cold_start="keep", reg=20.0
        )
        for _ in range(2)
    )
    rng = np.random.default_rng(1)
    moved = 0
    for _ in range(40):
        losses = world.draw(at_once.ask(), rng)
        n = min(10, at_once.tell(losses, played=at_once.ask()).next_review)
        one_by_one.tell(losses)
        moved += at_once.tell(losses, count=n).cause != "none"
        for _ in range(n):
            one_by_one.tell(losses)
        np.testing.assert_allclose(at_once.ask(), one_by_one.ask(), atol=1e-9)
        assert at_once.rounds == one_by_one.rounds
    assert moved >= 3


def test_reviews_at_every_doubling() -> None:
    """Where nothing can trigger, reviews come at rounds 2, 4, 8, ..."""
    world = tt.worlds.linear(ring(3), seed=0)
    basis = tt.bases.Custom(
        function=lambda i, x: [0.0, 0.0], bound=1.0, jacobian=lambda i, x: np.zeros((2, x.size))
    )
    problem = tt.Problem(world.problem.graph, basis=basis)
    policy = tt.LazyGraphLinUCB(problem, start=np.zeros(3), radius=0.5)
    causes = {t: policy.tell(np.ones(3)).cause for t in range(1, 70)}
    assert [t for t, cause in causes.items() if cause == "review"] == [2, 4, 8, 16, 32, 64]
    assert set(causes.values()) == {"none", "review"}


def test_next_review_counts_the_clock() -> None:
    world = tt.worlds.quadratic(ring(3), seed=0)
    policy = tt.LazyGraphLinUCB(world.problem, start=np.full(3, 0.5), radius=0.5, reg=1e6)
    seen = [policy.tell(np.ones(3)).next_review for _ in range(8)]
    assert seen == [1, 2, 1, 4, 3, 2, 1, 8]


def test_data_of_another_state_can_trigger() -> None:
    world = tt.worlds.quadratic(ring(3), seed=0)
    policy = tt.LazyGraphLinUCB(
        world.problem, start=np.full(3, 0.5), radius=0.5, cold_start="keep", review=False
    )
    losses = np.array([np.nan, 0.2, np.nan])
    told = policy.tell(losses, played=np.ones(3), count=1000)
    assert told.triggered.tolist() == [1]
    assert told.cause == "trigger"
    assert policy.rounds == 0


@pytest.mark.parametrize("cold_start", ["solve", "keep"])
def test_certificate_covers_the_regret(cold_start: ColdStart) -> None:
    """Twelve runs with a valid radius at delta = 0.05, each of which may fail with 5 %.

    All twelve hold here; more than four failures would have probability 2e-4.
    """
    broken = 0
    for seed in range(12):
        world = tt.worlds.quadratic(ring(4), seed=seed, noise=tt.worlds.Gaussian(0.3))
        policy = tt.LazyGraphLinUCB(
            world.problem,
            start=np.full(4, 0.5),
            radius=tt.Confidence(sigma=0.3, norm=world.norms),
            cold_start=cold_start,
        )
        trace = tt.play(policy, world, horizon=1000, seed=seed)
        broken += trace.regret > policy.certificate.bound
    assert broken <= 4


def test_certificate_says_what_it_cannot_certify() -> None:
    problem = tt.Problem(ring(4))
    start = np.full(4, 0.5)
    fixed = tt.LazyGraphLinUCB(problem, start=start, radius=0.5)
    assert not fixed.certificate.certified  # a fixed radius covers nothing
    sound = tt.LazyGraphLinUCB(problem, start=start, radius=tt.Confidence(sigma=0.1, norm=1.0))
    assert sound.certificate.certified
    sound.tell(np.ones(4))
    assert sound.certificate.certified  # before any data the minimum of the LCB is known
    while sound.tell(np.ones(4)).cause == "none":
        pass
    sound.tell(np.ones(4))
    assert not sound.certificate.certified  # the solver has no lower bound to offer


def test_certificate_of_a_placed_state() -> None:
    """A state that somebody set is charged for what it may cost, not for what was solved."""
    problem = tt.Problem(ring(4))
    policies = [
        tt.LazyGraphLinUCB(
            problem, start=np.full(4, 0.5), radius=tt.Confidence(sigma=0.1, norm=1.0)
        )
        for _ in range(2)
    ]
    policies[1].place(np.zeros(4))
    for policy in policies:
        policy.tell(np.ones(4))
    assert policies[1].certificate.bound > 0.0
    assert policies[1].certificate.bound != policies[0].certificate.bound


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kind", [tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB, tt.SteadyGraphLinUCB]
)
def test_rows_of_a_mapped_file_are_as_good_as_single_tells(
    kind: type[LazyPolicy], dtype: type, tmp_path: Path
) -> None:
    world = tt.worlds.quadratic(tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)]), seed=1)
    table: Array = np.random.default_rng(0).normal(0.5, 0.1, size=(400, 4)).astype(dtype)
    table[200, 1] = np.nan
    table.tofile(tmp_path / "losses")
    mapped = np.memmap(tmp_path / "losses", dtype=dtype, mode="r", shape=(400, 4))
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    one, many = (kind(world.problem, start=[0.5] * 4, radius=radius) for _ in range(2))
    for row in table:
        one.tell(row.astype(np.float64))
    done, calls = 0, 0
    while done < 400:
        taken, _ = many.tell_rows(mapped[done : done + 64])
        done += taken
        calls += 1
    assert calls < 350
    assert done == many.rounds == one.rounds
    mine, theirs = many.snapshot(), one.snapshot()
    assert mine.keys() == theirs.keys()
    assert mine.pop("_bound") == pytest.approx(theirs["_bound"], rel=1e-12)  # summed in one go
    for name, value in mine.items():
        assert np.array_equal(value, theirs[name]), name


def test_rows_that_do_not_fit_are_refused_and_change_nothing() -> None:
    policy = tt.LazyGraphLinUCB(
        tt.Problem(tt.Graph.complete(2)), start=[0.5, 0.5], radius=0.5, cold_start="keep"
    )
    with pytest.raises(tt.InvalidInput, match=r"shape \(3,\), expected \(rounds, 2\)"):
        policy.tell_rows(np.zeros(3))
    with pytest.raises(tt.InvalidInput, match=r"losses\[1, 0\] = inf is infinite"):
        policy.tell_rows(np.array([[0.0, 0.0], [np.inf, 0.0]]))
    assert policy.rounds == 0
