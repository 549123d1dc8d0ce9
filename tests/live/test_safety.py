"""Guardrails are learned: few breaches, the same future from a snapshot, other limits later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
import trimtab.live.follower as module
from tests.live.tuners import Clock, tuner_at
from trimtab.errors import InvalidInput
from trimtab.live import Constraint, Spec
from trimtab.live.replay import replay
from trimtab.live.store.opening import open_journal

SPEC: dict[str, Any] = {
    "name": "shop",
    "baseline_observations": 5,
    "knobs": {
        name: {
            "low": 0.0,
            "high": 1.0,
            "start": start,
            "stability": {"max_step": 0.2, "stabilize_for": 1, "move_cost": 0.2},
        }
        for name, start in (("a", 0.2), ("b", 0.5))
    },
    "objectives": {"cost": {"knobs": ["a", "b"], "low": 0.0, "high": 2.0}},
    "metrics": {"latency": "ms", "requests": ""},
}


def spec(rule: str = "latency <= 1.4 * baseline", **more: Any) -> Spec:
    """What lowers the cost raises the latency."""
    rail = {"rule": rule, "kind": "guardrail", "patience": 2} | more
    return Spec.from_dict(SPEC | {"constraints": [rail]})


def world(values: Any, rng: np.random.Generator) -> dict[str, float]:
    a, b = values["a"], values["b"]
    noise = rng.normal(size=3)
    return {
        "cost": 1.6 - 1.2 * a + 0.8 * (b - 0.3) ** 2 + 0.05 * noise[0],
        "latency": 100.0 + 120.0 * (a - 0.2) + 30.0 * (b - 0.5) + 5.0 * noise[1],
        "requests": 50.0 + noise[2],
    }


def play(tuner: tt.Tuner, rounds: int, seed: int) -> list[tuple[dict[str, float], float]]:
    """The values of each round and its latency."""
    played = []
    for _ in range(rounds):
        decision = tuner.ask()
        told = world(decision.values, np.random.default_rng((seed, decision.round)))
        tuner.tell(decision.id, told)
        played.append((dict(decision.values), told["latency"]))
    return played


@pytest.mark.slow
def test_a_guardrail_against_the_objective_is_hardly_broken_and_costs_nothing(
    tmp_path: Path,
) -> None:
    """At most a third of the breaches without learning it, at most 1.15 of the cost."""
    breaches, costs = {}, {}
    for safety in (0.0, 0.975):
        seen = []
        for seed in range(2):
            (tmp_path / f"{safety}-{seed}").mkdir()
            with tuner_at(tmp_path / f"{safety}-{seed}", Clock(), spec(safety=safety)) as tuner:
                seen += play(tuner, 150, seed)
        breaches[safety] = sum(latency > 140.0 for _, latency in seen)
        costs[safety] = sum(1.6 - 1.2 * v["a"] + 0.8 * (v["b"] - 0.3) ** 2 for v, _ in seen)
    assert breaches[0.0] >= 15  # it bites
    assert breaches[0.975] <= breaches[0.0] / 3
    assert costs[0.975] <= 1.15 * costs[0.0]
    stays = 2 * 150 * (1.6 - 0.24 + 0.8 * 0.04)
    assert costs[0.975] <= 0.9 * stays  # and what is safe grows with what is learned


@pytest.mark.parametrize(
    "rule",
    [
        "latency <= 140",
        "140 >= latency",
        "latency / requests <= 2.8",
        "2.8 * requests > latency",
        "latency / baseline <= 1.4",
        "requests - latency >= -90",
    ],
)
def test_rules_of_any_shape_are_heeded(tmp_path: Path, rule: str) -> None:
    with tuner_at(tmp_path, Clock(), spec(rule)) as tuner:
        played = play(tuner, 60, 1)
        bound = tuner._projection.learned.safety.upper_bound(0)
    assert any(values["a"] > 0.3 for values, _ in played)  # it goes where it is safe
    assert sum(latency > 140.0 for _, latency in played) <= 3
    assert bound is not None
    assert bound.excess(np.array([1.0, 0.5])) > 0.0  # it knows that this would break it
    with open_journal(str(tmp_path / "a.db"), read_only=True) as journal:
        assert replay(journal, "shop").same


@pytest.mark.parametrize(
    ("rule", "metrics", "reading", "limit"),
    [
        ("latency <= 140", {"latency": 90.0}, 90.0, 140.0),
        ("latency >= 140", {"latency": 90.0}, -90.0, -140.0),
        ("140 > latency", {"latency": 90.0}, 90.0, 140.0),
        ("140 < latency", {"latency": 90.0}, -90.0, -140.0),
        ("latency <= 1.5 * baseline", {"latency": 90.0}, 90.0, 150.0),
        ("latency - baseline <= 3", {"latency": 90.0}, -10.0, 3.0),
        ("latency * 2 <= load", {"latency": 90.0, "load": 100.0}, 80.0, 0.0),
        ("latency / load <= 2", {"latency": 90.0, "load": 0.0}, None, 2.0),
        ("latency <= 140", {"load": 1.0}, None, 140.0),
    ],
)
def test_a_rule_is_a_reading_and_a_limit(
    rule: str, metrics: dict[str, float], reading: float | None, limit: float
) -> None:
    read, baselines = Constraint(rule=rule, kind="guardrail"), {"latency": 100.0}
    assert read.reading(metrics, baselines) == reading
    assert read.limit(baselines) == limit
    holds = read.holds(metrics, baselines)
    assert holds is None if reading is None else holds == (reading <= limit)


def test_a_restart_from_a_snapshot_has_the_same_future(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SNAPSHOT_EVERY", 7)
    paths = []
    for name in ("once", "often"):
        (tmp_path / name).mkdir()
        played: list[Any] = []
        for part in range(12):
            if name == "often" or not part:
                tuner = tuner_at(tmp_path / name, Clock(), spec())
            played += play(tuner, 5, 3)
        paths.append(played)
    assert paths[0] == paths[1]
    assert len({values["a"] for values, _ in paths[0]}) > 2


def test_another_limit_keeps_what_was_learned_and_another_reading_does_not(tmp_path: Path) -> None:
    with tuner_at(tmp_path, Clock(), spec()) as tuner:
        play(tuner, 40, 2)
    with tuner_at(tmp_path, Clock(), spec("latency <= 1.1 * baseline")) as tuner:
        play(tuner, 1, 2)
        (reading,) = tuner._projection.learned.safety.readings.values()
        assert reading.observations > 30
    with tuner_at(tmp_path, Clock(), spec("latency / requests <= 9")) as tuner:
        play(tuner, 1, 2)
        (reading,) = tuner._projection.learned.safety.readings.values()
        assert reading.observations == 1
        play(tuner, 30, 2)
    with open_journal(str(tmp_path / "a.db"), read_only=True) as journal:
        assert replay(journal, "shop").same


def test_a_reading_that_never_varies_does_not_hold_the_tuner(tmp_path: Path) -> None:
    with tuner_at(tmp_path, Clock(), spec("requests <= 2")) as tuner:
        moved = False
        for t in range(40):
            decision = tuner.ask()
            told = world(decision.values, np.random.default_rng(t)) | {"requests": 0.0}
            tuner.tell(decision.id, told)
            moved |= bool(decision.changed)
        assert moved
        assert tuner.status().rollbacks == 0


def test_a_metric_may_name_its_knobs() -> None:
    plain = SPEC | {"metrics": {"latency": {"unit": "ms", "knobs": ["a"]}, "requests": ""}}
    rules = [{"rule": rule, "kind": "guardrail"} for rule in ("latency < 9", "requests < 9")]
    read = Spec.from_dict(plain | {"constraints": rules})
    assert [read.scope(rule) for rule in read.constraints] == [[0], [0, 1]]
    assert Spec.from_dict(read.to_dict()) == read
    assert read.metrics == {"latency": "ms", "requests": ""}
    with pytest.raises(InvalidInput, match=r"metrics.latency.knobs names 'c': no such knob"):
        Spec.from_dict(plain | {"metrics": {"latency": {"knobs": ["c"]}}})


def test_safety_is_a_probability_or_nothing() -> None:
    assert Constraint(rule="a < 1", kind="guardrail").learned
    assert not Constraint(rule="a < 1", kind="guardrail", safety=0.0).learned
    assert not Constraint(rule="a < 1", kind="signal").learned
    with pytest.raises(InvalidInput, match=r"constraints\[0\].safety = 0.3: it is below 0.5"):
        spec(safety=0.3)
    with pytest.raises(InvalidInput, match=r"safety = 1"):
        spec(safety=1)
