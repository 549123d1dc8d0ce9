"""Disks that are full or may not be written: nothing is acknowledged that is not on the disk."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trimtab as tt
from tests.live.tuners import spec_with
from trimtab.live.replay import replay
from trimtab.live.store.event import Draft
from trimtab.live.store.faults import Unavailable
from trimtab.live.store.opening import open_journal

NOBODY = 65534


def in_child(work: Callable[[], Any]) -> Any:
    """What the work gives in a forked process, whose limits and user it may change."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        said = b"null"
        try:
            said = json.dumps(work()).encode()
        finally:
            os.write(writer, said)
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return json.loads(said)


@pytest.mark.parametrize("pages", [3, 10, 23, 40])
def test_a_full_disk_acknowledges_nothing_more(tmp_path: Path, pages: int) -> None:
    """A limit on the size of files stands for the end of the disk; then there is room again."""
    path, spec = tmp_path / "a.db", spec_with()
    tt.Tuner(spec, storage=str(path)).close()
    before = path.stat().st_size

    def work() -> list[Any]:
        told, refused = [], 0
        tuner = tt.Tuner(spec, storage=str(path))
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (before + 4096 * pages, hard))
        for n in range(400):
            try:
                decision = tuner.ask()
                tuner.tell(decision.id, {"latency": 100.0 + n, "sales": 5.0})
                told.append(decision.id)
            except Unavailable:
                refused += 1
                if refused > 3:
                    break
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        decision = tuner.ask()
        told.append(decision.id)
        tuner.tell(decision.id, {"latency": 90.0, "sales": 5.0})
        return [told, refused]

    told, refused = in_child(work)
    assert refused > 3
    with open_journal(path) as journal:
        journal.check()
        events = list(journal.events("shop"))
        seen = [f"shop-{e.payload['decision']}" for e in events if e.kind == "tell"]
        assert [id for id in told if id in seen] == told
        assert len(set(seen)) == len(seen)
        assert replay(journal, "shop").same


def test_a_folder_that_may_not_be_written_gives_an_error_and_status_still_works(
    tmp_path: Path,
) -> None:
    """The rights of a folder stand for a file system that is mounted to be read only."""
    folder, spec = tmp_path / "store", spec_with()
    folder.mkdir()
    path = folder / "a.db"
    with tt.Tuner(spec, storage=str(path)) as tuner:
        decision = tuner.ask()
        tuner.tell(decision.id, {"latency": 90.0, "sales": 5.0})
        events = tuner.status().events
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    for parent in (tmp_path, *tmp_path.parents[:3]):  # the third where tests run in parallel
        if not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)

    def work() -> list[Any]:
        if os.geteuid() == 0:  # to whom rights mean nothing
            os.setresuid(NOBODY, NOBODY, NOBODY)
        said = []
        for begin in (
            lambda: tt.Tuner(spec, storage=str(path)),
            lambda: open_journal(path).append("shop", Draft(kind="x", payload={}, at=decision.at)),
        ):
            try:
                begin()
                said.append("written")
            except Unavailable as error:
                said.append(str(error))
        with tt.Tuner(spec, storage=str(path), read_only=True) as tuner:
            return [*said, tuner.status().events]

    first, second, seen = in_child(work)
    assert "cannot be opened for writing: Permission denied" in first
    assert "cannot be opened for writing: Permission denied" in second
    assert seen == events
    folder.chmod(0o755)
