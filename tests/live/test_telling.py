"""What is told: in parts, late, out of order, corrected, refused; and what is learned of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.live.tuners import (
    FREE,
    Clock,
    assert_same,
    direct,
    matrices,
    play,
    spec_with,
    tuner_at,
    world,
)
from trimtab.live.replay import replay
from trimtab.live.store.opening import open_journal


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_is_told_in_parts_late_and_out_of_order_is_learned_all_the_same(
    tmp_path: Path, clock: Clock
) -> None:
    spec = spec_with(knobs__ttl__stability={"max_step": 2.0})
    with tuner_at(tmp_path, clock, spec) as tuner:
        seen: list[tuple[Any, dict[str, Any]]] = []
        waiting: list[tuple[str, Any, dict[str, float]]] = []
        late = 0
        for i in range(60):
            decision = tuner.ask(f"client {i % 8}")
            state = spec.state(decision.values)
            waiting.append((decision.id, state, world(decision.values, np.random.default_rng(i))))
            if i % 4 == 3 and i > 4:  # the four before these: the system has moved on, perhaps
                for id, x, told in reversed(waiting[:4]):
                    for name in sorted(told):
                        tuner.tell(id, {name: told[name]}, count=i + 1)
                        seen.append((x, {name: [told[name], None, i + 1]}))
                    late += x.tolist() != tuner._projection.tuner_state.state
                del waiting[:4]
        assert tuner.status().moves > 1
        assert late > 1
        assert_same(matrices(tuner), direct(spec, seen))


def test_the_same_again_has_no_effect_and_something_else_is_a_conflict(
    tmp_path: Path, clock: Clock
) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        id = tuner.ask().id
        told = tuner.tell(id, {"latency": (120.0, 3.0), "errors": 1.0}, count=9)
        assert told.events == (3,)
        again = tuner.tell(id, {"latency": (120.0, 3.0)}, count=9)
        assert again.repeated
        for other in ({"latency": (120.0, 3.1)}, {"latency": 120.0}, {"errors": 1.5}):
            with pytest.raises(tt.Conflict, match="send it as a correction"):
                tuner.tell(id, other, count=9)
        with pytest.raises(tt.Conflict):
            tuner.tell(id, {"errors": 1.0}, count=8)
        with pytest.raises(tt.Conflict):  # all or nothing
            tuner.tell(id, {"sales": 3.0, "errors": 2.0}, count=9)
        assert tuner.tell(id, {"sales": 3.0, "errors": 1.0}, count=9).events == (4,)
        assert tuner.status().events == 4


def test_a_decision_of_which_nothing_is_known_can_be_told_too(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        first = tuner.ask()
        assert not tuner.tell(first.id, {"latency": float("nan"), "sales": None}).repeated
        assert tuner.tell(first.id, {}).repeated
        assert tuner.ask().id != first.id
        assert tuner.tell(first.id, {"latency": 100.0}).events  # it has come after all


def test_a_standard_error_weighs(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        id = tuner.ask().id
        told = {"latency": (100.0, 2.0), "sales": (5.0, 0.6)}  # noise: 10 and 0.5
        tuner.tell(id, told, count=7)
        V = [V for V, _, _ in matrices(tuner)]
        phi = FREE.problem.phi(FREE.start)
        reg = FREE.beliefs.reg
        np.testing.assert_allclose(V[0][0, 0], reg[0] + 25 * phi[0] ** 2)
        np.testing.assert_allclose(V[1][0, 0], reg[1])  # worth less than one: not learned


@pytest.mark.parametrize(
    ("metrics", "count", "message"),
    [
        ({"latncy": 1.0}, 1, "'latncy' is no metric; did you mean 'latency'?"),
        ({"latency": "fast"}, 1, "latency is a str; give a number"),
        ({"latency": float("inf")}, 1, "give a finite number"),
        ({"latency": (1.0, 0.0)}, 1, "must be above 0"),
        ({"latency": (1.0, 2.0, 3.0)}, 1, r"give a number, or \(mean, sem\)"),
        ({"latency": 1e30}, 1, "out of all proportion"),
        ({"latency": 1.0}, 0, "give a whole number from 1"),
        ({"latency": 1.0}, 1.5, "give a whole number from 1"),
        ({"latency": 1.0}, {"sales": 2}, "count what is told"),
        ([1.0], 1, "give a dict"),
    ],
)
def test_a_tell_that_makes_no_sense_changes_nothing(
    tmp_path: Path, clock: Clock, metrics: Any, count: Any, message: str
) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        id = tuner.ask().id
        with pytest.raises(tt.InvalidInput, match=message):
            tuner.tell(id, metrics, count=count)
        assert tuner.status().events == 2


@pytest.mark.parametrize("id", ["shop-1", "shop-3", "shop-0", "shop-x", "other-2", "", 2, None])
def test_a_decision_that_was_none(tmp_path: Path, clock: Clock, id: Any) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        tuner.ask()
        with pytest.raises(tt.NotFound, match="use the id that ask gave"):
            tuner.tell(id, {"latency": 100.0})
        with pytest.raises(tt.NotFound, match="use the id that ask gave"):
            tuner.explain(id)


def test_a_tell_for_a_decision_that_is_long_gone(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.live.state.reducer.KEPT", 5)
    spec = spec_with(knobs__ttl__stability={"max_step": 2.0})
    with tuner_at(tmp_path, clock, spec) as tuner:
        old = tuner.ask("slow")
        play(tuner, clock, 30)
        assert len(tuner._projection.tuner_state.trials) == 5
        assert tuner._projection.tuner_state.state != spec.start.tolist()
        assert tuner.tell(old.id, {"latency": 111.0}).events
        assert tuner.tell(old.id, {"latency": 111.0}).repeated
        with pytest.raises(tt.Conflict):
            tuner.tell(old.id, {"latency": 112.0})
        assert tuner.tell(old.id, {"latency": 112.0, "sales": 5.0}, correct=True).events
        assert tuner.tell(old.id, {"latency": 112.0, "sales": 5.0}).repeated
        assert tuner.explain(old.id).told == {"latency": [112.0, None, 1], "sales": [5.0, None, 1]}
        assert tuner.ask("slow").id != old.id
        ours = matrices(tuner)
    with open_journal(tmp_path / "a.db") as journal:
        tells = [event.payload for event in journal.events("shop") if event.kind == "tell"]
    with tuner_at(tmp_path, clock, spec) as tuner:
        seen = [
            (
                spec.state(tuner.explain(f"shop-{payload['decision']}").decision.values),
                payload["metrics"],
            )
            for payload in tells
            if payload["decision"] != 2
        ]
    seen.append((spec.start, {"latency": [112.0, None, 1], "sales": [5.0, None, 1]}))
    assert_same(ours, direct(spec, seen))


def test_corrections_replay(tmp_path: Path, clock: Clock) -> None:
    """What was learned is what would have been, had the right thing been told at once."""
    spec = spec_with(knobs__ttl__stability={"max_step": 2.0})
    with tuner_at(tmp_path, clock, spec) as tuner:
        made = play(tuner, clock, 12)
        seen = []
        for i, decision in enumerate(made):
            told = dict(tuner.explain(decision.id).told)
            if i == 3:
                tuner.tell(decision.id, {"latency": 77.0}, correct=True)
                told["latency"] = [77.0, None, 1]
            if i == 5:
                tuner.tell(decision.id, {"sales": None, "errors": 1.01}, correct=True)
                told["sales"] = None
            seen.append(
                (spec.state(decision.values), {k: x for k, x in told.items() if x is not None})
            )
        assert tuner.tell(made[3].id, {"latency": 77.0}).repeated
        with pytest.raises(tt.Conflict, match="it was taken back"):
            tuner.tell(made[5].id, {"sales": 4.0})
        assert tuner.explain(made[5].id).told["sales"] is None
        assert tuner.status().corrections == 2
        assert_same(matrices(tuner), direct(spec, seen))
        tuner.tell(made[5].id, {"sales": 4.0}, correct=True)
        content = tuner._projection.content()
    with tuner_at(tmp_path, clock, spec) as again:
        assert again.explain(made[5].id).told["sales"] == [4.0, None, 1]
        assert len(again._projection.content()) == len(content)
    with open_journal(tmp_path / "a.db", read_only=True) as journal:
        assert replay(journal, "shop").same
