"""Many runs at a glance: what policies cost in worlds, with intervals or beside doing nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.errors import InvalidInput
from trimtab.plot import theme
from trimtab.plot.theme import BLUE, FAINT, ORANGE, escape

ROW = 26  # pixels
SYMBOLS = ("circle", "diamond", "square", "x", "triangle-up", "star", "cross", "pentagon")


def league(costs: Mapping[str, Mapping[str, float]], *, ours: Sequence[str] = ()) -> Any:
    """What players cost in worlds, as shares of leaving the knobs alone; left of 1 they help.

    Args:
        costs: by world and player.
        ours: the players to be seen first.
    """
    if not costs:
        raise InvalidInput("there are no costs; give at least one world")
    go = theme.graph_objects()
    figure = go.Figure()
    worlds = list(costs)
    players = list(dict.fromkeys(name for row in costs.values() for name in row))
    for name in sorted(players, key=lambda player: player in ours):
        mine = [world for world in worlds if name in costs[world]]
        place = list(ours).index(name) if name in ours else -1
        figure.add_trace(
            go.Scatter(
                x=[costs[world][name] for world in mine],
                y=[escape(world) for world in mine],
                mode="markers",
                name=escape(name),
                marker={
                    "color": ORANGE if place < 0 else BLUE,
                    "symbol": "x-thin" if place < 0 else SYMBOLS[place % len(SYMBOLS)],
                    "size": 8 if place < 0 else 11,
                    "line": {"width": 1.6, "color": ORANGE if place < 0 else BLUE},
                    "opacity": 0.75 if place < 0 else 1.0,
                },
                legendgroup="rivals" if place < 0 else name,
                showlegend=place >= 0,
                hovertemplate="%{y}: %{x:.3g}<extra>" + escape(name) + "</extra>",
            )
        )
    _finish(figure, len(worlds), "cost as a share of leaving the knobs alone")
    figure.add_vline(x=1.0, line={"color": FAINT, "width": 1.4, "dash": "dot"})
    figure.update_xaxes(type="log", dtick="D2")
    figure.update_yaxes(categoryorder="array", categoryarray=[escape(w) for w in worlds[::-1]])
    return theme.described(figure, _standings(costs, ours or players))


def sweep(results: Any) -> Any:
    """What every policy of a sweep cost in every world: means over seeds, with 95 % intervals.

    Args:
        results: the `Results` of a sweep, or their `summary()`.
    """
    lines = (results.summary() if hasattr(results, "summary") else results).lines
    if not lines:
        raise InvalidInput("no run of the sweep has ended well; its failures say why")
    go = theme.graph_objects()
    figure = go.Figure()
    policies = list(dict.fromkeys(line.policy for line in lines))
    for place, name in enumerate(policies):
        mine = [line for line in lines if line.policy == name]
        colour = theme.RUNS[place % len(theme.RUNS)]
        figure.add_trace(
            go.Scatter(
                x=[line.total.value for line in mine],
                y=[escape(line.world) for line in mine],
                error_x={
                    "type": "data",
                    "array": [np.nan_to_num(line.total.plus_minus) for line in mine],
                    "color": colour,
                    "thickness": 1.4,
                },
                mode="markers",
                name=escape(name),
                marker={"color": colour, "symbol": SYMBOLS[place % len(SYMBOLS)], "size": 10},
                hovertemplate="%{y}: %{x:.4g}<extra>" + escape(name) + "</extra>",
            )
        )
    worlds = list(dict.fromkeys(line.world for line in lines))
    _finish(figure, len(worlds), "regret plus price of moves")
    figure.update_xaxes(type="log")
    figure.update_yaxes(categoryorder="array", categoryarray=[escape(w) for w in worlds[::-1]])
    words = "; ".join(f"{line.policy} in {line.world} {line.total}" for line in lines[:12])
    return theme.described(figure, f"Regret plus price of moves by world and policy: {words}.")


def _finish(figure: Any, rows: int, title: str) -> None:
    theme.finish(figure, height=ROW * rows + 150, top=70)
    figure.update_layout(hovermode="closest", margin={"l": 10})
    figure.update_xaxes(title={"text": title, "standoff": 6})
    figure.update_yaxes(nticks=0)


def _standings(costs: Mapping[str, Mapping[str, float]], players: Sequence[str]) -> str:
    parts = []
    for name in players:
        mine = [row[name] for row in costs.values() if name in row]
        if mine:
            mean = float(np.exp(np.mean(np.log(np.maximum(mine, 1e-12)))))
            parts.append(
                f"{name}: {mean:.3g} on average in {len(mine)} worlds, {max(mine):.3g} at worst"
            )
    return f"Cost as a share of leaving the knobs alone, by world. {'; '.join(parts)}."
