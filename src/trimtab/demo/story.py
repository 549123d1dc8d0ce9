"""The demo's story: what was played, what it cost, and a page to look at."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from trimtab.demo import contenders
from trimtab.live.tuner import Tuner
from trimtab.parallel.progress import progress_bar
from trimtab.plot import page
from trimtab.plot.moves import Move, moves_of
from trimtab.plot.sources import rounds
from trimtab.plot.table import Rounds

OURS = "trimtab"
HEADS = ("", "loss", "moves", "movement", "price", "total", "of staying put")


class Bill(NamedTuple):
    """What a way to set the knobs cost."""

    name: str
    loss: float
    moves: int
    movement: float
    price: float
    idle: float  # what staying put costs

    @property
    def total(self) -> float:
        """Loss and price of movement together."""
        return self.loss + self.price

    @property
    def share(self) -> float:
        """The total as a share of what staying put costs."""
        return self.total / self.idle


def run(*, rounds_: int, seed: int, out: Path) -> None:
    """Play the demo, print what came of it and write the page."""
    page.refuse_unwritable(out)
    console = Console(highlight=False, markup=False)
    spec, world = contenders.service()
    console.print(
        f"A simulated recommender has {len(spec.knobs)} knobs and {len(spec.objectives)} things "
        f"that people complain about. For {rounds_:,} rounds of a quarter of an hour trimtab tunes "
        "it from noisy complaints: a live tuner with a spec, a journal and a guardrail. Its rivals "
        "get the same complaints. Turning a knob across its whole range costs "
        f"{contenders.MOVE_COST:g}."
    )
    runs: dict[str, Rounds] = {}
    with progress_bar(OURS, total=rounds_, unit="rounds") as advance:
        played = contenders.tuned(spec, world, horizon=rounds_, seed=seed, advance=advance)
        with played as tuner:
            runs[OURS] = contenders.as_expected(rounds(tuner, name=OURS), world)
            runs["LinUCB"] = contenders.linucb(spec, world, horizon=rounds_, seed=seed)
            if contenders.optuna_is_here():
                runs["Optuna TPE"] = contenders.optuna(spec, world, horizon=rounds_, seed=seed)
            written = _write(tuner, runs, out)
    console.print(_table(runs))
    for line in said(runs[OURS]):
        console.print(line)
    if "Optuna TPE" not in runs:
        console.print("Optuna is not installed; with it, it would be in the table as well.")
    console.print(written, soft_wrap=True)


def bills(runs: Mapping[str, Rounds]) -> list[Bill]:
    """The bill of doing nothing, then those of the runs."""
    found = []
    for name, table in runs.items():
        idle = 0.0 if table.stay is None else float(table.stay @ table.count)
        found.append(
            Bill(
                name=name,
                loss=float(table.loss @ table.count),
                moves=int(table.moved.sum()),
                movement=float(table.steps.sum()),
                price=float(table.price.sum()),
                idle=idle,
            )
        )
    return [Bill("stay put", found[0].idle, 0, 0.0, 0.0, found[0].idle), *found]


def said(table: Rounds) -> list[str]:
    """What an engineer wants to know of the run, in a few sentences."""
    moves = moves_of(table)
    if not moves:
        return ["trimtab did not move: no move was worth its price."]
    below = _paid_from(table)
    when = (
        "It has not paid for itself yet."
        if below is None
        else f"From round {below:,} on it had cost less than staying put."
    )
    return [when, _honest(moves)]


def _paid_from(table: Rounds) -> int | None:
    """The round from which on the sum of loss and moves was below that of staying put."""
    saved = table.saved
    if saved is None or saved[-1] <= 0.0:
        return None
    behind = np.flatnonzero(saved <= 0.0)
    return int(table.first[behind[-1]] + 1) if behind.size else 1


def _honest(moves: list[Move]) -> str:
    to_learn = sum(move.kind == "learn" for move in moves)
    worse = [move for move in moves if move.realised < 0.0]
    after = sum(move.kind == "learn" for move in worse)
    return (
        f"Of its {len(moves)} moves {len(moves) - to_learn} were expected to pay and {to_learn} "
        f"were made to learn. {len(worse)} raised the true loss, {after} of them to learn: that is "
        "what finding out costs, and it is in the total."
    )


def _table(runs: Mapping[str, Rounds]) -> Table:
    table = Table(title="What it cost", title_justify="left")
    for heading in HEADS:
        table.add_column(heading, justify="right" if heading else "left")
    for bill in bills(runs):
        table.add_row(
            bill.name,
            f"{bill.loss:,.0f}",
            f"{bill.moves:,}",
            f"{bill.movement:,.1f}",
            f"{bill.price:,.0f}",
            f"{bill.total:,.0f}",
            f"{bill.share:.0%}",
        )
    return table


def _write(tuner: Tuner, runs: Mapping[str, Rounds], out: Path) -> str:
    """Write the page, where figures can be drawn; what became of it, in words."""
    if find_spec("plotly") is None:
        return "No page was written: figures need plotly (pip install 'trimtab[plot]')."
    page.write(out, to_html(tuner, runs))
    return f"Report: {out}"


def to_html(tuner: Tuner, runs: Mapping[str, Rounds]) -> str:
    """The page: the rivals first, then the report of the tuner as any tuner has one."""
    from trimtab.plot import cost, knobs, movement
    from trimtab.plot.report import report

    found = bills(runs)
    rows = [
        (
            bill.name,
            bill.loss,
            bill.moves,
            bill.movement,
            bill.price,
            bill.total,
            page.Cell(f"{bill.share:.0%}", "n"),
        )
        for bill in found
    ]
    rivals = " and ".join(name for name in runs if name != OURS)
    body = (
        page.table("Sums over all rounds", ("", *HEADS[1:]), rows)
        + page.paragraph(
            "Losses here are the expected ones of the values played, which only a simulation "
            "knows. Movement is counted in whole ranges of a knob."
        )
        + page.drawing(cost(runs), caption="Above the dotted line is better than staying put.")
        + page.drawing(
            knobs(runs),
            caption=f"Where the knobs went: trimtab with its moves, and {rivals} behind it.",
        )
        + page.drawing(movement(runs), caption="How far the knobs were moved in all.")
    )
    ours = next(bill for bill in found if bill.name == OURS)
    lead = (
        f"A simulated recommender, tuned live for {runs[OURS].horizon:,} rounds. Loss and moves "
        f"cost {ours.total:,.0f}, {ours.share:.0%} of staying put, with {ours.moves} moves. "
        + " ".join(said(runs[OURS]))
    )
    return report(tuner, extra=[page.Section("rivals", "Beside its rivals", body)], lead=lead)
