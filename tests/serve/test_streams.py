"""News by server-sent events, health, and an end that loses nothing."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

import trimtab as tt
from tests.serve.services import FREE, Running, running, spec_with
from trimtab.live.store.opening import open_journal
from trimtab.serve.service import TRIED_EVERY
from trimtab.serve.settings import Settings
from trimtab.serve.tables import Tables

AT = "/api/v1/tuners/shop"
TRIMTAB = Path(sys.executable).with_name("trimtab")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "a.db"), poll=0.05, streams=8) as found:
        found.begin()
        yield found


def read(served: Running, path: str, wanted: int, **headers: str) -> list[dict[str, Any]]:
    """The first events of a stream."""
    token = {"authorization": f"Bearer {served.token('viewer')}"} | headers
    found: list[dict[str, Any]] = []
    with served.http.stream("GET", path, headers=token) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
                if len(found) == wanted:
                    break
    return found


def test_a_stream_has_what_was_and_what_comes(served: Running, tmp_path: Path) -> None:
    served.post(f"{AT}/pause", {"why": "one"})

    def later() -> None:
        time.sleep(0.3)
        served.post(f"{AT}/resume", {})  # by this replica
        with open_journal(tmp_path / "a.db") as journal:  # by another one
            tt.Tuner.existing("shop", journal).pause("two", actor="other")

    thread = threading.Thread(target=later)
    thread.start()
    rows = read(served, f"{AT}/events", 4)
    thread.join()
    assert [(row["number"], row["kind"]) for row in rows] == [
        (1, "begin"),
        (2, "pause"),
        (3, "resume"),
        (4, "pause"),
    ]
    assert rows[3]["actor"] == "other"
    assert [row["number"] for row in read(served, f"{AT}/events?after=2", 2)] == [3, 4]
    again = {"last-event-id": "3"}
    assert [row["number"] for row in read(served, f"{AT}/events", 1, **again)] == [4]


def test_several_tuners_in_one_stream(served: Running) -> None:
    served.begin(spec_with(name="bar"))
    first = read(served, "/api/v1/events?tuner=bar&tuner=shop", 2)
    assert {(row["tuner"], row["event"]) for row in first} == {("bar", 1), ("shop", 1)}
    unknown = served.send("viewer", "GET", "/api/v1/events?tuner=none")
    assert unknown.status_code == 404


def test_too_many_listeners_are_sent_elsewhere(served: Running) -> None:
    roles = ("viewer", "operator", "admin")
    tokens = [served.token(role, name=f"{role} {n}") for role in roles for n in range(2)]
    headers = [{"authorization": f"Bearer {token}"} for token in tokens]
    with ExitStack() as stack:
        lines = []  # kept, or they would be closed

        def listen(who: dict[str, str]) -> None:
            stream = served.http.stream("GET", f"{AT}/events", headers=who, timeout=10)
            lines.append(stack.enter_context(stream).iter_lines())
            next(lines[-1])

        for who in headers[:4]:
            listen(who)
            listen(who)
            if who is headers[0]:  # a quarter of all, and others may come
                refused = served.http.get(f"{AT}/events", headers=who, timeout=10)
                assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
        refused = served.http.get(f"{AT}/events", headers=headers[4], timeout=10)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")


def test_readiness_follows_the_store_and_the_end(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert served.http.get("/readyz").json() == {"ready": True}

    tries = 0

    def gone(self: Tables, sql: str, *values: object) -> Any:
        nonlocal tries
        tries += 1
        raise tt.TrimtabError("postgresql://secret@host cannot be reached")

    with monkeypatch.context() as patch:
        patch.setattr(Tables, "query", gone)
        time.sleep(TRIED_EVERY)
        began = time.monotonic()
        for _ in range(30):  # a flood by strangers is none of the store
            answer = served.http.get("/readyz")
        assert tries <= 1 + (time.monotonic() - began) / TRIED_EVERY
        assert (answer.status_code, "secret" in answer.text) == (503, False)
        assert served.http.get("/livez").json()["alive"] is True
    served.service.draining = True
    assert served.http.get("/readyz").status_code == 503


def started(
    folder: Path, *options: str, verify: str | None = None
) -> tuple[subprocess.Popen[str], str, str]:
    """A service as a program, its address and the first admin's token."""
    command = [str(TRIMTAB), "serve", "--storage", "a.db", "--port", "0", *options]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    url = process.stdout.readline().split()[-1]
    said = process.stdout.readline().split()[-1].rpartition("#")[2]
    while True:
        try:
            trusted = True if verify is None else ssl.create_default_context(cafile=verify)
            httpx.get(f"{url}/livez", verify=trusted)
            return process, url, said
        except httpx.ConnectError:
            time.sleep(0.05)


@pytest.mark.slow
def test_it_ends_gently(tmp_path: Path) -> None:
    with tt.Tuner(spec_with(), storage=str(tmp_path / "a.db")):
        pass
    process, url, token = started(tmp_path, "--drain", "0.5")
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers) as http:
        with http.stream("GET", f"{AT}/events") as stream:
            lines = stream.iter_lines()
            assert any('"begin"' in line for line in lines)  # reads until there
            os.kill(process.pid, signal.SIGTERM)
            time.sleep(0.2)
            assert http.get("/readyz").status_code == 503
            assert http.post(f"{AT}/ask", json={}).status_code == 200  # still answered
            assert not any("data:" in line for line in lines if "decide" not in line)  # it ends
        assert process.wait(timeout=15) in (0, -signal.SIGTERM)
    assert process.stdout is not None
    rest = process.stdout.read()
    assert token not in rest
    process.stdout.close()
    again, _, said = started(tmp_path)  # the token is shown once
    assert not said.startswith("trimtab_")
    again.send_signal(signal.SIGINT)
    again.wait(timeout=15)
    assert again.stdout is not None
    again.stdout.close()


@pytest.mark.slow
def test_it_speaks_tls(tmp_path: Path) -> None:
    folder = Path(__file__).parent  # a certificate for localhost that nobody else trusts
    files = {name: str(folder / f"localhost-{name}.pem") for name in ("certificate", "key")}
    options = [text for name, path in files.items() for text in (f"--{name}", path)]
    process, url, token = started(tmp_path, *options, verify=files["certificate"])
    try:
        assert url.startswith("https://")
        trusted = ssl.create_default_context(cafile=files["certificate"])
        with httpx.Client(base_url=url, verify=trusted) as http:
            answer = http.get("/livez")
            assert "max-age" in answer.headers["strict-transport-security"]
            form = {"content-type": "application/x-www-form-urlencoded"}
            login = http.post("/login", content=f"token={token}", headers=form)
            assert "Secure" in login.headers["set-cookie"]
            with pytest.raises(httpx.HTTPError):
                httpx.get(url.replace("https", "http") + "/livez")
    finally:
        process.terminate()
        process.wait(timeout=15)
        assert process.stdout is not None
        process.stdout.close()


def test_small_answers_are_sent_at_once(served: Running) -> None:
    took = []
    for _ in range(20):
        begin = time.perf_counter()
        served.http.get("/livez")
        took.append(time.perf_counter() - begin)
    assert min(took) < 0.03  # Nagle's algorithm would make it 40 ms, every time


def test_other_machines_are_refused_without_encryption(tmp_path: Path) -> None:
    from trimtab.serve.server import server

    settings = Settings(storage=str(tmp_path / "a.db"), **FREE)
    with pytest.raises(tt.InvalidInput, match="could read tokens on the way"):
        server(settings, host="0.0.0.0", port=0)
    with pytest.raises(tt.InvalidInput, match="go together"):
        server(settings, host="0.0.0.0", port=0, certificate=tmp_path / "c.pem")
    file = tmp_path / "c.pem"
    with pytest.raises(tt.InvalidInput, match="no such file"):
        server(settings, host="0.0.0.0", port=0, certificate=file, key=file)
    assert not (tmp_path / "a.db").exists()


def test_plotly_comes_compressed_to_who_can_read_it(served: Running) -> None:
    sizes = {}
    for encoding in ("gzip", "identity"):
        given = served.send("viewer", "GET", "/plotly.js", headers={"accept-encoding": encoding})
        assert b"plotly.js v" in given.content[:200]
        sizes[encoding] = int(given.headers["content-length"])
    assert 3 * sizes["gzip"] < sizes["identity"]
