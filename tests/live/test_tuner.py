"""`Tuner`: asked, paused, overruled, opened again; what it answers. Telling has its own file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.live.tuners import (
    FREE,
    SPEC,
    Clock,
    play,
    spec_with,
    tuner_at,
    world,
)
from trimtab.live import Spec
from trimtab.live.replay import replay
from trimtab.live.spec.schema import POLICY
from trimtab.live.store.opening import open_journal


@pytest.fixture
def clock() -> Clock:
    return Clock()


# Asking.


def test_a_first_decision_holds_the_start(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        decision = tuner.ask()
        assert decision.values == decision.previous == {"ttl": 300.0, "size": 5, "mix": 0.5}
        assert (decision.id, decision.reason, decision.changed) == ("shop-2", "hold", ())
        assert (decision.round, decision.at, decision.client) == (1, clock.now, None)
        assert decision.next_review is not None


def test_ask_is_idempotent_until_told(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        first = tuner.ask()
        clock.wait(hours=3)
        assert tuner.ask() == first
        other = tuner.ask("b")
        assert (other.client, other.id != first.id) == ("b", True)
        assert (tuner.ask("b"), tuner.ask()) == (other, first)
        tuner.tell(first.id, {"latency": 100.0})
        assert tuner.ask().id not in (first.id, other.id)
        assert tuner.ask("b") == other
    with tuner_at(tmp_path, clock) as again:  # another process
        assert again.ask("b") == other


def test_what_another_process_did_meanwhile_is_not_done_again(tmp_path: Path, clock: Clock) -> None:
    """A call is planned before its session; what is written is planned on all events."""
    waiting: list[Callable[[], object]] = []

    def meanwhile(name: str) -> None:
        if name == "before begin" and waiting:
            waiting.pop()()

    with tuner_at(tmp_path, clock) as other, tuner_at(tmp_path, clock, step=meanwhile) as tuner:
        waiting.append(other.ask)
        decision = tuner.ask()
        assert decision == other.ask()
        waiting.append(lambda: other.tell(decision.id, {"latency": 120.0}))
        assert tuner.tell(decision.id, {"latency": 120.0}).repeated
        waiting.append(lambda: other.tell(decision.id, {"sales": 4.0}))
        with pytest.raises(tt.Conflict, match="sales = 5: it was told as 4"):
            tuner.tell(decision.id, {"sales": 5.0})
        assert not waiting
        assert tuner.status().events == 4


def test_values_change_and_say_so(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        made = play(tuner, clock, 40)
    moved = [decision for decision in made if decision.changed]
    assert len(moved) >= 3
    before = made[0].values
    for decision in made:
        assert decision.previous == before
        assert (decision.reason in ("move", "guard")) or not decision.changed
        assert all((decision.values[k] != before[k]) == (k in decision.changed) for k in before)
        before = decision.values


def test_without_guards_it_is_the_policy_itself(tmp_path: Path, clock: Clock) -> None:
    """The same losses, told to the bare policy, lead to the same states, bit for bit."""
    policy = FREE.new_policy(seed=3)
    with tuner_at(tmp_path, clock, FREE, seed=3) as tuner:
        for i in range(150):
            decision = tuner.ask()
            state = tuner._projection.tuner_state.state
            assert state == policy.ask().tolist()
            told = world(decision.values, np.random.default_rng(i))
            tuner.tell(decision.id, told)
            policy.tell(FREE.losses(told))
        assert tuner.status().moves > 5
        assert tuner._projection.learned.policy.certificate == policy.certificate


@pytest.mark.parametrize("told", [False, True], ids=["told nothing", "told something"])
@pytest.mark.parametrize("kind", [*POLICY.cases])
def test_every_policy_of_a_spec_can_be_tuned_with(
    tmp_path: Path, clock: Clock, kind: str, told: bool
) -> None:
    needed: dict[str, dict[str, Any]] = {
        "PooledGraphLinUCB": {"noise": "independent"},
        "AdaptiveGraphLinUCB": {"gamma": 0.2, "warmup": 12},
        "JointLazyGraphLinUCB": {"factor_norm": 3},
    }
    spec = spec_with(policy={"kind": kind, **(needed.get(kind, {}) if told else {})})
    with tuner_at(tmp_path, clock, spec) as tuner:
        made = play(tuner, clock, 25)
        content = tuner._projection.content()
        again = type(tuner._projection).from_snapshot(_snapshot(tuner, content))
        assert again is not None
        assert again.content() == content
        assert (len([d for d in made if d.changed]) > 0) == (kind != "FixedState")
    with open_journal(tmp_path / "a.db", read_only=True) as journal:
        assert replay(journal, "shop").same


def _snapshot(tuner: tt.Tuner, content: bytes) -> Any:
    from trimtab.live.store.snapshot_table import Snapshot

    return Snapshot(tuner._projection.number, tuner._projection.number, bytes(32), content)


# People.


def test_attach(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        play(tuner, clock, 3)
        open_one = tuner.ask()
        tuner.attach({"ttl": 1000, "size": 2})
        decision = tuner.ask()
        assert decision.id != open_one.id  # its values are not the system's any more
        assert (decision.reason, decision.changed) == ("manual", ())
        assert decision.values == dict(open_one.values) | {"ttl": 1000.0, "size": 2}
        assert tuner.ask() == decision
        number = tuner.status().events
        tuner.attach(decision.values)
        tuner.attach({"size": 2})
        assert tuner.status().events == number
        for wrong in ({"ttl": 1}, {"size": 2.5}, {"tll": 100}, {"ttl": "x"}, {"ttl": None}, 5):
            with pytest.raises(tt.InvalidInput):
                tuner.attach(wrong)  # type: ignore[arg-type]
        assert tuner.status().events == number
        tuner.tell(open_one.id, {"latency": 90.0})  # late, and learned where it was played
        learner = tuner._projection.learned
        assert learner.deployed == tuner._projection.tuner_state.state


def test_pause_and_resume_without_a_bump(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        play(tuner, clock, 4)
        tuner.pause("lunch")
        made = play(tuner, clock, 30)
        assert {decision.reason for decision in made} == {"hold"}
        assert not any(decision.changed for decision in made)
        assert made[0].notes == ("paused: lunch",)
        assert (tuner.status().mode, tuner.status().why) == ("paused", "lunch")
        number = tuner.status().events
        tuner.pause("again")
        assert tuner.status().events == number
        tuner.resume()
        decision = tuner.ask()
        assert (decision.reason, decision.changed) == ("hold", ())
        tuner.resume()
        assert tuner.status().events == number + 2
        assert any(decision.changed for decision in play(tuner, clock, 60))
        with pytest.raises(tt.InvalidInput, match="why"):
            tuner.pause("\n")


def test_override_goes_there_within_the_guards_and_stays(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        tuner.override({"ttl": 3000})
        first = tuner.ask()
        assert (first.reason, first.values["ttl"], first.notes) == (
            "manual",
            600.0,
            ("ttl: max_step",),
        )
        assert tuner.ask() == first  # one step per decision, not per question
        made = play(tuner, clock, 12)
        assert [decision.values["ttl"] for decision in made[:4]] == [600, 1200, 2400, 3000]
        assert {decision.reason for decision in made} == {"manual"}
        assert tuner.status().mode == "manual"
        tuner.resume()
        assert tuner.ask().values["ttl"] == 3000
        assert tuner.status().mode == "tuning"


def test_rollback_by_hand(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        with pytest.raises(tt.Conflict, match="no good state"):
            tuner.rollback()
        tuner.pause()
        good = play(tuner, clock, 3)[-1]
        tuner.attach({"size": 6})
        tuner.resume()
        tuner.rollback()
        tuner.rollback()
        decision = tuner.ask()
        assert (decision.reason, decision.values) == ("rollback", good.values)
        play(tuner, clock, 3)
        assert tuner.status().mode == "paused"
        assert tuner.ask().values == good.values


# Opening.


def test_limits_may_change_and_the_problem_may_not(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        play(tuner, clock, 3)
        number = tuner.status().events
    tighter = spec_with(knobs__ttl__stability={"max_step": 1.1, "move_cost": 0.1})
    with tuner_at(tmp_path, clock, tighter) as tuner:
        assert tuner.status().events == number + 1
        tuner.override({"ttl": 3000})
        decision = tuner.ask()
        assert decision.values["ttl"] == pytest.approx(1.1 * decision.previous["ttl"])
    with tuner_at(tmp_path, clock, tighter) as tuner:
        assert tuner.status().mode == "manual"
    for other in (
        spec_with(knobs__ttl__high=4000),
        spec_with(objectives__latency__direction="maximise"),
        spec_with(policy={"kind": "LinUCB"}),
    ):
        with pytest.raises(tt.Conflict, match="learns another problem"):
            tuner_at(tmp_path, clock, other)


def test_a_spec_in_a_file_and_what_is_not_there(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "shop.toml").write_text(SPEC)
    storage = str(tmp_path / "a.db")
    with pytest.raises(tt.NotFound, match="there is no journal"):
        tt.Tuner(tmp_path / "shop.toml", storage=storage, read_only=True)
    open_journal(storage).close()
    with pytest.raises(tt.NotFound, match="there is no tuner 'shop'"):
        tt.Tuner(tmp_path / "shop.toml", storage=storage, read_only=True)
    with tt.Tuner(str(tmp_path / "shop.toml"), storage=storage) as tuner:
        tuner.ask()
    with tt.Tuner(Spec.parse(SPEC), storage=storage, read_only=True) as tuner:
        assert tuner.status().rounds == 1
        with pytest.raises(tt.InvalidInput, match="read only"):
            tuner.pause()
    naive = Clock()
    naive.now = naive.now.replace(tzinfo=None)
    with pytest.raises(tt.InvalidInput, match="time zone"):
        tt.Tuner(Spec.parse(SPEC), storage=storage, clock=naive)


def test_a_clock_that_goes_back(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        first = tuner.ask()
        clock.wait(days=-2)
        tuner.tell(first.id, {"latency": 100.0})
        assert tuner.ask().at == first.at


def test_snapshots_are_a_cache(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.live.follower.SNAPSHOT_EVERY", 20)
    with tuner_at(tmp_path, clock) as tuner:
        play(tuner, clock, 40)
        expected = tuner.ask()
        content = tuner._projection.content()
    with open_journal(tmp_path / "a.db") as journal:
        snapshot = journal.load_snapshot("shop")
        assert snapshot is not None
        assert 20 < snapshot.number <= journal.last("shop")
    with tuner_at(tmp_path, clock) as again:
        assert again.ask() == expected
        assert again._projection.content() == content
    with open_journal(tmp_path / "a.db") as journal:
        journal.save_snapshot("shop", number=journal.last("shop"), content=b"nonsense")
    with pytest.warns(UserWarning, match="all events are replayed instead"):
        replayed = tuner_at(tmp_path, clock)
    assert replayed.ask() == expected
    assert replayed._projection.content() == content
    replayed.close()


def test_a_young_tuner_is_opened_from_a_snapshot_too(tmp_path: Path, clock: Clock) -> None:
    numbers = set[int]()
    with tuner_at(tmp_path, clock) as tuner:
        for _ in range(40):
            play(tuner, clock, 1)
            snapshot = tuner._journal.load_snapshot("shop")
            numbers |= set() if snapshot is None else {snapshot.number}
    assert sorted(numbers) == [16, 32, 64]


def test_status_after_every_metric_of_wild_first_rounds(tmp_path: Path, clock: Clock) -> None:
    """An outlier of a round that is not over yet; what is asked meanwhile changes nothing."""
    spec = spec_with(policy={"kind": "SteadyGraphLinUCB"})
    rng = np.random.default_rng(1)
    with tuner_at(tmp_path, clock, spec) as tuner:
        for _ in range(16):
            decision = tuner.ask()
            clock.wait(minutes=30)
            for objective in spec.objectives:
                wild = 0.5 * (rng.random() < 0.2)
                value = objective.value(0.3 + 0.02 * rng.normal() + wild)
                tuner.tell(decision.id, {objective.name: value, "errors": 1.0, "load": 1.0})
                assert tuner.status().rounds == decision.round
    with open_journal(tmp_path / "a.db", read_only=True) as journal:
        assert replay(journal, "shop").same


def test_a_new_process_in_every_round_changes_nothing(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each goes on from the snapshot of the one before."""
    monkeypatch.setattr("trimtab.live.follower.SNAPSHOT_EVERY", 3)
    spec = spec_with(policy={"kind": "SteadyGraphLinUCB"})
    made: list[list[Any]] = [[], []]
    for folder, processes in ((tmp_path / "one", 1), (tmp_path / "many", 25)):
        folder.mkdir()
        clock = Clock()
        for _ in range(processes):
            with tuner_at(folder, clock, spec) as tuner:
                made[processes > 1] += play(tuner, clock, 25 // processes)
    assert [d.to_dict() for d in made[0]] == [d.to_dict() for d in made[1]]
    assert sum(bool(d.changed) for d in made[0]) >= 3
    with open_journal(tmp_path / "many" / "a.db") as journal:
        snapshot = journal.load_snapshot("shop")
        assert snapshot is not None
        assert snapshot.number > 45


def test_an_interrupted_look_is_made_again(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle of learning; the same object goes on as if nothing had been."""
    with tuner_at(tmp_path, clock, FREE) as tuner:
        play(tuner, clock, 6)
        policy = type(tuner._projection.learned.policy)
        tell = policy.tell

        def interrupted(*arguments: Any, **options: Any) -> None:
            tell(*arguments, **options)
            raise KeyboardInterrupt

        id = tuner.ask().id
        tuner.tell(id, world({"ttl": 300.0, "size": 5, "mix": 0.5}, np.random.default_rng(0)))
        monkeypatch.setattr(policy, "tell", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tuner.ask()
        monkeypatch.undo()
        decision = tuner.ask()
        content = tuner._projection.content()
    with tuner_at(tmp_path, clock, FREE) as again:
        assert again.ask() == decision
        assert again._projection.content() == content


# Shadow.


def test_shadow_proposes_and_does_not_act(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock, shadow=True) as tuner:
        made = play(tuner, clock, 30)
        assert not any(decision.changed for decision in made)
        proposed = [decision for decision in made if decision.proposal]
        assert proposed
        assert "it proposes" in str(tuner.explain(proposed[0].id))
        limit = tuner.spec.knobs[0]
        for decision in proposed:
            there, here = decision.proposal, decision.values
            assert there is not None
            assert abs(np.log(there["ttl"] / here["ttl"])) <= np.log(2) * (1 + 1e-9)
        assert limit.stability.max_step == 2
        assert tuner.status().shadow
    with tuner_at(tmp_path, clock) as tuner:
        assert tuner.status().shadow
    with tuner_at(tmp_path, clock, shadow=False) as tuner:
        assert any(decision.changed for decision in play(tuner, clock, 10))


# Explaining.


def test_explain_and_status_say_what_happened(tmp_path: Path, clock: Clock) -> None:
    with tuner_at(tmp_path, clock) as tuner:
        first = tuner.ask()
        assert "nothing was told of it yet" in str(tuner.explain(first.id))
        made = play(tuner, clock, 20)
        moved = next(decision for decision in made if decision.changed)
        text = str(tuner.explain(moved.id))
        assert moved.changed[0] in text
        assert "last look: " in text
        assert "told: latency = " in text
        plain = tuner.explain(moved.id).to_dict()
        assert plain["decision"]["values"] == moved.values
        assert plain["look"]["cause"] in ("trigger", "review")
        status = tuner.status()
        assert (status.rounds, status.tells) == (20, 20)
        assert status.baselines["errors"] == pytest.approx(1.05, abs=0.06)
        assert status.constraints["errors <= 2 * baseline"] in (True, None)
        assert status.name in str(status)
        assert status.to_dict()["values"] == status.values


# Several tuners on one open journal.


def test_tuners_share_a_journal_that_stays_open(journal_url: str, clock: Clock) -> None:
    with open_journal(journal_url) as journal:
        with tt.Tuner(spec_with(), storage=journal, clock=clock) as shop:
            first = shop.ask()
        with tt.Tuner(spec_with(name="bar"), storage=journal, clock=clock) as bar:
            assert bar.ask().id == "bar-2"
        limited = spec_with(knobs__size__high=9)
        assert journal.tuners() == ["shop", "bar"]
        with tt.Tuner.existing("shop", journal, clock=clock) as again:
            assert again.ask() == first
            assert again.spec.to_dict() == spec_with().to_dict() != limited.to_dict()
            again.tell(first.id, {"latency": 100.0})
        assert journal.last("shop") == 3


def test_an_existing_tuner_keeps_the_spec_that_is_recorded_last(
    tmp_path: Path, clock: Clock
) -> None:
    gentle = spec_with(knobs__mix__stability={"max_step": 0.1})
    with open_journal(tmp_path / "a.db") as journal:
        with tt.Tuner(spec_with(), storage=journal, clock=clock):
            pass
        with tt.Tuner(gentle, storage=journal, clock=clock):
            assert journal.last("shop") == 2
        with tt.Tuner.existing("shop", journal, clock=clock) as tuner:
            assert tuner.spec.to_dict() == gentle.to_dict()
        assert journal.last("shop") == 2
        with pytest.raises(tt.NotFound, match="no tuner 'bar'"):
            tt.Tuner.existing("bar", journal)
        assert journal.tuners() == ["shop"]
