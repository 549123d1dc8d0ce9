"""All of it real: service, Redis, Prometheus, `trimtab run`, a change of workload, an alarm."""

from __future__ import annotations

import copy
import csv
import json
import time
from typing import TYPE_CHECKING

import cache_service
import pytest
import redis
from stack import SECRET, Stack, until

from tests.serve.services import running
from tests.serve.test_page import logged_in
from trimtab.errors import TrimtabError
from trimtab.live import Spec
from trimtab.live.replay import replay
from trimtab.live.store.opening import open_journal
from trimtab.live.tuner import Tuner
from trimtab.run.signing import verify

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RUN = cache_service.SPEC.with_name("run.toml")
CALM = 32  # rounds before the workload changes
TIMED = ("latency_mean", "db_time")  # objectives that depend on what else the machine does


def still() -> Spec:
    """The spec of the example, with windows of a second and moves that are too dear to be made.

    So the state stays until a person orders another one. What takes time is watched and is no
    objective: the test shares its machine, and other tests must not ring the alarm, nor hide it.
    """
    plain = copy.deepcopy(Spec.read(RUN).to_dict())
    plain["source"] |= {"window": "1s", "patience": "5s"}
    for knob in plain["knobs"].values():
        knob["stability"]["move_cost"] = 1e6
    plain["knobs"]["ttl"]["start"] = 200.0  # entries live long, so that changes show
    plain["knobs"]["early_refresh"]["start"] = 0.0
    plain["constraints"][0]["rule"] = "latency_p95 <= 50 * baseline"  # the machine is shared
    plain["metrics"] |= {name: plain["objectives"].pop(name)["unit"] for name in TIMED}
    plain["objectives"]["stale_reads"]["knobs"] = list(plain["knobs"])
    return Spec.from_dict(plain)


@pytest.mark.slow
@pytest.mark.needs("chromium", "postgresql", "redis", "prometheus")
def test_a_change_of_workload_reaches_the_webhook_and_the_page_and_an_order_the_service(
    chromium: Browser,
) -> None:
    small = ("--rows", "300", "--requests", "60", "--seed", "1")
    with Stack(still(), options=small) as stack:
        knobs = redis.Redis.from_url(stack.redis, decode_responses=True)
        with stack.loop():
            spec = Spec.read(stack.folder / "spec.json.toml")

            def tells() -> int:
                try:
                    with open_journal(stack.storage, read_only=True) as journal:
                        return sum(each.kind == "tell" for each in journal.events(spec.name))
                except TrimtabError:  # it is not there yet, or just being made
                    return 0

            def alarms() -> list[tuple[dict[str, str], bytes]]:
                return [each for each in stack.got if json.loads(each[1])["event"] == "alarm"]

            until(lambda: tells() >= CALM, seconds=150, why=f"{CALM} rounds")
            before = len(alarms())
            with (
                running(stack.storage, real_time=True, poll=0.2) as served,
                logged_in(chromium, served, "viewer") as seen,
            ):
                seen.page.get_by_role("link", name=spec.name).click()
                seen.page.get_by_text("live", exact=True).wait_for()
                knobs.set("workload", "busy")
                until(lambda: len(alarms()) > before, seconds=90, why="an alarm at the receiver")
                seen.page.locator(".facts li", has_text="alarm").wait_for(timeout=30_000)
            with open_journal(stack.storage) as journal:
                Tuner.existing(spec.name, journal).override({"ttl": 100.0})
            until(
                lambda: knobs.hget("cache-service", "ttl") == "100.0",
                seconds=30,
                why="the order in Redis",
            )
        held = {name: float(x) for name, x in knobs.hgetall("cache-service").items()}
        knobs.close()
        headers, body = alarms()[-1]
        assert json.loads(body)["text"] == "the system seems to have changed"
        assert verify(body, headers["x-trimtab-signature"], SECRET, now=int(time.time()))
        with open_journal(stack.storage) as journal:
            tuner = Tuner.existing(spec.name, journal)
            assert tuner.status().values == pytest.approx(held)  # the journal knows the system
            assert replay(journal, spec.name).same
            rows = tuner.history(kinds=["applied", "notice", "delivered"])
            assert [row.kind for row in rows][:1] == ["applied"]
            assert {row.kind for row in rows} == {"applied", "notice", "delivered"}
            measured = [row.told for row in tuner.history(kinds=["tell"]) if row.told]
        assert SECRET not in stack.log
        assert "notice" in stack.log
        with stack.windows.open(newline="") as file:
            windows = list(csv.DictReader(file))
        # What was told is what the service measured, by way of Prometheus.
        for name in ("stale_reads", "memory"):
            true = [float(row[name]) for row in windows]
            told = [mean for mean, _, _ in (each[name] or (0.0, None, 1) for each in measured)]
            assert min(true) <= min(told) <= max(told) <= max(true)
