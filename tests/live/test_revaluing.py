"""Ranges, weights, noise and prices of a running tuner change, and what was learned is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.live.tuners import Clock, play, spec_with, tuner_at
from trimtab.live import Spec
from trimtab.live.replay import replay
from trimtab.live.state.reducer import recorded
from trimtab.live.store.event import Draft
from trimtab.live.store.opening import open_journal

OTHER: dict[str, Any] = {
    "objectives__latency__low": 20,
    "objectives__latency__high": 400,
    "objectives__latency__noise": 15,
    "objectives__sales__weight": 2.5,
    "knobs__ttl__stability": {"max_step": 2, "stabilize_for": 1, "move_cost": 0.4},
}
TABLE = {"ttl": [60.0], "size": [2], "mix": [0.1], "metric": ["latency"], "value": [210.0]}


@pytest.fixture
def clock() -> Clock:
    return Clock()


def specs() -> tuple[Spec, Spec]:
    """A spec, and the same with other values; both find out the noise of one objective."""
    recommended: dict[str, Any] = {"policy": {}, "objectives__sales__noise": "estimate"}
    return spec_with(**recommended), spec_with(**recommended, **OTHER)


def learned(tuner: tt.Tuner) -> dict[str, Any]:
    return tuner.policy.snapshot()


def retold(folder: Path, spec: Spec) -> dict[str, Any]:
    """What a tuner has learned that has had this spec from the beginning, by the same events."""
    (folder / "fresh").mkdir()
    with (
        open_journal(folder / "a.db", read_only=True) as journal,
        open_journal(folder / "fresh" / "a.db") as fresh,
    ):
        for event in journal.events("shop"):
            payload = dict(event.payload)
            if event.kind in ("begin", "spec"):
                payload["spec"] = recorded(spec)
            elif event.kind == "warm":
                payload["rows"] = [
                    [state, spec.losses({"latency": 210.0, "sales": np.nan}).tolist(), counts]
                    for state, _, counts in payload["rows"]
                ]
                payload["rows"][0][1][1] = None
            fresh.append("shop", Draft(kind=event.kind, payload=payload, at=event.at))
    with tuner_at(folder / "fresh", Clock(), spec) as tuner:
        return learned(tuner)


def test_what_was_learned_is_what_would_have_been_learned(tmp_path: Path, clock: Clock) -> None:
    """As by a tuner that has had the new spec from the beginning; and back, to the bit."""
    old, new = specs()
    with tuner_at(tmp_path, clock, old) as tuner:
        made = play(tuner, clock, 40)
        before = learned(tuner)
    assert sum(bool(each.changed) for each in made) >= 2
    with tuner_at(tmp_path, clock, new) as tuner:
        after = learned(tuner)
        assert tuner.status().rounds == len(made)
        assert tuner.recorded_spec().objectives == new.objectives
        more = play(tuner, clock, 5)  # it goes on
    assert not np.array_equal(after["R"], before["R"])
    with tuner_at(tmp_path, clock, old) as tuner:
        tuner.tell(more[-1].id, {"latency": 99.0}, correct=True)
        found = learned(tuner)
    np.testing.assert_equal(found, retold(tmp_path, old))
    with open_journal(tmp_path / "a.db", read_only=True) as journal:
        assert [event.kind for event in journal.events("shop")].count("spec") == 2
        assert replay(journal, "shop").same


def test_the_new_values_count_from_the_beginning(tmp_path: Path, clock: Clock) -> None:
    old, new = specs()
    with tuner_at(tmp_path, clock, old) as tuner:
        play(tuner, clock, 30)
    with tuner_at(tmp_path, clock, new) as tuner:
        found = learned(tuner)
    np.testing.assert_equal(found, retold(tmp_path, new))


def test_a_table_of_the_past_is_valued_anew(tmp_path: Path, clock: Clock) -> None:
    """It is recorded as losses, so that they are rounded once more."""
    old, new = specs()
    with tuner_at(tmp_path, clock, old) as tuner:
        tuner.warm_start(TABLE)
    with tuner_at(tmp_path, clock, new) as tuner:
        found = learned(tuner)
    expected = retold(tmp_path, new)
    assert found["R"][:120].any()
    np.testing.assert_allclose(found["R"], expected["R"], rtol=1e-9, atol=1e-12)


def test_everybody_sees_it_and_corrections_still_count(tmp_path: Path, clock: Clock) -> None:
    old, new = specs()
    with tuner_at(tmp_path, clock, old) as tuner, tuner_at(tmp_path, clock, old) as other:
        made = play(tuner, clock, 12)
        tuner.tell(made[2].id, {"latency": 140.0}, correct=True)
        with tuner_at(tmp_path, clock, new) as changed:
            assert changed.ask() == tuner.ask() == other.ask()
            for each in (tuner, other):
                np.testing.assert_equal(learned(each), learned(changed))
                assert each.recorded_spec().objectives == new.objectives
            other.tell(made[4].id, {"latency": 150.0}, correct=True)
            np.testing.assert_equal(learned(changed), learned(tuner))
            found = learned(changed)
    with open_journal(tmp_path / "a.db", read_only=True) as journal:
        assert replay(journal, "shop").same
    np.testing.assert_equal(found, retold(tmp_path, new))


def test_a_snapshot_of_before_is_not_gone_on_from(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = specs()
    monkeypatch.setattr("trimtab.live.follower.SNAPSHOT_EVERY", 10)
    with tuner_at(tmp_path, clock, old) as tuner:
        play(tuner, clock, 12)
    with tuner_at(tmp_path, clock, new) as tuner:
        found = learned(tuner)
        tuner.ask()  # keeps a snapshot
    with open_journal(tmp_path / "a.db") as journal:
        newest = next(iter(journal.snapshots("shop", most=None)))
        kinds = [event.kind for event in journal.events("shop")]
        assert newest.number > kinds.index("spec")
    with tuner_at(tmp_path, clock, new) as tuner:
        np.testing.assert_equal(learned(tuner), found)


def test_a_range_that_no_measurement_fits_teaches_nothing(tmp_path: Path, clock: Clock) -> None:
    old, _ = specs()
    plain = old.to_dict()
    plain["objectives"]["latency"] |= {"low": 0.0, "high": 1e-5, "noise": "estimate"}
    with tuner_at(tmp_path, clock, old) as tuner:
        play(tuner, clock, 3)
    with tuner_at(tmp_path, clock, Spec.from_dict(plain)) as tuner:
        assert tuner.policy.learner.estimators.observed().tolist() == [0, 3]
    with tuner_at(tmp_path, clock, old) as tuner:
        assert tuner.policy.learner.estimators.observed().tolist() == [3, 3]
