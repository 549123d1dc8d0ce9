"""The picture of the first experiment: trajectory and movement, a row per domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.cliques import Domain
from trimtab.paper.figures import GREY, ORANGE, head, in_lane, label_ends, lanes, panels, rounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

NAMES, COLOURS = ("standard", "lazy"), (GREY, ORANGE)


class Curves(Protocol):
    """What is drawn of a run."""

    @property
    def movement(self) -> Array:
        """Movement of both policies after each round: (2, T + 1)."""

    @property
    def first_knob(self) -> Array:
        """Where the first knob was in each round: (2, T)."""


Curve = TypeVar("Curve", bound=Curves)


def draw(runs: Mapping[Domain, Sequence[Curves]], columns: int) -> Canvas:
    """Two panels per domain: the first knob in one run, and the movement of all."""
    canvas, axes = panels(2 * len(runs), columns=columns)
    for row, (domain, played) in enumerate(runs.items()):
        _trajectory(axes[2 * row], typical(played).first_knob, domain)
        _movement(axes[2 * row + 1], np.array([run.movement for run in played]), domain)
    return canvas


def typical(played: Sequence[Curve]) -> Curve:
    """The run in the middle, by how far standard LinUCB moved the first knob in it."""
    moved = [float(np.abs(np.diff(run.first_knob[0])).sum()) for run in played]
    return played[int(np.argsort(moved, kind="stable")[len(moved) // 2])]


def _trajectory(axes: Axes, paths: Array, domain: Domain) -> None:
    low, last = -1.0 if domain == "circle" else 0.0, paths.shape[1]
    if domain == "square":  # knobs jump from corner to corner: lines would hide each other
        t = np.arange(1, last + 1)
        for j, (path, colour) in enumerate(zip(paths, COLOURS, strict=True)):
            axes.step(t, in_lane(j, path), where="mid", color=colour, linewidth=1.6)
        head(axes, "Unit square: trajectory, one run", x="round", y="first knob, 0 to 1")
        rounds(axes, last)
        lanes(axes, NAMES, COLOURS)
        return
    _steps(axes, paths, 1)
    head(axes, f"Unit {domain}: trajectory, one run", x="round", y="first knob")
    rounds(axes, last)
    axes.set_ylim(low - 0.06, 1.06)
    ends = paths[:, -1].tolist()
    label_ends(axes, [(last, y, n, c) for y, n, c in zip(ends, NAMES, COLOURS, strict=True)])
    late = paths[:, last // 3 :]
    if np.ptp(late) > 0.0:  # where nothing moves any more there is nothing to enlarge
        middle = 0.5 * (low + 1.0)
        below = float(late.mean()) > middle
        zoom = axes.inset_axes((0.4, 0.12 if below else 0.52, 0.57, 0.4))
        _steps(zoom, late, last // 3 + 1)
        zoom.set_xlim(last // 3, last)
        zoom.set_title(f"zoom: rounds {last // 3} to {last}", fontsize=9, color="#444444")
        zoom.tick_params(labelsize=8)
        zoom.locator_params(nbins=4)


def _steps(axes: Axes, paths: Array, first: int) -> None:
    """Both paths, from a round on; where they are the same, the thin one shows on the broad."""
    t = np.arange(first, first + paths.shape[1])
    for path, colour, width in zip(paths[::-1], COLOURS[::-1], (2.6, 0.9), strict=True):
        axes.step(t, path, where="mid", color=colour, linewidth=width)


def _movement(axes: Axes, movement: Array, domain: Domain) -> None:
    mean, sd = movement.mean(axis=0), movement.std(axis=0, ddof=1)
    t = np.arange(mean.shape[1])
    for each, spread, colour in zip(mean, sd, COLOURS, strict=True):
        axes.fill_between(t, each - spread, each + spread, color=colour, alpha=0.15, linewidth=0)
        axes.plot(t, each, color=colour)
    head(axes, f"Unit {domain}: movement, {len(movement)} runs", x="round", y="l1 movement")
    rounds(axes, t[-1])
    axes.set_ylim(0, 1.08 * float((mean + sd).max()))
    ends = mean[:, -1].tolist()
    label_ends(
        axes,
        [(t[-1], y, f"{n} {y:.1f}", c) for y, n, c in zip(ends, NAMES, COLOURS, strict=True)],
    )
