"""Pictures of plotly figures, taken in Chromium: what the README and the notebooks show."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trimtab.plot import page

STYLE = "<style>body,figure{margin:0;background:#fff}</style>"


def photographs(figures: Sequence[Any], *, width: int, scale: float = 1) -> list[bytes]:
    """Each figure as PNG, on white, `width` pixels wide times the scale."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("there is no Chromium on the PATH; on Debian: apt install chromium")
    body = "".join(page.drawing(figure) for figure in figures)
    text = f"<!doctype html>{STYLE}<body>{body}{page.scripts(body)}"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        source = Path(folder) / "figures.html"
        source.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": width, "height": 600}, device_scale_factor=scale)
        view.goto(source.as_uri())
        view.wait_for_selector("html[data-drawn=yes]", state="attached")
        taken = [place.screenshot() for place in view.locator(".drawn").all()]
        browser.close()
    return taken
