"""Hosts whose clocks are wrong: one that is far ahead is refused, and nobody else is harmed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import trimtab as tt
from tests.live.test_tuner_guards import with_limits
from tests.live.tuners import Clock, spec_with, world
from trimtab.cli import app
from trimtab.live import Spec
from trimtab.live import clock as clocks
from trimtab.live.replay import replay
from trimtab.live.store.faults import Unavailable
from trimtab.live.store.journal import Journal
from trimtab.live.store.opening import open_journal

AHEAD, BEHIND = timedelta(days=3650), timedelta(days=-3650)
SETTLE = {"max_step": 0.1, "stabilize_for": "2h"}


class Hosts:
    """Hosts of one store: the server's clock is right, theirs are off by `skew`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server, self.skew = Clock(), timedelta(0)
        host = type("Host", (datetime,), {"now": lambda zone: self.server() + self.skew})
        monkeypatch.setattr(clocks, "datetime", host)
        monkeypatch.setattr(Journal, "time", lambda journal: self.server())


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Hosts:
    return Hosts(monkeypatch)


def rounds(
    hosts: Hosts, path: Path, spec: Spec, intrude: Callable[[tt.Tuner], None]
) -> list[dict[str, Any]]:
    """What eight half-hours and a rollback amount to, with somebody else between any two calls."""
    hosts.server.now, seen = Clock().now, []
    with (
        tt.Tuner(spec, storage=str(path)) as tuner,
        tt.Tuner(spec, storage=str(path)) as other,
    ):
        tuner.override({"mix": 1.0})
        for i in range(10):
            if i == 6:
                tuner.rollback()
            intrude(other)
            decision = tuner.ask()
            seen.append({"values": dict(decision.values), "reason": decision.reason})
            hosts.server.wait(minutes=30)
            intrude(other)
            tuner.tell(decision.id, world(decision.values, np.random.default_rng(i)))
        seen += [row.to_dict() for row in tuner.history()]
    return seen


@pytest.mark.parametrize(
    "limits", [{"max_step": 0.2, "per": "1h"}, SETTLE, {"budget": 0.5, "budget_per": "2h"}]
)
def test_a_host_far_ahead_changes_nothing(
    hosts: Hosts, tmp_path: Path, limits: dict[str, Any]
) -> None:
    """Time windows, settling and the way back are those of a run without it."""
    refused = 0

    def ahead(other: tt.Tuner) -> None:
        nonlocal refused
        hosts.skew = AHEAD
        calls = (
            other.pause,
            other.rollback,
            lambda: other.ask("another"),
        )
        for call in calls:
            with pytest.raises(Unavailable, match="nothing was written; set the clock that is"):
                call()
            refused += 1
        other.status()  # reading is for everybody
        hosts.skew = timedelta(0)

    spec = with_limits(**limits)
    alone = rounds(hosts, tmp_path / "alone.db", spec, lambda other: None)
    beside = rounds(hosts, tmp_path / "beside.db", spec, ahead)
    assert beside == alone
    assert refused == 60
    assert len({step["values"]["mix"] for step in alone[:10]}) > 1  # it moved


def test_a_host_far_behind_does_not_break_a_window(hosts: Hosts, tmp_path: Path) -> None:
    """Its events are recorded at the time of the last one."""
    spec = with_limits(max_step=0.2, per="1h")

    def behind(other: tt.Tuner) -> None:
        hosts.skew = BEHIND
        other.ask("another")
        hosts.skew = timedelta(0)

    seen = rounds(hosts, tmp_path / "a.db", spec, behind)
    assert [round(step["values"]["mix"], 9) for step in seen[:6]] == [0.7, 0.7, 0.9, 0.9, 1.0, 1.0]
    times = [row["at"] for row in seen[10:]]
    assert times == sorted(times)


def test_what_is_within_the_bound_is_written(hosts: Hosts, tmp_path: Path) -> None:
    """After any time without events; and time stands still for no longer than the bound."""
    with tt.Tuner(with_limits(max_step=0.2, per="1h"), storage=str(tmp_path / "a.db")) as tuner:
        hosts.server.wait(days=400)
        hosts.skew = clocks.BOUND
        tuner.override({"mix": 1.0})
        assert tuner.ask("a").values["mix"] == 0.7
        hosts.skew = timedelta(0)
        hosts.server.wait(minutes=60)
        assert tuner.ask("b").values["mix"] == 0.7
        hosts.server.wait(minutes=60)
        assert tuner.ask("c").values["mix"] == pytest.approx(0.9)
        hosts.server.wait(hours=2)
        hosts.skew = clocks.BOUND + timedelta(seconds=1)
        with pytest.raises(Unavailable, match="more than 1:00:00 ahead"):
            tuner.ask("d")


def test_every_way_to_write_is_guarded(hosts: Hosts, tmp_path: Path) -> None:
    path, table = str(tmp_path / "a.db"), {"mix": [0.5], "size": [5], "metric": ["sales"]}
    with tt.Tuner(spec_with(), storage=path) as tuner:
        decision = tuner.ask()
        hosts.skew = AHEAD
        for call in (
            lambda: tuner.tell(decision.id, {"latency": 100.0}),
            lambda: tuner.attach({"mix": 0.6}),
            lambda: tuner.override({"mix": 0.6}),
            lambda: tuner.warm_start(table | {"value": [3.0]}),
            lambda: tt.Tuner(spec_with(name="new"), storage=path),
        ):
            with pytest.raises(Unavailable, match="2036-05-03"):
                call()
    with open_journal(path) as journal:
        assert (journal.tuners(), journal.last("shop")) == (["shop"], 2)
        with pytest.raises(Unavailable, match="2036-05-03"):
            clocks.stamp(clocks.utc, journal)  # as `trimtab run` does for its records


def test_a_clock_that_is_given_is_taken_as_it_is(hosts: Hosts, tmp_path: Path) -> None:
    """Simulations run in any year."""
    clock = Clock()
    clock.wait(days=36500)
    with tt.Tuner(spec_with(), storage=str(tmp_path / "a.db"), clock=clock) as tuner:
        clock.wait(days=36500)
        assert tuner.ask().at == clock()


@pytest.mark.needs("postgresql")
def test_a_server_has_a_clock_of_its_own(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tt.Tuner(spec_with(), storage=postgres_url) as tuner:
        first = tuner.ask()
        with open_journal(postgres_url, read_only=True) as journal:
            there = journal.time()
            assert there is not None
            assert abs(there - datetime.now(UTC)) < timedelta(minutes=1)
        host = type("Host", (datetime,), {"now": lambda zone: datetime.now(zone) + AHEAD})
        monkeypatch.setattr(clocks, "datetime", host)
        with pytest.raises(Unavailable, match="so nothing was written"):
            tuner.ask("another")
        monkeypatch.undo()
        assert tuner.ask() == first
        assert tuner.ask("another").id == "shop-3"


def test_a_file_has_no_other_clock_than_its_host(tmp_path: Path) -> None:
    with open_journal(tmp_path / "a.db") as journal:
        assert journal.time() is None


def moved(tuner: tt.Tuner) -> float:
    """How far the knob goes when it is asked again."""
    decision = tuner.ask()
    tuner.tell(decision.id, {})
    return abs(float(decision.values["mix"]) - float(decision.previous["mix"]))


def test_a_clock_that_was_ahead_is_set_right(
    journal_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows, settling and what is left of them are those of the right time."""
    storage, clock, sqlite = journal_url, Clock(), journal_url.startswith("sqlite")
    monkeypatch.setattr(clocks, "utc", lambda: clock.now)
    monkeypatch.setattr(Journal, "time", lambda journal: None if sqlite else clock.now)
    limits = {"max_step": 0.2, "per": "1h", "stabilize_for": "2h"}
    spec = with_limits(**limits)
    run = CliRunner()
    with tt.Tuner(spec, storage=storage, clock=clock) as tuner:
        tuner.override({"mix": 1.0})
        clock.now += AHEAD
        assert moved(tuner) == pytest.approx(0.2)
        clock.now -= AHEAD
        clock.wait(hours=3)
        assert moved(tuner) == 0.0  # for ten years
        said = run.invoke(app, ["storage", "check", storage]).output
        assert "its last event is 3649 days, 21:00:00 ahead of the clock" in said
        assert "--repair sets it right" in said
        done = run.invoke(app, ["storage", "check", storage, "--repair"])
        assert done.exit_code == 0, done.output
        assert "its time was ahead by 3649 days, 21:00:00; it goes on from now" in done.output
        assert moved(tuner) == 0.0  # the hour is not over
        clock.wait(minutes=59)
        assert moved(tuner) == 0.0
        clock.wait(minutes=1)
        assert moved(tuner) == pytest.approx(0.2)
        assert "ahead" not in run.invoke(app, ["storage", "check", storage]).output
        assert replay(tuner._journal, "shop").same
        for row in tuner.history(kinds=["clock"]):
            assert row.kind == "clock"
