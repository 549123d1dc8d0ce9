"""The picture of the third experiment: mean threshold with bands, and movement, by setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trimtab.paper.adult.play import Run
from trimtab.paper.figures import GREY, ORANGE, head, label_ends, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

NAMES, COLOURS = ("standard", "lazy"), (GREY, ORANGE)


def draw(played: Mapping[str, Sequence[Run]], columns: int) -> Canvas:
    """Two panels per setting."""
    canvas, axes = panels(2 * len(played), columns=columns)
    for row, (name, runs) in enumerate(played.items()):
        _threshold(axes[2 * row], runs, name)
        _movement(axes[2 * row + 1], runs, name)
    return canvas


def _threshold(axes: Axes, runs: Sequence[Run], name: str) -> None:
    paths = np.array([run.threshold for run in runs])  # (runs, 2, T)
    mean, sd = paths.mean(axis=0), paths.std(axis=0, ddof=1)
    t = np.arange(1, mean.shape[1] + 1)
    for each, spread, colour in zip(mean, sd, COLOURS, strict=True):
        axes.fill_between(t, each - spread, each + spread, color=colour, alpha=0.18, linewidth=0)
        axes.plot(t, each, color=colour, linewidth=1.2)
    head(axes, f"{name}: threshold", x="round")
    axes.set_xlim(0, t[-1])
    axes.set_ylim(-0.06, 1.06)
    ends = mean[:, -1].tolist()
    label_ends(axes, [(t[-1], y, n, c) for y, n, c in zip(ends, NAMES, COLOURS, strict=True)])


def _movement(axes: Axes, runs: Sequence[Run], name: str) -> None:
    total = np.array([run.movement[:, -1] for run in runs])  # (runs, 2)
    mean, sd = total.mean(axis=0), total.std(axis=0, ddof=1)
    axes.bar(NAMES, mean, yerr=sd, color=COLOURS, width=0.5, capsize=4)
    for x, y in enumerate(mean + sd):
        axes.annotate(
            f"{mean[x]:.1f}", (x, y), xytext=(0, 3), textcoords="offset points", ha="center"
        )
    axes.set_axisbelow(True)
    head(axes, f"{name}: movement", x="")
    axes.set_ylim(0, 1.18 * float((mean + sd).max()))
