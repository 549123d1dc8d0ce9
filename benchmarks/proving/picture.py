"""The picture of a proving: losses, totals beside the fixed arm's, and knobs, over the windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.proving.arms import FIXED, OURS
from benchmarks.proving.scores import complete, losses, totals
from benchmarks.proving.windows import Window
from trimtab.arrays import Array
from trimtab.live import Spec
from trimtab.paper import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 15  # windows of the running median
PANEL = (5.6, 3.2)  # inches
COLOURS = {FIXED: figures.GREY, OURS: figures.BLUE}
OTHERS = (figures.ORANGE, figures.GREEN, figures.RED, figures.INK)

Played = dict[str, list[Window]]  # by arm


def picture(windows: Sequence[Window], spec: Spec) -> bytes:
    """A PNG: losses and knobs of the first run, and totals of all runs.

    Raises:
        NotFound: matplotlib is not installed.
    """
    figures.require()
    runs = {run: arms for run, arms in complete(windows).items() if FIXED in arms}
    number, first = next(iter(runs.items()))
    others = (arm for arm in first if arm not in COLOURS)
    colours = COLOURS | dict(zip(others, OTHERS * len(first), strict=False))
    canvas, panels = figures.panels(2 + len(spec.knobs), columns=2, size=PANEL)
    _losses(panels[0], first, colours, f"Loss, run {number}")
    _totals(panels[1], list(runs.values()), colours)
    for axes, knob in zip(panels[2:], spec.knobs, strict=True):
        for arm, played in first.items():
            path = [window.values[knob.name] for window in played]
            axes.step(_numbers(played), path, where="mid", color=colours[arm], lw=_width(arm))
        if knob.scale == "log":
            axes.set_yscale("log")
        figures.head(axes, knob.name, x="window", y=knob.unit or "value")
        figures.rounds(axes, len(first[FIXED]))
    return figures.png(canvas)


def smoothed(loss: Array) -> Array:
    """The running median: a spike of a few windows leaves no trace."""
    half = min(WIDTH, loss.size) // 2
    padded = np.pad(loss, half, mode="reflect") if half < loss.size else loss
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)


def _losses(axes: Axes, arms: Played, colours: dict[str, str], title: str) -> None:
    figures.head(axes, title, x="window", y="running median, and every window")
    for arm, played in arms.items():
        x, loss = _numbers(played), losses(played)
        axes.plot(x, loss, color=colours[arm], lw=0.6, alpha=0.6 if arm == FIXED else 0.25)
        axes.plot(x, smoothed(loss), color=colours[arm], lw=_width(arm), label=arm)
    everybody = np.concatenate([losses(played) for played in arms.values()])
    top = max(losses(arms[FIXED]).max(), float(np.quantile(everybody, 0.99)))
    axes.set_ylim(min(0.0, float(everybody.min())), 1.05 * top)
    figures.rounds(axes, len(arms[FIXED]))
    axes.legend(fontsize=8, ncols=2)


def _totals(axes: Axes, runs: list[Played], colours: dict[str, str]) -> None:
    title = "Running total, share of the fixed arm's"
    figures.head(axes, title, x="window", y="mean, and every run")
    last = min(len(run[FIXED]) for run in runs)
    for arm in runs[0]:
        shares = np.array(
            [
                np.cumsum(totals(run[arm])[:last]) / np.cumsum(totals(run[FIXED])[:last])
                for run in runs
                if arm in run
            ]
        )
        x = np.arange(1, last + 1)
        if len(shares) > 1:
            axes.plot(x, shares.T, color=colours[arm], lw=0.6, alpha=0.4)
        axes.plot(x, shares.mean(axis=0), color=colours[arm], lw=_width(arm))
    figures.rounds(axes, last)


def _numbers(played: Sequence[Window]) -> list[int]:
    return [window.number for window in played]


def _width(arm: str) -> float:
    return 2.2 if arm == OURS else 1.3
