"""Results in files that other programs read."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.errors import InvalidInput
from trimtab.registry import suggestion
from trimtab.sweeps.describe.settings import text

if TYPE_CHECKING:
    from trimtab.sweeps.results import Results


def save(results: Results, path: str | os.PathLike[str]) -> None:
    """Write the table in the format that the path ends with; the whole file or nothing."""
    target = Path(path)
    writer = WRITERS.get(target.suffix)
    if writer is None:
        raise InvalidInput(
            f"{target} has the ending {target.suffix!r}; {suggestion(target.suffix, WRITERS)}"
        )
    for name, content in writer(results, target.name).items():
        draft = target.with_name(f".{name}.{os.getpid()}.draft")
        try:
            draft.write_bytes(content)
            draft.replace(target.with_name(name))
        finally:
            draft.unlink(missing_ok=True)


def flat(results: Results) -> dict[str, Any]:
    """The columns with each one dimension; those of checkpoints are named after the round.

    `regret_at` of round 100 is `regret_at_100`, and `state` of knob 3 is `state_3`.
    """
    found: dict[str, Any] = {}
    for name, column in results.columns.items():
        if column.ndim == 1:
            found[name] = column
            continue
        at = range(column.shape[1])
        labels = at if name == "state" else results.provenance["settings"]["checkpoints"]
        found.update({f"{name}_{label}": column[:, j] for j, label in zip(at, labels, strict=True)})
    return found


def _provenance(results: Results) -> str:
    failures = [vars(failure) for failure in results.failures]
    return text({**results.provenance, "failures": failures})


def _parquet(results: Results, name: str) -> dict[str, bytes]:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        raise InvalidInput(
            f"{name} needs pyarrow; install it with: pip install 'trimtab[parquet]', or save as "
            ".npz or .csv"
        ) from None
    table = pa.table({key: pa.array(column) for key, column in flat(results).items()})
    content = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"trimtab": _provenance(results)}), content)
    return {name: content.getvalue()}


def _npz(results: Results, name: str) -> dict[str, bytes]:
    content = io.BytesIO()
    columns: dict[str, Any] = {**results.columns, "provenance": np.array(_provenance(results))}
    np.savez_compressed(content, allow_pickle=False, **columns)
    return {name: content.getvalue()}


def _csv(results: Results, name: str) -> dict[str, bytes]:
    """Numbers as their shortest exact decimals; the provenance beside, in a file of its own."""
    columns = flat(results)
    content = io.StringIO(newline="")
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return {name: content.getvalue().encode(), f"{name}.json": _provenance(results).encode()}


WRITERS: dict[str, Callable[[Results, str], dict[str, bytes]]] = {
    ".parquet": _parquet,
    ".npz": _npz,
    ".csv": _csv,
}
