"""`trimtab sweep`: policies x worlds x seeds, from a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def sweep(
    spec: Annotated[
        Path, typer.Argument(metavar="SWEEP", help="The TOML file that describes the sweep.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where runs are kept as they end; the same command goes on from there. "
            "By default the spec's path, ending in .sqlite."
        ),
    ] = None,
    table: Annotated[
        list[Path] | None,
        typer.Option(help="Also write the results to a .parquet, .npz or .csv file; repeatable."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; as many as there are cores by default.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Make the runs on the Dask cluster at this address.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds 0, 1, ..., instead of the spec's.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Rounds of every run, instead of the spec's.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Compare with this policy, instead of the spec's.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print results and provenance as JSON.")
    ] = False,
    progress: Annotated[
        bool | None, typer.Option(help="Show a bar; by default on a terminal.", show_default=False)
    ] = None,
) -> None:
    """Play every policy in every world with every seed; go on where a sweep was stopped."""
    from trimtab.sweeps.command import run

    done = run(
        spec,
        out=out,
        tables=table or [],
        workers=workers,
        scheduler=scheduler,
        instead={"seeds": seeds, "horizon": horizon, "baseline": baseline},
        as_json=json,
        progress=progress,
    )
    raise typer.Exit(done)
