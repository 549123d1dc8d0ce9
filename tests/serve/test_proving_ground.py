"""An operator in Chromium on the proving ground: real servers, tuned by workers of the service."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import cache_service
import pytest
import redis
from stack import SECRET, Stack, toml_of, until

from tests.browser import DESK, PHONE
from tests.serve.services import Running, running
from tests.serve.test_page import logged_in, order
from trimtab.live import Spec
from trimtab.live.history import HistoryRow

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

RUN = cache_service.SPEC.with_name("run.toml")
SMALL = ("--rows", "300", "--requests", "60", "--seed", "1")
NAME = "cache-service"
SECONDS = 90_000.0  # milliseconds that the page may take, on a machine with other work
pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("chromium", "postgresql", "redis", "prometheus"),
]


def careful() -> Spec:
    """The spec of the example with windows of a second, approval, and a bound on stale reads.

    Entries live too long at its start, so that there is something to propose.
    """
    plain = copy.deepcopy(Spec.read(RUN).to_dict())
    plain["mode"] = "approve"
    plain["source"] |= {"window": "1s", "patience": "5s"}
    plain["knobs"]["ttl"]["start"] = 200.0
    plain["knobs"]["early_refresh"]["start"] = 0.0
    plain["objectives"]["stale_reads"]["high"] = 50.0
    plain["constraints"] = [{"rule": "stale_reads <= 35", "kind": "guardrail", "patience": 2}]
    return Spec.from_dict(plain)


@pytest.fixture
def stack() -> Iterator[Stack]:
    with Stack(careful(), options=SMALL) as found:
        yield found


@pytest.fixture
def served(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    for name, value in (
        ("PROMETHEUS_URL", stack.url),
        ("REDIS_URL", stack.redis),
        ("WEBHOOK_URL", stack.hook),
        ("WEBHOOK_SECRET", SECRET),
    ):
        monkeypatch.setenv(name, value)
    with running(stack.storage, real_time=True, workers=1, poll=0.2) as found:
        yield found


def test_an_operator_runs_the_cache_service(
    chromium: Browser, stack: Stack, served: Running, tmp_path: Path
) -> None:
    knobs = redis.Redis.from_url(stack.redis, decode_responses=True)

    def ttl() -> float:
        return float(knobs.hget(NAME, "ttl") or 0.0)

    begun = served.post("/api/v1/tuners", {"spec": toml_of(careful())})
    assert begun.status_code == 201, begun.text
    on = served.send("admin", "PUT", f"/api/v1/tuners/{NAME}/loop", json={"on": True})
    assert on.status_code == 200, on.text
    with logged_in(chromium, served, "operator") as seen:
        page = seen.page
        page.set_default_timeout(SECONDS)
        page.get_by_role("link", name=NAME).click()
        page.get_by_text("live", exact=True).wait_for()
        page.evaluate("window.stayed = true")

        # A proposal, its reason; approved, it is a move of the real system, and its effect shows.
        page.locator(".proposal").wait_for()
        approve(page, "stale reads are high")
        page.locator(".history tr.moved").first.wait_for()
        moved = {row.round: row for row in rows(served, "decide") if row.changed}
        assert moved
        until(
            lambda: knobs.hgetall(NAME) != {} and ttl() == values(served)["ttl"],
            seconds=60,
            why="the move in Redis",
        )
        page.locator("[data-live=why]", has_text="told").wait_for()
        page.locator(".facts li").first.wait_for()

        # Orders reach the system.
        order(page, "Pause", "a look at the caches")
        page.locator(".mode", has_text="paused: a look at the caches").wait_for()
        before = ttl()
        order(page, "Override", "as long as we dare", ttl="300")
        until(lambda: ttl() > 1.5 * before, seconds=60, why="the override in Redis")
        longest = ttl()
        order(page, "Roll back", "too stale")
        page.locator(".history tr", has_text="(too stale)").wait_for()
        until(lambda: ttl() < 0.9 * longest, seconds=60, why="the way back in Redis")

        # An alarm: with other work the bound on stale reads is broken, and it is said at once.
        order(page, "Override", "once more", ttl="300")
        until(lambda: ttl() > 250, seconds=60, why="the second override in Redis")
        knobs.set("workload", "busy")
        page.locator(".rules li", has_text="BROKEN").wait_for()
        page.locator(".mode", has_text="broken: stale_reads <= 35").wait_for()
        page.screenshot(path=tmp_path / "alarm.png", full_page=True)
        assert page.evaluate("window.stayed") is True
        complaints = [text for text in seen.complaints if "409" not in text]  # see `approve`
        assert (seen.fetched, complaints) == ([], [])
    for size, scheme in ((PHONE, "light"), (DESK, "dark"), (PHONE, "dark")):
        with logged_in(chromium, served, "viewer", size, color_scheme=scheme) as seen:
            seen.page.goto(f"{served.http.base_url}/tuners/{NAME}")
            seen.page.wait_for_selector("html[data-drawn=yes]")
            assert seen.overflow() <= 0
            seen.page.screenshot(path=tmp_path / f"{scheme}-{size[0]}.png", full_page=True)
    knobs.close()
    ordered = rows(served, "approve", "pause", "override", "rollback")
    assert {row.actor for row in ordered} == {"operator"}
    assert {row.kind for row in ordered} == {"approve", "pause", "override", "rollback"}


def approve(page: Page, why: str) -> None:
    """Approve what is proposed; if a newer look proposes something else, read that first."""
    for _ in range(10):
        page.get_by_role("button", name="Approve", exact=True).first.click()
        dialog = page.locator("dialog[open]")
        dialog.get_by_label("Reason").fill(why)
        page.keyboard.press("Enter")
        page.wait_for_function(
            """() => { const open = document.querySelector('dialog[open]');
            return !open || open.querySelector('[role=alert]').textContent.trim() !== ''; }"""
        )
        if not dialog.is_visible():
            return
        assert "does not wait for approval" in dialog.get_by_role("alert").inner_text()
        dialog.get_by_role("button", name="Cancel").click()
    raise AssertionError("no proposal could be approved")


def rows(served: Running, *kinds: str) -> list[HistoryRow]:
    return served.service.tuners.get(NAME).history(kinds=list(kinds))


def values(served: Running) -> dict[str, float]:
    return dict(served.service.tuners.get(NAME).status().values)
