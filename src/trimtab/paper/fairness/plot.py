"""The picture of the fairness study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.fairness.groups import group_names
from trimtab.paper.fairness.play import GRAPHS, FairnessRun, Scopes, checkpoints
from trimtab.paper.figures import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    RED,
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

    from trimtab.paper.fairness.result import FairnessStudy

COLOURS = {
    "LinUCB": GREY,
    "LazyGraphLinUCB": ORANGE,
    "AsyncLazyGraphLinUCB": GREEN,
    "SteadyGraphLinUCB": BLUE,
}
SHORT = {
    "LinUCB": "standard",
    "LazyGraphLinUCB": "lazy",
    "AsyncLazyGraphLinUCB": "async",
    "SteadyGraphLinUCB": "Steady",
}
GRAPH_COLOURS: dict[Scopes, str] = {
    "known": BLUE,
    "sparse": RED,
    "dense": GREY,
    "learned": GREEN,
}
SEX_COLOURS = (BLUE, ORANGE)
STEADY = "SteadyGraphLinUCB"
Lines = Mapping[str, tuple[Sequence[FairnessRun], str]]  # by name: the runs, and their colour


def draw(study: FairnessStudy, columns: int) -> Canvas:
    """Regret and movement of the policies, thresholds, and what wrong graphs cost."""
    canvas, axes = panels(6, columns=columns)
    policies = {SHORT[name]: (study.of(name), colour) for name, colour in COLOURS.items()}
    graphs = {
        GRAPHS[graph]: (study.of(STEADY, graph), colour) for graph, colour in GRAPH_COLOURS.items()
    }

    def regret(run: FairnessRun) -> Array:
        return 100.0 * run.regret[1:] / checkpoints(run.rounds)[1:] / study.way

    def movement(run: FairnessRun) -> Array:
        return run.movement[1:]

    share = "% of what there is to gain"
    for row, named, of in ((0, policies, "Policies"), (4, graphs, "Steady, graph")):
        _curves(axes[row], named, regret, f"{of}: regret per round so far", share)
        _curves(axes[row + 1], named, movement, f"{of}: movement", "l1 movement")
    _thresholds(axes[2], study)
    _ends(axes[3], study)
    return canvas


def _curves(
    axes: Axes, named: Lines, curve: Callable[[FairnessRun], Array], title: str, quantity: str
) -> None:
    """The mean of the runs and their range, over rounds; both axes are logarithmic."""
    from matplotlib.ticker import LogFormatter

    labels, last = [], max(runs[0].rounds for runs, _ in named.values())
    for name, (runs, colour) in named.items():
        t = checkpoints(runs[0].rounds)[1:]
        values = np.array([curve(run) for run in runs])
        axes.fill_between(t, values.min(0), values.max(0), color=colour, alpha=0.2, linewidth=0)
        axes.plot(t, values.mean(0), color=colour)
        labels.append((float(t[-1]), float(values.mean(0)[-1]), name, colour))
        falls = bool(values.mean(0)[-1] < values.mean(0)[0])
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.0, 0.4)))
    head(axes, title, x="round, logarithmic", y=quantity)
    rounds(axes, last, logarithmic=True)
    # A line that ends among others has its name under it, where it falls, or else in front of it.
    label_ends(axes, [label for label in labels if label[0] == last])
    place: Any = {"xytext": (0, -22), "ha": "right"} if falls else {"xytext": (5, -4)}
    for x, y, name, colour in labels:
        if x < last:
            axes.annotate(name, (x, y), textcoords="offset points", color=colour, **place)


def _thresholds(axes: Axes, study: FairnessStudy) -> None:
    """A lane for each group, from 0 to 1, and the best fixed threshold at its end."""
    run, names = study.of(STEADY)[0], group_names(study.spec.by)
    t = checkpoints(run.rounds)
    colours = [SEX_COLOURS[j % 2] for j in range(len(names))]
    for j, colour in enumerate(colours):
        axes.step(t, in_lane(j, run.thresholds[:, j]), color=colour, linewidth=1.3)
        best = in_lane(j, study.best.thresholds[j])
        axes.plot([t[-1]], [best], "D", color=INK, ms=5, clip_on=False, zorder=3)
    head(axes, "Steady: thresholds, first run; diamonds: best", x="round, logarithmic", y="")
    rounds(axes, t[-1], logarithmic=True)
    lanes(axes, names, colours)


def _ends(axes: Axes, study: FairnessStudy) -> None:
    """Where every run of Steady ends, beside the best fixed thresholds and fairlearn's."""
    names = group_names(study.spec.by)
    y = np.arange(len(names))
    for n, run in enumerate(study.of(STEADY)):
        label = "Steady, each run" if n == 0 else None
        axes.plot(run.thresholds[-1], y, "o", mfc="none", mec=BLUE, ms=6, label=label)
    axes.plot(study.best.thresholds, y, "D", color=INK, ms=6, label="best fixed")
    for n, (two, chances) in enumerate(zip(study.peer.thresholds, study.peer.chances, strict=True)):
        label = "fairlearn" if n == 0 else None
        axes.plot([float(two @ chances)], [n], "|", color=RED, ms=14, mew=2, label=label)
    head(axes, "Thresholds at the end, by group", x="threshold", y="")
    axes.set_yticks(y, names)
    axes.set_xlim(0, 1)
    axes.set_ylim(len(names) + 0.6, -0.5)  # room for the legend
    axes.legend(
        loc="lower center",
        ncols=3,
        frameon=False,
        fontsize=8.5,
        columnspacing=0.8,
        handletextpad=0.1,
    )
