"""`trimtab report`: a journal as one page that opens from disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trimtab import __version__
from trimtab.plot import page
from trimtab.plot.costs import cost, movement, worth
from trimtab.plot.curves import known, responses
from trimtab.plot.dependencies import graph
from trimtab.plot.lanes import knobs
from trimtab.plot.metrics import objectives
from trimtab.plot.moves import Move, moves_of, summary
from trimtab.plot.page import Cell, Section
from trimtab.plot.sources import Source, rounds, tuner_of
from trimtab.plot.table import Rounds

if TYPE_CHECKING:
    from trimtab.live.history import HistoryRow
    from trimtab.live.status import Status
    from trimtab.live.tuner import Tuner

SHOWN = 8  # moves and events in the open; older ones are behind a fold
VERDICTS = {"better": "good", "worse": "bad", "within noise": "short", "not known": "short"}


def report(source: Source, *, extra: Sequence[Section] = (), lead: str = "") -> str:
    """The page of a tuner: now, timeline, was it worth it, moves, what is known, health.

    Args:
        source: a `Tuner`, a spec or its path, whose journal is read.
        extra: sections that come first.
        lead: what stands under the title; one sentence about the tuner by default.
    """
    with tuner_of(source) as tuner:
        table, status = rounds(tuner), tuner.status()
        sections = [*extra, *_sections(tuner, table, status)]
    return page.page(
        title=f"{tuner.name}: what trimtab did",
        lead=lead or _lead(table, status, moves_of(table)),
        sections=sections,
        foot=f"Made by trimtab {__version__} from the journal, events 1 to {status.events:,}.",
    )


def sections_of(tuner: Tuner) -> list[Section]:
    """The sections of a tuner's report, for a page that shows more than that."""
    return _sections(tuner, rounds(tuner), tuner.status())


def _sections(tuner: Tuner, table: Rounds, status: Status) -> list[Section]:
    sections = [Section("now", "Now", _now(tuner, status))]
    if table.first.size:
        sections += [
            Section("timeline", "Timeline", _timeline(tuner, table)),
            Section("worth", "Was it worth it?", _worth(table)),
            Section("moves", "Moves, promised and realised", _moves(moves_of(table))),
            Section("known", "What is known", _known(tuner, table)),
        ]
    return [*sections, Section("health", "Health", _health(table, status))]


def _lead(table: Rounds, status: Status, moves: Sequence[Move]) -> str:
    if not table.first.size:
        return "No decision has been made yet."
    rows = f"{table.horizon:,} round{'s' * (table.horizon != 1)}"
    said = worth("It", table) if table.saved is not None else ""
    if status.helping is not None:
        said += f" Now: {status.helping}."
    return f"{status.name} is {status.mode}: {rows}, {summary(moves)}. {said}".strip()


def _now(tuner: Tuner, status: Status) -> str:
    rows: list[tuple[str | float | Cell, ...]] = []
    for knob in tuner.spec.knobs:
        goal = None if status.goal is None else status.goal[knob.name]
        figures = (status.values[knob.name], knob.start, goal)
        cells = [Cell("" if x is None else f"{x:.4g}", "n") for x in figures]
        rows.append((knob.name, *cells, knob.unit))
    text = str(status)
    return page.table(
        "Values of the knobs", ("knob", "now", "at the start", "on the way to", "unit"), rows
    ) + page.preformatted(text, label="Status, as trimtab status prints it")


def _timeline(tuner: Tuner, table: Rounds) -> str:
    people = [row for row in tuner.history() if row.kind not in ("decide", "tell")]
    figures = page.drawing(
        knobs(table),
        caption="Values of the knobs. Marks are moves: point at one to read why it was made.",
    ) + page.drawing(
        objectives(table),
        caption="What was measured, its mean while the knobs stayed, and what must not be passed.",
    )
    return figures + _events(people)


def _events(rows: Sequence[HistoryRow]) -> str:
    cells = [
        (f"{row.at:%Y-%m-%d %H:%M}", row.kind, row.actor or "", row.text) for row in rows[::-1]
    ]
    columns = ("when (UTC)", "what", "who", "in words")
    open_ = page.table("Beside decisions and measurements", columns, cells[:SHOWN])
    if len(cells) <= SHOWN:
        return open_
    older = page.table("Older ones", columns, cells[SHOWN:])
    return open_ + page.folded(f"{len(cells) - SHOWN:,} older events", older)


def _worth(table: Rounds) -> str:
    if table.saved is None:
        return page.paragraph(
            "It was never measured at its start, so that nobody knows what staying there would "
            "have cost."
        )
    unmeasured = int(np.isnan(table.loss).sum())
    note = f" {unmeasured:,} rounds without a full measurement are left out." if unmeasured else ""
    return (
        page.paragraph(
            f"{worth('Tuning', table)} Losses are sums of all objectives with their weights, 0 at "
            "the better end of each range and 1 at the worse. What staying put costs is the mean "
            f"of the rounds at the start; if the system has changed by itself, it misleads.{note}"
        )
        + page.drawing(cost(table), caption="Above the dotted line, tuning has paid for its moves.")
        + page.drawing(movement(table), caption="Movement, and the budgets that limit it.")
    )


def _moves(moves: Sequence[Move]) -> str:
    if not moves:
        return page.paragraph("There were none.")
    columns = ("round", "when (UTC)", "kind", "what", "promised", "realised", "verdict", "price")
    rows = [_row(move) for move in reversed(moves)]
    text = (
        "Promised is by how much the estimates said the move would lower the loss of a round; a "
        "move to learn may promise nothing. Realised is the mean before it less the mean after "
        "it, plus or minus one standard error."
    )
    body = page.paragraph(text) + page.table("The newest moves", columns, rows[:SHOWN])
    if len(rows) <= SHOWN:
        return body
    older = page.table("Older moves", columns, rows[SHOWN:])
    return body + page.folded(f"{len(rows) - SHOWN:,} older moves", older)


def _row(move: Move) -> tuple[str | float | Cell, ...]:
    realised = "" if np.isnan(move.realised) else f"{move.realised:+.3f}"
    error = "" if np.isnan(move.error) or not move.error else f" ± {move.error:.3f}"
    return (
        f"{move.round:,}",
        "" if move.at is None else f"{move.at:%m-%d %H:%M}",
        Cell(move.kind, "short"),
        ", ".join(move.steps),
        Cell("" if move.expected is None else f"{move.expected:+.3f}", "n"),
        Cell(realised + error, "n"),
        Cell(move.verdict, VERDICTS[move.verdict]),
        Cell(f"{move.price:.3f}", "n"),
    )


def _known(tuner: Tuner, table: Rounds) -> str:
    figures = ""
    if known(tuner):
        figures = page.drawing(
            responses(tuner),
            caption="Estimates of each objective over each knob it reads, the others as they are "
            "now (dotted line), with 95 % bands. The strongest come first.",
        )
    return figures + page.drawing(
        graph(table), caption="Which objective reads which knobs, and how often each was moved."
    )


def _health(table: Rounds, status: Status) -> str:
    rows = []
    for metric in table.metrics:
        told = int((~np.isnan(metric.values)).sum())
        noise = "" if metric.noise is None else f"{metric.noise:.3g} {metric.unit}".strip()
        share = f"{told / metric.values.size:.0%}" if metric.values.size else ""
        rows.append((metric.name, f"{told:,}", share, noise))
    rules = [
        (rule, {True: "holds", False: "broken", None: "not judged yet"}[holds])
        for rule, holds in status.constraints.items()
    ]
    body = page.table("Metrics", ("metric", "told", "of all rounds", "noise of one"), rows)
    if rules:
        body += page.table("Rules", ("rule", "when last judged"), rules)
    alarm = "" if status.last_alarm is None else f", the last {status.last_alarm:%Y-%m-%d %H:%M}"
    cut = ", ".join(f"{name} {n:,} time{'s' * (n != 1)}" for name, n in status.cuts.items() if n)
    lines = [
        f"Alarms, because the system seemed to have changed: {status.alarms:,}{alarm}.",
        f"Wild measurements were cut: {cut}." if cut else "No wild measurement was cut.",
        f"Decisions of which nothing was told: {status.unanswered:,}.",
        f"Rollbacks: {status.rollbacks:,}. Corrections of what was told: {status.corrections:,}.",
    ]
    held = [f"Held back: {each}" for each in status.obstacles]
    return body + page.bullets([*held, *lines])
