"""What the pages show, as plain values: templates decide nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.errors import TrimtabError
from trimtab.live.history import HistoryRow
from trimtab.live.status import Status
from trimtab.live.tuner import Tuner
from trimtab.serve.access.roles import Identity
from trimtab.serve.service import Service

MOST_TUNERS = 50  # on one page
MOST_ROWS = 50  # of history on one page
WORDS = {
    "tuning": "tuning",
    "paused": "paused",
    "manual": "held by hand",
    "rollback": "rolling back",
}
LOOKS = {"tuning": "good", "paused": "fair", "manual": "fair", "rollback": "bad"}


@dataclass(frozen=True, kw_only=True)
class TunerLine:
    """A tuner in the list of all."""

    name: str
    mode: str
    look: str  # good, fair, bad: a class of the style, and a word beside it says the same
    note: str
    values: str
    rounds: str
    moves: str
    status: Status | None


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A page of tuners."""

    lines: list[TunerLine]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class KnobLine:
    """A knob as it stands."""

    name: str
    unit: str
    value: float
    low: float
    high: float
    step: float | str
    shown: str
    start: str
    goal: str
    good: str
    position: float  # per cent of its range


@dataclass(frozen=True, kw_only=True)
class TunerView:
    """Everything of one tuner."""

    name: str
    mode: str
    look: str
    note: str
    status: Status
    facts: list[str]  # whether it helps, what holds it back, alarms
    knobs: list[KnobLine]
    rules: list[tuple[str, str, str]]  # the rule, a word, its look
    explanation: str
    proposal: str
    rows: list[HistoryRow]
    event: int  # the last one, after which news begin


def overview_of(service: Service, who: Identity, after: str) -> Overview:
    """A page of the tuners that somebody may see."""
    names = service.tables.names(after=after, limit=MOST_TUNERS, only=who.tuner)
    total = service.tables.count() if who.tuner is None else len(names)
    more = names[-1] if len(names) == MOST_TUNERS and who.tuner is None else None
    return Overview(lines=[_line(service, name) for name in names], total=total, next=more)


def _line(service: Service, name: str) -> TunerLine:
    try:
        status = service.tuners.get(name).status()
    except TrimtabError as error:  # one that cannot be read must not hide the others
        return TunerLine(
            name=name,
            mode="unreadable",
            look="bad",
            note=str(error),
            values="",
            rounds="",
            moves="",
            status=None,
        )
    values = ", ".join(f"{knob} {x:.4g}" for knob, x in list(status.values.items())[:4])
    return TunerLine(
        name=name,
        mode=WORDS[status.mode] + (", shadow" if status.shadow else ""),
        look=_look(status),
        note=_note(status),
        values=values + (", ..." if len(status.values) > 4 else ""),
        rounds=f"{status.rounds:,}",
        moves=f"{status.moves:,}",
        status=status,
    )


def tuner_of(tuner: Tuner) -> TunerView:
    """One tuner, as it stands now."""
    status = tuner.status()
    rows = tuner.history(limit=MOST_ROWS, newest=True)
    decided = status.rounds > 0
    proposal = ""
    if status.proposal is not None:
        moves = (
            f"{knob} {brief(status.values[knob])} -> {brief(x)}"
            for knob, x in status.proposal.items()
            if x != status.values[knob]
        )
        proposal = "; ".join(moves)
    words = {True: ("holds", "good"), False: ("BROKEN", "bad"), None: ("not judged yet", "fair")}
    return TunerView(
        name=tuner.name,
        mode=WORDS[status.mode] + (", shadow" if status.shadow else ""),
        look=_look(status),
        note=_note(status),
        status=status,
        facts=_facts(status),
        knobs=[_knob(knob, status) for knob in tuner.recorded_spec().knobs],
        rules=[(rule, *words[holds]) for rule, holds in status.constraints.items()],
        explanation=str(tuner.explain("last")) if decided else "no decision yet: nobody has asked",
        proposal=proposal,
        rows=rows,
        event=rows[0].number if rows else 0,
    )


def _knob(knob: Any, status: Status) -> KnobLine:
    def of(values: Mapping[str, float] | None) -> str:
        return "" if values is None else brief(values[knob.name])

    value = status.values[knob.name]
    return KnobLine(
        name=knob.name,
        unit=knob.unit,
        value=value,
        low=knob.low,
        high=knob.high,
        step="any" if knob.step is None else knob.step,
        shown=brief(value),
        start=brief(knob.start),
        goal=of(status.goal),
        good=of(status.good),
        position=round(100.0 * float(knob.normalise(value)), 1),
    )


def _facts(status: Status) -> list[str]:
    found = [] if status.helping is None else [str(status.helping)]
    found += [str(each) for each in status.obstacles]
    if status.last_alarm is not None:
        times = f"{status.alarms:,} alarm{'s' * (status.alarms != 1)}"
        found.append(f"{times}, the last at {status.last_alarm:%Y-%m-%d %H:%M:%S} UTC")
    return found


def _look(status: Status) -> str:
    broken = any(holds is False for holds in status.constraints.values())
    return "bad" if broken else LOOKS[status.mode]


def _note(status: Status) -> str:
    """The one thing that an operator should know."""
    broken = [rule for rule, holds in status.constraints.items() if holds is False]
    if broken:
        return f"broken: {broken[0]}"
    if status.proposal is not None:
        return f"{status.proposed_by} waits for approval"
    return status.why or (status.waits[0] if status.waits else "")


def brief(value: float) -> str:
    """A value in a few digits."""
    return f"{value:.6g}"
