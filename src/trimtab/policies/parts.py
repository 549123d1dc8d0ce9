"""What a trigger concerns, found in place: the knobs it frees, who reads them, and in which parts.

Everything is kept in arrays made once. Members are told by the number of the search in which
they were last met, so that nothing has to be cleared, and a search costs what it finds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Ints
from trimtab.compiled import Structure, bare, inner
from trimtab.graph import Graph
from trimtab.solvers.ranking import sort

DENSE = 16  # one in so many: lists at least this full are sorted by going through all


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts(Structure):
    """The graph, and the parts of the last search."""

    scope_offsets: Ints  # (m + 1,)
    scope: Ints
    touch_offsets: Ints  # (k + 1,)
    touch: Ints
    knob_part: Ints  # (k,) the part that a knob was last in, or the search that freed it since
    criterion_part: Ints  # (m,)
    numbered: Ints  # (1,) the last number of a search or a part; none is given twice
    knobs: Ints  # (k,) part after part
    criteria: Ints  # (m,) part after part
    affected: Ints  # (m,) all criteria of all parts, ascending
    knob_ends: Ints  # (k + 1,)
    criterion_ends: Ints  # (k + 1,)


def new_parts(graph: Graph) -> Parts:
    """Room for everything."""
    k, m = graph.knobs, graph.criteria
    return Parts(
        scope_offsets=graph.scope_offsets,
        scope=graph.scope_knobs,
        touch_offsets=graph.touch_offsets,
        touch=graph.touch_criteria,
        knob_part=np.zeros(k, np.int64),
        criterion_part=np.zeros(m, np.int64),
        numbered=np.zeros(1, np.int64),
        knobs=np.empty(k, np.int64),
        criteria=np.empty(m, np.int64),
        affected=np.empty(m, np.int64),
        knob_ends=np.zeros(k + 1, np.int64),
        criterion_ends=np.zeros(k + 1, np.int64),
    )


@bare
def find(around: Ints, parts: Parts) -> int:
    """Free what these criteria read and find the parts; how many, part p ending at ends[p + 1]."""
    scope_offsets, scope = parts.scope_offsets, parts.scope
    parts.numbered[0] += 1
    search = parts.numbered[0]
    for i in around:
        for n in range(scope_offsets[i], scope_offsets[i + 1]):
            parts.knob_part[scope[n]] = search
    found = 0
    for i in around:
        for n in range(scope_offsets[i], scope_offsets[i + 1]):
            if parts.knob_part[scope[n]] == search:
                _gather(scope[n], found, search, parts)
                found += 1
    size = parts.criterion_ends[found]
    for c in range(size):
        parts.affected[c] = parts.criteria[c]
    _in_order(parts.affected[:size], parts.criterion_part, search)
    return found


@inner
def _gather(start: int, p: int, search: int, parts: Parts) -> None:
    """The part of knob `start`: knobs freed by the search, linked by criteria that read them."""
    knobs, criteria = parts.knobs, parts.criteria
    first, begin = parts.knob_ends[p], parts.criterion_ends[p]
    end, last = first, begin
    parts.numbered[0] += 1
    number = parts.numbered[0]
    knobs[end] = start
    end += 1
    parts.knob_part[start] = number
    at = first
    while at < end:
        j = knobs[at]
        at += 1
        for c in range(parts.touch_offsets[j], parts.touch_offsets[j + 1]):
            i = parts.touch[c]
            if parts.criterion_part[i] == number:
                continue
            parts.criterion_part[i] = number
            criteria[last] = i
            last += 1
            for n in range(parts.scope_offsets[i], parts.scope_offsets[i + 1]):
                other = parts.scope[n]
                if parts.knob_part[other] == search:
                    parts.knob_part[other] = number
                    knobs[end] = other
                    end += 1
    parts.knob_ends[p + 1], parts.criterion_ends[p + 1] = end, last
    _in_order(knobs[first:end], parts.knob_part, number)
    _in_order(criteria[begin:last], parts.criterion_part, number)


@inner
def _in_order(items: Ints, member: Ints, least: int) -> None:
    """Sort items, which are those whose membership is at least so new."""
    if items.size * DENSE < member.size:
        sort(items)
        return
    n = 0
    for item in range(member.size):
        if member[item] >= least:
            items[n] = item
            n += 1
