"""Graphs by name, for descriptions: one objective per knob, which reads its neighbours too."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.arrays import whole
from trimtab.errors import InvalidInput
from trimtab.model.graph import Graph


def ring(knobs: int) -> Graph:
    """Every knob between two others.

    >>> ring(4).scope(0)
    array([0, 1, 3])
    """
    k = whole(knobs, "knobs", low=3)
    return Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


def path(knobs: int) -> Graph:
    """A ring that is open between the last knob and the first.

    >>> path(4).scope(0)
    array([0, 1])
    """
    k = whole(knobs, "knobs", low=1)
    return Graph.from_edges(k, [(j, j + 1) for j in range(k - 1)])


def star(knobs: int) -> Graph:
    """Knob 0 beside all others.

    >>> star(4).scope(0), star(4).scope(3)
    (array([0, 1, 2, 3]), array([0, 3]))
    """
    k = whole(knobs, "knobs", low=1)
    return Graph.from_edges(k, [(0, j) for j in range(1, k)])


def grid(rows: int, columns: int) -> Graph:
    """Rows and columns; every knob beside those above, below, left and right of it.

    >>> grid(2, 3).scope(1)
    array([0, 1, 2, 4])
    """
    m, n = whole(rows, "rows", low=1), whole(columns, "columns", low=1)
    right = [(n * i + j, n * i + j + 1) for i in range(m) for j in range(n - 1)]
    down = [(n * i + j, n * i + j + n) for i in range(m - 1) for j in range(n)]
    return Graph.from_edges(m * n, right + down)


def regular(knobs: int, degree: int, seed: int = 0) -> Graph:
    """A random graph in which every knob has the same number of neighbours.

    >>> {regular(8, 3).scope(j).size for j in range(8)}
    {4}
    """
    import networkx as nx

    k, n = whole(knobs, "knobs", low=1), whole(degree, "degree", low=0)
    if n >= k or k * n % 2:
        raise InvalidInput(f"degree = {n}; no graph of {k} knobs has that degree everywhere")
    return Graph.from_networkx(nx.random_regular_graph(n, k, seed=whole(seed, "seed", low=0)))


def complete(knobs: int) -> Graph:
    """Every objective reads every knob."""
    return Graph.complete(knobs)


def edges(knobs: int, edges: Sequence[Sequence[int]]) -> Graph:
    """The pairs that are neighbours, listed."""
    return Graph.from_edges(knobs, edges)
