"""`trimtab ask`, `tell` and the other commands of a live tuner.

Exit codes: 0 done; 1 it contradicts what is recorded, or the store cannot be used or is damaged;
2 the command, the spec or a value is wrong, or there is no such decision.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.text import Text

    from trimtab.live.spec.spec import Spec
    from trimtab.live.state.decision import Decision
    from trimtab.live.status import Status
    from trimtab.live.tuner import Tuner

SpecPath = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a TOML file.")]
Storage = Annotated[
    str | None, typer.Option(help="Where the journal is, if not where the spec says.")
]
Actor = Annotated[
    str | None,
    typer.Option(envvar="TRIMTAB_ACTOR", help="Who is behind it, for the history."),
]
Why = Annotated[str | None, typer.Option(help="For those who wonder later.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
COLOURS = {  # of a line of the status, by what it has
    "  helps: ": "green",
    "  harms: ": "red",
    ": BROKEN": "red",
    ": holds": "green",
    " held: ": "yellow",
    "  waits for approval": "yellow",
    " alarms, the last ": "yellow",
}
DecisionId = Annotated[str, typer.Argument(metavar="DECISION", help="The id that ask gave.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    deciding = (ask, tell, attach, override, pause, resume, rollback, approve, reject)
    for command in (*deciding, warm_start, status, explain, replay):
        app.command()(command)


def ask(
    spec: SpecPath,
    client: Annotated[str | None, typer.Option(help="Who asks; each has its own decision.")] = None,
    shadow: Annotated[
        bool | None,
        typer.Option(help="Only propose, or act again; as before by default.", show_default=False),
    ] = None,
    actor: Actor = None,
    storage: Storage = None,
    as_json: Json = False,
) -> None:
    """Print the values to play; the same again until they are told. Begins a new tuner."""
    with _tuner(spec, storage, shadow=shadow, actor=actor) as tuner:
        decision = tuner.ask(client)
    _print(decision, as_json, lambda: _decision(tuner.spec, decision))


def tell(
    spec: SpecPath,
    decision: DecisionId,
    metrics: Annotated[
        list[str] | None,
        typer.Argument(metavar="METRIC=MEAN[,SEM]...", help="What was measured, in its unit."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Of how many rounds these are means.")] = 1,
    correct: Annotated[
        bool, typer.Option("--correct", help="Replace what was told; METRIC= takes it back.")
    ] = False,
    control: Annotated[
        bool, typer.Option("--control", help="It was measured in the control arm.")
    ] = False,
    actor: Actor = None,
    storage: Storage = None,
    as_json: Json = False,
) -> None:
    """Record what a decision led to, all at once or in parts; twice the same has no effect."""
    measured = {name: _measured(text) for name, text in _pairs(metrics or [], "metric").items()}
    with _tuner(spec, storage, actor=actor) as tuner:
        arm: Literal["control"] | None = "control" if control else None
        receipt = tuner.tell(decision, measured, count=count, correct=correct, arm=arm)
    said = "all of it was told before" if receipt.repeated else "recorded"
    _print(receipt, as_json, lambda: f"{receipt.id}: {said}")


def attach(
    spec: SpecPath,
    values: Annotated[
        list[str], typer.Argument(metavar="KNOB=VALUE...", help="What somebody has set by hand.")
    ],
    why: Why = None,
    actor: Actor = None,
    storage: Storage = None,
    as_json: Json = False,
) -> None:
    """Record that somebody has set knobs by hand; those that are not named stay."""
    with _tuner(spec, storage, actor=actor) as tuner:
        tuner.attach(_values(values), why=why)
        _status(tuner, as_json)


def override(
    spec: SpecPath,
    values: Annotated[
        list[str], typer.Argument(metavar="KNOB=VALUE...", help="Where to go; others stay.")
    ],
    why: Why = None,
    actor: Actor = None,
    storage: Storage = None,
    as_json: Json = False,
) -> None:
    """Go to these values with the next decisions, within the guards, and stay until resume."""
    with _tuner(spec, storage, actor=actor) as tuner:
        tuner.override(_values(values), why=why)
        _status(tuner, as_json)


def warm_start(
    spec: SpecPath,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A CSV or Parquet file with a column per knob, metric, value, and perhaps noise "
            "and time.",
        ),
    ],
    actor: Actor = None,
    storage: Storage = None,
    as_json: Json = False,
) -> None:
    """Learn from a table of past measurements; twice the same has no effect."""
    with _tuner(spec, storage, actor=actor) as tuner:
        taken = tuner.warm_start(table)
    text = f"{taken:,} observations were taken in"
    typer.echo(json.dumps({"observations": taken}) if as_json else text)


def status(spec: SpecPath, storage: Storage = None, as_json: Json = False) -> None:
    """Print where the tuner stands."""
    with _tuner(spec, storage, read_only=True) as tuner:
        _status(tuner, as_json)


def explain(
    spec: SpecPath,
    decision: Annotated[
        str, typer.Argument(metavar="DECISION", help="The id that ask gave, or last.")
    ] = "last",
    storage: Storage = None,
    as_json: Json = False,
) -> None:
    """Print why a decision was made, and what was told of it."""
    with _tuner(spec, storage, read_only=True) as tuner:
        explanation = tuner.explain(decision)
    _print(explanation, as_json, lambda: str(explanation))


def pause(
    spec: SpecPath,
    why: Annotated[str, typer.Option(help="For those who wonder later.")] = "by hand",
    actor: Actor = None,
    storage: Storage = None,
    as_json: Json = False,
) -> None:
    """Leave the knobs alone until resume; only a broken guardrail still moves them back."""
    with _tuner(spec, storage, actor=actor) as tuner:
        tuner.pause(why)
        _status(tuner, as_json)


def resume(
    spec: SpecPath,
    why: Why = None,
    actor: Actor = None,
    storage: Storage = None,
    as_json: Json = False,
) -> None:
    """Tune again from where the system is now."""
    with _tuner(spec, storage, actor=actor) as tuner:
        tuner.resume(why=why)
        _status(tuner, as_json)


def rollback(
    spec: SpecPath,
    best: Annotated[
        bool, typer.Option("--best", help="To the good state of the least known loss.")
    ] = False,
    why: Why = None,
    actor: Actor = None,
    storage: Storage = None,
    as_json: Json = False,
) -> None:
    """Go back to the last good state with the next decisions, and pause there."""
    with _tuner(spec, storage, actor=actor) as tuner:
        tuner.rollback(best=best, why=why)
        _status(tuner, as_json)


def approve(
    spec: SpecPath,
    decision: DecisionId,
    why: Why = None,
    actor: Actor = None,
    storage: Storage = None,
    as_json: Json = False,
) -> None:
    """Have the next decisions carry out what a decision has proposed, within the guards."""
    with _tuner(spec, storage, actor=actor) as tuner:
        tuner.approve(decision, why=why)
        _status(tuner, as_json)


def reject(
    spec: SpecPath,
    decision: DecisionId,
    why: Why = None,
    actor: Actor = None,
    storage: Storage = None,
    as_json: Json = False,
) -> None:
    """Leave what a decision has proposed undone; the next look may propose something else."""
    with _tuner(spec, storage, actor=actor) as tuner:
        tuner.reject(decision, why=why)
        _status(tuner, as_json)


def replay(spec: SpecPath, storage: Storage = None, as_json: Json = False) -> None:
    """Play the journal again and compare every decision; exit 1 if one comes out otherwise."""
    from trimtab.live.replay import replay as play_again
    from trimtab.live.spec.spec import Spec
    from trimtab.live.store.opening import open_journal

    read = Spec.read(spec)
    with open_journal(storage or read.storage, read_only=True) as journal:
        played = play_again(journal, read.name)
    same = "as they were made" if played.same else f"otherwise: {', '.join(played.differing[:20])}"
    text = f"{played.events:,} events, {played.decisions:,} decisions, which come out {same}"
    _print(played, as_json, lambda: text)
    if not played.same:
        raise typer.Exit(1)


class _Shown(Protocol):
    """Something that has a plain form."""

    def to_dict(self) -> dict[str, Any]:
        """Its plain form."""


def _print(thing: _Shown, as_json: bool, text: Any) -> None:
    typer.echo(json.dumps(thing.to_dict()) if as_json else text())


def _tuner(spec: Path, storage: str | None, **options: Any) -> Tuner:
    from trimtab.live.tuner import Tuner

    return Tuner(spec, storage=storage, **options)


def _status(tuner: Tuner, as_json: bool) -> None:
    found = tuner.status()
    if as_json or not sys.stdout.isatty():
        _print(found, as_json, lambda: str(found))
        return
    from rich.console import Console

    console = Console(markup=False, highlight=False)
    console.print(coloured(found, datetime.now(UTC)), soft_wrap=True)


def coloured(status: Status, now: datetime) -> Text:
    """The status for a terminal: what is good or bad has a colour, times are also relative."""
    from rich.text import Text

    from trimtab.live.obstacles import brief

    lines = str(status).splitlines()
    text = Text().append(lines[0], style="bold")
    for line in lines[1:]:
        colour = next((style for mark, style in COLOURS.items() if mark in line), "")
        text.append(f"\n{line}", style=colour)
        if " alarms, the last " in line and status.last_alarm is not None:
            since = (now - status.last_alarm).total_seconds()
            text.append(f", {brief(since)} ago", style=colour)
    return text


def _decision(spec: Spec, decision: Decision) -> str:
    """A decision as lines: changed knobs are marked."""
    lines = [f"{decision.id} {decision.reason}"]
    for knob in spec.knobs:
        value = decision.values[knob.name]
        mark = (
            f"  (was {decision.previous[knob.name]:.6g})" if knob.name in decision.changed else ""
        )
        lines.append(f"  {knob.name} = {value:.6g} {knob.unit}".rstrip() + mark)
    lines += [f"  {note}" for note in decision.notes]
    if decision.proposal is not None:
        wanted = ", ".join(f"{name} = {x:.6g}" for name, x in decision.proposal.items())
        lines.append(f"  it proposes {wanted}")
    return "\n".join(lines)


def _pairs(given: list[str], what: str) -> Mapping[str, str]:
    """The texts by their names."""
    from trimtab.errors import InvalidInput

    found: dict[str, str] = {}
    for pair in given:
        name, sign, text = pair.partition("=")
        if not sign:
            raise InvalidInput(f"{pair!r}: write a {what}, =, and a number")
        if name in found:
            raise InvalidInput(f"{name!r} is given twice; give it once")
        found[name] = text
    return found


def _values(given: list[str]) -> dict[str, float]:
    """The values by their knobs."""
    return {name: _number(text, name) for name, text in _pairs(given, "knob").items()}


def _measured(text: str) -> Any:
    """A mean, a mean with its standard error, or None if the text is empty."""
    if text == "":
        return None
    mean, comma, error = text.partition(",")
    x = _number(mean, "a mean")
    return (x, _number(error, "a standard error")) if comma else x


def _number(text: str, name: str) -> float:
    from trimtab.errors import InvalidInput

    try:
        x = float(text)
    except ValueError:
        raise InvalidInput(f"{name} = {text!r} is no number") from None
    return int(x) if x.is_integer() and abs(x) < 2**53 else x
