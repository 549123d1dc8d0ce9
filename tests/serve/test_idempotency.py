"""A key and its effect are one transaction: killed anywhere, nothing is lost or doubled."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.live.store.journals import child
from tests.serve.services import SPEC, Running, running
from trimtab.live.follower import STEPS as TUNER_STEPS
from trimtab.live.store.database import STEPS as JOURNAL_STEPS

STEPS = (*JOURNAL_STEPS, *TUNER_STEPS[:3], "answered", "kept")
DONE = STEPS.index("after commit")  # from here on the effect is there
GENTLE, OTHER = SPEC.replace("max_step = 0.3", "max_step = 0.1"), "max_step = 0.2"
KILL = """
import asyncio, json, os, signal, sys
from trimtab.serve.app import create_app
from trimtab.serve.settings import Settings
url, token, tasks = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])

async def send(app, method, path, body):
    data = json.dumps(body).encode()
    headers = {"host": "localhost", "authorization": f"Bearer {token}", "idempotency-key": path,
               "content-type": "application/json", "content-length": str(len(data))}
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "state": {},
             "headers": [(k.encode(), v.encode()) for k, v in headers.items()]}
    async def receive():
        return {"type": "http.request", "body": data}
    async def answer(message):
        pass
    await app(scope, receive, answer)

for fatal, method, path, body in tasks:
    if os.fork() == 0:
        def step(at):
            if at == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
        app = create_app(Settings(storage=url), step=step)
        asyncio.run(send(app, method, path, body))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


def request(verb: str, name: str, decision: str) -> tuple[str, str, dict[str, Any]]:
    """Method, path and body of what is done once."""
    at = f"/api/v1/tuners/{name}"
    if verb == "spec":
        return "PUT", f"{at}/spec", {"spec": GENTLE.replace("shop", name)}
    bodies: dict[str, dict[str, Any]] = {
        "ask": {"client_id": "web"},
        "pause": {"why": "once"},
        "tell": {"decision_id": decision, "metrics": {"latency": 90.0}},
        "correct": {"decision_id": decision, "metrics": {"latency": 80.0}, "correct": True},
    }
    return "POST", f"{at}/{'tell' if verb == 'correct' else verb}", bodies[verb]


def kinds(served: Running, name: str, verb: str) -> int:
    """How often the journal has the effect."""
    events = served.service.tuners.journal(name).events(name)
    wanted = {"ask": "decide"}.get(verb, verb)
    return sum(event.kind == wanted and "test" not in event.text for event in events)


@pytest.mark.slow
def test_killed_at_every_step(journal_url: str) -> None:
    slow = journal_url.startswith("postgres")
    verbs = ("tell", "pause") if slow else ("ask", "tell", "correct", "pause", "spec")
    cases: dict[str, tuple[str, str]] = {}  # verb and step by name of a tuner
    tasks = []
    with running(journal_url) as served:
        token = served.token("admin", name="once")
        for n, step in enumerate(STEPS):
            for verb in verbs:
                name = f"{verb}.{n}"
                served.post("/api/v1/tuners", {"spec": SPEC.replace("shop", name)})
                tuner = served.service.tuners.get(name)
                decision = tuner.ask("test", actor="test").id
                if verb == "correct":
                    tuner.tell(decision, {"latency": 90.0}, actor="test")
                cases[name] = verb, step
                tasks.append((step, *request(verb, name, decision)))
    killed = child(KILL, journal_url, token, json.dumps(tasks))
    out, _ = killed.communicate(timeout=240)
    assert [int(line) for line in out.split()] == [-9] * len(tasks)
    with running(journal_url) as served:
        for (name, (verb, step)), (_, method, path, body) in zip(cases.items(), tasks, strict=True):
            done = STEPS.index(step) >= DONE and step != "received"
            assert kinds(served, name, verb) == done, (name, step)
            if done and verb == "pause":  # somebody else has ordered something meanwhile
                served.post(f"/api/v1/tuners/{name}/resume", {})
            if done and verb == "spec":
                other = SPEC.replace("shop", name).replace("max_step = 0.3", OTHER)
                served.send("admin", "PUT", f"/api/v1/tuners/{name}/spec", json={"spec": other})
            before = kinds(served, name, verb)
            key = {"authorization": f"Bearer {token}", "idempotency-key": path}
            answer = served.http.request(method, path, json=body, headers=key)
            again = served.http.request(method, path, json=body, headers=key)
            assert (answer.status_code, again.text) == (200, answer.text), (name, step)
            assert answer.headers.get("idempotency-replayed") == ("true" if done else None)
            assert again.headers["idempotency-replayed"] == "true"
            assert kinds(served, name, verb) == (before if done else 1)
            check(served, name, verb, answer.json(), undone=done)


def check(served: Running, name: str, verb: str, plain: dict[str, Any], *, undone: bool) -> None:
    """The answer is that of the effect, and what others have ordered since stays."""
    tuner = served.service.tuners.get(name)
    if verb == "ask":
        assert tuner.ask("web").id == plain["id"]
    elif verb in ("tell", "correct"):
        numbers = [row.number for row in tuner.history(kinds=[verb]) if row.actor == "once"]
        assert plain["events"] == numbers
        assert len(tuner.history(kinds=["amend"])) == (verb == "correct")  # it is in effect
    elif verb == "pause":
        assert tuner.status().mode == ("tuning" if undone else "paused")
    else:
        gentle = tuner.recorded_spec().knobs[2].stability.max_step
        assert gentle == (0.2 if undone else 0.1)


def test_two_at_the_same_time_have_one_effect(journal_url: str) -> None:
    with running(journal_url) as one, running(journal_url) as two:
        one.begin()
        token = one.token("admin")
        for n in range(8):
            headers = {"authorization": f"Bearer {token}", "idempotency-key": f"k{n}"}
            heard: list[str] = []

            def send(served: Running, headers: dict[str, str], heard: list[str]) -> None:
                body = {"client_id": f"c{headers['idempotency-key']}"}
                answer = served.http.post("/api/v1/tuners/shop/ask", json=body, headers=headers)
                heard.append(answer.text)

            threads = [
                threading.Thread(target=send, args=(each, headers, heard))
                for each in (one, two, one, two)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(set(heard)) == 1, heard
        assert kinds(one, "shop", "ask") == 8


def test_old_answers_are_forgotten(journal_url: str) -> None:
    with running(journal_url, answers=0.0) as served:
        served.begin()
        for n in range(3):
            served.post("/api/v1/tuners/shop/pause", {}, headers={"idempotency-key": f"k{n}"})
        served.service.tables.query("SELECT 1")
        served.service._forgotten = 0
        served.service.forget_old_answers()
        assert served.service.tables.query("SELECT count(*) FROM trimtab_answers") == [(0,)]
