"""From runs to standings: means, paired ratios, ranks and verdicts of a world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from benchmarks.league.match import Score
from benchmarks.league.run import Run
from benchmarks.league.worlds import Setting
from trimtab.arrays import Array

MAIN = "Steady"  # the entry that has to win; "Steady, ..." are the same with other options
TOLERANCE = 1.1  # of the best, where the assumptions do not hold


@dataclass(frozen=True)
class Interval:
    """A mean and half of its 95 % interval; NaN from one run."""

    mean: float
    half: float

    def __str__(self) -> str:
        digits = 0 if abs(self.mean) >= 100 else 1 if abs(self.mean) >= 10 else 2
        half = "" if np.isnan(self.half) else f" ± {self.half:,.{digits}f}"
        return f"{self.mean:,.{digits}f}{half}"


def interval(values: Array) -> Interval:
    """The mean of the values, by Student's t.

    >>> interval(np.array([1.0, 2.0, 3.0]))
    Interval(mean=2.0, half=2.48...)
    """
    n = values.size
    half = student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return Interval(float(values.mean()), float(half))


@dataclass(frozen=True, eq=False)
class Table:
    """What everybody paid in a world. Only seeds that both have played are compared."""

    setting: Setting
    scores: dict[str, dict[int, Score]]  # by player, by seed

    horizon: int

    @property
    def players(self) -> list[str]:
        """Best first."""
        return sorted(self.scores, key=self.relative)

    @property
    def others(self) -> list[str]:
        """Everybody but Steady in any configuration."""
        return [name for name in self.players if not name.startswith(MAIN)]

    def mean(self, player: str, what: str) -> Interval:
        """Of a column, over seeds."""
        scores = self.scores[player].values()
        return interval(np.array([getattr(score, what) for score in scores], np.float64))

    def ratio(self, player: str, to: str) -> Interval:
        """Total cost as a multiple of another's, seed by seed."""
        mine, theirs = self.scores[player], self.scores[to]
        seeds = sorted(mine.keys() & theirs.keys())
        return interval(np.array([mine[s].total / theirs[s].total for s in seeds]))

    def relative(self, player: str) -> float:
        """Total cost of all common seeds together, as a multiple of Steady's."""
        mine, theirs = self.scores[player], self.scores[MAIN]
        seeds = mine.keys() & theirs.keys()
        return sum(mine[s].total for s in seeds) / sum(theirs[s].total for s in seeds)

    def rank(self, player: str) -> int:
        """1 for the lowest total."""
        return self.players.index(player) + 1

    @property
    def must_win(self) -> bool:
        """Whether Steady claims the lowest total cost here."""
        return self.setting.holds

    @property
    def kept(self) -> bool:
        """Whether Steady does what it claims: lowest, or within 10 % of the best."""
        return self.relative(self.others[0]) * (1.0 if self.must_win else TOLERANCE) >= 1.0


def tables(runs: Sequence[Run], settings: Sequence[Setting]) -> list[Table]:
    """One table per world in which Steady and somebody else have played."""
    found = []
    for setting in settings:
        scores: dict[str, dict[int, Score]] = {}
        for run in runs:
            if run.job.world == setting.name:
                scores.setdefault(run.job.player, {})[run.job.seed] = run.score
        first = scores.get(MAIN, {})
        scores = {name: each for name, each in scores.items() if each.keys() & first.keys()}
        table = Table(setting, scores, runs[0].job.horizon)
        if table.scores and table.others:
            found.append(table)
    return found
