"""Where the knobs went: a lane for each, with its moves by kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.plot import theme
from trimtab.plot.sources import Source, several
from trimtab.plot.table import KINDS, Kind, Rounds
from trimtab.plot.theme import BLUE, FAINT, GREEN, ORANGE, PURPLE, RED, escape

MOST = 12  # knobs that are drawn if nobody says which
BINS = 400  # columns into which a long line is reduced
POINTS = 200  # between moves, for the pointer
LONG = 100_000  # rounds from which on the axis is logarithmic
MARKS: dict[Kind, tuple[str, str]] = {  # colour and shape
    "improve": (GREEN, "circle"),
    "learn": (ORANGE, "diamond-open"),
    "guard": (FAINT, "square-open"),
    "rollback": (RED, "x"),
    "person": (PURPLE, "star"),
    "move": (BLUE, "circle-open"),
}


def knobs(source: Source | Mapping[str, Source], *, show: list[str] | None = None) -> Any:
    """The values of the knobs over the rounds, a lane each; of the first run with its moves.

    Args:
        source: a `Trace`, a `Tuner`, a spec or its path, or several of them by name, to compare.
        show: the knobs to draw, by name; those that moved most by default.
    """
    runs = several(source)
    main = next(iter(runs.values()))
    shown = [j for j, knob in enumerate(main.knobs) if show is None or knob.name in show]
    if show is None and len(shown) > MOST:
        shown = np.sort(np.argsort(-main.steps.sum(axis=0), kind="stable")[:MOST]).tolist()
    figure = theme.lanes([main.knobs[j].title for j in shown])
    legend = set[str]()
    for place in reversed(range(len(runs))):  # ours is drawn last, above the others
        name, table = list(runs.items())[place]
        for row, j in enumerate(shown, 1):
            figure.add_trace(_line(name, table, j, place, len(runs) > 1), row=row, col=1)
            if place == 0:
                _mark_moves(figure, table, j, row, legend)
    for row, j in enumerate(shown, 1):
        knob = main.knobs[j]
        ends = np.log10([knob.low, knob.high]) if knob.log else np.array([knob.low, knob.high])
        room = 0.06 * (ends[1] - ends[0])
        figure.update_yaxes(
            **(theme.ticks(knob.low, knob.high) if knob.log else {}),
            range=[float(ends[0] - room), float(ends[1] + room)],
            row=row,
            col=1,
        )
    rounds_axis(figure, len(shown), max(table.horizon for table in runs.values()))
    return theme.described(figure, _alt(runs, shown))


def _line(name: str, table: Rounds, j: int, place: int, compared: bool) -> Any:
    x, y = stairs(table.first, table.knobs[j].value(table.states[:, j]), table.horizon)
    kept = reduced(x, y)
    return theme.graph_objects().Scatter(
        x=x[kept],
        y=y[kept],
        mode="lines",
        line={
            "shape": "hv",
            "color": theme.RUNS[place % len(theme.RUNS)],
            "width": 2.2 if place == 0 else 1,
            "dash": theme.DASHES[place % len(theme.DASHES)],
        },
        opacity=1.0 if place == 0 else 0.6,
        name=escape(name),
        legendgroup=f"run {place}",
        showlegend=compared and not j,
        hovertemplate="round %{x:,}: %{y:.4g}<extra>" + escape(name) + "</extra>",
    )


def _mark_moves(figure: Any, table: Rounds, j: int, row: int, legend: set[str]) -> None:
    """Mark where this knob was moved, and say why when the reader points at it."""
    values = table.knobs[j].value(table.states[:, j])
    turned = np.flatnonzero(table.steps[:, j] > 0.0)
    for kind, words in KINDS.items():
        at = [int(i) for i in turned if table.kinds[i] == kind]
        if not at or (kind == "move" and len(at) > BINS):
            continue
        colour, symbol = MARKS[kind]
        figure.add_trace(
            theme.graph_objects().Scatter(
                x=table.first[at],
                y=values[at],
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 9, "line": {"width": 1.6}},
                name=words,
                legendgroup=kind,
                showlegend=kind not in legend,
                text=[escape(wrapped(table.why[i])).replace("\n", "<br>") for i in at],
                hovertemplate="round %{x:,}: to %{y:.4g}<br>%{text}<extra>" + kind + "</extra>",
            ),
            row=row,
            col=1,
        )
        legend.add(kind)


def _alt(runs: Mapping[str, Rounds], shown: list[int]) -> str:
    parts = []
    for name, table in runs.items():
        moves = int(table.moved.sum())
        kinds = [f"{table.kinds.count(kind)} {kind}" for kind in KINDS if kind in table.kinds]
        of = f" ({', '.join(kinds)})" if kinds else ""
        parts.append(f"{name}: {moves:,} move{'s' * (moves != 1)}{of}")
    main = next(iter(runs.values()))
    ends = [
        f"{main.knobs[j].title} from {float(main.knobs[j].value(main.start[j])):.4g} to "
        f"{float(main.knobs[j].value(main.states[-1, j])):.4g}"
        for j in shown
        if main.first.size
    ]
    return f"Values of the knobs by round. {'; '.join(parts)}. Of the first: {', '.join(ends)}."


# What other figures over rounds use.


def rounds_axis(figure: Any, rows: int, horizon: int) -> None:
    """Name the axis of rounds; a very long one is logarithmic."""
    if horizon > LONG:
        figure.update_xaxes(type="log", range=[0.0, float(np.log10(horizon))])
    else:
        figure.update_xaxes(range=[0.5, max(horizon, 2) + 1.0])
    figure.update_xaxes(title={"text": "round", "standoff": 6}, row=rows, col=1)


def stairs(first: Ints, y: Array, horizon: int) -> tuple[Array, Array]:
    """A level from each of these rounds on, with points between to put a pointer on."""
    if not first.size:
        return np.empty(0), np.empty(0)
    between = np.unique(np.linspace(first[0], horizon, POINTS).astype(np.int64))
    x = np.union1d(np.union1d(first, between).astype(np.float64), [horizon + 0.5])
    return x, y[np.searchsorted(first, x, side="right") - 1]


def reduced(x: Array, y: Array) -> Ints:
    """Which points to draw: of each column of the picture the first, last, lowest and highest."""
    n = x.size
    if n <= 4 * BINS:
        return np.arange(n)
    kept = set[int]()
    edges = np.searchsorted(x, np.linspace(x[0], x[-1], BINS + 1))
    edges[-1] = n
    for lo, hi in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if lo < hi:
            part = y[lo:hi]
            kept |= {lo, lo + int(part.argmin()), lo + int(part.argmax()), hi - 1}
    return np.array(sorted(kept))


def wrapped(text: str, width: int = 48) -> str:
    """The text in lines that fit beside a pointer."""
    from textwrap import fill

    return fill(text, width)
