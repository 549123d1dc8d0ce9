"""The commands of a live tuner: what they print, refuse and load."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.live.store.journals import child
from tests.live.tuners import SPEC
from trimtab.cli import app
from trimtab.cli.live import coloured
from trimtab.errors import TrimtabError
from trimtab.live import Spec, Tuner
from trimtab.live.helping import Noise
from trimtab.live.status import Status
from trimtab.live.store.event import Draft
from trimtab.live.store.faults import Damaged
from trimtab.live.store.opening import open_journal


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def spec(tmp_path: Path) -> str:
    text = f'storage = "sqlite:///{tmp_path / "shop.db"}"\n' + SPEC
    (tmp_path / "shop.toml").write_text(text)
    return str(tmp_path / "shop.toml")


def told(result: Result) -> Any:
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def test_a_day_at_the_command_line(spec: str) -> None:
    first = told(run("ask", spec, "--json"))
    assert first["id"] == "shop-2"
    assert (first["values"], first["changed"]) == ({"ttl": 300.0, "size": 5, "mix": 0.5}, [])
    text = run("ask", spec)
    assert text.stdout.splitlines() == [
        "shop-2 hold",
        "  ttl = 300 s",
        "  size = 5",
        "  mix = 0.5",
    ]
    assert (
        run("tell", spec, "shop-2", "latency=120", "sales=5.1,0.2").stdout == "shop-2: recorded\n"
    )
    again = run("tell", spec, "shop-2", "latency=120")
    assert again.stdout == "shop-2: all of it was told before\n"
    receipt = told(run("tell", spec, "shop-2", "errors=1", "--count", "3", "--json"))
    assert receipt == {"id": "shop-2", "events": [4], "repeated": False}
    assert told(run("tell", spec, "shop-2", "latency=121", "--correct", "--json"))["events"] == [5]
    assert told(run("tell", spec, "shop-2", "sales=", "--correct", "--json"))["events"] == [7]
    why = told(run("explain", spec, "shop-2", "--json"))
    assert why["told"]["latency"] == {"mean": 121.0, "sem": None, "count": 1}
    assert why["told"]["sales"] is None
    assert run("explain", spec, "shop-2").stdout.startswith("shop-2, round 1, ")
    status = told(run("attach", spec, "ttl=600", "size=6", "--json"))
    assert (status["values"]["ttl"], status["values"]["size"]) == (600.0, 6)
    ordered = told(run("override", spec, "mix=0.7", "--json"))
    assert (ordered["mode"], ordered["goal"]["mix"]) == ("manual", 0.7)
    assert "shop: manual" in run("override", spec, "mix=0.6").stdout
    assert told(run("resume", spec, "--json"))["mode"] == "tuning"
    assert told(run("pause", spec, "--why", "lunch", "--json"))["why"] == "lunch"
    told(run("resume", spec, "--why", "lunch is over", "--json"))
    assert "lunch is over" in run("history", spec, "--last", "1").stdout
    told(run("pause", spec, "--why", "lunch", "--json"))
    assert "paused (lunch)" in run("status", spec).stdout
    assert told(run("resume", spec, "--json"))["mode"] == "tuning"
    assert told(run("rollback", spec, "--json"))["mode"] == "rollback"
    assert told(run("ask", spec, "--client", "a", "--json"))["reason"] == "rollback"
    assert told(run("ask", spec, "--client", "b", "--shadow", "--json"))["client"] == "b"
    played = told(run("replay", spec, "--json"))
    assert (played["decisions"], played["same"]) == (3, True)
    assert "come out as they were made" in run("replay", spec).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("status",), 2, "there is no journal"),
        (("replay",), 2, "there is no journal"),
        (("tell", "shop-9", "latency=1"), 2, "there is no decision shop-9"),
        (("tell", "shop-2", "latency"), 2, "write a metric, =, and a number"),
        (("tell", "shop-2", "latency=x"), 2, "is no number"),
        (("tell", "shop-2", "latency=1,2,3"), 2, "is no number"),
        (("tell", "shop-2", "latency=1", "latency=2"), 2, "given twice"),
        (("attach", "ttl=1"), 2, "ttl = 1 s is outside"),
        (("attach", "tll=100"), 2, "did you mean 'ttl'?"),
        (("override", "ttl=1"), 2, "ttl = 1 s is outside"),
        (("override", "ttl"), 2, "write a knob, =, and a number"),
        (("warm-start", "nowhere.csv"), 2, "nowhere.csv cannot be read"),
        (("rollback",), 1, "no good state"),
    ],
)
def test_what_is_refused(spec: str, arguments: tuple[str, ...], code: int, message: str) -> None:
    if arguments[0] not in ("status", "replay"):
        run("ask", spec)
    result = run(arguments[0], spec, *arguments[1:])
    assert isinstance(result.exception, TrimtabError)
    assert result.exception.exit_code == code
    assert message in str(result.exception)
    assert "Traceback" not in result.output


def test_a_table_of_the_past(spec: str, tmp_path: Path) -> None:
    table = tmp_path / "past.csv"
    table.write_text("ttl,size,mix,metric,value\n100,2,0.5,latency,90\n200,3,0.5,sales,4\n")
    assert run("warm-start", spec, str(table)).stdout == "2 observations were taken in\n"
    events = told(run("status", spec, "--json"))["events"]
    assert told(run("warm-start", spec, str(table), "--json")) == {"observations": 2}
    assert told(run("status", spec, "--json"))["events"] == events == 2


def test_a_journal_that_comes_out_otherwise(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("ask", spec)
    run("tell", spec, "shop-2", "latency=120")
    monkeypatch.setattr("trimtab.live.planning.waits", lambda tuner_state: ["other reasons"])
    run("ask", spec)
    monkeypatch.undo()
    result = run("replay", spec)
    assert (result.exit_code, "otherwise: shop-4" in result.stdout) == (1, True)


def test_what_needs_no_numbers_loads_none(spec: str) -> None:
    """Looking after a store, and a first spec, are quick."""
    run("ask", spec)
    program = """
import sys
from typer.testing import CliRunner
from trimtab.cli import app
for line in sys.argv[1:]:
    assert CliRunner().invoke(app, line.split()).exit_code == 0, line
print(sorted({"numpy", "numba", "scipy"} & set(sys.modules)))
"""
    lines = (f"storage check {Path(spec).parent}/shop.db", "init --schema", "ask --help")
    out, _ = child(program, *lines).communicate()
    assert out == "[]\n"


def test_an_event_of_another_version_is_named(tmp_path: Path) -> None:
    storage = str(tmp_path / "a.db")
    Tuner(Spec.parse(SPEC), storage=storage).close()
    with open_journal(storage) as journal:
        journal.append(
            "shop", Draft(kind="attach", payload={}, at=datetime(2026, 1, 1, tzinfo=UTC))
        )
    with pytest.raises(Damaged, match=r"event 2 \(attach\) is not one that this version"):
        Tuner(Spec.parse(SPEC), storage=storage)


def test_a_terminal_gets_colours_and_relative_times(
    spec: str,
) -> None:
    run("ask", spec)
    with Tuner(spec, read_only=True) as tuner:
        found = tuner.status()
    alarm = datetime(2026, 5, 6, 10, tzinfo=UTC)
    rules = {"a < 1": True, "b < 2": False}
    found = replace(found, alarms=2, last_alarm=alarm, constraints=rules, obstacles=())
    text = coloured(found, alarm + timedelta(minutes=31))
    line = "  2 alarms, the last 2026-05-06 10:00 UTC"
    assert text.plain == str(found).replace(line, f"{line}, 31 min ago")
    styles = {text.plain[span.start : span.end].strip(): span.style for span in text.spans}
    assert styles["a < 1: holds"] == "green"
    assert styles["b < 2: BROKEN"] == "red"
    assert styles[line.strip()] == styles[", 31 min ago"] == "yellow"
    assert run("status", spec).stdout == f"{tuner_status(spec)}\n"  # no terminal: plain


def tuner_status(spec: str) -> str:
    with Tuner(spec, read_only=True) as tuner:
        return str(tuner.status())


def test_a_status_for_people_has_units_and_says_where_the_noise_is_from(spec: str) -> None:
    told(run("ask", spec, "--json"))
    text = run("status", spec).stdout
    assert "  values: ttl = 300 s, size = 5, mix = 0.5" in text
    status = Status.from_dict(told(run("status", spec, "--json")))
    assert str(status) == text.rstrip()
    assert status.units == {"ttl": "s", "latency": "ms"}
    one = replace(status, next_review=1, noise={"latency": Noise(noise=9.876, spread=1.0)})
    assert str(one).endswith("next look in at most 1 round")
    assert "latency: one measurement is off by 9.88 ms, as learned" in str(one)
    given = replace(one, noise={"sales": Noise(noise=0.5, spread=1.0, learned=False)})
    assert "sales: one measurement is off by 0.5, as the spec says" in str(given)
