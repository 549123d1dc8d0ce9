"""`trimtab doctor`: a spec checked, drawn and explained."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from trimtab.advise.doctor import Outlook, Report
    from trimtab.live.spec.lint import Check
    from trimtab.live.spec.spec import Spec

COLOURS = {"ok": "green", "warn": "yellow", "error": "red"}


def doctor(
    path: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a TOML file.")],
    horizon: Annotated[
        int, typer.Option(min=1, max=10**15, help="Rounds to advise for.")
    ] = 100_000,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not try the source and the target.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Check a spec; show who depends on what, which policy fits and what to expect of it.

    Its source and its target are tried once, without setting anything.
    """
    from trimtab.advise.doctor import examine

    report = examine(path, horizon=horizon)
    seen: tuple[Check, ...] = ()
    if report.spec is not None and not offline:
        from trimtab.run.tryout import tried

        seen = tried(report.spec)
    if json:
        import json as encoder
        from dataclasses import asdict

        tries = {"tried": [asdict(each) for each in seen]} if seen else {}
        typer.echo(encoder.dumps(report.to_dict() | tries, indent=2))
    else:
        from rich.console import Console

        for stream in (sys.stdout, sys.stderr):  # a unit may have characters a terminal has not
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        console = Console(markup=False, highlight=False)
        _print(report, console)
        if seen:
            console.print("\nSource and target, tried once", style="bold")
            _print_checks(seen, console, places=True)
    if not report.valid or any(each.level == "error" for each in seen):
        raise typer.Exit(2)


def _print(report: Report, console: Console) -> None:
    spec = report.spec
    if spec is None or report.advice is None or report.outlook is None:
        wrong = [check for check in report.checks if check.level == "error"]
        many = "1 problem" if len(wrong) == 1 else f"{len(wrong)} problems"
        console.print(f"{report.source}: {many}", style="bold")
        _print_checks(report.checks, console, places=False)
        return
    from trimtab.live.diagram import diagram

    sizes = f"{len(spec.knobs)} knobs, {len(spec.objectives)} objectives"
    console.print(f"{spec.name}: {sizes}, {len(spec.constraints)} constraints", style="bold")
    console.print(_knobs(spec))
    console.print(_objectives(spec))
    console.print("\nWho depends on what", style="bold")
    plain = not console.encoding.lower().startswith("utf")
    console.print(diagram(spec, plain=plain), soft_wrap=True)
    console.print("\nChecks", style="bold")
    _print_checks(report.checks, console, places=True)
    console.print("\nWhich policy: all variants, simulated", style="bold")
    console.print(str(report.advice), soft_wrap=True)
    console.print("\nWhat to expect", style="bold")
    if report.rehearsal is not None:
        console.print(f"- {report.rehearsal}", soft_wrap=True)
    for line in _expectations(spec, report.outlook):
        console.print(f"- {line}")


def _print_checks(found: tuple[Check, ...], console: Console, *, places: bool) -> None:
    from rich.text import Text

    for check in found:
        where = f"{check.where}: " if places and check.where else ""
        mark = Text(f"{check.level:<5} ", style=COLOURS[check.level])
        console.print(mark + Text(where + check.text), soft_wrap=True)


def _table(title: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _knobs(spec: Spec) -> Table:
    table = _table("Knobs", "", "knob", "now", "range", "at most", "settles", "whole range costs")
    for number, knob in enumerate(spec.knobs, 1):
        gentle, steps = knob.stability, f" by {knob.step}" if knob.steps else ""
        most = "-"
        if gentle.max_step is not None:
            sign = "x " if knob.scale == "log" else ""
            most = f"{sign}{gentle.max_step:g} per {gentle.per or 'decision'}"
        table.add_row(
            str(number),
            knob.name,
            knob.show(knob.start),
            f"{knob.low:g} to {knob.show(knob.high)}, {knob.scale}{steps}",
            most,
            str(gentle.stabilize_for or "-"),
            f"{gentle.move_cost:g}",
        )
    return table


def _objectives(spec: Spec) -> Table:
    table = _table("Objectives", "objective", "best", "worst", "weight", "noise", "knobs")
    for objective in spec.objectives:
        noise = "estimate" if objective.noise is None else f"{objective.noise:g}"
        table.add_row(
            objective.name,
            f"{objective.value(0.0):g} {objective.unit}".rstrip(),
            f"{objective.value(1.0):g} {objective.unit}".rstrip(),
            f"{objective.weight:g}",
            noise,
            ", ".join(objective.knobs),
        )
    return table


def _expectations(spec: Spec, outlook: Outlook) -> list[str]:
    from trimtab.advise.advice import figure

    T = f"{outlook.horizon:,} rounds"
    lines = []
    if outlook.held:
        lines.append(f"The start state stays for the first {outlook.held:,} rounds.")
    if outlook.looks:
        lines.append(
            f"In {T} it looks for a better state at most {figure(outlook.looks)} times, and "
            f"decides on a move at most as often: {figure(outlook.movement)} whole ranges of knobs "
            f"in all, at a price of {figure(outlook.price)}. These are upper bounds if all losses "
            "are observed and the system stays as it is; runs stay far below them."
        )
    dearest = max(spec.knobs, key=lambda knob: knob.stability.move_cost)
    price = dearest.stability.move_cost
    if price:
        lines.append(
            f"A price of 1 is a loss of 1: an objective of weight 1 at its worst instead of its "
            f"best, for one round. Moving {dearest.name} across its range costs {price:g}, as much "
            f"as {price / 0.01:g} rounds in which the total is 0.01 higher."
        )
    return lines
