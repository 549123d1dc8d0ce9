"""A journal as a table: what it holds, and that a warm start by it teaches the same."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from typer.testing import CliRunner

import trimtab as tt
from tests.live.tuners import SPEC, Clock, assert_same, matrices, play
from trimtab.cli import app
from trimtab.errors import InvalidInput


def exported(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["export", *arguments, "--table"])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def test_another_tuner_learns_the_same_from_the_table(tmp_path: Path) -> None:
    clock, old, new = Clock(), tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text('storage = "sqlite:///old.db"\n' + SPEC)
    new.write_text('storage = "sqlite:///new.db"\n' + SPEC)
    with tt.Tuner(old, clock=clock) as tuner:
        made = play(tuner, clock, 30)
        tuner.tell(made[0].id, {"latency": 77.0}, correct=True)
        tuner.tell(made[1].id, {"sales": None}, correct=True)
        taught = matrices(tuner)
    text = exported(str(old))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["metric"] for row in rows} == {"latency", "sales", "errors", "load"}
    latencies = [row["value"] for row in rows if row["metric"] == "latency"]
    assert latencies[0] == "77.0"
    assert sum(row["metric"] == "sales" for row in rows) == len(latencies) - 1
    (tmp_path / "past.csv").write_text(text)
    with tt.Tuner(new, clock=clock) as tuner:
        tuner.warm_start(tmp_path / "past.csv")
        assert_same(matrices(tuner), taught)


def test_a_table_for_another_spec_has_what_fits(tmp_path: Path) -> None:
    clock, old, other = Clock(), tmp_path / "old.toml", tmp_path / "other.toml"
    old.write_text('storage = "sqlite:///old.db"\n' + SPEC)
    knob = "[knobs.extra]\nlow = 0\nhigh = 1\nstart = 0.25\n[objectives.latency]"
    narrow = SPEC.replace("high = 3000", "high = 310").replace('errors = "%"\n', "")
    narrow = narrow.replace("[objectives.latency]", knob).replace(
        'rule = "errors <= 2 * baseline"', 'rule = "load <= 2 * baseline"'
    )
    other.write_text('storage = "sqlite:///other.db"\n' + narrow)
    with tt.Tuner(old, clock=clock) as tuner:
        play(tuner, clock, 2)
        tuner.attach({"ttl": 600})
        play(tuner, clock, 2)
    rows = list(csv.DictReader(io.StringIO(exported(str(old), "--into", str(other)))))
    assert {row["extra"] for row in rows} == {"0.25"}
    assert {row["ttl"] for row in rows} == {"300.0"}
    assert {row["metric"] for row in rows} == {"latency", "sales", "load"}
    (tmp_path / "past.csv").write_text(exported(str(old), "--into", str(other)))
    with tt.Tuner(other, clock=clock) as tuner:
        assert tuner.warm_start(tmp_path / "past.csv") == 4  # two rounds of two objectives


def test_the_command_says_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SPEC)
    result = CliRunner().invoke(app, ["export", str(tmp_path / "a.toml")])
    assert isinstance(result.exception, InvalidInput)
    with pytest.raises(InvalidInput, match="give --table"):
        raise result.exception
