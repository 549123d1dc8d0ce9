"""Looks by the core in one call: as the readable steps would have it, and they are used."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab import _core
from trimtab.policies import LazyPolicy
from trimtab.policies.learner import Learner
from trimtab.sim.worlds import World


def ring_world(seed: int, *, move_cost: float = 1.0) -> World:
    ring = tt.Graph.from_edges(5, [(j, (j + 1) % 5) for j in range(5)])
    return tt.worlds.quadratic(ring, seed=seed, move_cost=move_cost)


def path(policy: LazyPolicy, world: World, rounds: int) -> list[list[float]]:
    rng = np.random.default_rng(7)
    found = []
    for _ in range(rounds):
        policy.tell(world.draw(policy.ask(), rng))
        found.append(policy.ask().tolist())
    return found


OPTIONS: dict[str, dict[str, Any]] = {
    "told nothing": {},
    "losses have a least value": {"prior": tt.Prior(least=-0.2)},
    "a radius": {"radius": 0.3},
    "a confidence": {"radius": tt.Confidence(sigma=0.1, norm=2.0)},
}


@pytest.mark.parametrize("move_cost", [0.0, 2.0])
@pytest.mark.parametrize("name", OPTIONS)
def test_moves_are_weighed_as_by_hand(
    name: str, move_cost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = ring_world(3, move_cost=move_cost)
    start = np.full(5, 0.5)
    fast = path(tt.SteadyGraphLinUCB(world.problem, start=start, **OPTIONS[name]), world, 80)
    asked: list[int] = []
    monkeypatch.setattr(Learner, "weighed", lambda *_, **__: asked.append(1))
    slow = path(tt.SteadyGraphLinUCB(world.problem, start=start, **OPTIONS[name]), world, 80)
    assert len(asked) > 5
    assert len({tuple(state) for state in fast}) > 2
    np.testing.assert_allclose(fast, slow, atol=1e-9)


def test_algorithm_1_is_as_by_hand() -> None:
    world = ring_world(4)
    fast, slow = (
        tt.LazyGraphLinUCB(world.problem, start=np.full(5, 0.5), radius=0.5) for _ in range(2)
    )
    slow.learner.__dict__["local"] = None
    np.testing.assert_allclose(path(fast, world, 120), path(slow, world, 120), atol=1e-9)
    assert fast.certificate.bound == pytest.approx(slow.certificate.bound, rel=1e-12)
    assert fast.learner.solved == slow.learner.solved > 5


class Counted:
    """An object of the core whose calls are counted."""

    def __init__(self, core: Any, calls: Counter[str]) -> None:
        self.core, self.calls = core, calls

    def __getattr__(self, name: str) -> Any:
        def door(*given: Any, **named: Any) -> Any:
            self.calls[name] += 1
            named = {n: x.core if isinstance(x, Counted) else x for n, x in named.items()}
            return getattr(self.core, name)(*given, **named)

        return door


def test_a_tell_is_one_call_and_a_look_one_more() -> None:
    world, rng = ring_world(1), np.random.default_rng(0)
    policy = tt.LazyGraphLinUCB(world.problem, start=np.full(5, 0.5), radius=0.5)
    learner, calls = policy.learner, Counter[str]()
    learner.__dict__["local"] = Counted(learner.local, calls)
    stats = learner.estimators.stats
    stats.__dict__["core"] = Counted(stats.core, calls)
    looks = 0
    for _ in range(200):
        calls.clear()
        told = policy.tell(world.draw(policy.ask(), rng))
        looks += told.cause != "none"
        assert calls == {"add": 1} | ({"update": 1} if told.cause != "none" else {})
    assert looks > 5


def test_a_look_of_the_recommended_policy_is_five_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside that of its tell; one of them only while spread and noise are learned."""
    world, rng = ring_world(1), np.random.default_rng(0)
    policy = tt.SteadyGraphLinUCB(world.problem, start=np.full(5, 0.5))
    learner, calls = policy.learner, Counter[str]()
    stats, features = learner.estimators.stats, world.problem.features
    assert isinstance(features, tt.bases.Monomials)
    learner.lcb.__dict__["core"] = Counted(learner.lcb.core, calls)
    stats.__dict__["core"] = Counted(stats.core, calls)
    monkeypatch.setattr(features, "fill", Counted(features.core, calls).fill)
    monkeypatch.setattr("trimtab.solve.bound.predict", Counted(_core, calls).predict)
    looks = 0
    for _ in range(400):
        losses = world.draw(policy.ask(), rng)
        calls.clear()
        told = policy.tell(losses)
        if told.cause in ("trigger", "review") and learner.clock > 150:
            looks += 1
            doors = ("add", "compare", "flush", "likelihood", "weigh")
            assert calls in (dict.fromkeys(doors, 1), dict.fromkeys((*doors, "begin"), 1))
    assert looks > 3
