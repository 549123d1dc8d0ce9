"""Pictures in one style, written as PNG and SVG, the same bytes for the same numbers.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; lines also differ
in width or dash, and are labelled where they end.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from trimtab.errors import NotFound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

GREY, ORANGE, BLUE, GREEN, RED = "#6e6e6e", "#d55e00", "#0072b2", "#007a5a", "#a6325e"
INK = "#111111"  # of published numbers and of bounds
PANEL = (4.6, 3.3)  # inches
DPI = 160
LANE = 0.78  # of the distance between two lanes: their height
STYLE: Any = {
    "axes.edgecolor": "#555555",
    "axes.grid": True,
    "axes.labelcolor": "#222222",
    "axes.labelsize": 11,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 11,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.fonttype": "path",
    "svg.hashsalt": "trimtab",  # else identifiers are random
    "xtick.color": "#444444",
    "xtick.labelsize": 10,
    "ytick.color": "#444444",
    "ytick.labelsize": 10,
}


def require() -> None:
    """Nothing, if matplotlib is installed.

    Raises:
        NotFound: it is not.
    """
    try:
        import matplotlib as _  # noqa: F401
    except ImportError:
        raise NotFound(
            "matplotlib is not installed, and the figures need it; pip install 'trimtab[paper]'"
        ) from None


def panels(
    count: int, *, columns: int, size: tuple[float, float] = PANEL
) -> tuple[Canvas, list[Axes]]:
    """A canvas with this number of panels, at most `columns` side by side, in our style."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    columns = min(columns, count)
    rows = -(-count // columns)
    with matplotlib.rc_context(STYLE):
        canvas = Canvas(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
        axes = canvas.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in axes[count:]:
        spare.remove()
    return canvas, axes[:count]


def head(axes: Axes, title: str, *, x: str, y: str) -> None:
    """A title on the left, and the names of the axes."""
    axes.set_title(title, loc="left", fontsize=11.5, fontweight="bold", color="#222222")
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def rounds(axes: Axes, last: float, *, logarithmic: bool = False) -> None:
    """Rounds along the horizontal axis, from the first to the last."""
    if logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(1, last)
    else:
        axes.set_xlim(0, last)
        axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter("{x:,.0f}")


def label_ends(axes: Axes, labels: Sequence[tuple[float, float, str, str]]) -> None:
    """Names at the ends of lines, each (x, y, text, colour), moved apart where they would touch."""
    ordered = sorted(labels, key=lambda label: label[1])
    to_panel = axes.transScale + axes.transLimits  # heights as shares of the panel's
    ends = [float(to_panel.transform((x, y))[1]) for x, y, _, _ in ordered]
    for (x, _, text, colour), height in zip(ordered, apart(ends, gap=0.075, last=1.0), strict=True):
        axes.annotate(
            text,
            (x, height),
            xycoords=("data", "axes fraction"),
            xytext=(5, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            annotation_clip=False,
        )


def lanes(axes: Axes, names: Sequence[str], colours: Sequence[str]) -> None:
    """Make room for a lane each, from the top; `in_lane` gives the heights of values in one."""
    axes.set_yticks([in_lane(j, 0.5) for j in range(len(names))], list(names))
    for label, colour in zip(axes.get_yticklabels(), colours, strict=True):
        label.set_color(colour)
    axes.grid(visible=False, axis="y")
    for j in range(len(names)):
        for end in (0.0, 1.0):
            axes.axhline(in_lane(j, end), color="#dddddd", linewidth=0.8, zorder=0)
    axes.set_ylim(in_lane(len(names) - 1, 0.0) - 0.12, in_lane(0, 1.0) + 0.12)
    axes.tick_params(axis="y", length=0)


def in_lane(j: int, share: Any) -> Any:
    """The height of a value in lane j, where 0 is the lower and 1 the upper end of its range."""
    return LANE * share - j


def png(canvas: Canvas) -> bytes:
    """The picture as a PNG file."""
    return _saved(canvas, "png", {"Software": None})


def svg(canvas: Canvas) -> bytes:
    """The picture as an SVG file."""
    return _saved(canvas, "svg", {"Date": None, "Creator": None})


def _saved(canvas: Canvas, kind: str, metadata: dict[str, None]) -> bytes:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(canvas)
    buffer = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        canvas.savefig(buffer, format=kind, dpi=DPI, metadata=metadata)
    canvas.set_layout_engine("none")  # it is laid out now; another file need not do it again
    return buffer.getvalue()


def apart(heights: Sequence[float], *, gap: float, last: float) -> list[float]:
    """Ascending heights moved as little as it takes to be a gap apart, and at most the last.

    >>> apart([5.0, 5.0], gap=4.0, last=10.0), apart([0.0, 9.0, 10.0], gap=4.0, last=10.0)
    ([3.0, 7.0], [0.0, 6.0, 10.0])
    """
    # Neighbours that would touch are moved together, each block around its own mean.
    blocks: list[list[float]] = []
    for j, height in enumerate(heights):
        blocks.append([height - j * gap])
        while len(blocks) > 1 and fmean(blocks[-2]) >= fmean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    flat = [fmean(block) for block in blocks for _ in block]
    n = len(heights) - 1
    return [min(z + j * gap, last - (n - j) * gap) for j, z in enumerate(flat)]
