"""`trimtab storage check --repair`: what is derived from intact events is built anew."""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.live.store.journals import tell, xs
from tests.postgres import connect
from trimtab.cli.storage import storage
from trimtab.errors import NotFound
from trimtab.live.store.faults import Damaged
from trimtab.live.store.opening import open_journal

FREE = slice(36, 40)  # of the header: how many free pages there are


def run(*arguments: str) -> Result:
    return CliRunner().invoke(storage, ["check", *arguments])


def with_free_pages(path: Path) -> None:
    """A closed store of 20 events, whose list of free pages says that there are too many."""
    with open_journal(path) as journal:
        journal.append("a", *map(tell, range(20)))
        journal.save_snapshot("a", number=20, content=bytes(100_000))
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM trimtab_snapshots")
    connection.commit()
    connection.close()
    content = bytearray(path.read_bytes())
    (free,) = struct.unpack(">I", content[FREE])
    assert free > 10
    content[FREE] = struct.pack(">I", free + 3)
    path.write_bytes(content)


def spoil(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER trimtab_no_update")
    connection.execute("DROP TRIGGER trimtab_no_delete")
    connection.execute(sql)
    connection.commit()
    connection.close()


def test_free_pages_are_rebuilt_and_every_event_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with_free_pages(path)
    with pytest.raises(Damaged, match="SQLite says"):
        open_journal(path)
    assert isinstance(run(str(path)).exception, Damaged)
    result = run(str(path), "--repair")
    assert result.exit_code == 0, result.output
    before, did, *_, last = result.output.splitlines()
    assert before.startswith("before: SQLite says: ")
    assert did == "every event proved intact; indexes and free pages were rebuilt"
    assert last == "format 3, 20 events, all intact"
    assert run(str(path)).exit_code == 0
    with open_journal(path) as journal:
        assert xs(journal) == list(range(20))
        journal.append("a", tell(20))


def test_a_whole_store_stays_whole(journal_url: str) -> None:
    with open_journal(journal_url) as journal:
        journal.append("a", *map(tell, range(20)))
        journal.append("b", tell(1))
        result = run(journal_url, "--repair", "--json")  # others have it open
        assert result.exit_code == 0, result.output
        report = json.loads(result.output)
        assert (report["intact"], report["rebuilt"], report["found"]) == (True, True, None)
        assert [tuner["events"] for tuner in report["tuners"]] == [20, 1]
        journal.append("a", tell(20))
        assert xs(journal) == list(range(21))


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        (
            "UPDATE trimtab_events SET kind = 'ask' WHERE number = 7",
            "1 to 6 are intact; event 7 does not match",
        ),
        ("DELETE FROM trimtab_events WHERE number = 7", "1 to 6 are intact; event 7 is missing"),
        ("DELETE FROM trimtab_events WHERE number = 20", "1 to 19 are intact; event 20 is missing"),
    ],
)
def test_a_wrong_event_is_named_and_nothing_is_changed(
    tmp_path: Path, sql: str, fault: str
) -> None:
    path = tmp_path / "a.db"
    with_free_pages(path)
    path.write_bytes(_whole(path.read_bytes()))
    spoil(path, sql)
    before = path.read_bytes()
    result = run(str(path), "--repair")
    assert isinstance(result.exception, Damaged)
    assert result.exception.exit_code == 1
    assert f"nothing was repaired: tuner 'a': events {fault}" in str(result.exception)
    assert path.read_bytes() == before
    result = run(str(path), "--repair", "--json")
    assert result.exit_code == 1
    assert fault in json.loads(result.output)["fault"]


def _whole(content: bytes) -> bytes:
    """The file with its number of free pages put right: SQLite would not write to it otherwise."""
    (free,) = struct.unpack(">I", content[FREE])
    return content[:36] + struct.pack(">I", free - 3) + content[40:]


def test_an_older_copy_is_not_repaired(tmp_path: Path) -> None:
    path, old = tmp_path / "a.db", tmp_path / "old.db"
    with open_journal(path) as journal:
        journal.append("a", tell(1))
    shutil.copy(path, old)
    with open_journal(path) as journal:
        journal.append("a", tell(2))
    shutil.copy(tmp_path / "a.db-lock", tmp_path / "old.db-lock")
    before = old.read_bytes()
    result = run(str(old), "--repair")
    assert isinstance(result.exception, Damaged)
    assert "nothing was repaired: event 2 of tuner 'a' was acknowledged and is not" in str(
        result.exception
    )
    assert old.read_bytes() == before


def test_nothing_to_repair_where_nothing_is(tmp_path: Path) -> None:
    assert isinstance(run(str(tmp_path / "a.db"), "--repair").exception, NotFound)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.needs("postgresql")
def test_an_index_that_lacks_events_is_rebuilt(postgres_url: str) -> None:
    """Events that the index does not know are missed by everybody, and are in the table."""
    index = "UPDATE pg_index SET indisready = {} WHERE indexrelid = 'trimtab_events_pkey'::regclass"
    with connect(postgres_url, autocommit=True) as connection:
        with open_journal(postgres_url) as journal:
            journal.append("a", tell(0))
            connection.execute(index.format("false"))
            journal.append("a", *map(tell, range(1, 20)))
            connection.execute(index.format("true"))
        connection.execute("ALTER ROLE postgres SET enable_seqscan = off")
        try:
            result = run(postgres_url)
            assert isinstance(result.exception, Damaged)
            assert "event 2 is missing" in str(result.exception)
            result = run(postgres_url, "--repair")
            assert result.exit_code == 0, result.exception
            assert run(postgres_url).output.splitlines()[-1] == "format 3, 20 events, all intact"
            connection.execute("ALTER TABLE trimtab_events DISABLE TRIGGER ALL")
            connection.execute("DELETE FROM trimtab_events WHERE number = 7")
            result = run(postgres_url, "--repair")
            assert isinstance(result.exception, Damaged)
            assert "nothing was repaired: tuner 'a': events 1 to 6 are intact; event 7" in str(
                result.exception
            )
        finally:
            connection.execute("ALTER ROLE postgres RESET enable_seqscan")
