"""The pictures of the second experiment: movement with its zoom, and updates by clique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.figures import BLUE, GREY, INK, ORANGE, head, label_ends, panels, rounds
from trimtab.paper.verdict import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

NAMES = {
    "standard": "standard",
    "global": "global",
    "ringing": "global, own clocks",
    "async": "async",
}
COLOURS = {"standard": GREY, "global": ORANGE, "async": BLUE}
BARS: Any = {"fmt": "o", "capsize": 3, "markersize": 6}


def draw_movement(movement: Mapping[str, Array], columns: int) -> Canvas:
    """The movement of all three, each (runs, T + 1); then the two lazy ones alone."""
    canvas, (whole, zoom) = panels(2, columns=columns)
    _curves(whole, movement, "All three schedules")
    lazy = {name: runs for name, runs in movement.items() if name != "standard"}
    _curves(zoom, lazy, "Zoom: the lazy schedules")
    return canvas


def _curves(axes: Axes, movement: Mapping[str, Array], title: str) -> None:
    labels = []
    for name, runs in movement.items():
        mean, sd = runs.mean(axis=0), runs.std(axis=0, ddof=1)
        t = np.arange(mean.size)
        axes.fill_between(t, mean - sd, mean + sd, color=COLOURS[name], alpha=0.15, linewidth=0)
        axes.plot(t, mean, color=COLOURS[name])
        labels.append((float(t[-1]), float(mean[-1]), f"{name} {mean[-1]:.0f}", COLOURS[name]))
    head(axes, title, x="round", y="l1 movement")
    rounds(axes, t[-1])
    axes.set_ylim(bottom=0)
    label_ends(axes, labels)


def draw_updates(
    stiffness: Sequence[float],
    local: Sequence[tuple[float, Interval]],
    overall: tuple[float, Sequence[Interval]],
    columns: int,
) -> Canvas:
    """Asynchronous updates by clique in one setting, and global ones in all settings.

    Args:
        stiffness: of each clique.
        local: for each clique what was published, and our interval.
        overall: what was published of the global updates, and our interval in every setting.
        columns: panels side by side.
    """
    canvas, (left, right) = panels(2, columns=columns)
    _by_clique(left, stiffness, local)
    _by_setting(right, *overall)
    return canvas


def _by_clique(
    axes: Axes, stiffness: Sequence[float], local: Sequence[tuple[float, Interval]]
) -> None:
    published, found = zip(*local, strict=True)
    x = np.arange(len(found))
    axes.errorbar(x, [f.mean for f in found], yerr=_reach(found), **BARS, color=BLUE, label="ours")
    axes.plot(x, published, "D", mfc="none", mec=INK, ms=7, label="published")
    head(axes, "Async updates by clique, circle", x="stiffness", y="updates")
    axes.set_xticks(x, [f"{reg:.2f}" for reg in stiffness], rotation=45)
    axes.legend(frameon=False, fontsize=10)


def _by_setting(axes: Axes, published: float, found: Sequence[Interval]) -> None:
    y = np.arange(len(found))
    axes.errorbar([f.mean for f in found], y, xerr=_reach(found), **BARS, color=ORANGE)
    axes.axvline(published, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    axes.annotate(
        "published",
        (published, len(found) - 0.55),
        xytext=(5, 0),
        textcoords="offset points",
        fontsize=10,
    )
    head(axes, "Global updates by setting", x="updates of every clique", y="")
    axes.set_yticks(y, [f.setting.replace(", ", ",\n") for f in found])
    axes.set_xlim(left=0)
    axes.set_ylim(-0.5, len(found) - 0.2)


def _reach(found: Sequence[Interval]) -> list[list[float]]:
    return [[f.mean - f.low for f in found], [f.high - f.mean for f in found]]
