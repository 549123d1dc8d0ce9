"""`trimtab top`: driven by Textual's pilot, and in a real terminal by tmux, in two sizes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from tests.live.tuners import SPEC
from tests.run.fakes import Bench
from trimtab.errors import NotFound
from trimtab.live.store.opening import open_journal
from trimtab.live.tuner import Tuner
from trimtab.run.top.app import Top
from trimtab.run.top.view import view_of

TEXT = SPEC.replace("delta = 0.05", "")
SIZES = [(80, 24), (160, 50)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a tuner that has played forty rounds."""
    made = tmp_path_factory.mktemp("top")
    it = Bench(made, text=TEXT)
    it.rounds(40)
    it.journal.close()
    (made / "shop.toml").write_text(f'storage = "sqlite:///{made / "a.db"}"\n{TEXT}')
    return made


def driven(
    app: Top, drive: Callable[[Pilot[None]], Awaitable[None]], size: tuple[int, int]
) -> None:
    async def play() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await drive(pilot)

    asyncio.run(play())


def shown(pilot: Pilot[None], where: str) -> str:
    return str(pilot.app.screen.query_one(where, Static).render())


def status(folder: Path) -> tuple[str | None, str]:
    with open_journal(folder / "a.db") as journal:
        found = Tuner.existing("shop", journal).status()
        return found.why, found.mode


@pytest.mark.parametrize("size", SIZES)
def test_keys_ask_before_they_act(folder: Path, size: tuple[int, int]) -> None:
    async def drive(pilot: Pilot[None]) -> None:
        assert "shop: " in shown(pilot, "#headline")
        for key, answer, expected in (
            ("p", "n", None),
            ("p", "escape", None),
            ("p", "y", "by hand"),
            ("r", "n", "by hand"),
            ("r", "y", None),
            ("b", "n", None),
            ("b", "y", "rolled back by hand"),
            ("r", "y", None),
        ):
            await pilot.press(key)
            await pilot.pause()
            await pilot.press(answer)
            await pilot.pause()
            assert status(folder)[0] == expected, (key, answer)
        await pilot.press("a")
        assert shown(pilot, "#message") == "nothing waits for approval"
        await pilot.press("q")

    driven(Top(str(folder / "a.db"), "shop"), drive, size)
    with open_journal(folder / "a.db") as journal:
        rows = Tuner.existing("shop", journal).history(kinds=["pause", "rollback", "resume"])
    assert [row.kind for row in rows][-4:] == ["pause", "resume", "rollback", "resume"]
    assert all(str(row.actor).startswith("trimtab top (") for row in rows)


def test_a_refused_order_is_shown(tmp_path: Path) -> None:
    it = Bench(tmp_path, text=TEXT)
    it.loop.step()
    it.journal.close()

    async def drive(pilot: Pilot[None]) -> None:
        await pilot.press("b")
        await pilot.pause()
        await pilot.press("y")
        await pilot.pause()
        assert "no good state" in shown(pilot, "#message")

    driven(Top(str(tmp_path / "a.db"), "shop"), drive, (80, 24))


def test_the_list_of_a_store(folder: Path) -> None:
    async def drive(pilot: Pilot[None]) -> None:
        table = pilot.app.screen.query_one("#fleet", DataTable)
        assert table.get_row("shop")[:2] == ["shop", "tuning"]
        await pilot.press("enter")
        await pilot.pause()
        assert "shop: tuning" in shown(pilot, "#headline")
        await pilot.press("escape")
        await pilot.pause()
        assert pilot.app.screen.query_one("#fleet", DataTable).row_count == 1
        await pilot.press("q")

    driven(Top(str(folder / "a.db")), drive, (80, 24))


def test_what_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(NotFound):
        Top(str(folder / "a.db"), "shpo")
    with pytest.raises(NotFound):
        Top(str(folder / "none.db"))


def test_what_a_view_says(folder: Path) -> None:
    with open_journal(folder / "a.db", read_only=True) as journal:
        tuner = Tuner.existing("shop", journal)
        newest = tuner.history(newest=True, limit=1)[0]
        view = view_of(tuner, newest.at)
        moved = next(row for row in tuner.history(newest=True, kinds=["decide"]) if row.changed)
    assert [line.name for line in view.knobs] == ["ttl", "size", "mix"]
    assert [line.name for line in view.metrics] == ["latency", "sales", "errors", "load"]
    assert view.why[0] == f"last move {moved.id}, {moved.text}"
    assert view.rules[1].good is True
    assert view.rules[1].note == "1 against 9"
    assert "last event 0 s ago" in view.headline


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """tmux commands, on a server of our own."""
    socket = str(tmp_path / "tmux")

    def tmux(*words: str) -> str:
        command = ["tmux", "-S", socket, "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    yield tmux
    subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.needs("tmux")
@pytest.mark.parametrize("size", SIZES)
def test_in_a_real_terminal(
    folder: Path, terminal: Callable[..., str], size: tuple[int, int]
) -> None:
    width, height = size
    program = f"{Path(sys.executable).with_name('trimtab')} top {folder / 'shop.toml'}"
    terminal(
        *("new-session", "-d", "-x", str(width), "-y", str(height + 1), "-e", "LC_ALL=C.UTF-8"),
        f"{program}; sleep 60",
    )

    def screen(until: str) -> list[str]:
        lines: list[str] = []
        for _ in range(150):
            lines = terminal("capture-pane", "-p").split("\n")[:height]
            if until in "\n".join(lines):
                return lines
            time.sleep(0.1)
        raise AssertionError("\n".join(lines))

    lines = screen("Rollback")
    assert lines[0].startswith(" shop: tuning")
    assert max(map(len, lines)) <= width
    keys = [line for line in lines if line.strip()][-1]  # the last line
    assert keys.split()[:4] == ["p", "Pause", "r", "Resume"]
    for word in ("ttl", "latency", "trend", "load < 9: holds", "last move shop-", "▁"):
        assert any(word in line for line in lines), word
    terminal("send-keys", "p")
    screen("y: yes")
    terminal("send-keys", "y")
    assert screen("pause: done")[0].startswith(" shop: paused (by hand)")
    terminal("send-keys", "r")
    screen("y: yes")
    terminal("send-keys", "y")
    screen("resume: done")
