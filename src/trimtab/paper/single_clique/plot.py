"""The picture of the first experiment: trajectory and movement, a row per domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.cliques import Domain
from trimtab.paper.figures import GREY, ORANGE, head, label_ends, panels

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
    t = np.arange(1, paths.shape[1] + 1)
    # The broad line first: where both are the same, the thin one shows on it.
    for path, colour, width in zip(paths[::-1], COLOURS[::-1], (2.6, 0.9), strict=True):
        axes.step(t, path, where="mid", color=colour, linewidth=width)
    head(axes, f"Unit {domain}: first knob, one run", x="round")
    axes.set_xlim(0, t[-1])
    axes.set_ylim(-1.06 if domain == "circle" else -0.06, 1.06)
    ends = paths[:, -1].tolist()
    label_ends(axes, [(t[-1], y, n, c) for y, n, c in zip(ends, NAMES, COLOURS, strict=True)])


def _movement(axes: Axes, movement: Array, domain: Domain) -> None:
    mean, sd = movement.mean(axis=0), movement.std(axis=0, ddof=1)
    t = np.arange(mean.shape[1])
    for each, spread, colour in zip(mean, sd, COLOURS, strict=True):
        axes.fill_between(t, each - spread, each + spread, color=colour, alpha=0.15, linewidth=0)
        axes.plot(t, each, color=colour)
    head(axes, f"Unit {domain}: l1 movement, {len(movement)} runs", x="round")
    axes.set_xlim(0, t[-1])
    axes.set_ylim(bottom=0)
    ends = mean[:, -1].tolist()
    label_ends(
        axes,
        [(t[-1], y, f"{n} {y:.1f}", c) for y, n, c in zip(ends, NAMES, COLOURS, strict=True)],
    )
