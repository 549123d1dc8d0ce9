"""Whether a recorded world is like the system it was recorded from, at states it has never seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.stats import spearmanr

from benchmarks.proving.system import Lane, System
from trimtab.arrays import Array
from trimtab.live import Spec

STATES = 10
DRAWS = 400  # of the recorded world at the start state


class Recorded(Protocol):
    """A world made of a recording."""

    def mean(self, state: Array) -> Array:
        """The expected losses at a state: (m,)."""

    def draw(self, state: Array, rng: np.random.Generator, t: int) -> Array:
        """The losses of one round: (m,)."""


@dataclass(frozen=True, kw_only=True)
class Validation:
    """Weighted losses, measured on the system and said by the world."""

    measured: tuple[float, ...]  # mean of each fresh state
    said: tuple[float, ...]
    start: tuple[float, float]  # mean and standard deviation of a window, measured
    start_said: tuple[float, float]

    @property
    def rank_correlation(self) -> float:
        """Spearman's, over the fresh states."""
        return float(spearmanr(self.measured, self.said).statistic)

    def table(self) -> str:
        """All numbers, as a Markdown table and a sentence."""
        lines = ["| state | measured | world | world / measured |", "|---|--:|--:|--:|"]
        pairs = list(zip(self.measured, self.said, strict=True))
        rows = [(f"fresh {n}", *pair) for n, pair in enumerate(pairs, start=1)]
        both = zip(("start, mean", "start, sd"), self.start, self.start_said, strict=True)
        for name, real, said in [*rows, *both]:
            lines.append(f"| {name} | {real:.4f} | {said:.4f} | {said / real:.2f} |")
        found = f"Spearman's rank correlation of the fresh states: {self.rank_correlation:.2f}."
        return "\n".join(lines) + f"\n\n{found}\n"


def validate(system: System, world: Recorded, *, windows: int, seed: int) -> Validation:
    """The comparison at ten fresh random states; the start state is played between any two.

    The first window of every visit is not counted: the system settles in it.
    """
    spec, rng = system.spec, np.random.default_rng((seed, 7))
    weights, lane = spec.problem.weights, system.lane("validate")
    fresh = [spec.problem.domain.sample(rng) for _ in range(STATES)]
    measured, start = list[float](), list[float]()
    for state in fresh:
        start += _played(lane, spec, spec.start, windows)
        measured.append(float(np.nanmean(_played(lane, spec, state, windows))))
    drawn = [float(weights @ world.draw(spec.start, rng, t)) for t in range(1, DRAWS + 1)]
    return Validation(
        measured=tuple(measured),
        said=tuple(float(weights @ world.mean(state)) for state in fresh),
        start=_mean_and_deviation(start),
        start_said=_mean_and_deviation(drawn),
    )


def _played(lane: Lane, spec: Spec, state: Array, windows: int) -> list[float]:
    """The weighted losses of this number of windows at a state, after one in which it settles."""
    values, weights = spec.values(state), spec.problem.weights
    lane.window(values)
    return [float(weights @ spec.losses(lane.window(values))) for _ in range(windows)]


def _mean_and_deviation(losses: Sequence[float]) -> tuple[float, float]:
    return float(np.nanmean(losses)), float(np.nanstd(losses, ddof=1))
