r"""Exact minimisation of a sum of tables, by eliminating one variable after another.

`src/core/elimination.hpp` says how. The work is the number of bag entries, exponential in the width
of the order and linear in the number of variables.

Candidates that no minimum needs may be left out before. Candidate a of a variable is dominated by
candidate b if a costs more whatever the other variables do, for which it is enough that

    sum over the tables that read the variable of min over the rest of (T[a, .] - T[b, .]) > 0

(Goldstein's criterion for dead-end elimination). One removal leaves smaller tables and so leads
to others, until few candidates are left where the minimum is distinct: elimination is then cheap
even on graphs that are wide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from trimtab import _core
from trimtab.arrays import Array, Ints
from trimtab.model.bases.features import offsets_of


def plan(scopes: Sequence[Ints], counts: Ints, most: int) -> _core.Elimination | None:
    """How to eliminate the variables, or None if that takes more than `most` bag entries.

    Args:
        scopes: the variables that each factor reads, ascending.
        counts: the number of candidates of each variable, all at least 1.
        most: bag entries, over all buckets.
    """
    sizes = np.fromiter((scope.size for scope in scopes), np.int64, len(scopes))
    reads = np.concatenate([np.empty(0, np.int64), *scopes])
    return _core.plan(offsets_of(sizes), reads, np.ascontiguousarray(counts, np.int64), most)


def undominated(
    scopes: Sequence[Ints], tables: Sequence[Array], variables: int
) -> tuple[list[Ints], list[Array]]:
    """The candidates of each variable that are left, ascending, and the tables over them alone.

    Args:
        scopes: the variables of each table, in the order of its axes; each is in some scope.
        tables: what is summed.
        variables: how many there are.
    """
    left = list(tables)
    readers: list[list[tuple[int, int]]] = [[] for _ in range(variables)]
    for i, scope in enumerate(scopes):
        for axis, n in enumerate(scope.tolist()):
            readers[n].append((i, axis))
    kept = [np.arange(left[mine[0][0]].shape[mine[0][1]]) for mine in readers]
    waiting = deque(range(variables))
    queued = [True] * variables
    while waiting:
        n = waiting.popleft()
        queued[n] = False
        if kept[n].size == 1:
            continue
        lead = np.zeros((kept[n].size, kept[n].size))
        for i, axis in readers[n]:
            rows = left[i].swapaxes(0, axis).reshape(kept[n].size, -1)
            for a, row in enumerate(rows):
                lead[a] += (row - rows).min(axis=1)
        stays = np.flatnonzero(~(lead > 0.0).any(axis=1))
        if stays.size == kept[n].size:
            continue
        kept[n] = kept[n][stays]
        for i, axis in readers[n]:
            left[i] = np.take(left[i], stays, axis=axis)
            for other in scopes[i].tolist():
                if other != n and not queued[other]:
                    queued[other] = True
                    waiting.append(other)
    return kept, left
