"""`trimtab history`: what has happened, as a table, CSV or JSON."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trimtab.cli.live import SpecPath, Storage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trimtab.live.history import HistoryRow
    from trimtab.live.spec.spec import Spec


def history(
    spec: SpecPath,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Only events of this kind: decide, tell, pause, ...; repeatable."),
    ] = None,
    moves: Annotated[bool, typer.Option("--moves", help="Only what has moved a knob.")] = False,
    by: Annotated[str | None, typer.Option(help="Only what this actor has done.")] = None,
    after: Annotated[int, typer.Option(min=0, help="Only events after this number.")] = 0,
    last: Annotated[int, typer.Option(min=1, help="How many rows, the newest.")] = 30,
    everything: Annotated[bool, typer.Option("--all", help="All rows.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, a column per knob.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    storage: Storage = None,
) -> None:
    """Print what has happened, an event a row, the newest last."""
    from trimtab.errors import InvalidInput
    from trimtab.live.tuner import Tuner

    if as_csv and as_json:
        raise InvalidInput("--csv and --json; give one of them")
    with Tuner(spec, storage=storage, read_only=True) as tuner:
        filtered = moves or by is not None
        limit = None if everything or filtered else last
        rows = tuner.history(after=after, limit=limit, newest=True, kinds=kind or None)
    if moves:
        rows = [row for row in rows if row.changed]
    if by is not None:
        rows = [row for row in rows if row.actor == by]
    rows = rows[::-1] if everything else rows[:last][::-1]
    if as_json:
        from trimtab.live.history import SCHEMA

        plain = {"schema": SCHEMA, "tuner": tuner.name, "rows": [row.to_dict() for row in rows]}
        typer.echo(json.dumps(plain))
    elif as_csv:
        _write(tuner.spec, rows)
    else:
        typer.echo(table(rows))


def _write(spec: Spec, rows: Sequence[HistoryRow]) -> None:
    """The rows as CSV: a column per knob and per metric, empty where a row says nothing of it."""
    knobs = [knob.name for knob in spec.knobs]
    metrics = [each.name for each in spec.objectives] + list(spec.metrics)
    about = ["number", "at", "kind", "id", "round", "reason", "actor", "moved", "price"]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*about, *knobs, *metrics, "text"])
    for row in rows:
        plain = row.to_dict()
        told = {name: x[0] for name, x in row.told.items() if x is not None}
        found: list[Any] = [plain[name] for name in about]
        found += [row.values.get(name) for name in knobs] + [told.get(name) for name in metrics]
        writer.writerow(["" if x is None else x for x in (*found, row.text)])


def table(rows: Sequence[HistoryRow]) -> str:
    """The rows as lines of text: number, time, kind, who, what."""
    who = any(row.actor for row in rows)
    cells = [
        [
            str(row.number),
            f"{row.at:%Y-%m-%d %H:%M:%S}",
            row.id if row.kind == "decide" and row.id else row.kind,
            *([row.actor or ""] if who else []),
            row.text,
        ]
        for row in rows
    ]
    cells.insert(0, ["event", "time (UTC)", "what", *(["who"] if who else []), ""])
    wide = [max(len(line[c]) for line in cells) for c in range(len(cells[0]) - 1)]
    return "\n".join(
        "  ".join([*(x.ljust(n) for x, n in zip(line, wide, strict=False)), line[-1]]).rstrip()
        for line in cells
    )
