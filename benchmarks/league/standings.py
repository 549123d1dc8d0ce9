"""From matches to standings: cost against fixed, means over worlds, and paired ratios."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.stats import t as student

from benchmarks.league.players import FIXED
from trimtab.arrays import Array


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a match cost."""

    world: str
    player: str
    horizon: int
    seed: int
    total: float  # regret and price
    price: float
    movement: float
    moves: int
    final: float  # loss of a round, over the last tenth
    seconds: float  # of CPU


@dataclass(frozen=True)
class Interval:
    """A mean and half of its 95 % interval; NaN from one run."""

    mean: float
    half: float

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.half

    def __str__(self) -> str:
        half = "" if np.isnan(self.half) else f" ± {self.half:.2f}"
        return f"{self.mean:.2f}{half}"


def interval(values: Array) -> Interval:
    """The mean of the values, by Student's t.

    >>> interval(np.array([1.0, 2.0, 3.0]))
    Interval(mean=2.0, half=2.48...)
    """
    n = values.size
    half = student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return Interval(float(values.mean()), float(half))


@dataclass(frozen=True, eq=False)
class Standings:
    """What everybody paid at one horizon. Only seeds that both have played are compared."""

    horizon: int
    rows: Sequence[Row]
    worlds: Sequence[str] = ()  # in this order; those of the rows by default
    _by: dict[tuple[str, str], dict[int, Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.rows:
            if row.horizon == self.horizon:
                self._by.setdefault((row.world, row.player), {})[row.seed] = row

    def played(self, world: str, player: str) -> dict[int, Row]:
        """The matches of a player in a world, by seed."""
        return self._by.get((world, player), {})

    @cached_property
    def players(self) -> list[str]:
        """Everybody who has played somewhere."""
        return list(dict.fromkeys(player for _, player in self._by))

    def worlds_of(self, player: str) -> list[str]:
        """Where a player has met the fixed setting."""
        order = self.worlds or list(dict.fromkeys(world for world, _ in self._by))
        return [
            world
            for world in order
            if self.played(world, player).keys() & self.played(world, FIXED).keys()
        ]

    def ratio(self, world: str, player: str, to: str = FIXED) -> float:
        """Cost as a multiple of another's, all common seeds together."""
        mine, theirs = self.played(world, player), self.played(world, to)
        seeds = mine.keys() & theirs.keys()
        return sum(mine[s].total for s in seeds) / sum(theirs[s].total for s in seeds)

    def difference(self, world: str, player: str, to: str) -> Interval:
        """The ratio of sums, and the paired interval of the difference in units of the other's."""
        mine, theirs = self.played(world, player), self.played(world, to)
        seeds = sorted(mine.keys() & theirs.keys())
        unit = float(np.mean([theirs[s].total for s in seeds]))
        return interval(np.array([1.0 + (mine[s].total - theirs[s].total) / unit for s in seeds]))

    def best(self, world: str, among: Iterable[str]) -> str | None:
        """The cheapest of some players in a world, None if none has played there."""
        there = [name for name in among if world in self.worlds_of(name)]
        return min(there, key=lambda name: self.ratio(world, name)) if there else None

    def mean(self, player: str, worlds: Sequence[str] | None = None) -> float:
        """The geometric mean over worlds of the cost against fixed."""
        there = [w for w in self.worlds_of(player) if worlds is None or w in worlds]
        return float(np.exp(np.mean([np.log(self.ratio(w, player)) for w in there])))

    def worst(self, player: str) -> tuple[str, float]:
        """The world with the highest cost against fixed, and that cost."""
        return max(((w, self.ratio(w, player)) for w in self.worlds_of(player)), key=lambda x: x[1])

    def median(self, player: str, what: str) -> float:
        """Of a column: the median over worlds of the mean over seeds."""
        means = [
            np.mean([getattr(row, what) for row in self.played(world, player).values()])
            for world in self.worlds_of(player)
        ]
        return float(np.median(means))

    def dearer(self, player: str) -> float:
        """The share of matches that cost more than the fixed setting with the same seed."""
        pairs = [
            (row.total, self.played(world, FIXED)[seed].total)
            for world in self.worlds_of(player)
            for seed, row in self.played(world, player).items()
            if seed in self.played(world, FIXED)
        ]
        return float(np.mean([mine > fixed for mine, fixed in pairs]))
