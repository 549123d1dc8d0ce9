"""Notices are found, kept in the journal, and delivered: in order, signed, once each."""

from __future__ import annotations

import copy
import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.live.tuners import SPEC
from tests.run.fakes import Bench
from tests.run.web import Got, Reply, Server, server
from trimtab.live import Spec
from trimtab.run.log import Log
from trimtab.run.notify.notices import Noticing, Standing, news
from trimtab.run.notify.webhooks import Webhooks
from trimtab.run.signing import HEADER, verify

HUSH = {"HUSH": "sesame"}


@contextmanager
def office_of(folder: Path, web: Server, **options: Any) -> Iterator[Office]:
    """An office, closed at the end."""
    made = Office(folder, web.url, **options)
    try:
        yield made
    finally:
        made.hooks.close()
        made.it.journal.close()


class Office:
    """A bench that notices, and webhooks beside it."""

    def __init__(self, folder: Path, url: str, *, text: str = SPEC, **hook: Any) -> None:
        self.it = Bench(folder, text=text)
        plain = copy.deepcopy(self.it.spec.to_dict())
        plain["webhook"] = [{"url": url, "secret": "${HUSH}", "timeout": "1s"} | hook]
        self.spec = Spec.from_dict(plain)
        self.written = io.StringIO()
        self.begin()

    def begin(self) -> None:
        log, it = Log(stream=self.written, clock=self.it.clock), self.it
        self.noticing = Noticing(it.journal, "shop", clock=it.clock, log=log)
        it.loop._observers = (self.noticing,)
        self.hooks = Webhooks(self.spec, it.journal, clock=it.clock, log=log, environment=HUSH)

    def deliver(self, seconds: float = 0.0) -> None:
        end = self.it.clock.now.timestamp() + seconds
        while True:
            wait = self.hooks.step()
            if self.it.clock.now.timestamp() >= end:
                return
            self.it.clock.wait(seconds=wait)

    def outcomes(self) -> list[tuple[str, int]]:
        return [(each["outcome"], each["attempts"]) for each in self.it.kinds("delivered")]


def events(web: Server) -> list[str]:
    return [got.json["event"] for got in web.got]


def test_what_happens_is_told_once_and_in_order(tmp_path: Path) -> None:
    with server() as web, office_of(tmp_path, web) as office:
        it = office.it
        it.rounds(3)
        it.source.instead = {"errors": 50.0}
        it.rounds(2)
        it.source.instead = {}
        it.rounds(2)
        it.source.instead = {"load": 20.0}
        it.rounds(1)
        it.source.instead = {}
        office.deliver()
        assert events(web) == ["breach", "rollback", "breach", "pause"]
        got = web.got[0]
        assert verify(
            got.body, got.headers[HEADER.lower()], "sesame", now=int(it.clock.now.timestamp())
        )
        assert got.json["text"] == "errors <= 2 * baseline does not hold"
        assert got.json["values"].keys() == it.system.values.keys()
        assert [each["event"] for each in it.kinds("notice")] == events(web)
        assert office.outcomes() == [("taken", 1)] * 4
        it.rounds(2)
        office.deliver()
        assert len(web.got) == 4
        texts = [row.text for row in it.tuner.history(kinds=["notice", "delivered"])]
        assert texts[0] == "notice: breach: errors <= 2 * baseline does not hold"
        assert texts[4].startswith("delivered: notice ")


def test_a_receiver_that_is_away_gets_all_of_it_later_in_order(tmp_path: Path) -> None:
    with server(lambda got: Reply(status=503)) as web, office_of(tmp_path, web) as office:
        office.it.rounds(1)
        office.it.tuner.pause("one")
        office.it.loop.step()
        office.deliver(5.0)
        office.it.tuner.resume()
        office.it.loop.step()
        office.it.tuner.pause("two")
        office.it.loop.step()
        office.deliver(5.0)
        assert office.outcomes() == []
        assert {got.json["text"] for got in web.got} == {"one"}  # two waits for one
        assert len({got.headers["x-trimtab-delivery"] for got in web.got}) == 1
        assert "webhook-fault" in office.written.getvalue()
        web.answer = lambda got: Reply()
        web.got.clear()
        office.deliver(60.0)
        assert [got.json["text"] for got in web.got] == ["one", "two"]
        assert [outcome for outcome, _ in office.outcomes()] == ["taken", "taken"]
        assert office.hooks.waiting == 0


def test_a_receiver_that_refuses_is_passed_over(tmp_path: Path) -> None:
    def answer(got: Got) -> Reply:
        return Reply(status=400 if got.json["text"] == "one" else 200)

    with server(answer) as web, office_of(tmp_path, web) as office:
        office.it.rounds(1)
        for why in ("one", "two"):
            office.it.tuner.pause(why)
            office.it.loop.step()
            office.it.tuner.resume()
            office.it.loop.step()
        office.deliver(60.0)
        assert office.outcomes() == [("given up", 3), ("taken", 1)]


def test_only_the_events_that_were_asked_for(tmp_path: Path) -> None:
    with server() as web, office_of(tmp_path, web, events=["rollback"]) as office:
        office.it.rounds(1)
        office.it.tuner.pause("lunch")
        office.it.loop.step()
        office.deliver()
        assert web.got == []


@pytest.mark.parametrize("killed", ["before the notice", "before the delivery", "after it"])
def test_a_new_process_tells_what_the_last_one_could_not(tmp_path: Path, killed: str) -> None:
    with server() as web, office_of(tmp_path, web) as office:
        it = office.it
        it.rounds(1)
        it.tuner.pause("lunch")
        if killed != "before the notice":
            it.loop.step()
        if killed == "after it":
            office.deliver()
        office.hooks.close()
        it.journal.close()
        it.begin()
        office.begin()
        it.steps(5.0)
        office.deliver()
        assert [got.json["text"] for got in web.got] == ["lunch"]
        assert len(it.kinds("notice")) == len(it.kinds("delivered")) == 1


def test_stuck_and_proposals(tmp_path: Path) -> None:
    text = SPEC.replace("delta = 0.05", "").replace(
        'name = "shop"', 'name = "shop"\nmode = "approve"'
    )
    with server() as web, office_of(tmp_path, web, text=text) as office:
        it = office.it
        while it.tuner.status().proposed_by is None:
            it.rounds(1)
        office.deliver()
        (got,) = web.got
        assert got.json["event"] == "proposal"
        assert it.tuner.status().proposed_by in got.json["text"]
        it.source.instead = {"latency": None}
        it.steps(2000.0)
        office.deliver()
        assert events(web)[-1] == "stuck"
        assert web.got[-1].json["text"] == "latency: it is null"


def test_old_notices_are_not_sent_any_more(tmp_path: Path) -> None:
    with server() as web, office_of(tmp_path, web) as office:
        office.it.rounds(1)
        office.it.tuner.pause("long ago")
        office.it.loop.step()
        office.it.clock.wait(days=2)
        office.deliver()
        assert web.got == []


def test_news_are_differences() -> None:
    broken = Standing(broken=("a <= 1",), rollbacks=2, paused="x", alarm=7)
    assert list(news(broken, broken)) == []
    more = Standing(broken=("b <= 1", "a <= 1"), rollbacks=3, paused="y", alarm=9, stuck=True)
    found = list(news(broken, more, why="no metrics"))
    assert [each.event for each in found] == ["alarm", "breach", "rollback", "pause", "stuck"]
    assert found[1].text == "b <= 1 does not hold"
    assert set(found[-1].standing.broken) == {"a <= 1", "b <= 1"}
    assert [n.event for n in news(Standing(), broken)] == ["alarm", "breach", "rollback", "pause"]


def test_a_slow_receiver_is_given_up_in_time(tmp_path: Path) -> None:
    with server(lambda got: Reply(after=1.5)) as web, office_of(tmp_path, web) as office:
        office.it.rounds(1)
        office.it.tuner.pause("lunch")
        office.it.loop.step()
        began = time.monotonic()
        office.deliver()
        assert time.monotonic() - began < 1.5
        assert "code=timeout" in office.written.getvalue()
        assert "sesame" not in office.written.getvalue()
