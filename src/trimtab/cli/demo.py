"""`trimtab demo`: the first minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds to play with each policy.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated noise.")] = 0,
    out: Annotated[Path, typer.Option(help="File for the report, an HTML page.")] = Path(
        "trimtab-demo.html"
    ),
) -> None:
    """Tune a simulated recommender with standard LinUCB and with Steady, side by side."""
    from trimtab.sim.demo import run

    run(rounds=rounds, seed=seed, out=out)
