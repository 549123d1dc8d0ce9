"""A broken guardrail, and no state that is known to keep it: the tuner looks for the way out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
import trimtab.live.follower as module
from tests.live.test_safety import SPEC
from tests.live.tuners import Clock, tuner_at
from trimtab.live import Decision, Spec
from trimtab.live.replay import replay
from trimtab.live.store.opening import open_journal

RULE = "latency <= 1.2 * baseline"


def spec(rule: str = RULE, safety: float = 0.975, **more: Any) -> Spec:
    rail = {"rule": rule, "kind": "guardrail", "patience": 3, "safety": safety}
    return Spec.from_dict(SPEC | {"constraints": [rail]} | more)


def latency(values: Mapping[str, float], slope: float) -> float:
    return 100.0 + slope * 120.0 * (values["a"] - 0.2) + 60.0 * (values["b"] - 0.5)


def told(values: Any, slower: float, rng: np.random.Generator, slope: float = 1.0) -> Any:
    cost = 1.6 - 1.2 * values["a"] + 0.8 * (values["b"] - 0.3) ** 2
    noise = rng.normal(size=2)
    return {
        "cost": cost + 0.05 * noise[0],
        "latency": slower * latency(values, slope) + 5.0 * noise[1],
    }


def play(
    tuner: tt.Tuner, rounds: int, slower: float, seed: int, slope: float = 1.0
) -> list[Decision]:
    played = []
    for _ in range(rounds):
        decision = tuner.ask()
        rng = np.random.default_rng((seed, decision.round))
        tuner.tell(decision.id, told(decision.values, slower, rng, slope))
        played.append(decision)
    return played


def beyond(played: list[Decision], slower: float, slope: float = 1.0) -> int:
    """Decisions whose expected latency is beyond the limit."""
    return sum(slower * latency(each.values, slope) > 120.0 for each in played)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("slower", "before"), [(1.3, 6), (1.3, 40), (1.25, 25)])
def test_a_tuner_finds_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, slower: float, before: int
) -> None:
    """The system becomes slower after the baseline was taken: the start breaks the rule too."""
    monkeypatch.setattr(module, "SNAPSHOT_EVERY", 13)
    with tuner_at(tmp_path, Clock(), spec(), seed=seed) as tuner:
        play(tuner, before, 1.0, seed)
    with tuner_at(tmp_path, Clock(), spec(), seed=seed) as tuner:  # from a snapshot
        played = play(tuner, 120, slower, seed)
        status = tuner.status()
    assert beyond(played[:6], slower) == 6  # nothing that is known keeps the rule
    assert beyond(played[15:], slower) <= 4  # a tuner that freezes has 105
    assert status.mode == "tuning"
    tried = [each for each in played if any("trying those likeliest" in n for n in each.notes)]
    assert tried
    assert all(each.changed for each in tried)
    with open_journal(str(tmp_path / "a.db"), read_only=True) as journal:
        assert replay(journal, "shop").same


def test_status_says_that_nothing_is_known_and_that_the_baseline_is_out_of_date(
    tmp_path: Path,
) -> None:
    with tuner_at(tmp_path, Clock(), spec()) as tuner:
        play(tuner, 6, 1.0, 0)
        play(tuner, 12, 3.0, 0)  # no state is fast enough
        status = tuner.status()
        assert status.mode == "tuning"
        said = [str(each) for each in status.obstacles]
    assert said[0] == f"move held: no values are known to keep {RULE}"
    assert said[1].startswith(f"move held: {RULE} is broken at the start values too: the baseline")
    assert "write the limit as a number, in place of 117.4 now" in said[1]
    with tuner_at(tmp_path, Clock(), spec("latency <= 500")) as tuner:  # as it says
        play(tuner, 2, 3.0, 0)
        assert tuner.status().obstacles == ()


def test_a_step_on_the_way_out_is_never_believed_to_be_worse(tmp_path: Path) -> None:
    with tuner_at(tmp_path, Clock(), spec()) as tuner:
        play(tuner, 6, 1.0, 1)
        steps = 0
        for _ in range(60):
            learned = tuner._projection.learned
            (reading,) = learned.safety.readings.values()
            if learned.escapes and learned.goal != learned.deployed:
                limit = learned.safety.limits[0]
                assert limit is not None
                here, there = (
                    reading.odds(np.array(state), limit)
                    for state in (learned.deployed, learned.goal)
                )
                assert there.mean <= here.mean + 0.5 * there.sd
                assert there.kept > here.kept
                steps += 1
            play(tuner, 1, 2.0, 1)
    assert steps >= 3


def test_a_limit_that_the_start_breaks_is_left_behind(tmp_path: Path) -> None:
    """Nothing has changed: the rule was never kept."""
    with tuner_at(tmp_path, Clock(), spec("latency <= 88")) as tuner:
        played = play(tuner, 80, 1.0, 2)
    assert latency(played[0].values, 1.0) == 100.0
    assert sum(latency(each.values, 1.0) <= 88.0 for each in played[40:]) >= 35


def test_in_approve_mode_a_person_decides_on_the_way_out(tmp_path: Path) -> None:
    with tuner_at(tmp_path, Clock(), spec(mode="approve")) as tuner:
        play(tuner, 6, 1.0, 3)
        played = play(tuner, 30, 1.3, 3)
        assert {tuple(each.values.items()) for each in played} == {tuple(played[0].values.items())}
        proposals = [each for each in played if each.proposal is not None]
        assert len(proposals) <= 3  # one waits, and not another one after every breach
        status = tuner.status()
        assert status.proposed_by == proposals[-1].id
        tuner.approve(proposals[-1].id)
        assert tuner.ask().values == proposals[-1].proposal


def test_what_is_not_learned_shows_no_way(tmp_path: Path) -> None:
    with tuner_at(tmp_path, Clock(), spec(safety=0.0)) as tuner:
        play(tuner, 6, 1.0, 4)
        play(tuner, 60, 1.3, 4)
        assert tuner.status().mode == "paused"
