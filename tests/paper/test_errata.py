"""Every counterexample contradicts its statement, and the document for the authors is whole."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trimtab.cli import app
from trimtab.paper.errata import ERRATA, Erratum, Finding
from trimtab.paper.errata import page as module
from trimtab.paper.errata.page import document
from trimtab.paper.errata.structure import path_of_four
from trimtab.policies import AsyncLazyGraphLinUCB
from trimtab.sim import play

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda each: each.key)
def test_the_counterexample_contradicts_the_statement(erratum: Erratum) -> None:
    finding = erratum.run()
    assert finding.holds, finding.text
    assert finding.claimed != finding.found
    assert erratum.run() == finding  # the same numbers every time


def test_corrected_statements_have_tests_and_names_are_unique() -> None:
    defined = {
        name
        for path in TESTS.rglob("*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))
    }
    assert {each.test for each in ERRATA} <= defined
    assert len({each.key for each in ERRATA}) == len(ERRATA) == 22


def test_the_review_frees_the_path_of_four() -> None:
    """It is the schedule that is stuck, not the world: a global solve now and then ends it."""
    world = path_of_four()
    policy = AsyncLazyGraphLinUCB(world.problem, start=[1.0] * 4, radius=0.2, cold_start="keep")
    trace = play(policy, world, horizon=100_000)
    assert trace.regret < 0.001 * 100_000 * 0.16


def test_the_document_needs_nothing_from_elsewhere() -> None:
    finding = Finding(claimed=1.0, found=2.0, holds=True, text="2 < 3 & so on")
    html = document([(each, finding) for each in ERRATA])
    assert html.count("<section") == len(ERRATA)
    assert "http" not in re.sub(r'src="data:[^"]*"', "", html)
    assert "$" not in re.sub(r'(src|alt)="[^"]*"', "", html)
    assert html.count("data:image/svg+xml") > 60
    assert "2 &lt; 3 &amp; so on" in html


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = tuple(each for each in ERRATA if each.key in ("mean-lag", "epoch-error"))
    monkeypatch.setattr(module, "ERRATA", few)
    run = CliRunner().invoke
    listed = run(app, ["errata"])
    assert listed.exit_code == 0
    assert "mean-lag: How old the deployed state is" in listed.output
    good = run(app, ["errata", "--check"])
    assert good.exit_code == 0, good.output
    assert "All 2 counterexamples hold." in good.output
    out = tmp_path / "errata.html"
    assert run(app, ["errata", "--out", str(out)]).exit_code == 0
    assert "How old the deployed state is" in out.read_text(encoding="utf-8")

    def silent() -> Finding:
        return Finding(claimed=1.0, found=1.0, holds=False, text="as printed")

    monkeypatch.setattr(module, "ERRATA", (replace(few[0], run=silent), few[1]))
    bad = run(app, ["errata", "--check"])
    assert bad.exit_code == 1
    assert f"contradict nothing any more: {few[0].key}" in bad.output
