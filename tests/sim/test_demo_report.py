"""The demo's report: its numbers, and the page in a real browser."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import trimtab as tt
from tests.browser import DESK, PHONE, visit
from trimtab.sim import Trace, svg
from trimtab.sim.demo import MOVE_COST, NOISE
from trimtab.sim.demo_report import SHOWN, bills, reasons, steps, to_html
from trimtab.sim.recommender import CRITERIA, KNOBS, START, recommender
from trimtab.sim.svg import Line
from trimtab.sim.worlds import World

if TYPE_CHECKING:
    from playwright.sync_api import Browser

needs_chromium = pytest.mark.needs("chromium")


@cache
def played() -> tuple[World, dict[str, Trace]]:
    """Two short runs."""
    world = recommender(noise=NOISE, move_cost=MOVE_COST)
    radius = tt.Confidence(sigma=NOISE, norm=world.norms)
    options = {"start": START, "radius": radius, "reg": 0.01}
    kinds = {"LinUCB": tt.LinUCB, "Steady": tt.SteadyGraphLinUCB}
    return world, {
        name: tt.play(kind(world.problem, **options), world, horizon=150)
        for name, kind in kinds.items()
    }


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world, runs = played()
    path = tmp_path_factory.mktemp("demo") / "report.html"
    path.write_text(to_html(world, runs, seed=0), encoding="utf-8")
    return path


def test_bills_add_up() -> None:
    world, runs = played()
    idle, linucb, steady = bills(world, runs)
    assert idle.total == idle.loss == pytest.approx(150 * world.loss(np.array(START)))
    for bill, trace in ((linucb, runs["LinUCB"]), (steady, runs["Steady"])):
        assert bill.total == pytest.approx(trace.loss + MOVE_COST * trace.movement)
        assert bill.loss - bill.regret == pytest.approx(150 * world.optimum.value)


def test_report_tells_the_costs_and_who_won() -> None:
    world, runs = played()
    text = to_html(world, runs, seed=0)
    _, linucb, steady = bills(world, runs)
    assert f"cost LinUCB {linucb.total:,.0f} and Steady {steady.total:,.0f}" in text
    assert steady.total < linucb.total
    assert f"{1 - steady.total / linucb.total:.0%} less: it moved {steady.moves}" in text
    swapped = to_html(world, {"LinUCB": runs["Steady"], "Steady": runs["LinUCB"]}, seed=0)
    assert f"{linucb.total / steady.total - 1:.0%} more: it moved {linucb.moves}" in swapped


def test_report_explains_every_move() -> None:
    world, runs = played()
    text = to_html(world, runs, seed=0)
    moves = [record for record in runs["Steady"].records if not record.held]
    assert len(moves) > 10
    listed = re.findall(r"<strong>After round ([\d,]+):</strong> (.*?)<br>", text)
    assert listed == [(f"{record.round:,}", steps(record)) for record in moves]
    starts = [(1, SHOWN), (SHOWN + 1, len(moves) - 2 * SHOWN), (len(moves) - SHOWN + 1, SHOWN)]
    lists = re.findall(r'<ol start="(\d+)">(.*?)</ol>', text)
    assert [(int(start), items.count("<li>")) for start, items in lists] == starts
    assert f"The {len(moves) - 2 * SHOWN} moves between: {SHOWN + 1} to" in text
    for record in moves:
        assert reasons(record)[1:] in text
        assert len(steps(record).split(", ")) == record.knobs.size


def test_few_moves_are_not_folded() -> None:
    world, runs = played()
    few = tt.play(
        tt.SteadyGraphLinUCB(world.problem, start=START, radius=0.1), world, horizon=2 * SHOWN
    )
    moves = sum(not record.held for record in few.records)
    assert 0 < moves <= 2 * SHOWN + 1
    text = to_html(world, runs | {"Steady": few}, seed=0)
    assert "<details>" not in text
    assert text.count("After round") == moves


def test_reasons_name_the_objectives() -> None:
    _, runs = played()
    records = {record.criteria.size: record for record in runs["Steady"].records}
    several = records[2]
    first, second = (CRITERIA[i][0] for i in several.criteria.tolist())
    assert reasons(several).startswith(f"enough was learned about {first} and {second}; ")
    alone = records[1]
    assert reasons(alone).startswith(f"enough was learned about {CRITERIA[alone.criteria[0]][0]};")


def test_report_says_what_depends_on_what() -> None:
    world, runs = played()
    text = to_html(world, runs, seed=0)
    for name, scope, _ in CRITERIA:
        assert f"{name} reads {', '.join(KNOBS[j] for j in scope)}" in text
    drawn = text[text.index('id="graph"') : text.index('id="moves"')]
    assert drawn.count("<path") == sum(len(scope) for _, scope, _ in CRITERIA)
    turned = np.bincount(runs["Steady"].changed, minlength=6)
    assert [int(n) for n in re.findall(r"turned (\d+) time", drawn)] == turned.tolist()


# Charts.


def points(drawn: str) -> list[str]:
    """The words of the last line of a chart."""
    return re.findall(r"[MHVL][^MHVL]*", re.findall(r' d="([^"]*)"', drawn)[-1])


def test_step_lines_are_level_until_the_next_point() -> None:
    line = Line("main", np.array([0.0, 5.0, 10.0]), np.array([0.0, 1.0, 1.0]), step=True)
    drawn = svg.chart("t", [line], right=20.0, top=1.0, alt="a")
    left, bottom = svg.LEFT, svg.HEIGHT - svg.BOTTOM
    quarter = left + (svg.WIDTH - left - svg.RIGHT) / 4
    end = f"H{svg.WIDTH - svg.RIGHT:g}"
    expected = [f"M{left:.1f} {bottom:.1f}", f"H{quarter:.1f}", f"V{svg.TOP:.1f}", end]
    assert points(drawn) == expected


def test_long_lines_keep_their_extremes() -> None:
    rng = np.random.default_rng(0)
    x, y = np.arange(50_000.0), 0.4 + 0.2 * rng.random(50_000)
    y[31_000], y[31_001] = 1.0, 0.0
    drawn = svg.chart("t", [Line("main", x, y, step=True)], right=50_000.0, top=1.0, alt="a")
    words = points(drawn)
    assert len(words) < 8 * svg.BINS
    assert f"V{svg.TOP:.1f}" in words
    assert f"V{svg.HEIGHT - svg.BOTTOM:.1f}" in words


def test_labels_stand_beside_the_ends_of_their_lines() -> None:
    values = {"high": 90.0, "far": 10.0, "close": 87.0}
    at = np.array([0.0, 1.0])
    lines = [Line("main", at, y * at, label=name) for name, y in values.items()]
    drawn = svg.chart("t", lines, right=1.0, top=100.0, alt="a")
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>(high|far|close)<', drawn)
    middles = {name: float(y) - svg.TEXT / 3 for _, y, name in found}
    up = svg.HEIGHT - svg.TOP - svg.BOTTOM
    ends = {name: svg.TOP + up * (1 - y / 100) for name, y in values.items()}
    assert {float(x) for x, _, _ in found} == {svg.WIDTH - svg.LABELS + 6.0}
    assert [name for _, _, name in found] == ["high", "close", "far"]
    assert middles["far"] == pytest.approx(ends["far"], abs=0.1)
    assert middles["close"] - middles["high"] == pytest.approx(svg.LABEL_GAP, abs=0.11)
    both = (ends["high"] + ends["close"]) / 2  # each as far from its line
    assert (middles["high"] + middles["close"]) / 2 == pytest.approx(both, abs=0.1)


def test_words_of_pictures_are_escaped() -> None:
    line = Line("main", np.array([0.0, 1.0]), np.array([0.0, 1.0]), label="c<d")
    drawn = svg.chart("a<b", [line], right=1.0, top=1.0, alt='"&')
    assert "a&lt;b" in drawn
    assert "c&lt;d" in drawn
    assert 'aria-label="&quot;&amp;"' in drawn


# In a browser.


@needs_chromium
@pytest.mark.parametrize("size", [PHONE, DESK])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_report_opens_from_disk(
    chromium: Browser, report: Path, size: tuple[int, int], scheme: str
) -> None:
    with visit(chromium, report, size=size, color_scheme=scheme) as seen:
        assert seen.page.locator("h2").count() == 4
        assert seen.fetched == []
        assert seen.complaints == []
        assert seen.overflow() == 0
        assert seen.without_words() == []
        assert seen.page.locator("svg[role=img]").count() == 2 + len(KNOBS) + 1


@needs_chromium
@pytest.mark.parametrize(("size", "columns"), [(PHONE, 1), (DESK, 2)])
def test_pictures_fit_and_their_words_can_be_read(
    chromium: Browser, report: Path, size: tuple[int, int], columns: int
) -> None:
    with visit(chromium, report, size=size) as seen:
        lefts = seen.page.evaluate(
            "[...document.querySelectorAll('#knobs svg[role=img]')]"
            ".map(e => Math.round(e.getBoundingClientRect().left))"
        )
        assert len(set(lefts)) == columns
        outside, smallest = seen.page.evaluate(
            """(() => { let outside = 0, smallest = 99;
            for (const svg of document.querySelectorAll('svg[role=img]')) {
              const box = svg.getBoundingClientRect();
              for (const text of svg.querySelectorAll('text')) {
                const t = text.getBoundingClientRect();
                if (t.left < box.left - 1 || t.right > box.right + 1) outside += 1;
                smallest = Math.min(smallest, parseFloat(getComputedStyle(text).fontSize)
                                    * box.width / svg.viewBox.baseVal.width);
              } }
            return [outside, smallest]; })()"""
        )
        assert outside == 0  # no name is cut off
        assert smallest > 10.5  # pixels


@needs_chromium
@pytest.mark.parametrize("width", [360, 390])
def test_the_report_is_short_on_a_phone_and_has_every_move(
    chromium: Browser, report: Path, width: int
) -> None:
    moves = sum(not record.held for record in played()[1]["Steady"].records)
    with visit(chromium, report, size=(width, 740)) as seen:
        assert seen.page.evaluate("document.documentElement.scrollHeight") < 6_000
        listed = seen.page.locator("#moves li")
        assert listed.count() == moves
        assert sum(each.is_visible() for each in listed.all()) == 2 * SHOWN
        seen.page.locator("#moves summary").click()
        assert all(each.is_visible() for each in listed.all())


@needs_chromium
def test_pictures_follow_the_colours_of_the_page(chromium: Browser, report: Path) -> None:
    seen_colours = set()
    for scheme in ("light", "dark"):
        with visit(chromium, report, size=DESK, color_scheme=scheme) as seen:
            line, paper = seen.page.evaluate(
                "[getComputedStyle([...document.querySelectorAll('#cost path')].pop()).stroke, "
                "getComputedStyle(document.body).backgroundColor]"
            )
            assert line != paper
            seen_colours.add(line)
    assert len(seen_colours) == 2


@needs_chromium
def test_report_prints_and_needs_no_scripts(chromium: Browser, report: Path) -> None:
    with visit(chromium, report, size=DESK, java_script_enabled=False) as seen:
        assert seen.page.get_by_role("heading", name="Why Steady moved").is_visible()
        assert seen.page.pdf(format="A4").startswith(b"%PDF")
    with visit(chromium, report, size=(680, 1000)) as seen:  # A4 within its margins
        folded = seen.page.locator("#moves details li").all()
        assert not any(each.is_visible() for each in folded)
        seen.page.emulate_media(media="print")
        assert seen.overflow() == 0
        assert folded
        assert all(each.is_visible() for each in folded)
