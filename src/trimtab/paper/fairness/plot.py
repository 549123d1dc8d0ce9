"""The picture of the fairness study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.fairness.play import Run, checkpoints, group_names
from trimtab.paper.figures import BLUE, GREEN, GREY, ORANGE, RED, head, label_ends, panels

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
GRAPH_COLOURS = {"known": BLUE, "sparse": RED, "dense": GREY, "learned": GREEN}
Curve = Callable[[Run], Array]


def draw(study: FairnessStudy, columns: int) -> Canvas:
    """Regret, movement, thresholds, and wrong graphs."""
    canvas, axes = panels(4, columns=columns)
    policies = {name: (study.of(name), colour) for name, colour in COLOURS.items()}
    short = {name: name.replace("GraphLinUCB", "") for name in COLOURS}

    def regret(run: Run) -> Array:
        return run.regret[1:] / checkpoints(run.rounds)[1:] / study.way

    _curves(axes[0], {short[n]: each for n, each in policies.items()}, regret)
    head(axes[0], "Regret per round so far, share of the way", x="round")
    axes[0].set_ylim(0, 0.6)
    _curves(axes[1], {short[n]: e for n, e in policies.items()}, lambda run: run.movement[1:])
    axes[1].set_yscale("log")
    head(axes[1], "l1 movement, logarithmic", x="round")
    _thresholds(axes[2], study)
    graphs = {
        name: (study.of("SteadyGraphLinUCB", name), colour)
        for name, colour in GRAPH_COLOURS.items()
    }
    _curves(axes[3], graphs, regret)
    head(axes[3], "Steady on wrong graphs: regret", x="round")
    axes[3].set_ylim(0, 0.6)
    return canvas


def _curves(axes: Axes, named: Mapping[str, tuple[Sequence[Run], str]], curve: Curve) -> None:
    for name, (runs, colour) in named.items():
        t = checkpoints(runs[0].rounds)[1:]
        values = np.array([curve(run) for run in runs])
        axes.fill_between(t, values.min(0), values.max(0), color=colour, alpha=0.2, linewidth=0)
        axes.plot(t, values.mean(0), color=colour, label=name)
    axes.set_xlim(left=0)
    axes.legend(loc="best")


def _thresholds(axes: Axes, study: FairnessStudy) -> None:
    run = study.of("SteadyGraphLinUCB")[0]
    t = checkpoints(run.rounds)
    colours = (BLUE, ORANGE)
    for j in range(run.thresholds.shape[1]):
        axes.step(t, run.thresholds[:, j], color=colours[j % 2], linewidth=0.5 + 0.4 * (j // 2))
    x = np.full(study.best.thresholds.size, t[-1])
    dots = [colours[j % 2] for j in range(x.size)]
    axes.scatter(x, study.best.thresholds, c=dots, s=18, zorder=3, clip_on=False)
    head(axes, "Steady's thresholds, first run", x="round")
    axes.set_xlim(0, t[-1])
    axes.set_ylim(0, 1)
    names = group_names(study.spec.ages)[-2:]
    label_ends(
        axes,
        [
            (t[-1], float(study.best.thresholds[j::2].mean()), names[j].split()[0], colours[j])
            for j in (0, 1)
        ],
    )
