"""`trimtab errata`: what the paper states and does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def errata(
    check: Annotated[
        bool, typer.Option("--check", help="Run every counterexample; exit 1 if one fails.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the document for the authors: one HTML file.")
    ] = None,
) -> None:
    """Show where the paper is wrong, with counterexamples that run, and what is true instead."""
    from rich.console import Console

    from trimtab.paper import errata as pages

    if out is not None:
        pages.write(out)
        typer.echo(f"wrote {out}")
    if check:
        if not pages.check(Console()):
            raise typer.Exit(1)
    elif out is None:
        for each in pages.ERRATA:
            typer.echo(f"{each.key}: {each.title} ({each.kind}; {each.place})")
        typer.echo("\ntrimtab errata --check runs the counterexamples.")
