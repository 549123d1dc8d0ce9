"""What a terminal shows of a tuner: plain lines, made of its status and its last events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from trimtab.live.explain import CAUSES
from trimtab.live.history import HistoryRow
from trimtab.live.spec.spec import Spec
from trimtab.live.status import Status
from trimtab.live.tuner import Tuner

RECENT = 240  # events of which trends are made
BARS = "▁▂▃▄▅▆▇█"
HELD = {True: "holds", False: "BROKEN", None: "not judged yet"}


@dataclass(frozen=True)
class Line:
    """A row of a table: a name, a value, and how it came there."""

    name: str
    value: str
    note: str
    trend: tuple[float, ...]
    good: bool | None = None  # of a constraint


@dataclass(frozen=True)
class View:
    """Everything that is shown of one tuner."""

    name: str
    headline: str
    knobs: tuple[Line, ...]
    metrics: tuple[Line, ...]
    rules: tuple[Line, ...]
    why: tuple[str, ...]
    events: tuple[str, ...]  # the newest first
    paused: bool
    proposed: str | None


def sparkline(values: Sequence[float], width: int) -> str:
    """The last values as bars, from the lowest to the highest of them.

    >>> sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8), sparkline([5, 5], 8), sparkline([], 8)
    ('▁▂▃▄▅▆▇█', '▁▁', '')
    """
    shown = values[-width:] if width > 0 else ()
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((x - low) * scale)] for x in shown)


def view_of(tuner: Tuner, now: datetime) -> View:
    """What is to be shown of a tuner now."""
    status, spec = tuner.status(), tuner.spec
    rows = tuner.history(newest=True, limit=RECENT)[::-1]
    decided = [row for row in rows if row.kind == "decide"]
    told = [row for row in rows if row.kind == "tell"]
    return View(
        name=status.name,
        headline=_headline(status, rows, now),
        knobs=tuple(_knobs(spec, status, decided)),
        metrics=tuple(_metrics(spec, told)),
        rules=tuple(_rules(spec, status, told)),
        why=tuple(_why(spec, status, decided)),
        events=tuple(f"{row.at:%H:%M:%S} {row.text}" for row in rows[::-1]),
        paused=status.why is not None,
        proposed=status.proposed_by,
    )


def ago(then: datetime, now: datetime) -> str:
    """How long ago something was.

    >>> from datetime import UTC, timedelta
    >>> now = datetime(2026, 1, 2, tzinfo=UTC)
    >>> [ago(now - timedelta(seconds=s), now) for s in (5, 90, 7200, 200000)]
    ['5 s ago', '1 min ago', '2 h ago', '2 d ago']
    """
    seconds = max((now - then).total_seconds(), 0.0)
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return f"{int(seconds)} s ago"


def _headline(status: Status, rows: Sequence[HistoryRow], now: datetime) -> str:
    mode = status.mode + (f" ({status.why})" if status.why else "")
    parts = [mode + (", shadow" if status.shadow else "")]
    parts.append(f"{status.rounds:,} rounds, {status.moves:,} moves")
    if status.rollbacks:
        parts.append(f"{status.rollbacks:,} rollback{'s' * (status.rollbacks > 1)}")
    if rows:
        parts.append(f"last event {ago(rows[-1].at, now)}")
    return " · ".join(parts)


def _knobs(spec: Spec, status: Status, decided: Sequence[HistoryRow]) -> list[Line]:
    goal = status.goal or {}
    lines = []
    for knob in spec.knobs:
        value, wanted = status.values[knob.name], goal.get(knob.name)
        note = f"{knob.low:g} to {knob.high:g}"
        if wanted is not None and wanted != value:
            note = f"goes to {wanted:.6g}"
        trend = tuple(row.values[knob.name] for row in decided if knob.name in row.values)
        lines.append(Line(knob.name, f"{value:.6g} {knob.unit}".rstrip(), note, trend))
    return lines


def _metrics(spec: Spec, told: Sequence[HistoryRow]) -> list[Line]:
    lines = []
    units = {each.name: each.unit for each in spec.objectives} | dict(spec.metrics)
    best = {each.name: each.direction for each in spec.objectives}
    for name, unit in units.items():
        trend = tuple(_means(told, name))
        value = f"{trend[-1]:.6g} {unit}".rstrip() if trend else "-"
        lines.append(Line(name, value, best.get(name, "watched"), trend))
    return lines


def _means(told: Sequence[HistoryRow], name: str) -> list[float]:
    found = (row.told.get(name) for row in told)
    return [each[0] for each in found if each is not None]


def _rules(spec: Spec, status: Status, told: Sequence[HistoryRow]) -> list[Line]:
    lines = []
    for constraint in spec.constraints:
        holds = status.constraints.get(constraint.rule)
        last = {name: means[-1] for name in constraint.metrics if (means := _means(told, name))}
        both = constraint.sides(last, status.baselines)
        note = "" if both is None else f"{both[0]:.6g} against {both[1]:.6g}"
        lines.append(Line(constraint.rule, HELD[holds], note, (), good=holds))
    return lines


def _why(spec: Spec, status: Status, decided: Sequence[HistoryRow]) -> list[str]:
    """Why the last move was made, and what holds the next one back."""
    lines = []
    move = next((row for row in reversed(decided) if row.changed), None)
    if move is not None:
        lines.append(f"last move {move.id}, {move.text}")
        look = _look(decided, move)
        if look:
            lines.append(f"because {CAUSES.get(str(look.get('cause')), look.get('cause'))}")
            if look.get("worth"):
                lines.append(f"the best move {look['worth']}")
    else:
        lines.append("nothing has moved lately")
    if status.proposed_by is not None:
        lines.append(f"{status.proposed_by} proposes a move, and waits for approval")
    lines += status.waits[:2]
    if status.next_look is not None:
        lines.append(status.next_look)
    return lines


def _look(decided: Sequence[HistoryRow], move: HistoryRow) -> Mapping[str, object] | None:
    """The look that a move rests on: its own, or the last one before."""
    before = [row.look for row in decided if row.number <= move.number and row.look is not None]
    return before[-1] if before else None
