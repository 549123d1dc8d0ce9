"""`trimtab sweep`: what the command does, and prints."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from trimtab.errors import InvalidInput
from trimtab.sweeps.cluster import connect
from trimtab.sweeps.conduct import conduct
from trimtab.sweeps.results import Results
from trimtab.sweeps.spec import read_spec
from trimtab.sweeps.summary import WIDTH, Summary
from trimtab.sweeps.tables import WRITERS, flat

INTERRUPTED = 130  # what a shell gives for Ctrl-C


def run(
    path: Path,
    *,
    out: Path | None,
    tables: Sequence[Path],
    workers: int | None,
    scheduler: str | None,
    instead: Mapping[str, Any],
    as_json: bool,
    progress: bool | None,
) -> int:
    """Make the sweep of a file and print what came of it; the exit code of the command."""
    spec = read_spec(path, **instead)
    for table in tables:
        if table.suffix not in WRITERS:
            raise InvalidInput(
                f"{table} has the ending {table.suffix!r}; choose {', '.join(WRITERS)}"
            )
    if scheduler is not None and workers is not None:
        raise InvalidInput("--workers and --scheduler: give one, a cluster has its own workers")
    store = path.with_suffix(".sqlite") if out is None else out
    notes = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        with nullcontext() if scheduler is None else connect(scheduler) as client:
            results = conduct(
                spec.plan,
                store=store,
                workers=workers or os.cpu_count() or 1,
                client=client,
                progress=progress,
            )
    except KeyboardInterrupt as stop:
        notes.print(f"trimtab: {stop}", markup=False)
        return INTERRUPTED
    for table in tables:
        results.save(table)
    if as_json:
        print(json.dumps(_plain(results, spec.baseline)))  # noqa: T201 - for programs, unwrapped
    elif len(results):
        _show(results.summary(spec.baseline))
    notes.print(f"{len(results)} runs are in {store}", markup=False)
    if results.failures:
        notes.print(_complaint(results), markup=False)
    return 1 if results.failures else 0


def _show(summary: Summary) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    console.print(*summary.tables())
    console.print("Means over seeds ± half a 95 % interval. The price is that of movement.")


def _complaint(results: Results) -> str:
    """Which runs failed and why, each reason once."""
    reasons = Counter((f.policy, f.world, f.error) for f in results.failures)
    lines = [
        f"  {policy} in {world}, {count} x: {error}"
        for (policy, world, error), count in reasons.most_common()
    ]
    return "\n".join(
        (f"{len(results.failures)} runs failed; the same command tries them again", *lines)
    )


def _plain(results: Results, baseline: str | None) -> dict[str, Any]:
    found: dict[str, Any] = _finite(
        {
            "provenance": results.provenance,
            "columns": {name: column.tolist() for name, column in flat(results).items()},
            "failures": [asdict(failure) for failure in results.failures],
            "summary": [asdict(line) for line in results.summary(baseline).lines],
        }
    )
    return found


def _finite(value: Any) -> Any:
    """The value with None for what JSON does not know: NaN and infinity."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
