"""The contract of a journal, for every database it can live in."""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.live.store.journals import AT, tell, xs
from tests.postgres import connect
from trimtab.errors import Conflict, InvalidInput, NotFound
from trimtab.live.store.database import STEPS, Execute
from trimtab.live.store.event import GENESIS, Draft, Event, Head, canonical
from trimtab.live.store.event_table import PAGE
from trimtab.live.store.faults import Damaged, SnapshotIgnored, Unavailable
from trimtab.live.store.journal import Chain, Journal
from trimtab.live.store.opening import open_journal
from trimtab.live.store.session import Session


@pytest.fixture
def journal(journal_url: str) -> Iterator[Journal]:
    with open_journal(journal_url) as journal:
        yield journal


Raw = Callable[..., None]


@pytest.fixture
def raw(journal_url: str) -> Raw:
    """Runs statements behind the journal's back, triggers off."""

    def run(*statements: str) -> None:
        if journal_url.startswith("sqlite"):
            import sqlite3

            connection = sqlite3.connect(journal_url.removeprefix("sqlite:///"))
            off = ["DROP TRIGGER IF EXISTS trimtab_no_update"]
            for sql in [*off, "DROP TRIGGER IF EXISTS trimtab_no_delete", *statements]:
                connection.execute(sql)
            connection.commit()
            connection.close()
        else:
            with connect(journal_url) as server:
                server.execute("ALTER TABLE trimtab_events DISABLE TRIGGER ALL")
                for sql in statements:
                    server.execute(sql.encode())

    return run


# Appending and reading.


def test_events_come_back_as_they_were_appended(journal: Journal, journal_url: str) -> None:
    drafts = [tell(i / 3, key=str(i), at=AT + i * timedelta(microseconds=1)) for i in range(5)]
    first = journal.append("a", *drafts[:3])
    second = journal.append("a", *drafts[3:])
    with open_journal(journal_url) as other:
        events = list(other.events("a"))
    assert events == [*first, *second]
    assert [e.number for e in events] == [1, 2, 3, 4, 5]
    for event, draft in zip(events, drafts, strict=True):
        assert (event.tuner, event.kind, event.key) == ("a", "tell", draft.key)
        assert (event.at, event.payload) == (draft.at, draft.payload)


def test_tuners_have_lists_of_their_own(journal: Journal) -> None:
    for i in range(3):
        journal.append("one", tell(i, key=str(i)))
        journal.append("zwei ü", tell(-i, key=str(i)))
    assert journal.tuners() == ["one", "zwei ü"]
    assert (xs(journal, "one"), xs(journal, "zwei ü")) == ([0, 1, 2], [0, -1, -2])
    assert [e.number for e in journal.events("zwei ü")] == [1, 2, 3]
    assert (journal.last("one"), journal.last("unheard of")) == (3, 0)
    assert list(journal.events("unheard of")) == []


def test_digests_are_a_chain_that_anybody_can_recompute(journal: Journal) -> None:
    """By the formula in docs/journal.md, written out again."""
    journal.append("a", tell(0.1, key="k"), tell(None), tell("ü"))
    previous = bytes(32)
    for event in journal.events("a"):
        at = (event.at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        fields = json.dumps(["a", event.number, "tell", at, event.key], separators=(",", ":"))
        content = previous + fields.encode() + b"\n" + event.text.encode()
        assert event.digest == hashlib.sha256(content).digest()
        previous = event.digest
    assert event.number == 3


def test_reading_goes_on_from_anywhere(journal: Journal) -> None:
    events = journal.append("a", *(tell(i) for i in range(2 * PAGE + 3)))
    assert xs(journal) == list(range(2 * PAGE + 3))
    for i in (1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 3):
        assert list(journal.events("a", after=i)) == list(events[i:])
        assert list(journal.events("a", after=events[i - 1])) == list(events[i:])
    with pytest.raises(InvalidInput, match="after = 9999; tuner 'a' has no such event"):
        journal.events("a", after=9999)


def test_events_that_arrive_while_reading_do_not_disturb(journal: Journal) -> None:
    journal.append("a", *(tell(i) for i in range(PAGE)))
    seen = []
    for event in journal.events("a"):
        if event.number == PAGE // 2:
            journal.append("a", tell("late"))
        seen.append(event.number)
    assert seen == list(range(1, PAGE + 1))  # one page, as it was when it was read


scalars = st.none() | st.booleans() | st.integers() | st.text() | st.floats(-1e308, 1e308)


@given(st.recursive(scalars, lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=8))
@settings(max_examples=50)
def test_payloads_round_trip_exactly(value: Any) -> None:
    text = canonical({"v": value})
    assert text.isascii()
    again = json.loads(text)
    assert repr(again) == repr({"v": value}) or again == {"v": value}  # keys may change places
    assert canonical(again) == text


@pytest.mark.parametrize("x", [0.1, 1 / 3, -0.0, 5e-324, 1.7976931348623157e308, 10**40])
def test_numbers_come_back_bit_for_bit(journal: Journal, x: float) -> None:
    journal.append("a", tell(x))
    (back,) = xs(journal)
    assert (type(back), repr(back)) == (type(x), repr(x))


def test_texts_that_databases_find_hard(journal: Journal) -> None:
    hard = ["\0", "\ud800", "ü€😀", "'; DROP TABLE trimtab_events; --", "%s ? \\ \n"]
    journal.append("a", *(tell(x) for x in hard))
    journal.append("a", tell(0, key="100% ? 'ü'"))
    assert xs(journal) == [*hard, 0]


def test_times_are_kept_in_utc() -> None:
    local = AT.astimezone(timezone(timedelta(hours=5, minutes=30)))
    event = tell(1, at=local).sealed("a", 1, GENESIS)
    assert (event.at, event.at.tzinfo) == (AT, UTC)
    assert event == tell(1).sealed("a", 1, GENESIS)


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"payload": [1]}, "payload is a list; give a dict"),
        ({"payload": {"a": [1.0, {"b": float("nan")}]}}, r"payload\['a'\]\[1\]\['b'\] = nan; JSON"),
        ({"payload": {"a": float("-inf")}}, r"payload\['a'\] = -inf; .*write None"),
        ({"payload": {"a": {1: 2}}}, r"payload\['a'\] has the key 1; keys .* are strings"),
        ({"payload": {"a": np.arange(3)}}, r"payload\['a'\] is a ndarray; .*tolist"),
        ({"payload": {"a": {1, 2}}}, r"payload\['a'\] is a set"),
        ({"payload": {"a": LOOP}}, "contains itself"),
        ({"kind": ""}, "kind = ''; give 1 to 200 printable"),
        ({"key": "a\nb"}, r"key = 'a\\nb'"),
        ({"key": "x" * 201}, "key = 'xxx"),
        ({"at": datetime(2026, 1, 1)}, "at = .*with a time zone"),
        ({"at": 17.0}, "at = 17.0"),
    ],
)
def test_what_is_no_event_is_refused(change: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {"kind": "tell", "payload": {}, "at": AT, "key": None}
    with pytest.raises(InvalidInput, match=message):
        Draft(**(fields | change))


def test_a_payload_is_taken_as_it_is_now(journal: Journal) -> None:
    payload = {"x": [1]}
    draft = Draft(kind="tell", payload=payload, at=AT)
    payload["x"].append(2)
    (event,) = journal.append("a", draft)
    event.payload["x"].append(3)
    assert event.payload == {"x": [1]}


# Keys.


def test_the_same_again_is_the_earlier_event(journal: Journal) -> None:
    (first,) = journal.append("a", tell({"p": 1, "q": 2}, key="k"))
    journal.append("a", tell(2))
    later = AT + timedelta(days=1)
    assert journal.append("a", tell({"q": 2, "p": 1}, key="k", at=later)) == (first,)
    assert journal.last("a") == 2
    new, old, same = journal.append("a", tell(3, key="n"), tell(2.0), tell(3, key="n"))
    assert (new.number, old.number, same) == (3, 4, new)
    journal.append("b", tell("another tuner's key", key="k"))
    assert journal.last("b") == 1


@pytest.mark.parametrize(
    "other", [tell(1.5, key="k"), Draft(kind="ask", payload={"x": 1}, at=AT, key="k")]
)
def test_something_else_under_the_same_key_is_a_conflict(journal: Journal, other: Draft) -> None:
    journal.append("a", tell(1, key="k"))
    with pytest.raises(Conflict, match="key 'k' of tuner 'a' belongs to event 1, which says"):
        journal.append("a", tell(2, key="new"), other)
    assert xs(journal) == [1]  # the new one was not written either


def test_events_without_a_key_may_be_repeated(journal: Journal) -> None:
    journal.append("a", tell(1), tell(1))
    journal.append("a", tell(1))
    assert xs(journal) == [1, 1, 1]


def test_a_refused_append_changes_nothing(journal: Journal, journal_url: str) -> None:
    with pytest.raises(InvalidInput, match="nothing to append"):
        journal.append("a")
    with pytest.raises(InvalidInput, match="tuner = 'a"):
        journal.append("a\0", tell(1))
    with pytest.raises(Conflict):
        journal.append("new", tell(1, key="k"), tell(2, key="k"))
    assert journal.tuners() == []
    with (
        open_journal(journal_url, read_only=True) as look,
        pytest.raises(InvalidInput, match="read only"),
    ):
        look.append("a", tell(1))
    assert journal.tuners() == []


@pytest.mark.parametrize("step", STEPS)
def test_an_exception_at_any_step(journal_url: str, step: str) -> None:
    """Before the commit nothing is written; after it everything is."""

    def fail(name: str) -> None:
        if armed and name == step:
            raise RuntimeError(step)

    armed = False
    with open_journal(journal_url, step=fail) as journal:
        journal.append("a", tell(0, key="0"))
        armed = True
        with pytest.raises(RuntimeError, match=step):
            journal.append("a", tell(1, key="1"), tell(2, key="2"))
        armed = False
        assert xs(journal) == ([0, 1, 2] if step == "after commit" else [0])
        journal.append("a", tell(1, key="1"), tell(2, key="2"))
        assert xs(journal) == [0, 1, 2]


def test_threads_share_a_journal(journal: Journal) -> None:
    def work(name: int) -> None:
        for i in range(10):
            journal.append("a", tell([name, i], key=f"{name}-{i}"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(xs(journal)) == [[n, i] for n in range(4) for i in range(10)]


# What is stored is what was written.


SPOILT = [
    (
        "UPDATE trimtab_events SET payload = '{\"x\":7}' WHERE number = 42",
        "does not match its digest",
    ),
    ("UPDATE trimtab_events SET kind = 'ask' WHERE number = 42", "does not match its digest"),
    ("UPDATE trimtab_events SET at = at + 1 WHERE number = 42", "does not match its digest"),
    ("UPDATE trimtab_events SET key = 'k' WHERE number = 42", "does not match its digest"),
    ("UPDATE trimtab_events SET key = NULL WHERE number = 42", "does not match its digest"),
    ("DELETE FROM trimtab_events WHERE number = 42", "is missing; 43 follows"),
    ("DELETE FROM trimtab_events WHERE number >= 42", "is missing; the last one is 50"),
    ("DELETE FROM trimtab_events WHERE number BETWEEN 42 AND 44", "is missing; 45 follows"),
]


@pytest.mark.parametrize(("sql", "fault"), SPOILT)
def test_a_change_is_detected_and_named(journal: Journal, raw: Raw, sql: str, fault: str) -> None:
    journal.append("a", *(tell(i, key=str(i)) for i in range(50)))
    journal.append("b", tell("untouched"))
    raw(sql)
    read: list[Event] = []
    with pytest.raises(Damaged, match=f"events 1 to 41 are intact; event 42 {fault}"):
        read.extend(journal.events("a"))
    assert [event.number for event in read] == list(range(1, 42))
    with pytest.raises(
        Damaged, match=r"tuner 'a': events 1 to 41 are intact.*'b': events 1 to 1 are"
    ):
        journal.check()


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("UPDATE trimtab_tuners SET events = 2 WHERE id = 1", "does not match its seal"),
        ("UPDATE trimtab_tuners SET name = 'c' WHERE id = 1", r"tuner 1 \('c'\).* its seal"),
        ("UPDATE trimtab_tuners SET id = 7 WHERE id = 2", "does not match its seal"),
        ("DELETE FROM trimtab_tuners WHERE id = 2", "there are 1 tuners, not 2"),
    ],
)
def test_a_changed_list_of_tuners_is_detected(
    journal: Journal, journal_url: str, raw: Raw, sql: str, fault: str
) -> None:
    """A tuner whose name was changed must not look like one that was never begun."""
    journal.append("a", tell(1), tell(2), tell(3))
    journal.append("b", tell(1))
    raw("DELETE FROM trimtab_events WHERE tuner = 2", sql)
    changed, intact = ("a", "b") if "id = 1" in sql else ("b", "a")
    with open_journal(journal_url, read_only=True) as other:
        for call in (
            journal.tuners,
            lambda: journal.append("new", tell(1)),
            lambda: list(other.events(changed)),
            lambda: other.load_snapshot(changed),
        ):
            with pytest.raises(Damaged, match=fault):
                call()
        assert other.last(intact) > 0  # it is found by its name, whatever became of others
    assert journal._database.query("SELECT max(id) FROM trimtab_tuners") in ([(1,)], [(2,)], [(7,)])


def test_a_head_of_another_time_is_detected(journal: Journal, raw: Raw) -> None:
    """As a page of the past would bring it back, seal and all."""
    events = journal.append("a", *(tell(i) for i in range(4)))
    old = Head(1, "a", 2, events[1].digest)
    raw(
        f"UPDATE trimtab_tuners SET events = 2, digest = {_blob(journal, old.digest)}, "
        f"seal = {_blob(journal, old.seal)}"
    )
    with pytest.raises(Damaged, match="events 1 to 2 are intact; event 3 is missing; 3 follows"):
        xs(journal)
    with pytest.raises(Damaged, match="there were 4 events, now the store knows of 2"):
        list(journal.events("a", after=events[3]))


def test_all_later_events_rewritten_are_still_detected_by_who_read_before(
    journal: Journal, raw: Raw
) -> None:
    """Somebody who rewrites the whole chain cannot rewrite what a reader remembers."""
    events = journal.append("a", *(tell(i) for i in range(4)))
    journal.save_snapshot("a", number=3, content=b"sum = 3")
    other = tell("forged").sealed("a", 3, events[1].digest)
    head = Head(1, "a", 3, other.digest)
    raw(
        f"UPDATE trimtab_tuners SET events = 3, digest = {_blob(journal, head.digest)}, "
        f"seal = {_blob(journal, head.seal)}",
        "DELETE FROM trimtab_events WHERE number >= 3",
        "INSERT INTO trimtab_events (tuner, number, kind, at, payload, digest) SELECT tuner, 3, "
        f"kind, at, '{other.text}', {_blob(journal, other.digest)} FROM trimtab_events "
        "WHERE number = 1",
    )
    assert xs(journal) == [0, 1, "forged"]  # the chain is whole
    with pytest.raises(Damaged, match="event 3 is not the one that was read before"):
        list(journal.events("a", after=events[2]))
    with pytest.raises(Damaged, match="event 4 is not the one"):
        list(journal.events("a", after=events[3]))
    assert journal.append("a", tell("on top"), after=events[3]) == ()
    with pytest.warns(SnapshotIgnored, match="at event 3 was taken of other events"):
        assert journal.load_snapshot("a") is None


def _blob(journal: Journal, content: bytes) -> str:
    sqlite = journal._database.row_lock == ""
    return f"x'{content.hex()}'" if sqlite else f"'\\x{content.hex()}'"


def test_a_changed_event_is_not_given_by_its_key(journal: Journal, raw: Raw) -> None:
    journal.append("a", tell(1, key="k"))
    raw("UPDATE trimtab_events SET payload = '{\"x\":7}'")
    with pytest.raises(Damaged, match="event 1 does not match its digest"):
        journal.append("a", tell(7, key="k"))


def _run(sql: str, execute: Execute) -> None:
    execute(sql)


def test_the_database_itself_refuses_changes(journal: Journal) -> None:
    journal.append("a", tell(1))
    for sql in ("UPDATE trimtab_events SET number = 2", "DELETE FROM trimtab_events"):
        with pytest.raises(Exception, match="only ever appended"):
            journal._database.transact(partial(_run, sql))
    assert xs(journal) == [1]


def test_check_gives_the_last_digest(journal: Journal) -> None:
    assert journal.check() == []
    events = journal.append("a", tell(1), tell(2))
    assert journal.check() == [Chain("a", 2, events[-1].digest)]


# Snapshots.


def test_snapshots_are_kept_and_pruned(journal: Journal, raw: Raw) -> None:
    events = journal.append("a", *(tell(i) for i in range(9)))
    assert journal.load_snapshot("a") is None
    for number in (2, 4, 6, 6):
        journal.save_snapshot("a", number=number, content=bytes([0, number, 255]))
    snapshot = journal.load_snapshot("a")
    assert snapshot is not None
    assert (snapshot.number, snapshot.content) == (6, b"\0\6\xff")
    assert list(journal.events("a", after=snapshot)) == list(events[6:])
    numbers = journal._database.query("SELECT number FROM trimtab_snapshots ORDER BY number")
    assert numbers == [(2,), (4,), (6,)]
    assert [each.number for each in journal.snapshots("a", most=5)] == [4, 2]
    for number in (0, 10, -1):
        with pytest.raises(InvalidInput, match=f"number = {number}; tuner 'a' has no such event"):
            journal.save_snapshot("a", number=number, content=b"")


def test_old_snapshots_are_thinned_out_but_never_far(journal: Journal) -> None:
    """To any event there is one before it, at most twice as far from the end and one step."""
    journal.append("a", *(tell(i) for i in range(120)))
    for number in range(2, 121, 2):
        journal.save_snapshot("a", number=number, content=b"")
        kept = sorted(each.number for each in journal.snapshots("a"))
        gaps = itertools.pairwise([number - n for n in reversed(kept)])
        assert all(farther <= 2 * far + 2 for far, farther in gaps)
    assert len(kept) <= 12


def test_a_damaged_snapshot_is_ignored_with_a_note(journal: Journal, raw: Raw) -> None:
    journal.append("a", tell(1), tell(2))
    journal.save_snapshot("a", number=1, content=b"good")
    journal.save_snapshot("a", number=2, content=b"good")
    raw(f"UPDATE trimtab_snapshots SET content = {_blob(journal, b'evil')} WHERE number = 2")
    with pytest.warns(SnapshotIgnored, match="at event 2 is damaged"):
        snapshot = journal.load_snapshot("a")
    assert snapshot is not None
    assert (snapshot.number, snapshot.content) == (1, b"good")
    raw("DELETE FROM trimtab_snapshots WHERE number = 2", "UPDATE trimtab_snapshots SET number = 2")
    with pytest.warns(SnapshotIgnored, match="at event 2 is damaged"):
        assert journal.load_snapshot("a") is None


# One decides.


def test_nobody_else_writes_during_a_session(journal: Journal, journal_url: str) -> None:
    journal.append("a", tell(0))
    with open_journal(journal_url, timeout=0.2) as other:

        def decide(session: Session) -> None:
            known = [event.payload["x"] for event in session.events()]
            with pytest.raises(Unavailable, match=r"locked by other processes|lock timeout"):
                other.append("a", tell("too early"))
            session.append(tell(known))

        journal.decide("a", decide)
        assert xs(other) == [0, [0]]  # what was decided on is what was there
        other.append("a", tell("later"))
    assert xs(journal) == [0, [0], "later"]


def test_who_waits_for_a_session_knows_what_was_decided_in_it(
    journal: Journal, journal_url: str
) -> None:
    journal.append("a", tell(0))

    def second(session: Session) -> None:
        session.append(tell(["second", [event.payload["x"] for event in session.events()]]))

    def decide() -> None:
        with open_journal(journal_url) as other:
            other.decide("a", second)

    thread = threading.Thread(target=decide)

    def first(session: Session) -> None:
        thread.start()
        time.sleep(0.1)
        session.append(tell("first"))

    journal.decide("a", first)
    thread.join()
    assert xs(journal) == [0, "first", ["second", [0, "first"]]]


def test_a_session_that_fails_has_written_nothing(journal: Journal) -> None:
    journal.append("a", tell(0))

    def fail(session: Session) -> None:
        session.append(tell(1))
        raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        journal.decide("a", fail)
    journal.append("a", tell(2))
    assert xs(journal) == [0, 2]


def test_a_session_inside_a_session_is_refused(journal: Journal) -> None:
    """It would commit the outer one."""
    (last,) = journal.append("a", tell(0))
    refused = pytest.raises(InvalidInput, match="inside a transaction; end that one first")

    def nested(session: Session) -> None:
        session.append(tell(1))
        with refused:
            journal.append("a", tell("inner"))
        with refused:
            journal.append("b", tell("inner"))
        with refused:
            journal.append("a", tell("inner"), after=last)
        session.append(tell(2))

    journal.decide("a", nested)
    assert xs(journal) == [0, 1, 2]
    assert journal.tuners() == ["a"]


def test_an_append_after_an_event_waits_for_nobody_and_decides_alone(
    journal: Journal, journal_url: str
) -> None:
    (first,) = journal.append("a", tell(0))
    (second,) = journal.append("a", tell(1), after=first)
    assert journal.append("a", tell("late"), tell("later"), after=first) == ()
    third, fourth = journal.append("a", tell(2), tell(3), after=second)
    assert (third.number, fourth.number, xs(journal)) == (3, 4, [0, 1, 2, 3])
    with open_journal(journal_url, timeout=10) as other:
        held, done = threading.Event(), threading.Event()

        def hold(_: Session) -> None:
            held.set()
            done.wait(10)

        thread = threading.Thread(target=other.decide, args=("a", hold))
        thread.start()
        held.wait()
        begin = time.monotonic()
        assert journal.append("a", tell("refused"), after=fourth) == ()  # others have the lock
        assert time.monotonic() - begin < 5
        done.set()
        thread.join()
    assert journal.append("a", tell(4), after=fourth)[0].number == 5
    with pytest.raises(NotFound, match="no tuner 'b'"):
        journal.append("b", tell(0), after=fourth)


# Opening.


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (2, "has format 2, from before the first release; .* format 3 only: begin a new store"),
        (4, "has format 4, this trimtab reads format 3 only: upgrade trimtab"),
    ],
)
def test_another_format_is_refused(
    journal: Journal, journal_url: str, raw: Raw, version: int, message: str
) -> None:
    sqlite = journal_url.startswith("sqlite")
    header = {2: 0}.get(version, version)
    raw(
        f"UPDATE trimtab_format SET version = {version}",
        *([f"PRAGMA user_version = {header}"] if sqlite else []),
    )
    for read_only in (False, True):
        with pytest.raises(InvalidInput, match=message):
            open_journal(journal_url, read_only=read_only)
    raw("DELETE FROM trimtab_format")
    with pytest.raises(Damaged, match="0 format numbers"):
        open_journal(journal_url)


def test_looking_creates_nothing(journal_url: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no journal"):
        open_journal(journal_url, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_opening_again_finds_what_is_there(journal_url: str) -> None:
    for i in range(3):
        with open_journal(journal_url) as journal:
            assert journal.format == 3
            journal.append("a", tell(i))
            assert xs(journal) == list(range(i + 1))


@pytest.mark.parametrize(
    "place",
    [
        "",
        ":memory:",
        "sqlite://x.db",
        "mysql://host/db",
        "sqlite:///",
        "http://x",
        "sqlite:///:memory:",
    ],
)
def test_no_such_place(place: str) -> None:
    with pytest.raises(InvalidInput, match=r"give a path, sqlite:///path .* or postgresql://"):
        open_journal(place)


def test_a_forked_process_is_refused(journal: Journal) -> None:
    journal._process -= 1  # as a child sees it
    with pytest.raises(InvalidInput, match="open the journal after the fork"):
        journal.append("a", tell(1))
    journal._process += 1


def test_an_event_is_a_line_of_json() -> None:
    event = tell(0.1, key="k").sealed("a", 1, GENESIS)
    line = event.line()
    assert "\n" not in line
    again = json.loads(line)
    assert again == {
        "tuner": "a",
        "number": 1,
        "kind": "tell",
        "at": "2026-03-04T05:06:07.000089+00:00",
        "key": "k",
        "payload": {"x": 0.1},
        "digest": event.digest.hex(),
    }
    assert isinstance(event, Event)
