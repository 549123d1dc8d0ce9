"""The report in a real browser: from disk, on a phone, on a desk, on paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import DESK, PHONE, visit
from tests.paper.small_reproduction import small_results
from trimtab.paper.reproduce import write

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(small_results(), out=tmp_path_factory.mktemp("reproduction"), seed=0)


@pytest.mark.parametrize("size", [PHONE, DESK])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_report_opens_from_disk(
    chromium: Browser, report: Path, size: tuple[int, int], scheme: str
) -> None:
    with visit(chromium, report, size=size, color_scheme=scheme) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert seen.page.locator("h2").count() == 3
        assert seen.fetched == []
        assert seen.complaints == []
        assert seen.overflow() == 0
        assert seen.without_words() == []
        assert seen.faults() == []
        images = seen.page.locator("img")
        assert images.count() == 3
        for k in range(3):  # decoded, not merely there
            assert images.nth(k).evaluate("e => e.complete && e.naturalWidth > 0")


def test_report_works_without_scripts(chromium: Browser, report: Path) -> None:
    with visit(chromium, report, size=PHONE, java_script_enabled=False) as seen:
        assert seen.page.get_by_role("heading", name="Summary").is_visible()
        assert seen.page.locator("img").first.is_visible()


def test_wide_tables_scroll_by_themselves_on_a_phone(chromium: Browser, report: Path) -> None:
    with visit(chromium, report, size=PHONE) as seen:
        scrolls = seen.page.evaluate(
            "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
            ".length"
        )
        assert scrolls > 0
        text = seen.page.evaluate(
            "Math.min(...[...document.querySelectorAll('p, li, td, th, figcaption')]"
            ".map(e => parseFloat(getComputedStyle(e).fontSize)))"
        )
        assert text >= 13.5


def test_phones_get_the_narrow_picture(chromium: Browser, report: Path) -> None:
    shapes = {}
    for size in (PHONE, DESK):
        with visit(chromium, report, size=size) as seen:
            shapes[size] = seen.page.locator("img").first.evaluate(
                "e => e.getBoundingClientRect().width / e.getBoundingClientRect().height"
            )
    assert shapes[PHONE] < 0.5 < 1.2 < shapes[DESK]


def test_contents_lead_to_every_section(chromium: Browser, report: Path) -> None:
    with visit(chromium, report, size=DESK) as seen:
        links = seen.page.locator("nav a")
        assert links.count() == 3
        for k in range(3):
            target = links.nth(k).get_attribute("href")
            assert target is not None
            assert seen.page.locator(f"section{target}").count() == 1


def test_report_prints(chromium: Browser, report: Path) -> None:
    with visit(chromium, report, size=DESK, color_scheme="dark") as seen:
        assert seen.page.pdf(format="A4").startswith(b"%PDF")
        seen.page.emulate_media(media="print")
        colours = seen.page.evaluate(
            "[getComputedStyle(document.body).color, getComputedStyle(document.body)"
            ".backgroundColor]"
        )
        assert colours == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]  # also from a dark screen
        seen.page.set_viewport_size({"width": 680, "height": 1000})  # A4 within its margins
        assert seen.overflow() == 0
