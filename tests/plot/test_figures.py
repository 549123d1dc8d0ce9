"""Figures show the numbers of the run, say them in words, and have a dark twin."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.plot.runs import NAMES, simulated, tuner
from trimtab.errors import InvalidInput
from trimtab.plot import theme
from trimtab.plot.lanes import BINS, reduced


def lines(figure: Any, name: str) -> list[Any]:
    return [trace for trace in figure.data if trace.name == name]


def figures() -> dict[str, Any]:
    _, policy, trace = simulated()
    table = tt.plot.rounds(trace, name="trimtab", **NAMES)
    return {
        "knobs": tt.plot.knobs(table),
        "objectives": tt.plot.objectives(table),
        "cost": tt.plot.cost(table),
        "movement": tt.plot.movement(table),
        "responses": tt.plot.responses(policy, **NAMES),
        "graph": tt.plot.graph(table),
    }


def test_every_figure_has_words_and_a_dark_twin() -> None:
    for name, figure in figures().items():
        assert len(figure.layout.meta["alt"]) > 40, name
        dark = tt.plot.dark(figure).to_json()
        assert not [colour for colour in theme.DARK if f'"{colour}"' in dark], name


def test_knob_lanes_end_where_the_run_ended() -> None:
    _, _, trace = simulated()
    found = lines(figures()["knobs"], "trimtab")
    assert [float(line.y[-1]) for line in found] == pytest.approx(trace.states[-1].tolist())
    assert all(line.line.shape == "hv" for line in found)


def test_marks_say_why() -> None:
    _, _, trace = simulated()
    figure = figures()["knobs"]
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    assert sum(len(mark.x) for mark in marks) == trace.knobs_changed
    assert all("a round" in text.replace("<br>", " ") for mark in marks for text in mark.text)


def test_cost_ends_at_what_was_saved() -> None:
    world, _, trace = simulated()
    line = lines(figures()["cost"], "trimtab")[0]
    saved = 120 * world.loss(trace.start) - trace.loss - trace.move_cost
    assert float(line.y[-1]) == pytest.approx(saved)
    best = lines(figures()["cost"], "best state, known beforehand")[0]
    assert float(best.y[-1]) == pytest.approx(120 * (world.loss(trace.start) - world.optimum.value))


def test_cost_of_a_long_run_is_drawn_within_its_rows() -> None:
    world, _, _ = simulated()
    policy = tt.FixedState(world.problem, start=[0.5] * 6)
    trace = tt.play(policy, world, horizon=1000)
    table = tt.plot.rounds(trace)
    line = tt.plot.cost(table).data[0]
    assert len(line.x) > 100
    assert np.allclose(line.y, 0.0)


def test_responses_are_the_policys_estimates() -> None:
    world, policy, _ = simulated()
    from trimtab.plot.curves import known

    curves = {(each.objective, each.knob.name): each for each in known(policy, **NAMES)}
    assert len(curves) == world.problem.graph.scope_knobs.size
    latency = curves["latency", "candidate budget"]
    near = int(np.abs(latency.x - latency.now).argmin())
    truth = world.mean(policy.ask())[6]
    assert abs(latency.mean[near] - truth) < 0.1
    assert latency.half[near] < latency.half[-1]  # where it has been it is surer
    before = policy.snapshot()
    known(policy)
    np.testing.assert_equal(policy.snapshot(), before)


def test_responses_of_a_tuner_are_in_its_units(tmp_path: Path) -> None:
    from trimtab.plot.curves import known

    with tuner(tmp_path) as live:
        figure = tt.plot.responses(live, objectives=["latency_p99"], knobs=["cache_ttl"])
        curves = known(live, objectives=["latency_p99"], knobs=["cache_ttl"])
        with pytest.raises(InvalidInput, match="no objective reads"):
            tt.plot.responses(live, objectives=["nothing"])
    assert (curves[0].x[0], curves[0].x[-1]) == pytest.approx((30.0, 3600.0))
    assert 100.0 < curves[0].mean.mean() < 400.0
    assert figure.layout.xaxis.type == "log"


def test_limits_are_drawn_beside_their_metric(tmp_path: Path) -> None:
    with tuner(tmp_path, rounds=30) as live:
        figure = tt.plot.objectives(live)
        baseline = live.status().baselines["latency_p99"]
    shapes = [shape.y0 for shape in figure.layout.shapes]
    assert shapes == pytest.approx([1.2 * baseline, 2.0])
    words = [note.text for note in figure.layout.annotations]
    assert "guardrail: latency_p99 &lt;= 1.2 * baseline" in words


def test_budgets_are_drawn(tmp_path: Path) -> None:
    with tuner(tmp_path, rounds=30) as live:
        figure = tt.plot.movement(live)
        budget = live.spec.knobs[0].budget
    assert [shape.y0 for shape in figure.layout.shapes] == pytest.approx([budget])


def test_graph_of_whatever_has_one() -> None:
    world, policy, _ = simulated()
    drawn = [tt.plot.graph(x) for x in (world, policy, world.problem, world.problem.graph)]
    words = {figure.layout.meta["alt"] for figure in drawn}
    assert len(words) == 1
    assert "objective 1 reads knob 0" in words.pop()
    with pytest.raises(InvalidInput, match="do not fit"):
        tt.plot.graph(tt.Graph.complete(61))
    with pytest.raises(InvalidInput, match="2 names of knobs, expected 6"):
        tt.plot.graph(world, knobs=["a", "b"])


def test_names_are_not_markup() -> None:
    _, _, trace = simulated()
    table = tt.plot.rounds(trace, knobs=["<b>x</b>", *"bcdef"])
    text = tt.plot.knobs(table).layout.annotations[0].text
    assert text == "<b>&lt;b&gt;x&lt;/b&gt;</b>"


def test_long_lines_keep_their_extremes() -> None:
    rng = np.random.default_rng(0)
    x, y = np.arange(50_000.0), 0.4 + 0.2 * rng.random(50_000)
    y[31_000], y[31_001] = 1.0, 0.0
    kept = reduced(x, y)
    assert kept.size <= 4 * BINS
    assert {0, 31_000, 31_001, 49_999} <= set(kept.tolist())


def test_a_billion_rounds_fit() -> None:
    world = tt.worlds.quadratic(tt.Graph.from_edges(2, [(0, 1)]), seed=4)
    policy = tt.LazyGraphLinUCB(world.problem, start=[0.5, 0.5], radius=0.5)
    trace = tt.play(policy, world, horizon=10**9)
    figure = tt.plot.knobs(trace)
    assert figure.layout.xaxis.type == "log"
    assert len(base64.b64encode(figure.to_json().encode())) < 200_000


def test_summaries_of_many_runs() -> None:
    costs = {"drift": {"ours": 0.5, "Optuna": 0.7}, "two <valleys>": {"ours": 0.8}}
    figure = tt.plot.league(costs, ours=["ours"])
    rival, ours = figure.data  # ours is drawn last, above the others
    assert list(ours.x) == [0.5, 0.8]
    assert list(rival.y) == ["drift"]
    assert ours.y[1] == "two &lt;valleys&gt;"
    assert "ours: 0.632 on average in 2 worlds, 0.8 at worst" in figure.layout.meta["alt"]
    with pytest.raises(InvalidInput, match="at least one world"):
        tt.plot.league({})
    with pytest.raises(InvalidInput, match="give the policy that was played"):
        tt.plot.responses(simulated()[2])


def test_a_sweep_has_a_figure() -> None:
    results = tt.sweep(
        {
            "lazy": {"kind": "LazyGraphLinUCB", "start": 0.5, "radius": 1.0},
            "fixed": {"kind": "FixedState", "start": 0.5},
        },
        {"ring": {"kind": "quadratic", "graph": {"kind": "ring", "knobs": 4}}},
        seeds=2,
        horizon=30,
        workers=1,
    )
    assert results.to_pandas()["movement"].tolist() == results["movement"].tolist()
    figure = tt.plot.sweep(results)
    lines = results.summary().lines
    assert [float(trace.x[0]) for trace in figure.data] == [line.total.value for line in lines]
    assert [trace.name for trace in figure.data] == ["lazy", "fixed"]
    assert figure.data[0].error_x.array[0] == pytest.approx(lines[0].total.plus_minus)
