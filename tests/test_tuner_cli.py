"""The commands of a live tuner; and any command line, and any damaged store, end well.

TRIMTAB_FUZZ_EXAMPLES is how many examples the fuzz tests of this file share.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from tests.journals import child
from tests.tuners import SPEC, Clock, play
from trimtab.cli import app
from trimtab.errors import TrimtabError
from trimtab.live import Spec, Tuner
from trimtab.live.event import Draft
from trimtab.live.journal_faults import Damaged
from trimtab.live.opening import open_journal

TOTAL = int(os.environ.get("TRIMTAB_FUZZ_EXAMPLES", "700"))


def examples(share: float) -> settings:
    return settings(
        max_examples=max(int(TOTAL * share), 1),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


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
    assert told(run("tell", spec, "shop-2", "sales=", "--correct", "--json"))["events"] == [6]
    why = told(run("explain", spec, "shop-2", "--json"))
    assert why["told"]["latency"] == {"mean": 121.0, "sem": None, "count": 1}
    assert why["told"]["sales"] is None
    assert run("explain", spec, "shop-2").stdout.startswith("shop-2, round 1, ")
    status = told(run("attach", spec, "ttl=600", "size=6", "--json"))
    assert (status["values"]["ttl"], status["values"]["size"]) == (600.0, 6)
    assert told(run("pause", spec, "--why", "lunch", "--json"))["why"] == "lunch"
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


def test_a_journal_that_comes_out_otherwise(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("ask", spec)
    run("tell", spec, "shop-2", "latency=120")
    monkeypatch.setattr("trimtab.live.deciding.waits", lambda ledger: ["other reasons"])
    run("ask", spec)
    monkeypatch.undo()
    result = run("replay", spec)
    assert (result.exit_code, "otherwise: shop-4" in result.stdout) == (1, True)


def test_what_needs_no_numbers_loads_none(store: Path) -> None:
    """Looking after a store, and a first spec, are quick."""
    program = """
import sys
from typer.testing import CliRunner
from trimtab.cli import app
for line in sys.argv[1:]:
    assert CliRunner().invoke(app, line.split()).exit_code == 0, line
print(sorted({"numpy", "numba", "scipy"} & set(sys.modules)))
"""
    lines = (f"storage check {store}/shop.db", "init --schema", "ask --help")
    out, _ = child(program, *lines).communicate()
    assert out == "[]\n"


# Any command line.

COMMANDS = ["ask", "tell", "attach", "status", "explain", "pause", "resume", "rollback", "replay"]
WORDS = """--json --client --count --correct --why --storage --shadow --help shop-2 shop-4 shop- x=1
latency=1 latency=nan latency=inf latency=1e999 latency=, latency=1,0 sales=1,2 ttl=100 ttl=
size=3 mix=0.7 mix=-0 = == 0 -1 3 a\x00b 99999999999999999999 sqlite:/// nowhere/x.db"""
PIECES = st.sampled_from([*WORDS.split(), "", "a b"]) | st.text(max_size=4)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a spec and a store in which something has happened."""
    home = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="trimtab-fuzz-", dir=home))
    text = f'storage = "sqlite:///{folder / "shop.db"}"\n' + SPEC
    (folder / "shop.toml").write_text(text)
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trimtab.live.tuner.SNAPSHOT_EVERY", 10)
        with Tuner(folder / "shop.toml", clock=clock) as tuner:
            play(tuner, clock, 12)
    yield folder
    shutil.rmtree(folder)


def ends_well(*arguments: str) -> None:
    """A clear error or a valid result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # snapshots that are passed over
        result = run(*arguments)
    fault = result.exception
    assert fault is None or isinstance(fault, TrimtabError | SystemExit), arguments
    if fault is None and "--json" in arguments and "--help" not in arguments:
        json.loads(result.stdout)
    elif isinstance(fault, TrimtabError):
        assert 10 < len(str(fault)) < 20_000


@examples(0.12)
@given(st.sampled_from(COMMANDS), st.lists(PIECES, max_size=5), st.booleans())
@example("tell", ["shop-2", "latency=1", "--json"], True)
def test_any_command_line(store: Path, command: str, pieces: list[str], first: bool) -> None:
    spec = [str(store / "shop.toml")]
    ends_well(command, *(spec + pieces if first else pieces + spec))


# Any damage.


@examples(0.03)
@given(st.data())
def test_damaged_stores(store: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory(dir=store) as folder:
        for name in ("shop.db", "shop.db-lock"):
            shutil.copy(store / name, folder)
        path = Path(folder) / data.draw(st.sampled_from(["shop.db", "shop.db", "shop.db-lock"]))
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(content)))
        what = data.draw(st.sampled_from(["cut", "flip", "zero", "insert", "nothing"]))
        if what == "cut":
            del content[at:]
        elif what == "flip" and at < len(content):
            content[at] ^= 1 << data.draw(st.integers(0, 7))
        elif what == "zero":
            content[at : at + 512] = bytes(len(content[at : at + 512]))
        elif what == "insert":
            content[at:at] = data.draw(st.binary(min_size=1, max_size=9))
        path.write_bytes(content)
        spec, storage = str(store / "shop.toml"), f"{folder}/shop.db"
        for arguments in (
            ("status", spec, "--json"),
            ("tell", spec, "shop-2", "latency=7"),
            ("ask", spec),
            ("explain", spec, "shop-4"),
            ("replay", spec),
        ):
            ends_well(*arguments, "--storage", storage)


WORD_LIST = "begin tell decide correct warm attach override rollback pause resume spec shadow x"
FIELDS = "decision metrics state late rows why on spec client round reason"
KINDS = st.sampled_from(WORD_LIST.split(" "))
PAYLOADS = st.dictionaries(
    st.sampled_from(FIELDS.split(" ")),
    st.none() | st.integers(-3, 9) | st.text(max_size=3) | st.lists(st.floats(0, 1), max_size=3)
    | st.dictionaries(st.sampled_from(["latency", "x"]), st.none() | st.integers(), max_size=2),
    max_size=4,
)  # fmt: skip


@examples(0.03)
@given(KINDS, PAYLOADS, st.booleans())
def test_events_that_no_tuner_has_written(kind: str, payload: dict[str, Any], first: bool) -> None:
    """Intact by their digests, nonsense all the same: named, or of no effect."""
    home = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=home) as folder:
        storage = f"{folder}/a.db"
        if not first:
            Tuner(Spec.parse(SPEC), storage=storage).close()
        with open_journal(storage) as journal:
            at = datetime(2026, 1, 1, tzinfo=UTC)
            journal.append("shop", Draft(kind=kind, payload=payload, at=at))
        with suppress(TrimtabError), Tuner(Spec.parse(SPEC), storage=storage) as tuner:
            tuner.status()


def test_an_event_of_another_version_is_named(tmp_path: Path) -> None:
    storage = str(tmp_path / "a.db")
    Tuner(Spec.parse(SPEC), storage=storage).close()
    with open_journal(storage) as journal:
        journal.append(
            "shop", Draft(kind="attach", payload={}, at=datetime(2026, 1, 1, tzinfo=UTC))
        )
    with pytest.raises(Damaged, match=r"event 2 \(attach\) is not one that this version"):
        Tuner(Spec.parse(SPEC), storage=storage)
