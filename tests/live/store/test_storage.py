"""`trimtab storage`, and stores that earlier versions wrote."""

from __future__ import annotations

import ast
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.live.store.journals import tell
from tests.postgres import connect
from trimtab.cli.storage import storage
from trimtab.errors import InvalidInput, NotFound
from trimtab.live.store.database import FORMAT
from trimtab.live.store.faults import Damaged
from trimtab.live.store.opening import open_journal

SAMPLES = Path(__file__).parent / "journal_samples"
LINES = (SAMPLES / "v3.jsonl").read_text(encoding="utf-8").splitlines()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(storage, arguments)


def spoil(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER IF EXISTS trimtab_no_update")
    connection.execute(sql)
    connection.commit()
    connection.close()


@pytest.fixture(
    params=["v3.db", pytest.param("v3.sql", marks=pytest.mark.needs("postgresql"))],
)
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A frozen store of format 3, put back in its database."""
    if request.param == "v3.db":
        shutil.copy(SAMPLES / "v3.db", tmp_path)
        return str(tmp_path / "v3.db")
    url = str(request.getfixturevalue("postgres_url"))
    with connect(url, autocommit=True) as connection:
        connection.execute((SAMPLES / "v3.sql").read_bytes())
    return url


# Frozen stores.


def test_a_frozen_store_is_read_as_it_was_written(sample: str) -> None:
    with open_journal(sample) as journal:
        events = [event for name in journal.tuners() for event in journal.events(name)]
        assert [event.line() for event in events] == LINES
        snapshot = journal.load_snapshot("checkout")
        assert snapshot is not None
        assert (snapshot.number, snapshot.content) == (6, b"\0\1snapshot")
        assert journal.format == FORMAT == 3
        assert events[7].payload == {"text": "ü€😀\0 \ud800 \"quoted\" 'x' %s ?"}


def test_a_frozen_store_goes_on(sample: str) -> None:
    with open_journal(sample) as journal:
        first, again = journal.append("checkout", tell(1, "new"), tell(1, "new"))
        assert (first.number, again) == (8, first)
        (after, _) = journal.append("a third", tell(1), tell(2))
        assert after.number == 1
        assert [chain.events for chain in journal.check()] == [8, 2, 2]


def test_the_same_events_have_the_same_digests_today(journal_url: str) -> None:
    """What was frozen is what this version writes, field by field."""
    from datetime import datetime

    from trimtab.live.store.event import Draft

    with open_journal(journal_url) as journal:
        for line in LINES:
            frozen: dict[str, Any] = json.loads(line)
            at = datetime.fromisoformat(frozen["at"])
            draft = Draft(kind=frozen["kind"], payload=frozen["payload"], at=at, key=frozen["key"])
            (event,) = journal.append(frozen["tuner"], draft)
            assert event.line() == line


# The commands.


def test_check(sample: str) -> None:
    result = run("check", sample)
    assert result.exit_code == 0, result.output
    last = json.loads(LINES[6])["digest"]
    assert result.output.splitlines()[0] == f"checkout: 7 events, the last digest is {last}"
    assert result.output.splitlines()[-1] == "format 3, 9 events, all intact"
    report = json.loads(run("check", sample, "--json").output)
    assert report["intact"]
    assert report["format"] == 3
    assert report["tuners"][0] == {"name": "checkout", "events": 7, "digest": last}
    assert report["notes"] == []


def test_check_names_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "v3.db"
    shutil.copy(SAMPLES / "v3.db", path)
    spoil(path, "UPDATE trimtab_events SET kind = 'ask' WHERE tuner = 1 AND number = 4")
    result = run("check", str(path))
    assert isinstance(result.exception, Damaged)
    assert result.exception.exit_code == 1
    fault = "tuner 'checkout': events 1 to 3 are intact; event 4 does not match its digest"
    assert fault in str(result.exception)
    assert "tuner 'näme with ü': events 1 to 2 are intact" in str(result.exception)
    result = run("check", str(path), "--json")
    assert result.exit_code == 1
    report = json.loads(result.output)
    assert not report["intact"]
    assert fault in report["fault"]


def test_check_notes_a_snapshot_that_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "v3.db"
    shutil.copy(SAMPLES / "v3.db", path)
    spoil(path, "UPDATE trimtab_snapshots SET content = x'00' WHERE number = 6")
    result = run("check", str(path))
    assert result.exit_code == 0
    assert "note: the snapshot of tuner 'checkout' at event 6 is damaged" in result.output
    assert len(json.loads(run("check", str(path), "--json").output)["notes"]) == 1


def test_export(sample: str) -> None:
    result = run("export", sample)
    assert (result.exit_code, result.output.splitlines()) == (0, LINES)
    result = run("export", sample, "--tuner", "näme with ü")
    assert (result.exit_code, result.output.splitlines()) == (0, LINES[7:])
    result = run("export", sample, "--tuner", "nobody")
    assert isinstance(result.exception, NotFound)
    assert "there are 'checkout', 'näme with ü'" in str(result.exception)


def test_export_gives_what_is_intact_of_a_damaged_store(tmp_path: Path) -> None:
    path = tmp_path / "v3.db"
    shutil.copy(SAMPLES / "v3.db", path)
    spoil(path, "UPDATE trimtab_events SET kind = 'ask' WHERE tuner = 1 AND number = 4")
    result = run("export", str(path))
    assert result.output.splitlines() == LINES[:3]
    assert isinstance(result.exception, Damaged)


def test_export_of_a_store_that_lost_its_end(tmp_path: Path) -> None:
    with open_journal(tmp_path / "a.db") as journal:
        journal.append("a", tell(1))
        shutil.copy(tmp_path / "a.db", tmp_path / "old.db")  # without its log: events are missing
    shutil.copy(tmp_path / "a.db-lock", tmp_path / "old.db-lock")
    result = run("export", str(tmp_path / "old.db"))
    assert result.output == ""
    assert isinstance(result.exception, Damaged)
    assert "was acknowledged and is not there" in str(result.exception)


def test_upgrade_has_nothing_to_do(sample: str) -> None:
    result = run("upgrade", sample)
    assert result.exit_code == 0
    said = "format 3 is the newest: nothing to do, nothing was changed\n"
    assert result.output == said
    assert json.loads(run("upgrade", sample, "--json").stdout) == {"format": 3, "changed": False}


@pytest.mark.parametrize("command", ["check", "upgrade", "export"])
def test_a_format_from_before_the_first_release_is_refused(command: str, tmp_path: Path) -> None:
    path = tmp_path / "v2.db"
    shutil.copy(SAMPLES / "v2.db", path)
    before = path.read_bytes()
    result = run(command, str(path))
    assert isinstance(result.exception, InvalidInput)
    assert result.exception.exit_code == 2
    assert "has format 2, from before the first release" in str(result.exception)
    assert path.read_bytes() == before


def test_the_page_about_compatibility_has_the_numbers_of_today() -> None:
    from trimtab.advise import doctor
    from trimtab.live import explain, history, status
    from trimtab.live.state import decision

    page = Path(__file__).parents[3].joinpath("docs", "compatibility.md").read_text("utf-8")
    schemas = [module.SCHEMA for module in (status, history, decision, explain, doctor)]
    for number in (f"format {FORMAT}", *schemas):
        assert f"| {number} |" in page.replace("`", "")
    assert (SAMPLES / f"v{FORMAT}.db").exists()


@pytest.mark.parametrize("command", ["check", "upgrade", "export"])
def test_looking_changes_nothing(command: str, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert isinstance(run(command, str(path)).exception, NotFound)
    assert list(tmp_path.iterdir()) == []
    assert isinstance(run(command, "ftp://host").exception, InvalidInput)
    with open_journal(path) as journal:
        journal.append("a", tell(1))
        before = {name: (tmp_path / name).read_bytes() for name in ("a.db", "a.db-wal")}
        assert run(command, str(path)).exit_code == 0
        assert before == {name: (tmp_path / name).read_bytes() for name in before}
    spoil(path, "UPDATE trimtab_format SET version = 4")
    assert "format 4 by its table, 3 by its header" in str(run(command, str(path)).exception)
    spoil(path, "PRAGMA user_version = 4")
    assert "upgrade trimtab" in str(run(command, str(path)).exception)
    spoil(path, "DROP TABLE trimtab_format")
    spoil(path, "CREATE TABLE trimtab_format AS SELECT NULL AS version")
    assert "has the format number None" in str(run(command, str(path)).exception)


def test_a_name_that_is_no_text_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with open_journal(path) as journal:
        journal.append("a", tell(1))
    content = path.read_bytes().replace(b"trimtab_events", b"trimtab_event\xc5")
    path.write_bytes(content.replace(b"CREATE TABLE trimtab_event", b"CREATE TABLZ trimtab_event"))
    with pytest.raises(Damaged, match="text in it that is none"):
        open_journal(path)


# Nothing in a file is ever executed.

UNSAFE = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
EXECUTES = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
}


def test_no_pickle_no_eval_no_unsafe_loader() -> None:
    loads = 0
    for path in (Path(__file__).resolve().parents[3] / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                named = [alias.name for alias in node.names]
                named += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                assert not UNSAFE & {name.partition(".")[0] for name in named}, path
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in EXECUTES, (path, node.lineno)
                if called == "np.load":
                    allowed = {word.arg: ast.unparse(word.value) for word in node.keywords}
                    assert allowed["allow_pickle"] == "False", (path, node.lineno)
                    loads += 1
    assert loads >= 2
