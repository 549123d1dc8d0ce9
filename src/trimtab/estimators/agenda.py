"""When each criterion comes up next: a tournament tree over their due rounds.

Criterion i is due at round due[i] - n[i]. A leaf holds the least of these over a block of
neighbouring criteria, and every inner node the smaller of its two children, so the root,
tree[1], is the next round at which anything happens. Changing one criterion costs a look at
its block and log2 of the number of blocks, reading the next round nothing.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Ints
from trimtab.compiled import bare, inner

BLOCK = 16  # criteria to a leaf: the tree is small against what it is about
LAST = np.iinfo(np.int64).max  # after every round


def new_agenda(m: int) -> Ints:
    """A tree for m criteria, all due at once: (2 size,), the leaves in the second half."""
    blocks = -(-m // BLOCK)
    size = 1 << max(blocks - 1, 0).bit_length()
    return np.zeros(2 * size, np.int64)


@inner
def put_one(tree: Ints, criterion: int, due: Ints, n: Ints) -> None:
    """The round of one criterion has changed."""
    block = criterion // BLOCK
    node = tree.size // 2 + block
    tree[node] = _least(block, due, n)
    node //= 2
    while node >= 1:
        least = min(tree[2 * node], tree[2 * node + 1])
        if tree[node] == least:  # nothing changes above
            return
        tree[node] = least
        node //= 2


@inner
def _least(block: int, due: Ints, n: Ints) -> int:
    """The first round at which a criterion of the block is due; never if there is none."""
    least = LAST
    for i in range(block * BLOCK, min((block + 1) * BLOCK, due.size)):
        least = min(least, due[i] - n[i])
    return least


@bare
def list_due(tree: Ints, due: Ints, n: Ints, now: int, found: Ints) -> int:
    """Write as many criteria due by now as there is room for; how many there are."""
    count = 0
    size = tree.size // 2
    node = 1
    while True:
        if tree[node] <= now and node < size:
            node *= 2
            continue
        if tree[node] <= now:
            first = (node - size) * BLOCK
            for i in range(first, min(first + BLOCK, due.size)):
                if due[i] - n[i] <= now:
                    if count < found.size:
                        found[count] = i
                    count += 1
        while node & 1:  # a right child: its parent is done as well
            node //= 2
        if node == 0:
            return count
        node += 1
