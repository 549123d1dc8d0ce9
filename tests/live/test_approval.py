"""Mode "approve": nothing moves before a person has said so, and the journal says who."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trimtab as tt
from tests.live.tuners import Clock, play, spec_with, tuner_at
from trimtab.errors import Conflict, NotFound
from trimtab.live.replay import replay
from trimtab.live.store.opening import open_journal

ASKING = {"policy": {"kind": "SteadyGraphLinUCB"}, "mode": "approve"}


def proposing(tmp_path: Path, clock: Clock, **changes: Any) -> tuple[tt.Tuner, Any]:
    """A tuner and the first decision that proposes something."""
    tuner = tuner_at(tmp_path, clock, spec_with(**(ASKING | changes)))
    for _ in range(60):
        (decision,) = play(tuner, clock, 1)
        if decision.proposal is not None:
            return tuner, decision
    raise AssertionError("nothing was proposed")


def replayed(tmp_path: Path) -> None:
    with open_journal(str(tmp_path / "a.db"), read_only=True) as journal:
        assert replay(journal, "shop").same


def test_nothing_moves_without_approval_and_the_approver_is_kept(tmp_path: Path) -> None:
    clock = Clock()
    tuner, decision = proposing(tmp_path, clock)
    start = tuner.spec.values(tuner.spec.start)
    assert decision.values == start
    assert decision.reason == "hold"
    assert any("waits for approval" in note for note in decision.notes)
    status = tuner.status()
    assert (status.proposed_by, status.proposal) == (decision.id, decision.proposal)
    tuner.approve(decision.id, actor="ana")
    tuner.approve(decision.id, actor="ana")  # once more has no effect
    assert len(tuner.history(kinds=["approve"])) == 1
    assert tuner.history(kinds=["approve"])[0].actor == "ana"
    moved = tuner.ask()
    assert (moved.reason, moved.values) == ("move", decision.proposal)
    assert tuner.status().proposal is None
    with pytest.raises(Conflict, match="does not wait"):
        tuner.reject(decision.id)
    play(tuner, clock, 20)
    replayed(tmp_path)


def test_what_is_rejected_is_not_proposed_again_before_the_next_look(tmp_path: Path) -> None:
    clock = Clock()
    tuner, decision = proposing(tmp_path, clock)
    tuner.reject(decision.id, actor="ben")
    tuner.reject(decision.id)
    after = play(tuner, clock, 3)
    looks = [row for row in tuner.history(kinds=["decide"]) if row.look is not None]
    assert all(made.proposal is None for made in after if made.id not in {row.id for row in looks})
    assert after[0].values == tuner.spec.values(tuner.spec.start)
    with pytest.raises(Conflict, match="does not wait"):
        tuner.approve(decision.id)
    replayed(tmp_path)


@pytest.mark.parametrize("within", ["2h", 3])
def test_a_proposal_expires(tmp_path: Path, within: str | int) -> None:
    clock = Clock()
    tuner, decision = proposing(tmp_path, clock, approve_within=within)
    for _ in range(4):
        play(tuner, clock, 1, minutes=40)
    assert tuner.status().proposed_by != decision.id
    with pytest.raises(Conflict, match=r"expired|does not wait"):
        tuner.approve(decision.id)
    replayed(tmp_path)


def test_what_people_order_comes_first(tmp_path: Path) -> None:
    clock = Clock()
    tuner, decision = proposing(tmp_path, clock)
    tuner.pause()
    with pytest.raises(Conflict, match="resume it first"):
        tuner.approve(decision.id)
    tuner.resume()  # what was proposed before is forgotten
    with pytest.raises(Conflict, match="nothing does"):
        tuner.approve(decision.id)
    with pytest.raises(NotFound):
        tuner.approve("other-3")
    tuner.override({"mix": 0.6})
    assert tuner.ask().values["mix"] == 0.6
    replayed(tmp_path)


def test_without_the_mode_nothing_waits(tmp_path: Path) -> None:
    clock = Clock()
    tuner = tuner_at(tmp_path, clock, spec_with(**(ASKING | {"mode": "auto"})))
    made = play(tuner, clock, 40)
    assert any(decision.changed for decision in made)
    with pytest.raises(Conflict, match="nothing does"):
        tuner.approve(made[-1].id)
