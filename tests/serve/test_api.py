"""The API: every verb of a tuner, its errors, its pages, its news."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import trimtab as tt
from tests.serve.services import SPEC, Running, running, spec_with, world
from trimtab.live.store.opening import open_journal

AT = "/api/v1/tuners/shop"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "a.db")) as found:
        found.begin()
        yield found


def test_a_tuner_is_begun_asked_and_told(tmp_path: Path) -> None:
    with running(str(tmp_path / "a.db")) as served:
        begun = served.post("/api/v1/tuners", {"spec": SPEC})
        assert (begun.status_code, begun.json()["mode"]) == (201, "tuning")
        assert served.post("/api/v1/tuners", {"spec": SPEC}).json()["events"] == 1
        decision = served.post(f"{AT}/ask", {}, "client").json()
        assert decision["values"] == {"ttl": 300.0, "size": 5, "mix": 0.5}
        assert served.post(f"{AT}/ask", {}, "client").json() == decision
        body = {"decision_id": decision["id"], "metrics": {"latency": [120.0, 3.0], "sales": 5}}
        assert served.post(f"{AT}/tell", body, "client").json()["events"] == [3]
        assert served.post(f"{AT}/tell", body, "client").json()["repeated"] is True
        assert served.send("viewer", "GET", "/api/v1/tuners").json()["tuners"] == ["shop"]
    with open_journal(tmp_path / "a.db") as journal:
        rows = tt.Tuner.existing("shop", journal).history()
    assert [(row.kind, row.actor) for row in rows] == [
        ("begin", "admin"),
        ("decide", "client"),
        ("tell", "client"),
    ]


def test_people_act_with_a_reason_and_a_name(served: Running) -> None:
    for verb, body in (
        ("attach", {"values": {"mix": 0.4}, "why": "by the release"}),
        ("pause", {"why": "a load test"}),
        ("resume", {"why": "it is over"}),
        ("override", {"values": {"mix": 0.3}, "why": "a sale"}),
        ("resume", {}),
    ):
        answer = served.post(f"{AT}/{verb}", body, "operator")
        assert answer.status_code == 200, answer.text
    rows = served.send("viewer", "GET", f"{AT}/history?after=1").json()["rows"]
    assert [(row["kind"], row["actor"], row["reason"]) for row in rows] == [
        ("attach", "operator", "by the release"),
        ("pause", "operator", "a load test"),
        ("resume", "operator", "it is over"),
        ("override", "operator", "a sale"),
        ("resume", "operator", None),
    ]


def test_a_proposal_is_approved(tmp_path: Path) -> None:
    with running(str(tmp_path / "a.db")) as served:
        served.begin(spec_with(mode="approve", policy={"kind": "SteadyGraphLinUCB"}))
        for _ in range(40):
            decision = served.post(f"{AT}/ask", {}).json()
            served.clock.wait(minutes=30)
            rng = np.random.default_rng(decision["round"])
            metrics = world(decision["values"], rng)
            served.post(f"{AT}/tell", {"decision_id": decision["id"], "metrics": metrics})
            status = served.send("viewer", "GET", AT).json()
            if status["proposed_by"]:
                break
        body = {"decision_id": status["proposed_by"], "why": "looks right"}
        assert served.post(f"{AT}/approve", body, "operator").status_code == 200
        assert served.post(f"{AT}/ask", {}).json()["changed"]
        late = served.post(f"{AT}/reject", body, "operator")
        assert (late.status_code, late.json()["title"]) == (409, "conflict")


def test_history_comes_in_pages(served: Running) -> None:
    for n in range(6):
        served.post(f"{AT}/attach", {"values": {"mix": 0.1 * n}})
    first = served.send("viewer", "GET", f"{AT}/history?limit=4").json()
    rest = served.send("viewer", "GET", f"{AT}/history?limit=4&after={first['next']}").json()
    assert [row["number"] for row in first["rows"] + rest["rows"]] == list(range(1, 8))
    assert rest["next"] is None
    newest = served.send("viewer", "GET", f"{AT}/history?newest=true&limit=2&kinds=attach").json()
    assert [row["number"] for row in newest["rows"]] == [7, 6]


def test_tuners_come_in_pages(served: Running) -> None:
    for n in range(4):
        served.begin(spec_with(name=f"t{n}"))
    first = served.send("viewer", "GET", "/api/v1/tuners?limit=3").json()
    assert (first["tuners"], first["next"]) == (["shop", "t0", "t1"], "t1")
    rest = served.send("viewer", "GET", "/api/v1/tuners?limit=3&after=t1").json()
    assert (rest["tuners"], rest["next"]) == (["t2", "t3"], None)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", "/api/v1/tuners/none", None, 404, "there is no tuner 'none' in this store"),
        ("GET", f"{AT}/decisions/shop-99", None, 404, "shop-99"),
        (
            "POST",
            f"{AT}/attach",
            {"values": {"mux": 1}},
            422,
            "'mux' is no knob; did you mean 'mix'",
        ),
        ("POST", f"{AT}/attach", {"values": {"mix": "a"}}, 422, "values.mix"),
        ("POST", f"{AT}/rollback", {}, 409, "no good state other than this one is known"),
        ("POST", f"{AT}/tell", {"decision_id": "shop-9", "metrics": {}}, 404, "shop-9"),
        ("POST", f"{AT}/pause", {"wy": "x"}, 422, "wy"),
        ("POST", "/api/v1/tuners", {"spec": "name = 3"}, 422, "name"),
        ("PUT", f"{AT}/spec", {"spec": SPEC.replace("shop", "bar")}, 422, "that of tuner 'shop'"),
        ("GET", f"{AT}/history?limit=0", None, 422, "limit"),
        ("GET", "/nothing/here", None, 404, "Not Found"),
        ("DELETE", AT, None, 405, "Method Not Allowed"),
    ],
)
def test_errors_are_problems_in_the_words_of_the_command_line(
    served: Running, method: str, path: str, body: object, status: int, words: str
) -> None:
    before = served.send("viewer", "GET", AT).json()["events"]
    answer = served.send("admin", method, path, json=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert words in problem["detail"]
    assert problem["type"].startswith("urn:trimtab:problem:")
    assert served.send("viewer", "GET", AT).json()["events"] == before


def test_what_nobody_foresaw_is_a_problem_too(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: tt.Tuner) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(tt.Tuner, "status", broken)
    answer = served.send("viewer", "GET", AT)
    assert (answer.status_code, answer.json()["title"]) == (500, "fault")
    assert "secret" not in answer.text


def test_a_key_gives_the_same_answer_again(served: Running) -> None:
    key = {"idempotency-key": "k1"}
    first = served.post(f"{AT}/pause", {"why": "a"}, "operator", headers=key)
    served.post(f"{AT}/resume", {})
    again = served.post(f"{AT}/pause", {"why": "a"}, "operator", headers=key)
    assert (again.text, again.headers.get("idempotency-replayed")) == (first.text, "true")
    assert served.send("viewer", "GET", AT).json()["mode"] == "tuning"
    other = served.post(f"{AT}/pause", {"why": "b"}, "operator", headers=key)
    assert (other.status_code, "another request" in other.json()["detail"]) == (422, True)
    mine = served.post(f"{AT}/pause", {"why": "b"}, "admin", headers=key)  # keys are of one token
    assert mine.json()["mode"] == "paused"


def test_a_refusal_is_kept_under_its_key(served: Running) -> None:
    key = {"idempotency-key": "k2"}
    first = served.post(f"{AT}/rollback", {}, headers=key)
    assert served.post(f"{AT}/rollback", {}, headers=key).text == first.text
    assert first.status_code == 409


def test_a_spec_changes_what_may_change(served: Running) -> None:
    gentle = SPEC.replace("max_step = 0.3", "max_step = 0.1")
    changed = served.send("admin", "PUT", f"{AT}/spec", json={"spec": gentle})
    assert changed.status_code == 200, changed.text
    found = served.send("viewer", "GET", f"{AT}/spec").json()
    assert found["knobs"]["mix"]["stability"]["max_step"] == 0.1
    assert "storage" not in found
    wider = SPEC.replace("high = 3000", "high = 4000")  # of a knob: another problem
    clash = served.send("admin", "PUT", f"{AT}/spec", json={"spec": wider})
    assert clash.status_code == 409


def test_the_store_takes_a_number_of_tuners_and_no_more(tmp_path: Path) -> None:
    with running(str(tmp_path / "a.db"), most_tuners=1) as served:
        assert served.post("/api/v1/tuners", {"spec": SPEC}).status_code == 201
        second = served.post("/api/v1/tuners", {"spec": SPEC.replace("shop", "bar")})
        assert (second.status_code, "its limit" in second.json()["detail"]) == (422, True)
        assert served.post("/api/v1/tuners", {"spec": SPEC}).status_code == 201


def test_few_tuners_are_kept_open_and_none_is_lost(tmp_path: Path) -> None:
    with running(str(tmp_path / "a.db"), open_tuners=2, connections=2) as served:
        ids = {}
        for n in range(5):
            served.begin(spec_with(name=f"t{n}"))
            ids[n] = served.post(f"/api/v1/tuners/t{n}/ask", {}).json()["id"]
        for n in range(5):
            assert served.post(f"/api/v1/tuners/t{n}/ask", {}).json()["id"] == ids[n]
        assert len(served.service.tuners) == 2


def test_a_table_warms_a_tuner(served: Running) -> None:
    table = {"ttl": [60], "size": [3], "mix": [0.1], "metric": ["sales"], "value": [4.0]}
    for _ in range(2):
        answer = served.post(f"{AT}/warm-start", {"table": table})
        assert answer.json() == {"observations": 1}, answer.text
    assert served.send("viewer", "GET", AT).json()["events"] == 2
    served.post(f"{AT}/ask", {})
    explained = served.send("viewer", "GET", f"{AT}/decisions/last").json()
    assert explained["decision"]["id"] == "shop-3"
    assert explained["text"].startswith("shop-3, round 1")
