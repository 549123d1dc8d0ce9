"""`trimtab sweep`: what it prints and writes, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.sweeps.test_sweep import EXAMPLE
from trimtab.cli.sweep import sweep as sweep_command
from trimtab.errors import InvalidInput
from trimtab.sweeps import read_spec, sweep


def command(*arguments: str) -> Result:
    """The command in this process."""
    app = typer.Typer()
    app.command()(sweep_command)
    return CliRunner().invoke(app, list(arguments))


QUICK = ("--seeds", "2", "--horizon", "50", "--workers", "1")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    text = EXAMPLE.read_text(encoding="utf-8").replace("1_000, 10_000", "50")
    path = tmp_path / "ring.toml"
    path.write_text(text.replace("[100, ", "["), encoding="utf-8")
    return path


def test_the_command_prints_the_summary(spec: Path) -> None:
    ended = command(str(spec), *QUICK)
    assert ended.exit_code == 0, ended.output
    plan = read_spec(spec, seeds=2, horizon=50).plan
    results = sweep(
        {name: part.settings for name, part in plan.policies.items()},
        {name: part.settings for name, part in plan.worlds.items()},
        seeds=2,
        horizon=50,
        workers=1,
    )
    lines = [line.split() for line in ended.stdout.splitlines()]
    for line in results.summary("lazy").lines:
        assert [
            *(line.policy, str(line.seeds)),
            *str(line.total).split(),
            *str(line.regret).split(),
            *str(line.movement).split(),
            *str(line.moves).split(),
            *str(line.ratio).split(),
        ] in lines
    assert "of lazy's" in ended.stdout
    store = spec.with_suffix(".sqlite")
    assert ended.stderr == f"12 runs are in {store}\n"
    again = command(str(spec), *QUICK, "--baseline", "steady", "--out", str(store))
    assert "of steady's" in again.stdout
    other = command(str(spec), *QUICK, "--baseline", "stedy")
    assert isinstance(other.exception, InvalidInput)


def test_the_command_prints_json_and_writes_tables(spec: Path, tmp_path: Path) -> None:
    tables = [tmp_path / name for name in ("x.csv", "x.npz", "x.parquet")]
    options = [part for path in tables for part in ("--table", str(path))]
    ended = command(str(spec), *QUICK, "--json", *options)
    told = json.loads(ended.stdout)
    assert told["columns"]["policy"][:3] == ["stay", "stay", "stay"]
    assert len(told["columns"]["regret_at_50"]) == 12
    assert told["failures"] == []
    assert told["summary"][0]["world"] == "ring move_cost=1.0"
    assert told["provenance"]["settings"]["horizon"] == 50
    assert all(path.exists() for path in tables)
    wrong = command(str(spec), *QUICK, "--table", "x.xls")
    assert isinstance(wrong.exception, InvalidInput)


def test_json_has_no_nan(spec: Path) -> None:
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text[: text.index("[policies.lazy]")].replace('"lazy"', '"stay"'))
    ended = command(str(spec), "--seeds", "1", "--horizon", "50", "--json", "--workers", "1")

    def refuse(word: str) -> None:
        raise AssertionError(word)

    told = json.loads(ended.stdout, parse_constant=refuse)
    assert told["summary"][0]["regret"]["plus_minus"] is None  # of a single seed


def test_a_sweep_with_failures_ends_badly(spec: Path) -> None:
    spec.write_text(spec.read_text(encoding="utf-8").replace("start = 0.5", "start = 2.0", 1))
    ended = command(str(spec), *QUICK)
    assert ended.exit_code == 1
    first, *rest = ended.stderr.splitlines()
    assert first.startswith("8 runs are in")
    assert rest[0] == "4 runs failed; the same command tries them again"
    assert rest[1].startswith("  stay in ring move_cost=1.0, 2 x: InvalidInput: start[0] = 2")
    assert "lazy" in ended.stdout


def test_no_scheduler(spec: Path) -> None:
    ended = command(str(spec), "--scheduler", "no address at all://")
    assert isinstance(ended.exception, InvalidInput)
    assert "no Dask scheduler at" in str(ended.exception)
