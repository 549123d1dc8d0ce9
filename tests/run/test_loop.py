"""The loop, step by step on a clock that is set by hand."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.live.tuners import SPEC, T0
from tests.run.fakes import SCHEDULE, Bench, bench
from trimtab.live.replay import replay
from trimtab.live.store.faults import Unavailable
from trimtab.run.faults import SourceFault, TargetFault
from trimtab.run.schedule import Schedule

LEARNS = SPEC.replace("delta = 0.05", "")
MOVED = {"ttl": 600.0, "size": 5, "mix": 0.5}


def moving(folder: Path, **options: Any) -> Bench:
    """A bench whose tuner wants to move: somebody has ordered it."""
    made = Bench(folder, **options)
    made.rounds(2)
    made.tuner.override({"ttl": 600.0})
    return made


def test_a_round_waits_for_its_window_and_its_delay(tmp_path: Path) -> None:
    with bench(tmp_path) as it:
        assert it.loop.step() == 5.0  # looks for orders meanwhile
        assert it.kinds("tell") == []
        it.steps(69.0)
        assert it.source.asked == []
        it.steps(2.0)
        (window,) = it.source.asked
        assert (window.begin, window.end) == (T0, T0 + timedelta(seconds=60))
        assert [tell["decision"] for tell in it.kinds("tell")] == [2]
        it.steps(60.0)
        assert it.source.asked[1].begin == window.end  # without gaps while nothing moves


def test_rounds_are_played_as_by_hand(tmp_path: Path) -> None:
    with bench(tmp_path, text=LEARNS) as it:
        it.rounds(50)
        status = it.tuner.status()
        assert status.moves > 0
        assert it.agree()
        moved = [each for each in it.kinds("decide") if "state" in each]
        assert len(it.kinds("applied")) == len(moved) + 1  # and the values of the beginning
        assert len(it.target.orders) == len(moved) + 1
        assert replay(it.journal, "shop").same


def test_nothing_is_learned_of_the_time_of_settling(tmp_path: Path) -> None:
    text = SPEC.replace("max_step = 2, stabilize_for = 1", 'max_step = 2, stabilize_for = "5m"')
    with bench(tmp_path, text=text) as it:
        it.rounds(2)
        it.tuner.override({"ttl": 600.0})
        it.loop.step()
        applied = it.clock.now
        it.source.asked.clear()
        it.steps(800.0)
        steady = applied + timedelta(minutes=5)
        early = [w for w in it.source.asked if w.begin < steady]
        assert len(early) == 4  # guardrails are judged meanwhile
        assert all(w.end <= steady for w in early)
        assert min(w.begin for w in it.source.asked if w not in early) == steady


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), "fast", [1.0, 2.0, 3.0]])
def test_a_missing_metric_makes_it_wait(tmp_path: Path, value: object) -> None:
    with bench(tmp_path) as it:
        it.source.instead = {"latency": value}
        it.steps(180.0)
        assert it.kinds("tell") == []
        assert any("waiting" in line and "latency:" in line for line in it.lines)
        it.source.instead = {}
        it.steps(20.0)
        (told,) = it.kinds("tell")  # it was late, and is taken
        assert "latency" in told["metrics"]


def test_what_is_there_is_told_when_the_rest_is_too_late(tmp_path: Path) -> None:
    with bench(tmp_path) as it:
        it.source.instead = {"latency": None, "errors": 99.0}
        it.steps(200.0)
        (told, *_) = it.kinds("tell")
        assert sorted(told["metrics"]) == ["errors", "load", "sales"]
        assert it.tuner.status().waits[0] == "waits for latency"


def test_a_source_that_is_away_is_waited_for(tmp_path: Path) -> None:
    with bench(tmp_path) as it:
        it.rounds(3)
        before = len(it.kinds("tell"))
        it.source.fault = SourceFault("timeout", "prometheus does not answer in 10 s")
        it.steps(1200.0)
        assert len(it.kinds("tell")) == before
        assert any("source-fault code=timeout" in line for line in it.lines)
        assert it.loop.stuck == "source: prometheus does not answer in 10 s"
        it.source.fault = None
        back = it.clock.now
        it.source.asked.clear()
        it.steps(2 * SCHEDULE.round)  # it asks again after a round at most
        assert len(it.kinds("tell")) > before
        late = timedelta(seconds=SCHEDULE.delay + SCHEDULE.patience)
        assert all(w.end >= back - late for w in it.source.asked)  # nothing older is decided on
        assert it.loop.stuck is None


def test_a_loop_that_was_stopped_does_not_use_old_windows(tmp_path: Path) -> None:
    with bench(tmp_path) as it:
        it.steps(30.0)
        it.clock.wait(minutes=20)  # SIGSTOP, or a laptop that slept
        resumed = it.clock.now
        it.steps(200.0)
        assert it.source.asked
        assert all(window.begin >= resumed for window in it.source.asked)


@pytest.mark.parametrize("readable", [True, False])
def test_a_target_that_fails_leaves_the_tuner_where_the_system_is(
    tmp_path: Path, readable: bool
) -> None:
    it = moving(tmp_path, readable=readable)
    tells = len(it.kinds("tell"))
    it.target.fault = TargetFault("unreachable", "Redis cannot be reached")
    it.steps(600.0)
    assert len(it.kinds("tell")) <= tells + 1  # no metric is told while values are uncertain
    it.target.fault = None
    it.steps(600.0)
    assert it.agree()
    assert len(it.kinds("tell")) > tells + 1
    if not readable:
        assert it.kinds("failed")[0]["code"] == "unreachable"
    assert any("target-fault code=unreachable" in line for line in it.lines)


def test_a_target_that_refuses_is_not_asked_again(tmp_path: Path) -> None:
    it = moving(tmp_path, readable=False)
    it.target.after = None
    it.target.fault = TargetFault("status", "shop answers 422", permanent=True)
    it.loop.step()
    it.target.fault = None
    (failed,) = it.kinds("failed")
    assert (failed["code"], failed["actor"]) == ("status", "trimtab run")
    assert "could not be set" in it.tuner.history(kinds=["failed"])[0].text
    it.steps(200.0)
    assert it.agree()


def test_values_that_were_set_before_the_failure_are_found(tmp_path: Path) -> None:
    it = moving(tmp_path)
    it.target.after = TargetFault("timeout", "no answer")
    it.loop.step()
    it.target.after = None
    it.steps(10.0)
    assert it.system.values["ttl"] == 600.0
    assert it.agree()
    assert it.kinds("failed") == []


def test_values_that_were_perhaps_set_are_set_again(tmp_path: Path) -> None:
    it = moving(tmp_path, readable=False, attempts=1)
    it.target.after = TargetFault("timeout", "no answer")
    it.loop.step()  # set, but nobody knows; the tuner stays at what was before
    assert it.system.values["ttl"] == 600.0
    it.target.after = None
    it.steps(30.0)
    assert it.system.values["ttl"] == 300.0
    assert it.agree()


def test_values_set_by_hand_are_accepted(tmp_path: Path) -> None:
    with bench(tmp_path) as it:
        it.rounds(2)
        it.system.values["mix"] = 0.7
        it.steps(80.0)
        assert it.tuner.status().values["mix"] == pytest.approx(0.7)
        assert any("set-by-hand" in line for line in it.lines)
        assert it.agree()


def test_a_move_that_was_undone_by_hand_is_accepted(tmp_path: Path) -> None:
    it = moving(tmp_path)
    it.loop.step()
    assert it.system.values["ttl"] == 600.0
    it.system.values["ttl"] = 300.0
    it.steps(80.0)
    assert it.tuner.status().values["ttl"] == 300.0


def test_values_out_of_range_are_not_guessed_at(tmp_path: Path) -> None:
    with bench(tmp_path) as it:
        it.rounds(2)
        tells = len(it.kinds("tell"))
        it.system.values["mix"] = 7.0
        it.steps(300.0)
        assert len(it.kinds("tell")) == tells
        assert any("code=range" in line and "mix" in line for line in it.lines)
        it.system.values["mix"] = 0.5
        it.steps(400.0)
        assert len(it.kinds("tell")) > tells


def test_values_that_were_lost_are_set_again(tmp_path: Path) -> None:
    with bench(tmp_path) as it:
        it.rounds(2)
        it.system.values = {}  # a Redis that was emptied
        it.steps(80.0)
        assert it.system.values == it.tuner.status().values


def test_an_order_is_carried_out_before_the_window_ends(tmp_path: Path) -> None:
    with bench(tmp_path) as it:
        it.steps(20.0)
        it.tuner.override({"ttl": 600.0})
        it.steps(6.0)
        assert it.system.values["ttl"] == 600.0


def test_a_store_that_is_away_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench(tmp_path) as it:
        it.rounds(2)
        decided = len(it.kinds("decide"))

        def away(*arguments: object, **options: object) -> Any:
            raise Unavailable("the database is away")

        with monkeypatch.context() as patch:
            patch.setattr(it.tuner, "ask", away)
            it.steps(100.0)
        assert len(it.kinds("decide")) == decided
        assert any("store-fault code=unavailable" in line for line in it.lines)
        it.steps(300.0)
        assert len(it.kinds("decide")) > decided


def test_two_loops_by_mistake_do_no_harm(tmp_path: Path) -> None:
    with bench(tmp_path) as it:
        first, opened = it.loop, it.journal
        it.begin()
        second = it.loop
        for _ in range(200):
            first.step()
            second.step()
            it.clock.wait(seconds=5)
        told = [each["decision"] for each in it.kinds("tell")]
        opened.close()
        assert len(told) == len(set(told)) > 10
        assert it.agree()
        assert replay(it.journal, "shop").same


def test_shadow_sets_nothing(tmp_path: Path) -> None:
    with bench(tmp_path, text=LEARNS, readable=False) as it:
        it.tuner = it.loop.tuner = type(it.tuner)(
            it.spec, storage=it.journal, clock=it.clock, shadow=True
        )
        it.loop.adopt(it.tuner)
        it.rounds(30)
        assert it.target.orders == []


def test_a_dry_run_sets_nothing(tmp_path: Path) -> None:
    with bench(tmp_path, text=LEARNS, dry=True, readable=False) as it:
        it.rounds(30)
        assert it.target.orders == []


def test_windows_that_would_be_half_settled_begin_later() -> None:
    schedule = Schedule(window=60.0, delay=10.0, patience=60.0)
    for settle, begin in ((0.0, 0.0), (30.0, 30.0), (79.0, 79.0), (200.0, 0.0)):
        window = schedule.next(T0, T0 + timedelta(seconds=settle))
        assert window.begin == T0 + timedelta(seconds=begin)
        assert window.seconds == 60.0


@pytest.mark.parametrize("when", ["ask", "push", "applied", "window", "tell"])
def test_a_new_process_goes_on(tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ended between any two things it does, it leaves a state from which it goes on."""

    class Killed(BaseException):
        pass

    it = moving(tmp_path, text=SPEC)
    it.rounds(1)
    it.tuner.override({"ttl": 1200.0})

    def kill(*arguments: object, **options: object) -> Any:
        raise Killed

    target, name = {
        "ask": (it.target, "read"),
        "push": (it.target, "push"),
        "applied": (it.loop._placing, "note"),
        "window": (it.source, "read"),
        "tell": (it.tuner, "tell"),
    }[when]
    with monkeypatch.context() as patch:
        patch.setattr(target, name, kill)
        with pytest.raises(Killed):
            it.steps(400.0)
    it.journal.close()
    it.begin()
    it.steps(400.0)
    assert it.system.values["ttl"] == 1200.0
    assert it.agree()
    assert replay(it.journal, "shop").same
    assert {each["decision"] for each in it.kinds("applied")} >= {
        f"shop-{e.number}"
        for e in it.journal.events("shop")
        if e.kind == "decide" and "state" in e.payload
    }
