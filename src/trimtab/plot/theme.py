"""How figures look: one palette, safe for colour-blind readers, in light and in dark.

Figures are made in the colours for a light page; `dark` exchanges each for its counterpart, and a
page does the same by the table `DARK`. Every colour says something that a shape, a dash or a word
beside it says as well.
"""

from __future__ import annotations

from typing import Any

from trimtab.errors import InvalidInput

# Okabe and Ito's palette, darkened to a contrast of 3 or more on white, lightened for dark pages.
INK, FAINT, GRID = "#1c1c1c", "#5c5c5c", "#d9d9d9"
BLUE, ORANGE, GREEN, RED, PURPLE = "#0067a5", "#b86b00", "#007a58", "#c2410c", "#9b4f86"
BANDS = {
    BLUE: "rgba(0,103,165,0.16)",
    ORANGE: "rgba(184,107,0,0.16)",
    GREEN: "rgba(0,122,88,0.16)",
    RED: "rgba(194,65,12,0.16)",
    PURPLE: "rgba(155,79,134,0.16)",
    FAINT: "rgba(92,92,92,0.16)",
}
DARK = {
    INK: "#e8e8e6",
    FAINT: "#a9a9a6",
    GRID: "#3c3d3f",
    BLUE: "#6cbcf0",
    ORANGE: "#f0b04a",
    GREEN: "#45c9a0",
    RED: "#ff8a5c",
    PURPLE: "#dd9ac8",
    "#ffffff": "#161718",
    "rgba(0,103,165,0.16)": "rgba(108,188,240,0.22)",
    "rgba(184,107,0,0.16)": "rgba(240,176,74,0.22)",
    "rgba(0,122,88,0.16)": "rgba(69,201,160,0.22)",
    "rgba(194,65,12,0.16)": "rgba(255,138,92,0.22)",
    "rgba(155,79,134,0.16)": "rgba(221,154,200,0.22)",
    "rgba(92,92,92,0.16)": "rgba(169,169,166,0.22)",
}
RUNS = (BLUE, ORANGE, PURPLE, GREEN, RED)  # in a comparison: the first one is ours
DASHES = ("solid", "solid", "dash", "dot", "dashdot")
FONT = 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif'
LANE = 116  # pixels of height for each of several panels above one another
CONFIG = {  # of plotly in a page
    "responsive": True,
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "toImage"],
}


def graph_objects() -> Any:
    """Plotly's classes.

    Raises:
        InvalidInput: plotly is not installed.
    """
    try:
        import plotly.graph_objects
    except ModuleNotFoundError:
        raise InvalidInput(
            "figures need plotly, which is not installed; run: pip install 'trimtab[plot]'"
        ) from None
    return plotly.graph_objects


def lanes(titles: list[str], *, height: int = LANE, top: int = 62) -> Any:
    """An empty figure of panels above one another that share their rounds, each with a title."""
    go = graph_objects()
    from plotly.subplots import make_subplots

    n = len(titles)
    whole = height * n + top + 44
    gap = min(34 / (height * n), 0.9 / max(n - 1, 1))
    figure = make_subplots(rows=n, cols=1, shared_xaxes=True, vertical_spacing=gap)
    finish(figure, height=whole, top=top)
    for row, title in enumerate(titles, 1):
        axis = "y" if row == 1 else f"y{row}"
        figure.add_annotation(
            go.layout.Annotation(
                text=f"<b>{escape(title)}</b>",
                x=0,
                y=1,
                xref="paper",
                yref=f"{axis} domain",
                xanchor="left",
                yanchor="bottom",
                showarrow=False,
                font={"size": 13, "color": INK},
            )
        )
    return figure


def finish(figure: Any, *, height: int, top: int = 62) -> None:
    """Give a figure the house's look; it is transparent, so that the page shows through."""
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 58, "r": 14, "t": top, "b": 44},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 12, "color": INK},
        hoverlabel={"bgcolor": "#ffffff", "bordercolor": FAINT, "font": {"color": INK}},
        legend={
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "bgcolor": "rgba(0,0,0,0)",
        },
        dragmode="zoom",
        hovermode="x",
    )
    axis = {
        "gridcolor": GRID,
        "linecolor": GRID,
        "zeroline": False,
        "tickfont": {"color": FAINT},
        "automargin": True,
        "fixedrange": False,
    }
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis, nticks=4)


def ticks(low: float, high: float) -> dict[str, Any]:
    """Options of an axis from low to high whose scale is logarithmic: whole decades, if any."""
    return {"type": "log", "dtick": 1 if high >= 10.0 * low else "D2"}


def described(figure: Any, alt: str) -> Any:
    """The figure, with what it shows in words: `figure.layout.meta["alt"]`."""
    figure.update_layout(meta={"alt": alt})
    return figure


def dark(figure: Any) -> Any:
    """The same figure for a dark page.

    >>> figure = dark(described(graph_objects().Figure(layout={"font": {"color": INK}}), "empty"))
    >>> figure.layout.font.color, figure.layout.meta["alt"]
    ('#e8e8e6', 'empty')
    """
    return graph_objects().Figure(_exchanged(figure.to_plotly_json()))


def _exchanged(part: Any) -> Any:
    if isinstance(part, str):
        return DARK.get(part, part)
    if isinstance(part, dict):
        return {key: _exchanged(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_exchanged(value) for value in part]
    return part


def escape(text: str) -> str:
    """A name as plain text: plotly takes a few tags for markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
