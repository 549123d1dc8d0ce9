"""The paper's synthetic experiments: what is played is what is reported, and nothing else is."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import trimtab as tt
from tests.paper.small_reproduction import ALONE, CLIQUE, CLIQUES, silent, small_results
from trimtab.cli.reproduce import reproduce
from trimtab.errors import InvalidInput, NotFound
from trimtab.paper import figures, heterogeneous, single_clique
from trimtab.paper.cliques import RingingClocksOnly, draw_theta, problem_of
from trimtab.paper.heterogeneous import play as cliques_play
from trimtab.paper.heterogeneous import published as cliques_published
from trimtab.paper.reproduce import EXPERIMENTS, run, write
from trimtab.paper.results import to_json
from trimtab.paper.single_clique import play as clique_play
from trimtab.paper.single_clique import published as clique_published
from trimtab.paper.verdict import interval, verdicts
from trimtab.parallel.pool import Pool
from trimtab.plot import page
from trimtab.sim.worlds import Gaussian, World

SMALL = CLIQUE, CLIQUES


# What is played.


@pytest.mark.parametrize("domain", ["circle", "square"])
def test_a_run_of_one_clique_by_hand(domain: Any) -> None:
    run_ = clique_play.play_one(clique_play.Job(CLIQUE, domain, "sphere", 3, 1))
    problem = problem_of(domain, 1)
    (theta,) = draw_theta("sphere", 1, np.random.default_rng((3, 1, 1)))
    best = -1.0 if domain == "circle" else float(np.minimum(theta, 0.0).sum())
    for k, policy in enumerate(
        [
            tt.LinUCB(problem, start=[0, 0], radius=0.5, reg=0.1),
            tt.LazyGraphLinUCB(problem, start=[0, 0], radius=0.5, reg=0.1, review=False),
        ]
    ):
        rng = np.random.default_rng((3, 1, 2))
        path = [np.zeros(2)]
        for _ in range(CLIQUE.rounds):
            path.append(policy.ask())
            policy.tell([theta @ path[-1] + 0.5 * rng.standard_normal()])
        moved = np.cumsum(np.abs(np.diff(path, axis=0)).sum(axis=1))
        np.testing.assert_allclose(run_.movement[k], [0.0, *moved], atol=1e-12)
        np.testing.assert_allclose(run_.first_knob[k], np.array(path)[1:, 0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            run_.regret[k], (np.array(path)[1:] @ theta - best).sum(), atol=1e-9
        )
    assert run_.at_corners == (domain == "square")


def test_laws_of_theta() -> None:
    rng = np.random.default_rng(0)
    sphere, cube = (np.array(draw_theta(law, 400, rng)) for law in ("sphere", "cube"))
    normal, fixed = (np.array(draw_theta(law, 400, rng)) for law in ("normal", "fixed"))
    np.testing.assert_allclose(np.linalg.norm(sphere, axis=1), 1.0)
    assert np.abs(cube).max() <= 1.0 < np.linalg.norm(cube, axis=1).max()
    assert np.abs(normal).max() > 2.0
    assert (fixed == [0.5, -0.5]).all()


def test_ringing_clocks_with_one_clique_is_algorithm_1() -> None:
    world = World(problem_of("circle", 1), theta=[[0.6, 0.8]], noise=Gaussian(0.5))
    traces = [
        tt.play(
            kind(world.problem, start=[0, 0], radius=0.5, reg=0.1, review=False),
            world,
            horizon=500,
        )
        for kind in (tt.LazyGraphLinUCB, RingingClocksOnly)
    ]
    np.testing.assert_array_equal(traces[0].values, traces[1].values)
    assert traces[0].solves > 8


def test_ringing_clocks_reset_alone() -> None:
    problem = problem_of("circle", 3)
    world = World(problem, theta=[[1.0, 0.0]] * 3, noise=Gaussian(0.5))
    policy = RingingClocksOnly(
        problem, start=np.zeros(6), radius=0.5, reg=[0.1, 1.0, 3.0], review=False
    )
    rng = np.random.default_rng(0)
    partly = 0
    for _ in range(200):
        before = policy.learner.estimators.stats.since.copy()
        told = policy.tell(world.draw(policy.ask(), rng))
        after = policy.learner.estimators.stats.since
        assert (after[told.triggered] == 0.0).all()
        others = np.setdiff1d(np.arange(3), told.triggered)
        assert (after[others] >= before[others]).all()
        partly += 0 < told.triggered.size < 3 and bool((after[others] > 0).any())
    assert partly > 10


def test_policies_of_the_ten_cliques_are_the_librarys() -> None:
    job = cliques_play.Job(CLIQUES, "async", "circle", 0, 0)
    problem = problem_of("circle", 10)
    theta = draw_theta("sphere", 10, np.random.default_rng((0, 0, 1)))
    world = World(problem, theta=theta, noise=Gaussian(0.5))
    reg = [reg for _, reg in CLIQUES.stiffness]
    policy = tt.AsyncLazyGraphLinUCB(problem, start=[0] * 20, radius=0.5, reg=reg, review=False)
    trace = tt.play(policy, world, horizon=CLIQUES.rounds, seed=np.random.default_rng((0, 0, 2)))
    found = cliques_play.play_one(job)
    np.testing.assert_array_equal(found.updates, trace.attributions)
    np.testing.assert_array_equal(found.movement[-1:], trace.movement_at(CLIQUES.rounds))
    assert (found.solves, found.regret) == (trace.solves, trace.regret)


# What is reported.


def plain() -> dict[str, Any]:
    fresh = [dataclasses.replace(each) for each in small_results()]  # results keep their verdicts
    found: dict[str, Any] = json.loads(to_json(fresh, seed=0))
    return found


def test_json_is_the_same_twice_and_with_other_workers() -> None:
    once = to_json(small_results(), seed=0)
    with Pool(2) as pool:
        again = (
            single_clique.run(CLIQUE, seed=0, pool=pool, progress=silent),
            heterogeneous.run(CLIQUES, seed=0, pool=ALONE, progress=silent),
        )
    assert to_json(again, seed=0) == once


def test_numbers_are_those_of_the_runs() -> None:
    found = plain()["experiments"]
    one, ten = small_results()
    lazy = found["single-clique"]["comparisons"]["movement_lazy"]["measured"]
    runs = one.played["circle", "sphere"]
    np.testing.assert_allclose(
        lazy["circle, theta* sphere"]["values"], [run.movement[1, -1] for run in runs], rtol=1e-5
    )
    assert len(found["single-clique"]["settings"]) == 4
    ratio = found["heterogeneous"]["comparisons"]["update_ratio"]["measured"]
    above = 10 * np.mean([run.solves for run in ten.played["circle", "global"]])
    below = np.mean([run.updates.sum() for run in ten.played["circle", "async"]])
    assert ratio["circle, all clocks reset"]["mean"] == pytest.approx(above / below, rel=1e-5)
    triggers = found["heterogeneous"]["tables"]["triggers"]["rows"]
    assert [row["clique"] for row in triggers] == [*"4256178390", "all"]
    assert triggers[-1]["circle: async"] == pytest.approx(below, rel=1e-5)
    text = " ".join(found["heterogeneous"]["remarks"])
    assert f"{below:.0f} in all" in text


def test_every_comparison_has_an_interval_a_verdict_and_a_reason() -> None:
    for experiment in plain()["experiments"].values():
        for each in experiment["comparisons"].values():
            assert each["verdict"] in ("reproduces", "under other settings", "does not")
            assert each["why"].endswith(".")
            for measured in each["measured"].values():
                assert measured["low"] <= measured["mean"] <= measured["high"]
                assert measured["mean"] == pytest.approx(np.mean(measured["values"]), rel=1e-5)
            assert set(each["holds_in"]) <= set(experiment["settings"])


def test_other_seeds_stay_within_the_intervals() -> None:
    """Means of 8 other runs, at a level of 1 - 1e-6 each: one of 6 outside has chance 6e-6."""
    settings = dataclasses.replace(CLIQUE, runs=8, laws=("sphere",))
    mine, other = (
        single_clique.run(settings, seed=seed, pool=ALONE, progress=silent).comparisons[:3]
        for seed in (0, 1)
    )
    for a, b in zip(mine, other, strict=True):
        for x, y in zip(a.measured, b.measured, strict=True):
            mean, runs = float(np.mean(y.values)), len(y.values)
            number = dataclasses.replace(a.published, value=mean, rounding=0.0, runs=runs)
            assert interval(number, x, level=1 - 1e-6).holds, (a.published.name, x.setting)
            assert y.values != x.values


def without_published(value: Any, key: str = "") -> Any:
    """The same data without the columns of published numbers and what is concluded from them."""
    if key in ("published", "verdict", "why", "holds_in", "all_printed_numbers_hold_in"):
        return None
    if key in ("low", "high"):  # they depend on how many runs the paper averaged
        return None
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if not k.startswith("published ")}
        return {k: without_published(v, k) for k, v in kept.items()}
    if isinstance(value, list):
        return [without_published(each) for each in value]
    return value


def test_published_numbers_appear_in_the_comparison_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = plain()
    for result, table in (
        ("trimtab.paper.single_clique.result", clique_published.PUBLISHED),
        ("trimtab.paper.heterogeneous.result", cliques_published.PUBLISHED),
    ):
        absurd = tuple(
            dataclasses.replace(each, value=1e6 + k, printed="absurd", runs=3)
            for k, each in enumerate(table)
        )
        monkeypatch.setattr(f"{result}.PUBLISHED", absurd)
    after = plain()
    assert without_published(after) == without_published(before)
    for experiment in after["experiments"].values():  # and the verdicts follow the data
        assert {each["verdict"] for each in experiment["comparisons"].values()} == {"does not"}


def numbers_of(file: Path) -> set[float]:
    """Every number in the code and in the texts of a module, docstrings and comments aside."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    found: set[float] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            if isinstance(node.value, str):
                found |= {float(x) for x in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", node.value)}
            elif isinstance(node.value, int | float):
                found.add(float(node.value))
    return found


def test_published_results_are_written_in_one_module_only() -> None:
    """What the tables hold is nowhere else, in code or in sentences; 0 to 15 are in too many."""
    folder = Path(single_clique.__file__).parents[1]
    for name in ("single_clique", "heterogeneous", "adult"):
        table = import_module(f"trimtab.paper.{name}.published").PUBLISHED
        values = {each.value for each in table if each.value > 15 or each.value % 1 > 0}
        values -= {0.9}  # also the last level of a variant
        assert values, name
        for file in sorted((folder / name).glob("*.py")):
            if file.name != "published.py":
                assert not values & numbers_of(file), file


def test_the_listing_to_the_letter_never_leaves_the_zero_vector() -> None:
    assert small_results()[0].stuck == 0.0
    assert "moves 0.0 in 30 rounds" in small_results()[0].remarks[-1]


# Figures and files.


def test_files_are_the_same_bytes_twice(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        assert write(small_results()[:1], out=tmp_path / folder, seed=0).name == "report.html"
    names = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*.*"))
    assert [str(name) for name in names] == [
        "figures/single-clique.png",
        "figures/single-clique.svg",
        "report.html",
        "results.json",
    ]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_figures_say_in_words_what_they_show() -> None:
    one, ten = small_results()
    for figure in (*one.figures, *ten.figures):
        assert len(re.findall(r"\d+", figure.alt)) >= 4
    runs = one.played["circle", "sphere"]
    assert f"{np.mean([run.movement[0, -1] for run in runs]):.1f}" in one.figures[0].alt
    narrow, wide = (one.figures[0].draw(columns).get_size_inches() for columns in (1, 2))
    assert narrow[0] * 2 == wide[0]
    assert narrow[1] == wide[1] * 2


def test_labels_do_not_touch() -> None:
    canvas, (axes,) = figures.panels(1, columns=1)
    axes.set_ylim(0, 10)
    labels = [
        (1.0, 9.9, "d", "k"),
        (1.0, 5.0, "a", "k"),
        (1.0, 5.1, "b", "k"),
        (1.0, 9.8, "c", "k"),
    ]
    figures.label_ends(axes, labels)
    heights = [text.xy[1] for text in axes.texts]  # type: ignore[attr-defined]
    assert [text.get_text() for text in axes.texts] == ["a", "b", "c", "d"]
    assert np.diff(heights).min() >= 0.075 - 1e-9
    assert max(heights) <= 1.0  # of the panel: not in the title
    np.testing.assert_allclose(np.mean(heights[:2]), 0.505)  # each as far from its line
    assert figures.png(canvas).startswith(b"\x89PNG")


def test_pages_escape_what_they_show() -> None:
    html = page.page(title="a < b", lead='"', sections=[], foot="&")
    assert "<title>a &lt; b</title>" in html
    cell = page.table("<c>", ["<h>"], [["<x>"], [page.Cell("<y>", "good")]])
    assert re.findall(r"<[chxy]>", cell) == []
    assert '<th scope="row" class="good">&lt;y&gt;</th>' in cell
    assert 'alt="&quot;&lt;"' in page.figure(wide=b"", narrow=b"", alt='"<', caption="")


def test_numbers_of_a_table_are_set_to_the_right() -> None:
    html = page.table(
        "t", ["name", "x", "y"], [["a", 1.5, page.Cell("1 to 2", "n")], ["b", "", ""]]
    )
    heads = '<th scope="col">name</th><th scope="col" class="n">x</th><th scope="col" class="n">y'
    assert heads in html
    assert '<td class="n">1.50</td>' in html


# The command.


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """The command, with the experiments on a small scale."""
    for module, settings in zip((single_clique, heterogeneous), SMALL, strict=True):
        monkeypatch.setattr(module, "Settings", lambda settings=settings: settings)
    app = typer.Typer()
    app.command()(reproduce)
    return app


def test_verdicts_are_reached_once(
    command: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[str] = []

    def counted(comparisons: Any, settings: Any) -> Any:
        reached.append(comparisons[0].published.name)
        return verdicts(comparisons, settings)

    monkeypatch.setattr("trimtab.paper.verdict.verdicts", counted)
    options = ["heterogeneous", "--out", str(tmp_path / "out"), "--workers", "1", "--runs", "3"]
    assert CliRunner().invoke(command, options).exit_code == 0
    assert len(reached) == 1


def test_the_command_writes_and_prints(command: typer.Typer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["single-clique", "--out", str(out), "--workers", "1", "--runs", "3", "--seed", "7"]
    done = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(command, options)
    assert done.exit_code == 0, done.output
    assert f"Report: {out / 'report.html'}" in done.stdout
    found = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert found["seed"] == 7
    assert list(found["experiments"]) == ["single-clique"]
    for each in found["experiments"]["single-clique"]["comparisons"].values():
        assert each["quantity"] in done.stdout
        assert each["verdict"] in done.stdout
    lazy = found["experiments"]["single-clique"]["comparisons"]["movement_lazy"]
    assert {len(each["values"]) for each in lazy["measured"].values()} == {3}


def test_all_plays_every_experiment_there_is() -> None:
    assert {"single-clique", "heterogeneous"} <= set(EXPERIMENTS)


def test_what_cannot_be_played_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"experiment = 'maze'; choose one of single-clique, .*"):
        run("maze", out=tmp_path / "out", seed=0, runs=None, workers=1)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(InvalidInput, match="is a file; name a folder"):
        run("single-clique", out=file, seed=0, runs=None, workers=1)
    assert list(tmp_path.iterdir()) == [file]


def test_without_matplotlib_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NotFound, match=r"pip install 'trimtab\[paper\]'"):
        run("single-clique", out=tmp_path / "out", seed=0, runs=None, workers=1)
    assert not (tmp_path / "out").exists()
