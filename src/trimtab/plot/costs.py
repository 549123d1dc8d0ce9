"""Was it worth it: what was saved against staying put, and how much was moved for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.plot import theme
from trimtab.plot.lanes import reduced, rounds_axis, stairs
from trimtab.plot.sources import Source, several
from trimtab.plot.table import Rounds
from trimtab.plot.theme import BANDS, FAINT, GREEN, RED, escape

SURE = 1.96  # standard errors of a band that holds in 95 of 100 cases
GRID = 400  # rounds at which a sum is drawn


def cost(source: Source | Mapping[str, Source]) -> Any:
    """What was saved so far against leaving the knobs alone, moves paid for; up is good.

    In a live run the loss of the start state is that of the rounds before the first move, so
    that the band around what was saved widens, and a system that changes by itself misleads.

    Args:
        source: a `Trace`, a `Tuner`, a spec or its path, or several of them by name, to compare.
    """
    go, runs = theme.graph_objects(), several(source)
    figure = theme.lanes(["Saved so far, price of moves deducted"], height=300)
    words = []
    for place, (name, table) in enumerate(runs.items()):
        if table.stay is None or table.saved is None:
            raise InvalidInput(
                f"{name} never stayed at its start, so that nobody knows what that would have "
                "cost; draw a trace before it is written to a file, which keeps no world"
            )
        x, y = _sums(table, table.saved, (table.stay - table.loss))
        colour = theme.RUNS[place % len(theme.RUNS)]
        if table.stay_error > 0.0:
            figure.add_trace(_band(x, y, SURE * table.stay_error * x, colour))
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                mode="lines",
                name=escape(name),
                line={
                    "color": colour,
                    "width": 2.4,
                    "dash": theme.DASHES[place % len(theme.DASHES)],
                },
                hovertemplate="after round %{x:,}: %{y:,.4g} saved<extra>"
                + escape(name)
                + "</extra>",
            )
        )
        words.append(worth(name, table))
    main = next(iter(runs.values()))
    if main.best is not None and main.stay is not None:
        x, y = _sums(main, np.cumsum((main.stay - main.best) * main.count), main.stay - main.best)
        line = {"color": GREEN, "width": 1.6, "dash": "dash"}
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                mode="lines",
                name="best state, known beforehand",
                line=line,
                hovertemplate="%{y:,.4g}<extra>best</extra>",
            )
        )
    figure.add_hline(y=0.0, line={"color": FAINT, "width": 1.4, "dash": "dot"})
    figure.add_annotation(
        x=1,
        xref="paper",
        y=0,
        text="staying put",
        showarrow=False,
        xanchor="right",
        yanchor="bottom",
        font={"color": FAINT, "size": 11},
    )
    rounds_axis(figure, 1, max(table.horizon for table in runs.values()))
    return theme.described(figure, f"Loss saved against staying put. {' '.join(words)}")


def _sums(table: Rounds, total: Array, rate: Array) -> tuple[Array, Array]:
    """A sum after each row, and within long rows as well where the loss is expected."""
    ends = table.first + table.count - 1
    if table.measured or not table.first.size:
        return ends.astype(np.float64), total
    inside = np.unique(np.linspace(0, table.horizon, GRID + 1).astype(np.int64))
    row = np.minimum(np.searchsorted(ends, inside), ends.size - 1)
    before = total[row] - rate[row] * (ends[row] - inside)
    before[inside == 0] = 0.0
    return inside.astype(np.float64), np.asarray(before)


def _band(x: Array, y: Array, half: Array, colour: str) -> Any:
    return theme.graph_objects().Scatter(
        x=np.concatenate((x, x[::-1])),
        y=np.concatenate((y + half, (y - half)[::-1])),
        fill="toself",
        fillcolor=BANDS[colour],
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        name="95 % band",
        showlegend=True,
    )


def worth(name: str, table: Rounds) -> str:
    """One sentence: what was saved, of what, and what the moves cost."""
    if table.stay is None or table.saved is None or not table.saved.size:
        return f"{name}: nothing was measured yet."
    known = ~np.isnan(table.loss)
    stayed = float((table.stay * table.count)[known].sum())
    saved, paid = float(table.saved[-1]), float(table.price.sum())
    share = f", {saved / stayed:.0%} of what staying put costs" if stayed > 0.0 else ""
    verb = "saved" if saved >= 0.0 else "lost"
    share = share if saved >= 0.0 else share.replace("-", "")
    return f"{name} {verb} {abs(saved):,.4g}{share}; its moves cost {paid:,.4g}."


def movement(source: Source | Mapping[str, Source]) -> Any:
    """How far the knobs have moved, in whole ranges; and what was used of each budget.

    Args:
        source: a `Trace`, a `Tuner`, a spec or its path, or several of them by name, to compare.
    """
    go, runs = theme.graph_objects(), several(source)
    main = next(iter(runs.values()))
    limited = [j for j, knob in enumerate(main.knobs) if knob.budget is not None]
    titles = ["Movement so far (whole ranges)"]
    titles += [f"{main.knobs[j].name}: movement and budget" for j in limited]
    figure = theme.lanes(titles, height=150 if limited else 240)
    for place, (name, table) in enumerate(runs.items()):
        x, y = stairs(table.first, np.cumsum(table.steps.sum(axis=1)), table.horizon)
        kept = reduced(x, y)
        figure.add_trace(
            go.Scatter(
                x=x[kept],
                y=y[kept],
                mode="lines",
                name=escape(name),
                line={
                    "shape": "hv",
                    "color": theme.RUNS[place % len(theme.RUNS)],
                    "width": 2.2,
                    "dash": theme.DASHES[place % len(theme.DASHES)],
                },
                showlegend=len(runs) > 1,
                hovertemplate="round %{x:,}: %{y:.4g}<extra>" + escape(name) + "</extra>",
            ),
            row=1,
            col=1,
        )
    for row, j in enumerate(limited, 2):
        knob = main.knobs[j]
        x, y = stairs(main.first, main.used(j), main.horizon)
        line = {"shape": "hv", "color": theme.RUNS[0], "width": 2.2}
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                mode="lines",
                line=line,
                showlegend=False,
                hovertemplate="round %{x:,}: %{y:.4g}<extra></extra>",
            ),
            row=row,
            col=1,
        )
        figure.add_hline(
            y=knob.budget,
            row=row,
            col=1,
            line={"color": RED, "width": 1.6, "dash": "dash"},
            annotation={
                "text": f"budget{f' per {knob.window}' if knob.window else ''}",
                "font": {"color": RED, "size": 11},
            },
        )
    figure.update_yaxes(rangemode="tozero")
    rounds_axis(figure, len(titles), max(table.horizon for table in runs.values()))
    words = "; ".join(
        f"{name} {table.steps.sum():,.3g} whole ranges in {int(table.moved.sum()):,} moves"
        for name, table in runs.items()
    )
    return theme.described(figure, f"Movement by round: {words}.")
