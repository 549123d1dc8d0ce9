"""The report of the demo: what was paid, where the knobs went, and why Steady moved them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from trimtab import __version__
from trimtab.policies.record import Record
from trimtab.sim import page, svg
from trimtab.sim.recommender import CRITERIA, KNOBS
from trimtab.sim.svg import Line
from trimtab.sim.trace import Trace
from trimtab.sim.worlds import World

GRID = 200  # rounds at which costs are drawn
SHOWN = 3  # moves at either end that are explained in the open, the others behind a fold
HEADS = ("", "loss", "regret", "moves", "movement", "price", "total")
INKS = {"LinUCB": "other", "Steady": "main"}
PATHS = {"LinUCB": "restless", "Steady": "main"}


class Bill(NamedTuple):
    """What a way to set the knobs cost."""

    name: str
    loss: float
    regret: float
    moves: int
    movement: float
    price: float

    @property
    def total(self) -> float:
        """Loss and price of movement together."""
        return self.loss + self.price


def bills(world: World, runs: Mapping[str, Trace]) -> list[Bill]:
    """The bill of doing nothing, then those of the policies."""
    some = next(iter(runs.values()))
    stay = some.horizon * world.loss(some.start)
    idle = Bill("stay put", stay, stay - float(some.lengths @ some.best), 0, 0.0, 0.0)
    return [
        idle,
        *(Bill(n, t.loss, t.regret, t.moves, t.movement, t.move_cost) for n, t in runs.items()),
    ]


def steps(record: Record) -> str:
    """Which knobs a move turns, and from where to where."""
    return ", ".join(
        f"{KNOBS[j]} {x:.3g} → {y:.3g}"
        for j, x, y in zip(record.knobs.tolist(), record.before, record.after, strict=True)
    )


def reasons(record: Record) -> str:
    """Why a move was made, in one sentence."""
    names = [CRITERIA[i][0] for i in record.criteria.tolist()]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    if len(names) == len(CRITERIA):
        listed = "every objective"
    why = {
        "trigger": f"enough was learned about {listed}",
        "alarm": f"what was known about {listed} no longer holds",
        "review": "it was time for a review",
    }[record.cause]
    return f"{why}; the move {record.worth}"


def to_html(world: World, runs: Mapping[str, Trace], *, seed: int) -> str:
    """The page."""
    return page.page(
        title="A recommender, tuned with few moves",
        lead=_lead(world, runs),
        sections=[
            page.Section("cost", "What it cost", _cost(world, runs)),
            page.Section("knobs", "Where the knobs went", _trajectories(world, runs)),
            page.Section("graph", "What depends on what", _graph(runs["Steady"])),
            page.Section("moves", "Why Steady moved", _moves(runs["Steady"])),
        ],
        foot=f"Simulated: trimtab {__version__}, seed {seed}. Made by trimtab demo.",
    )


def _lead(world: World, runs: Mapping[str, Trace]) -> str:
    idle, linucb, steady = bills(world, runs)
    share = steady.total / linucb.total - 1.0
    return (
        f"A simulated recommender has {len(KNOBS)} knobs and {len(CRITERIA)} things that people "
        f"complain about. Standard LinUCB and Steady tuned it for {runs['Steady'].horizon:,} "
        f"rounds, from the same noisy complaints, where turning a knob across its whole range "
        f"costs {world.problem.move_cost[0]:g}. Losses and moves together cost LinUCB "
        f"{linucb.total:,.0f} and Steady {steady.total:,.0f}, {abs(share):.0%} "
        f"{'less' if share < 0.0 else 'more'}: it moved {steady.moves:,} "
        f"time{'s' * (steady.moves != 1)} instead of {linucb.moves:,}. Leaving the knobs alone "
        f"would have cost {idle.total:,.0f}."
    )


def _cost(world: World, runs: Mapping[str, Trace]) -> str:
    found = bills(world, runs)
    T = runs["Steady"].horizon
    at = np.unique(np.linspace(0, T, GRID + 1).astype(np.int64)).astype(np.float64)
    best = world.optimum.value
    paid = [
        Line(
            INKS[name],
            at,
            trace.regret_at(at) + best * at + world.problem.move_cost[0] * trace.movement_at(at),
            label=name,
        )
        for name, trace in runs.items()
    ]
    paid.insert(0, Line("idle", at, found[0].loss / T * at, label="stay put"))
    paid.insert(1, Line("ideal", at, best * at, label="best state"))
    moved = [
        Line(INKS[name], at, trace.movement_at(at), label=name) for name, trace in runs.items()
    ]
    totals = ", ".join(f"{bill.name} {bill.total:,.0f}" for bill in found)
    ways = ", ".join(f"{bill.name} {bill.movement:,.1f}" for bill in found[1:])
    rows = [
        (bill.name, bill.loss, bill.regret, bill.moves, bill.movement, bill.price, bill.total)
        for bill in found
    ]
    return (
        page.table("Sums over all rounds", ("policy", *HEADS[1:]), rows)
        + page.paragraph(
            "Loss is the expected loss of the states played, noise left out; regret is how much of "
            "it the best state would have saved. Movement is counted in full turns of a knob."
        )
        + _row(
            svg.chart(
                "Loss and moves, paid so far",
                paid,
                right=T,
                top=_round_up(max(float(line.y.max()) for line in paid)),
                alt=f"Lines of what had been paid by each round. In the end: {totals}.",
            ),
            svg.chart(
                "Movement so far, in full turns",
                moved,
                right=T,
                top=_round_up(max(float(line.y.max()) for line in moved)),
                alt=f"Lines of how far the knobs had moved by each round. In the end: {ways}.",
            ),
        )
    )


def _trajectories(world: World, runs: Mapping[str, Trace]) -> str:
    T = runs["Steady"].horizon
    best = world.optimum.state
    played = {name: (trace.states, trace.ends - trace.lengths) for name, trace in runs.items()}
    turned = {name: np.bincount(t.changed, minlength=len(KNOBS)) for name, t in runs.items()}
    charts = []
    for j, knob in enumerate(KNOBS):
        lines = [
            Line(PATHS[name], begun.astype(np.float64), states[:, j], step=True)
            for name, (states, begun) in played.items()
        ]
        lines.insert(1, Line("ideal", np.array([0.0, T]), np.full(2, best[j])))
        ends = ", ".join(
            f"{name} turned it {turned[name][j]:,} times and left it at {states[-1, j]:.2f}"
            for name, (states, _) in played.items()
        )
        begun_at = runs["Steady"].start[j]
        alt = f"{knob} by round, begun at {begun_at:.2f}: {ends}; {best[j]:.2f} is best."
        charts.append(svg.chart(knob, lines, right=T, top=1.0, alt=alt))
    legend = "".join(
        f'<span style="white-space:nowrap;margin-right:1.2rem">{svg.swatch(ink)} {words}</span>'
        for ink, words in (
            ("main", "Steady"),
            ("other", "LinUCB"),
            ("ideal", "the best state, which neither is told"),
        )
    )
    rows = [
        (knob, runs["Steady"].start[j], *(s[-1, j] for s, _ in played.values()), best[j])
        for j, knob in enumerate(KNOBS)
    ]
    cells = [[row[0], *(page.Cell(f"{x:.2f}", "n") for x in row[1:])] for row in rows]
    return (
        page.paragraph(
            "LinUCB looks for a better state after every round, and goes there. Steady looks when "
            "it has learned something, and moves when the move will pay for itself."
        )
        + f"<p>{legend}</p>"
        + _row(*charts)
        + page.table("Settings of the knobs", ("knob", "start", *played, "best"), cells)
    )


def _graph(trace: Trace) -> str:
    turned = np.bincount(trace.changed, minlength=len(KNOBS)).tolist()
    looks = trace.attributions.tolist()
    links = {i: scope for i, (_, scope, _) in enumerate(CRITERIA)}
    words = "; ".join(
        f"{name} reads {', '.join(KNOBS[j] for j in scope)}" for name, scope, _ in CRITERIA
    )
    drawn = svg.bipartite(
        [(knob, _times("turned", turned[j])) for j, knob in enumerate(KNOBS)],
        [(name, _times("asked", looks[i])) for i, (name, _, _) in enumerate(CRITERIA)],
        links,
        alt=f"Knobs on the left, objectives on the right: {words}.",
    )
    return (
        page.paragraph(
            "Each objective reads only the knobs that a line leads to, so that little has to be "
            "learned about each. Under the knobs: how often Steady turned them. Under the "
            "objectives: how often what was learned about them asked for a look."
        )
        + f'<figure style="max-width:34rem">{drawn}</figure>'
    )


def _moves(trace: Trace) -> str:
    moves = [record for record in trace.records if not record.held]
    held = [record for record in trace.records if record.held]
    text = (
        f"Steady looked {len(trace.records):,} times, moved {len(moves):,} times and held "
        f"{len(held):,} times. A move must gain more than it costs over the rounds that it is "
        "expected to last. Gains are optimistic: by how much the move lowers what the losses "
        "might be, given what is known."
    )
    if len(moves) <= 2 * SHOWN + 1:
        return page.paragraph(text) + _listed(moves, first=1)
    between, last = moves[SHOWN:-SHOWN], len(moves) - SHOWN
    return (
        page.paragraph(text)
        + _listed(moves[:SHOWN], first=1)
        + page.folded(
            f"The {len(between):,} moves between: {SHOWN + 1} to {last:,}",
            _listed(between, first=SHOWN + 1),
        )
        + _listed(moves[last:], first=last + 1)
    )


def _listed(moves: Sequence[Record], *, first: int) -> str:
    """A numbered list of moves and why."""
    return f'<ol start="{first}">{"".join(map(_move, moves))}</ol>'


def _move(record: Record) -> str:
    why = reasons(record)
    return (
        f"<li><strong>After round {record.round:,}:</strong> {escape(steps(record))}<br>"
        f'<span style="color:var(--faint)">{escape(why[0].upper() + why[1:])}; next look in '
        f"{record.next_review:,}.</span></li>"
    )


def _times(verb: str, n: int) -> str:
    return f"{verb} {n:,} time{'s' * (n != 1)}"


def _row(*pictures: str) -> str:
    """Pictures side by side where there is room."""
    each = "".join(f'<figure style="margin:0">{picture}</figure>' for picture in pictures)
    return (
        '<div style="display:grid;gap:1.2rem;margin:1rem 0;'
        f'grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr))">{each}</div>'
    )


def _round_up(x: float) -> float:
    """The next number with one digit that is no smaller, or two where that is half empty.

    >>> _round_up(8412.0), _round_up(1040.0), _round_up(0.0)
    (9000.0, 1100.0, 1.0)
    """
    if x <= 0.0:
        return 1.0
    unit = 10.0 ** np.floor(np.log10(x))
    if x < 3.0 * unit:
        unit /= 10.0
    return float(np.ceil(x / unit) * unit)
