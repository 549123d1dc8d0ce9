"""Corrections: nobody waits for one but the one who makes it; decisions can still be replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trimtab as tt
from tests.live.tuners import Clock, play, spec_with, tuner_at
from trimtab.live import correcting
from trimtab.live.follower import Follower
from trimtab.live.replay import replay
from trimtab.live.store.event import Event
from trimtab.live.store.opening import open_journal


def kinds(path: Path) -> list[str]:
    with open_journal(path / "a.db", read_only=True) as journal:
        return [event.kind for event in journal.events("shop")]


def test_others_decide_while_a_correction_is_played_again(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tuner_at(tmp_path, clock) as tuner, tuner_at(tmp_path, clock) as other:
        made = play(tuner, clock, 6)
        meanwhile: list[Any] = []
        amended = correcting.amended

        def slow(*args: Any, **options: Any) -> Any:
            found = amended(*args, **options)
            if not meanwhile:  # the correction is recorded, and takes long
                meanwhile.extend(play(other, clock, 2))
            return found

        monkeypatch.setattr(correcting, "amended", slow)
        tuner.tell(made[1].id, {"latency": 200.0}, correct=True)
        assert [each.round for each in meanwhile] == [7, 8]
        after = tuner.ask()
        assert after == other.ask()
        assert tuner._projection.content() == other._projection.content()
    written = kinds(tmp_path)
    assert written[written.index("correct") :].index("amend") == 5  # two decisions in between
    with open_journal(tmp_path / "a.db", read_only=True) as journal:
        assert replay(journal, "shop").same
    with tuner_at(tmp_path, clock) as tuner:
        assert tuner.explain(made[1].id).told["latency"] == [200.0, None, 1]


def test_a_correction_that_was_not_completed_is_completed_by_the_next_one_who_opens(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(follower: Follower) -> None:
        raise KeyboardInterrupt

    with tuner_at(tmp_path, clock) as tuner:
        made = play(tuner, clock, 4)
        monkeypatch.setattr(Follower, "amend", die)
        with pytest.raises(KeyboardInterrupt):
            tuner.tell(made[0].id, {"latency": 200.0}, correct=True)
        monkeypatch.undo()
        assert kinds(tmp_path)[-1] == "correct"
        assert tuner.ask().round == 5  # without it, and without waiting
        assert tuner.tell(made[0].id, {"latency": 200.0}, correct=True).repeated
        assert kinds(tmp_path)[-1] == "amend"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Follower, "amend", die)
            with pytest.raises(KeyboardInterrupt):
                tuner.tell(made[1].id, {"latency": 190.0}, correct=True)
    with tuner_at(tmp_path, clock) as again:
        assert kinds(tmp_path)[-2:] == ["correct", "amend"]
        assert again.status().corrections == 2


def test_a_correction_costs_what_comes_after_it(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.live.follower.SNAPSHOT_EVERY", 10)
    with tuner_at(tmp_path, clock) as tuner:
        made = play(tuner, clock, 60)
        played: list[int] = []

        def counted(self: Any, event: Event, *reading: Any) -> None:
            played.append(event.number)
            plain(self, event, *reading)

        plain = type(tuner._projection).take
        monkeypatch.setattr(type(tuner._projection), "take", counted)
        tuner.tell(made[-3].id, {"latency": 111.0}, correct=True)
        assert len(played) < 40  # of 122
        played.clear()
        tuner.tell(made[-4].id, {"latency": 112.0}, correct=True)  # after an earlier correction
        assert len(played) < 60
        content = tuner._projection.content()
    with open_journal(tmp_path / "a.db", read_only=True) as journal:
        assert replay(journal, "shop").same
    with tuner_at(tmp_path, clock) as again:
        assert again._projection.content() == content


def test_a_table_of_the_past_is_read_to_the_bit_from_a_snapshot_and_from_the_first_event(
    tmp_path: Path, clock: Clock
) -> None:
    same = {"ttl": [300] * 3, "size": [5] * 3, "mix": [0.5] * 3, "metric": ["latency"] * 3}
    with tuner_at(tmp_path, clock) as tuner:
        for n in range(20):  # rounding takes some mean losses elsewhere on the way by their values
            tuner.warm_start(same | {"value": [60.0 + n / 7.0, 50.1, 50.2]})
        decision = play(tuner, clock, 1)[0]
        number = tuner.status().events
        read = tuner._follower.read
        state = tuner._projection.tuner_state
        again, _ = correcting.amended(
            state, read, lambda most: iter(()), through=0, last=number, values=state.spec
        )
        assert again.content() == tuner._projection.content()
        tuner.tell(decision.id, {"latency": 120.0}, correct=True)
    with open_journal(tmp_path / "a.db", read_only=True) as journal:
        assert replay(journal, "shop").same


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_specs_are_recorded_without_their_storage(tmp_path: Path, clock: Clock) -> None:
    with tt.Tuner(spec_with(), storage=str(tmp_path / "a.db"), clock=clock) as tuner:
        (begin,) = tuner._journal.events("shop")
    assert "storage" not in begin.payload["spec"]
