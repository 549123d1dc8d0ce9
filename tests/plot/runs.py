"""Runs to draw: a trace with its world, and a tuner with a short life."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from math import log
from pathlib import Path
from typing import Any

import numpy as np

import trimtab as tt
from trimtab.live.spec.spec import Spec, example
from trimtab.policies import SteadyGraphLinUCB
from trimtab.sim import Trace
from trimtab.sim.recommender import CRITERIA, KNOBS, START, recommender
from trimtab.sim.worlds import World

NAMES: dict[str, Any] = {"knobs": KNOBS, "objectives": [name for name, _, _ in CRITERIA]}


@cache
def simulated() -> tuple[World, SteadyGraphLinUCB, Trace]:
    world = recommender(noise=0.1, move_cost=2.0)
    policy = tt.SteadyGraphLinUCB(world.problem, start=START)
    return world, policy, tt.play(policy, world, horizon=120, seed=0)


@contextmanager
def tuner(folder: Path, *, rounds: int = 60) -> Iterator[tt.Tuner]:
    """The tuner of `trimtab init` after some rounds, an override and a round without metrics."""
    now = datetime(2026, 3, 1, tzinfo=UTC)
    rng = np.random.default_rng(0)
    spec = Spec.parse(example())
    with tt.Tuner(spec, storage=f"sqlite:///{folder / 'search.db'}", clock=lambda: now) as live:
        for t in range(rounds):
            decision = live.ask()
            ttl, candidates, freshness = decision.values.values()
            now += timedelta(minutes=15)
            if t == rounds // 2:
                live.tell(decision.id, {"error_rate": 1.0})
                continue
            live.tell(
                decision.id,
                {
                    "latency_p99": 330 - 40 * log(ttl / 30) + 0.1 * candidates + rng.normal(0, 15),
                    "click_rate": 3 + 0.002 * candidates + 2 * freshness + rng.normal(0, 0.4),
                    "stale_results": 4 + 0.004 * ttl - 4 * freshness + rng.normal(0, 1),
                    "error_rate": 1 + rng.normal(0, 0.1),
                },
            )
            if t == rounds - 10:
                live.override({"freshness": 0.35}, actor="ada")
        yield live
