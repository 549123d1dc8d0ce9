"""`trimtab demo`: Steady and standard LinUCB tune the same simulated recommender."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from trimtab.errors import InvalidInput
from trimtab.learn import Confidence
from trimtab.parallel.progress import progress_bar
from trimtab.policies import LinUCB, SteadyGraphLinUCB
from trimtab.sim import Trace, play
from trimtab.sim.demo_report import HEADS, bills, reasons, steps, to_html
from trimtab.sim.recommender import CRITERIA, KNOBS, START, recommender
from trimtab.sim.worlds import World

NOISE = 0.1
MOVE_COST = 2.0  # of turning one knob across its whole range: about a round's loss
REG = 0.01
LAST = 3  # moves that are explained on the terminal


def run(*, rounds: int, seed: int, out: Path) -> None:
    """Play the demo, print what came of it and write the report."""
    _writable(out)
    console = Console()
    world = recommender(noise=NOISE, move_cost=MOVE_COST)
    console.print(
        f"A recommender has {len(KNOBS)} knobs and {len(CRITERIA)} things that people complain "
        f"about. Two policies tune it for {rounds:,} rounds, from the same noisy complaints. "
        f"Turning a knob across its whole range costs {MOVE_COST:g}."
    )
    runs: dict[str, Trace] = {}
    for name in ("LinUCB", "Steady"):
        with progress_bar(name, total=rounds, unit="rounds") as advance:
            runs[name] = play(
                _policy(name, world), world, horizon=rounds, seed=seed, progress=advance
            )
    console.print(_table(world, runs))
    _explain(console, runs["Steady"])
    try:
        out.write_text(to_html(world, runs, seed=seed), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"out = {str(out)!r} cannot be written: {error.strerror}") from None
    console.print(f"Report: {out}", soft_wrap=True, highlight=False)


def _policy(name: str, world: World) -> LinUCB | SteadyGraphLinUCB:
    """LinUCB as the paper has it, told noise and norms; Steady as recommended, told nothing."""
    if name == "Steady":
        return SteadyGraphLinUCB(world.problem, start=START)
    radius = Confidence(sigma=NOISE, norm=world.norms)
    return LinUCB(world.problem, start=START, radius=radius, reg=REG)


def _writable(out: Path) -> None:
    """Refuse what cannot be written before anything is played."""
    if out.is_dir():
        raise InvalidInput(f"out = {str(out)!r} is a folder; name a file")
    if not out.parent.is_dir():
        raise InvalidInput(f"out = {str(out)!r}: there is no folder {str(out.parent)!r}")


def _table(world: World, runs: dict[str, Trace]) -> Table:
    table = Table(title="What it cost", title_justify="left")
    for heading in HEADS:
        table.add_column(heading, justify="right" if heading else "left")
    for bill in bills(world, runs):
        table.add_row(
            bill.name,
            f"{bill.loss:,.0f}",
            f"{bill.regret:,.0f}",
            f"{bill.moves:,}",
            f"{bill.movement:,.1f}",
            f"{bill.price:,.0f}",
            f"{bill.total:,.0f}",
        )
    return table


def _explain(console: Console, trace: Trace) -> None:
    """Print the reasons of the last moves."""
    moves = [record for record in trace.records if not record.held]
    if not moves:
        console.print("Steady did not move: no move was worth its price.")
        return
    console.print(
        f"Steady looked {len(trace.records):,} times and held {len(trace.records) - len(moves):,} "
        f"of them. Why it moved, the last {min(LAST, len(moves))}:"
    )
    for record in moves[-LAST:]:
        console.print(Padding(Text(f"after round {record.round:,}: {steps(record)}"), (0, 0, 0, 2)))
        console.print(Padding(Text(f"because {reasons(record)}"), (0, 0, 0, 4)))
