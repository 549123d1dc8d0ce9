"""Whatever people do, in every mode: decisions come out to the bit when they are made again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab as tt
from tests.live.tuners import Clock, play, spec_with, tuner_at, world
from trimtab.errors import Conflict
from trimtab.live.replay import replay
from trimtab.live.store.opening import open_journal

LEARNS = {"policy": {"kind": "SteadyGraphLinUCB"}}


def replayed(folder: Path) -> int:
    with open_journal(str(folder / "a.db"), read_only=True) as journal:
        found = replay(journal, "shop")
    assert found.same, found.differing
    return found.decisions


@pytest.mark.parametrize("mode", ["auto", "approve"])
def test_everything_that_people_do(tmp_path: Path, mode: str) -> None:
    clock, spec = Clock(), spec_with(**LEARNS, mode=mode)
    with tuner_at(tmp_path, clock, spec, actor="loop") as tuner:
        made = play(tuner, clock, 25)
        status = tuner.status()
        if status.proposed_by is not None:
            tuner.approve(status.proposed_by, actor="ana", why="looks right")
        made += play(tuner, clock, 4)
        tuner.tell(made[5].id, {"latency": 140.0}, correct=True)
        tuner.tell(made[6].id, {"sales": None}, correct=True)
        tuner.pause("a release", actor="ben")
        play(tuner, clock, 2)
        tuner.resume()
        tuner.override({"size": 8})
        play(tuner, clock, 5)
        tuner.resume()
        tuner.attach({"mix": 0.35}, actor="ana")
        late = [tuner.ask(f"client {n}") for n in range(3)]
        clock.wait(hours=1)
        for decision in reversed(late):
            tuner.tell(decision.id, world(decision.values, np.random.default_rng(decision.round)))
        tuner.rollback()
        play(tuner, clock, 4)
        tuner.resume()
        bad = tuner.ask()
        for _ in range(3):  # errors break the guardrail
            told = world(bad.values, np.random.default_rng(1)) | {"errors": 99.0}
            tuner.tell(bad.id, told)
            bad = tuner.ask()
        play(tuner, clock, 10)
    with tuner_at(tmp_path, clock, spec, shadow=True) as tuner:
        play(tuner, clock, 10)
    with tuner_at(tmp_path, clock, spec, shadow=False) as tuner:
        play(tuner, clock, 10)
        kinds = {row.kind for row in tuner.history()}
    expected = {"attach", "correct", "override", "pause", "resume", "rollback", "shadow", "tell"}
    assert expected <= kinds
    assert replayed(tmp_path) > 70


def shifted(values: dict[str, float], t: int, change: int) -> float:
    """A loss whose best place moves from 0.7 to 0.2 when the workload changes."""
    best, level = (0.7, 0.0) if t < change else (0.2, 0.6)
    return 0.3 + level + 1.5 * (values["a"] - best) ** 2


@pytest.mark.slow
def test_a_change_of_workload_is_seen_and_forgotten(tmp_path: Path) -> None:
    """The alarm is visible, and from 100 rounds later on it costs at most 1.15 of a fresh start."""
    plain = {
        "name": "shop",
        "knobs": {"a": {"low": 0.0, "high": 1.0, "start": 0.4, "stability": {"max_step": 0.2}}},
        "objectives": {"cost": {"knobs": ["a"], "low": 0.0, "high": 2.0}},
    }
    costs: dict[str, list[float]] = {"old": [], "fresh": []}
    for seed in range(2):
        for name, first in (("old", 0), ("fresh", 150)):
            (tmp_path / f"{name}{seed}").mkdir()
            rng = np.random.default_rng((seed, first))
            with tuner_at(
                tmp_path / f"{name}{seed}", Clock(), tt.live.Spec.from_dict(plain), seed=seed
            ) as tuner:
                for t in range(first, 350):
                    decision = tuner.ask()
                    loss = shifted(dict(decision.values), t, 150)
                    tuner.tell(decision.id, {"cost": loss + 0.05 * rng.normal()})
                    if t >= 250:
                        costs[name].append(loss)
                if name == "old":
                    assert tuner.status().alarms >= 1
                    assert tuner.status().last_alarm is not None
            replayed(tmp_path / f"{name}{seed}")
    assert np.mean(costs["old"]) <= 1.15 * np.mean(costs["fresh"])


def test_a_proposal_cannot_be_approved_twice_over(tmp_path: Path) -> None:
    clock = Clock()
    with tuner_at(tmp_path, clock, spec_with(**LEARNS, mode="approve")) as tuner:
        play(tuner, clock, 25)
        waiting = tuner.status().proposed_by
        assert waiting is not None
        tuner.reject(waiting)
        with pytest.raises(Conflict, match="does not wait"):
            tuner.approve(waiting)
    replayed(tmp_path)
