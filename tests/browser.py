"""Pages in a real browser: Debian's Chromium, opened from disk.

`tests/conftest.py` imports the fixture `chromium`; tests that take it are marked
`@pytest.mark.needs("chromium")`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import system_packages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE, DESK = (360, 740), (1280, 900)
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser; while it is open this thread can run no other event loop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=system_packages.chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@dataclass
class Visit:
    """An open page, and what it did on its own."""

    page: Page
    fetched: list[str] = field(default_factory=list)  # addresses other than file: and data:
    complaints: list[str] = field(default_factory=list)  # of the console, warnings included

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        return int(
            self.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )

    def without_words(self) -> list[str]:
        """Pictures that say nothing to those who do not see them."""
        found: list[str] = self.page.evaluate(
            """[...document.querySelectorAll('img, svg, canvas, [role=img], .drawn')]
            .filter(e => e.getAttribute('aria-hidden') !== 'true')
            .filter(e => !(e.getAttribute('alt') || e.getAttribute('aria-label') || '').trim())
            .map(e => e.outerHTML.slice(0, 80))"""
        )
        return found

    def faults(self) -> list[str]:
        """What axe-core finds serious for those who read with other means than eyes and mouse."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {node['html'][:120]}"
            for each in found
            if each["impact"] in SERIOUS
            for node in each["nodes"]
        ]

    def drawn(self) -> int:
        """The figures of the page, once all are drawn."""
        self.page.wait_for_selector("html[data-drawn=yes]", state="attached")
        return int(self.page.locator(".drawn .main-svg").count() > 0) and int(
            self.page.locator(".drawn").count()
        )


@contextmanager
def visit(
    browser: Browser, path: Path, *, size: tuple[int, int], init: str = "", **options: Any
) -> Iterator[Visit]:
    """A file opened in a window of its own, with nothing remembered from others.

    `init` is a script that runs before those of the page.
    """
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
    context.add_init_script(init)
    page = context.new_page()
    seen = Visit(page)
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:")) else seen.fetched.append(request.url)
        ),
    )
    page.on(
        "console",
        lambda message: (
            seen.complaints.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.goto(path.resolve().as_uri(), wait_until="load")
    yield seen
    context.close()
