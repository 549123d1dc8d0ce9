"""A run by objective, with its price and its certificate, against the loop by hand."""

from __future__ import annotations

import io
import pickle
import sys
import time
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.sim.test_play import refused
from trimtab.arrays import Array
from trimtab.sim.worlds import Drifting, World

RING = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
FIRST = tt.worlds.quadratic(RING, seed=1, move_cost=2.0)


def again(seed: int) -> World:
    """Another world of the same problem."""
    drawn = tt.worlds.quadratic(RING, seed=seed, move_cost=2.0)
    return World(
        FIRST.problem,
        theta=np.split(drawn.theta, FIRST.problem.features.offsets[1:-1]),
        noise=FIRST.noise,
    )


DRIFTING = Drifting([FIRST, again(2)], changes=[120])


def steady(world: World | Drifting) -> tt.SteadyGraphLinUCB:
    return tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 4)


def by_hand(policy: Any, world: World | Drifting, rounds: int) -> dict[str, Array]:
    """The same run, every round by itself."""
    rng, before = np.random.default_rng(3), policy.start
    rows: dict[str, list[Any]] = {"losses": [], "best": [], "price": [], "bound": []}
    for t in range(1, rounds + 1):
        state, now = policy.ask(), world.at(t)[0]
        rows["price"].append(2.0 * np.abs(state - before).sum())
        rows["losses"].append(now.mean(state))
        rows["best"].append(now.mean(now.optimum.state))
        before = state
        told = policy.tell(now.draw(state, rng, t))
        rows["bound"].append(policy.certificate.bound if told.cause != "none" else np.nan)
    return {name: np.array(row) for name, row in rows.items()}


@pytest.mark.parametrize("world", [FIRST, DRIFTING], ids=["still", "drifting"])
def test_losses_and_regret_by_objective_and_with_the_price(world: Any) -> None:
    trace = tt.play(steady(world), world, horizon=300, seed=3, path="rounds")
    hand = by_hand(steady(world), world, 300)
    played = trace.lengths > 0
    dense = np.repeat(trace.losses[played], trace.lengths[played], axis=0)
    np.testing.assert_allclose(dense, hand["losses"], atol=1e-12)
    np.testing.assert_allclose(
        np.repeat(trace.best_losses[played], trace.lengths[played], axis=0), hand["best"]
    )
    each = hand["losses"] - hand["best"]
    at = [0, 1, 119, 120, 121, 300]
    paid = np.vstack((np.zeros(4), np.cumsum(each, axis=0)))
    np.testing.assert_allclose(trace.regrets_at(at), paid[at], atol=1e-9)
    np.testing.assert_allclose(trace.regrets, each.sum(axis=0), atol=1e-9)
    assert trace.regrets.sum() == pytest.approx(trace.regret, abs=1e-6)
    prices = np.concatenate(([0.0], np.cumsum(hand["price"])))
    np.testing.assert_allclose(
        trace.total_regret_at(at), paid.sum(axis=1)[at] + prices[at], atol=1e-6
    )
    assert trace.total_regret == pytest.approx(trace.regret + trace.move_cost)
    assert trace.moves > 3
    assert (trace.regrets < 0).any()  # some objective would rather be elsewhere


def test_weights_count_in_regrets_and_not_in_losses() -> None:
    graph = tt.Graph.from_scopes([[0], [0]], knobs=1)
    problem = tt.Problem(graph, basis=tt.bases.Linear(normalize=False), weights=[3.0, 1.0])
    world = World(problem, theta=[[1.0], [1.0]], noise=tt.worlds.Gaussian(0.0))
    trace = tt.play(tt.FixedState(problem, start=[0.5]), world, horizon=10)
    np.testing.assert_allclose(trace.losses, [[0.5, 0.5]])
    np.testing.assert_allclose(trace.regrets, [15.0, 5.0])


def test_a_change_of_objectives_that_leaves_the_total_is_seen() -> None:
    graph = tt.Graph.from_scopes([[0], [0]], knobs=1)
    problem = tt.Problem(graph, basis=tt.bases.Linear(intercept=True, normalize=False))
    noise = tt.worlds.Gaussian(0.0)
    a, b = (World(problem, theta=[[x, 0.0], [1 - x, 0.0]], noise=noise) for x in (0.2, 0.7))
    world = Drifting([a, b], changes=[6])
    for path in ("rounds", "auto"):
        policy = tt.LazyGraphLinUCB(
            problem, start=[0.5], radius=1e-9, factor=1e9, cold_start="keep", review=False
        )
        trace = tt.play(policy, world, horizon=10, path=path)
        assert trace.ends.tolist() == [5, 10]
        np.testing.assert_allclose(trace.losses, [[0.2, 0.8], [0.7, 0.3]])


def test_the_certificate_over_time() -> None:
    world, radius = FIRST, tt.Confidence(sigma=0.1, norm=FIRST.norms)

    def policy() -> tt.LazyGraphLinUCB:
        return tt.LazyGraphLinUCB(world.problem, start=[0.5] * 4, radius=radius)

    trace = tt.play(policy(), world, horizon=300, seed=3, path="rounds")
    hand = by_hand(policy(), world, 300)["bound"]
    looks = np.flatnonzero(~np.isnan(hand)) + 1
    assert trace.bounded[:-1].tolist() == looks[looks < 300].tolist()
    assert trace.bounded[-1] == 300
    assert trace.bounds[:-1].tolist() == hand[looks[looks < 300] - 1].tolist()
    assert (trace.regret_at(trace.bounded) <= trace.bounds).all()
    assert looks.size > 5


@pytest.mark.parametrize("kind", [tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB])
def test_the_certificate_of_jumps_ends_where_the_policy_is(kind: Any) -> None:
    policy = kind(FIRST.problem, start=[0.5] * 4, radius=0.5)
    trace = tt.play(policy, FIRST, horizon=10**6)
    assert trace.bounds[-1] == policy.certificate.bound
    assert (np.diff(trace.bounds) >= 0).all()
    assert (np.diff(trace.bounded) > 0).all()


def test_tables() -> None:
    trace = tt.play(steady(FIRST), FIRST, horizon=200, seed=3)
    stretches = trace.to_pandas()
    assert len(stretches) == trace.ends.size
    assert stretches["rounds"].sum() == 200
    assert stretches["regret"].sum() == pytest.approx(trace.regret)
    assert stretches["movement"].sum() == pytest.approx(trace.movement)
    assert stretches["price"].sum() == pytest.approx(trace.move_cost)
    np.testing.assert_array_equal(stretches[[f"knob {j}" for j in range(4)]], trace.states)
    np.testing.assert_array_equal(stretches[[f"objective {i}" for i in range(4)]], trace.losses)
    np.testing.assert_array_equal(stretches["first"].iloc[1:], stretches["last"].iloc[:-1] + 1)
    objectives = trace.to_pandas("objectives")
    assert objectives["regret"].sum() == pytest.approx(trace.regret, abs=1e-6)
    assert (objectives["loss"] - objectives["best"]).sum() == pytest.approx(trace.regret, abs=1e-6)
    looks = trace.to_pandas("looks")
    assert looks["round"].tolist() == [record.round for record in trace.records]
    assert looks["text"].iloc[-1] == str(trace.records[-1])
    certificate = trace.to_pandas("certificate")
    assert certificate["bound"].tolist() == trace.bounds.tolist()
    with refused(
        "what = 'rounds'; choose one of 'stretches', 'objectives', 'looks', 'certificate'"
    ):
        trace.to_pandas("rounds")  # type: ignore[arg-type]


def test_a_trace_travels_without_its_world() -> None:
    trace = tt.play(steady(FIRST), FIRST, horizon=50)
    bare = pickle.loads(pickle.dumps(trace))
    assert bare.regret == trace.regret
    assert "objective 0" not in bare.to_pandas()
    with pytest.raises(ValueError, match="losses by objective need the world"):
        _ = bare.losses
    losses = trace.losses
    again = pickle.loads(pickle.dumps(trace))
    np.testing.assert_array_equal(again.losses, losses)
    np.testing.assert_array_equal(again.regrets, trace.regrets)


def test_convex_losses_have_no_objectives() -> None:
    world = tt.worlds.Adversarial(tt.Box(), knobs=2, adversary=tt.worlds.RandomSigns())
    policy = tt.LazyOGD(world.domain, start=[0.5] * 2, horizon=20, lipschitz=1.0, budget=5)
    trace = tt.play(policy, world, horizon=20)
    assert trace.to_pandas()["rounds"].sum() == 20
    assert trace.bounds.size == 0
    with pytest.raises(ValueError, match="convex losses have no objectives"):
        _ = trace.regrets


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def slow(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """A clock on which every round takes so long."""
    now = iter(np.arange(10**6) * seconds)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))


@pytest.mark.parametrize(
    ("stream", "asked", "seconds", "shown"),
    [
        (Terminal, None, 0.1, True),
        (Terminal, None, 0.001, False),  # over before anybody could wonder
        (Terminal, False, 0.1, False),
        (io.StringIO, None, 0.1, False),
        (io.StringIO, True, 0.1, True),
    ],
)
def test_a_bar_is_shown_where_a_person_watches(
    monkeypatch: pytest.MonkeyPatch, stream: Any, asked: Any, seconds: float, shown: bool
) -> None:
    seen = stream()
    monkeypatch.setattr(sys, "stderr", seen)
    slow(monkeypatch, seconds)
    tt.play(steady(FIRST), FIRST, horizon=100, path="rounds", progress=asked)
    assert ("SteadyGraph" in seen.getvalue()) is shown
    assert ("100/100" in seen.getvalue()) is shown
