"""When each criterion comes up next: a tournament tree over their due rounds.

Leaf i holds the round at which criterion i is due; every inner node holds the
smaller of its two children, so the root is the next round at which anything
happens. Changing one leaf costs log2(m) steps, reading the next round none.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Ints
from trimtab.compiled import bare, inner

FEW = 64  # criteria due at once, for which there is room at first


def new_agenda(m: int) -> Ints:
    """A tree for m criteria, all due at once: (2 size,), the leaves in the second half."""
    size = 1 << max(m - 1, 0).bit_length()
    return np.zeros(2 * size, np.int64)


@bare
def put(tree: Ints, criteria: Ints, due: Ints) -> None:
    """Criterion criteria[c] is due at round due[c], for every c."""
    for c in range(criteria.size):
        put_one(tree, criteria[c], due[c])


@inner
def put_one(tree: Ints, criterion: int, due: int) -> None:
    """One criterion is due at this round."""
    node = tree.size // 2 + criterion
    tree[node] = due
    node //= 2
    while node >= 1:
        least = min(tree[2 * node], tree[2 * node + 1])
        if tree[node] == least:  # nothing changes above
            return
        tree[node] = least
        node //= 2


@bare
def put_all(tree: Ints, due: Ints) -> None:
    """Every criterion's due round at once; leaves without a criterion are never due."""
    size = tree.size // 2
    never = np.iinfo(np.int64).max
    for i in range(size):
        tree[size + i] = due[i] if i < due.size else never
    for node in range(size - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])


def due_by(tree: Ints, now: int) -> Ints:
    """The criteria due at round `now` or before, ascending."""
    found = np.empty(FEW, np.int64)
    count = list_due(tree, now, found)
    if count > FEW:
        found = np.empty(count, np.int64)
        list_due(tree, now, found)
    return found[:count]


@bare
def list_due(tree: Ints, now: int, found: Ints) -> int:
    """Write as many criteria due by now as there is room for; how many there are."""
    count = 0
    size = tree.size // 2
    node = 1
    while True:
        if tree[node] <= now and node < size:
            node *= 2
            continue
        if tree[node] <= now:
            if count < found.size:
                found[count] = node - size
            count += 1
        while node & 1:  # a right child: its parent is done as well
            node //= 2
        if node == 0:
            return count
        node += 1
