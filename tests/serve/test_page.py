"""The page in a real browser: an operator sees, orders and approves; a viewer cannot hurt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.browser import DESK, PHONE, Visit
from tests.serve.services import Running, running, spec_with, world
from trimtab.serve.page.figures import Figures

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AT = "/api/v1/tuners/shop"
LEARNS = {"policy": {"kind": "SteadyGraphLinUCB"}}
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
pytestmark = [pytest.mark.needs("chromium"), pytest.mark.slow]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "a.db"), poll=0.05) as found:
        found.begin(spec_with(**LEARNS))
        yield found


def play(
    served: Running,
    rounds: int,
    *,
    tuner: str = "shop",
    until: Callable[[dict[str, Any]], bool] = lambda decision: False,
    shift: float = 0.0,
) -> dict[str, Any]:
    """Rounds as a program plays them, until a decision is as wanted."""
    for _ in range(rounds):
        decision: dict[str, Any] = served.post(f"/api/v1/tuners/{tuner}/ask", {}, "client").json()
        if until(decision):
            return decision
        served.clock.wait(minutes=30)
        metrics = world(decision["values"], np.random.default_rng(decision["round"]))
        metrics["latency"] += shift
        body = {"decision_id": decision["id"], "metrics": metrics}
        served.post(f"/api/v1/tuners/{tuner}/tell", body, "client")
    return decision


def settle(served: Running, rounds: int) -> None:
    """The same, quicker: by the tuner itself."""
    tuner = served.service.tuners.get("shop")
    for _ in range(rounds):
        decision = tuner.ask(actor="client")
        served.clock.wait(minutes=30)
        metrics = world(decision.values, np.random.default_rng(decision.round))
        tuner.tell(decision.id, metrics, actor="client")


@contextmanager
def logged_in(
    browser: Browser, served: Running, role: str, size: tuple[int, int] = DESK, **options: Any
) -> Iterator[Visit]:
    """A browser of its own, on the overview."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
    page = context.new_page()
    seen = Visit(page)
    base = str(served.http.base_url)
    page.on(
        "request",
        lambda request: (
            seen.fetched.append(request.url)
            if not request.url.startswith((base, "data:", "blob:"))
            else None
        ),
    )
    page.on(
        "console",
        lambda message: (
            seen.complaints.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.goto(base)
    assert page.url.endswith("/login")
    page.get_by_label("Token").fill(served.token(role))
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/$"))
    yield seen
    context.close()


def order(page: Page, name: str, why: str, **fields: str) -> None:
    """Press a button, say why, confirm; with the keyboard only."""
    page.get_by_role("button", name=name, exact=True).first.focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog[open]")
    for knob, value in fields.items():
        dialog.locator(f"[data-knob={knob}]").fill(value)
    dialog.get_by_label("Reason").fill(why)
    page.keyboard.press("Enter")
    dialog.wait_for(state="hidden")


def test_an_operator_sees_and_orders_without_a_reload(chromium: Browser, served: Running) -> None:
    served.begin(spec_with(name="careful", mode="approve", **LEARNS))
    with logged_in(chromium, served, "operator") as seen:
        page = seen.page
        page.get_by_role("link", name="shop").click()
        page.get_by_text("live", exact=True).wait_for()
        page.evaluate("window.stayed = true")

        # A move, its reason and its effect.
        moved = play(served, 60, until=lambda decision: bool(decision["changed"]))
        assert moved["changed"]
        row = page.locator(f".history tr.moved:has-text('{moved['changed'][0]}')").first
        row.wait_for()
        page.locator("[data-live=why]", has_text=moved["id"]).wait_for()
        play(served, 1)
        page.locator("[data-live=history]", has_text="latency").first.wait_for()

        # Orders, each with its reason, by name.
        order(page, "Pause", "a load test")
        page.locator(".mode", has_text="paused: a load test").wait_for()
        page.locator(".history tr", has_text="pause: a load test").locator(
            "text=operator"
        ).wait_for()
        order(page, "Resume", "it is over")
        page.locator(".mode", has_text="tuning").wait_for()
        order(page, "Override", "a sale", mix="0.4")
        page.locator(".mode", has_text="held by hand").wait_for()
        play(served, 3)
        order(page, "Roll back", "worse than before")
        page.locator(".mode", has_text=re.compile("rolling back|paused")).wait_for()
        page.locator(".history tr", has_text="(worse than before)").wait_for()

        # What is refused says why, and stays open.
        page.get_by_role("button", name="Override").click()
        dialog = page.locator("dialog[open]")
        dialog.locator("[data-knob=mix]").evaluate("field => { field.max = ''; field.value = 7 }")
        dialog.get_by_label("Reason").fill("too far")
        dialog.get_by_role("button", name="Override").click()
        dialog.get_by_role("alert").filter(has_text="mix").wait_for()
        page.keyboard.press("Escape")
        assert page.evaluate("window.stayed") is True

        # A proposal.
        page.get_by_role("link", name="trimtab").click()
        page.get_by_role("link", name="careful").click()
        page.get_by_text("live", exact=True).wait_for()
        page.evaluate("window.stayed = true")
        play(served, 60, tuner="careful", until=lambda decision: decision["proposal"] is not None)
        page.locator(".proposal").wait_for()
        order(page, "Approve", "looks right")
        page.locator(".history tr", has_text="(looks right)").wait_for()
        assert play(served, 1, tuner="careful", until=lambda each: True)["changed"]
        page.locator(".history tr.moved").first.wait_for()
        assert page.evaluate("window.stayed") is True
        complaints = [text for text in seen.complaints if "422" not in text]
        assert (seen.fetched, complaints) == ([], [])
    rows = served.service.tuners.get("shop").history(kinds=["pause", "override", "rollback"])
    assert {row.actor for row in rows} == {"operator"}


def test_an_alarm_is_seen(chromium: Browser, served: Running) -> None:
    settle(served, 150)  # until it has found its place
    tuner = served.service.tuners.get("shop")
    with logged_in(chromium, served, "viewer") as seen:
        seen.page.get_by_role("link", name="shop").click()
        seen.page.get_by_text("live", exact=True).wait_for()
        for _ in range(120):  # one by one: the page shows the last look
            play(served, 1, shift=150.0)
            rows = served.service.tuners.get("shop").history(newest=True, limit=2)
            if any(row.look and row.look.get("cause") == "alarm" for row in rows):
                break
        changed = seen.page.get_by_text("the system seems to have changed").first
        changed.wait_for()
        seen.page.locator(".facts li", has_text="alarm").wait_for()
        seen.page.locator(".facts li", has_text=str(tuner.status().helping)[:20]).wait_for()


def test_a_viewer_cannot_hurt_a_tuner(chromium: Browser, served: Running) -> None:
    play(served, 2)
    with logged_in(chromium, served, "viewer") as seen:
        page = seen.page
        page.goto(f"{served.http.base_url}/tuners/shop")
        page.get_by_text("live", exact=True).wait_for()
        assert page.locator("[data-open], dialog").count() == 0
        script = """async (csrf) => (await fetch('/api/v1/tuners/shop/pause', {method: 'POST',
            headers: {'content-type': 'application/json', 'x-csrf-token': csrf},
            body: '{}'})).status"""
        csrf = page.locator("#main").get_attribute("data-csrf")
        assert page.evaluate(script, csrf) == 403
        assert page.evaluate(script, "wrong") == 403
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url(re.compile("/login$"))
        page.goto(f"{served.http.base_url}/tuners/shop")
        assert page.url.endswith("/login")
    assert served.send("viewer", "GET", AT).json()["mode"] == "tuning"


def test_figures_are_not_older_than_twenty_seconds(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    spent = iter(range(0, 10_000, 100))  # making them takes 100 s of CPU
    clocks = SimpleNamespace(monotonic=lambda: now[0], thread_time=lambda: next(spent))
    monkeypatch.setattr("trimtab.serve.page.figures.time", clocks)
    tuner, figures = served.service.tuners.get("shop"), Figures()
    first = figures.sections(tuner)
    settle(served, 1)
    for later, fresh in ((19.0, False), (21.0, True)):
        now[0] = 1000.0 + later
        assert (figures.sections(tuner) is not first) == fresh


def test_a_session_needs_its_own_page_to_act(served: Running) -> None:
    body = f"token={served.token('operator')}"
    form = {"content-type": "application/x-www-form-urlencoded"}
    answer = served.http.post("/login", content=body, headers=form)
    cookie = answer.headers["set-cookie"]
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict"))
    jar = {"cookie": cookie.partition(";")[0]}
    assert served.http.post(f"{AT}/pause", json={}, headers=jar).status_code == 403
    page = served.http.get("/tuners/shop", headers=jar)
    found = re.search(r'data-csrf="(\w+)"', page.text)
    assert found is not None
    own = jar | {"x-csrf-token": found[1]}
    elsewhere = own | {"origin": "http://evil.example"}
    assert served.http.post(f"{AT}/pause", json={}, headers=elsewhere).status_code == 403
    assert served.http.post(f"{AT}/pause", json={}, headers=own).status_code == 200
    served.service.tokens.revoke("operator")
    assert served.http.get("/tuners/shop", headers=jar).status_code == 303
    wrong = served.http.post("/login", content="token=trimtab_no", headers=form)
    assert (wrong.status_code, "not valid" in wrong.text) == (401, True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESK])
def test_it_fits_every_screen(
    chromium: Browser, served: Running, tmp_path: Path, size: tuple[int, int], scheme: Any
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    settle(served, 45)
    served.post(f"{AT}/pause", {"why": "a release"}, "operator")
    with logged_in(chromium, served, "operator", size, color_scheme=scheme) as seen:
        page = seen.page
        for path in ("", "tuners/shop"):
            page.goto(f"{served.http.base_url}/{path}")
            page.get_by_text("live", exact=True).wait_for()
            if path:
                page.wait_for_selector("html[data-drawn=yes]")
            assert seen.overflow() <= 0
            assert page.locator(".drawn svg").count() > 0 or not path
            unnamed = page.evaluate(
                """[...document.querySelectorAll('button, input, a')].filter(e =>
                !(e.textContent + (e.ariaLabel ?? '') + (e.labels?.[0]?.textContent ?? '')).trim())
                .map(e => e.outerHTML)"""
            )
            assert unnamed == []
            found = Axe().run(page).response["violations"]
            grave = [each for each in found if each["impact"] in ("serious", "critical")]
            assert [(each["id"], each["nodes"][0]["html"]) for each in grave] == []
            name = path.replace("/", "-") or "overview"
            page.screenshot(path=tmp_path / f"{name}-{scheme}-{size[0]}.png", full_page=True)
        page.get_by_role("button", name="Override").click()
        assert seen.overflow() <= 0
        page.screenshot(path=tmp_path / f"dialog-{scheme}-{size[0]}.png")
        assert (seen.fetched, seen.complaints) == ([], [])


def test_no_name_is_taken_for_html(chromium: Browser, served: Running) -> None:
    plain = spec_with().to_dict()
    plain["knobs"]["ttl"]["unit"] = "<script>x</script>"
    plain["name"] = "hostile"
    served.begin(type(spec_with()).from_dict(plain))
    served.service.tokens.add(HOSTILE, "operator", by=HOSTILE)
    tuner = served.service.tuners.get("hostile")
    for _ in range(3):
        decision = tuner.ask(HOSTILE[:100], actor=HOSTILE)
        tuner.tell(decision.id, {"latency": 100.0, "sales": 3.0, "errors": 1, "load": 20})
    tuner.override({"mix": 0.4}, why=HOSTILE, actor=HOSTILE)
    tuner.pause(HOSTILE, actor=HOSTILE)
    with logged_in(chromium, served, "operator") as seen:
        page = seen.page
        for path in ("", "tuners/hostile"):
            page.goto(f"{served.http.base_url}/{path}")
            page.get_by_text("live", exact=True).wait_for()
            if path:
                page.wait_for_selector("html[data-drawn=yes]")
            assert page.locator("img, main script:not([type='application/json'])").count() == 0
            assert "trimtab" in page.title()
            assert page.get_by_text("<script>").count() > 0 or not path
        assert [text for text in seen.complaints if "Content Security" in text] == []
