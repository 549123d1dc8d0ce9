"""What an experiment of the paper gives back: settings, comparisons, figures, tables, remarks.

An experiment is a module of this package with two things in it:

- `Settings`, a frozen dataclass with defaults: everything that was chosen, readable as it stands.
  Its field `runs`, runs per setting, is what `--runs` replaces;
- `run(settings, *, seed, pool, progress)`, which plays it and returns a `Result` (as a
  `trimtab.paper.verdict.Judged`).

`pool.spread` (`trimtab.parallel.pool`) plays runs in worker processes; what comes out does not
depend on their number.

Run i of an experiment draws from generators made of `(seed, i)` and a number of their own, so
that another `--seed` is another sample and nothing depends on the order of the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from trimtab.arrays import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Progress = Callable[[float], None]  # told what part of the whole was just done; they sum to 1
Fact = str | int | float | bool | tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One way to play an experiment."""

    name: str  # short and unique within the experiment, as the tables show it
    stated: bool  # contradicts nothing that the paper says; what it leaves open may be chosen
    facts: Mapping[str, Fact]  # what was chosen, by name: {"domain": "[0, 1]^2", "rounds": 300}


@dataclass(frozen=True, kw_only=True)
class Published:
    """A number that the paper prints. A module holds its own in one table, `PUBLISHED`.

    Nothing but comparisons may read that table, in rows, columns or marks of a picture: what is
    played and remarked would be the same had the paper printed other numbers.
    """

    name: str  # unique within the experiment, a key of the JSON: "movement_standard"
    quantity: str  # in words: "movement of standard LinUCB"
    where: str  # in the paper: "Figure 3, right"
    value: float
    printed: str  # as the paper writes it: "about 22"
    rounding: float  # half a unit of the last place printed: 0.5 for "22", 0.05 for "14.0"
    runs: int  # of how many runs it is the mean; 1 where the paper does not say
    group: str = ""  # numbers of one group hold only together, in the same setting
    claim: bool = False  # said in words ("linear"), and the value is our reading of them


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What came of one quantity in one setting."""

    setting: str  # the name of a `Setting`
    values: tuple[float, ...]  # one per run, two at least


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A published number beside ours, in one setting at least."""

    published: Published
    measured: tuple[Measured, ...]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A picture that stands beside one of the paper's."""

    name: str  # of its files, without ending: "single-clique"
    title: str
    where: str  # in the paper: "Figure 3"; "" if it is ours alone
    caption: str  # what is drawn
    alt: str  # what is to be seen, with numbers of this run, for those who do not see it
    draw: Callable[[int], Canvas]  # given how many panels may stand side by side: 2, or 1


@dataclass(frozen=True, kw_only=True)
class Table:
    """Numbers in rows, for the report and the JSON; the first column names the row."""

    name: str  # a key of the JSON: "trigger_counts"
    title: str
    where: str
    columns: tuple[str, ...]  # those of published numbers begin with "published"
    rows: tuple[tuple[str | int | float, ...], ...]


class Result(Protocol):
    """What the report needs to know of an experiment that was played."""

    @property
    def name(self) -> str:
        """As on the command line: "single-clique"."""

    @property
    def title(self) -> str:
        """The heading of its section."""

    @property
    def question(self) -> str:
        """What the paper did, and what is compared: a paragraph."""

    @property
    def settings(self) -> Sequence[Setting]:
        """Every setting that was played."""

    @property
    def comparisons(self) -> Sequence[Comparison]:
        """Every published number beside ours; empty where the paper has none."""

    @property
    def tables(self) -> Sequence[Table]:
        """Tables beside the comparisons."""

    @property
    def figures(self) -> Sequence[Figure]:
        """The pictures, drawn when asked for."""

    @property
    def remarks(self) -> Sequence[str]:
        """What differs and why, a paragraph each, from the numbers of this very run."""


def values(array: Array | Sequence[float]) -> tuple[float, ...]:
    """One float per run, from an array."""
    return tuple(float(x) for x in array)


def ratios(above: Array, below: Array) -> tuple[float, ...]:
    """The ratio of two means over the same runs, as one value per run.

    They average to the ratio of the means exactly, and spread as that ratio does to first
    order (the delta method), so that intervals for a mean apply to it.

    >>> import numpy as np
    >>> ratios(np.array([2.0, 6.0]), np.array([1.0, 1.0]))
    (2.0, 6.0)
    >>> sum(ratios(np.array([2.0, 6.0]), np.array([1.0, 3.0]))) / 2
    2.0
    """
    ratio = above.mean() / below.mean()
    return values(ratio + (above - ratio * below) / below.mean())
