"""What moves cost that make rounds blind: in rounds, at the pace at which decisions are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trimtab as tt
from tests.live.tuners import Clock, play, spec_with, tuner_at
from trimtab.live import Spec
from trimtab.live.replay import replay
from trimtab.live.state.guards import MOST_ROUNDS, settling
from trimtab.live.store.opening import open_journal


def settles(amount: Any) -> Spec:
    """The recommended policy, and knobs that all settle for this long."""
    changes: dict[str, Any] = {"policy": {}, "knobs__ttl__stability": {"max_step": 2}}
    spec = spec_with(**changes).to_dict()
    for knob in spec["knobs"].values():
        if amount is not None:
            knob["stability"] = dict(knob["stability"], stabilize_for=amount)
    return Spec.from_dict(spec)


def blind(tuner: tt.Tuner) -> list[int]:
    tuner.status()
    return settling(tuner._projection.tuner_state)


@pytest.mark.parametrize(
    ("amount", "minutes", "rounds"),
    [(3, 40, 3), ("10m", 15, 0), ("10m", 10, 0), ("10m", 3, 3), ("1h", 2, 29), (None, 10, 0)],
)
def test_rounds_that_are_blind(tmp_path: Path, amount: Any, minutes: int, rounds: int) -> None:
    """A round is told at its end: of ten minutes the fourth of three minutes each is steady."""
    clock = Clock()
    with tuner_at(tmp_path, clock, settles(amount)) as tuner:
        for _ in range(4):
            tuner.tell(tuner.ask().id, {"latency": 100.0})
            clock.wait(minutes=minutes)
        tuner.ask()
        assert blind(tuner) == [rounds] * 3


def test_nothing_is_blind_before_the_pace_is_known(tmp_path: Path) -> None:
    with tuner_at(tmp_path, Clock(), settles("10m")) as tuner:
        tuner.ask()
        assert blind(tuner) == [0, 0, 0]


def test_time_that_stands_still_for_thousands_of_rounds_stops_nothing(tmp_path: Path) -> None:
    """A clock that was far ahead, or one that is given and does not move: the pace goes to 0."""
    clock = Clock()
    with tuner_at(tmp_path, clock, settles("10m")) as tuner:
        play(tuner, clock, 3)
        for _ in range(2):
            tuner.ask("another")
            tuner._projection.tuner_state.pace = 5e-324  # as 10,000 rounds at one instant make it
            tuner.tell(tuner.ask().id, {"latency": 100.0})
            assert blind(tuner) == [MOST_ROUNDS] * 3


def moves(folder: Path, amount: Any, **options: Any) -> tuple[int, list[dict[str, float]]]:
    clock = Clock()
    folder.mkdir()
    with tuner_at(folder, clock, settles(amount), **options) as tuner:
        made = play(tuner, clock, 80)
        found = tuner.status().moves
    return found, [each.values for each in made]


def test_moves_that_make_rounds_blind_are_fewer_and_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit, also where a process begins with a snapshot; time counts as rounds do."""
    few, states = moves(tmp_path / "few", 20)
    many, _ = moves(tmp_path / "many", None)
    assert 0 < few < many
    monkeypatch.setattr("trimtab.live.follower.SNAPSHOT_EVERY", 7)
    folder = tmp_path / "pieces"
    folder.mkdir()
    clock = Clock()
    found: list[dict[str, float]] = []
    while len(found) < 80:
        with tuner_at(folder, clock, settles(20)) as tuner:
            found += [each.values for each in play(tuner, clock, 5)]
    assert found == states
    with open_journal(folder / "a.db", read_only=True) as journal:
        assert replay(journal, "shop").same


def test_proven_bounds_heed_no_settling(tmp_path: Path) -> None:
    """Their widths are worst cases, no measure of what may be won."""
    clock = Clock()
    with tuner_at(tmp_path, clock) as tuner:
        play(tuner, clock, 8)
        assert blind(tuner) == [1, 0, 0]
        assert tuner._projection.learned.policy.learner.settling is None
