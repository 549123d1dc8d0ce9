"""Which criterion reads which knobs.

Scopes are stored as compressed rows, never as one object per criterion, so a
graph of a million knobs is three arrays. The paper's graph on k nodes is the
special case of closed neighbourhoods: m = k, and criterion i is centred at knob i.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab._core import parts
from trimtab.arrays import ArrayLike, Ints, floats, read_only, refuse, refuse_where, whole
from trimtab.display import displayed
from trimtab.errors import InvalidInput
from trimtab.model.graph.indices import (
    compressed,
    first_repeat,
    flattened,
    index,
    indices,
    listed,
    union,
)

if TYPE_CHECKING:
    import networkx as nx

NO_LOOPS = "leave it out, a criterion reads its own knob anyway"


@displayed
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Graph:
    """Which criterion reads which knobs, and at which knob it is centred, if at any.

    Built by `from_edges`, `from_scopes`, `complete`, `cliques` or `from_networkx`,
    which check their input; the constructor itself trusts its arrays.

    >>> path = Graph.from_edges(3, [(0, 1), (1, 2)])
    >>> path
    Graph(knobs=3, criteria=3)
    >>> path.scope(1), path.touching(0)
    (array([0, 1, 2]), array([0, 1]))
    """

    knobs: int  # k
    scope_offsets: Ints  # (m + 1,)
    scope_knobs: Ints  # ascending from scope_offsets[i] to scope_offsets[i + 1], the scope of i
    centres: Ints | None = None  # (m,)

    def __post_init__(self) -> None:
        for array in (self.scope_offsets, self.scope_knobs, self.centres):
            if array is not None:
                read_only(array)

    @classmethod
    def from_edges(cls, k: int, edges: Iterable[Collection[int]]) -> Graph:
        """The paper's graph: criterion i reads knob i and its neighbours.

        `edges` are pairs, or an array of shape (e, 2), each edge once. Knobs
        without an edge are fine.

        >>> Graph.from_edges(4, [(0, 2)]).scope(2)
        array([0, 2])

        Raises:
            InvalidInput: k < 1, an unknown knob, a self-loop or a repeated edge.
        """
        k = whole(k, "k", low=1)
        lengths, flat = flattened(edges, "edges", "a pair of knobs")
        refuse(lengths != 2, lambda i: f"edges[{i}] has {lengths[i]} entries; give a pair of knobs")
        ends = indices(flat, np.repeat(np.arange(lengths.size), 2), "edges", k)
        u, v = ends[::2], ends[1::2]
        refuse(u == v, lambda i: f"edges[{i}] = ({u[i]}, {v[i]}) is a self-loop; {NO_LOOPS}")
        repeat = first_repeat(np.minimum(u, v) * k + np.maximum(u, v))
        if repeat is not None:
            i, j = repeat
            raise InvalidInput(
                f"edges[{j}] = ({u[j]}, {v[j]}) repeats edges[{i}] = ({u[i]}, {v[i]}); "
                "edges have no direction, give each one once"
            )
        own = np.arange(k)
        offsets, columns = compressed(np.r_[own, u, v], np.r_[own, v, u], k, k)
        return cls(knobs=k, scope_offsets=offsets, scope_knobs=columns, centres=own)

    @classmethod
    def from_scopes(
        cls,
        scopes: Iterable[Collection[int]],
        *,
        knobs: int,
        centres: Iterable[int] | None = None,
    ) -> Graph:
        """The general case: criterion i reads the knobs listed in `scopes[i]`, in any order.

        `knobs` is k; knobs that nobody reads are fine. `centres`, where given,
        names for every criterion one knob of its scope as its own.

        >>> Graph.from_scopes([[0, 1], [2, 1], [1]], knobs=4).touching(1)
        array([0, 1, 2])

        Raises:
            InvalidInput: no criteria, an empty scope, an unknown or repeated knob,
                or centres that are not one knob of its scope per criterion.
        """
        k = whole(knobs, "knobs", low=1)
        lengths, flat = flattened(scopes, "scopes", "a list of knobs")
        m = lengths.size
        if m == 0:
            raise InvalidInput("scopes is empty; give the scope of at least one criterion")
        refuse(
            lengths == 0,
            lambda i: f"scopes[{i}] is empty; name at least one knob or leave the criterion out",
        )
        rows = np.repeat(np.arange(m), lengths)
        columns = indices(flat, rows, "scopes", k)
        repeat = first_repeat(rows * k + columns)
        if repeat is not None:
            p = repeat[1]
            raise InvalidInput(
                f"scopes[{rows[p]}] names knob {columns[p]} twice; name each knob once"
            )
        offsets, columns = compressed(rows, columns, m, k)
        if centres is None:
            return cls(knobs=k, scope_offsets=offsets, scope_knobs=columns)
        named = listed(centres, "centres", "a knob")
        if len(named) != m:
            raise InvalidInput(
                f"centres has {len(named)} entries for {m} criteria; give one each, or None"
            )
        own = indices(named, np.arange(m), "centres", k)
        at_centre = columns == np.repeat(own, lengths)
        refuse(
            ~np.logical_or.reduceat(at_centre, offsets[:-1]),
            lambda i: f"centres[{i}] = {own[i]} is not in scopes[{i}]; add it or choose another",
        )
        return cls(knobs=k, scope_offsets=offsets, scope_knobs=columns, centres=own)

    @classmethod
    def complete(cls, k: int) -> Graph:
        """The graph of one clique: k criteria that all read all k knobs.

        >>> Graph.complete(3).scope(0)
        array([0, 1, 2])

        Raises:
            InvalidInput: k < 1.
        """
        return cls.cliques([whole(k, "k", low=1)])

    @classmethod
    def cliques(cls, sizes: ArrayLike) -> Graph:
        """The graph of disjoint cliques of these sizes, knobs numbered clique by clique.

        >>> graph = Graph.cliques([2, 3])
        >>> graph, graph.scope(4)
        (Graph(knobs=5, criteria=5), array([2, 3, 4]))

        Raises:
            InvalidInput: no sizes, or one that is not a whole number of at least 1.
        """
        array = floats(sizes, "sizes")
        if array.ndim != 1 or array.size == 0:
            raise InvalidInput(f"sizes has shape {array.shape}; list the size of each clique")
        good = np.isfinite(array) & (array >= 1) & (array == np.floor(array))
        refuse_where(~good, array, "sizes", "is no size; give whole numbers of at least 1")
        size = array.astype(np.int64)
        length = np.repeat(size, size)  # (k,), of every scope
        offsets = np.r_[0, np.cumsum(length)]
        first = np.repeat(np.cumsum(size) - size, size)  # (k,), smallest knob of every scope
        columns = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], length)
        own = np.arange(length.size)
        return cls(knobs=own.size, scope_offsets=offsets, scope_knobs=columns, centres=own)

    @classmethod
    def from_networkx(cls, G: nx.Graph[Any]) -> Graph:
        """The graph of a networkx graph, nodes numbered in their order there.

        An undirected graph gives closed neighbourhoods; in a directed one
        criterion i reads knob i and its successors. A graph that `to_networkx`
        wrote comes back as it was.

        >>> import networkx as nx
        >>> Graph.from_networkx(nx.DiGraph([("a", "b"), ("a", "c")])).scope(0)
        array([0, 1, 2])

        Raises:
            InvalidInput: no networkx graph, an empty one, a multigraph or a self-loop.
        """
        from trimtab.model.graph.exchange import read

        return read(G)

    def to_networkx(self) -> nx.Graph[Any]:
        """The graph as networkx knows it, from which `from_networkx` makes an equal one.

        An undirected graph has the knobs as nodes. Any other becomes bipartite:
        nodes ("criterion", i) and ("knob", j), attribute `bipartite` 0 and 1, and
        the centre, where there is one, as attribute `centre` of the criterion.

        >>> Graph.complete(3).to_networkx().number_of_edges()
        3
        >>> sorted(Graph.from_scopes([[1]], knobs=2).to_networkx())
        [('criterion', 0), ('knob', 0), ('knob', 1)]
        """
        from trimtab.model.graph.exchange import write

        return write(self)

    @property
    def criteria(self) -> int:
        """The number of criteria, m."""
        return self.scope_offsets.size - 1

    def scope_rows(self) -> Ints:
        """The criterion to which each entry of `scope_knobs` belongs."""
        return np.repeat(np.arange(self.criteria), np.diff(self.scope_offsets))

    @cached_property
    def _touch(self) -> tuple[Ints, Ints]:
        rows, k, m = self.scope_rows(), self.knobs, self.criteria
        offsets, criteria = compressed(self.scope_knobs, rows, k, m)
        scopes = self.scope_offsets, self.scope_knobs
        if all(map(np.array_equal, (offsets, criteria), scopes)):
            return scopes  # undirected: one table for both
        return read_only(offsets), read_only(criteria)

    @property
    def touch_offsets(self) -> Ints:
        """Where the criteria that read each knob begin in `touch_criteria`, shape (k + 1,)."""
        return self._touch[0]

    @property
    def touch_criteria(self) -> Ints:
        """The criteria that read knob 0, those that read knob 1, …, each group ascending."""
        return self._touch[1]

    def scope(self, i: int) -> Ints:
        """The knobs that criterion i reads, ascending.

        Raises:
            InvalidInput: there is no criterion i.
        """
        i = index(i, self.criteria, "criterion")
        return self.scope_knobs[self.scope_offsets[i] : self.scope_offsets[i + 1]]

    def touching(self, j: int) -> Ints:
        """The criteria that read knob j, ascending.

        Raises:
            InvalidInput: there is no knob j.
        """
        j = index(j, self.knobs, "knob")
        return self.touch_criteria[self.touch_offsets[j] : self.touch_offsets[j + 1]]

    @cached_property
    def is_undirected(self) -> bool:
        """Whether these are closed neighbourhoods: m = k, centre i is i, scopes symmetric."""
        return (
            self.centres is not None
            and np.array_equal(self.centres, np.arange(self.knobs))
            and np.array_equal(self.scope_offsets, self.touch_offsets)
            and np.array_equal(self.scope_knobs, self.touch_criteria)
        )

    def maximal_cliques(self, *, cap: int = 10_000) -> tuple[tuple[int, ...], ...]:
        """The maximal cliques of an undirected graph, knobs ascending, cliques in order.

        >>> Graph.from_edges(4, [(0, 1), (1, 2), (0, 2), (2, 3)]).maximal_cliques()
        ((0, 1, 2), (2, 3))

        Raises:
            InvalidInput: the graph is not undirected, or has more than `cap` of them.
        """
        import networkx as nx

        cap = whole(cap, "cap", low=1)
        if not self.is_undirected:
            raise InvalidInput(
                f"{self!r} is not undirected, so it has no cliques; pass factors of your own"
            )
        found = list(islice(nx.find_cliques(self.to_networkx()), cap + 1))
        if len(found) > cap:
            raise InvalidInput(
                f"{self!r} has more than cap = {cap} maximal cliques; "
                "pass factors of your own, or raise cap"
            )
        return tuple(sorted(tuple(sorted(clique)) for clique in found))

    def reach(self, criteria: Ints) -> tuple[Ints, Ints]:
        """The knobs that these criteria read, and all criteria that read one of those knobs.

        >>> Graph.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)]).reach(np.array([0]))
        (array([0, 1]), array([0, 1, 2]))
        """
        knobs = union(self.scope_offsets, self.scope_knobs, criteria)
        return knobs, self.readers(knobs)

    def readers(self, knobs: Ints) -> Ints:
        """The criteria that read any of these knobs, ascending."""
        return union(self.touch_offsets, self.touch_criteria, knobs)

    def parts(self, free: Ints) -> tuple[tuple[Ints, Ints], ...]:
        """The parts into which free knobs fall when all others are fixed, with their criteria.

        `free` is ascending. Two free knobs are in one part if a criterion reads both.

        >>> Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)]).parts(np.array([0, 3]))
        ((array([0]), array([0, 1])), (array([3]), array([2, 3])))
        """
        tables = self.scope_offsets, self.scope_knobs, self.touch_offsets, self.touch_criteria
        knobs, a, criteria, b = parts(*tables, free)
        knobs, criteria = read_only(knobs), read_only(criteria)
        ends = zip(pairwise(a.tolist()), pairwise(b.tolist()), strict=True)
        return tuple((knobs[slice(*mine)], criteria[slice(*readers)]) for mine, readers in ends)

    def components(self) -> tuple[tuple[Ints, Ints], ...]:
        """The parts that share no criterion: pairs (knobs, criteria), by their smallest knob.

        A knob that nobody reads is a part of its own, without criteria.

        >>> Graph.from_scopes([[0, 2], [2]], knobs=3).components()
        ((array([0, 2]), array([0, 1])), (array([1]), array([], dtype=int64)))
        """
        return self._components

    @cached_property
    def _components(self) -> tuple[tuple[Ints, Ints], ...]:
        return self.parts(np.arange(self.knobs))

    def _key(self) -> tuple[int, bytes, bytes, bytes | None]:
        centres = None if self.centres is None else self.centres.tobytes()
        return self.knobs, self.scope_offsets.tobytes(), self.scope_knobs.tobytes(), centres

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Graph) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Graph(knobs={self.knobs}, criteria={self.criteria})"
