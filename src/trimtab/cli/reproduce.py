"""`trimtab reproduce`: the paper's experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT", help="single-clique, heterogeneous, adult, fairness or all."
        ),
    ] = "all",
    out: Annotated[
        Path, typer.Option(help="Folder for report.html, results.json and figures/.")
    ] = Path("reproduction"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random draw.")] = 0,
    runs: Annotated[
        int | None,
        typer.Option(min=2, help="Runs per setting; by default as many as each experiment has."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; by default one per core. They change no number."),
    ] = None,
) -> None:
    """Play the paper's experiments and compare its numbers with ours."""
    import os

    from trimtab.paper.reproduce import run

    run(experiment, out=out, seed=seed, runs=runs, workers=workers or os.cpu_count() or 1)
