"""Promises of the guards, over random systems, specs, clocks, restarts and late tells.

All of it is computed beside the tuner, from its answers alone. TRIMTAB_FUZZ_EXAMPLES multiplies
the number of systems, in units of 700.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
import trimtab.live.follower as module
from tests.live.tuners import Clock
from trimtab.live import Constraint, Decision, Knob, Spec
from trimtab.live.replay import replay
from trimtab.live.store.opening import open_journal

SYSTEMS = max(int(4 * int(os.environ.get("TRIMTAB_FUZZ_EXAMPLES", "700")) / 700), 1)
ROUNDS = 70
CLOSE = 1e-7


def random_spec(rng: np.random.Generator) -> Spec:
    """Two or three knobs with any limits, a guardrail that bites."""

    def window() -> Any:
        return f"{rng.integers(20, 200)}m" if rng.random() < 0.5 else int(rng.integers(1, 6))

    knobs: dict[str, Any] = {}
    for name in ("a", "b", "c")[: rng.integers(2, 4)]:
        gentle: dict[str, Any] = {"move_cost": float(rng.choice([0.0, 0.1]))}
        whole = rng.random() < 0.3
        if rng.random() < 0.8:
            gentle["max_step"] = int(rng.integers(1, 4)) if whole else float(rng.uniform(0.05, 0.4))
            if rng.random() < 0.5:
                gentle["per"] = window()
        if rng.random() < 0.5:
            gentle["budget"] = 5 if whole else float(rng.uniform(0.5, 1.5))
            if rng.random() < 0.5:
                gentle["budget_per"] = window()
        if rng.random() < 0.3 and not whole:
            gentle["tolerance"] = 0.02
        if rng.random() < 0.4:
            gentle["stabilize_for"] = int(rng.integers(1, 3))
        knobs[name] = {"low": 0, "high": 10, "start": int(rng.integers(2, 9)), "scale": "integer"}
        if not whole:
            knobs[name] = {"low": 0.0, "high": 1.0, "start": float(rng.uniform(0.2, 0.8))}
        knobs[name]["stability"] = gentle
    rail = {
        "rule": f"pain <= {rng.uniform(1.05, 1.4):.3f} * baseline",
        "kind": "guardrail",
        "patience": int(rng.integers(1, 3)),
        "safety": float(rng.choice([0.0, 0.6, 0.975])),
    }
    return Spec.from_dict(
        {
            "name": "any",
            "baseline_observations": 3,
            "knobs": knobs,
            "objectives": {"cost": {"knobs": list(knobs), "low": 0.0, "high": 3.0}},
            "metrics": {"pain": ""},
            "constraints": [rail],
        }
    )


@dataclass
class Witness:
    """Who sees all decisions, and nothing else."""

    spec: Spec
    moves: list[tuple[Any, int, list[float], bool]] = field(default_factory=list)
    rolled: int = 0  # decisions of guardrail rollbacks

    def distance(self, knob: Knob, x: float, y: float) -> float:
        return abs(knob.normalise(x) - knob.normalise(y))

    def used(self, j: int, window: Any, now: Any, round: int) -> float:
        if window is None:
            return 0.0
        if window.seconds is not None:
            since = now - timedelta(seconds=window.seconds)
            return sum(far[j] for at, _, far, _ in self.moves if at > since)
        return sum(far[j] for _, r, far, _ in self.moves if r > round - window.amount)

    def step_left(self, j: int, now: Any, round: int) -> float:
        knob = self.spec.knobs[j]
        return knob.max_step - self.used(j, knob.stability.per, now, round)

    def budget_left(self, j: int, now: Any, round: int) -> float:
        knob = self.spec.knobs[j]
        if knob.stability.budget_per is None:
            return knob.budget - sum(far[j] for _, _, far, _ in self.moves)
        return knob.budget - self.used(j, knob.stability.budget_per, now, round)

    def sees(self, decision: Decision, goal: Any, *, by_guardrail: bool) -> None:
        """Check a new decision against every limit."""
        far = []
        over = False
        for j, knob in enumerate(self.spec.knobs):
            x, y = decision.values[knob.name], decision.previous[knob.name]
            assert knob.low <= x <= knob.high
            moved = self.distance(knob, x, y)
            far.append(moved)
            if not moved:
                continue
            assert moved <= self.step_left(j, decision.at, decision.round) + CLOSE
            beyond = moved > self.budget_left(j, decision.at, decision.round) + CLOSE
            assert not beyond or by_guardrail
            over |= beyond
        assert over == any("beyond its budget" in note for note in decision.notes)
        if by_guardrail and decision.reason == "rollback":
            self.rolled += 1
            self.goes_on(decision, goal)
        if any(far):
            self.moves.append((decision.at, decision.round, far, by_guardrail))

    def goes_on(self, decision: Decision, goal: Any) -> None:
        """A rollback uses all that max_step leaves, whatever the budget says."""
        for j, knob in enumerate(self.spec.knobs):
            name = knob.name
            before = self.distance(knob, decision.previous[name], goal[name])
            after = self.distance(knob, decision.values[name], goal[name])
            left = min(max(self.step_left(j, decision.at, decision.round), 0.0), 1.0)
            if knob.steps:
                left = int(left * knob.steps + CLOSE) / knob.steps
            if min(before, left) >= knob.tolerance:
                assert after <= max(before - left, 0.0) + CLOSE


@dataclass
class Alertness:
    """Who counts breaches at the deployed state, in the order in which they are told."""

    rule: Constraint
    values: Any = None
    breaches: int = 0
    seen: int = 0  # breaches that had to be answered

    def decided(self, decision: Decision) -> None:
        if decision.values != self.values:
            self.values, self.breaches = decision.values, 0

    def told(self, tuner: tt.Tuner, values: Any, metrics: dict[str, float]) -> None:
        """A row of breaches turns back at once; it may go on where no good state is known."""
        holds = self.rule.holds(metrics, self.known)
        if values == self.values and holds is not None:
            self.breaches = 0 if holds else self.breaches + 1
        if self.breaches >= self.rule.patience:
            self.seen += 1
            assert tuner.status().mode in ("rollback", "paused")

    known: dict[str, float] = field(default_factory=dict)  # baselines before the tell


def pain(spec: Spec, values: Any, slopes: Any, rng: np.random.Generator) -> dict[str, float]:
    u = np.array([knob.normalise(values[knob.name]) for knob in spec.knobs])
    start = spec.start
    return {
        "cost": float(1.5 - slopes @ (u - start) + ((u - start) ** 2).sum() + 0.05 * rng.normal()),
        "pain": float(1.0 + 0.8 * slopes @ (u - start) + 0.03 * rng.normal()),
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_no_limit_is_exceeded_and_the_way_back_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(module, "SNAPSHOT_EVERY", 11)
    rng = np.random.default_rng(seed)
    spec, clock = random_spec(rng), Clock()
    witness, slopes = Witness(spec), rng.uniform(-1.0, 1.0, len(spec.knobs))
    late: list[tuple[Decision, dict[str, float]]] = []
    alert = Alertness(spec.constraints[0])

    def tell(decision: Decision, metrics: dict[str, float]) -> None:
        alert.known = dict(tuner.status().baselines)
        tuner.tell(decision.id, metrics)
        alert.told(tuner, decision.values, metrics)

    def opened() -> tt.Tuner:
        return tt.Tuner(spec, storage=str(tmp_path / "a.db"), clock=clock, seed=seed)

    tuner = opened()
    for round in range(ROUNDS):
        if rng.random() < 0.1:
            tuner.close()
            tuner = opened()
        if rng.random() < 0.05:
            knob = spec.knobs[rng.integers(len(spec.knobs))]
            tuner.override({knob.name: knob.value(float(rng.integers(0, 2)))})
        elif rng.random() < 0.15:
            tuner.resume()
            alert.breaches = 0
        status = tuner.status()
        decision = tuner.ask(f"client {round}")
        by_guardrail = status.mode == "rollback"
        witness.sees(decision, status.goal or status.values, by_guardrail=by_guardrail)
        obstacles_are_real(spec, status, decision)
        alert.decided(decision)
        told = pain(spec, decision.values, slopes, rng)
        if rng.random() < 0.2:
            late.append((decision, told))
        else:
            tell(decision, told)
        while late and rng.random() < 0.3:
            tell(*late.pop(0))
        clock.wait(minutes=float(rng.uniform(1.0, 60.0)))
        if rng.random() < 0.05:  # a host whose clock is behind, or was set back
            clock.wait(minutes=-float(rng.uniform(1.0, 300.0)))
    tuner.close()
    with open_journal(str(tmp_path / "a.db"), read_only=True) as journal:
        assert replay(journal, "any").same


def obstacles_are_real(spec: Spec, status: Any, decision: Decision) -> None:
    """The knobs that status calls held are those that do not reach the goal."""
    if any(each.knob is None for each in status.obstacles) or status.goal is None:
        return
    short = set()
    for knob in spec.knobs:
        left = abs(
            knob.normalise(decision.values[knob.name]) - knob.normalise(status.goal[knob.name])
        )
        if left > 0.0 and abs(
            knob.normalise(decision.previous[knob.name]) - knob.normalise(status.goal[knob.name])
        ) >= knob.tolerance * (1.0 - 1e-9):
            short.add(knob.name)
    unsafe = any("may not hold there" in note for note in decision.notes)
    assert unsafe or short == {each.knob for each in status.obstacles}, (decision, status)
