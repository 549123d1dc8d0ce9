"""The loop's own metrics, and its log: what they say, and what they never say."""

from __future__ import annotations

import io
import json
import threading
import urllib.request
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from tests.live.tuners import SPEC
from tests.run.fakes import Bench
from trimtab.errors import InvalidInput
from trimtab.live.spec.connect.environment import Secrets
from trimtab.run.faults import SourceFault, TargetFault
from trimtab.run.instruments import Instruments, Metrics
from trimtab.run.log import Log
from trimtab.run.process import _served
from trimtab.run.shell import play, play_once

NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)


class Watched:
    """A bench with instruments."""

    def __init__(self, folder: Path, text: str = SPEC) -> None:
        self.registry = CollectorRegistry()
        self.instruments = Instruments(Metrics(self.registry), "shop")
        self.it = Bench(folder, text=text, observers=(self.instruments,))

    def again(self) -> None:
        """The program ends and is started again: another registry, the same journal."""
        self.it.journal.close()
        self.registry = CollectorRegistry()
        self.it.observers = (Instruments(Metrics(self.registry), "shop"),)
        self.it.begin()

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"trimtab_{name}", {"tuner": "shop", **labels})


def test_values_moves_headroom_and_ages(tmp_path: Path) -> None:
    watched = Watched(tmp_path, SPEC.replace("delta = 0.05", ""))
    it = watched.it
    it.rounds(30)
    status = it.tuner.status()
    for knob, value in status.values.items():
        assert watched.value("knob_value", knob=knob) == value
    assert watched.value("moves") == status.moves > 0
    assert watched.value("rounds") == status.rounds
    assert watched.value("mode", mode="tuning") == 1.0
    assert watched.value("mode", mode="paused") == 0.0
    errors = watched.value("metric_value", metric="errors")
    assert errors is not None
    limit = 2 * status.baselines["errors"]
    rule = "errors <= 2 * baseline"
    assert watched.value("guardrail_headroom", rule=rule) == pytest.approx((limit - errors) / limit)
    assert watched.value("guardrail_headroom", rule="load < 9") == pytest.approx(8 / 9)
    ratio, loss, start = (
        watched.value(name) for name in ("loss_against_start", "loss", "loss_at_start")
    )
    assert ratio is not None
    assert loss is not None
    assert start is not None
    assert ratio == pytest.approx(loss / start)
    assert ratio < 1.0  # it helps
    assert watched.value("last_round_timestamp_seconds") == it.loop.heard.timestamp()


def test_the_start_is_the_tuners_not_that_of_the_process(tmp_path: Path) -> None:
    watched = Watched(tmp_path, SPEC.replace("delta = 0.05", ""))
    it = watched.it
    it.rounds(30)
    before = watched.value("loss_at_start")
    rows = it.tuner.history(kinds=["tell"])
    spec = it.tuner.spec
    told = [{name: x[0] for name, x in row.told.items() if x} for row in rows]
    losses = [float(spec.problem.weights @ spec.losses(each)) for each in told]
    first = next(k for k, row in enumerate(it.tuner.history(kinds=["decide"])) if row.changed)
    assert before == pytest.approx(sum(losses[:first][:8]) / len(losses[:first][:8]))
    watched.again()
    it.rounds(2)
    assert it.tuner.status().values != spec.values(spec.start)  # the process begins elsewhere
    assert watched.value("loss_at_start") == before
    ratio, loss = watched.value("loss_against_start"), watched.value("loss")
    assert before is not None
    assert loss is not None
    assert ratio == pytest.approx(loss / before)


def test_faults_stuck_and_pauses(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    it = watched.it
    it.rounds(2)
    it.source.fault = SourceFault("timeout", "no answer")
    it.steps(2000.0)
    counted = watched.value("faults_total", where="source", code="timeout")
    assert counted is not None
    assert counted >= 3
    assert watched.value("stuck") == 1.0
    it.source.fault = None
    it.steps(200.0)
    assert watched.value("stuck") == 0.0
    it.tuner.pause("lunch")
    it.loop.step()
    assert watched.value("mode", mode="paused") == 1.0
    it.target.fault = TargetFault("unreachable", "gone")
    it.steps(100.0)
    assert watched.value("faults_total", where="target", code="unreachable")
    watched.instruments.looked("alarm")
    assert watched.value("alarms_total") == 1.0
    assert watched.value("looks_total", cause="alarm") == 1.0


def test_they_are_served_where_they_should_be() -> None:
    with ExitStack() as stack:
        instruments = _served("127.0.0.1:0", "shop", stack)
        instruments.failed("source", "timeout")
    with ExitStack() as stack, pytest.raises(InvalidInput, match="write HOST:PORT"):
        _served("9464", "shop", stack)
    with ExitStack() as stack, pytest.raises(InvalidInput, match=r"--metrics 203\.0\.113\.1:1"):
        _served("203.0.113.1:1", "shop", stack)


def test_a_scrape(tmp_path: Path) -> None:
    from prometheus_client import start_http_server

    watched = Watched(tmp_path)
    watched.it.rounds(2)
    server, thread = start_http_server(0, "127.0.0.1", watched.registry)
    url = f"http://127.0.0.1:{server.server_port}/metrics"
    with urllib.request.urlopen(url, timeout=5) as answer:
        text = answer.read().decode()
    server.shutdown()
    server.server_close()
    thread.join()
    assert 'trimtab_knob_value{knob="ttl",tuner="shop"} 300.0' in text


def test_lines_for_people_and_for_machines() -> None:
    secrets = Secrets(["${PW}"], {"PW": "sesame"})
    people, machines = io.StringIO(), io.StringIO()
    for stream, as_json in ((people, False), (machines, True)):
        log = Log(stream=stream, as_json=as_json, secrets=secrets, clock=lambda: NOON)
        log.warn("source-fault", text="redis://:sesame@a is away", wait=0.25, left_out=None)
        log.line("debug", "quiet")
    assert people.getvalue() == (
        '2026-05-06T12:00:00.000Z warn  source-fault text="redis://:***@a is away" wait=0.25\n'
    )
    assert json.loads(machines.getvalue()) == {
        "at": "2026-05-06T12:00:00.000Z",
        "level": "warn",
        "event": "source-fault",
        "text": "redis://:***@a is away",
        "wait": 0.25,
    }


def test_a_line_is_one_line() -> None:
    stream = io.StringIO()
    Log(stream=stream, clock=lambda: NOON).error("x", text="two\nlines \x1b[31m", values={"a": 1.5})
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()
    assert "values=a:1.5" in stream.getvalue()


def test_play_ends_after_the_step_under_way(tmp_path: Path) -> None:
    it, stop = Bench(tmp_path), threading.Event()
    stepped = []

    def between() -> None:
        stepped.append(it.clock.now)
        if len(stepped) == 3:
            stop.set()

    it.loop.step = lambda: 0.0  # type: ignore[method-assign]
    play(it.loop, stop, between=between)
    assert len(stepped) == 3
    it.journal.close()


def test_once_on_a_clock(tmp_path: Path) -> None:
    it = Bench(tmp_path, once=True)
    assert play_once(it.loop)
    assert len(it.kinds("applied")) == 1
    for minute in range(3):  # a new process each time, as cron would start it
        it.clock.wait(seconds=100)
        it.journal.close()
        it.begin()
        assert play_once(it.loop), minute
    assert len(it.kinds("tell")) == 3
    ends = [window.end for window in it.source.asked]
    assert all((b - a).total_seconds() >= 60 for a, b in pairwise(ends))
    it.clock.wait(seconds=100)
    it.source.fault = SourceFault("timeout", "no answer")
    it.journal.close()
    it.begin()
    assert not play_once(it.loop)
    it.journal.close()
