"""Targets: what is set can be read back, by us and by whoever it is for."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml

from tests.run.redis import redis_url  # noqa: F401 - a fixture
from tests.run.web import Got, Reply, json_reply, server
from trimtab.errors import InvalidInput
from trimtab.live import Spec
from trimtab.run.faults import TargetFault
from trimtab.run.signing import DELIVERY, HEADER, verify
from trimtab.run.targets.opening import open_target
from trimtab.run.targets.target import Order, Target

KNOBS = """
name = "cache"
[knobs.ttl]
low = 1e-6
high = 3000
start = 300
scale = "log"
[knobs.batch]
low = 1
high = 64
start = 8
scale = "integer"
[objectives.latency]
knobs = ["ttl", "batch"]
low = 50
high = 250
"""
ORDER = Order(
    tuner="cache",
    decision="cache-7",
    at=datetime(2026, 5, 6, tzinfo=UTC),
    values={"ttl": 0.1 + 0.2, "batch": 16},
    previous={"ttl": 300.0, "batch": 8},
    reason="move",
)


def opened(**table: Any) -> Target:
    spec = Spec.from_dict(Spec.parse(KNOBS).to_dict() | {"target": table})
    return open_target(
        spec, clock=lambda: datetime.now(UTC), environment={"HUSH": "sesame", "EMPTY": ""}
    )


@pytest.mark.parametrize("format", ["json", "yaml", "env"])
@pytest.mark.parametrize("ttl", [0.1 + 0.2, 1e-5, 300.0])
def test_a_file_has_the_values_exactly(tmp_path: Path, format: str, ttl: float) -> None:
    path = tmp_path / "knobs"
    target = opened(kind="file", path=str(path), format=format, names={"ttl": "CACHE_TTL"})
    assert target.read() == {}
    values = {"ttl": ttl, "batch": 16}
    target.push(Order(**{**vars(ORDER), "values": values}))
    assert target.read() == values
    text = path.read_text()
    readers: dict[str, Callable[[str], Any]] = {"json": json.loads, "yaml": yaml.safe_load}
    plain = readers.get(format, _sourced)(text)
    assert plain == {"CACHE_TTL": ttl, "batch": 16}
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def _sourced(text: str) -> dict[str, float]:
    """What a shell makes of it."""
    program = f"{text}\necho $CACHE_TTL $batch"
    out = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=True).stdout
    ttl, batch = out.split()
    return {"CACHE_TTL": float(ttl), "batch": int(batch)}


def test_a_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("{}")
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    opened(kind="file", path=str(tmp_path / "link")).push(ORDER)
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]  # nothing temporary


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path, done, seen = tmp_path / "knobs.json", threading.Event(), set[str]()
    target = opened(kind="file", path=str(path))
    target.push(ORDER)

    def look() -> None:
        while not done.is_set():
            seen.add(path.read_text())

    thread = threading.Thread(target=look)
    thread.start()
    for batch in range(1, 60):
        target.push(Order(**{**vars(ORDER), "values": {"ttl": 300.0, "batch": batch}}))
    done.set()
    thread.join()
    assert len(seen) > 1
    assert all(set(json.loads(text)) == {"ttl", "batch"} for text in seen)


def test_a_process_gets_the_signal_after_the_file(tmp_path: Path) -> None:
    program = (
        "import pathlib, signal, sys\n"
        f"here = pathlib.Path({str(tmp_path)!r})\n"
        "signal.signal(signal.SIGHUP, lambda *a: (print((here / 'k').read_text()), sys.exit()))\n"
        "(here / 'ready').touch(); signal.pause()"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    (tmp_path / "pid").write_text(f"{child.pid}\n")
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    opened(
        kind="file", path=str(tmp_path / "k"), signal="HUP", pid_file=str(tmp_path / "pid")
    ).push(ORDER)
    out, _ = child.communicate(timeout=10)
    assert json.loads(out) == {"ttl": 0.1 + 0.2, "batch": 16}


def test_http_is_signed_and_read_back() -> None:
    held: dict[str, Any] = {}

    def answer(got: Got) -> Reply:
        if got.method == "PUT":
            held.update(got.json["values"])
        return json_reply({"values": held})

    with server(answer) as web:
        target = opened(
            kind="http",
            url=web.url,
            read_url=web.url,
            secret="${HUSH}",
            headers={"X-Team": "shop"},
            names={"ttl": "cache.ttl"},
        )
        target.push(ORDER)
        assert target.read() == ORDER.values
        target.close()
        got = web.got[0]
    assert got.json["decision"] == "cache-7"
    assert got.json["previous"] == {"cache.ttl": 300.0, "batch": 8}
    assert got.headers[DELIVERY.lower()] == "cache-7"
    assert got.headers["x-team"] == "shop"
    signature, now = got.headers[HEADER.lower()], int(time.time())
    assert verify(got.body, signature, "sesame", now=now)
    assert not verify(got.body, signature, "sesam", now=now)
    assert not verify(got.body + b" ", signature, "sesame", now=now)
    assert not verify(got.body, signature, "sesame", now=now + 301)
    assert not verify(got.body, "t=1,v1=abc", "sesame", now=now)


def test_a_variable_that_is_not_set() -> None:
    with pytest.raises(InvalidInput, match=r"target.secret: the environment variable NONE is not"):
        opened(kind="http", url="http://a", secret="${NONE}")


def test_programs_set_and_read(tmp_path: Path) -> None:
    store = tmp_path / "store"
    target = opened(
        kind="command",
        command=["tee", str(store)],
        read=[
            sys.executable,
            "-c",
            f"import json; print(json.dumps(json.load(open({str(store)!r}))['values']))",
        ],
    )
    target.push(ORDER)
    assert target.read() == ORDER.values
    assert json.loads(store.read_text())["reason"] == "move"


def test_a_program_and_its_children_are_killed_in_time(tmp_path: Path) -> None:
    script = f"sleep 60 & echo $! > {tmp_path / 'pid'}; wait"
    target = opened(kind="command", command=["sh", "-c", script], timeout="1s")
    began = time.monotonic()
    with pytest.raises(TargetFault, match="does not end in 1 s"):
        target.push(ORDER)
    assert time.monotonic() - began < 5.0
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not _lives(pid):
            break
        time.sleep(0.02)
    else:
        os.kill(pid, signal.SIGKILL)
        pytest.fail("the child of the program still runs")


def _lives(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.needs("redis")
@pytest.mark.parametrize("table", [{"hash": "knobs"}, {"prefix": "cache:"}, {}])
def test_redis(redis_url: str, table: dict[str, str]) -> None:  # noqa: F811
    target = opened(kind="redis", url=redis_url, names={"ttl": "TTL"}, **table)
    assert target.read() == {}
    target.push(ORDER)
    assert target.read() == ORDER.values
    target.close()
    client = redis.Redis.from_url(redis_url, decode_responses=True)
    if "hash" in table:
        assert client.hgetall("knobs") == {"TTL": repr(0.1 + 0.2), "batch": "16"}
    else:
        assert client.get(table.get("prefix", "") + "batch") == "16"
    client.flushall()
    client.close()


@pytest.mark.needs("redis")
def test_redis_that_refuses(redis_url: str) -> None:  # noqa: F811
    client = redis.Redis.from_url(redis_url)
    client.set("knobs", "no hash")
    target = opened(kind="redis", url=redis_url, hash="knobs")
    with pytest.raises(TargetFault, match="Redis refuses: WRONGTYPE") as caught:
        target.push(ORDER)
    assert caught.value.code == "refused"
    client.flushall()
    client.close()
    target.close()


@pytest.fixture(autouse=True)
def _no_leaks() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() <= before
