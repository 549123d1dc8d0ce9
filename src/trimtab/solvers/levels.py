"""Exact minimisation where every knob has levels: all combinations, by tables.

A criterion's term depends on the levels of its own scope only, so it is computed once
per combination of those; the total of a combination of all knobs is then a sum of
table entries.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.domain import BoundBox
from trimtab.lcb import LCB
from trimtab.solvers.solution import choose

MOST_COMBINATIONS = 2**18


def enumerable(domain: BoundBox, knobs: Ints) -> bool:
    """Whether all these knobs have levels, and not too many combinations of them."""
    if domain.leveled.size == 0:
        return False
    counts = np.diff(domain.level_offsets)[knobs]
    return bool((counts > 0).all() and np.log2(counts).sum() <= np.log2(MOST_COMBINATIONS))


def enumerate_all(
    lcb: LCB, domain: BoundBox, current: Array, knobs: Ints, criteria: Ints
) -> tuple[Array, float]:
    """The best combination of levels of the free knobs, and F there."""
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
    return states[best], float(total[tied[best]])
