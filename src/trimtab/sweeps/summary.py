"""What a sweep says on the whole: means over the seeds, and ratios paired by seed."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.registry import suggestion

if TYPE_CHECKING:
    from rich.table import Table

    from trimtab.sweeps.results import Results

LEVEL = 0.95
WIDTH = 200  # of the text form at most; tables are as wide as they need to be


@dataclass(frozen=True)
class Estimate:
    """A number and how far the truth may be from it, with a confidence of 95 %."""

    value: float
    plus_minus: float  # NaN from a single seed

    def __str__(self) -> str:
        if np.isnan(self.plus_minus):
            return _figure(self.value)
        return f"{_figure(self.value)} ± {_figure(self.plus_minus)}"


@dataclass(frozen=True, kw_only=True)
class SummaryLine:
    """One policy in one world."""

    world: str
    policy: str
    seeds: int
    total: Estimate  # regret and the price of movement together
    regret: Estimate
    movement: Estimate
    moves: Estimate
    ratio: Estimate | None  # of the total to the baseline's, over the seeds that both have


@dataclass(frozen=True)
class Summary:
    """A line per world and policy. Its text form is a table for each world."""

    lines: tuple[SummaryLine, ...]
    baseline: str | None

    def tables(self) -> list[Table]:
        """A table for each world, for a terminal."""
        return [
            self._table(world, list(lines))
            for world, lines in groupby(self.lines, lambda line: line.world)
        ]

    def _table(self, world: str, lines: list[SummaryLine]) -> Table:
        from rich.box import SIMPLE_HEAD
        from rich.markup import escape  # names are not markup
        from rich.table import Table

        table = Table(title=escape(world), title_justify="left", box=SIMPLE_HEAD)
        compared = self.baseline is not None
        table.add_column("policy")
        for heading in ("seeds", "regret + price", "regret", "movement", "moves"):
            table.add_column(heading, justify="right", no_wrap=True)
        if compared:
            table.add_column(escape(f"of {self.baseline}'s"), justify="right", no_wrap=True)
        for line in lines:
            numbers = (line.total, line.regret, line.movement, line.moves)
            share = [str(line.ratio or "-")] if compared else []
            table.add_row(escape(line.policy), str(line.seeds), *map(str, numbers), *share)
        return table

    def __str__(self) -> str:
        from rich.console import Console

        out = StringIO()
        Console(file=out, width=WIDTH, color_system=None).print(*self.tables())
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def summarize(results: Results, baseline: str | None) -> Summary:
    """The lines of all policies in all worlds of which a run has ended well."""
    policies, worlds = (
        results.provenance["settings"]["policies"],
        results.provenance["settings"]["worlds"],
    )
    if baseline is not None and baseline not in policies:
        raise InvalidInput(f"baseline = {baseline!r}; {suggestion(baseline, policies)}")
    lines = []
    for world in worlds:
        reference = None if baseline is None else results.of(baseline, world)
        for policy in policies:
            part = results.of(policy, world)
            if len(part) == 0:
                continue
            lines.append(
                SummaryLine(
                    world=world,
                    policy=policy,
                    seeds=len(part),
                    total=mean(_total(part)),
                    regret=mean(part["regret"]),
                    movement=mean(part["movement"]),
                    moves=mean(part["moves"]),
                    ratio=None if reference is None else _paired(part, reference),
                )
            )
    return Summary(tuple(lines), baseline)


def mean(values: Array) -> Estimate:
    """The mean, with Student's interval.

    >>> print(mean(np.array([1.0, 2.0, 3.0, 4.0])))
    2.5 ± 2.05
    """
    return Estimate(float(np.mean(values)), _half(np.asarray(values, np.float64)))


def ratio(above: Array, below: Array) -> Estimate:
    """The ratio of two means over the same seeds, with its linearised interval.

    The interval is that of the mean of ``above - ratio * below``, which is small where both
    go up and down together, divided by the mean of `below`.

    >>> print(ratio(np.array([2.0, 4.1, 5.9]), np.array([1.0, 2.0, 3.0])))
    2 ± 0.124
    """
    if not np.mean(below):
        return Estimate(np.nan, np.nan)
    found = float(np.mean(above) / np.mean(below))
    return Estimate(found, _half(above - found * below) / abs(float(np.mean(below))))


def _half(values: Array) -> float:
    """Half of Student's interval for the mean."""
    from scipy.special import stdtrit

    n = values.size
    if n < 2:
        return np.nan
    return float(stdtrit(n - 1, 0.5 + LEVEL / 2.0) * np.std(values, ddof=1) / np.sqrt(n))


def _total(part: Results) -> Array:
    return np.asarray(part["regret"] + part["price"])


def _paired(part: Results, reference: Results) -> Estimate | None:
    seeds, mine, theirs = np.intersect1d(part["seed"], reference["seed"], return_indices=True)
    if not seeds.size:
        return None
    return ratio(_total(part)[mine], _total(reference)[theirs])


def _figure(value: float) -> str:
    return f"{value:,.0f}" if 100.0 <= abs(value) < np.inf else f"{value:.3g}"
