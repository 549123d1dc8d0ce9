"""Pictures drawn as text: SVG inside a page, in the page's own colours.

Colours are the variables of `page.STYLE`, so that a picture is right in light, in dark and on
paper. Lines differ in width and dash as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean

import numpy as np

from trimtab.arrays import Array, Bools
from trimtab.sim.page import shown

WIDTH, HEIGHT = 360.0, 190.0  # of a chart, in its own units: about a phone's width
LEFT, RIGHT, TOP, BOTTOM = 44.0, 8.0, 26.0, 24.0  # around the area with the lines
TEXT = 12.0
BINS = 300  # columns into which a long line is reduced
LABELS, LABEL_GAP = 76.0, 14.0  # room for labels to the right of the lines, and between them
INKS = {
    "main": "stroke:var(--link);stroke-width:2.2",
    "other": "stroke:var(--fair);stroke-width:1.6",
    "restless": "stroke:var(--fair);stroke-width:.9;opacity:.6",
    "ideal": "stroke:var(--good);stroke-width:1.6;stroke-dasharray:5 4",
    "idle": "stroke:var(--faint);stroke-width:1.4;stroke-dasharray:1.5 3",
}
FILLS = {"main": "--link", "other": "--fair", "ideal": "--good", "idle": "--faint"}  # of labels
FAINT = "fill:var(--faint)"


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a chart, at value y from x on (a step line) or straight between points."""

    ink: str  # a key of INKS
    x: Array
    y: Array
    step: bool = False
    label: str = ""  # written beside its end


def chart(title: str, lines: Sequence[Line], *, right: float, top: float, alt: str) -> str:
    """A chart of lines over rounds 0 to `right`, with values from 0 to `top`."""
    named = sorted((line for line in lines if line.label), key=lambda line: -float(line.y[-1]))
    edge = WIDTH - (LABELS if named else RIGHT)
    across, up = edge - LEFT, HEIGHT - TOP - BOTTOM
    parts = [_text(0.0, 14.0, title, "font-weight:600")]
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        height = TOP + up * (1.0 - share)
        parts.append(_path(f"M{LEFT:g} {height:g}H{edge:g}", "stroke:var(--rule)"))
        parts.append(_text(LEFT - 6.0, height + 4.0, _tick(share * top), FAINT, "end"))
        words = f"{'round ' * (share == 1.0)}{share * right:,.0f}"
        parts.append(_text(LEFT + across * share, HEIGHT - 6.0, words, FAINT, anchor))
    for line in lines:
        kept = _reduced(line, right)
        x, y = LEFT + across * line.x[kept] / right, TOP + up * (1.0 - line.y[kept] / top)
        parts.append(_path(_steps(x, y, edge) if line.step else _straight(x, y), line.ink))
    ends = [TOP + up * (1.0 - float(line.y[-1]) / top) for line in named]
    heights = apart(ends, gap=LABEL_GAP, last=HEIGHT - BOTTOM)
    for line, height in zip(named, heights, strict=True):
        style = f"fill:var({FILLS[line.ink]});font-weight:600"
        parts.append(_text(edge + 6.0, height + 4.0, line.label, style))
    return picture("".join(parts), width=WIDTH, height=HEIGHT, alt=alt)


def bipartite(
    left: Sequence[tuple[str, str]],
    right: Sequence[tuple[str, str]],
    links: Mapping[int, Sequence[int]],
    *,
    alt: str,
) -> str:
    """Two columns of names with a note each, and lines from the right ones to the left ones."""
    gap, inner, outer = 40.0, 122.0, WIDTH - 122.0
    height = gap * max(len(left), len(right))
    rows = [gap * (j + 0.5) for j in range(len(right))]
    pitch = height / len(left)
    heads = [pitch * (j + 0.5) for j in range(len(left))]
    parts = []
    for i, scope in links.items():
        middle = (inner + outer) / 2.0
        for j in scope:
            curve = (
                f"M{inner:g} {heads[j]:.1f}C{middle:g} {heads[j]:.1f} {middle:g} {rows[i]:.1f} "
                f"{outer:g} {rows[i]:.1f}"
            )
            parts.append(_path(curve, "stroke:var(--faint);stroke-width:1.2;opacity:.8"))
    for side, x, anchor, names, places in (
        (-1.0, inner, "end", left, heads),
        (1.0, outer, "start", right, rows),
    ):
        for (name, note), y in zip(names, places, strict=True):
            parts.append(f'<circle cx="{x:g}" cy="{y:.1f}" r="4" style="fill:var(--link)"/>')
            parts.append(_text(x + 9.0 * side, y - 1.0, name, anchor=anchor))
            parts.append(_text(x + 9.0 * side, y + 13.0, note, FAINT, anchor))
    return picture("".join(parts), width=WIDTH, height=height, alt=alt)


def picture(body: str, *, width: float, height: float, alt: str) -> str:
    """The picture as an element of a page, as wide as there is room, with its words."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(alt)}" '
        f'style="display:block;width:100%;height:auto;font-size:{TEXT:g}px">{body}</svg>'
    )


def swatch(ink: str) -> str:
    """A short piece of a line, for a legend; the words beside it say what it is."""
    return (
        '<svg viewBox="0 0 30 8" aria-hidden="true" role="presentation" aria-label="line" '
        f'style="width:30px;height:8px;vertical-align:middle">{_path("M0 4H30", ink)}</svg>'
    )


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


def _reduced(line: Line, right: float) -> Bools:
    """Which points to draw: of each column of the picture the first, last, lowest and highest."""
    n = line.x.size
    if n <= 4 * BINS:
        return np.ones(n, np.bool_)
    kept = np.zeros(n, np.bool_)
    edges = np.searchsorted(line.x, np.linspace(0.0, right, BINS + 1))
    edges[-1] = n
    for lo, hi in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if lo < hi:
            part = line.y[lo:hi]
            kept[[lo, lo + int(part.argmin()), lo + int(part.argmax()), hi - 1]] = True
    return kept


def _steps(x: Array, y: Array, end: float) -> str:
    """Level until the next point, then straight up or down, and on to the end."""
    words, level = [f"M{x[0]:.1f} {y[0]:.1f}"], f"{y[0]:.1f}"
    for a, b in zip(x[1:].tolist(), y[1:].tolist(), strict=True):
        if f"{b:.1f}" != level:
            level = f"{b:.1f}"
            words.append(f"H{a:.1f}V{level}")
    return "".join(words) + f"H{end:g}"


def _straight(x: Array, y: Array) -> str:
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _path(d: str, ink: str) -> str:
    return f'<path d="{d}" style="fill:none;stroke-linejoin:round;{INKS.get(ink, ink)}"/>'


def _text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    look = style if "fill:" in style else f"fill:var(--ink);{style}"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="{look}">'
        f"{escape(words)}</text>"
    )


def _tick(x: float) -> str:
    return f"{x:g}" if x < 10 else shown(x)
