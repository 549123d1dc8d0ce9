"""A row of another table, written in the transaction of events: both are there, or neither."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import trimtab as tt
from tests.live.store.journals import tell
from tests.live.tuners import Clock, spec_with
from trimtab.live import Decision
from trimtab.live.state.telling import Receipt
from trimtab.live.store.database import Beside, Row
from trimtab.live.store.event import Event
from trimtab.live.store.faults import Taken
from trimtab.live.store.journal import Journal
from trimtab.live.store.opening import open_journal

TABLE = "CREATE TABLE answers (key TEXT PRIMARY KEY, body TEXT NOT NULL, at BIGINT NOT NULL)"


@pytest.fixture
def journal(journal_url: str) -> Iterator[Journal]:
    with open_journal(journal_url) as journal:
        journal._database.transact(lambda execute: execute(TABLE))
        yield journal


def answers(journal: Journal) -> list[Row]:
    return journal._database.query("SELECT key, body, at FROM answers ORDER BY key")


def answer(key: str) -> Callable[[tuple[Event, ...]], list[Beside]]:
    """A row that says which events were appended under the key."""

    def rows(events: tuple[Event, ...]) -> list[Beside]:
        said = " ".join(str(event.number) for event in events)
        return [Beside("answers", {"key": key, "body": said, "at": 7})]

    return rows


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("n", [1, 3])
def test_the_row_is_written_with_the_events_or_not_at_all(
    journal: Journal, alone: bool, n: int
) -> None:
    (last,) = journal.append("a", tell(0))
    place = None if alone else last
    events = journal.append("a", *(tell(x) for x in range(n)), after=place, beside=answer("k"))
    said = [("k", " ".join(str(2 + x) for x in range(n)), 7)]
    assert answers(journal) == said
    place = None if alone else events[-1]
    with pytest.raises(Taken, match="answers has a row of this key already; nothing was written"):
        journal.append("a", *(tell(9) for _ in range(n)), after=place, beside=answer("k"))
    assert journal.last("a") == 1 + n
    assert journal.append("a", tell(9), after=last, beside=answer("other")) == ()  # out of date
    assert answers(journal) == said
    journal.append("a", tell(9), after=events[-1], beside=answer("other"))
    assert len(answers(journal)) == 2


def test_no_row_where_nothing_is_new(journal: Journal) -> None:
    first = journal.append("a", tell(1, "key"))
    assert journal.append("a", tell(1, "key"), beside=answer("k")) == first
    assert answers(journal) == []


def said(key: str) -> Callable[[Any], Beside]:
    """A row that holds what a verb answers."""

    def row(result: Decision | Receipt | int | None) -> Beside:
        body = result.id if isinstance(result, Decision | Receipt) else repr(result)
        return Beside("answers", {"key": key, "body": body, "at": 7})

    return row


def test_what_a_verb_answers_is_written_with_its_event(journal: Journal) -> None:
    spec = spec_with()
    with tt.Tuner(spec, storage=journal, clock=Clock()) as tuner:
        decision = tuner.beside(said("1")).ask()
        metrics = {each.name: each.low for each in spec.objectives}
        tuner.beside(said("2")).tell(decision.id, metrics)
        tuner.beside(said("3")).pause()
        with pytest.raises(Taken):
            tuner.beside(said("2")).resume()
        assert tuner.status().mode == "paused"
        assert tuner.ask().id != decision.id  # this object writes no rows
    assert answers(journal) == [("1", decision.id, 7), ("2", decision.id, 7), ("3", "None", 7)]


def test_the_row_holds_the_decision_that_others_see(journal: Journal) -> None:
    spec = spec_with()
    with tt.Tuner(spec, storage=journal, clock=Clock()) as tuner:
        tuner.override({spec.knobs[0].name: spec.knobs[0].high})
        seen: list[Decision] = []

        def row(result: Decision) -> Beside:
            seen.append(result)
            return Beside("answers", {"key": "k", "body": result.id, "at": 7})

        assert tuner.beside(row).ask() == seen[0]
        assert seen[0].changed == (spec.knobs[0].name,)
