"""Guards: limits on movement, constraints, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.live.tuners import Clock, play, spec_with, tuner_at, world
from trimtab.live import Spec
from trimtab.live.state.guardrails import best_good

FINE = {"latency": 90.0, "sales": 6.0, "errors": 1.0, "load": 1.0}
GENTLE: dict[str, Any] = {
    "constraints": [],
    "knobs__ttl__stability": {},
    "knobs__size__stability": {},
    "knobs__mix__stability": {},
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


def with_limits(**stability: Any) -> Spec:
    """Only the knob mix has limits."""
    return spec_with(**GENTLE | {"knobs__mix__stability": stability})


def steps(tuner: tt.Tuner, clock: Clock, rounds: int, minutes: float) -> list[float]:
    """The values of mix, decision by decision."""
    made = play(tuner, clock, rounds, minutes=minutes)
    return [round(decision.values["mix"], 9) for decision in made]


@pytest.mark.parametrize(
    ("stability", "expected"),
    [
        ({"max_step": 0.2}, [0.7, 0.9, 1.0, 1.0]),
        ({"max_step": 0.2, "per": "1h"}, [0.7, 0.7, 0.9, 0.9, 1.0]),
        ({"max_step": 0.2, "per": "20m"}, [0.7, 0.9, 1.0]),
        ({"max_step": 0.2, "per": 3}, [0.7, 0.7, 0.7, 0.9, 0.9, 0.9, 1.0]),
        ({"budget": 0.3}, [0.8, 0.8, 0.8]),
        ({"budget": 0.3, "budget_per": "1h"}, [0.8, 0.8, 1.0]),
        ({"budget": 0.3, "budget_per": 2}, [0.8, 0.8, 1.0]),
        ({"tolerance": 0.4, "max_step": 0.45}, [0.95, 0.95]),
        ({}, [1.0, 1.0]),
    ],
)
def test_limits_on_movement(
    tmp_path: Path, clock: Clock, stability: dict[str, Any], expected: list[float]
) -> None:
    with tuner_at(tmp_path, clock, with_limits(**stability)) as tuner:
        tuner.override({"mix": 1.0})
        assert steps(tuner, clock, len(expected), 30) == expected


def test_changes_that_are_too_small_are_not_made(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock, with_limits(tolerance=0.1)) as tuner:
        tuner.override({"mix": 0.59})
        decision = tuner.ask()
        assert (decision.values["mix"], decision.notes) == (0.5, ("mix: tolerance",))


def test_integers_stay_on_their_values(tmp_path: Path, clock: Clock) -> None:
    spec = spec_with(**GENTLE | {"knobs__size__stability": {"max_step": 2.5}})
    with tuner_at(tmp_path, clock, spec) as tuner:
        tuner.override({"size": 10})
        assert [d.values["size"] for d in play(tuner, clock, 4)] == [7, 9, 10, 10]
        tuner.override({"size": 0})
        assert [d.values["size"] for d in play(tuner, clock, 5)] == [8, 6, 4, 2, 0]


def test_moves_by_hand_count(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock, with_limits(max_step=0.2, per="1h")) as tuner:
        tuner.attach({"mix": 0.65})
        tuner.override({"mix": 1.0})
        assert steps(tuner, clock, 2, 10) == [0.7, 0.7]


def test_the_way_back_from_a_broken_guardrail_may_exceed_the_budget(
    tmp_path: Path, clock: Clock
) -> None:
    rules = [{"rule": "errors <= 2", "kind": "guardrail"}]
    gentle = {"knobs__mix__stability": {"budget": 0.3, "max_step": 0.25}, "constraints": rules}
    with tuner_at(tmp_path, clock, spec_with(**GENTLE | gentle)) as tuner:
        play(tuner, clock, 2)
        tuner.override({"mix": 0.8})
        assert [d.values["mix"] for d in play(tuner, clock, 2)] == [0.75, 0.8]  # all is spent
        tuner.tell(tuner.ask().id, FINE | {"errors": 9.0})
        back = tuner.ask()
        assert back.reason == "rollback"
        assert back.values["mix"] == pytest.approx(0.75, abs=0.06)  # the last good state, or
        tuner.tell(back.id, FINE | {"errors": 9.0})  # a step on the way there
        seen = [*back.notes]
        for _ in range(6):
            decision = tuner.ask()
            seen += decision.notes
            assert abs(decision.values["mix"] - decision.previous["mix"]) <= 0.25 * (1 + 1e-9)
            tuner.tell(decision.id, FINE | {"errors": 9.0 if decision.values["mix"] > 0.6 else 1.0})
        assert "mix: beyond its budget, as a guardrail is broken" in seen
        assert decision.values["mix"] == 0.5
        tuner.resume()
        tuner.override({"mix": 0.6})
        held = tuner.ask()  # a person has no more than the budget
        assert (held.values["mix"], held.notes) == (0.5, ("mix: budget",))


def test_a_repeated_rollback_has_one_effect_and_the_best_state_is_known(
    tmp_path: Path, clock: Clock
) -> None:
    rules = [{"rule": "errors <= 2", "kind": "guardrail"}]
    with tuner_at(tmp_path, clock, spec_with(**GENTLE | {"constraints": rules})) as tuner:
        for mix, sales in ((0.5, 5.0), (0.7, 9.0), (0.9, 1.0)):
            tuner.override({"mix": mix})
            for _ in range(4):
                decision = tuner.ask()
                clock.wait(hours=2)
                tuner.tell(decision.id, FINE | {"sales": sales})
            assert decision.values["mix"] == mix
        tuner.rollback()
        decision = tuner.ask()
        assert decision.values["mix"] == pytest.approx(0.7)
        tuner.tell(decision.id, FINE)
        events = tuner.status().events
        tuner.rollback()
        tuner.rollback()
        assert tuner.status().events == events
        assert tuner.ask().values["mix"] == pytest.approx(0.7)
        tuner.resume()
        tuner.override({"mix": 0.55})
        tuner.tell(tuner.ask().id, FINE)
        tuner.rollback(best=True)
        tuner.rollback(best=True)
        assert tuner.ask().values["mix"] == pytest.approx(0.7)  # sales were best there
        best = best_good(tuner._projection.tuner_state)
        assert best is not None
        assert best.state[2] == pytest.approx(0.7)
        goods = [good.state[2] for good in tuner._projection.tuner_state.good]
        assert len(goods) == len(set(goods))
        assert min(np.diff(sorted(goods))) >= 0.02 - 1e-12


def test_status_says_what_is_held_and_for_how_long(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock, with_limits(max_step=0.1, per="1h")) as tuner:
        tuner.override({"mix": 1.0})
        tuner.tell(tuner.ask().id, FINE)
        clock.wait(minutes=29)
        (held,) = tuner.status().obstacles
        assert str(held) == "manual held: mix max_step, free in 31 min"
        assert (held.knob, held.limit, held.seconds, held.rounds) == ("mix", "max_step", 1860, 0)
        assert tuner.ask().values["mix"] == 0.6
        tuner.tell(tuner.ask().id, FINE)
        clock.wait(seconds=held.seconds or 0)
        assert tuner.ask().values["mix"] == pytest.approx(0.7)
    with tuner_at(tmp_path, clock, with_limits(max_step=0.1, per=4)) as tuner:
        tuner.tell(tuner.ask().id, FINE)
        (held,) = tuner.status().obstacles
        assert str(held) == "manual held: mix max_step, free in 3 rounds"
    with tuner_at(tmp_path, clock, with_limits(budget=0.25)) as tuner:
        for _ in range(3):
            tuner.tell(tuner.ask().id, FINE)
        (held,) = tuner.status().obstacles
        assert str(held) == "manual held: mix budget, for good"
        tuner.pause("a release")
        tuner.resume()
        tuner.pause("a release")
        assert [str(each) for each in tuner.status().obstacles] == ["move held: paused: a release"]


# Constraints.


def moving(tuner: tt.Tuner, clock: Clock) -> Any:
    """The first decision that moves, all being well; it is not told."""
    for i in range(60):
        decision = tuner.ask()
        if decision.changed:
            return decision
        clock.wait(minutes=30)
        tuner.tell(decision.id, world(decision.values, np.random.default_rng(i)))
    raise AssertionError("nothing moved")


def test_a_broken_guardrail_rolls_back_after_its_patience(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        moved = moving(tuner, clock)
        clock.wait(minutes=30)
        tuner.tell(moved.id, FINE | {"errors": 9.0})
        second = tuner.ask()
        assert not second.changed  # patience is 2, but nothing goes on from here
        tuner.tell(second.id, FINE | {"errors": 9.0})
        clock.wait(hours=2)
        back = tuner.ask()
        assert back.reason == "rollback"
        assert tuner.status().rollbacks == 1
        while back.values != moved.previous:  # max_step and per hold on the way back, too
            tuner.tell(back.id, FINE)
            clock.wait(hours=2)
            back = tuner.ask()
            assert (back.reason, back.round < second.round + 5) == ("rollback", True)
        tuner.tell(back.id, FINE)
        waits = tuner.ask()
        assert (waits.changed, tuner.status().mode) == ((), "tuning")
        assert any("after a rollback" in note for note in tuner.status().waits)


def test_an_open_decision_is_out_of_date_after_a_breach(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        moved = moving(tuner, clock)
        other = tuner.ask("other")
        assert other.values == moved.values
        for client in ("x", "y"):
            tuner.tell(tuner.ask(client).id, {"errors": 9.0})
        clock.wait(hours=2)
        assert tuner.ask("other").reason == "rollback"
        assert tuner.ask().values == moved.previous


def test_rollbacks_become_rare(tmp_path: Path, clock: Clock) -> None:
    """The policy does not learn of the guardrail, and would break it again and again."""
    spec = spec_with(**GENTLE | {"constraints": [{"rule": "errors <= 2", "kind": "guardrail"}]})
    with tuner_at(tmp_path, clock, spec) as tuner:
        for _ in range(150):
            decision = tuner.ask()
            good = decision.values["mix"] == 0.5
            told = world(decision.values, np.random.default_rng(decision.round))
            tuner.tell(decision.id, told | {"errors": 1.0 if good else 9.0})
        assert 3 <= tuner.status().rollbacks <= 8  # log2(150) = 7.2
        tuner.resume()
        assert tuner._projection.tuner_state.wait_until == 0


def test_a_signal_pauses(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        play(tuner, clock, 3)
        tuner.tell(tuner.ask().id, FINE | {"load": 9.5})
        status = tuner.status()
        assert (status.mode, status.why) == ("paused", "signal: load < 9 does not hold")
        assert not any(d.changed for d in play(tuner, clock, 20))
        tuner.resume()
        assert any(d.changed for d in play(tuner, clock, 40))


def test_where_nothing_good_is_known_it_pauses(tmp_path: Path, clock: Clock) -> None:
    rules = [{"rule": "errors <= 2", "kind": "guardrail", "safety": 0.0}]
    with tuner_at(tmp_path, clock, spec_with(constraints=rules)) as tuner:
        tuner.tell(tuner.ask().id, FINE | {"errors": 9.0})
        assert tuner.status().mode == "paused"
        assert "no other good state" in str(tuner.status().why)


def test_a_guardrail_also_ends_an_override(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        start = play(tuner, clock, 3)[0].values
        tuner.pause()
        tuner.override({"ttl": 500})
        for _ in range(2):
            tuner.tell(tuner.ask().id, FINE | {"errors": 9.0})
        assert tuner.status().mode == "rollback"
        clock.wait(hours=2)
        for decision in play(tuner, clock, 4):
            assert decision.reason in ("rollback", "hold")
        assert tuner.ask().values["ttl"] != 500
        assert tuner.status().mode == "paused"
        assert start.keys() == tuner.ask().values.keys()


# Baselines.


@pytest.mark.parametrize(
    ("rule", "rows", "known_at"),
    [
        ("errors <= 2 * baseline", [1.0, 1.1, 0.9, 1.0, 1.1, 0.9], 4),  # room for its error
        ("errors <= 1.2 * baseline", [1.0, 1.1, 0.9, 1.0, 1.1, 0.9], 6),  # none
        ("errors <= 2 * baseline", [1.0, 3.0, 0.5, 2.0, 1.1, 0.9], 6),  # a wild metric
        ("errors <= 0.9 * baseline", [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 6),  # broken already
        ("errors <= 9 * baseline + load", [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 6),  # more than itself
    ],
)
def test_a_baseline_is_known_once_the_limit_is(
    tmp_path: Path, clock: Clock, rule: str, rows: list[float], known_at: int
) -> None:
    rules = [{"rule": rule, "kind": "guardrail", "patience": 9}]
    spec = spec_with(constraints=rules, baseline_observations=6)
    with tuner_at(tmp_path, clock, spec) as tuner:
        tuner.pause()
        for n, errors in enumerate(rows, 1):
            tuner.tell(tuner.ask().id, FINE | {"errors": errors})
            assert ("errors" in tuner.status().baselines) == (n >= known_at)
        assert tuner.status().baselines["errors"] == pytest.approx(np.mean(rows))


def test_a_baseline_is_not_of_what_is_seen_when_the_system_has_come_back(
    tmp_path: Path, clock: Clock
) -> None:
    rules = [{"rule": "errors <= 5 * baseline", "kind": "guardrail"}]
    spec = spec_with(**GENTLE | {"constraints": rules, "baseline_observations": 8})
    with tuner_at(tmp_path, clock, spec) as tuner:
        tuner.pause()
        for errors in (1.0, 1.1, 0.9, 1.0):
            tuner.tell(tuner.ask().id, FINE | {"errors": errors})
        for mix in (0.8, 0.5):
            tuner.override({"mix": mix})
            tuner.tell(tuner.ask().id, FINE | {"errors": 3.0})
        assert tuner.status().values["mix"] == 0.5
        assert tuner.status().baselines["errors"] == 1.0


def test_one_tell_of_many_rounds_says_nothing_of_the_noise(tmp_path: Path, clock: Clock) -> None:
    rules = [{"rule": "errors <= 5 * baseline", "kind": "guardrail"}]
    spec = spec_with(constraints=rules, baseline_observations=8)
    with tuner_at(tmp_path, clock, spec) as tuner:
        tuner.tell(tuner.ask().id, FINE | {"errors": 1.0}, count=7)
        assert tuner.status().baselines == {}
        tuner.tell(tuner.ask().id, FINE | {"errors": 1.0})
        assert tuner.status().baselines == {"errors": 1.0}


# What is missing.


@pytest.mark.parametrize("missing", ["latency", "sales", "errors"])
def test_a_metric_that_is_missing_holds(tmp_path: Path, clock: Clock, missing: str) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        for i in range(40):
            decision = tuner.ask()
            assert not decision.changed
            told = world(decision.values, np.random.default_rng(i))
            del told[missing]
            tuner.tell(decision.id, told)
        assert any(missing in note for note in decision.notes)
        # Where nothing is known of a guardrail, no look finds a state to go to.
        assert decision.reason == ("hold" if missing == "errors" else "guard")
        play(tuner, clock, 40 if missing == "errors" else 3)  # until the next look
        assert tuner.status().moves > 0


def test_metrics_are_not_learned_from_before_they_are_steady(tmp_path: Path, clock: Clock) -> None:
    spec = spec_with(**GENTLE | {"knobs__ttl__stability": {"stabilize_for": "1h"}})
    with tuner_at(tmp_path, clock, spec) as tuner:
        tuner.attach({"ttl": 400})
        decision = tuner.ask()
        clock.wait(minutes=59)
        tuner.tell(decision.id, {"latency": 90.0})
        rounds = tuner._projection.learned.policy.rounds
        assert rounds == 0
        clock.wait(minutes=1)
        tuner.tell(decision.id, {"sales": 5.0})  # measured when it was steady
        assert tuner._projection.learned.policy.rounds == 1
        tuner.attach({"ttl": 500})
        clock.wait(days=1)
        tuner.tell(tuner.ask("b").id, {"latency": 90.0})
        assert tuner._projection.learned.policy.rounds == 2
        late = tuner.ask("c")
        tuner.attach({"ttl": 600})
        unsteady = tuner.ask("d")
        clock.wait(minutes=2)
        tuner.attach({"ttl": 700})
        clock.wait(days=1)
        tuner.tell(unsteady.id, {"latency": 90.0})  # late, of a state that never was steady
        learner = tuner._projection.learned.policy.learner
        learner.absorb(learner.problem.all_criteria)
        before = learner.estimators.stats.data.sum()
        tuner.tell(late.id, {"latency": 90.0})
        learner = tuner._projection.learned.policy.learner
        assert learner.estimators.stats.data.sum() == before + 1


def test_all_is_well_only_once_metrics_are_steady(tmp_path: Path, clock: Clock) -> None:
    """A breach counts at once; that a rule holds may be an echo of the state before."""
    rules = [{"rule": "errors <= 2", "kind": "guardrail"}]
    change = {"constraints": rules, "knobs__ttl__stability": {"stabilize_for": 2}}
    with tuner_at(tmp_path, clock, spec_with(**GENTLE | change)) as tuner:
        tuner.tell(tuner.ask().id, FINE)
        tuner.attach({"ttl": 400})
        for expected in (None, None, True):
            tuner.tell(tuner.ask().id, FINE)
            assert tuner.status().constraints == {"errors <= 2": expected}
        tuner.attach({"ttl": 500})
        tuner.tell(tuner.ask().id, FINE | {"errors": 9.0})
        assert tuner.status().mode == "rollback"
