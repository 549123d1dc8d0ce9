"""`trimtab demo`: the first minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds to play.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated noise.")] = 0,
    out: Annotated[Path, typer.Option(help="File for the report, an HTML page.")] = Path(
        "trimtab-demo.html"
    ),
) -> None:
    """Tune a simulated recommender live, beside LinUCB and Optuna; it ends with a report."""
    from trimtab.demo.story import run

    run(rounds_=rounds, seed=seed, out=out)
