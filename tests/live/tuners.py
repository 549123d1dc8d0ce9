"""What the tests of the tuner share: a small system, a clock that is set by hand, an oracle."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import trimtab as tt
from trimtab.arrays import Array
from trimtab.live import Spec
from trimtab.live.state.measurement import lesson_of

SPEC = """
name = "shop"
baseline_observations = 2
[knobs.ttl]
low = 30
high = 3000
start = 300
scale = "log"
unit = "s"
stability = { max_step = 2, stabilize_for = 1, move_cost = 0.1 }
[knobs.size]
low = 0
high = 10
start = 5
scale = "integer"
stability = { max_step = 3, per = "1h", budget = 40 }
[knobs.mix]
low = 0.0
high = 1.0
start = 0.5
stability = { tolerance = 0.02, max_step = 0.3, per = 3, budget = 3.0, budget_per = 50 }
[objectives.latency]
unit = "ms"
knobs = ["ttl", "size"]
low = 50
high = 250
noise = 10
[objectives.sales]
knobs = ["size", "mix"]
low = 0
high = 10
direction = "maximise"
noise = 0.5
[metrics]
errors = "%"
load = ""
[[constraints]]
rule = "errors <= 2 * baseline"
kind = "guardrail"
patience = 2
[[constraints]]
rule = "load < 9"
kind = "signal"
[policy]
kind = "SteadyGraphLinUCB"
alarm = false
delta = 0.05
"""

Moments = list[tuple[Array, Array, float]]  # V, b and log det, by objective
T0 = datetime(2026, 5, 6, tzinfo=UTC)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = T0

    def __call__(self) -> datetime:
        return self.now

    def wait(self, **duration: float) -> None:
        self.now += timedelta(**duration)


def spec_with(**changes: Any) -> Spec:
    """The spec with other tables; a dotted name goes inside."""
    plain = Spec.parse(SPEC).to_dict()
    for name, value in changes.items():
        holder, *path = plain, *name.split("__")
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = value
    return Spec.from_dict(plain)


FREE = spec_with(
    knobs__ttl__stability={"move_cost": 0.1},
    knobs__size__stability={},
    knobs__mix__stability={},
    constraints=[],
)


def tuner_at(path: Path, clock: Clock, spec: Spec | None = None, **options: Any) -> tt.Tuner:
    """A tuner with its journal in a folder."""
    return tt.Tuner(spec or spec_with(), storage=str(path / "a.db"), clock=clock, **options)


def world(values: Mapping[str, float], rng: np.random.Generator) -> dict[str, float]:
    """What the system does at these values."""
    u = np.log(values["ttl"] / 30.0) / np.log(100.0)
    return {
        "latency": float(60 + 200 * (u - 0.8) ** 2 + 2 * (values["size"] - 7) ** 2 + rng.normal()),
        "sales": float(
            8 - 8 * (values["mix"] - 0.2) ** 2 + 0.1 * values["size"] + rng.normal() / 4
        ),
        "errors": float(1 + 0.1 * rng.random()),
        "load": 1.0,
    }


def play(tuner: tt.Tuner, clock: Clock, rounds: int, *, seed: int = 0, **wait: float) -> list[Any]:
    """The decisions of this number of rounds in which all is told."""
    made = []
    for _ in range(rounds):
        decision = tuner.ask()
        made.append(decision)
        clock.wait(**(wait or {"minutes": 30}))
        rng = np.random.default_rng((seed, decision.round))
        tuner.tell(decision.id, world(decision.values, rng))
    return made


def matrices(tuner: tt.Tuner) -> Moments:
    """V, b and log det of every objective, after all that was told."""
    learned = tuner._projection.learned
    learned.policy.place(learned.deployed)
    learner = learned.policy.learner
    learner.absorb(learner.problem.all_criteria)
    found = []
    for i in range(learner.problem.criteria):
        R, v, _ = learner.estimators.split(i)
        found.append((R @ R.T, R @ v, 2.0 * float(np.log(np.diag(R)).sum())))
    return found


def direct(spec: Spec, seen: list[tuple[Array, dict[str, Any]]]) -> Moments:
    """The same by their definitions: states, and what was told there as [mean, sem, count]."""
    problem, reg, found = spec.problem, spec.beliefs.reg, []
    for i in range(problem.criteria):
        a, b = problem.features.offsets[i : i + 2]
        V, moment = reg[i] * np.eye(b - a), np.zeros(b - a)
        for state, told in seen:
            losses, counts = lesson_of(spec, told)
            if not np.isnan(losses[i]):
                phi = problem.phi(state)[a:b]
                V += counts[i] * np.outer(phi, phi)
                moment += counts[i] * losses[i] * phi
        found.append((V, moment, float(np.linalg.slogdet(V)[1])))
    return found


def assert_same(ours: Moments, oracle: Moments) -> None:
    """Both are the same to 1e-9."""
    for (V, b, logdet), (W, c, other) in zip(ours, oracle, strict=True):
        np.testing.assert_allclose(V, W, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(b, c, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(logdet, other, rtol=1e-9, atol=1e-9)
