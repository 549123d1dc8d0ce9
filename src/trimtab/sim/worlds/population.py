"""People with scores, labels and groups: how many are accepted, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trimtab.arrays import Array, ArrayLike, Ints, floats, refuse
from trimtab.errors import InvalidInput

Gap = Literal["tpr", "fpr", "selection"]
GAPS: tuple[Gap, ...] = ("tpr", "fpr", "selection")


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """Groups of people, each sorted by score, and the pairs of groups that are compared.

    Counts are arrays (..., k, 2, 2): by group, by label (0 or 1), and whether rejected (0) or
    accepted (1).
    """

    names: tuple[str, ...]  # (k,) of the groups
    sorted: tuple[tuple[Array, Array], ...]  # the scores of each group's labels 0 and 1, ascending
    links: Ints  # (l, 2) pairs of groups
    gap: Gap  # which rate of two groups is compared
    power: int  # 2 for squared gaps, 1 for absolute ones

    @property
    def size(self) -> int:
        """The number of people."""
        return sum(scores.size for pair in self.sorted for scores in pair)

    def counts(self, thresholds: Array) -> Ints:
        """How many people are rejected and accepted when each group has its threshold: (k, 2, 2).

        Who has a score of at least the threshold is accepted.
        """
        found = np.empty((len(self.names), 2, 2), np.int64)
        for j, pair in enumerate(self.sorted):
            for label, scores in enumerate(pair):
                below = int(np.searchsorted(scores, thresholds[j]))
                found[j, label] = below, scores.size - below
        return found

    def errors(self, counts: npt.NDArray[Any]) -> Array:
        """The share of wrong decisions in each group, NaN where nobody is of it: (..., k)."""
        cells = counts.reshape(*counts.shape[:-2], 4)
        return _share(cells[..., 1] + cells[..., 2], cells.sum(axis=-1))

    def rates(self, counts: npt.NDArray[Any]) -> tuple[Array, Ints]:
        """The rate of each group that gaps compare, and of how many people it is: (..., k)."""
        if self.gap == "selection":
            of = counts.sum(axis=-2)
        else:
            of = counts[..., 1 if self.gap == "tpr" else 0, :]
        n = of.sum(axis=-1)
        return _share(of[..., 1], n), n

    def losses(self, counts: npt.NDArray[Any]) -> Array:
        """Errors, then gaps, of the whole population: (..., k + l)."""
        rates, _ = self.rates(counts)
        return np.concatenate((self.errors(counts), self.gaps(rates)), axis=-1)

    def gaps(self, rates: Array) -> Array:
        """The gap of every link: (..., l)."""
        both = rates[..., self.links]
        difference = both[..., 0] - both[..., 1]
        return np.asarray(difference * difference if self.power == 2 else np.abs(difference))

    def observed(self, counts: npt.NDArray[Any]) -> Array:
        """Errors, then gaps, as a batch shows them; NaN where it does not: (..., k + l).

        A squared gap of a batch exceeds the square of the true one by the variances of both
        rates. These are estimated by x (1 - x) / (n - 1) and taken off, so that the loss is
        right on average; it may be negative, and needs two people of each group. An absolute
        gap of a batch is too large on average, and stays so.
        """
        rates, n = self.rates(counts)
        gaps = self.gaps(rates)
        if self.power == 2:
            variances = _share(rates * (1.0 - rates), n - 1)
            gaps -= variances[..., self.links].sum(axis=-1)
        return np.concatenate((self.errors(counts), gaps), axis=-1)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The name of every criterion: (k + l,)."""
        errors = [f"error of {name}" for name in self.names]
        sign = "squared" if self.power == 2 else "absolute"
        gaps = [f"{sign} {self.gap} gap {self.names[a]} - {self.names[b]}" for a, b in self.links]
        return (*errors, *gaps)


def population_of(
    scores: ArrayLike,
    labels: ArrayLike,
    groups: ArrayLike,
    *,
    links: str | Sequence[tuple[Any, Any]],
    gap: Gap,
    power: int,
) -> Population:
    """The population of three arrays, one entry per person each."""
    x, y, of = floats(scores, "scores"), np.asarray(labels), np.asarray(groups)
    if x.ndim != 1 or x.size == 0 or y.shape != x.shape or of.shape != x.shape:
        raise InvalidInput(
            f"scores, labels and groups have shapes {x.shape}, {y.shape} and {of.shape}; "
            "give one entry per person in each"
        )
    refuse(~np.isfinite(x), lambda i: f"scores[{i}] = {x[i]}; every score must be a number")
    if y.dtype.kind not in "biuf":
        raise InvalidInput(f"labels hold {y.dtype}; give 0 and 1, or truth values")
    refuse((y != 0) & (y != 1), lambda i: f"labels[{i}] = {y[i]}; a label is 0 or 1")
    if gap not in GAPS:
        raise InvalidInput(f"gap = {gap!r}; choose 'tpr', 'fpr' or 'selection'")
    if power not in (1, 2):
        raise InvalidInput(f"power = {power!r}; choose 2 for squared gaps or 1 for absolute ones")
    known = np.unique(of)
    names = tuple(map(str, known.tolist()))
    parts = tuple(
        (np.sort(x[(of == g) & (y == 0)]), np.sort(x[(of == g) & (y == 1)])) for g in known
    )
    pairs = _pairs(links, known.tolist())
    compared = sorted({int(j) for j in pairs.ravel()})
    for label, kind in ((1, "tpr"), (0, "fpr")):
        for j in compared if gap == kind else ():
            if parts[j][label].size == 0:
                raise InvalidInput(
                    f"group {names[j]} has nobody of label {label}, so that it has no {gap}; "
                    "leave its links out or merge it with another group"
                )
    return Population(names=names, sorted=parts, links=pairs, gap=gap, power=power)


def _pairs(links: str | Sequence[tuple[Any, Any]], known: list[Any]) -> Ints:
    """The pairs of groups that are compared, by their place."""
    k = len(known)
    if isinstance(links, str):
        if links == "all":
            found = [(a, b) for a in range(k) for b in range(a + 1, k)]
        elif links == "chain":
            found = [(j, j + 1) for j in range(k - 1)]
        else:
            raise InvalidInput(f"links = {links!r}; choose 'all', 'chain' or list pairs of groups")
    else:
        place = {name: j for j, name in enumerate(known)}
        found = []
        for n, pair in enumerate(links):
            try:
                a, b = (place[name] for name in pair)
            except (KeyError, TypeError, ValueError):
                raise InvalidInput(
                    f"links[{n}] = {pair!r}; give two of the groups {known}"
                ) from None
            if a == b:
                raise InvalidInput(f"links[{n}] = {pair!r} compares a group with itself")
            found.append((a, b))
    return np.array(found, np.int64).reshape(-1, 2)


def _share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Array:
    """part / whole, NaN where there is no whole: the part is 0 then, or NaN itself."""
    with np.errstate(invalid="ignore"):
        return np.asarray(part / whole)
