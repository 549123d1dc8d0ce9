r"""Candidates that no minimum of a sum of tables needs, found locally.

Candidate a of a variable is dominated by candidate b if a costs more whatever the other
variables do, for which it is enough that

    sum over the tables that read the variable of min over the rest of (T[a, .] - T[b, .]) > 0.

Without a the least sum is the same. One removal leaves smaller tables and so leads to
others, until few candidates are left where the minimum is distinct: elimination is then
cheap even on graphs that are wide. (Goldstein's criterion for dead-end elimination.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from trimtab.arrays import Array, Ints


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
