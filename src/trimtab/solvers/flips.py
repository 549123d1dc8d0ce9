r"""Search among listed values: flips of one variable, and kicks out of local minima.

Where a sum of tables is too wide for elimination, it is still cheap to look things up in
them: a flip costs one entry of every table that reads the variable. A *descent* flips
one variable after another to its best candidate and comes back to the neighbours of what
has changed. A *kick* holds a variable at another candidate until its surroundings have
followed, then lets go; what is no better is undone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Bools, Ints
from trimtab.bases.features import offsets_of
from trimtab.compiled import Structure, bare, inner
from trimtab.solvers.starts import uniform

LEAST = 1e-12  # of the entries that are summed: what falls less is no gain
PICK = -1  # what a random number decides, where others are about a variable


@dataclass(frozen=True, kw_only=True, eq=False)
class Tables(Structure):
    """A sum of tables, and which of them a variable is in."""

    counts: Ints  # (n,) candidates of each variable
    offsets: Ints  # (f + 1,)
    reads: Ints  # variables of each table
    touch_offsets: Ints  # (n + 1,)
    touch: Ints  # the tables of each variable
    strides: Ints  # and by how much its next candidate is further on
    flat: Array  # the entries


@dataclass(frozen=True, kw_only=True, eq=False)
class Search(Structure):
    """A search on its way."""

    choice: Ints  # (n,)
    at: Ints  # (f,) the entry of each table
    ring: Ints  # (n,) variables still to look at: first come, first served
    ends: Ints  # (2,) where the next one is, and how many there are
    waiting: Bools  # (n,) whether it is on the ring
    tired: Bools  # (n,) kicked in vain, with nothing around it changed since
    log: Ints  # (2, moves) variable and former choice, since the last mark
    sizes: Ints  # (2,) of the log; lookups so far


def descend(
    scopes: list[Ints], counts: Ints, flat: Array, choice: Ints, lookups: int, seed: int
) -> tuple[Ints, int]:
    """A choice that no kick improves, or the best that so many lookups find; and how many it took.

    Args:
        scopes: the variables of each table.
        counts: the candidates of each variable.
        flat: table after table, each in C order.
        choice: where to start.
        lookups: table entries looked at.
        seed: of the kicks at random.
    """
    n = counts.size
    sizes = np.fromiter((scope.size for scope in scopes), np.int64, len(scopes))
    reads = np.concatenate(scopes)
    tables = Tables(
        counts=counts,
        offsets=offsets_of(sizes),
        reads=reads,
        touch_offsets=offsets_of(np.bincount(reads, minlength=n)),
        touch=np.empty(reads.size, np.int64),
        strides=np.empty(reads.size, np.int64),
        flat=flat,
    )
    search = Search(
        choice=choice.copy(),
        at=np.empty(sizes.size, np.int64),
        ring=np.empty(n, np.int64),
        ends=np.zeros(2, np.int64),
        waiting=np.zeros(n, np.bool_),
        tired=np.zeros(n, np.bool_),
        log=np.empty((2, 64 * n), np.int64),
        sizes=np.zeros(2, np.int64),
    )
    _sort(tables, search)
    _search(lookups, seed, tables, search)
    return search.choice, int(search.sizes[1])


@bare
def _sort(tables: Tables, search: Search) -> None:
    """Who reads a variable, by a counting sort, and which entry of every table the choice is."""
    counts, reads, offsets, taken = tables.counts, tables.reads, tables.offsets, search.ring
    for v in range(counts.size):
        taken[v] = tables.touch_offsets[v]
    start = 0
    for f in range(offsets.size - 1):
        stride = 1
        search.at[f] = start
        for p in range(offsets[f + 1] - 1, offsets[f] - 1, -1):
            v = reads[p]
            tables.touch[taken[v]] = f
            tables.strides[taken[v]] = stride
            taken[v] += 1
            search.at[f] += stride * search.choice[v]
            stride *= counts[v]
        start += stride


@bare
def _search(lookups: int, seed: int, tables: Tables, search: Search) -> None:
    n = search.choice.size
    for v in range(n):
        _remind(v, search)
    _settle(-1, tables, search)
    least = 0.0
    for entry in search.at:
        least += LEAST * abs(tables.flat[entry])
    made = 0
    while search.sizes[1] < lookups:
        awake = False
        for v in range(n):
            if search.tired[v] or search.sizes[1] >= lookups:
                continue
            awake = True
            search.tired[v] = True
            for step in range(1, tables.counts[v]):
                search.sizes[0] = 0
                other = (search.choice[v] + step) % tables.counts[v]
                up = _flip(v, other, tables, search)
                up += _settle(v, tables, search)
                _remind(v, search)
                if _kept(up + _settle(-1, tables, search), least, tables, search):
                    break
        if not awake:
            made += 1
            search.sizes[0] = 0
            _kept(_scatter(made, seed, tables, search), least, tables, search)


@inner
def _remind(v: int, search: Search) -> None:
    if not search.waiting[v]:
        search.waiting[v] = True
        search.ring[(search.ends[0] + search.ends[1]) % search.ring.size] = v
        search.ends[1] += 1


@inner
def _settle(held: int, tables: Tables, search: Search) -> float:
    """Flip what is waiting to its best, except the variable held; by how much the sum rises."""
    rise = 0.0
    while search.ends[1] > 0:
        v = search.ring[search.ends[0]]
        search.ends[0] = (search.ends[0] + 1) % search.ring.size
        search.ends[1] -= 1
        search.waiting[v] = False
        if v != held and search.sizes[0] < search.log.shape[1]:
            best, change = _best(v, tables, search)
            if best != search.choice[v]:
                _flip(v, best, tables, search)
                rise += change
    return rise


@inner
def _best(v: int, tables: Tables, search: Search) -> tuple[int, float]:
    """The best candidate of a variable, and by how much the sum rises with it."""
    now = search.choice[v]
    best, least = now, 0.0
    first, last = tables.touch_offsets[v], tables.touch_offsets[v + 1]
    search.sizes[1] += tables.counts[v] * (last - first)
    here = scale = 0.0
    for c in range(first, last):
        entry = tables.flat[search.at[tables.touch[c]]]
        here += entry
        scale += abs(entry)
    for a in range(tables.counts[v]):
        if a == now:
            continue
        there = 0.0
        for c in range(first, last):
            there += tables.flat[search.at[tables.touch[c]] + (a - now) * tables.strides[c]]
        if there - here < least - LEAST * scale:
            best, least = a, there - here
    return best, least


@inner
def _flip(v: int, candidate: int, tables: Tables, search: Search) -> float:
    """Choose a candidate, note what was, and remind the neighbours; by how much the sum rises."""
    size = search.sizes[0]
    search.log[0, size], search.log[1, size] = v, search.choice[v]
    search.sizes[0] += 1
    rise = _put(v, candidate, tables, search)
    for c in range(tables.touch_offsets[v], tables.touch_offsets[v + 1]):
        f = tables.touch[c]
        for p in range(tables.offsets[f], tables.offsets[f + 1]):
            if tables.reads[p] != v:
                _remind(tables.reads[p], search)
    return rise


@inner
def _put(v: int, candidate: int, tables: Tables, search: Search) -> float:
    rise = 0.0
    step = candidate - search.choice[v]
    for c in range(tables.touch_offsets[v], tables.touch_offsets[v + 1]):
        f = tables.touch[c]
        rise -= tables.flat[search.at[f]]
        search.at[f] += step * tables.strides[c]
        rise += tables.flat[search.at[f]]
    search.choice[v] = candidate
    return rise


@inner
def _kept(rise: float, least: float, tables: Tables, search: Search) -> bool:
    """Keep what has changed since the mark if the sum has fallen by more, else undo it."""
    if rise < -least:
        for c in range(search.sizes[0]):
            v = search.log[0, c]
            for t in range(tables.touch_offsets[v], tables.touch_offsets[v + 1]):
                f = tables.touch[t]
                for p in range(tables.offsets[f], tables.offsets[f + 1]):
                    search.tired[tables.reads[p]] = False
        return True
    for c in range(search.sizes[0] - 1, -1, -1):
        _put(search.log[0, c], search.log[1, c], tables, search)
    return False


@inner
def _scatter(made: int, seed: int, tables: Tables, search: Search) -> float:
    """Put the variables of a random table anywhere and let all settle; how the sum rises."""
    f = int(uniform(seed, made, PICK) * (tables.offsets.size - 1))
    rise = 0.0
    for p in range(tables.offsets[f], tables.offsets[f + 1]):
        v = tables.reads[p]
        rise += _flip(v, int(uniform(seed, made, v) * tables.counts[v]), tables, search)
        _remind(v, search)
    return rise + _settle(-1, tables, search)
