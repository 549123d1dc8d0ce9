"""Compressed tables of rows, and small pieces of large ones at a cost of the piece alone."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Ints
from trimtab.compiled import bare


def union(offsets: Ints, items: Ints, rows: Ints) -> Ints:
    """All items of these rows of a compressed table, ascending, each once."""
    sizes = offsets[rows + 1] - offsets[rows]
    found = np.empty(int(sizes.sum()), np.int64)
    _gather(offsets, items, rows, found)
    return np.unique(found)


@bare
def _gather(offsets: Ints, items: Ints, rows: Ints, found: Ints) -> None:
    n = 0
    for row in rows:
        for p in range(offsets[row], offsets[row + 1]):
            found[n] = items[p]
            n += 1


def labels(offsets: Ints, items: Ints, rows: Ints, free: Ints) -> Ints:
    """For each of the free items, ascending, the smallest position it is linked to.

    Two free items are linked if they are in the same row, or linked to a common one.
    """
    parent = np.arange(free.size)
    _link(offsets, items, rows, free, parent)
    return parent


@bare
def _link(offsets: Ints, items: Ints, rows: Ints, free: Ints, parent: Ints) -> None:
    for row in rows:
        first = -1
        for p in range(offsets[row], offsets[row + 1]):
            n, end = 0, free.size
            while n < end:  # the place of the item among the free ones
                middle = (n + end) // 2
                if free[middle] < items[p]:
                    n = middle + 1
                else:
                    end = middle
            if n < free.size and free[n] == items[p]:
                while parent[n] != n:
                    n = parent[n]
                if first < 0:
                    first = n
                elif n < first:
                    parent[first] = n
                    first = n
                else:
                    parent[n] = first
    for n in range(free.size):
        parent[n] = parent[parent[n]]  # parents have smaller positions, so are final


def compressed(rows: Ints, columns: Ints, n_rows: int, n_columns: int) -> tuple[Ints, Ints]:
    """The offsets of the rows and their columns, ascending, from (row, column) pairs.

    One sort of row * n_columns + column does both, several times faster than a lexsort.
    """
    keys = np.sort(rows * n_columns + columns)
    offsets = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=offsets[1:])
    return offsets, keys % n_columns
