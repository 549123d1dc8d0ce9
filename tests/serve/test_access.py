"""Who may do what: tokens, roles, hosts, origins, sizes, rates; and no endpoint without a rule."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from socket import create_connection
from typing import Any

import pytest
from fastapi import APIRouter
from starlette.responses import Response

import trimtab as tt
from tests.serve.services import ROLES, Running, running, spec_with
from trimtab.serve.access.tokens import Tokens
from trimtab.serve.app import document_of, refuse_unruled
from trimtab.serve.tables import Tables

# Who may use each operation, written down a second time: one that is not here fails the test.
SEE, FLAGS, DECIDE, ACT, ADMINISTER = (
    {"viewer", "operator", "admin"},
    {"viewer", "client", "operator", "admin"},
    {"client", "operator", "admin"},
    {"operator", "admin"},
    {"admin"},
)
T = "/api/v1/tuners/{name}"
MATRIX: dict[tuple[str, str], set[str] | None] = {  # None: anybody, without a token
    **{("POST", f"{T}/{verb}"): DECIDE for verb in ("ask", "tell")},
    **{
        ("POST", f"{T}/{verb}"): ACT
        for verb in (
            *("attach", "override", "pause", "resume", "rollback"),
            *("approve", "reject", "warm-start"),
        )
    },
    **{("GET", f"{T}{part}"): SEE for part in ("", "/spec", "/history", "/events", "/loop")},
    ("GET", f"{T}/decisions/{{decision_id}}"): SEE,
    ("GET", "/api/v1/tuners"): SEE,
    ("GET", "/api/v1/events"): SEE,
    ("GET", "/api/v1/whoami"): FLAGS,
    ("GET", "/api/v1/openapi.json"): FLAGS,
    ("POST", "/api/v1/tuners"): ADMINISTER,
    ("PUT", f"{T}/spec"): ADMINISTER,
    ("PUT", f"{T}/loop"): ADMINISTER,
    ("GET", "/api/v1/tokens"): ADMINISTER,
    ("POST", "/api/v1/tokens"): ADMINISTER,
    ("DELETE", "/api/v1/tokens/{token}"): ADMINISTER,
    ("POST", "/ofrep/v1/evaluate/flags"): FLAGS,
    ("POST", "/ofrep/v1/evaluate/flags/{key}"): FLAGS,
    ("GET", "/flagd/v1/flags.json"): FLAGS,
    ("GET", "/metrics"): SEE,
    ("GET", "/"): SEE,
    ("GET", "/tuners/{name}"): SEE,
    ("POST", "/logout"): FLAGS,
    ("GET", "/plotly.js"): FLAGS,  # 5 MB, which strangers need not have
    **{("GET", path): None for path in ("/login", "/draw.js", "/report.css")},
    ("POST", "/login"): None,
    ("GET", "/livez"): None,
    ("GET", "/readyz"): None,
}
PAGES = ("/", "/tuners/{name}", "/logout", "/plotly.js")
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
BODIES: dict[str, Any] = {
    "attach": {"values": {}},
    "override": {"values": {}},
    "tell": {"decision_id": "shop-9", "metrics": {}},
    "approve": {"decision_id": "shop-9"},
    "reject": {"decision_id": "shop-9"},
    "warm-start": {"table": {}},
    "spec": {"spec": ""},
    "loop": {"on": False},
    "tuners": {"spec": ""},
    "tokens": {"name": "x", "role": "nobody"},
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(str(tmp_path_factory.mktemp("access") / "a.db")) as found:
        found.begin()
        found.begin(spec_with(name="bar"))
        yield found


def filled(path: str, tuner: str = "shop") -> str:
    """A path with something in its holes; streams are asked for nothing that would be long."""
    path = path.replace("{name}", tuner).replace("{decision_id}", f"{tuner}-2")
    path = path.replace("{token}", "nobody").replace("{key}", f"{tuner}.ttl")
    return path + (f"?tuner={tuner}" if path == "/api/v1/events" else "")


def status(served: Running, headers: dict[str, str], method: str, path: str) -> int:
    """The status of the answer; of a stream only the beginning is read."""
    body = BODIES.get(path.partition("?")[0].rpartition("/")[2], {})
    content = None if method == "GET" else body
    with served.http.stream(method, path, headers=headers, json=content) as answer:
        return answer.status_code


def test_every_operation_of_the_document_is_in_the_matrix(served: Running) -> None:
    paths = document_of(served.app)["paths"]
    found = {(method.upper(), path) for path, item in paths.items() for method in item}
    assert found == set(MATRIX)


@pytest.mark.parametrize("role", [*ROLES, "nobody"])
def test_the_matrix_of_roles_and_operations(served: Running, role: str) -> None:
    for (method, path), allowed in MATRIX.items():
        headers = {} if role == "nobody" else {"authorization": f"Bearer {served.token(role)}"}
        found = status(served, headers, method, filled(path))
        if path == "/login" and method == "POST":
            assert found == 401  # without a token in the form
        elif allowed is None or role in allowed:
            assert found not in (401, 403), (role, method, path, found)
        else:
            page = path in PAGES  # who is not known there is shown the way in
            assert found == (403 if role != "nobody" else 303 if page else 401), (method, path)


@pytest.mark.parametrize("role", ["viewer", "client", "operator"])
def test_a_token_of_one_tuner_reaches_no_other(served: Running, role: str) -> None:
    headers = {"authorization": f"Bearer {served.token(role, tuner='bar')}"}
    for (method, path), allowed in MATRIX.items():
        if allowed is not None and "{name}" in path:
            assert status(served, headers, method, filled(path)) == 403, (method, path)
            own = status(served, headers, method, filled(path, "bar"))
            assert (own == 403) == (role not in allowed), (method, path, own)
    if role != "client":
        seen = served.http.get("/api/v1/tuners", headers=headers).json()["tuners"]
        assert seen == ["bar"]
        assert status(served, headers, "GET", "/api/v1/events?tuner=bar&tuner=shop") == 403


def test_methods_that_are_not_in_the_document_are_refused(served: Running) -> None:
    headers = {"authorization": f"Bearer {served.token('admin')}"}
    for path in {path for _, path in MATRIX}:
        for method in METHODS:
            if (method, path) not in MATRIX:
                assert status(served, headers, method, filled(path)) == 405, (method, path)


def test_an_endpoint_without_a_rule_keeps_the_service_from_starting() -> None:
    router = APIRouter()

    @router.get("/open")
    def forgotten() -> Response:
        return Response()

    with pytest.raises(RuntimeError, match="/open has no rule"):
        refuse_unruled(router.routes)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer trimtab_",
        "Bearer trimtab_000000000000_" + "A" * 43,
        "Bearer " + "x" * 10_000,
        "Basic YWRtaW46YWRtaW4=",
        "Bearer trimtab_%00_' OR 1=1 --",
    ],
)
def test_hostile_tokens(served: Running, header: str) -> None:
    answer = served.http.get("/api/v1/tuners", headers={"authorization": header})
    assert answer.status_code in (401, 429)
    assert len(answer.text) < 300


def test_a_token_cut_or_changed_anywhere_is_worth_nothing(served: Running) -> None:
    secret = served.token("viewer")
    for n in range(0, len(secret), 7):
        other = secret[:n] + ("A" if secret[n] != "A" else "B") + secret[n + 1 :]
        assert served.service.tokens.identity(other) is None
        assert served.service.tokens.identity(secret[:n]) is None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example"}, 421),
        ({"host": "127.0.0.1@evil.example"}, 421),
        ({"host": ""}, 421),
        ({"host": "LOCALHOST:1"}, 200),
        ({"host": "[::1]:8321"}, 200),
    ],
)
def test_hosts(served: Running, headers: dict[str, str], expected: int) -> None:
    assert served.http.get("/livez", headers=headers).status_code == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
        ({"origin": "//"}, 403),
        ({"origin": "http://evil.example@127.0.0.1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({}, 200),
    ],
)
def test_origins(served: Running, headers: dict[str, str], expected: int) -> None:
    answer = served.post("/api/v1/tuners/shop/ask", {}, headers=headers)
    assert answer.status_code == expected
    origin = str(served.http.base_url).rstrip("/")
    own = served.post("/api/v1/tuners/shop/ask", {}, headers=headers | {"origin": origin})
    assert own.status_code == (403 if "sec-fetch-site" in headers and expected == 403 else 200)


def test_bodies_that_are_too_large_are_refused_unread(tmp_path: Path) -> None:
    with running(str(tmp_path / "a.db"), body=2_000) as served:
        served.begin()
        big = {"metrics": {f"m{n}": 1.0 for n in range(400)}, "decision_id": "x"}
        assert served.post("/api/v1/tuners/shop/tell", big).status_code == 413

        def drops() -> Iterator[bytes]:  # no Content-Length
            for _ in range(100):
                yield b" " * 1_000

        answer = served.send("admin", "POST", "/api/v1/tuners/shop/tell", content=drops())
        assert answer.status_code == 413


def closed(served: Running, first: bytes, more: bytes, times: int) -> bytes:
    """What is answered before the connection is closed."""
    said = b""
    with create_connection(("127.0.0.1", served.http.base_url.port or 0), timeout=20) as line:
        try:
            line.sendall(first)
            for _ in range(times):
                line.sendall(more)
            while got := line.recv(65_536):
                said += got
        except (ConnectionResetError, BrokenPipeError):
            pass
    return said


BEGIN = b"POST /login HTTP/1.1\r\nHost: localhost\r\n"


def test_headers_without_an_end_are_not_read_to_the_end(served: Running) -> None:
    many = closed(served, BEGIN, b"a: b\r\n" * 1_000, 1_000)
    one = closed(served, BEGIN + b"a: ", b"b" * 10_000, 1_000)
    url = closed(served, b"GET /", b"a" * 10_000, 1_000)
    chunked = BEGIN + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    trailers = closed(served, chunked, b"a: b\r\n" * 1_000, 1_000)
    for said in (many, one, url, trailers):
        assert said == b"" or b"400 Bad Request" in said
    assert served.http.get("/livez").status_code == 200


def test_who_sends_drop_by_drop_is_not_waited_for(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.serve.protocol.SECONDS", 0.3)
    for first in (b"", BEGIN, b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /livez HTT"):
        begin = time.monotonic()
        said = closed(served, first, b"", 0)
        assert 0.2 < time.monotonic() - begin < 10
        assert (b"200 OK" in said) == (b"GET" in first)


def test_nothing_of_a_body_is_read_for_strangers(served: Running) -> None:
    """Nor is its form told: who has no token learns nothing but that."""
    for content in (b"{" * 100_000, b"[1]", b"\xff"):
        headers = {"content-type": "application/json"}
        answer = served.http.post("/api/v1/tuners/shop/tell", content=content, headers=headers)
        assert answer.status_code == 401


@pytest.mark.parametrize("content", [b"[" * 5_000, b'{"a":' * 5_000, b"\xff\xfe", b"NaN", b"1e999"])
def test_hostile_bodies(served: Running, content: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = served.send(
        "admin", "POST", "/api/v1/tuners/shop/tell", content=content, headers=headers
    )
    assert answer.status_code in (400, 422), answer.text


@pytest.mark.parametrize("bad", ["%00", "a%00b", "%ff%fe", "%ed%a0%80", "'%3B--", "%3Cscript%3E"])
def test_names_that_no_database_takes(journal_url: str, bad: str) -> None:
    with running(journal_url) as served:
        served.begin()
        for method, path in (
            ("GET", f"/api/v1/tuners?after={bad}"),
            ("GET", f"/api/v1/events?tuner={bad}"),
            ("GET", f"/api/v1/tuners/{bad}"),
            ("GET", f"/tuners/{bad}"),
            ("GET", f"/?after={bad}"),
            ("GET", f"/api/v1/tuners/shop/decisions/{bad}"),
            ("POST", f"/ofrep/v1/evaluate/flags/{bad}.ttl"),
            ("POST", f"/ofrep/v1/evaluate/flags/shop.{bad}"),
            ("DELETE", f"/api/v1/tokens/{bad}"),
        ):
            body: Any = {} if method == "POST" else None
            answer = served.send("admin", method, path, json=body)
            assert answer.status_code in (200, 404, 422), (path, answer.text)
            assert "<script>" not in answer.text or "text/html" not in str(answer.headers)


def test_the_form_of_a_stranger_is_small(served: Running) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    long = served.http.post("/login", content="token=" + "a" * 3_000, headers=form)
    assert long.status_code == 413


def test_who_comes_too_often_has_to_wait(tmp_path: Path) -> None:
    slow: dict[str, Any] = {"rate": 0.5, "burst": 3, "stranger_rate": 0.5, "stranger_burst": 5}
    with running(str(tmp_path / "a.db"), **slow) as served:
        found = [served.send("viewer", "GET", "/api/v1/whoami").status_code for _ in range(5)]
        assert found == [200, 200, 200, 429, 429]
        assert served.send("admin", "GET", "/api/v1/whoami").status_code == 200
        last = served.send("viewer", "GET", "/api/v1/whoami")
        assert int(last.headers["retry-after"]) >= 1
        strangers = [served.http.get("/api/v1/whoami").status_code for _ in range(7)]
        assert strangers == [401] * 5 + [429] * 2


def test_headers_of_every_answer(served: Running) -> None:
    for answer in (
        served.http.get("/livez"),
        served.http.get("/nothing"),
        served.http.get("/livez", headers={"host": "evil.example"}),
        served.send("viewer", "GET", "/api/v1/tuners"),
    ):
        headers = answer.headers
        assert "script-src 'self';" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_tokens_are_given_listed_and_revoked(served: Running) -> None:
    given = served.post("/api/v1/tokens", {"name": "maria", "role": "viewer", "days": 1}).json()
    headers = {"authorization": f"Bearer {given['token']}"}
    who = served.http.get("/api/v1/whoami", headers=headers).json()
    assert who == {"name": "maria", "role": "viewer", "tuner": None}
    listed = served.send("admin", "GET", "/api/v1/tokens")
    assert given["token"] not in listed.text
    assert {"maria", "admin"} <= {token["name"] for token in listed.json()["tokens"]}
    assert served.post("/api/v1/tokens", {"name": "maria", "role": "admin"}).status_code == 409
    assert served.send("admin", "DELETE", "/api/v1/tokens/maria").json()["revoked"]
    assert served.http.get("/api/v1/whoami", headers=headers).status_code == 401
    assert served.send("admin", "DELETE", "/api/v1/tokens/admin").status_code == 409


def test_tokens_expire(tmp_path: Path) -> None:
    tables = Tables(str(tmp_path / "a.db"))
    tokens = Tokens(tables)
    secret, _ = tokens.add("maria", "viewer", lifetime=timedelta(seconds=0.2), by="test")
    assert tokens.identity(secret) is not None
    time.sleep(0.25)
    assert Tokens(tables).identity(secret) is None  # one that remembers does so for two seconds
    with pytest.raises(tt.InvalidInput, match="role = 'root'"):
        tokens.add("ben", "root", by="test")
    with pytest.raises(tt.InvalidInput, match="revoke some first"):
        Tokens(tables, most=1).add("ben", "viewer", by="test")
    tables.close()


def test_the_store_has_no_token_in_it(tmp_path: Path) -> None:
    tables = Tables(str(tmp_path / "a.db"))
    tokens = Tokens(tables)
    first = tokens.first()
    assert first is not None
    assert tokens.first() is None
    who = tokens.identity(first)
    assert who is not None
    cookie = tokens.begin_session(who, seconds=60)
    tables.close()
    with sqlite3.connect(tmp_path / "a.db") as connection:
        everything = "\n".join(connection.iterdump())
    assert first.rpartition("_")[2] not in everything
    assert first[21:] not in everything
    assert cookie not in everything
    assert "trimtab_tokens" in everything


def test_metrics_name_routes_and_nothing_from_outside(served: Running) -> None:
    served.http.get("/api/v1/tuners/%3Cscript%3E")
    served.http.get("/nothing/at/all")
    text = served.send("viewer", "GET", "/metrics").text
    assert 'route="/api/v1/tuners/{name}"' in text
    assert "script" not in text
    assert "nothing" not in text
    assert json.dumps("(none)") in text
    assert "trimtab_tuners 2.0" in text
