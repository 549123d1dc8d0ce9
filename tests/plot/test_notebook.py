"""What a notebook shows: short lines, and tables in which names are text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import trimtab as tt
from tests.plot.runs import simulated, tuner
from trimtab.live.spec.spec import Spec, example
from trimtab.plot.notebook import MOST


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    world, policy, trace = simulated()
    with tuner(tmp_path_factory.mktemp("notebook"), rounds=15) as live:
        spec = Spec.parse(example().replace('"documents"', '"<b>"'))
        found: dict[str, Any] = {
            "graph": world.problem.graph,
            "problem": world.problem,
            "policy": policy,
            "world": world,
            "trace": trace,
            "record": trace.records[0],
            "certificate": policy.certificate,
            "spec": spec,
            "tuner": live,
            "decision": live.ask(),
        }
        shown = {name: (repr(x), x._repr_html_()) for name, x in found.items()}
    return shown


def test_reprs_are_short_and_name_no_address(things: dict[str, Any]) -> None:
    for name, (line, _) in things.items():
        assert len(line) < 300, name
        assert not re.search(r"0x[0-9a-f]{6}", line), name
        assert "\n" not in line, name


def test_every_table_is_whole(things: dict[str, Any]) -> None:
    for name, (_, html) in things.items():
        assert html.startswith("<div><b>"), name
        assert html.endswith("</div>"), name
        assert html.count("<tr>") == html.count("</tr>") <= MOST + 1, name
        assert html.count("<td") == html.count("</td>"), name


def test_what_tables_say(things: dict[str, Any]) -> None:
    assert "6 knobs, 8 objectives" in things["graph"][1]
    assert "120 rounds told" in things["policy"][1]
    assert "Trace</b>, 120 rounds" in things["trace"][1]
    assert "search: manual" in things["tuner"][1]
    assert things["tuner"][0] == "<Tuner 'search': 16 rounds, 1 moves>"
    assert "&lt;b&gt;" in things["spec"][1]
    assert "<b>1000" not in things["spec"][1]
    assert things["spec"][0] == "<Spec 'search': 3 knobs, 3 objectives, 2 constraints>"


def test_what_is_long_is_cut() -> None:
    html = tt.Graph.complete(40)._repr_html_()  # type: ignore[attr-defined]  # for notebooks
    assert html.count("<tr>") == MOST + 1
    assert "more</i>" in html


def test_plot_is_a_method_as_well(tmp_path: Path) -> None:
    _, _, trace = simulated()
    assert len(trace.plot().data) == len(tt.plot.knobs(trace).data)
    with tuner(tmp_path, rounds=12) as live:
        assert len(live.plot().data) >= 3
