"""A decision that is told in parts is one round to the policy, whenever the parts come."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab as tt
from tests.live.tuners import Clock, spec_with, tuner_at, world
from trimtab.live.replay import replay
from trimtab.live.state.decision import Decision
from trimtab.live.store.opening import open_journal

STEADY = {
    "knobs__ttl__stability": {"move_cost": 0.1},
    "knobs__size__stability": {},
    "knobs__mix__stability": {},
}


def clock_of(tuner: tt.Tuner) -> int:
    """The policy's, after all that was told."""
    return int(tuner._projection.learned.policy.rounds)


@pytest.mark.parametrize(
    "policy",
    ["SteadyGraphLinUCB", "LazyGraphLinUCB", "LinUCB", "PooledGraphLinUCB", "JointLazyGraphLinUCB"],
)
@pytest.mark.parametrize(
    "parts",
    [
        [["latency", "sales", "errors"]],
        [["latency"], ["sales"]],
        [["errors"], ["latency"], ["load"], ["sales"]],
        [["latency"], ["ask"], ["sales"]],
        [["ask"], ["latency"], ["sales"]],
    ],
)
def test_the_clock_counts_a_round_once(tmp_path: Path, policy: str, parts: list[list[str]]) -> None:
    spec = spec_with(**STEADY, policy={"kind": policy})
    with tuner_at(tmp_path, Clock(), spec) as tuner:
        tuner.pause("so that it stays")
        for done in range(1, 7):
            decision = tuner.ask("one" if done % 2 else "other")
            told = world(decision.values, np.random.default_rng(done))
            for part in parts:
                if part == ["ask"]:
                    tuner.ask("a third")
                else:
                    tuner.tell(decision.id, {name: told[name] for name in part})
            if ["ask"] in parts:
                tuner.tell(tuner.ask("a third").id, {})
        assert clock_of(tuner) == tuner.status().rounds


def test_the_clock_counts_the_longest_part(tmp_path: Path) -> None:
    with tuner_at(tmp_path, Clock(), spec_with(**STEADY)) as tuner:
        tuner.pause("so that it stays")
        first = tuner.ask()
        tuner.tell(first.id, {"latency": 100.0}, count=5)
        tuner.tell(first.id, {"sales": 5.0}, count=7)
        assert clock_of(tuner) == 7
        second = tuner.ask("one")
        third = tuner.ask("other")  # now the policy knows that the second is to be answered
        tuner.tell(second.id, {"latency": 100.0}, count=5)
        tuner.tell(second.id, {"sales": 5.0}, count=7)
        assert clock_of(tuner) == 14
        tuner.tell(third.id, {"latency": 100.0}, count=3)
        tuner.tell(third.id, {"sales": 5.0}, count=2)
        assert clock_of(tuner) == 17


def test_one_decision_may_take_the_place_of_another_that_is_awaited(tmp_path: Path) -> None:
    with tuner_at(tmp_path, Clock(), spec_with(**STEADY)) as tuner:
        tuner.pause("so that it stays")
        late, soon = tuner.ask("late"), tuner.ask("soon")
        for decision in (soon, late):
            tuner.tell(decision.id, {"latency": 100.0})
            tuner.tell(decision.id, {"sales": 5.0})
        assert clock_of(tuner) == 2


def test_the_arms_of_a_round_are_one_round(tmp_path: Path) -> None:
    with tuner_at(tmp_path, Clock(), spec_with(**STEADY, control=True)) as tuner:
        tuner.pause("so that it stays")
        for done in range(1, 6):
            decision = tuner.ask()
            metrics = {"latency": 100.0 + done, "sales": 5.0}
            tuner.tell(decision.id, metrics, arm="control")
            tuner.tell(decision.id, metrics)
            assert clock_of(tuner) == done


def test_a_decision_that_is_long_gone_has_been_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.live.state.reducer.KEPT", 3)
    with tuner_at(tmp_path, Clock(), spec_with(**STEADY)) as tuner:
        tuner.pause("so that it stays")
        first = tuner.ask()
        tuner.tell(first.id, {"latency": 100.0})
        for _ in range(5):
            tuner.tell(tuner.ask().id, {"latency": 100.0, "sales": 5.0})
        tuner.tell(first.id, {"sales": 5.0})
        assert clock_of(tuner) == 6


def test_parts_and_their_corrections_replay(tmp_path: Path) -> None:
    """To the bit: in one process, from snapshots, and from the first event."""
    clock, spec = Clock(), spec_with(**STEADY, policy={"kind": "SteadyGraphLinUCB"})
    made: list[Decision] = []
    for part in range(3):
        with tuner_at(tmp_path, clock, spec) as tuner:
            for _ in range(12):
                decision = tuner.ask()
                made.append(decision)
                clock.wait(minutes=30)
                told = world(decision.values, np.random.default_rng(decision.round))
                sales = told.pop("sales")
                tuner.tell(decision.id, told)
                tuner.tell(decision.id, {"sales": sales})
            tuner.tell(made[4 * part + 2].id, {"latency": 150.0 - part}, correct=True)
            tuner.tell(made[4 * part + 3].id, {"sales": None}, correct=True)
            rounds = clock_of(tuner)
            told_now = tuner._projection.learned.policy.snapshot()
        with tuner_at(tmp_path, clock, spec) as again:
            assert clock_of(again) == rounds
            found = again._projection.learned.policy.snapshot()
            np.testing.assert_equal(found, told_now)
    assert any(decision.changed for decision in made)
    with open_journal(str(tmp_path / "a.db"), read_only=True) as journal:
        outcome = replay(journal, "shop")
    assert outcome.same, outcome.differing
