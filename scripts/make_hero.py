"""Draw the picture at the top of the README: a rival and trimtab on the recommender of the demo.

    python scripts/make_hero.py docs/figures/hero.png

It plays the demo (300 rounds, seed 0) and takes a picture of the figure in Chromium. Optuna must be
installed (`pip install optuna`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from photographs import photographs

import trimtab as tt
from trimtab.demo import contenders
from trimtab.demo.story import bills
from trimtab.plot import theme
from trimtab.plot.table import Rounds

SHOWN = ("diversity_mix", "cache_lifetime", "candidate_budget")
WIDTH, HEIGHT = 1200, 520  # pixels, doubled for sharp screens
ROUNDS, SEED = 300, 0


def runs() -> dict[str, Rounds]:
    """The demo's runs of trimtab and of Optuna, with expected losses."""
    spec, world = contenders.service()
    with contenders.tuned(spec, world, horizon=ROUNDS, seed=SEED, advance=lambda n: None) as tuner:
        ours = contenders.as_expected(tt.plot.rounds(tuner, name="trimtab"), world)
    rival = contenders.optuna(spec, world, horizon=ROUNDS, seed=SEED)
    return {"trimtab": ours, rival.name: rival}


def figure(found: dict[str, Rounds]) -> Any:
    """Lanes of three knobs on the left, what was saved on the right."""
    from plotly.subplots import make_subplots

    lanes, saved = tt.plot.knobs(found, show=list(SHOWN)), tt.plot.cost(found)
    n = len(SHOWN)
    whole = make_subplots(
        rows=n,
        cols=2,
        specs=[[{}, {"rowspan": n}], *[[{}, None]] * (n - 1)],
        column_widths=[0.56, 0.44],
        horizontal_spacing=0.07,
        vertical_spacing=0.11,
        subplot_titles=[
            *(f"<b>{lanes.layout.annotations[0].text}</b>",),
            "<b>Saved against staying put, price of moves deducted</b>",
            *(f"<b>{note.text}</b>" for note in lanes.layout.annotations[1:n]),
        ],
    )
    theme.finish(whole, height=HEIGHT, top=84)
    for trace in lanes.data:
        row = int((trace.yaxis or "y").removeprefix("y") or 1)
        trace.update(xaxis=None, yaxis=None)
        whole.add_trace(trace, row=row, col=1)
    for trace in saved.data:
        trace.update(showlegend="best" in (trace.name or ""), xaxis=None, yaxis=None)
        whole.add_trace(trace, row=1, col=2)
    for row in range(1, n + 1):
        axis = lanes.layout["yaxis" if row == 1 else f"yaxis{row}"]
        whole.update_yaxes(type=axis.type, range=axis.range, dtick=axis.dtick, row=row, col=1)
    whole.update_xaxes(range=[0.5, ROUNDS + 1])
    whole.update_xaxes(title="round", row=n, col=1)
    whole.update_xaxes(title="round", row=1, col=2)
    whole.add_hline(y=0.0, row=1, col=2, line={"color": theme.FAINT, "dash": "dot", "width": 1.4})
    top = max(float(table.saved[-1]) for table in found.values() if table.saved is not None)
    for place, (name, bill) in enumerate(zip(found, bills(found)[1:], strict=True)):
        whole.add_annotation(
            text=f"<b>{name}</b>: {bill.moves} moves,<br>"
            f"{bill.share:.0%} of the cost of staying put",
            x=(0.04, 0.98)[place] * ROUNDS,
            y=(0.82, 0.14)[place] * top,
            row=1,
            col=2,
            showarrow=False,
            align=("left", "right")[place],
            xanchor=("left", "right")[place],
            yanchor="middle",
            font={"color": theme.RUNS[place], "size": 14},
        )
    whole.update_annotations(selector={"yanchor": "bottom"}, font={"size": 13})
    whole.update_layout(width=WIDTH, margin={"r": 24})
    return theme.described(whole, tt.plot.cost(found).layout.meta["alt"])


def main(out: Path) -> None:
    """Draw it, and photograph it."""
    out.write_bytes(*photographs([figure(runs())], width=WIDTH, scale=2))


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
