"""Compressed tables of rows, and small pieces of large ones at a cost of the piece alone."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Ints


def union(offsets: Ints, items: Ints, rows: Ints) -> Ints:
    """All items of these rows of a compressed table, ascending, each once."""
    starts, ends = offsets[rows], offsets[rows + 1]
    sizes = ends - starts
    places = np.arange(sizes.sum()) + np.repeat(ends - np.cumsum(sizes), sizes)
    return np.unique(items[places])


def compressed(rows: Ints, columns: Ints, n_rows: int, n_columns: int) -> tuple[Ints, Ints]:
    """The offsets of the rows and their columns, ascending, from (row, column) pairs.

    One sort of row * n_columns + column does both, several times faster than a lexsort.
    """
    keys = np.sort(rows * n_columns + columns)
    offsets = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=offsets[1:])
    return offsets, keys % n_columns
