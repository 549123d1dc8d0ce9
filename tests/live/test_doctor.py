"""`trimtab init` and `trimtab doctor`: what they write, say and refuse."""

from __future__ import annotations

import json
import os
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import trimtab as tt
from tests.live.spec.test_spec import MINIMAL, RECOMMENDER, edited
from trimtab.advise import Advice, Row
from trimtab.advise.doctor import EFFORT, Outlook, advice_for, compared, examine, outlook_for
from trimtab.cli.doctor import doctor
from trimtab.cli.init import init
from trimtab.learn.beliefs import HOLD
from trimtab.live import Spec, schema
from trimtab.live.diagram import diagram
from trimtab.live.spec.lint import checks
from trimtab.live.spec.spec import example

FUZZ = max(int(int(os.environ.get("TRIMTAB_FUZZ_EXAMPLES", "700")) * 0.05), 1)


pytestmark = pytest.mark.usefixtures("brief")
app = typer.Typer()
app.command()(init)
app.command()(doctor)


def run(*arguments: str, **env: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "120", "NO_COLOR": "1", **env})


# init


def test_init_writes_a_valid_spec_once(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    result = run("init", str(path))
    assert result.exit_code == 0
    assert f"trimtab doctor {path}" in result.output
    assert path.read_text(encoding="utf-8") == example()
    path.write_text("mine", encoding="utf-8")
    refused = run("init", str(path))
    assert isinstance(refused.exception, tt.Conflict)
    assert str(refused.exception) == f"{path} is there already; give another name, or --force"
    assert path.read_text(encoding="utf-8") == "mine"
    assert json.loads(run("init", "--force", str(path), "--json").output) == {"path": str(path)}
    assert Spec.read(path).name == "search"


def test_init_where_nothing_can_be_written(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "x.toml", Path("a\0b")):
        with pytest.raises(tt.InvalidInput, match="cannot be written"):
            init(path)
    with pytest.raises(tt.InvalidInput, match="cannot be written: Is a directory"):
        init(tmp_path, force=True)


def test_init_prints_the_schema() -> None:
    result = run("init", "--schema")
    assert json.loads(result.stdout) == schema()


# doctor


def test_doctor_shows_everything() -> None:
    result = run("doctor", str(RECOMMENDER), "--horizon", "5000")
    assert result.exit_code == 0, result.output
    out = result.stdout
    spec = Spec.read(RECOMMENDER)
    for name in (*(each.name for each in spec.knobs), *(each.name for each in spec.objectives)):
        assert name in out
    assert diagram(spec) in out
    assert "variant " in out
    assert "ok    policy: SteadyGraphLinUCB, which costs" in out
    assert "In 5,000 rounds it looks" in out
    assert "warn" not in out


def test_doctor_lists_all_faults_and_fails(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(
        edited('scale = "log"', 'scale = "logg"').replace("weight = 3", "weight = -1"),
        encoding="utf-8",
    )
    result = run("doctor", str(path))
    assert result.exit_code == 2
    assert f"{path}: 2 problems" in result.stdout.replace("\n", "")
    assert "error knobs.ttl.scale = 'logg': did you mean 'log'?" in result.stdout
    assert "error objectives.speed.weight = -1: give a number" in result.stdout
    plain = json.loads(run("doctor", str(path), "--json").stdout)
    assert (plain["valid"], len(plain["checks"])) == (False, 2)
    assert plain["checks"][0]["where"] == "knobs.ttl.scale"


def test_doctor_without_a_file(tmp_path: Path) -> None:
    result = run("doctor", str(tmp_path / "none.toml"))
    assert result.exit_code == 2
    assert "cannot be read: No such file" in result.stdout
    assert json.loads(run("doctor", str(tmp_path), "--json").stdout)["valid"] is False


def test_doctor_in_json(tmp_path: Path) -> None:
    result = run("doctor", str(RECOMMENDER), "--json", "--horizon", "1000")
    assert result.exit_code == 0
    plain = json.loads(result.stdout)
    spec = Spec.read(RECOMMENDER)
    assert plain["fingerprint"] == spec.fingerprint
    assert plain["graph"]["sameness"] == ["diversity_mix"]
    assert plain["advice"]["rows"][0]["name"] == "FixedState"
    most = 1000 * float(spec.problem.weights.sum())  # nobody can lose more
    totals = [row["bound"]["total"] for row in plain["advice"]["rows"] if row["bound"]]
    assert all(total is None or total <= most for total in totals)
    assert not any("bound assumes" in reason for reason in plain["advice"]["reasons"])
    assert plain["outlook"]["horizon"] == 1000
    assert {check["level"] for check in plain["checks"]} == {"ok"}


def test_a_policy_is_no_matter_of_warning_within_the_errors_of_the_simulation() -> None:
    spec = Spec.read(RECOMMENDER)
    best = Row(name="LazyGraphLinUCB", cost=1.0, ratio=0.1, times=1.0, times_error=0.0)
    mine = Row(name="SteadyGraphLinUCB", cost=2.5, ratio=0.25, times=2.5, times_error=0.7)
    advice = Advice(
        variant=best.name, options={}, reasons=(), rows=(best, mine), worlds=9, rounds=9
    )
    assert compared(spec, advice).level == "ok"
    sure = replace(advice, rows=(best, replace(mine, times_error=0.1)))
    assert compared(spec, sure).level == "warn"


def test_doctor_on_a_terminal_without_unicode(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(edited('unit = "s"', 'unit = "µs [bold]"'), encoding="utf-8")
    result = CliRunner(charset="ascii").invoke(app, ["doctor", str(path)])
    assert result.exit_code == 0, result.exception
    assert "[bold]" in result.stdout  # a unit is no markup


def test_a_policy_that_does_not_go_with_the_problem_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    text = edited(
        "[metrics]",
        "[basis]\nkind = 'fourier'\n[policy]\nkind = 'AdaptiveGraphLinUCB'\ngamma = 0.1\n[metrics]",
    )
    text = text.replace("high = 0.5", "high = 0.5\nnorm = 3").replace(
        "high = 20", "high = 20\nnorm = 3"
    )
    path.write_text(text, encoding="utf-8")
    report = examine(path, horizon=100)
    assert not report.valid
    assert "AdaptiveGraphLinUCB does not go with it: " in report.checks[0].text


# What it warns of.


def warnings(tables: dict[str, Any]) -> list[str]:
    found = checks(Spec.from_dict(tables))
    return [f"{check.where}: {check.text}" for check in found if check.level == "warn"]


@pytest.fixture
def tables() -> dict[str, Any]:
    return Spec.read(RECOMMENDER).to_dict()


def test_the_recommender_has_no_warnings(tables: dict[str, Any]) -> None:
    assert warnings(tables) == []


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("objectives/sameness/noise", "estimate", "objectives: noise: unknown for sameness, and"),
        ("objectives/sameness/noise", 70.0, "objectives.sameness.noise: one measurement is off"),
        ("objectives/sameness/norm", 0.5, "objectives.sameness.norm: with 0.5 its loss could"),
        ("knobs/idle", {"low": 0, "high": 1, "start": 0}, "knobs.idle: no objective depends on it"),
        ("knobs/ad_load/stability", {}, "knobs.ad_load.stability: it may move across its whole"),
        ("knobs/ad_load/stability/move_cost", 0.0, "knobs: moves of ad_load are free, those of"),
        ("constraints", [], "constraints: no guardrail"),
        ("metrics/spare", "ms", "metrics.spare: no constraint reads it"),
        ("policy/radius", 0.5, "policy.radius: a fixed radius covers nothing"),
        ("policy/cold_start", "solve", "policy.cold_start: it moves to a corner"),
        ("basis", {"kind": "fourier", "dim": 200}, "basis: fourier: 200 features"),
    ],
)
def test_warnings(tables: dict[str, Any], path: str, value: Any, expected: str) -> None:
    *where, key = path.split("/")
    holder = tables
    for part in where:
        holder = holder[part]
    if path == "basis":
        for objective in tables["objectives"].values():
            objective["norm"] = 3.0
    holder[key] = value
    assert any(warning.startswith(expected) for warning in warnings(tables))


def test_free_moves_are_a_warning(tables: dict[str, Any]) -> None:
    for knob in tables["knobs"].values():
        knob["stability"]["move_cost"] = 0.0
    assert any(warning.startswith("knobs: moves are free: every") for warning in warnings(tables))


@pytest.mark.parametrize(("max_step", "steps"), [(0.1, 10), (0.3, 4), (1.0, 1), (0.34, 3)])
def test_how_many_steps_a_whole_range_takes(max_step: float, steps: int) -> None:
    plain = Spec.parse(MINIMAL).to_dict()
    plain["knobs"]["workers"] = {
        "low": 0,
        "high": 1,
        "start": 0,
        "stability": {"max_step": max_step},
    }
    (said,) = [
        c.text for c in checks(Spec.from_dict(plain)) if c.where == "knobs.workers.stability"
    ]
    assert said == f"from one end to the other it takes at least {steps} steps"


# What it expects.


def outlook(tmp_path: Path, policy: str, horizon: int = 10_000) -> Outlook:
    path = tmp_path / "spec.toml"
    path.write_text(edited("[metrics]", f"[policy]\n{policy}\n[metrics]"), encoding="utf-8")
    spec = Spec.read(path)
    return outlook_for(spec, spec.new_policy(), horizon)


def test_outlook_is_an_upper_bound(tmp_path: Path) -> None:
    """A run looks and moves no more often than the doctor said."""
    found = outlook(tmp_path, "factor = 4.0", horizon=1000)
    spec = Spec.read(tmp_path / "spec.toml")
    rng, policy = np.random.default_rng(1), spec.new_policy()
    moves, way, looks = 0, 0.0, 0
    for _ in range(1000):
        s = policy.ask()
        told = policy.tell(np.array([0.5 * s[0] ** 2, 1 - s[1] * s[0]]) + rng.normal(0, [0.1, 0.2]))
        moves, way = moves + (told.moved > 0), way + told.moved
        looks += told.cause != "none"
    assert 3 <= moves <= looks <= found.looks < 500
    assert way <= found.movement


def test_outlook_of_policies(tmp_path: Path) -> None:
    steady = outlook(tmp_path, "factor = 2.0")
    assert (steady.held, steady.factor) == (HOLD, 2.0)
    assert outlook(tmp_path, "delta = 0.1\nfactor = 2.0").held == 21
    assert outlook(tmp_path, "kind = 'AdaptiveGraphLinUCB'").held == 0  # its tour begins at once
    assert outlook(tmp_path, "factor = 3.0").looks < steady.looks
    often = outlook(tmp_path, "factor = 2.0\nperiod = 100")
    assert often.looks == pytest.approx(steady.looks + 100)
    assert outlook(tmp_path, "factor = 2.0\nmemory = 200").looks > steady.looks
    assert outlook(tmp_path, "kind = 'LinUCB'\nradius = 1.0").looks == 10_000
    assert outlook(tmp_path, "kind = 'LinUCB'\nradius = 1.0").held == 0
    assert outlook(tmp_path, "kind = 'FixedState'").looks == 0
    assert outlook(tmp_path, "kind = 'FixedState'").held == 10_000
    pooled = outlook(tmp_path, "kind = 'PooledGraphLinUCB'\nnoise = 'correlated'\nfactor = 2.0")
    assert 0 < pooled.looks < 10_000


def test_advice_is_that_of_theory() -> None:
    spec = Spec.read(RECOMMENDER)
    known: dict[str, Any] = {
        "start": spec.start,
        "prior": tt.Prior(sigma=spec.beliefs.sigma),
        "norm": spec.beliefs.norm,
        "reg": spec.beliefs.reg,
    }
    direct = tt.theory.advise(spec.problem, 1000, worst=9.0, factor=3.0, effort=EFFORT, **known)
    shown = advice_for(spec, 1000, factor=3.0)
    assert shown.variant == direct.variant
    assert [replace(row, bound=None) for row in shown.rows] == [
        replace(row, bound=None) for row in direct.rows
    ]
    assert any(row.bound is not None for row in direct.rows)
    for row in shown.rows:  # no bound above what anybody can lose
        assert row.bound is None or row.bound.total is None or row.bound.total <= 9.0 * 1000


@pytest.mark.parametrize(
    ("best", "costs", "level", "said"),
    [
        ("SteadyGraphLinUCB", (9.0, 2.0, 1.0), "ok", "which costs least of all"),
        ("LazyGraphLinUCB", (9.0, 1.0, 1.1), "ok", "costs 0.122 of staying put; LazyGraphLinUCB"),
        ("LazyGraphLinUCB", (9.0, 1.0, 2.0), "warn", "LazyGraphLinUCB costs least. Dear."),
        ("FixedState", (1.0, 2.0, 2.0), "warn", "nothing that was simulated costs less than"),
    ],
)
def test_a_policy_is_compared_with_the_one_recommended(
    best: str, costs: tuple[float, ...], level: str, said: str
) -> None:
    names = ("FixedState", "LazyGraphLinUCB", "SteadyGraphLinUCB")
    rows = tuple(
        Row(
            name=name,
            cost=cost,
            ratio=cost / costs[0],
            times=cost / min(costs),
            times_error=0.01,
            against="" if name == best else "Dear.",
        )
        for name, cost in zip(names, costs, strict=True)
    )
    advice = Advice(variant=best, options={}, reasons=(), rows=rows, worlds=8, rounds=10)
    found = compared(Spec.read(RECOMMENDER), advice)
    assert (found.level, found.where) == (level, "policy")
    assert said in found.text


# The drawing.


def test_diagram_of_several_parts() -> None:
    plain = Spec.parse(MINIMAL).to_dict()
    plain["knobs"] |= {x: {"low": 0, "high": 1, "start": 0} for x in ("idle", "c")}
    plain["objectives"]["lone"] = {"knobs": ["c"], "low": 0, "high": 1}
    assert diagram(Spec.from_dict(plain), plain=True).splitlines() == [
        "ttl      1",
        "workers  |  2",
        "misses   o  |",
        "speed    o--o",
        "",
        "idle  3  (no objective depends on it)",
        "",
        "c     4",
        "lone  o",
    ]


def test_large_parts_are_lists() -> None:
    names = [f"x{j}" for j in range(25)]
    plain = {
        "name": "large",
        "knobs": {name: {"low": 0, "high": 1, "start": 0} for name in names},
        "objectives": {"y": {"knobs": names, "low": 0, "high": 1}},
    }
    assert diagram(Spec.from_dict(plain)) == f"y <- {', '.join(names)}"


# Command lines.

WORDS = st.sampled_from(
    [
        "init",
        "doctor",
        "--json",
        "--schema",
        "--horizon",
        "5",
        "-1",
        "1e9",
        "--help",
        "none.toml",
        "--",
    ]
)


@settings(max_examples=FUZZ, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(WORDS | st.text(max_size=4).filter(lambda word: "/" not in word), max_size=5))
def test_any_command_line(words: list[str]) -> None:
    with TemporaryDirectory() as folder, chdir(folder):
        result = CliRunner().invoke(app, words)
    assert result.exit_code in (0, 1, 2)
    if result.exception is not None:
        assert isinstance(result.exception, SystemExit | tt.TrimtabError), words
