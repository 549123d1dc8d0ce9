"""The pictures of the third experiment: thresholds with bands, movement, and the loss itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.adult.play import AdultRun, Fit
from trimtab.paper.figures import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    head,
    in_lane,
    label_ends,
    lanes,
    panels,
    rounds,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

NAMES, COLOURS = ("standard", "lazy"), (GREY, ORANGE)
NOTE: Any = {"textcoords": "offset points", "ha": "center", "fontsize": 9}


def draw(
    played: Mapping[str, Sequence[AdultRun]], published: tuple[float, float], columns: int
) -> Canvas:
    """A panel per setting, and one for the movement in all of them."""
    canvas, axes = panels(len(played) + 1, columns=columns)
    for panel, (name, runs) in zip(axes, played.items(), strict=False):
        _threshold(panel, runs, name)
    _movement(axes[-1], played, published)
    return canvas


def _threshold(axes: Axes, runs: Sequence[AdultRun], name: str) -> None:
    """Every run of both policies, in a lane each: thresholds jump, and a mean of jumps is none."""
    paths = np.array([run.threshold for run in runs])  # (runs, 2, T)
    t = np.arange(1, paths.shape[2] + 1)
    faint = max(0.12, min(0.9, 2.0 / len(runs)))
    for j, colour in enumerate(COLOURS):
        for path in paths[:, j]:
            axes.step(t, in_lane(j, path), where="mid", color=colour, alpha=faint, linewidth=1.0)
        median = np.median(paths[:, j], axis=0)
        axes.step(t, in_lane(j, median), where="mid", color=colour, linewidth=2.0)
    head(axes, name, x="round, logarithmic", y="threshold, 0 to 1")
    rounds(axes, t[-1], logarithmic=True)
    lanes(axes, NAMES, COLOURS)


def _movement(
    axes: Axes, played: Mapping[str, Sequence[AdultRun]], published: tuple[float, float]
) -> None:
    total = np.array([[run.movement[:, -1] for run in runs] for runs in played.values()])
    mean, sd = total.mean(axis=1), total.std(axis=1, ddof=1)  # (settings, 2)
    y = np.arange(len(played))
    for j, (name, colour) in enumerate(zip(NAMES, COLOURS, strict=True)):
        at = y + 0.36 * j
        axes.barh(at, mean[:, j], xerr=sd[:, j], height=0.34, color=colour, capsize=3, label=name)
        axes.plot(np.full(y.size, published[j]), at, "D", mfc="white", mec=INK, ms=5)
        for place, end, value in zip(at, mean[:, j] + sd[:, j], mean[:, j], strict=True):
            beside = max(float(end), published[j])
            axes.annotate(
                f"{value:.1f}",
                (beside, place),
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
    head(axes, "Movement; diamonds: published", x="l1 movement", y="")
    axes.set_axisbelow(True)
    axes.grid(visible=False, axis="y")
    axes.set_yticks(
        y + 0.18, [name.replace("], ", "],\n").replace("9, ", "9,\n") for name in played]
    )
    axes.invert_yaxis()
    axes.set_xlim(0, 1.2 * max(float((mean + sd).max()), *published))


def draw_loss(loss: Array, best: float, fits: Sequence[Fit], columns: int) -> Canvas:
    """The loss and the parabola nearest to it, and how badly polynomials fit.

    Args:
        loss: thresholds, their expected losses, and the parabola: (3, n).
        best: the best threshold.
        fits: the tests of polynomials.
        columns: panels side by side.
    """
    canvas, (left, right) = panels(2, columns=columns)
    x, values, parabola = loss
    left.plot(x, values, color=BLUE)
    left.plot(x, parabola, color=GREY, linestyle=(0, (4, 3)))
    least = float(np.interp(best, x, values))
    left.plot([best], [least], "o", color=BLUE)
    left.annotate(f"least at {best:.2f}", (best, least), xytext=(0, 12), color=BLUE, **NOTE)
    head(left, "Expected loss, test split", x="threshold", y="error + gap")
    left.set_xlim(0, 1)
    left.set_ylim(bottom=0)
    ends = [(1.0, float(values[-1]), "loss", BLUE), (1.0, float(parabola[-1]), "parabola", GREY)]
    label_ends(left, ends)
    at = np.arange(len(fits))
    ratios = [fit.statistic / fit.critical for fit in fits]
    right.bar(at, ratios, width=0.5, color=BLUE)
    for place, ratio in zip(at, ratios, strict=True):
        right.annotate(f"{ratio:.1f}", (place, ratio), xytext=(0, 5), **NOTE)
    right.axhline(1.0, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
    title = "Lack of fit of polynomials; above 1: rejected"
    head(right, title, x="degree", y="statistic / critical value")
    right.set_axisbelow(True)
    right.grid(visible=False, axis="x")
    right.set_ylim(0, 1.15 * max(*ratios, 1.2))
    right.set_xticks(at, [str(fit.degree) for fit in fits])
    right.set_xlim(-0.6, len(fits) - 0.4)
    return canvas
