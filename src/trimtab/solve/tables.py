r"""The lower confidence bound as a sum of tables over candidate values of the free knobs.

A criterion's term w_i (u_i.v_i - beta_i |u_i|), u_i = R_i^{-1} phi_i, depends on the knobs of
its own scope only, so it is a table over their candidates.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.model.bases.features import offsets_of
from trimtab.solve.subproblem import Part


def entries(part: Part, counts: Ints) -> float:
    """The number of table entries, with so many candidates of each free knob."""
    return float(_sizes(part.scopes, counts).sum())


def _sizes(scopes: list[Ints], counts: Ints) -> Array:
    """The number of entries of each table, as floats, which do not overflow."""
    starts = offsets_of(np.array([scope.size for scope in scopes], np.int64))
    return np.asarray(
        np.multiply.reduceat(counts[np.concatenate(scopes)], starts[:-1], dtype=float)
    )


def tables(part: Part, candidates: list[Array]) -> tuple[list[Ints], Array]:
    """G as a sum of factors: what each reads, and their tables in C order, one after another.

    First come the part's criteria, where knobs that are not free stay as they are now, then
    the price of every free knob whose moves cost anything. Scopes are positions in
    `part.knobs`.

    Args:
        part: whose G is tabulated.
        candidates: the values of each of its knobs.
    """
    scopes = part.scopes
    counts = np.array([values.size for values in candidates], np.int64)
    starts = offsets_of(_sizes(scopes, counts).astype(np.int64))
    flat = np.empty(int(starts[-1]))
    objective = part.bound.core
    if objective is not None:
        flat[: starts[part.criteria.size]] = objective.tabulate(
            part.now, part.knobs, part.criteria, offsets_of(counts), np.concatenate(candidates)
        )
    else:
        for c in range(part.criteria.size):
            flat[starts[c] : starts[c + 1]] = _by_value(part, c, scopes[c], candidates)
    for c in range(part.criteria.size, len(scopes)):
        n = int(scopes[c][0])
        j = part.knobs[n]
        flat[starts[c] : starts[c + 1]] = part.price[j] * np.abs(candidates[n] - part.now[j])
    return scopes, flat


def _by_value(part: Part, c: int, scope: Ints, candidates: list[Array]) -> list[float]:
    """The table of the part's c-th criterion, by one evaluation per entry."""
    state = part.now.copy()
    criterion = part.criteria[c : c + 1]
    table = []
    for values in product(*(candidates[p] for p in scope)):
        state[part.knobs[scope]] = values
        table.append(part.bound.value(state, criterion))
    return table
