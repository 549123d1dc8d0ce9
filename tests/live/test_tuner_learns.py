"""The tuner as a user meets it first: a spec without noise, norms or radius."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import trimtab as tt
from trimtab.live import Spec
from trimtab.live.replay import replay
from trimtab.live.store.opening import open_journal

SPEC = """
name = "shop"
[knobs.ttl]
low = 30
high = 3000
start = 60
scale = "log"
stability = { max_step = 2, stabilize_for = 1, move_cost = 0.1 }
[knobs.size]
low = 1
high = 21
start = 3
scale = "integer"
stability = { max_step = 3, stabilize_for = 1, move_cost = 0.1 }
[knobs.mix]
low = 0.0
high = 1.0
start = 0.9
stability = { max_step = 0.2, move_cost = 0.1 }
[objectives.latency]
knobs = ["ttl", "size"]
low = 50
high = 300
[objectives.sales]
knobs = ["mix", "size"]
direction = "maximise"
low = 2
high = 10
"""


def measured(values: Any, rng: np.random.Generator) -> dict[str, float]:
    u = np.log(values["ttl"] / 30.0) / np.log(100.0)
    latency = 60 + 200 * (u - 0.6) ** 2 + (values["size"] - 12) ** 2
    sales = 8 - 8 * (values["mix"] - 0.3) ** 2 + 0.05 * values["size"]
    wild = 300.0 if rng.random() < 0.02 else 0.0
    return {"latency": latency + 5.0 * rng.normal() + wild, "sales": sales + 0.3 * rng.normal()}


def played(path: Path, rounds: int, seed: int) -> tuple[list[Any], float, float]:
    """The decisions, what they cost, and what staying would have cost, without the noise."""
    spec, now = Spec.parse(SPEC), [datetime(2026, 1, 1, tzinfo=UTC)]
    cost = stay = 0.0
    made = []
    quiet: Any = type("Quiet", (), {"random": lambda self: 1.0, "normal": lambda self: 0.0})()
    with tt.Tuner(spec, storage=str(path / f"{seed}.db"), clock=lambda: now[0]) as tuner:
        for t in range(rounds):
            decision = tuner.ask()
            made.append(decision)
            now[0] += timedelta(minutes=5)
            tuner.tell(decision.id, measured(decision.values, np.random.default_rng((seed, t))))
            cost += spec.losses(measured(decision.values, quiet)).sum()
            stay += spec.losses(measured(spec.values(spec.start), quiet)).sum()
            step = spec.state(decision.values) - spec.state(decision.previous)
            cost += float(spec.problem.move_cost @ np.abs(step))
    return made, float(cost), float(stay)


def test_it_helps_in_the_first_hundred_rounds_and_moves_little(tmp_path: Path) -> None:
    for seed in range(3):
        made, cost, stay = played(tmp_path, 100, seed)
        assert cost < 0.75 * stay
        changes = sum(len(decision.changed) for decision in made)
        assert 3 <= changes <= 60


def test_what_it_wants_is_what_happens(tmp_path: Path) -> None:
    """A look knows what max_step allows, so that a guard hardly ever holds anything back."""
    made, _, _ = played(tmp_path, 150, 5)
    reasons = [decision.reason for decision in made]
    assert reasons.count("move") >= 3
    assert reasons.count("guard") <= 0.1 * len(reasons)


def test_every_decision_comes_out_the_same_again(tmp_path: Path) -> None:
    made, _, _ = played(tmp_path, 60, 1)
    with open_journal(str(tmp_path / "1.db")) as journal:
        found = replay(journal, "shop")
    assert found.same
    assert found.decisions == len(made) == 60
