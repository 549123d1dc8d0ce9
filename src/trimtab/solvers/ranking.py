"""Which of many comes first, without making new arrays."""

from __future__ import annotations

from trimtab.arrays import Array, Ints
from trimtab.compiled import bare, inner


@bare
def rank(order: Ints, keys: Array) -> None:
    """Sort these indices by their keys, and of equal keys the lower index first: a heap sort."""
    n = order.size
    for root in range(n // 2 - 1, -1, -1):
        _sink(root, n, order, keys)
    for end in range(n - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        _sink(0, end, order, keys)


@inner
def _sink(node: int, end: int, order: Ints, keys: Array) -> None:
    """Let a node of the heap, the latest on top, go down to where it belongs."""
    while 2 * node + 1 < end:
        child = 2 * node + 1
        if child + 1 < end and _before(order[child], order[child + 1], keys):
            child += 1
        if not _before(order[node], order[child], keys):
            return
        order[node], order[child] = order[child], order[node]
        node = child


@inner
def _before(a: int, b: int, keys: Array) -> bool:
    return bool(keys[a] < keys[b] or (keys[a] == keys[b] and a < b))


@bare
def sort(items: Ints) -> None:
    """Put whole numbers in ascending order, in place: a heap sort."""
    n = items.size
    for end in range(-(n // 2), n):
        last = n if end < 0 else n - 1 - end
        node = -end - 1 if end < 0 else 0
        if end >= 0:
            items[0], items[last] = items[last], items[0]
        while 2 * node + 1 < last:
            child = 2 * node + 1
            if child + 1 < last and items[child] < items[child + 1]:
                child += 1
            if items[node] >= items[child]:
                break
            items[node], items[child] = items[child], items[node]
            node = child
