"""Sources, targets and webhooks in a spec: what is read, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest

from trimtab.errors import InvalidInput
from trimtab.live import Duration, Spec, schema
from trimtab.live.spec.connect.environment import Secrets, expanded

PLAIN: dict[str, Any] = {
    "name": "cache",
    "knobs": {"ttl": {"low": 30, "high": 3000, "start": 300, "scale": "log"}},
    "objectives": {"latency": {"knobs": ["ttl"], "low": 50, "high": 250}},
    "metrics": {"errors": "%", "unused": ""},
    "constraints": [{"rule": "errors <= 2", "kind": "guardrail"}],
    "source": {
        "kind": "prometheus",
        "url": "http://localhost:9090",
        "window": "30s",
        "headers": {"Authorization": "Bearer ${PROM}"},
        "metrics": {"latency": "rate(x[$window])", "errors": 'errors{job="a"}'},
        "aggregate": {"errors": "max"},
        "step": "5s",
    },
    "target": {"kind": "redis", "url": "redis://:${PW}@cache", "names": {"ttl": "cache_ttl"}},
    "webhook": [{"url": "https://example.org", "secret": "${HOOK}", "events": ["alarm"]}],
}
SOURCES: list[dict[str, Any]] = [
    {"kind": "http", "url": "http://a/{begin}", "metrics": {"latency": "a.b", "errors": "e"}},
    {"kind": "command", "command": ["measure", "--all"], "delay": "5s"},
    {"kind": "sql", "url": "sqlite:///m.db", "query": "SELECT 1 AS latency", "time": "at"},
]
TARGETS: list[dict[str, Any]] = [
    {"kind": "command", "command": ["set"], "read": ["get"]},
    {"kind": "http", "url": "http://a", "secret": "${S}", "method": "POST", "attempts": 2},
    {"kind": "file", "path": "a.env", "format": "env", "signal": "HUP", "pid_file": "a.pid"},
    {"kind": "redis", "url": "${REDIS}", "hash": "knobs"},
]


def with_(path: str, value: Any) -> dict[str, Any]:
    plain = copy.deepcopy(PLAIN)
    holder: Any = plain
    *way, last = path.split(".")
    for key in way:
        holder = holder[int(key) if key.isdigit() else key]
    holder[last] = value
    return plain


def test_what_was_read() -> None:
    spec = Spec.from_dict(PLAIN)
    assert spec.source is not None
    assert spec.target is not None
    assert spec.source.window == Duration(30, "s")
    assert spec.source.timeout == Duration(10, "s")
    assert spec.source.options["step"] == Duration(5, "s")
    assert (spec.target.kind, spec.target.attempts) == ("redis", 4)
    assert spec.webhooks[0].events == ("alarm",)
    assert set(spec.source.texts) >= {"Bearer ${PROM}", "http://localhost:9090"}
    assert Spec.from_dict(spec.to_dict()) == spec
    jsonschema.validate(spec.to_dict(), schema())


@pytest.mark.parametrize("table", [*SOURCES, *TARGETS], ids=lambda t: f"{len(t)} {t['kind']}")
def test_every_kind(table: dict[str, Any]) -> None:
    spec = Spec.from_dict(with_("source" if table in SOURCES else "target", table))
    assert Spec.from_dict(spec.to_dict()) == spec
    jsonschema.validate(spec.to_dict(), schema())


def test_a_metric_that_no_rule_reads_may_have_a_query_too() -> None:
    queries = PLAIN["source"]["metrics"] | {"unused": "x"}
    assert Spec.from_dict(with_("source.metrics", queries)).source is not None


def test_a_spec_without_them_is_as_before() -> None:
    plain = {key: x for key, x in PLAIN.items() if key not in ("source", "target", "webhook")}
    assert not {"source", "target", "webhook"} & set(Spec.from_dict(plain).to_dict())


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("source.kind", "promethus", "source.kind = 'promethus': did you mean 'prometheus'"),
        ("source.window", "0s", "source.window = '0s': give a time"),
        ("source.metrics", {"latency": "x"}, "source.metrics.errors: it is missing"),
        ("source.metrics.typo", "x", "source.metrics.typo: no such objective or metric"),
        ("source.aggregate.latency", "median", "source.aggregate.latency = 'median'"),
        ("source.url", "http://me:pass@host", "source.url: there is a password in it"),
        ("source.headers.Authorization", "Bearer abc", "it looks like a secret"),
        ("target.names.tll", "x", "target.names.tll: no such knob; did you mean 'ttl'"),
        ("target.url", "redis://:pass@host", "target.url: there is a password in it"),
        ("target.url", "redis://:p/a?s#s:@host", "target.url: there is a password in it"),
        ("target", {"kind": "file"}, "target.path: it is missing"),
        ("target", TARGETS[2] | {"mode": 1}, "target.mode: no such key"),
        ("target", {"kind": "file", "path": "a", "signal": "HUP"}, "who gets the signal"),
        ("target", TARGETS[3] | {"prefix": "a:"}, "a hash has no prefix"),
        ("webhook.0.secret", "abc", 'write "${NAME}", and put the secret'),
        ("webhook.0.events", ["alert"], "did you mean 'alarm'"),
    ],
)
def test_what_is_refused(path: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Spec.from_dict(with_(path, value))
    assert message in str(caught.value)
    assert "pass@" not in str(caught.value)


def test_variables() -> None:
    assert expanded("a ${B}${C}", "x", {"B": "1", "C": ""}) == "a 1"
    assert expanded("$window {end}", "x", {}) == "$window {end}"
    with pytest.raises(InvalidInput, match=r"target.url: the environment variable B is not set"):
        expanded("a ${B}", "target.url", {})


def test_secrets_are_masked_the_longest_first() -> None:
    secrets = Secrets(["${A} ${B} ${C} ${D}"], {"A": "sesame", "B": "sesame-street", "C": "ab"})
    assert secrets.masked("sesame-street, sesame, ab") == "***, ***, ab"
    assert Secrets([]).masked("nothing") == "nothing"
