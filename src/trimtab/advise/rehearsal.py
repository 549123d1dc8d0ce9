"""A spec, rehearsed: its tuner, with its guards, in worlds drawn from the prior.

Losses are drawn so that each changes by about its range over the box and is 0.5 at the start.
Guardrails are simulated where all that they read are objectives, or where they compare one metric
with its baseline; such a metric then changes by about half of its baseline. Others are left out
and named. Nothing is written: decisions and tells are events in memory.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from trimtab.arrays import Array
from trimtab.learn import Prior
from trimtab.live.planning import decide
from trimtab.live.spec.constraint import Constraint
from trimtab.live.spec.problem_and_policy import watched_problem
from trimtab.live.spec.spec import Spec
from trimtab.live.state.projection import Projection
from trimtab.live.store.event import Draft, microseconds
from trimtab.model.problem import Problem

WORLDS, ROUNDS = 4, 150
MINUTES = 10  # between two rounds, where limits are given by time
METRIC_NOISE, METRIC_SPREAD = 0.03, 0.5  # of its baseline
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What came of it, over all worlds."""

    worlds: int
    rounds: int
    minutes: int
    cost: float  # loss and price of moves, as a share of staying put
    error: float  # its standard error over the worlds
    half: int | None  # rounds until half of what there was to gain; None: not within these rounds
    moves: float  # a day
    breach: float  # the share of worlds in which a guardrail was broken and rolled back
    harm: float  # the share of worlds in which staying put would have cost less
    left_out: tuple[str, ...]  # rules that were not simulated

    def __str__(self) -> str:
        """A few sentences for people."""
        half = f"{self.half:,} rounds" if self.half is not None else f"more than {self.rounds:,}"
        told = (
            f"Simulated with these guards, {self.worlds} worlds of {self.rounds:,} rounds, one "
            f"every {self.minutes} minutes: it costs {self.cost:.2f} (+-{self.error:.2f}) of "
            f"staying put, price of moves included; half of the gain after {half}; "
            f"{self.moves:.1f} moves a day; a guardrail broke in {self.breach:.0%} of the worlds; "
            f"staying put was better in {self.harm:.0%}."
        )
        missing = f" Not simulated: {', '.join(self.left_out)}." if self.left_out else ""
        return told + missing


def rehearse(spec: Spec, *, worlds: int = WORLDS, rounds: int = ROUNDS) -> Rehearsal:
    """What the tuner of a spec does in worlds that its prior takes for likely."""
    kept = tuple(rule for rule in spec.constraints if _simulated(spec, rule))
    left = tuple(rule.rule for rule in spec.constraints if rule not in kept)
    read = {name for rule in kept for name in rule.metrics}
    metrics = {name: unit for name, unit in spec.metrics.items() if name in read}
    own = replace(spec, constraints=kept, metrics=metrics, mode="auto", control=False)
    objectives = tuple(replace(each, covariates=()) for each in own.objectives)
    own = replace(own, objectives=objectives)
    runs = [_played(own, rounds, np.random.default_rng((11, n))) for n in range(worlds)]
    paths = np.mean([path for path, _, _, _ in runs], axis=0)
    stay, end = float(paths[0]), float(paths[-rounds // 5 :].mean())
    below = np.flatnonzero(paths <= 0.5 * (stay + end)) if end < stay else np.empty(0, np.int64)
    shares = [cost / (path[0] * rounds) for path, cost, _, _ in runs]
    return Rehearsal(
        worlds=worlds,
        rounds=rounds,
        minutes=MINUTES,
        cost=float(np.mean(shares)),
        error=float(np.std(shares, ddof=1) / np.sqrt(worlds)) if worlds > 1 else float("inf"),
        half=int(below[0]) if below.size else None,
        moves=float(np.mean([moves for _, _, moves, _ in runs])) / rounds * 1440 / MINUTES,
        breach=float(np.mean([rollbacks > 0 for _, _, _, rollbacks in runs])),
        harm=float(np.mean([share > 1.0 for share in shares])),
        left_out=left,
    )


def _simulated(spec: Spec, rule: Constraint) -> bool:
    objectives = {each.name for each in spec.objectives}
    based = len(rule.metrics) == 1 and bool(rule.baselines)
    return rule.kind == "guardrail" and (based or set(rule.metrics) <= objectives)


def _drawn(problem: Problem, rng: np.random.Generator) -> Array:
    """Parameters as the prior has them, for losses that change by about 1."""
    bound = Prior(spread=1.0, sigma=1.0).bind(problem)
    normal = rng.standard_normal(int(problem.features.offsets[-1]))
    return bound.parameters(np.ones(problem.criteria), normal)


def _means(problem: Problem, theta: Array, state: Array) -> Array:
    return np.add.reduceat(problem.phi(state) * theta, problem.features.offsets[:-1])


def _played(spec: Spec, rounds: int, rng: np.random.Generator) -> tuple[Array, float, int, int]:
    """Expected losses by round, total cost, moves and rollbacks of one world."""
    problem, weights = spec.problem, spec.problem.weights
    theta, sigma = _drawn(problem, rng), spec.beliefs.assumed_sigma
    others = {
        name: (p := watched_problem(spec.knobs, spec.scope(rule)), _drawn(p, rng))
        for rule in spec.constraints
        for name in rule.metrics
        if name in spec.metrics
    }
    level = 0.5 - _means(problem, theta, spec.start)
    begin = {"spec": json.dumps(spec.to_dict()), "seed": 0, "shadow": False}
    projection = Projection.begun(Draft(kind="begin", payload=begin, at=START).sealed("r", 1, b""))
    path, price, before, now = np.empty(rounds), 0.0, spec.start, START
    for t in range(rounds):
        payload = decide(projection.tuner_state, projection.learned, None, microseconds(now))
        number = projection.number + 1
        projection.take(Draft(kind="decide", payload=payload, at=now).sealed("r", number, b""))
        state = np.array(projection.tuner_state.state)
        losses = level + _means(problem, theta, state)
        noisy = losses + sigma * rng.standard_normal(losses.size)
        told: dict[str, Any] = {
            each.name: [each.value(float(y)), None, 1]
            for each, y in zip(spec.objectives, noisy, strict=True)
        }
        for name, (p, own) in others.items():
            far = float(_means(p, own, state)[0] - _means(p, own, spec.start)[0])
            noise = METRIC_NOISE * rng.standard_normal()
            told[name] = [float(1.0 + METRIC_SPREAD * far + noise), None, 1]
        now += timedelta(minutes=MINUTES)
        tell = {"decision": number, "metrics": told}
        projection.take(Draft(kind="tell", payload=tell, at=now).sealed("r", number + 1, b""))
        path[t] = float(weights @ losses)
        price += float(problem.move_cost @ np.abs(state - before))
        before = state
    final = projection.tuner_state
    return path, float(path.sum()) + price, final.changes, final.rollbacks
