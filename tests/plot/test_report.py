"""The report of a journal: its numbers, and the page in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import trimtab as tt
from tests.browser import DESK, visit
from tests.plot.runs import tuner
from trimtab.cli import app
from trimtab.plot import theme
from trimtab.plot.report import report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

needs_chromium = pytest.mark.needs("chromium")
SECTIONS = ["now", "timeline", "worth", "moves", "known", "health"]
NARROW = (390, 844)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report, written by the command, of a tuner whose name and unit try to be markup."""
    from trimtab.live.spec.spec import example

    folder = tmp_path_factory.mktemp("report")
    text = example().replace("sqlite:///search.db", f"sqlite:///{folder / 'search.db'}")
    spec = folder / "search.toml"
    spec.write_text(text.replace('"documents"', '"</script><b>x"'), encoding="utf-8")
    with tuner(folder):
        pass
    out = folder / "report.html"
    result = CliRunner().invoke(app, ["report", str(spec), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert result.output == f"Report: {out}\n"
    return out


def test_what_it_says(tmp_path: Path) -> None:
    with tuner(tmp_path) as live:
        text, status, table = report(live), live.status(), tt.plot.rounds(live)
    assert f"{status.rounds} rounds" in text
    for name, value in status.values.items():
        assert f'<th scope="row">{name}</th><td class="n">{value:.4g}</td>' in text
    moves = int(table.moved.sum())
    assert text.count("<tr><th") >= moves
    assert ">person</td>" in text
    assert "ada" in text  # who ordered it
    assert "1 rounds without a full measurement" in text
    assert "events 1 to" in text


def test_before_anything_happened(tmp_path: Path) -> None:
    with tuner(tmp_path, rounds=0) as live:
        text = report(live)
    assert "No decision has been made yet." in text
    assert "drawn" not in text.partition("<main>")[2].partition("</main>")[0]


def test_names_cannot_end_the_script(made: Path) -> None:
    text = made.read_text(encoding="utf-8")
    assert "</script><b>x" not in text
    assert "&lt;/script&gt;&lt;b&gt;x" in text


def test_a_report_that_could_not_be_written_reads_nothing(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", "no.toml", "--out", str(tmp_path / "no" / "x")])
    assert "there is no folder" in str(result.exception)


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize("size", [NARROW, DESK])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_from_disk(
    chromium: Browser, made: Path, size: tuple[int, int], scheme: str
) -> None:
    with visit(chromium, made, size=size, color_scheme=scheme) as seen:
        assert seen.drawn() == 6
        assert seen.page.locator("section").evaluate_all("all => all.map(e => e.id)") == SECTIONS
        assert seen.fetched == []
        assert seen.complaints == []
        assert seen.overflow() == 0
        assert seen.without_words() == []
        assert seen.faults() == []


@needs_chromium
@pytest.mark.slow
def test_figures_answer_the_pointer_and_zoom(chromium: Browser, made: Path) -> None:
    with visit(chromium, made, size=DESK) as seen:
        seen.drawn()
        plot = seen.page.locator("#timeline .drawn").first
        plot.scroll_into_view_if_needed()
        box = plot.locator(".nsewdrag").first.bounding_box()
        assert box is not None
        seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        hover = plot.locator(".hoverlayer .hovertext")
        hover.first.wait_for()
        assert "round" in (hover.first.text_content() or "")
        before = plot.evaluate("e => e.layout.xaxis.range")
        seen.page.mouse.down()
        seen.page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2, steps=5)
        seen.page.mouse.up()
        seen.page.wait_for_timeout(300)
        after = plot.evaluate("e => e.layout.xaxis.range")
        assert after[1] - after[0] < 0.6 * (before[1] - before[0])


@needs_chromium
@pytest.mark.slow
def test_figures_follow_the_screen_and_the_paper(chromium: Browser, made: Path) -> None:
    colour = "document.querySelector('.drawn').layout.font.color"
    with visit(chromium, made, size=DESK, color_scheme="light") as seen:
        seen.drawn()
        assert seen.page.evaluate(colour) == theme.INK
        seen.page.emulate_media(color_scheme="dark")
        seen.page.wait_for_function(f"{colour} === '{theme.DARK[theme.INK]}'")
        seen.page.emulate_media(media="print")
        seen.page.wait_for_function(f"{colour} === '{theme.INK}'")
        seen.page.set_viewport_size({"width": 680, "height": 1000})  # A4 within its margins
        assert seen.overflow() == 0
        assert seen.page.pdf(format="A4").startswith(b"%PDF")


def test_a_page_is_light(made: Path) -> None:
    assert made.stat().st_size < 2.2e6  # plotly's script alone has 4.8 MB before it is packed


@needs_chromium
@pytest.mark.slow
def test_a_browser_that_cannot_unpack_shows_words(chromium: Browser, made: Path) -> None:
    with visit(chromium, made, size=NARROW, init="delete window.DecompressionStream") as seen:
        seen.page.wait_for_selector("html[data-drawn=no]", state="attached")
        shown = seen.page.locator("#worth .drawn").first
        assert "Loss saved against staying put." in shown.inner_text()


@needs_chromium
@pytest.mark.slow
def test_without_scripts_words_stand_in(chromium: Browser, made: Path) -> None:
    with visit(chromium, made, size=NARROW, java_script_enabled=False) as seen:
        words = seen.page.locator("#worth noscript").first.text_content() or ""
        assert "Loss saved against staying put." in words
        assert seen.page.get_by_role("heading", name="Health").is_visible()
