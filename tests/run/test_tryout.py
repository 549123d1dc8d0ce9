"""`trimtab init` writes every kind of source and target; `doctor` says what it saw of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.run.web import Server, json_reply, server
from trimtab.cli import app
from trimtab.live import Spec
from trimtab.live.spec.connect.examples import SOURCES, TARGETS
from trimtab.run.tryout import tried


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("target", TARGETS)
def test_init_writes_every_kind(tmp_path: Path, source: str, target: str) -> None:
    path = tmp_path / "spec.toml"
    done = run("init", str(path), "--source", source, "--target", target, "--webhook")
    assert done.exit_code == 0, done.output
    spec = Spec.read(path)
    assert spec.source is not None
    assert spec.target is not None
    assert (spec.source.kind, spec.target.kind, len(spec.webhooks)) == (source, target, 1)
    assert max(map(len, path.read_text().splitlines())) <= 100


def test_init_alone_connects_nothing(tmp_path: Path) -> None:
    run("init", str(tmp_path / "spec.toml"))
    assert Spec.read(tmp_path / "spec.toml").source is None


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(f"""
name = "cache"
[knobs.ttl]
low = 30
high = 3000
start = 300
scale = "log"
[knobs.batch]
low = 1
high = 64
start = 8
[objectives.latency]
unit = "ms"
knobs = ["ttl", "batch"]
low = 50
high = 250
[source]
kind = "http"
url = "${{SOURCE}}"
window = "30s"
[target]
kind = "file"
path = "{tmp_path / "knobs.json"}"
[[webhook]]
url = "${{HOOK}}"
""")
    return path


def found(spec: Path, web: Server, **variables: str) -> dict[str, tuple[str, str]]:
    environment = {"SOURCE": web.url, "HOOK": "http://hook"} | variables
    seen = tried(Spec.read(spec), environment=environment)
    return {each.where: (each.level, each.text) for each in seen}


def test_what_was_seen(spec: Path) -> None:
    with server(lambda got: json_reply({"latency": 120.0})) as web:
        seen = found(spec, web)
        assert seen["source.latency"] == ("ok", "120 ms in the last 30 s")
        assert seen["target.ttl"] == ("warn", "it is not set; the first round sets 300")
        assert seen["webhook[0]"][0] == "ok"
        knobs = spec.with_name("knobs.json")
        knobs.write_text('{"ttl": 300, "batch": 9}')
        web.answer = lambda got: json_reply({"latency": 900.0})
        seen = found(spec, web)
        assert seen["source.latency"][0] == "warn"
        assert "outside 50 to 250" in seen["source.latency"][1]
        assert seen["target.ttl"] == ("ok", "300, as the spec says")
        assert seen["target.batch"] == ("warn", "9, and the spec's start is 8: it begins there")
        knobs.write_text('{"ttl": 5, "batch": 9}')
        assert seen.keys() == found(spec, web).keys()
        assert found(spec, web)["target.ttl"][0] == "error"
        assert json.loads(knobs.read_text())["ttl"] == 5  # nothing was set


def test_what_is_wrong_is_named_without_secrets(spec: Path) -> None:
    with server() as web:
        pass
    seen = found(spec, web)
    assert seen["source"][0] == "error"
    assert seen["source"][1].startswith("unreachable: ")
    spec.write_text(spec.read_text().replace("${SOURCE}", "http://me:${PW}@no.invalid"))
    assert "sesame" not in str(found(spec, web, PW="sesame"))
    spec.write_text(spec.read_text().replace("http://me:${PW}@no.invalid", "${SOURCE}"))
    lacking = {each.where: each.text for each in tried(Spec.read(spec), environment={})}
    assert "variable SOURCE is not set" in lacking["source"]
    assert "variable HOOK is not set" in lacking["webhook[0]"]


@pytest.mark.usefixtures("brief")
def test_doctor_prints_it(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "http://hook")
    with server(lambda got: json_reply({"latency": 120.0})) as web:
        monkeypatch.setenv("SOURCE", web.url)
        done = run("doctor", str(spec), "--horizon", "50")
        assert done.exit_code == 0, done.output
        assert "Source and target, tried once" in done.stdout
        assert "source.latency: 120 ms in the last 30 s" in done.stdout
        plain = json.loads(run("doctor", str(spec), "--horizon", "50", "--json").stdout)
        assert plain["tried"][0]["where"] == "source.latency"
        quiet = run("doctor", str(spec), "--horizon", "50", "--offline")
        assert "tried once" not in quiet.stdout
        web.answer = lambda got: json_reply({"latency": None})
        assert run("doctor", str(spec), "--horizon", "50").exit_code == 2
