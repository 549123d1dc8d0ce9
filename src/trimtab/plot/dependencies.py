"""What depends on what: knobs on the left, objectives on the right, a line where one is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trimtab.errors import InvalidInput
from trimtab.live.spec.spec import Spec
from trimtab.model.graph import Graph
from trimtab.plot import theme
from trimtab.plot.lanes import wrapped
from trimtab.plot.sources import Source, names_of, rounds
from trimtab.plot.theme import BLUE, FAINT, GREEN, escape

LEFT, RIGHT = 0.36, 0.64  # where the nodes are, of the width
ROW = 40  # pixels
MOST = 60  # nodes of a side that can be told apart


def graph(
    source: Source,
    *,
    knobs: Sequence[str] | None = None,
    objectives: Sequence[str] | None = None,
) -> Any:
    """The dependency graph; of a run, with how often each knob was moved.

    Args:
        source: a `Graph`, a `Problem`, a policy or a world, a `Spec` or its path, a `Tuner` or a
            `Trace`.
        knobs: names for the knobs of what has none.
        objectives: the same of objectives.
    """
    names, scopes, notes = _parts(source, knobs, objectives)
    left, right = names
    if max(len(left), len(right)) > MOST:
        raise InvalidInput(
            f"{len(left):,} knobs and {len(right):,} objectives do not fit into a picture; "
            f"{MOST} of each is the most"
        )
    go = theme.graph_objects()
    rows = max(len(left), len(right))
    heads = [rows * (j + 0.5) / len(left) for j in range(len(left))]
    ends = [rows * (i + 0.5) / len(right) for i in range(len(right))]
    x: list[float | None] = []
    y: list[float | None] = []
    for i, scope in enumerate(scopes):
        for j in scope:
            x += [LEFT, RIGHT, None]
            y += [heads[j], ends[i], None]
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": FAINT, "width": 1.2},
            opacity=0.7,
            hoverinfo="skip",
        )
    )
    for place, labels, at, words, colour, symbol in (
        (LEFT, left, heads, notes, BLUE, "circle"),
        (RIGHT, right, ends, [""] * len(right), GREEN, "square"),
    ):
        text = [_label(label, note) for label, note in zip(labels, words, strict=True)]
        figure.add_trace(
            go.Scatter(
                x=[place] * len(labels),
                y=at,
                mode="markers+text",
                marker={"color": colour, "symbol": symbol, "size": 10},
                text=text,
                textposition="middle left" if place == LEFT else "middle right",
                hovertext=_readers(left, right, scopes, of_knobs=place == LEFT),
                hoverinfo="text",
            )
        )
    theme.finish(figure, height=ROW * rows + 30, top=10)
    figure.update_layout(
        showlegend=False, hovermode="closest", margin={"l": 6, "r": 6, "t": 10, "b": 10}
    )
    figure.update_xaxes(visible=False, range=[0, 1], fixedrange=True)
    figure.update_yaxes(visible=False, range=[rows, 0], fixedrange=True)
    reads = "; ".join(
        f"{name} reads {', '.join(left[j] for j in scope)}"
        for name, scope in zip(right, scopes, strict=True)
    )
    return theme.described(figure, f"Knobs on the left, objectives on the right. {reads}.")


Parts = tuple[tuple[list[str], list[str]], list[tuple[int, ...]], list[str]]


def _parts(source: Source, knobs: Sequence[str] | None, objectives: Sequence[str] | None) -> Parts:
    """Names, the knobs that each objective reads, and a note for each knob."""
    if isinstance(source, Spec):
        knobs = [knob.name for knob in source.knobs]
        objectives = [each.name for each in source.objectives]
    problem = getattr(source, "problem", source)  # of a policy, a world or a spec
    network = getattr(problem, "graph", problem)
    if isinstance(network, Graph):
        left = list(names_of(knobs, network.knobs, "knob"))
        right = list(names_of(objectives, network.criteria, "objective"))
        scopes = [tuple(network.scope(i).tolist()) for i in range(network.criteria)]
        return (left, right), scopes, [""] * network.knobs
    table = rounds(source)
    if not table.objectives:
        raise InvalidInput(
            "this trace has no world to say which objective reads what: convex losses have no "
            "objectives, and a trace from a file has no world"
        )
    turned = np.count_nonzero(table.steps, axis=0).tolist()
    notes = [f"moved {n:,} time{'s' * (n != 1)}" for n in turned]
    named = [knob.name for knob in table.knobs], [each.name for each in table.objectives]
    return named, [each.reads for each in table.objectives], notes


def _label(name: str, note: str) -> str:
    lines = escape(wrapped(name, 18)).replace("\n", "<br>")
    return f"{lines}<br><i>{note}</i>" if note else lines


def _readers(
    left: Sequence[str], right: Sequence[str], scopes: Sequence[tuple[int, ...]], *, of_knobs: bool
) -> list[str]:
    if not of_knobs:
        return [
            escape(f"{name} reads {', '.join(left[j] for j in scope)}")
            for name, scope in zip(right, scopes, strict=True)
        ]
    read_by = [[right[i] for i, scope in enumerate(scopes) if j in scope] for j in range(len(left))]
    return [
        escape(f"{name} is read by {', '.join(by) or 'nothing'}")
        for name, by in zip(left, read_by, strict=True)
    ]
