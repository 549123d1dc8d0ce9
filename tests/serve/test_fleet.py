"""Loops of a fleet: run by workers of several replicas, shared by row locks, never by two."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import trimtab as tt
from tests.serve.services import Running, running, spec_with
from trimtab.live import Spec
from trimtab.live.store.opening import open_journal
from trimtab.serve.tables import Tables
from trimtab.serve.work import Work

SPEC = """
name = "{name}"
[knobs.mix]
low = 0.0
high = 1.0
start = 0.5
[objectives.latency]
knobs = ["mix"]
low = 0
high = 200
[source]
kind = "http"
window = "1s"
url = "{url}/{name}"
[source.metrics]
latency = "latency"
[target]
kind = "http"
url = "{url}/{name}"
"""


@pytest.fixture
def system() -> Iterator[tuple[str, dict[str, Any]]]:
    """A system over HTTP: it has values, and a latency that follows them."""
    state: dict[str, Any] = {"sets": Counter(), "values": {}}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            values = state["values"].get(self.path, {"mix": 0.5})
            latency = 100.0 + 50.0 * (float(values.get("mix", 0.5)) - 0.2) ** 2
            self._answer({"latency": latency, **values})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            state["values"][self.path] = body.get("values", body)
            state["sets"][self.path] += 1
            self._answer({})

        do_PUT = do_POST

        def _answer(self, content: Any) -> None:
            text = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", state
    server.shutdown()
    server.server_close()
    thread.join()


def wait_for(done: Any, seconds: float = 40.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.slow
def test_two_replicas_share_the_loops(journal_url: str, system: Any) -> None:
    url, state = system
    names = [f"t{n}" for n in range(4)]
    with running(journal_url, workers=1) as one, running(journal_url, workers=1) as two:
        for name in names:
            text = SPEC.format(name=name, url=url)
            assert one.post("/api/v1/tuners", {"spec": text}).status_code == 201
            on = one.send("admin", "PUT", f"/api/v1/tuners/{name}/loop", json={"on": True})
            assert on.status_code == 200, on.text
        fleets = {served.service.fleet.name for served in (one, two)}

        def told() -> bool:
            found = [two.service.tuners.get(name).status() for name in names]
            return all(status.tells >= 2 for status in found)

        wait_for(told)
        seen = {one.service.work.get(name) for name in names}
        workers = {share.worker for share in seen if share is not None}
        assert workers <= fleets
        off = one.send("admin", "PUT", "/api/v1/tuners/t0/loop", json={"on": False})
        assert off.json() == {"on": False, "worker": None}
        text = one.send("admin", "GET", "/metrics").text + two.send("admin", "GET", "/metrics").text
        assert 'trimtab_fleet_rounds_total{outcome="done"}' in text
        assert 'outcome="failed"' not in text
    with open_journal(journal_url) as journal:
        for name in names:
            rows = tt.Tuner.existing(name, journal).history(kinds=["decide"])
            rounds = [row.round or 0 for row in rows]
            assert rounds == sorted(set(rounds))
    assert set(state["sets"]) <= {f"/{name}" for name in names}


def test_work_is_taken_by_one_and_free_again_after_its_time(
    journal_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Tables(journal_url), Tables(journal_url)
    mine, theirs = Work(first, most=3), Work(second, most=3)
    for name in ("a", "b", "c"):
        mine.add(name)
    mine.add("a")  # it is there
    with pytest.raises(tt.InvalidInput, match="3 loops are run"):
        mine.add("d")
    taken = [work.take(worker) for worker, work in (("x", mine), ("y", theirs), ("x", mine))]
    assert sorted(str(name) for name in taken) == ["a", "b", "c"]
    assert theirs.take("y") in (None, taken[1])
    for name in ("a", "b", "c"):
        share = mine.get(name)
        assert share is not None
        mine.give_back(name, str(share.worker), 0.0)
    again = theirs.take("y")
    assert again == taken[1]  # its own; those of x are x's while x lives
    now = time.time_ns() // 1000
    monkeypatch.setattr("trimtab.serve.work.microseconds_now", lambda: now + 60_000_000)
    left = {theirs.take("y") for _ in range(3)}
    assert left == {"a", "b", "c"}
    theirs.release("y")
    share = mine.get("a")
    assert share is not None
    assert share.worker is None
    mine.remove("a")
    assert mine.get("a") is None
    first.close()
    second.close()


def test_programs_on_the_machine_are_not_run_unless_the_operator_says_so(tmp_path: Any) -> None:
    local = SPEC.format(name="shop", url="x").replace('kind = "http"', 'kind = "command"')
    local = local.replace('url = "x/shop"', 'command = ["true"]')
    bad = local.split("[source.metrics]")[0] + local.split('latency = "latency"\n')[1]
    spec = Spec.parse(bad)
    with running(str(tmp_path / "a.db")) as served:
        served.begin(spec)
        answer = served.send("admin", "PUT", "/api/v1/tuners/shop/loop", json={"on": True})
        assert (answer.status_code, "--local" in answer.json()["detail"]) == (422, True)
        served.begin(spec_with(name="bar"))
        answer = served.send("admin", "PUT", "/api/v1/tuners/bar/loop", json={"on": True})
        assert (answer.status_code, "nothing to run" in answer.json()["detail"]) == (422, True)
    with running(str(tmp_path / "a.db"), local=True) as served:
        answer = served.send("admin", "PUT", "/api/v1/tuners/shop/loop", json={"on": True})
        assert answer.status_code == 200
        assert served.send("viewer", "GET", "/api/v1/tuners/shop/loop").json()["on"] is True


__all__ = ["Running"]
