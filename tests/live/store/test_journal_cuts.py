"""SQLite's files as a crash, or somebody, may leave them.

A crash may leave anything of what was written after the last acknowledgement: cut, torn or
zeroed. All acknowledged events must be there. Whatever else is missing must be detected, and
named. Pages of 512 bytes keep the files small enough to try every byte.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.live.store.journals import tell, xs
from trimtab.errors import TrimtabError
from trimtab.live.store.event import Draft
from trimtab.live.store.faults import Damaged
from trimtab.live.store.journal import Journal
from trimtab.live.store.opening import open_journal

Files = dict[str, bytes]
DRAFTS = [tell(i, key=str(i)) for i in range(7)]
DB, WAL, SHM, LOCK = "a.db", "a.db-wal", "a.db-shm", "a.db-lock"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder to be removed at once: some tests fill a thousand of them."""
    path = Path(tempfile.mkdtemp(prefix="trimtab-cuts-"))
    yield path
    shutil.rmtree(path)


def small(folder: Path, drafts: list[Draft]) -> Path:
    """A closed journal with these events and small pages."""
    path = folder / DB
    with open_journal(path) as journal:
        journal.append("a", *drafts)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA page_size = 512")
    connection.execute("VACUUM")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    return path


def files(path: Path) -> Files:
    return {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}


def reopened(folder: Path, content: Files) -> Journal:
    """The journal that these files are."""
    place = folder / "again"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, data in content.items():
        (place / name).write_bytes(data)
    return open_journal(place / DB)


def checked(folder: Path, content: Files) -> list[int]:
    """What the journal that these files are holds, if it finds nothing wrong."""
    with reopened(folder, content) as journal:
        journal.check()
        return xs(journal)


def crash_in_append(path: Path, *, restart: bool) -> tuple[Files, Files]:
    """The files when events 0 to 3 were acknowledged, and when 4 was committed but not yet.

    With `restart` the log has just begun again from its start, over old content.
    """
    caught: list[Files] = []

    def catch(name: str) -> None:
        if armed and name == "after commit":
            caught.append(files(path))

    armed = False
    with open_journal(path, step=catch) as journal:
        for draft in DRAFTS[:3]:
            journal.append("a", draft)
        if restart:
            journal.save_snapshot("a", number=1, content=bytes(4000))  # a long log
            journal._database.query("PRAGMA wal_checkpoint(RESTART)")
        journal.append("a", DRAFTS[3])
        acknowledged = files(path)
        armed = True
        journal.append("a", DRAFTS[4])
    return acknowledged, caught[0]


def change(before: bytes, after: bytes) -> range:
    """The bytes that were written between the two."""
    same = (i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y)
    first = next(same, min(len(before), len(after)))
    if len(after) > len(before):
        return range(first, len(after))
    last = max(i for i in range(first, len(after)) if before[i] != after[i])
    return range(first, last + 1)


def expect(journal: Journal, told: list[int], *, retry: bool) -> None:
    """The journal holds these, and can go on."""
    with journal:
        assert xs(journal) == told
        if retry:
            for draft in DRAFTS:
                journal.append("a", draft)
            assert xs(journal) == list(range(7))
            journal.check()


@pytest.mark.parametrize("restart", [False, True])
def test_the_log_cut_at_every_byte_after_the_last_acknowledgement(
    folder: Path, restart: bool
) -> None:
    path = small(folder, DRAFTS[:2])
    before, after = crash_in_append(path, restart=restart)
    new = change(before[WAL], after[WAL])
    assert len(new) > 1000  # several pages
    assert restart == (len(after[WAL]) == len(before[WAL]))  # written over old content
    for cut in range(new.start, new.stop + 1):
        told = [0, 1, 2, 3, 4] if cut == new.stop else [0, 1, 2, 3]
        log = after[WAL][:cut]
        content = {DB: after[DB], WAL: log, LOCK: after[LOCK]}
        kind = cut % 4  # in turn: nothing more; the old bytes; zeros; the stale index as well
        if kind == 1:
            content[WAL] += before[WAL][cut:]
        elif kind == 2:
            content[WAL] += bytes(len(after[WAL]) - cut)
        elif kind == 3:
            content[SHM] = before[SHM]
        expect(reopened(folder, content), told, retry=cut % 97 == 0 or cut == new.stop)


def test_a_checkpoint_torn_anywhere(folder: Path) -> None:
    """Pages on their way from the log into the database: any of them may have arrived, in part."""
    path = small(folder, DRAFTS[:2])
    with open_journal(path) as journal:
        for draft in DRAFTS[2:5]:
            journal.append("a", draft)
        journal.save_snapshot("a", number=1, content=bytes(3000))  # the database grows
        before = files(path)
        journal._database.query("PRAGMA wal_checkpoint(FULL)")
        after = files(path)
    assert before[WAL] == after[WAL]
    assert len(before[DB]) < len(after[DB])
    old, new = before[DB], after[DB]
    mixed = [new[:cut] + old[cut:] for cut in range(0, len(new), 41)]
    rng = np.random.default_rng(5)
    pages = [slice(i, i + 512) for i in range(0, len(new), 512)]
    for _ in range(60):
        arrived = rng.random(len(pages)) < 0.5
        mixed.append(b"".join((new if x else old)[p] for x, p in zip(arrived, pages, strict=True)))
    for n, content in enumerate(mixed):
        journal = reopened(folder, {DB: content, WAL: after[WAL], LOCK: after[LOCK]})
        expect(journal, [0, 1, 2, 3, 4], retry=n % 20 == 0)


def test_a_log_cut_before_the_last_acknowledgement_is_named(folder: Path) -> None:
    path = small(folder, DRAFTS[:2])
    with open_journal(path) as journal:
        journal.append("a", DRAFTS[2])
        sizes = [len(files(path)[WAL])]
        journal.append("a", DRAFTS[3])
        content = files(path)
    del content[SHM]
    sizes.append(len(content[WAL]))
    cuts = {**dict.fromkeys(range(0, sizes[0], 17), 2), **dict.fromkeys(range(*sizes), 3)}
    for cut, intact in cuts.items():
        with pytest.raises(Damaged) as error:
            reopened(folder, content | {WAL: content[WAL][:cut]})
        assert "event 4 of tuner 'a' was acknowledged and is not there" in str(error.value)
        assert f"tuner 'a': events 1 to {intact} are intact" in str(error.value)
        left = (folder / "again" / WAL).read_bytes() if cut else b""
        assert left == content[WAL][:cut]  # a look leaves the evidence alone
    lost = {name: data for name, data in content.items() if name != WAL}
    with pytest.raises(Damaged, match="event 4 of tuner 'a' was acknowledged and is not there"):
        reopened(folder, lost)  # the database was copied without its log


def test_a_log_with_a_byte_changed_before_the_last_acknowledgement_is_named(folder: Path) -> None:
    path = small(folder, DRAFTS[:2])
    with open_journal(path) as journal:
        for draft in DRAFTS[2:4]:
            journal.append("a", draft)
        content = files(path)
    del content[SHM]
    log = content[WAL]
    for at in range(0, len(log), 23):
        spoilt = log[:at] + bytes([log[at] ^ 0x10]) + log[at + 1 :]
        with pytest.raises(Damaged, match="was acknowledged and is not there"):
            reopened(folder, content | {WAL: spoilt})


@pytest.mark.parametrize("witness", [True, False])
def test_a_database_cut_anywhere_is_named(folder: Path, witness: bool) -> None:
    """All is in one file; none of it may be missing, whether or not its lock file is there."""
    path = small(folder, DRAFTS)
    content = files(path)
    if not witness:
        del content[LOCK]
    size = len(content[DB])
    for cut in [*range(witness is False, size - 600, 101), *range(size - 600, size)]:
        with pytest.raises(Damaged, match=str(folder)):
            checked(folder, content | {DB: content[DB][:cut]})


def test_a_missing_database_is_not_begun_anew(folder: Path) -> None:
    content = files(small(folder, DRAFTS))
    with pytest.raises(Damaged, match="empty or missing, but events were acknowledged"):
        reopened(folder, {LOCK: content[LOCK]})
    with reopened(folder, {}) as journal:  # with nothing left there is nothing to know
        assert journal.tuners() == []


def test_a_byte_changed_anywhere_in_the_database_never_changes_an_event(folder: Path) -> None:
    """Either it is detected, at the latest by `check`, or nothing that is read depends on it."""
    content = files(small(folder, DRAFTS))
    whole, detected = content[DB], 0
    for at in range(0, len(whole), 7):
        spoilt = whole[:at] + bytes([whole[at] ^ 0x04]) + whole[at + 1 :]
        try:
            assert checked(folder, content | {DB: spoilt}) == list(range(7))
        except TrimtabError:
            detected += 1
    assert detected > len(whole) // 7 // 4


def test_an_unreadable_page_is_named_by_its_event(folder: Path) -> None:
    drafts = [tell(str(i) * 300, key=str(i)) for i in range(10)]  # one event fills one page
    path = small(folder, drafts)
    content = files(path)
    at = content[DB].index(b"6" * 100)  # in its tree, or in a page that it overflows into
    page = at // 512 * 512
    damaged = content[DB][:page] + bytes(512) + content[DB][page + 512 :]
    with pytest.raises(Damaged, match=r"events 1 to 6 are intact; event 7 does not match"):
        checked(folder, content | {DB: damaged})
    page = content[DB].index(b'{"x":"888') // 512 * 512  # where its row begins: in the tree itself
    damaged = content[DB][:page] + bytes(512) + content[DB][page + 512 :]
    with pytest.raises(Damaged, match=r"SQLite says: .*tuner 'a': event 1 cannot be read"):
        reopened(folder, content | {DB: damaged})


def test_an_old_witness_is_no_false_alarm(folder: Path) -> None:
    """After a power failure it may be old, torn or gone; and a later append renews it."""
    path = small(folder, DRAFTS[:2])
    with open_journal(path) as journal:
        before = files(path)
        journal.append("a", DRAFTS[2])
        after = files(path)
    torn = after[LOCK][:30] + before[LOCK][30:]
    for lock in (before[LOCK], torn, b"", bytes(60), after[LOCK][:40]):
        content = {DB: after[DB], WAL: after[WAL], LOCK: lock}
        expect(reopened(folder, content), [0, 1, 2], retry=False)
        with reopened(folder, content) as journal:
            journal.append("a", DRAFTS[3])
            assert files(folder / "again" / DB)[LOCK] != lock


def test_an_older_copy_is_refused_until_told_otherwise(folder: Path) -> None:
    old = files(small(folder, DRAFTS[:2]))
    new = files(small(folder, DRAFTS))
    mixed = {DB: old[DB], LOCK: new[LOCK]}
    with pytest.raises(
        Damaged, match=r"event 7 .*older copy \(to go on with it, delete a\.db-lock\)"
    ):
        reopened(folder, mixed)
    expect(reopened(folder, {DB: old[DB]}), [0, 1], retry=True)


def test_a_foreign_database_is_left_alone(folder: Path) -> None:
    path = folder / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (name)")
    connection.commit()
    connection.close()
    content = path.read_bytes()
    with pytest.raises(TrimtabError, match="is a database of something else"):
        open_journal(path)
    (folder / "text.db").write_text("dear diary, " * 100)
    with pytest.raises(Damaged, match="file is not a database"):
        open_journal(folder / "text.db")
    with pytest.raises(TrimtabError, match="is not a folder; make it first"):
        open_journal(folder / "nowhere" / "a.db")
    assert path.read_bytes() == content
