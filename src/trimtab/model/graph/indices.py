"""Lists of knobs: ragged sequences of indices become flat arrays, or an error; pieces of tables."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from trimtab.arrays import Ints
from trimtab.errors import InvalidInput

T = TypeVar("T")


def listed(value: Iterable[T], name: str, holds: str) -> list[T]:
    """The entries of an iterable."""
    try:
        return list(value)
    except TypeError:
        raise InvalidInput(f"{name} = {value!r}; give a sequence, each entry {holds}") from None


def flattened(
    value: Iterable[Collection[int]], name: str, holds: str
) -> tuple[Ints, Sequence[Any] | npt.NDArray[Any]]:
    """The length of every entry of a ragged sequence, and all their items in one row."""
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return np.full(len(value), value.shape[1]), value.ravel()
    entries = listed(value, name, holds)
    lengths = np.empty(len(entries), dtype=np.int64)
    for i, entry in enumerate(entries):
        try:
            lengths[i] = len(entry)
        except TypeError:
            raise InvalidInput(f"{name}[{i}] = {entry!r}; give {holds}") from None
    return lengths, list(chain.from_iterable(entries))


def indices(flat: Sequence[Any] | npt.NDArray[Any], rows: Ints, name: str, k: int) -> Ints:
    """Knob indices as an array; item p came from `name[rows[p]]`, and errors say so."""
    try:
        raw = np.asarray(flat)
    except ValueError:  # ragged; the walk below finds the culprit
        raw = np.empty(0, dtype=object)
    if raw.ndim == 1 and raw.dtype.kind in "iu" and not ((raw < 0) | (raw >= k)).any():
        return raw.astype(np.int64, copy=False)
    items = raw.tolist() if isinstance(flat, np.ndarray) else flat
    for row, item in zip(rows, items, strict=True):
        where = f"{name}[{row}] names knob {item!r}"
        if not isinstance(item, int | np.integer) or isinstance(item, bool):
            raise InvalidInput(f"{where}, which is not an integer; name knobs by their index")
        if not 0 <= item < k:
            raise InvalidInput(f"{where}, which does not exist; the knobs are 0 to {k - 1}")
    return np.array(items, dtype=np.int64)


def index(value: int, size: int, item: str) -> int:
    """One index below `size`, of a criterion or a knob."""
    try:
        i = operator.index(value)
    except TypeError:
        raise InvalidInput(f"{item} {value!r} is not an integer; name it by its index") from None
    if not 0 <= i < size:
        raise InvalidInput(f"{item} {i} does not exist; they are numbered 0 to {size - 1}")
    return i


def first_repeat(keys: Ints) -> tuple[int, int] | None:
    """Where the first key that occurred before stands, after where it occurred before."""
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return None
    order = np.argsort(keys, kind="stable")
    again = order[1:][keys[order[1:]] == keys[order[:-1]]].min()
    return int(np.argmax(keys == keys[again])), int(again)


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
