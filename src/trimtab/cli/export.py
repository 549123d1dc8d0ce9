"""`trimtab export`: what a journal knows, for the warm start of another tuner."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.live import SpecPath, Storage


def export(
    spec: SpecPath,
    table: Annotated[
        bool, typer.Option("--table", help="As the table that warm-start reads: CSV.")
    ] = False,
    into: Annotated[
        Path | None, typer.Option(help="For this spec: other knobs, ranges or objectives.")
    ] = None,
    storage: Storage = None,
) -> None:
    """Print all that was observed at settled states, corrected, a line per metric and decision."""
    from functools import partial

    from trimtab.errors import InvalidInput
    from trimtab.live.spec.spec import Spec
    from trimtab.live.store.opening import open_journal
    from trimtab.live.table import columns_of, observations

    if not table:
        raise InvalidInput("give --table; `trimtab storage export` prints events as JSON")
    read = Spec.read(spec)
    target = None if into is None else Spec.read(into)
    with open_journal(storage or read.storage, read_only=True) as journal:
        writer = csv.DictWriter(sys.stdout, columns_of(target or read), lineterminator="\n")
        writer.writeheader()
        for row in observations(read, partial(journal.events, read.name), target):
            writer.writerow({name: "" if x is None else x for name, x in row.items()})
