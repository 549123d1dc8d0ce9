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
            """[...document.querySelectorAll('img, svg, canvas, [role=img]')]
            .filter(e => !(e.getAttribute('alt') || e.getAttribute('aria-label') || '').trim())
            .map(e => e.outerHTML.slice(0, 80))"""
        )
        return found


@contextmanager
def visit(
    browser: Browser, path: Path, *, size: tuple[int, int], **options: Any
) -> Iterator[Visit]:
    """A file opened in a window of its own, with nothing remembered from others."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
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
