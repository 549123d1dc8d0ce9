"""Faults of sources and targets, each with the line that the log has of it.

Every case is a real one: a server that answers late, wrong or in part, a program that fails, a
database that is slow, a file that is half written. The loop never tells anything of it.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.run.fakes import FakeSource, FakeTarget, System
from tests.run.redis import RedisServer, redis_server, redis_url  # noqa: F401 - fixtures
from tests.run.web import Got, Reply, Server, json_reply, server
from trimtab.live import Spec
from trimtab.live.store.opening import open_journal
from trimtab.live.tuner import Tuner
from trimtab.run.log import Log
from trimtab.run.loop import Loop
from trimtab.run.reading import Source
from trimtab.run.schedule import Schedule
from trimtab.run.sources.opening import open_source
from trimtab.run.targets.opening import open_target
from trimtab.run.targets.target import Target

KNOB = """
name = "cache"
[knobs.ttl]
low = 30
high = 3000
start = 300
scale = "log"
[objectives.latency]
knobs = ["ttl"]
low = 50
high = 250
"""
METRICS = {"latency": 120.0}
NOW = datetime.now(UTC)


def clock() -> datetime:
    return datetime.now(UTC)


def prometheus(result: Any, kind: str = "vector") -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": kind, "result": result}}


def series(value: str = "120", **labels: str) -> dict[str, Any]:
    return {"metric": labels, "value": [clock().timestamp(), value]}


def samples(*values: str, age: float = 0.0) -> list[dict[str, Any]]:
    at = clock().timestamp() - age
    return [{"metric": {}, "values": [[at, value] for value in values]}]


def logged(loop: Loop, log: Path) -> str:
    """What one step has to say."""
    loop.step()
    return log.read_text()


@contextmanager
def looping(
    folder: Path, spec: Spec, *, source: Source | None = None, target: Target | None = None
) -> Iterator[tuple[Loop, Path]]:
    """A loop whose first window has just become complete."""
    system = System(spec.values(spec.start))
    with (
        closing(open_journal(folder / "a.db")) as journal,
        (folder / "log").open("w") as stream,
    ):
        then = [clock() - timedelta(seconds=2)]
        loop = Loop(
            Tuner(spec, storage=journal),
            journal,
            source or FakeSource(system),
            target or FakeTarget(system),
            schedule=Schedule(window=1.0, delay=1.0, patience=60.0),
            attempts=2,
            clock=lambda: then[0],
            log=Log(stream=stream),
        )
        if source is not None:
            loop.step()
            then[0] = clock()
        yield loop, folder / "log"


@contextmanager
def reading(folder: Path, spec: Spec) -> Iterator[tuple[Loop, Path]]:
    """A loop with the source of the spec."""
    source = open_source(spec, clock=clock)
    try:
        with looping(folder, spec, source=source) as made:
            yield made
    finally:
        source.close()


@contextmanager
def setting(folder: Path, spec: Spec) -> Iterator[tuple[Loop, Path]]:
    """A loop with the target of the spec."""
    target = open_target(spec, clock=clock)
    try:
        with looping(folder, spec, target=target) as made:
            yield made
    finally:
        target.close()


def told(loop: Loop) -> int:
    return loop.tuner.status().tells


# Sources that speak HTTP.

FAR = format_datetime(NOW - timedelta(hours=2), usegmt=True)
HTTP: dict[str, tuple[Callable[[Got], Reply], str]] = {
    "timeout": (lambda got: Reply(after=1.5), "source-fault code=timeout"),
    "status 500": (lambda got: Reply(b"out of memory", 500), "code=status"),
    "status 404": (lambda got: Reply(b"no such page", 404), "answers 404: no such page"),
    "no JSON": (lambda got: Reply(b"<html>"), "code=format"),
    "half an answer": (lambda got: Reply(b'{"latency": 120}', cut=True), "code=unreachable"),
    "clock skew": (lambda got: json_reply(METRICS, date=FAR), "code=clock"),
    "wrong type": (lambda got: json_reply({"latency": "fast"}), "'fast' is no number"),
    "null": (lambda got: json_reply({"latency": None}), "it is null"),
    "missing": (lambda got: json_reply({"lateny": 1}), "there is no latency in the answer"),
    "a list": (lambda got: json_reply([1, 2]), "there is no latency in the answer"),
    "not a number": (lambda got: Reply(b'{"latency": NaN}'), "it is NaN"),
    "a mistake of units": (lambda got: json_reply({"latency": 1e12}), "code=value"),
}


@pytest.fixture(scope="module")
def web() -> Iterator[Server]:
    with server() as running:
        yield running


def http_source(web: Server, **options: Any) -> Spec:
    table = {"kind": "http", "url": web.url, "timeout": "1s", "window": "5s"} | options
    return Spec.from_dict(Spec.parse(KNOB).to_dict() | {"source": table})


@pytest.mark.parametrize("name", HTTP)
def test_a_source_that_speaks_http(tmp_path: Path, web: Server, name: str) -> None:
    web.answer, line = HTTP[name]
    spec = http_source(web)
    with reading(tmp_path, spec) as (loop, log):
        assert line in logged(loop, log)
        assert told(loop) == 0


@pytest.mark.parametrize(
    ("time", "line"),
    [
        (lambda: clock().timestamp(), "told"),
        (lambda: clock().timestamp() - 60, "stale: the newest sample is"),
        (lambda: clock().timestamp() + 600, "in the future: the clocks differ"),
        (lambda: clock().isoformat(), "told"),
        (lambda: "yesterday", "is no time; give seconds since 1970"),
        (lambda: None, "is no time"),
    ],
)
def test_the_time_of_measurement(
    tmp_path: Path, web: Server, time: Callable[[], Any], line: str
) -> None:
    web.answer = lambda got: json_reply({"latency": 120.0, "at": time()})
    spec = http_source(web, time="at")
    with reading(tmp_path, spec) as (loop, log):
        assert line in logged(loop, log)
        assert told(loop) == (line == "told")


def test_nobody_listens(tmp_path: Path) -> None:
    with server() as gone:
        pass
    spec = http_source(gone)
    with reading(tmp_path, spec) as (loop, log):
        assert "source-fault code=unreachable" in logged(loop, log)


def test_the_window_is_in_the_url(tmp_path: Path, web: Server) -> None:
    web.answer = lambda got: json_reply({"data": [{"p99": 120.0}]})
    web.got.clear()
    url = web.url + "/?a={begin}&b={end}&d={decision}"
    spec = http_source(web, url=url, metrics={"latency": "data.0.p99"})
    with reading(tmp_path, spec) as (loop, log):
        assert "told" in logged(loop, log)
    (got,) = web.got
    begin, end, decision = (part.partition("=")[2] for part in got.path[2:].split("&"))
    assert float(end) - float(begin) == pytest.approx(1.0)
    assert decision == "cache-2"


# Prometheus.

PROMETHEUS: dict[str, tuple[Callable[[Got], Reply], str]] = {
    "one series": (lambda got: json_reply(prometheus([series()])), "told"),
    "a scalar": (lambda got: json_reply(prometheus([0, "120"], "scalar")), "told"),
    "no series": (lambda got: json_reply(prometheus([])), "empty: no series matches"),
    "two series": (
        lambda got: json_reply(prometheus([series(pod="a"), series(pod="b")])),
        "2 series instead of one",
    ),
    "NaN": (lambda got: json_reply(prometheus([series("NaN")])), "it is NaN"),
    "+Inf": (lambda got: json_reply(prometheus([series("+Inf")])), "it is inf"),
    "no number": (lambda got: json_reply(prometheus([series("many")])), "code=format"),
    "a bad query": (
        lambda got: json_reply({"status": "error", "error": "parse error"}, status=400),
        "parse error",
    ),
    "an error with status 200": (
        lambda got: json_reply({"status": "error", "error": "query timed out"}),
        "code=query",
    ),
    "another server": (lambda got: json_reply({"hello": "world"}), "does not answer as Prometheus"),
    "a wrong shape": (lambda got: json_reply(prometheus([{"metric": {}}])), "code=format"),
}


def prometheus_source(web: Server, query: str = "rate(a[$window])", **more: Any) -> Spec:
    table = {"kind": "prometheus", "url": web.url, "timeout": "1s", "metrics": {"latency": query}}
    return Spec.from_dict(Spec.parse(KNOB).to_dict() | {"source": table | more})


@pytest.mark.parametrize("name", PROMETHEUS)
def test_prometheus(tmp_path: Path, web: Server, name: str) -> None:
    web.answer, line = PROMETHEUS[name]
    spec = prometheus_source(web)
    with reading(tmp_path, spec) as (loop, log):
        assert line in logged(loop, log)
        assert told(loop) == (line == "told")
    assert b"rate%28a%5B1000ms%5D%29" in web.got[-1].body


@pytest.mark.parametrize(
    ("fold", "mean"), [(None, 2.0), ("max", 3.0), ("min", 1.0), ("sum", 6.0), ("last", 2.0)]
)
def test_samples_of_a_selector(tmp_path: Path, web: Server, fold: str | None, mean: float) -> None:
    web.answer = lambda got: json_reply(prometheus(samples("1", "3", "2"), "matrix"))
    more = {} if fold is None else {"aggregate": {"latency": fold}}
    spec = prometheus_source(web, 'lat{job="a"}', **more)
    with reading(tmp_path, spec) as (loop, log):
        assert f"metrics=latency:{mean:g}" in logged(loop, log)


@pytest.mark.parametrize(("age", "line"), [(0.0, "told"), (90.0, "stale"), (-200.0, "in the fut")])
def test_old_samples_are_stale(tmp_path: Path, web: Server, age: float, line: str) -> None:
    web.answer = lambda got: json_reply(prometheus(samples("1", age=age), "matrix"))
    spec = prometheus_source(web, "lat")
    with reading(tmp_path, spec) as (loop, log):
        assert line in logged(loop, log)


def test_without_a_heartbeat_nothing_counts(tmp_path: Path, web: Server) -> None:
    def answer(got: Got) -> Reply:
        beat = b"beat" in got.body
        found = samples("1", age=90.0) if beat else [series()]
        return json_reply(prometheus(found, "matrix" if beat else "vector"))

    web.answer = answer
    spec = prometheus_source(web, heartbeat="beat")
    with reading(tmp_path, spec) as (loop, log):
        assert "the heartbeat beat: stale" in logged(loop, log)


# Programs and databases.

PROGRAMS = {
    "well": ("print('{\"latency\": 120}')", "told"),
    "an error": ("import sys; sys.exit('disk full')", "ends with 1: disk full"),
    "too slow": ("import time; time.sleep(9)", "code=timeout"),
    "half an output": ("print('{\"latency\": ')", "code=format"),
    "nothing": ("pass", "code=format"),
    "killed": ("import os; os.kill(os.getpid(), 9)", "ends with -9"),
    "the window": (
        "import os; b, e = (float(os.environ['TRIMTAB_' + k]) for k in ('BEGIN', 'END'));"
        "print('{\"latency\": %r}' % (100 * (e - b)))",
        "latency:100",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(tmp_path: Path, name: str) -> None:
    program, line = PROGRAMS[name]
    table = {"kind": "command", "command": [sys.executable, "-c", program], "timeout": "1s"}
    spec = Spec.from_dict(Spec.parse(KNOB).to_dict() | {"source": table})
    with reading(tmp_path, spec) as (loop, log):
        assert line in logged(loop, log)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    table = {"kind": "command", "command": ["/nowhere/measure"]}
    spec = Spec.from_dict(Spec.parse(KNOB).to_dict() | {"source": table})
    with reading(tmp_path, spec) as (loop, log):
        assert "measure cannot be started: No such file" in logged(loop, log)


QUERIES = {
    "well": ("SELECT avg(x) AS latency FROM m", "latency:2"),
    "of the window": ("SELECT avg(x) AS latency FROM m WHERE at > :begin AND at <= :end", "null"),
    "no row": ("SELECT x AS latency FROM m WHERE x > 9", "empty: the query gives no row"),
    "two rows": ("SELECT x AS latency FROM m", "several rows"),
    "another column": ("SELECT 1 AS lat", "there is no latency"),
    "text": ("SELECT 'a' AS latency", "'a' is no number"),
    "no such table": ("SELECT 1 AS latency FROM n", "code=database"),
    "a write": ("DELETE FROM m", "code=database"),
    "too slow": (
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) "
        "SELECT max(n) AS latency FROM t",
        "code=timeout",
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_sqlite(tmp_path: Path, name: str) -> None:
    query, line = QUERIES[name]
    with closing(sqlite3.connect(tmp_path / "m.db")) as made, made:
        made.execute("CREATE TABLE m (at REAL, x REAL)")
        made.execute("INSERT INTO m VALUES (1, 1), (2, 3)")
    url = f"sqlite:///{tmp_path / 'm.db'}"
    table = {"kind": "sql", "url": url, "query": query, "timeout": "1s"}
    spec = Spec.from_dict(Spec.parse(KNOB).to_dict() | {"source": table})
    with reading(tmp_path, spec) as (loop, log):
        assert line in logged(loop, log)


@pytest.mark.needs("postgresql")
@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("SELECT 120::numeric AS latency, :end AS at WHERE 10 % 3 = 1", "latency:120"),
        ("SELECT 1 AS latency, :end - 100 AS at", "stale"),
        ("SELECT 1 AS latency, :end + 600 AS at", "in the future: the clocks differ"),
        ("SELECT 1 AS latency, :end AS at WHERE false", "empty: the query gives no row"),
        ("SELECT 1 AS latency, :end AS at FROM generate_series(1, 2)", "several rows"),
        ("SELECT 1 AS latency, 0 AS at FROM pg_sleep(5)", "code=timeout"),
        ("CREATE TABLE a (b int)", "code=database"),
    ],
)
def test_postgresql(tmp_path: Path, postgres_url: str, query: str, line: str) -> None:
    table = {"kind": "sql", "url": postgres_url, "query": query, "timeout": "1s", "time": "at"}
    spec = Spec.from_dict(Spec.parse(KNOB).to_dict() | {"source": table})
    with reading(tmp_path, spec) as (loop, log):
        assert line in logged(loop, log)


# Targets.


def target_spec(**table: Any) -> Spec:
    return Spec.from_dict(Spec.parse(KNOB).to_dict() | {"target": table})


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        (Reply(after=1.5), "target-fault code=timeout"),
        (Reply(b"busy", 503), "answers 503: busy"),
        (Reply(b"no", 403), "answers 403: no"),
    ],
    ids=["timeout", "503", "403"],
)
def test_a_target_that_speaks_http(tmp_path: Path, web: Server, reply: Reply, line: str) -> None:
    spec = target_spec(kind="http", url=web.url, timeout="1s")
    web.answer = lambda got: reply
    with setting(tmp_path, spec) as (loop, log):
        assert line in logged(loop, log)
        assert "applied" not in log.read_text()
        web.answer = lambda got: Reply()
        assert "applied" in logged(loop, log)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ({"values": {"ttl": 300.0}}, "verified=True"),
        ({"ttl": "300"}, "verified=True"),
        ({"ttl": "soon"}, "ttl = 'soon' is no number"),
        ([300], "instead of values by name"),
        ({"ttl": 5.0}, "code=range"),
        ({"ttl": 299.0}, "set-by-hand"),
        ({}, "code=mismatch"),
    ],
)
def test_what_a_target_reads_back(tmp_path: Path, web: Server, answer: Any, line: str) -> None:
    web.answer = lambda got: json_reply(answer)
    spec = target_spec(kind="http", url=web.url, read_url=web.url)
    with setting(tmp_path, spec) as (loop, log):
        assert line in logged(loop, log)


FILES = {
    "nothing there": (None, "verified=True"),
    "the same": ('{"ttl": 300.0}', "verified=True"),
    "half-written": ('{"ttl": 3', "is no JSON, or half-written"),
    "by hand": ('{"ttl": 500}', "set-by-hand"),
    "a list": ("[1]", "instead of values by name"),
    "text": ('{"ttl": "soon"}', "is no number"),
    "empty": ("", "is no JSON, or half-written"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file(tmp_path: Path, name: str) -> None:
    content, line = FILES[name]
    path = tmp_path / "knobs.json"
    if content is not None:
        path.write_text(content)
    spec = target_spec(kind="file", path=str(path))
    with setting(tmp_path, spec) as (loop, log):
        assert line in logged(loop, log)
        if "verified" in line:
            assert json.loads(path.read_text()) == {"ttl": 300.0}
        elif content is not None:
            assert path.read_text() == content  # nothing of somebody else's is overwritten


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    spec = target_spec(kind="file", path=str(tmp_path / "a" / "knobs.json"))
    with setting(tmp_path, spec) as (loop, log):
        assert "cannot be written: No such file" in logged(loop, log)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a number that no process of ours has")
def test_a_signal_that_reaches_nobody(tmp_path: Path) -> None:
    for pid in ("", "many", "1", "999999999"):
        (tmp_path / "pid").write_text(pid)
        spec = target_spec(
            kind="file", path=str(tmp_path / "k"), signal="HUP", pid_file=str(tmp_path / "pid")
        )
        with setting(tmp_path, spec) as (loop, log):
            assert "code=signal" in logged(loop, log)


@pytest.mark.needs("redis")
@pytest.mark.parametrize(
    ("content", "line"),
    [
        ({"ttl": "soon"}, "ttl = 'soon' is no number"),
        ({"ttl": ""}, "ttl = '' is no number"),
        ({"ttl": b"\xff"}, "is no number"),
        ({"ttl": "nan"}, "is no number"),
        ({"ttl": "5"}, "code=range"),
        ({"ttl": "500"}, "set-by-hand"),
        ("text", "target-fault code=refused"),  # WRONGTYPE
    ],
)
def test_what_redis_has(
    tmp_path: Path,
    redis_url: str,  # noqa: F811
    content: Any,
    line: str,
) -> None:
    with closing(redis.Redis.from_url(redis_url)) as client:
        client.delete("knobs")
        if isinstance(content, dict):
            client.hset("knobs", mapping=content)
        else:
            client.set("knobs", content)
    with setting(tmp_path, target_spec(kind="redis", url=redis_url, hash="knobs")) as (loop, log):
        assert line in logged(loop, log)


@pytest.mark.needs("redis")
def test_redis_that_hangs(tmp_path: Path, redis_server: RedisServer) -> None:  # noqa: F811
    spec = target_spec(kind="redis", url=redis_server.url, timeout="1s")
    with setting(tmp_path, spec) as (loop, log):
        assert redis_server.process is not None
        redis_server.process.send_signal(signal.SIGSTOP)
        try:
            assert "target-fault code=timeout" in logged(loop, log)
        finally:
            redis_server.process.send_signal(signal.SIGCONT)
        assert "applied" in logged(loop, log)


def test_redis_that_is_not_there(tmp_path: Path) -> None:
    with server() as gone:
        pass
    spec = target_spec(kind="redis", url=gone.url.replace("http", "redis"), timeout="1s")
    with setting(tmp_path, spec) as (loop, log):
        assert "target-fault code=unreachable" in logged(loop, log)


def test_a_program_that_sets_nothing(tmp_path: Path) -> None:
    failing = [sys.executable, "-c", "import sys; sys.exit('no such key')"]
    spec = target_spec(kind="command", command=failing)
    with setting(tmp_path, spec) as (loop, log):
        assert "ends with 1: no such key" in logged(loop, log)
