"""Random passwords of store, source, target and webhook, searched in all that programs leave."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import pytest

from tests.postgres import connect
from tests.run.redis import RedisServer
from tests.run.web import Got, Reply, json_reply, server

AWKWARD = "/?#%:@["
SPEC = """
name = "cache"
storage = "{storage}"
[knobs.ttl]
low = 30
high = 3000
start = 300
scale = "log"
[objectives.latency]
unit = "ms"
knobs = ["ttl"]
low = 50
high = 250
[source]
kind = "http"
url = "{web}/metrics?key=${{IN_QUERY}}"
headers = {{ authorization = "Bearer ${{IN_HEADER}}" }}
window = "1s"
[target]
kind = "redis"
url = "unix://:${{IN_USER}}@{redis}"
[[webhook]]
url = "{web}/hook/${{IN_PATH}}"
secret = "${{HUSH}}"
events = ["pause"]
"""


@pytest.mark.needs("postgresql", "redis-server")
def test_no_program_shows_a_password(postgres_url: str, tmp_path: Path) -> None:
    marks = {name: secrets.token_hex(8) for name in ("STORE", *PLACES)}
    store = postgres_url.replace("postgres@", f"postgres:x{marks['STORE']}{AWKWARD}x@")
    seen: list[str] = []
    with server(_answer) as web, tempfile.TemporaryDirectory(prefix="trimtab-redis-") as folder:
        password = f"{marks['IN_USER']}{AWKWARD}{marks['IN_USER']}"
        redis = RedisServer(Path(folder), password=password)
        path = tmp_path / "spec.toml"
        text = SPEC.format(storage=store, web=web.url, redis=redis.socket)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        environment = os.environ | {name: marks[name] for name in PLACES} | {"IN_USER": password}

        def run(*words: str, code: int | None = 0) -> str:
            done = subprocess.run(
                [sys.executable, "-m", "trimtab", *words],
                check=False,
                cwd=tmp_path,
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=60,
            )
            assert code is None or done.returncode == code, done.stdout
            seen.append(done.stdout)
            return done.stdout

        spec = str(path)
        run("run", spec, "--once", code=None)  # the target is down
        redis.start()
        try:
            assert "verified=True" in run("run", spec, "--once")
            run("pause", spec, "--why", "a search")
            run("run", spec, "--once", "--log", "json")
            web.answer = lambda got: Reply(status=500)
            run("run", spec, "--once", "--log", "json", code=None)
            environment["IN_USER"] = password + "wrong"
            run("run", spec, "--once", code=None)
            path.write_text(text.replace("unix://:${IN_USER}@", "unix://:" + password + "@"))
            assert "there is a password in it" in run("run", spec, "--once", code=2)
            path.write_text(text)
            run("doctor", spec, "--horizon", "30", code=None)
        finally:
            redis.stop()
        assert any(got.path.endswith(marks["IN_QUERY"]) for got in web.got)
        assert any(marks["IN_HEADER"] in str(got.headers) for got in web.got)
    for words in ("status", "status --json", "history --json", "explain last", "report"):
        command, *options = words.split()
        run(command, spec, *options, code=None)
    for command in ("check", "export"):
        run("storage", command, store)
    seen.append(_served(store, tmp_path, environment))
    with connect(postgres_url) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE tablename LIKE 'trimtab%'"
        ).fetchall()
        rows = [connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in tables]
    path.unlink()  # the one place where the store's password was written, by its owner
    kept = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    everything = "".join(seen).encode() + repr(rows).encode() + b"".join(kept)
    assert len(everything) > 100_000
    assert b"cache-2" in everything
    assert [name for name, mark in marks.items() if mark.encode() in everything] == []


PLACES = ("IN_QUERY", "IN_HEADER", "IN_PATH", "IN_USER", "HUSH")


def _answer(got: Got) -> Reply:
    return json_reply({"latency": 120.0})


def _served(store: str, folder: Path, environment: dict[str, str]) -> str:
    """What a service over the store prints and answers, until it is stopped."""
    command = [sys.executable, "-m", "trimtab", "serve", "--storage", store, "--port", "0"]
    process = subprocess.Popen(
        [*command, "--workers", "1"],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    printed, token, url = "", "", ""
    try:
        for line in process.stdout:
            printed += line
            url = url or next(iter(re.findall(r"http://[\d.]+:\d+", line)), "")
            token = token or next(iter(re.findall(r"trimtab_\w+", line)), "")
            if url and token:
                break
        with httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}) as http:
            paths = ("/v1/tuners", "/v1/tuners/cache", "/v1/tuners/cache/history", "/metrics")
            for path in (*paths, "/v1/tuners/cache/spec", "/v1/tuners/nobody", "/readyz"):
                printed += http.get(path).text
    finally:
        process.send_signal(signal.SIGTERM)
        printed += process.communicate(timeout=30)[0]
    return printed
