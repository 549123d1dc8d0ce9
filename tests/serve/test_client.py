"""The client: the same verbs, answers and errors as a tuner of one's own."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import trimtab as tt
from tests.serve.services import Running, running, world
from trimtab.live.store.faults import Unavailable
from trimtab.serve.client import Forbidden


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "a.db")) as found:
        found.begin()
        yield found


def client(served: Running, role: str = "operator", **options: Any) -> tt.Client:
    url = str(served.http.base_url)
    return tt.Client(url, tuner="shop", token=served.token(role), **options)


def test_it_has_every_verb_of_a_tuner() -> None:
    # How it is made; GET .../spec; the page; what the service does itself.
    own = {"existing", "recorded_spec", "plot", "beside", "amend"}
    verbs = {
        name: value
        for name, value in vars(tt.Tuner).items()
        if not name.startswith("_") and callable(value) and name not in own
    }
    for name, verb in verbs.items():
        ours = inspect.signature(getattr(tt.Client, name)).parameters
        theirs = inspect.signature(verb).parameters
        assert [*ours] == [each for each in theirs if each != "actor"], name


def test_answers_are_those_of_the_tuner(served: Running) -> None:
    tuner = served.service.tuners.get("shop")
    with client(served) as remote:
        for _ in range(12):
            decision = remote.ask("web")
            assert decision == tuner.ask("web")
            served.clock.wait(minutes=30)
            told = world(decision.values, np.random.default_rng(decision.round))
            remote.tell(decision.id, told | {"latency": (told["latency"], 2.0)}, count=2)
        assert remote.tell(decision.id, told, count=2, correct=True).events
        assert remote.status() == tuner.status()
        assert remote.history() == tuner.history()
        assert remote.history(limit=3, newest=True) == tuner.history(limit=3, newest=True)
        assert remote.history(kinds=["tell"], limit=5) == tuner.history(kinds=["tell"], limit=5)
        assert remote.explain("last").to_dict() == tuner.explain("last").to_dict()
        assert remote.pause("a test").mode == "paused"
        assert remote.resume().mode == "tuning"


def test_errors_are_those_of_the_tuner(served: Running) -> None:
    with client(served) as remote:
        with pytest.raises(tt.InvalidInput, match="'mux' is no knob; did you mean 'mix'"):
            remote.attach({"mux": 1})
        with pytest.raises(tt.NotFound, match="shop-99"):
            remote.explain("shop-99")
        with pytest.raises(tt.Conflict, match="no good state"):
            remote.rollback()
    with client(served, "viewer") as remote, pytest.raises(Forbidden, match="no right to act"):
        remote.pause()


def test_a_request_without_an_answer_is_sent_again(served: Running) -> None:
    class Flaky(httpx.HTTPTransport):
        sent = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            Flaky.sent += 1
            answer = super().handle_request(request)
            if Flaky.sent % 2:  # done, but nobody hears of it
                answer.close()
                raise httpx.ReadError("the line is dead")
            return answer

    with client(served, transport=Flaky()) as remote:
        decision = remote.ask()
        assert remote.tell(decision.id, {"latency": 100.0}).repeated  # it was told the first time
        assert remote.pause("once").why == "once"
        assert Flaky.sent == 6
        assert [row.kind for row in remote.history()] == ["begin", "decide", "tell", "pause"]


def test_in_the_end_it_gives_up() -> None:
    with (
        tt.Client("http://127.0.0.1:9", tuner="shop", token="x", tries=2) as remote,
        pytest.raises(Unavailable, match="gives no answer"),
    ):
        remote.ask()
