"""The history of a tuner: rows that agree with its events, whoever is behind them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import trimtab as tt
from tests.live.tuners import SPEC, Clock, play, spec_with, tuner_at
from trimtab.cli import app
from trimtab.errors import InvalidInput, NotFound
from trimtab.live.state.reducer import KINDS

LEARNS = {"policy": {"kind": "SteadyGraphLinUCB"}}


@pytest.fixture
def tuner(tmp_path: Path) -> tt.Tuner:
    """Forty rounds, some of them moves, and everything that people may do."""
    clock = Clock()
    tuner = tuner_at(tmp_path, clock, spec_with(**LEARNS), actor="loop")
    made = play(tuner, clock, 40)
    tuner.tell(made[3].id, {"latency": 99.0}, correct=True, actor="ana")
    tuner.attach({"mix": 0.4}, actor="ana")
    tuner.pause("a release", actor="ben")
    tuner.resume()
    tuner.ask()
    tuner.override({"size": 6})
    return tuner


def test_a_row_for_every_event_and_the_path_of_the_knobs(tuner: tt.Tuner) -> None:
    rows = tuner.history()
    assert [row.number for row in rows] == list(range(1, tuner.status().events + 1))
    decided = [row for row in rows if row.kind == "decide"]
    assert any(row.changed for row in decided)
    values = tuner.spec.values(tuner.spec.start)
    for row in rows:  # every row starts where the one before has ended
        if row.kind == "attach":
            assert row.values["mix"] == 0.4
            assert row.changed == (("mix",) if values["mix"] != 0.4 else ())
        if row.kind in ("decide", "attach"):
            assert row.changed == tuple(name for name in values if values[name] != row.values[name])
            assert (row.moved > 0) == bool(row.changed)
            values = dict(row.values)
        else:
            assert (row.changed, row.moved, row.price) == ((), 0.0, 0.0)
    assert values == tuner.status().values
    spec = tuner.spec
    for row in decided:
        before = spec.state(tuner.explain(str(row.id)).decision.previous)
        far = np.abs(np.subtract(spec.state(row.values), before))
        assert row.moved == pytest.approx(far.sum(), abs=1e-12)
        assert row.price == pytest.approx(spec.problem.move_cost @ far, abs=1e-12)


def test_an_unknown_kind_is_refused(tuner: tt.Tuner) -> None:
    with pytest.raises(InvalidInput, match="no events 'pausse'; did you mean 'pause'"):
        tuner.history(kinds=["tell", "pausse"])
    with pytest.raises(InvalidInput, match="kinds = 1; give a list"):
        tuner.history(kinds=1)  # type: ignore[arg-type]
    assert {row.kind for row in tuner.history()} <= set(KINDS)


def test_who_and_why(tuner: tt.Tuner) -> None:
    by_kind = {row.kind: row for row in tuner.history()}
    assert by_kind["begin"].actor == by_kind["resume"].actor == by_kind["decide"].actor == "loop"
    assert (by_kind["pause"].actor, by_kind["pause"].reason) == ("ben", "a release")
    assert (by_kind["correct"].actor, by_kind["correct"].id) == ("ana", "shop-8")
    assert by_kind["correct"].told == {"latency": (99.0, None, 1)}
    assert by_kind["override"].values["size"] == 6
    assert "by loop" in str(tuner.explain("last"))
    for call in (tuner.resume, tuner.rollback, tuner.ask):
        with pytest.raises(InvalidInput, match="actor"):
            call(actor="two\nlines")


@pytest.mark.parametrize("limit", [0, 1, 7, 300, None])
def test_any_part_is_a_part_of_the_whole(
    tuner: tt.Tuner, monkeypatch: pytest.MonkeyPatch, limit: int | None
) -> None:
    monkeypatch.setattr("trimtab.live.history.FIRST_WINDOW", 4)
    rows = tuner.history()
    for after in (0, 1, 5, len(rows) - 2, len(rows), len(rows) + 9):
        for kinds in (None, ["decide"], ["attach", "pause"], ["override"]):
            found = [r for r in rows[after:] if kinds is None or r.kind in kinds]
            newest = found[::-1]
            assert tuner.history(after=after, limit=limit, kinds=kinds) == found[:limit]
            assert (
                tuner.history(after=after, limit=limit, kinds=kinds, newest=True) == newest[:limit]
            )


def test_the_last_decision_is_explained(tuner: tt.Tuner, tmp_path: Path) -> None:
    newest = tuner.history(newest=True, limit=1, kinds=["decide"])[0]
    assert tuner.explain("last").decision.id == newest.id
    (tmp_path / "new").mkdir()
    with tuner_at(tmp_path / "new", Clock()) as empty, pytest.raises(NotFound, match="last"):
        empty.explain("last")


def test_the_command_prints_a_table_csv_and_json(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(f'storage = "sqlite:///{tmp_path}/a.db"\n' + SPEC)

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, [arguments[0], str(path), *arguments[1:]])
        assert result.exit_code == 0, (arguments, result.output, result.exception)
        return result.stdout

    run("ask", "--actor", "loop")
    run("tell", "shop-2", "latency=120,2", "--actor", "loop")
    run("attach", "mix=0.25", "--actor", "ana")
    run("ask")
    table = run("history").splitlines()
    assert table[0].split() == ["event", "time", "(UTC)", "what", "who"]
    assert [line.split()[0] for line in table[1:]] == ["1", "2", "3", "4", "5"]
    assert "set by hand: mix 0.5 -> 0.25" in table[4]
    assert len(run("history", "--moves").splitlines()) == 2
    assert len(run("history", "--kind", "tell", "--kind", "begin").splitlines()) == 3
    assert len(run("history", "--by", "loop", "--last", "1").splitlines()) == 2
    cells = list(csv.DictReader(io.StringIO(run("history", "--csv", "--all"))))
    assert [row["kind"] for row in cells] == ["begin", "decide", "tell", "attach", "decide"]
    assert (cells[2]["latency"], cells[3]["mix"], cells[2]["mix"]) == ("120.0", "0.25", "")
    plain = json.loads(run("history", "--json", "--after", "2"))
    assert plain["schema"] == "trimtab.history/1"
    assert [row["number"] for row in plain["rows"]] == [3, 4, 5]
    assert plain["rows"][0]["told"] == {"latency": {"mean": 120.0, "sem": 2.0, "count": 1}}
    assert "shop-5" in run("explain")
    assert "shop-5" in run("explain", "last")
    clash = CliRunner().invoke(app, ["history", str(path), "--csv", "--json"])
    assert isinstance(clash.exception, InvalidInput)


def test_a_warm_start_by_somebody_else_has_no_second_effect(tuner: tt.Tuner) -> None:
    table = {"ttl": [60], "size": [3], "mix": [0.1], "metric": ["sales"], "value": [4.0]}
    tuner.warm_start(table, actor="ana")
    before = tuner.status().events
    tuner.warm_start(table, actor="ben")
    assert tuner.status().events == before
    assert tuner.history(kinds=["warm"])[0].actor == "ana"


def test_the_reason_of_an_order_is_kept(tmp_path: Path) -> None:
    with tuner_at(tmp_path, Clock()) as tuner:
        tuner.override({"mix": 0.4}, actor="ana", why="a sale begins")
        tuner.resume(actor="ben", why="it is over")
        with pytest.raises(InvalidInput, match="why: give at most 500 printable"):
            tuner.attach({"mix": 0.1}, why="a\nb")
        rows = tuner.history(after=1)
    assert [(row.kind, row.actor, row.reason) for row in rows] == [
        ("override", "ana", "a sale begins"),
        ("resume", "ben", "it is over"),
    ]
    assert rows[0].text.endswith("(a sale begins)")
