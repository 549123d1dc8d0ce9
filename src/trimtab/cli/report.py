"""`trimtab report`: a journal as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.live import SpecPath, Storage


def report(
    spec: SpecPath,
    out: Annotated[Path, typer.Option(help="File for the page.")] = Path("trimtab-report.html"),
    storage: Storage = None,
) -> None:
    """Write a page about a tuner: what it did, why, and whether it was worth it.

    The page opens from disk, fetches nothing and can be sent to others.
    """
    from trimtab.live.tuner import Tuner
    from trimtab.plot import page
    from trimtab.plot.report import report as made

    page.refuse_unwritable(out)
    with Tuner(spec, storage=storage, read_only=True) as tuner:
        text = made(tuner)
    page.write(out, text)
    typer.echo(f"Report: {out}")
