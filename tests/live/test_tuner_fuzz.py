"""Any command line, any damaged store: a clear error or a valid result, never a traceback."""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.main import get_command

from tests.brief import shorten
from tests.fuzzing import examples
from tests.live.tuners import SPEC, Clock, play
from trimtab.cli import app
from trimtab.errors import TrimtabError
from trimtab.live import Spec, Tuner
from trimtab.live.store.event import Draft
from trimtab.live.store.opening import open_journal

COMMAND = get_command(app)


@pytest.fixture(scope="module")
def store() -> Iterator[Path]:
    """A folder with a spec, a table and a store in which something has happened."""
    folder = Path(tempfile.mkdtemp(prefix="trimtab-fuzz-"))
    text = f'storage = "sqlite:///{folder / "shop.db"}"\n' + SPEC
    (folder / "shop.toml").write_text(text)
    (folder / "past.csv").write_text("ttl,size,mix,metric,value\n100,2,0.5,latency,90\n")
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trimtab.live.follower.SNAPSHOT_EVERY", 8)
        with Tuner(folder / "shop.toml", clock=clock) as tuner:
            play(tuner, clock, 6)
    shutil.copytree(folder, folder / "whole")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module", autouse=True)
def elsewhere(store: Path) -> Iterator[None]:
    """What a command leaves in its working directory goes with the store, and none comes here."""
    home = Path.cwd()
    before = visible(home)
    os.chdir(store)
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        yield
    os.chdir(home)
    assert visible(home) == before


def visible(folder: Path) -> set[str]:
    """What is in a folder, but for caches of tools, which other processes may be making."""
    return {each.name for each in folder.iterdir() if each.name[0] not in "._"}


def ends_well(*arguments: str) -> None:
    """A clear error or a valid result."""
    out, code, said = io.StringIO(), 0, ""
    with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")  # snapshots that are passed over
        try:
            COMMAND.main(list(arguments), prog_name="trimtab")
        except TrimtabError as fault:
            code, said = fault.exit_code, str(fault)
        except SystemExit as end:
            code = int(end.code or 0)
    assert code in (0, 1, 2)
    assert not said or 10 < len(said) < 20_000
    flags = {word for before, word in pairwise(("", *arguments)) if before not in TAKE_A_VALUE}
    if code == 0 and "--json" in flags and "--help" not in arguments:
        json.loads(out.getvalue())


# Command lines.

TAKE_A_VALUE = {"--client", "--count", "--why", "--storage", "--horizon", "--tuner"}
LIVE = "ask tell attach override status explain pause resume rollback replay warm-start doctor"
WORDS = """--json --client --count --correct --why --storage --shadow --help --horizon --force
--schema --tuner shop shop-2 shop-4 shop- x=1 latency=1 latency=nan latency=inf latency=1e999
latency=, latency=1,0 sales=1,2 ttl=100 ttl= size=3 mix=0.7 mix=-0 = == 0 -1 3 a\x00b past.csv
99999999999999999999 sqlite:/// nowhere/x.db shop.db shop.toml"""
NO_PATH = st.characters(exclude_characters="/")  # or a store could be made outside of the folder
PIECES = st.sampled_from([*WORDS.split(), "", "a b"]) | st.text(NO_PATH, max_size=4)


@examples(0.16)
@given(st.sampled_from(LIVE.split()), st.lists(PIECES, max_size=5), st.booleans())
@example("tell", ["shop-2", "latency=1", "--json"], True)
@example("ask", ["--storage", "latency=nan"], True)  # makes a store of this name
@example("ask", ["--client", "--json"], True)  # a client of this name
def test_any_command_line(store: Path, command: str, pieces: list[str], first: bool) -> None:
    spec = [str(store / "shop.toml")]
    ends_well(command, *(spec + pieces if first else pieces + spec))


@examples(0.04)
@given(st.sampled_from(["init", "check", "upgrade", "export"]), st.lists(PIECES, max_size=4))
@example("check", ["shop.db", "--json"])
@example("init", ["other.toml", "--json"])
def test_any_command_line_without_a_spec(store: Path, command: str, pieces: list[str]) -> None:
    ends_well(*([command] if command == "init" else ["storage", command]), *pieces)


# Damage.

LOOKS = [
    ("status", "--json"),
    ("tell", "shop-2", "latency=7"),
    ("ask",),
    ("explain", "shop-4"),
    ("replay",),
]


@examples(0.08)
@given(st.data(), st.sampled_from(LOOKS))
def test_damaged_stores(store: Path, data: st.DataObject, arguments: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory(dir=store) as folder:
        for name in ("shop.db", "shop.db-lock"):
            shutil.copy(store / "whole" / name, folder)
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
        command, *rest = arguments
        ends_well(command, str(store / "shop.toml"), *rest, "--storage", f"{folder}/shop.db")
        ends_well("storage", "check", f"{folder}/shop.db", "--json")


WRITTEN = "begin tell decide correct amend warm attach override rollback pause resume spec shadow x"
KINDS = st.sampled_from(WRITTEN.split(" "))
FIELDS = "decision metrics state late rows why on spec client round reason"
PAYLOADS = st.dictionaries(
    st.sampled_from(FIELDS.split(" ")),
    st.none() | st.integers(-3, 9) | st.text(max_size=3) | st.lists(st.floats(0, 1), max_size=3)
    | st.dictionaries(st.sampled_from(["latency", "x"]), st.none() | st.integers(), max_size=2),
    max_size=4,
)  # fmt: skip


@examples(0.06)
@example("override", {"state": None}, False)
@example("attach", {"state": [0.5]}, False)
@given(KINDS, PAYLOADS, st.booleans())
def test_events_that_no_tuner_has_written(kind: str, payload: dict[str, Any], first: bool) -> None:
    """Intact by their digests, nonsense all the same: named, or of no effect."""
    with tempfile.TemporaryDirectory() as folder:
        storage = f"{folder}/a.db"
        if not first:
            Tuner(Spec.parse(SPEC), storage=storage).close()
        with open_journal(storage) as journal:
            at = datetime(2026, 1, 1, tzinfo=UTC)
            journal.append("shop", Draft(kind=kind, payload=payload, at=at))
        with suppress(TrimtabError), Tuner(Spec.parse(SPEC), storage=storage) as tuner:
            tuner.status()
