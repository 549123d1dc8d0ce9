"""The documentation's site: built strictly and offline, with every public name, fit for a phone."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import trimtab as tt
from tests.browser import DESK, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
NARROW = (390, 844)
PLOTLY = "application/vnd.plotly.v1+json"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; a proxy that nobody listens at stands for the absence of a network."""
    out = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(out),
    ]
    child = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "NO_MKDOCS_2_WARNING": "1",
            "http_proxy": "http://127.0.0.1:9",
            "https_proxy": "http://127.0.0.1:9",
        },
        check=False,
    )
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")
    return out


def test_every_public_name_has_its_place(site: Path) -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in site.rglob("api/*.html"))
    modules = {"bases", "plot", "theory", "worlds"}
    missing = [name for name in tt.__all__ if name not in modules and f'.{name}"' not in pages]
    assert missing == []
    for name in modules:
        assert (site / "reference" / "api" / f"{name}.html").is_file()


def test_what_is_generated(site: Path) -> None:
    commands = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    assert "trimtab storage check" in commands
    schemas = (site / "reference" / "schemas.html").read_text(encoding="utf-8")
    assert "max_step" in schemas
    for command in ("ask", "doctor", "explain", "history", "status"):
        assert f"trimtab {command} --json" in schemas
    for path in NOTEBOOKS:
        assert (site / "notebooks" / f"{path.stem}.html").is_file()


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["index", "live", "reference/cli", "reference/api/problems", "notebooks/first-steps"]
)
def test_pages_in_a_browser(chromium: Browser, site: Path, name: str, scheme: str) -> None:
    size = NARROW if scheme == "light" else DESK
    with visit(chromium, site / f"{name}.html", size=size, color_scheme=scheme) as seen:
        assert seen.fetched == []
        assert seen.overflow() == 0
        assert seen.faults() == []
        assert seen.page.locator("img:not([alt])").count() == 0


@pytest.mark.needs("chromium")
def test_search_works_from_disk(chromium: Browser, site: Path) -> None:
    with visit(chromium, site / "reference" / "cli.html", size=DESK) as seen:
        seen.page.get_by_placeholder("Search").click()
        seen.page.keyboard.type("guardrail")
        guards = seen.page.locator('.md-search-result__link[href$="#guards"]')
        guards.wait_for()
        guards.click()
        seen.page.wait_for_url("**/tuner.html?h=guardrail#guards")
        seen.page.locator("mark", has_text="guardrail").first.wait_for()
        assert seen.fetched == []
        assert seen.complaints == []


def kinds(cell: Any) -> list[set[str]]:
    """What a cell shows, output by output; a picture stands for a figure, its words for text.

    Bars of progress, which a slow machine shows, are displayed and are no figures.
    """
    found = []
    for output in cell.get("outputs", ()):
        data = {*output.get("data", {})} or {"text/plain"}
        if {PLOTLY, "image/png"} & data:
            found.append({"image/png", "text/plain"})
        elif output.output_type != "display_data" and output.get("name") != "stderr":
            found.append(data)
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_show_what_is_stored(path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    stored: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    text = "\0".join(cell.source for cell in code)
    renew = "make notebooks"
    assert stored.metadata["executed"]["code"] == sha256(text.encode()).hexdigest(), renew
    assert path.stat().st_size < 300e3  # light enough to be kept
    pictures = [o for cell in code for o in cell.outputs if "image/png" in o.get("data", {})]
    assert pictures
    assert all(len(o.data["text/plain"]) > 40 for o in pictures)  # words for those who do not see
    fresh = copy.deepcopy(stored)
    NotebookClient(fresh, timeout=120, kernel_name="python3").execute()
    shown = [kinds(cell) for cell in fresh.cells if cell.cell_type == "code"]
    assert [kinds(cell) for cell in code] == shown, renew


def test_there_are_four_notebooks() -> None:
    assert len(NOTEBOOKS) == 4
