"""A short way through given states, in l1 length."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, Ints

PASSES = 50  # of 2-opt, which mostly ends by itself after a few
WORTH = 1e-9  # a shorter way counts only beyond rounding


def tour(start: Array, states: Array) -> Ints:
    """An order in which to visit all states, beginning near `start`: nearest neighbour, then 2-opt.

    The way is open: it ends at the last state.

    >>> tour(np.zeros(1), np.array([[0.2], [1.0], [0.1], [0.6]])).tolist()
    [2, 0, 3, 1]
    """
    points = np.vstack((start, states))
    way = np.abs(points[:, None] - points[None]).sum(axis=2)  # (J + 1, J + 1)
    return _untangled(_greedy(way), way)[1:] - 1


def _greedy(way: Array) -> Ints:
    """From each state to the nearest that was not visited, the first of several."""
    order, waiting = [0], np.ones(len(way), bool)
    waiting[0] = False
    while waiting.any():
        order.append(int(np.argmin(np.where(waiting, way[order[-1]], np.inf))))
        waiting[order[-1]] = False
    return np.array(order)


def _untangled(order: Ints, way: Array) -> Ints:
    """Turn stretches of the way around as long as that makes it shorter."""
    for _ in range(PASSES):
        shorter = False
        for a in range(len(order) - 2):
            # Turn order[a + 1 : b + 1] around: two links change, one where it is the tail.
            here, first = order[a], order[a + 1]
            last, after = order[a + 1 :], order[a + 2 :]
            saved = way[here, first] - way[here, last]
            saved[:-1] += way[last[:-1], after] - way[first, after]
            best = int(np.argmax(saved))
            if saved[best] > WORTH:
                order[a + 1 : a + 2 + best] = order[a + 1 : a + 2 + best][::-1].copy()
                shorter = True
        if not shorter:
            break
    return order
