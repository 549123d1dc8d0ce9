"""`trimtab demo`: the first minute."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds to play with each policy.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated noise.")] = 0,
) -> None:
    """Tune a simulated recommender with standard LinUCB and with Algorithm 1, side by side."""
    from trimtab.sim.demo import run

    run(rounds=rounds, seed=seed)
