"""What was measured: a lane for each metric, with its noise and its limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.plot import theme
from trimtab.plot.lanes import BINS, reduced, rounds_axis, stairs
from trimtab.plot.sources import Source, rounds
from trimtab.plot.table import Metric, Rounds
from trimtab.plot.theme import BANDS, BLUE, FAINT, RED, escape

SPREAD = 1.96  # standard deviations within which 95 of 100 measurements are


def objectives(source: Source, *, show: list[str] | None = None) -> Any:
    """The metrics over the rounds, a lane each: points, the mean at each state, noise, limits.

    Args:
        source: a `Trace`, a `Tuner`, a spec or its path.
        show: the metrics to draw, by name; all by default.
    """
    table = rounds(source)
    if not table.metrics:
        raise InvalidInput(
            "this trace has no world to say what each objective was: convex losses have no "
            "objectives, and a trace from a file has no world"
        )
    shown = [metric for metric in table.metrics if show is None or metric.name in show]
    figure = theme.lanes([metric.title for metric in shown])
    for row, metric in enumerate(shown, 1):
        _draw(figure, table, metric, row)
    rounds_axis(figure, len(shown), table.horizon)
    return theme.described(figure, " ".join(["Metrics by round.", *map(_words, shown)]))


def _draw(figure: Any, table: Rounds, metric: Metric, row: int) -> None:
    go = theme.graph_objects()
    level = means(table, metric.values) if table.measured else metric.values
    x, y = stairs(table.first, level, table.horizon)
    known = ~np.isnan(y)
    x, y = x[known], y[known]
    kept = reduced(x, y)
    x, y = x[kept], y[kept]
    if metric.noise and x.size:
        half = SPREAD * metric.noise
        for edge, fill in ((y - half, None), (y + half, "tonexty")):
            figure.add_trace(
                go.Scatter(
                    x=x,
                    y=edge,
                    mode="lines",
                    line={"shape": "hv", "width": 0},
                    fill=fill,
                    fillcolor=BANDS[BLUE],
                    name="where 95 % of single measurements fall",
                    legendgroup="noise",
                    showlegend=fill is not None and row == 1,
                    hoverinfo="skip",
                ),
                row=row,
                col=1,
            )
    if table.measured:
        every = max(1, metric.values.size // (8 * BINS))
        figure.add_trace(
            go.Scatter(
                x=table.first[::every],
                y=metric.values[::every],
                mode="markers",
                marker={"size": 3.5, "color": FAINT, "opacity": 0.55},
                name="measured",
                legendgroup="measured",
                showlegend=row == 1,
                hovertemplate="round %{x:,}: %{y:.4g}<extra>measured</extra>",
            ),
            row=row,
            col=1,
        )
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            line={"shape": "hv", "color": BLUE, "width": 2.2},
            name="mean at these values" if table.measured else "expected",
            legendgroup="mean",
            showlegend=row == 1,
            hovertemplate="round %{x:,}: %{y:.4g}<extra>mean</extra>",
        ),
        row=row,
        col=1,
    )
    for limit in metric.limits:
        figure.add_hline(
            y=limit.value,
            row=row,
            col=1,
            line={"color": RED, "width": 1.6, "dash": "dash"},
            annotation={
                "text": escape(f"{limit.kind}: {limit.rule}"),
                "font": {"color": RED, "size": 11},
                "xanchor": "right",
                "x": 1,
            },
        )


def means(table: Rounds, values: Array) -> Array:
    """The mean of what was measured while the state stayed, in every row: (n,)."""
    stretch = np.cumsum(np.diff(table.states, axis=0, prepend=np.nan).any(axis=1)) - 1
    known = ~np.isnan(values)
    n = int(stretch[-1]) + 1 if stretch.size else 0
    counts = np.bincount(stretch[known], minlength=n)
    sums = np.bincount(stretch[known], weights=values[known], minlength=n)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)[stretch])


def _words(metric: Metric) -> str:
    known = metric.values[~np.isnan(metric.values)]
    if not known.size:
        return f"{metric.title}: nothing measured."
    some = max(1, known.size // 10)
    limits = "".join(f"; {limit.kind} at {limit.value:.4g}" for limit in metric.limits)
    return (
        f"{metric.title}: {known[:some].mean():.4g} at first, {known[-some:].mean():.4g} at "
        f"last{limits}."
    )
