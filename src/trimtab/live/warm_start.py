"""Observations from before there was a tuner, as a table."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from math import isnan, nan
from pathlib import Path
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.live.spec.spec import Spec
from trimtab.live.state.measurement import MOST, lesson_of
from trimtab.live.store.event import Draft, canonical
from trimtab.plain.faults import real, shown
from trimtab.registry import suggestion

CHUNK = 500  # states in one event


def rows_of(
    spec: Spec, table: Any, at: datetime, signed: Mapping[str, str]
) -> tuple[list[Draft], int]:
    """The events that make a tuner learn from the table, and how many observations they hold.

    Observations of one objective at one state become one, their weighted mean.

    Raises:
        InvalidInput: no table, a column that is missing, or a row that makes no sense.
    """
    columns = _columns(table)
    needed = [*(knob.name for knob in spec.knobs), "metric", "value"]
    for name in needed:
        if name not in columns:
            raise InvalidInput(
                f"the table has no column {name!r}; it needs {', '.join(needed)}, and may have "
                "time, noise and count"
            )
    sums: dict[tuple[float, ...], dict[int, list[float]]] = {}  # weight, weighted losses
    taken = 0
    for state, i, loss, count in _observations(spec, columns):
        weights = sums.setdefault(state, {}).setdefault(i, [0, 0.0])
        weights[0] += count
        weights[1] += count * loss
        taken += 1
    m = len(spec.objectives)
    rows = [
        [
            list(state),
            [seen[i][1] / seen[i][0] if i in seen else None for i in range(m)],
            [int(seen[i][0]) if i in seen else 1 for i in range(m)],
        ]
        for state, seen in sums.items()
    ]
    digest = hashlib.sha256(canonical({"rows": rows}).encode()).hexdigest()
    return [
        Draft(
            kind="warm",
            payload={"rows": rows[c : c + CHUNK], **signed},
            at=at,
            key=f"warm {digest} {c}",
        )
        for c in range(0, len(rows), CHUNK)
    ], taken


def _observations(
    spec: Spec, columns: Mapping[str, list[Any]]
) -> Iterator[tuple[tuple[float, ...], int, float, int]]:
    """State, objective, loss and weight of every row that says something of an objective."""
    objectives = [each.name for each in spec.objectives]
    known = [*objectives, *spec.metrics]
    for row, (metric, value) in enumerate(zip(columns["metric"], columns["value"], strict=True)):
        try:
            if metric not in known:
                raise InvalidInput(f"{metric!r} is no metric; {suggestion(str(metric), known)}")
            state = spec.place({k.name: _number(columns, k.name, row) for k in spec.knobs})
            noise = _number(columns, "noise", row) if "noise" in columns else nan
            mean = _float(value, "value")
            if metric not in objectives or isnan(mean):
                continue
            sem = None if isnan(noise) else noise
            if sem is not None and sem <= 0.0:
                raise InvalidInput(f"noise = {sem:g}; it must be above 0")
            count = _number(columns, "count", row) if "count" in columns else 1
            if not isinstance(count, int) or not 1 <= count <= MOST:
                raise InvalidInput(f"count = {count:g}; give a whole number from 1 to {MOST:,}")
            i = objectives.index(metric)
            spec.objectives[i].loss(mean)  # refuses mistaken units
            losses, counts = lesson_of(spec, {metric: [mean, sem, count]})
        except InvalidInput as error:
            raise InvalidInput(f"row {row + 1} of the table: {error}") from None
        if not isnan(losses[i]):
            yield tuple(state), i, losses[i], counts[i]


def _number(columns: Mapping[str, list[Any]], name: str, row: int) -> float:
    x = _float(columns[name][row], name)
    return int(x) if x.is_integer() and abs(x) < 2**53 else x


def _float(value: Any, name: str) -> float:
    """A number, or the text of one; NaN for what is missing."""
    if value is None or (isinstance(value, str) and not value):
        return nan
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise InvalidInput(f"{name} = {shown(value)} is no number") from None
    return real(value, name)


def _columns(table: Any) -> dict[str, list[Any]]:
    """The columns of a file, a data frame or a dict, all of one length."""
    if isinstance(table, str | Path):
        columns = _file(Path(table))
    elif isinstance(table, Mapping):
        columns = {str(name): _listed(values) for name, values in table.items()}
    elif hasattr(table, "columns") and hasattr(table, "__getitem__"):
        columns = {str(name): _listed(table[name]) for name in table.columns}
    else:
        raise InvalidInput(
            f"table is a {type(table).__name__}; give a path, a data frame or a dict of columns"
        )
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise InvalidInput("the columns of the table differ in length")
    return columns


def _listed(values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"a column of the table is {shown(values)}; give a list")
    return list(values)


def _file(path: Path) -> dict[str, list[Any]]:
    if path.suffix == ".parquet":
        try:
            from pyarrow import (  # type: ignore[import-untyped]
                ArrowException,
                parquet,
            )
        except ImportError:
            raise InvalidInput("Parquet needs pyarrow: pip install 'trimtab[parquet]'") from None
        try:
            return dict(parquet.read_table(path).to_pydict())
        except (OSError, ArrowException) as error:
            raise InvalidInput(f"{path} cannot be read: {error}") from None
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None
    if not rows:
        raise InvalidInput(f"{path} is empty; the first line names the columns")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise InvalidInput(f"{path}: line {number} has {len(row)} fields, not {len(rows[0])}")
    return {name: [row[c] for row in rows[1:]] for c, name in enumerate(rows[0])}
