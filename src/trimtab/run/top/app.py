"""The terminal program: what `view` has to show, a few keys, and a question before each order."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import DataTable, Footer, Static

from trimtab.errors import TrimtabError
from trimtab.live.store.journal import Journal
from trimtab.live.store.opening import open_journal
from trimtab.live.tuner import Tuner
from trimtab.run.top.view import Line, View, ago, sparkline, view_of

EVERY = 2.0  # seconds between two reads of the store
NARROW = 100  # columns below which trends are short
Order = Callable[[Tuner, str], None]


class Confirm(ModalScreen[bool]):
    """A question; y is yes, everything else is no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape,q", "answer(False)", "No"),
    ]
    CSS = """
    Confirm { align: center middle; }
    Confirm > Static { width: auto; max-width: 76; padding: 1 2; border: thick $warning; }
    """

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """The question."""
        yield Static(f"{self._question}\n\ny: yes    n: no", markup=False)

    def action_answer(self, yes: bool) -> None:
        """Give the answer."""
        self.dismiss(yes)


class Detail(Screen[None]):
    """One tuner."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "order('pause')", "Pause"),
        Binding("r", "order('resume')", "Resume"),
        Binding("b", "order('rollback')", "Rollback"),
        Binding("a", "order('approve')", "Approve"),
        Binding("x", "order('reject')", "Reject"),
        Binding("escape", "back", "Back"),
        Binding("q", "quit", "Quit"),
    ]
    CSS = """
    #headline { height: 1; background: $primary; color: $text; padding: 0 1; }
    #body { height: 1fr; padding: 0 1; }
    #message { height: auto; max-height: 3; color: $warning; padding: 0 1; }
    """

    def __init__(self, name: str, journal: Journal, url: str) -> None:
        super().__init__()
        self._tuner = Tuner.existing(name, journal)
        self._url = url
        self.view: View | None = None

    def compose(self) -> ComposeResult:
        """A headline, everything else, a message, the keys."""
        yield Static(id="headline", markup=False)
        with VerticalScroll(id="body"):
            yield Static(id="tables")
        yield Static(id="message", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look at the store."""
        self.look()
        self.set_interval(EVERY, self.look)

    def on_resize(self) -> None:
        """Draw anew in another width."""
        self._draw()

    def look(self) -> None:
        """Read what is new, and draw it."""
        try:
            self.view = view_of(self._tuner, datetime.now(UTC))
        except TrimtabError as error:
            self.say(f"the store cannot be read: {error}")
            return
        self._draw()

    def say(self, text: str) -> None:
        """Show a message until the next one."""
        self.query_one("#message", Static).update(text)

    def _draw(self) -> None:
        view = self.view
        if view is None:
            return
        width = self.size.width or 80
        self.query_one("#headline", Static).update(f"{view.name}: {view.headline}")
        self.query_one("#tables", Static).update(drawn(view, width, self.size.height or 24))

    def action_back(self) -> None:
        """To the list of tuners, if there is one."""
        if len(self.app.screen_stack) > 2:
            self.app.pop_screen()

    def action_quit(self) -> None:
        """End the program."""
        self.app.exit()

    def action_order(self, verb: str) -> None:
        """Ask, and then give the order."""
        view = self.view
        if view is None:
            return
        if verb in ("approve", "reject") and view.proposed is None:
            self.say("nothing waits for approval")
            return
        questions = {
            "pause": f"Pause {view.name}? Its knobs stay as they are until it is resumed.",
            "resume": f"Resume {view.name}? It tunes again from where the system is.",
            "rollback": f"Roll {view.name} back to the last good state, and pause there?",
            "approve": f"Approve {view.proposed}? Its values are then set.",
            "reject": f"Reject {view.proposed}? Its values are not set.",
        }

        def answered(yes: bool | None) -> None:
            if yes:
                self._give(verb, view.proposed)

        self.app.push_screen(Confirm(questions[verb]), answered)

    def _give(self, verb: str, proposed: str | None) -> None:
        actor = f"trimtab top ({getpass.getuser()})"
        orders: dict[str, Callable[[Tuner], None]] = {
            "pause": lambda tuner: tuner.pause("by hand", actor=actor),
            "resume": lambda tuner: tuner.resume(actor=actor),
            "rollback": lambda tuner: tuner.rollback(actor=actor),
            "approve": lambda tuner: tuner.approve(proposed or "", actor=actor),
            "reject": lambda tuner: tuner.reject(proposed or "", actor=actor),
        }
        try:
            with closing(open_journal(self._url)) as journal:
                orders[verb](Tuner.existing(self._tuner.name, journal))
            self.say(f"{verb}: done")
        except TrimtabError as error:
            self.say(f"{verb}: {error}")
        self.look()


class Fleet(Screen[None]):
    """All tuners of a store."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, journal: Journal, url: str) -> None:
        super().__init__()
        self._journal, self._url = journal, url
        self._tuners: dict[str, Tuner] = {}

    def compose(self) -> ComposeResult:
        """A table, and the keys."""
        table: DataTable[str] = DataTable(cursor_type="row", id="fleet")
        yield table
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look at the store."""
        table = self.query_one("#fleet", DataTable)
        table.add_columns("tuner", "mode", "rounds", "moves", "broken", "last event")
        self.look()
        self.set_interval(EVERY, self.look)

    def look(self) -> None:
        """Read what is new, and draw it."""
        table, now = self.query_one("#fleet", DataTable), datetime.now(UTC)
        for name in self._journal.tuners():
            try:
                tuner = self._tuners.get(name) or Tuner.existing(name, self._journal)
                self._tuners[name] = tuner
                cells = _cells(tuner, now)
            except TrimtabError as error:
                cells = [name, f"cannot be read: {error}"[:40], "", "", "", ""]
            if name in table.rows:
                for column, cell in zip(table.columns, cells, strict=True):
                    table.update_cell(name, column, cell)
            else:
                table.add_row(*cells, key=name)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open one."""
        name = event.row_key.value
        if name is not None:
            self.app.push_screen(Detail(name, self._journal, self._url))

    def action_quit(self) -> None:
        """End the program."""
        self.app.exit()


class Top(App[None]):
    """The program.

    Args:
        url: of the store.
        name: of the tuner; None: the list of all.
    """

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, url: str, name: str | None = None) -> None:
        super().__init__()
        self._url, self._name = url, name
        self._stack = ExitStack()
        self._journal = self._stack.enter_context(closing(open_journal(url, read_only=True)))
        if name is not None:
            Tuner.existing(name, self._journal)  # refuses here what is not there

    def on_mount(self) -> None:
        """Show the one tuner, or all."""
        if self._name is None:
            self.push_screen(Fleet(self._journal, self._url))
        else:
            self.push_screen(Detail(self._name, self._journal, self._url))

    def on_unmount(self) -> None:
        """Close the store."""
        self._stack.close()


def drawn(view: View, width: int, height: int) -> Table:
    """A tuner as tables, one below the other; as many events as there is room for."""
    trend = 16 if width < NARROW else min(60, width - 90)
    page = Table.grid(padding=0)
    page.add_column()
    page.add_row(_table("knob", view.knobs, trend))
    page.add_row(_table("metric", view.metrics, trend))
    for line in view.rules:
        style = {True: "green", False: "bold red", None: "dim"}[line.good]
        page.add_row(Text(f"{line.name}: {line.value}  {line.note}".rstrip(), style=style))
    page.add_row(Text("\n".join(view.why), style="cyan"))
    used = len(view.knobs) + len(view.metrics) + len(view.rules) + len(view.why) + 5
    for event in view.events[: max(height - used, 3)]:
        page.add_row(Text(event, style="dim", overflow="ellipsis", no_wrap=True))
    return page


def _table(what: str, lines: tuple[Line, ...], trend: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in (what, "now", "", "trend"):
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    for line in lines:
        bars = sparkline(line.trend, trend)
        table.add_row(line.name, line.value, Text(line.note, style="dim"), bars)
    return table


def _cells(tuner: Tuner, now: datetime) -> list[str]:
    status = tuner.status()
    broken = sum(holds is False for holds in status.constraints.values())
    newest = tuner.history(newest=True, limit=1)
    return [
        status.name,
        status.mode + (", shadow" if status.shadow else ""),
        f"{status.rounds:,}",
        f"{status.moves:,}",
        str(broken or ""),
        ago(newest[0].at, now) if newest else "",
    ]
