"""Groups of Adult: the two sexes, by age, by working hours or by race, and which are linked."""

from __future__ import annotations

from typing import Literal

import numpy as np

from trimtab.arrays import Ints
from trimtab.paper.adult_data import Adult

By = Literal["age", "hours", "race"]
SEXES = ("men", "women")
KINDS: dict[By, tuple[str, ...]] = {
    "age": ("under 35", "35-44", "45-54", "55+"),
    "hours": ("part-time", "40 hours", "longer"),
    "race": ("white", "black", "other"),
}


def groups_of(adult: Adult, by: By) -> Ints:
    """The group of each person, by its place among the names: (n,)."""
    if by == "age":
        kind = np.digitize(adult.numbers["age"], (35, 45, 55))
    elif by == "hours":
        kind = np.digitize(adult.numbers["hours-per-week"], (40, 41))
    else:
        race = adult.words["race"]
        kind = np.select((race == "White", race == "Black"), (0, 1), 2)
    return np.asarray(2 * kind + (adult.words["sex"] == "Female"), np.int64)


def group_names(by: By) -> list[str]:
    """The groups, in the order of the knobs.

    >>> group_names("race")[:4]
    ['men, white', 'women, white', 'men, black', 'women, black']
    """
    return [f"{sex}, {kind}" for kind in KINDS[by] for sex in SEXES]


def group_links(kinds: int) -> list[tuple[int, int]]:
    """A ladder: both sexes of one kind, and one sex in two kinds that follow each other.

    >>> group_links(2)
    [(0, 1), (2, 3), (0, 2), (1, 3)]
    """
    rungs = [(2 * a, 2 * a + 1) for a in range(kinds)]
    rails = [(2 * a + sex, 2 * a + 2 + sex) for sex in (0, 1) for a in range(kinds - 1)]
    return rungs + rails
