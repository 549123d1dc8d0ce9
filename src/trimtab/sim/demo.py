"""`trimtab demo`: two policies tune the same simulated recommender."""

from __future__ import annotations

from functools import partial

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from trimtab.estimators import Confidence
from trimtab.policies import LazyGraphLinUCB, LinUCB
from trimtab.sim import Trace, play
from trimtab.sim.recommender import CRITERIA, KNOBS, START, recommender
from trimtab.sim.worlds import World

NOISE = 0.1
MOVE_COST = 0.5  # what turning one knob across its whole range costs, in units of loss


def run(*, rounds: int, seed: int) -> None:
    """Play the demo and print what came of it."""
    console = Console()
    world = recommender(noise=NOISE, move_cost=MOVE_COST)
    console.print(
        f"A recommender with {len(KNOBS)} knobs and {len(CRITERIA)} things people complain about. "
        f"Two policies see the same noisy complaints for {rounds:,} rounds. "
        "(A first run compiles its kernels before the bars start to move.)"
    )
    with Progress(
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        runs: dict[str, Trace] = {}
        radius = Confidence(sigma=NOISE, norm=world.norms)
        kinds: tuple[type[LinUCB | LazyGraphLinUCB], ...] = (LinUCB, LazyGraphLinUCB)
        for name, kind in zip(("LinUCB", "Algorithm 1"), kinds, strict=True):
            advance = partial(progress.advance, progress.add_task(name, total=rounds))
            policy = kind(world.problem, start=START, radius=radius, reg=0.01)
            runs[name] = play(policy, world, horizon=rounds, seed=seed, progress=advance)
    console.print(_results(runs, world))
    console.print(_settings(runs, world))


def _results(runs: dict[str, Trace], world: World) -> Table:
    table = Table(title=f"What it cost (a full turn of a knob costs {MOVE_COST:g})")
    for heading in ("", "loss", "regret", "moves", "movement", "loss + moving"):
        table.add_column(heading, justify="right" if heading else "left")
    some = next(iter(runs.values()))
    stay = some.horizon * world.loss(some.start)
    left = stay - float(some.lengths @ some.best)
    table.add_row("stay put", f"{stay:,.1f}", f"{left:,.1f}", "0", "0.0", f"{stay:,.1f}")
    for name, trace in runs.items():
        table.add_row(
            name,
            f"{trace.loss:,.1f}",
            f"{trace.regret:,.1f}",
            f"{trace.moves:,}",
            f"{trace.movement:,.1f}",
            f"{trace.loss + trace.move_cost:,.1f}",
        )
    return table


def _settings(runs: dict[str, Trace], world: World) -> Table:
    table = Table(title="Where the knobs ended")
    table.add_column("")
    for heading in ("start", *runs, "best"):
        table.add_column(heading, justify="right")
    final = [trace.states[-1] for trace in runs.values()]
    for j, knob in enumerate(KNOBS):
        values = (START[j], *(state[j] for state in final), world.optimum.state[j])
        table.add_row(knob, *(f"{x:.2f}" for x in values))
    return table
