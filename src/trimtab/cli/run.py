"""`trimtab run`: the loop as a program.

Exit codes: 0 it was stopped, or `--once` went well; 1 `--once` met a fault or waits for metrics;
2 the spec is wrong, or lacks a source or a target.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from trimtab.cli.live import SpecPath, Storage


def run(
    spec: SpecPath,
    once: Annotated[
        bool, typer.Option("--once", help="One round, for cron: tell what is due, set, and end.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and propose only; write and set nothing.")
    ] = False,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve metrics of its own for Prometheus there."),
    ] = None,
    log: Annotated[
        Literal["text", "json"], typer.Option(help="For people, or for machines.")
    ] = "text",
    storage: Storage = None,
) -> None:
    """Pull metrics, decide, and push values, until stopped. SIGHUP reads the limits again."""
    from trimtab.run.process import run_process

    if not run_process(
        spec, storage=storage, once=once, dry=dry_run, metrics=metrics, as_json=log == "json"
    ):
        raise typer.Exit(1)
