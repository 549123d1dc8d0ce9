"""Raw windows: what every arm played and what was measured, one row each, in a CSV file.

The columns are `run`, `window`, `of` (windows planned), `arm`, `at` (seconds since the run began),
`seconds` (wall time of the window), then the knobs in the order of the spec and in their units, the
metrics (objectives, then the others), `loss` (the weighted total; empty where an objective is
missing), `price` (of the move that led here) and `broken` (1 if a guardrail was).
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path

from trimtab.errors import InvalidInput
from trimtab.live import Spec

LARGE = 1_000_000  # bytes from which on the file is compressed


@dataclass(frozen=True, kw_only=True)
class Window:
    """One window of one arm."""

    run: int
    number: int  # of the window, from 1
    planned: int  # windows of the run; less were played if it was cut
    arm: str
    at: float  # seconds since the run began
    seconds: float  # of wall time
    values: dict[str, float]  # by knob, in its unit
    metrics: dict[str, float]  # by name, in its unit; NaN where missing
    loss: float  # weighted total of the objectives; NaN if one of them is missing
    price: float  # of the move from the window before, or from the start
    broken: bool  # whether a guardrail was


def metric_names(spec: Spec) -> list[str]:
    """All metrics of a spec: the objectives, then the others."""
    return [objective.name for objective in spec.objectives] + list(spec.metrics)


def write(windows: Iterable[Window], spec: Spec, folder: Path) -> Path:
    """The file `windows.csv` of a folder, or `windows.csv.gz` if it would be large."""
    knobs, metrics = [knob.name for knob in spec.knobs], metric_names(spec)
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(_columns(knobs, metrics))
    for w in windows:
        measured = [_plain(w.metrics.get(name, nan), 8) for name in metrics]
        clock = [f"{w.at:.3f}", _plain(w.seconds, 6)]
        values = [_plain(w.values[name], 15) for name in knobs]
        ends = [_plain(w.loss, 17), _plain(w.price, 17), int(w.broken)]
        out.writerow([w.run, w.number, w.planned, w.arm, *clock, *values, *measured, *ends])
    content = text.getvalue().encode()
    plain, packed = folder / "windows.csv", folder / "windows.csv.gz"
    here, other = (packed, plain) if len(content) > LARGE else (plain, packed)
    here.write_bytes(gzip.compress(content, mtime=0) if here == packed else content)
    other.unlink(missing_ok=True)
    return here


def read(path: Path, spec: Spec) -> list[Window]:
    """The windows in a file.

    Raises:
        InvalidInput: the file has other columns than those of this spec.
    """
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    knobs, metrics = [knob.name for knob in spec.knobs], metric_names(spec)
    rows = csv.DictReader(io.StringIO(text))
    if list(rows.fieldnames or ()) != _columns(knobs, metrics):
        raise InvalidInput(f"{path} has other columns than {spec.name}'s; give its own windows")
    return [
        Window(
            run=int(row["run"]),
            number=int(row["window"]),
            planned=int(row["of"]),
            arm=row["arm"],
            at=float(row["at"]),
            seconds=float(row["seconds"]),
            values={name: float(row[name]) for name in knobs},
            metrics={name: _number(row[name]) for name in metrics},
            loss=_number(row["loss"]),
            price=float(row["price"]),
            broken=row["broken"] == "1",
        )
        for row in rows
    ]


def _columns(knobs: list[str], metrics: list[str]) -> list[str]:
    clock = ["run", "window", "of", "arm", "at", "seconds"]
    return [*clock, *knobs, *metrics, "loss", "price", "broken"]


def _plain(value: float, digits: int) -> str:
    return "" if isnan(value) else f"{value:.{digits}g}"


def _number(text: str) -> float:
    return float(text) if text else nan
