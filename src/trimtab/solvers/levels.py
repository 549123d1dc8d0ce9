"""Exact minimisation where every knob has levels: all combinations, by tables.

A criterion's term depends on the levels of its own scope only, so it is computed once
per combination of those; the total of a combination of all knobs is then a sum of
table entries.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.domain import BoundBox
from trimtab.graph import Graph
from trimtab.lcb import LCB
from trimtab.solvers.solution import choose

MOST_COMBINATIONS = 2**18  # of all free knobs
MOST_ENTRIES = 2**12  # of all tables


def enumerable(domain: BoundBox, graph: Graph, knobs: Ints, criteria: Ints) -> bool:
    """Whether all these knobs have levels, and not too many combinations of them."""
    if domain.leveled.size == 0:
        return False
    counts = np.diff(domain.level_offsets)
    if (counts[knobs] == 0).any() or np.log2(counts[knobs]).sum() > np.log2(MOST_COMBINATIONS):
        return False
    bits = np.zeros(counts.size)
    bits[knobs] = np.log2(counts[knobs])
    entries = sum(2.0 ** float(bits[graph.scope(i)].sum()) for i in criteria.tolist())
    return bool(entries <= MOST_ENTRIES)


def enumerate_all(
    lcb: LCB, domain: BoundBox, current: Array, knobs: Ints, criteria: Ints
) -> tuple[Array, float, float]:
    """The best combination of levels of the free knobs, F there, and the least F of all."""
    graph = lcb.problem.graph
    offsets = domain.level_offsets
    counts = np.diff(offsets)[knobs]
    strides = np.concatenate(([1], np.cumprod(counts[:-1])))
    total = np.zeros(int(np.prod(counts)))
    index = np.arange(total.size)
    place = {int(j): n for n, j in enumerate(knobs)}
    state = current.copy()
    for i in criteria:
        mine = [place[int(j)] for j in graph.scope(int(i)) if int(j) in place]
        entry = np.zeros(total.size, np.int64)
        stride = 1
        for n in mine:
            entry += stride * (index // strides[n] % counts[n])
            stride *= int(counts[n])
        table = np.empty(stride)
        for e in range(stride):
            rest = e
            for n in mine:
                state[knobs[n]] = domain.level_values[offsets[knobs[n]] + rest % counts[n]]
                rest //= int(counts[n])
            table[e] = lcb.value(state, np.array([i]))
        total += table[entry]
    least = total.min()
    tied = np.flatnonzero(total <= least + 1e-6 * (1.0 + abs(least)))
    levels = index[tied, None] // strides % counts
    states = domain.level_values[offsets[knobs] + levels]
    best = choose(states, total[tied], current[knobs])
    return states[best], float(total[tied[best]]), float(least)
