"""A look of one process is taken over by the others, which then know the same to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.live.tuners import Clock, spec_with, world
from trimtab.live.replay import replay
from trimtab.live.state.learning.learned import Learned
from trimtab.live.state.learning.lessons import Await, Deploy, Learn, Lesson, Watch
from trimtab.live.store.journal import Journal
from trimtab.live.store.opening import open_journal

HANDED = "SELECT through FROM trimtab_snapshots WHERE number = 0"


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Learned]:
    """Who has looked, once for each look."""
    found: list[Learned] = []
    plain = Learned._plain

    def counted(learned: Learned, told: Any) -> dict[str, Any]:
        found.append(learned)
        return plain(learned, told)

    monkeypatch.setattr(Learned, "_plain", counted)
    return found


@pytest.fixture
def journals(journal_url: str) -> Iterator[list[Journal]]:
    opened = [open_journal(journal_url) for _ in range(4)]
    yield opened
    for journal in opened:
        journal.close()


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, x in one.items():
        np.testing.assert_array_equal(x, other[name], err_msg=name)


def test_every_look_is_made_once(journals: list[Journal], looks: list[Learned]) -> None:
    clock, spec = Clock(), spec_with()
    tuners = [tt.Tuner(spec, storage=journal, clock=clock) for journal in journals]
    for n in range(60):
        tuner = tuners[n % 4]
        decision = tuner.ask(f"client {n % 4}")
        clock.wait(minutes=30)
        tuner.tell(decision.id, world(decision.values, np.random.default_rng(n)))
    for tuner in tuners:
        tuner.ask("the last")  # what was told at the end is learned by all of them
    reported = [e for e in journals[0].events("shop") if "look" in e.payload]
    assert len(reported) > 4
    assert len(looks) <= len(reported) + 1
    assert {id(learned) for learned in looks} != {id(looks[0])}  # by different ones
    for tuner in tuners[1:]:
        same(tuner.policy.snapshot(), tuners[0].policy.snapshot())
    assert replay(journals[0], "shop").same
    assert journals[0]._database.query(HANDED) == [(reported[-1].number,)]  # one row, not more


@pytest.mark.parametrize("change", ["digest = checksum", "content = checksum", "through = 1"])
def test_what_is_not_as_it_was_written_is_not_taken_over(
    journals: list[Journal], looks: list[Learned], change: str
) -> None:
    clock, spec = Clock(), spec_with()
    one, other = (tt.Tuner(spec, storage=journal, clock=clock) for journal in journals[:2])
    while not looks:
        decision = one.ask()
        clock.wait(minutes=30)
        one.tell(decision.id, world(decision.values, np.random.default_rng(decision.round)))
        one.ask()
    sql = f"UPDATE trimtab_snapshots SET {change} WHERE number = 0"
    journals[2]._database.transact(lambda execute: execute(sql))
    before = len(looks)
    same(other.policy.snapshot(), one.policy.snapshot())
    assert len(looks) == before + 1  # it has looked itself


ANYWHERE = [0.0] * 3, [1.0] * 3, [0] * 3


def test_a_look_after_a_round_without_losses_heeds_guardrails_also_from_a_snapshot() -> None:
    """A snapshot of a policy does not hold them: they are told before every lesson."""
    spec = spec_with()
    one = Learned.new(spec, 1)
    rng = np.random.default_rng(1)
    there = [0.5, 0.5, 0.5]
    looked = 0
    for n in range(40):
        limit = [1.0 if n > 2 else None]
        errors = 0.9 + 0.2 * float(np.dot(there, there)) + 0.01 * float(rng.normal())
        other = Learned.from_plain(spec, spec, one.plain(), one.arrays())
        lessons: list[Lesson] = [Watch(there, [errors], [1], limit, [[0.5, 0.5, 0.5]])]
        lessons += [Learn(there, rng.random(2).tolist(), [1, 1], ANYWHERE)] if n % 3 == 0 else []
        lessons += [Await(there, ANYWHERE)]
        for lesson in lessons:
            for each in (one, other):
                each.apply(lesson)
        assert one.goal == other.goal
        assert one.look == other.look
        looked += one.look is not None
        one.look = None
        there = (0.5 + 0.1 * rng.normal(size=3)).clip(0, 1).round(1).tolist()
        one.apply(Deploy(there, keep=True, reported=True))
    assert looked > 3
