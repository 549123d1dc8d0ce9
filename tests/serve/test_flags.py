"""Values as flags: OFREP and flagd, with OpenFeature's own SDK and provider."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason

from tests.serve.services import Running, running, spec_with

ALL = "/ofrep/v1/evaluate/flags"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "a.db")) as found:
        found.begin()
        yield found


def test_openfeature_reads_typed_values_with_variant_and_reason(served: Running) -> None:
    token = served.token("client")
    provider = OFREPProvider(
        str(served.http.base_url), headers_factory=lambda: {"Authorization": f"Bearer {token}"}
    )
    api.set_provider(provider)
    try:
        flags = api.get_client()
        user = EvaluationContext(targeting_key="user-7", attributes={"plan": "gold"})
        before = flags.get_float_details("shop.ttl", 1.0, user)
        assert (before.value, before.variant, before.reason) == (300.0, "start", Reason.DEFAULT)
        decision = served.post("/api/v1/tuners/shop/ask", {}).json()
        whole = flags.get_integer_details("shop.size", 1, user)
        assert (whole.value, whole.variant) == (5, decision["id"])
        assert (whole.reason, whole.flag_metadata["why"]) == (Reason.TARGETING_MATCH, "hold")
        served.post("/api/v1/tuners/shop/pause", {"why": "test"})
        ttl = flags.get_float_details("shop.ttl", 1.0)
        assert (ttl.value, ttl.reason, ttl.flag_metadata["unit"]) == (300.0, Reason.STATIC, "s")
        wrong = flags.get_integer_details("shop.ttl", 1)
        assert (wrong.value, wrong.error_code) == (1, ErrorCode.TYPE_MISMATCH)
        for key in ("shop.none", "none.ttl", "nothing"):
            missing = flags.get_float_details(key, 2.5)
            assert (missing.value, missing.error_code) == (2.5, ErrorCode.FLAG_NOT_FOUND)
        served.service.tokens.revoke("client")
        assert flags.get_float_details("shop.ttl", 2.5).error_code == ErrorCode.GENERAL
    finally:
        api.clear_providers()


def test_all_flags_come_with_a_tag_and_only_once(served: Running) -> None:
    served.begin(spec_with(name="bar"))
    found = served.send("client", "POST", ALL, json={"context": {"targetingKey": "u"}})
    keys = [flag["key"] for flag in found.json()["flags"]]
    assert keys == [
        f"{tuner}.{knob}" for tuner in ("bar", "shop") for knob in ("ttl", "size", "mix")
    ]
    known = {"if-none-match": found.headers["etag"]}
    same = served.send("client", "POST", ALL, json={}, headers=known)
    assert (same.status_code, same.content) == (304, b"")
    served.post("/api/v1/tuners/bar/attach", {"values": {"mix": 0.25}})
    served.post("/api/v1/tuners/bar/ask", {})
    changed = served.send("client", "POST", ALL, json={}, headers=known).json()["flags"]
    assert {flag["key"]: flag["value"] for flag in changed}["bar.mix"] == 0.25


def test_a_token_of_one_tuner_reads_its_flags_only(served: Running) -> None:
    served.begin(spec_with(name="bar"))
    found = served.send("client", "POST", ALL, tuner="bar", json={}).json()["flags"]
    assert {flag["key"].split(".")[0] for flag in found} == {"bar"}
    other = served.send("client", "POST", f"{ALL}/shop.ttl", tuner="bar", json={})
    assert (other.status_code, other.json()["errorCode"]) == (404, "FLAG_NOT_FOUND")


def test_malformed_requests_are_parse_errors(served: Running) -> None:
    for content in (b"{", b"[]", b'{"context": 3}'):
        headers = {"content-type": "application/json"}
        answer = served.send("client", "POST", f"{ALL}/shop.ttl", content=content, headers=headers)
        assert (answer.status_code, answer.json()["errorCode"]) == (400, "PARSE_ERROR")
    assert served.send("client", "POST", f"{ALL}/shop.ttl").status_code == 200  # no body at all


def test_flagd_finds_its_document(served: Running) -> None:
    served.post("/api/v1/tuners/shop/ask", {})
    found = served.send("client", "GET", "/flagd/v1/flags.json")
    flags = found.json()["flags"]
    assert flags["shop.ttl"]["variants"] == {"shop-2": 300.0}
    for flag in flags.values():
        assert flag["state"] == "ENABLED"
        assert flag["defaultVariant"] in flag["variants"]
        assert all(isinstance(x, str | int | float | bool) for x in flag["metadata"].values())
    known = {"if-none-match": f'"other", {found.headers["etag"]}'}
    assert served.send("client", "GET", "/flagd/v1/flags.json", headers=known).status_code == 304


def test_more_tuners_than_one_answer_holds_are_refused(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.serve.flags.evaluation.MOST", 1)
    served.begin(spec_with(name="bar"))
    answer = served.send("client", "POST", ALL, json={})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "GENERAL")
    assert served.send("client", "GET", "/flagd/v1/flags.json").status_code == 422
