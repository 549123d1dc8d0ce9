"""Budgets for blocks of knobs: each block is the policy of its own knobs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.errors import InvalidInput

T = 60


def policy(**options: Any) -> tt.LazyOGD:
    given: dict[str, Any] = {
        "start": [0.5, 0.2, 0.9],
        "horizon": T,
        "lipschitz": 1.0,
        "budget": 10,
    } | options
    return tt.LazyOGD(tt.Box(), **given)


def told(made: tt.LazyOGD, gradients: Any) -> list[list[float]]:
    path = []
    for g in gradients:
        made.tell(g)
        path.append(made.ask().tolist())
    return path


def random_gradients(seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-0.5, 0.5, (T, 3))


@pytest.mark.parametrize("mode", ["blocks", "random"])
def test_one_block_of_all_knobs_is_one_budget(mode: Any) -> None:
    a = policy(mode=mode)
    b = policy(mode=mode, blocks=[[0, 1, 2]], budget=[10])
    assert told(a, random_gradients()) == told(b, random_gradients())
    assert a.regret_bound == b.regret_bound


@pytest.mark.parametrize("mode", ["blocks", "random"])
def test_a_block_per_knob_is_a_budget_per_knob(mode: Any) -> None:
    a = policy(mode=mode, budget=[30, 10, 5], lipschitz=0.5)
    b = policy(mode=mode, budget=[30, 10, 5], lipschitz=0.5, blocks=[[0], [1], [2]])
    assert told(a, random_gradients()) == told(b, random_gradients())
    assert a.regret_bound == b.regret_bound


def test_each_block_is_the_policy_of_its_knobs() -> None:
    """A slower route: two policies, one per block, that never hear of each other."""
    both = policy(blocks=[[0, 2], [1]], budget=[20, 4], lipschitz=[0.9, 0.6])
    first = tt.LazyOGD(tt.Box(), start=[0.5, 0.9], horizon=T, lipschitz=0.9, budget=20)
    second = tt.LazyOGD(tt.Box(), start=[0.2], horizon=T, lipschitz=0.6, budget=4)
    for g in random_gradients(1):
        both.tell(g)
        first.tell(g[[0, 2]])
        second.tell(g[[1]])
        assert both.ask()[[0, 2]].tolist() == first.ask().tolist()
        assert both.ask()[[1]].tolist() == second.ask().tolist()
    assert both.regret_bound == pytest.approx(first.regret_bound + second.regret_bound)


def test_budgets_of_blocks_are_kept_and_the_bound_holds() -> None:
    world = tt.worlds.Adversarial(tt.Box(), knobs=3, adversary=tt.worlds.Contrarian())
    made = policy(blocks=[[0, 2], [1]], budget=[12, 5], horizon=600, start=[0.5] * 3)
    trace = tt.play(made, world, horizon=600, seed=1)
    moved = [set(trace.changed[a:b].tolist()) for a, b in pairwise(trace.offsets.tolist())]
    assert sum(1 for knobs in moved if knobs & {0, 2}) <= 12
    assert sum(1 for knobs in moved if 1 in knobs) <= 5
    assert trace.regret <= made.regret_bound


def test_snapshots_hold_the_blocks() -> None:
    made = policy(blocks=[[0, 2], [1]], budget=[20, 4])
    told(made, random_gradients()[:17])
    again = tt.restore(made.domain, made.snapshot())
    assert isinstance(again, tt.LazyOGD)
    assert again.component.tolist() == [0, 1, 0]
    rest = random_gradients()[17:]
    assert told(made, rest) == told(again, rest)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"blocks": [[0, 1]]}, "put each of the 3 knobs into one"),
        ({"blocks": [[0, 1], [1, 2]]}, "put each of the 3 knobs into one"),
        ({"blocks": [[0, 1, 2], []]}, "put each of the 3 knobs into one"),
        ({"blocks": [[0, 1], [3]]}, "knob 3"),
        ({"blocks": [[0, 1], [2]], "budget": [1, 2, 3]}, "budget"),
    ],
)
def test_what_is_refused(options: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        policy(**options)


def test_blocks_are_for_boxes() -> None:
    with pytest.raises(InvalidInput, match="blocks are for a Box"):
        tt.LazyOGD(
            tt.Balls([[0, 1]]),
            start=[0.0, 0.0],
            horizon=5,
            lipschitz=1.0,
            budget=[2],
            blocks=[[0, 1]],
        )
