"""Graphs: the compressed rows against plain sets and networkx, and every refusal."""

from __future__ import annotations

import re
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import InvalidInput
from trimtab.model.graph import Graph


@st.composite
def networks(draw: st.DrawFn) -> nx.Graph[Any]:
    """A random undirected networkx graph on 1 to 9 nodes."""
    k = draw(st.integers(1, 9))
    pairs = [(i, j) for i in range(k) for j in range(i)]
    G: nx.Graph[Any] = nx.Graph()
    G.add_nodes_from(range(k))
    G.add_edges_from(draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [])
    return G


@st.composite
def scope_lists(draw: st.DrawFn) -> tuple[int, list[list[int]], list[int] | None]:
    """Random scopes in random order: k, the scopes, and centres or None."""
    k = draw(st.integers(1, 7))
    scope = st.lists(st.integers(0, k - 1), unique=True, min_size=1)
    scopes = draw(st.lists(scope, min_size=1, max_size=8))
    return k, scopes, [scope[0] for scope in scopes] if draw(st.booleans()) else None


def build(drawn: tuple[int, list[list[int]], list[int] | None]) -> Graph:
    k, scopes, centres = drawn
    return Graph.from_scopes(scopes, knobs=k, centres=centres)


def scopes_of(graph: Graph) -> list[list[int]]:
    return [graph.scope(i).tolist() for i in range(graph.criteria)]


def refused(message: str) -> Any:
    return pytest.raises(InvalidInput, match=f"^{re.escape(message)}$")


@given(networks())
def test_closed_neighbourhoods(G: nx.Graph[Any]) -> None:
    graph = Graph.from_edges(len(G), list(G.edges))
    scopes = [sorted({i, *G[i]}) for i in G]
    assert scopes_of(graph) == scopes
    assert graph.centres is not None
    assert graph.centres.tolist() == list(G)
    assert graph.is_undirected
    assert graph == Graph.from_scopes(scopes, knobs=len(G), centres=list(G))
    assert graph == Graph.from_edges(len(G), np.array(G.edges, dtype=np.uint8).reshape(-1, 2))
    assert graph == Graph.from_networkx(nx.relabel_nodes(G, {i: f"node {i}" for i in G}))


@given(scope_lists())
def test_scopes_are_kept_and_touching_is_their_transpose(
    drawn: tuple[int, list[list[int]], list[int] | None],
) -> None:
    k, scopes, centres = drawn
    graph = build(drawn)
    assert scopes_of(graph) == [sorted(scope) for scope in scopes]
    assert (graph.knobs, graph.criteria) == (k, len(scopes))
    assert (None if graph.centres is None else graph.centres.tolist()) == centres
    readers = [[i for i, scope in enumerate(scopes) if j in scope] for j in range(k)]
    assert [graph.touching(j).tolist() for j in range(k)] == readers
    undirected = (
        centres == list(range(k))
        and len(scopes) == k
        and all((j in scopes[i]) == (i in scopes[j]) for i in range(k) for j in range(k))
    )
    assert graph.is_undirected == undirected


def test_undirected_needs_its_own_centres_and_both_directions() -> None:
    pair = [[0, 1], [0, 1]]
    assert Graph.from_scopes(pair, knobs=2, centres=[0, 1]).is_undirected
    assert not Graph.from_scopes(pair, knobs=2).is_undirected
    assert not Graph.from_scopes(pair, knobs=2, centres=[1, 0]).is_undirected
    assert not Graph.from_scopes(pair, knobs=3, centres=[0, 1]).is_undirected
    assert not Graph.from_scopes([[0, 1], [1]], knobs=2, centres=[0, 1]).is_undirected
    cycle = Graph.from_scopes([[0, 1], [1, 2], [2, 0]], knobs=3, centres=[0, 1, 2])
    assert not cycle.is_undirected  # as many readers as knobs read, yet not the same ones


@given(networks())
def test_networkx_round_trip_undirected(G: nx.Graph[Any]) -> None:
    graph = Graph.from_edges(len(G), list(G.edges))
    back = graph.to_networkx()
    assert list(back) == list(G)
    assert nx.utils.graphs_equal(back, G)
    assert Graph.from_networkx(back) == graph


@given(scope_lists())
def test_networkx_round_trip_scopes(
    drawn: tuple[int, list[list[int]], list[int] | None],
) -> None:
    graph = build(drawn)
    G = graph.to_networkx()
    assert Graph.from_networkx(G) == graph
    if not graph.is_undirected:
        shuffled: nx.Graph[Any] = nx.Graph()
        shuffled.add_nodes_from(reversed(list(G.nodes(data=True))))
        shuffled.add_edges_from((v, u) for u, v in G.edges)
        assert Graph.from_networkx(shuffled) == graph


def test_bipartite_form() -> None:
    G = Graph.from_scopes([[0, 2], [1]], knobs=4, centres=[2, 1]).to_networkx()
    assert dict(G.nodes(data=True)) == {
        ("criterion", 0): {"bipartite": 0, "centre": 2},
        ("criterion", 1): {"bipartite": 0, "centre": 1},
        **{("knob", j): {"bipartite": 1} for j in range(4)},
    }
    assert sorted(G["criterion", 0]) == [("knob", 0), ("knob", 2)]


def test_an_ordinary_bipartite_graph_is_an_undirected_graph() -> None:
    graph = Graph.from_networkx(nx.complete_bipartite_graph(2, 3))
    assert (graph.criteria, graph.is_undirected) == (5, True)


def test_directed_networkx_reads_successors() -> None:
    graph = Graph.from_networkx(nx.DiGraph([("b", "a"), ("a", "c"), ("c", "a")]))  # b, a, c
    assert scopes_of(graph) == [[0, 1], [1, 2], [1, 2]]
    assert graph.centres is not None
    assert graph.centres.tolist() == [0, 1, 2]


@given(networks())
def test_components_undirected(G: nx.Graph[Any]) -> None:
    expected = sorted(sorted(part) for part in nx.connected_components(G))
    parts = Graph.from_networkx(G).components()
    assert [knobs.tolist() for knobs, _ in parts] == expected
    assert [criteria.tolist() for _, criteria in parts] == expected


@given(scope_lists())
def test_components_of_scopes(drawn: tuple[int, list[list[int]], list[int] | None]) -> None:
    k, scopes, _ = drawn
    linked: nx.Graph[Any] = nx.Graph()
    linked.add_nodes_from(range(k))
    for scope in scopes:
        nx.add_path(linked, scope)
    knobs = sorted(sorted(part) for part in nx.connected_components(linked))
    criteria = [[i for i, scope in enumerate(scopes) if scope[0] in part] for part in knobs]
    parts = build(drawn).components()
    assert [(a.tolist(), b.tolist()) for a, b in parts] == list(zip(knobs, criteria, strict=True))


def test_complete_and_cliques() -> None:
    assert Graph.complete(4) == Graph.from_networkx(nx.complete_graph(4))
    assert Graph.complete(1) == Graph.from_edges(1, [])
    union = nx.disjoint_union_all([nx.complete_graph(n) for n in (3, 1, 2)])
    assert Graph.cliques([3, 1, 2]) == Graph.from_networkx(union)
    assert Graph.cliques(np.array([3, 1, 2])).maximal_cliques() == ((0, 1, 2), (3,), (4, 5))


@given(networks())
def test_maximal_cliques_by_brute_force(G: nx.Graph[Any]) -> None:
    k = len(G)
    subsets = [{i for i in range(k) if mask >> i & 1} for mask in range(1, 2**k)]
    cliques = [s for s in subsets if all(j in G[i] for i in s for j in s if i < j)]
    maximal = [s for s in cliques if not any(s < t for t in cliques)]
    assert Graph.from_networkx(G).maximal_cliques() == tuple(
        sorted(map(tuple, map(sorted, maximal)))
    )


def test_maximal_cliques_stop_at_the_cap() -> None:
    graph = Graph.from_networkx(nx.complete_multipartite_graph(2, 2, 2))  # 2^3 of them
    assert len(graph.maximal_cliques(cap=8)) == 8
    with refused(
        "Graph(knobs=6, criteria=6) has more than cap = 7 maximal cliques; "
        "pass factors of your own, or raise cap"
    ):
        graph.maximal_cliques(cap=7)
    with refused("cap = 0; it must be at least 1"):
        graph.maximal_cliques(cap=0)
    with refused(
        "Graph(knobs=2, criteria=1) is not undirected, so it has no cliques; "
        "pass factors of your own"
    ):
        Graph.from_scopes([[0, 1]], knobs=2).maximal_cliques()


def test_a_large_graph() -> None:
    k = 100_000
    ring = np.c_[np.arange(k), np.roll(np.arange(k), -1)]
    graph = Graph.from_edges(k, ring)
    assert graph.scope_offsets.tolist() == list(range(0, 3 * k + 1, 3))
    assert graph.scope(0).tolist() == [0, 1, k - 1]
    assert graph.is_undirected
    assert len(graph.components()) == 1


def test_equality_and_hash() -> None:
    graphs = [
        Graph.from_scopes([[0, 1], [1]], knobs=2),
        Graph.from_scopes([[0, 1], [1]], knobs=3),
        Graph.from_scopes([[0], [0, 1]], knobs=2),
        Graph.from_scopes([[0, 1], [2]], knobs=3),
        Graph.from_scopes([[0], [1, 2]], knobs=3),
        Graph.from_scopes([[0, 1], [0]], knobs=2),
        Graph.from_scopes([[0, 1], [1]], knobs=2, centres=[0, 1]),
        Graph.from_scopes([[0, 1], [1]], knobs=2, centres=[1, 1]),
    ]
    assert len(set(graphs)) == len(graphs)
    assert Graph.from_scopes(({1, 0}, (1,)), knobs=2) in set(graphs)
    assert graphs[0] != "a graph"


def test_immutable_and_detached_from_its_input() -> None:
    edges = np.array([[0, 1]])
    centres = np.array([0, 0])
    graph = Graph.from_edges(2, edges)
    other = Graph.from_scopes([[0], [0, 1]], knobs=2, centres=centres)
    edges[:] = centres[:] = 1  # both still writeable
    assert scopes_of(graph) == [[0, 1], [0, 1]]
    assert other.centres is not None
    assert other.centres.tolist() == [0, 0]
    with pytest.raises(AttributeError):
        graph.knobs = 3  # type: ignore[misc]
    (knobs, criteria), *_ = graph.components()
    for array in (
        *(graph.scope_offsets, graph.scope_knobs, graph.touch_offsets, graph.touch_criteria),
        *(graph.centres, graph.scope(0), graph.touching(0), knobs, criteria),
    ):
        assert array is not None
        assert not array.flags.writeable
        assert array.dtype == np.int64


def test_unsigned_and_mixed_integers_are_indices() -> None:
    mixed: Any = [(np.uint64(0), np.int64(1))]  # numpy would make floats of these
    assert Graph.from_edges(2, mixed) == Graph.complete(2)


def test_repr() -> None:
    assert repr(Graph.from_scopes([[0]] * 8, knobs=6)) == "Graph(knobs=6, criteria=8)"


@pytest.mark.parametrize(
    ("k", "edges", "message"),
    [
        (0, [], "k = 0; it must be at least 1"),
        (2.5, [], "k = 2.5; give a whole number"),
        (3, 7, "edges = 7; give a sequence, each entry a pair of knobs"),
        (3, [(0, 1), 2], "edges[1] = 2; give a pair of knobs"),
        (3, [(0, 1), (0, 1, 2)], "edges[1] has 3 entries; give a pair of knobs"),
        (3, np.zeros((2, 3), int), "edges[0] has 3 entries; give a pair of knobs"),
        (3, [(0, 1), (1, 3)], "edges[1] names knob 3, which does not exist; the knobs are 0 to 2"),
        (3, [(0, -1)], "edges[0] names knob -1, which does not exist; the knobs are 0 to 2"),
        (
            3,
            np.array([[0, 2**64 - 1]], dtype=np.uint64),
            f"edges[0] names knob {2**64 - 1}, which does not exist; the knobs are 0 to 2",
        ),
        (
            3,
            [(0, 2**70)],
            f"edges[0] names knob {2**70}, which does not exist; the knobs are 0 to 2",
        ),
        (
            3,
            [(0, 1), (1, 2.0)],
            "edges[1] names knob 2.0, which is not an integer; name knobs by their index",
        ),
        (
            3,
            np.array([[0.5, 1.0]]),
            "edges[0] names knob 0.5, which is not an integer; name knobs by their index",
        ),
        (
            3,
            [(0, 1), ("a", 2)],
            "edges[1] names knob 'a', which is not an integer; name knobs by their index",
        ),
        (
            3,
            [(False, True)],
            "edges[0] names knob False, which is not an integer; name knobs by their index",
        ),
        (
            3,
            [(0, 1), (2, 2)],
            "edges[1] = (2, 2) is a self-loop; leave it out, a criterion reads its own knob anyway",
        ),
        (
            3,
            [(0, 2), (0, 1), (1, 2), (1, 0), (2, 0)],
            "edges[3] = (1, 0) repeats edges[1] = (0, 1); "
            "edges have no direction, give each one once",
        ),
        (
            3,
            [(1, 2), (1, 2)],
            "edges[1] = (1, 2) repeats edges[0] = (1, 2); "
            "edges have no direction, give each one once",
        ),
    ],
)
def test_refused_edges(k: Any, edges: Any, message: str) -> None:
    with refused(message):
        Graph.from_edges(k, edges)


def test_the_first_of_many_repeated_edges_is_named() -> None:
    k = 200
    ring = np.c_[np.arange(k), np.roll(np.arange(k), -1)]
    again = np.random.default_rng(0).permutation(ring)[:, ::-1]
    u, v = again[0]
    with pytest.raises(InvalidInput) as caught:
        Graph.from_edges(k, np.r_[ring, again])
    assert f"edges[{k}] = ({u}, {v}) repeats edges[{v}] = ({v}, {u});" in str(caught.value)


@pytest.mark.parametrize(
    ("scopes", "centres", "message"),
    [
        ([], None, "scopes is empty; give the scope of at least one criterion"),
        (5, None, "scopes = 5; give a sequence, each entry a list of knobs"),
        ([[0], 1], None, "scopes[1] = 1; give a list of knobs"),
        (
            [[0], [], [1]],
            None,
            "scopes[1] is empty; name at least one knob or leave the criterion out",
        ),
        (
            [[0], [0, 1, 4]],
            None,
            "scopes[1] names knob 4, which does not exist; the knobs are 0 to 2",
        ),
        (
            [[0], [[1, 2], 0]],
            None,
            "scopes[1] names knob [1, 2], which is not an integer; name knobs by their index",
        ),
        (
            [[[0]], [[1]]],
            None,
            "scopes[0] names knob [0], which is not an integer; name knobs by their index",
        ),
        ([[1], [2, 1], [1, 0, 1]], None, "scopes[2] names knob 1 twice; name each knob once"),
        ([[0], [1]], [0], "centres has 1 entries for 2 criteria; give one each, or None"),
        ([[0]], 0, "centres = 0; give a sequence, each entry a knob"),
        (
            [[0], [1]],
            [0, 9],
            "centres[1] names knob 9, which does not exist; the knobs are 0 to 2",
        ),
        (
            [[0], [1]],
            [0, None],
            "centres[1] names knob None, which is not an integer; name knobs by their index",
        ),
        ([[0, 1], [1, 2]], [1, 0], "centres[1] = 0 is not in scopes[1]; add it or choose another"),
    ],
)
def test_refused_scopes(scopes: Any, centres: Any, message: str) -> None:
    with refused(message):
        Graph.from_scopes(scopes, knobs=3, centres=centres)


def test_refused_knobs() -> None:
    with refused("knobs = 0; it must be at least 1"):
        Graph.from_scopes([[0]], knobs=0)
    with refused("k = 0; it must be at least 1"):
        Graph.complete(0)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([], "sizes has shape (0,); list the size of each clique"),
        (3, "sizes has shape (); list the size of each clique"),
        ([2, 0], "sizes[1] = 0 is no size; give whole numbers of at least 1"),
        ([1.5], "sizes[0] = 1.5 is no size; give whole numbers of at least 1"),
        ([1, np.inf], "sizes[1] = inf is no size; give whole numbers of at least 1"),
        ([np.nan], "sizes[0] = nan is no size; give whole numbers of at least 1"),
    ],
)
def test_refused_sizes(sizes: Any, message: str) -> None:
    with refused(message):
        Graph.cliques(sizes)


def with_node(node: Any) -> nx.Graph[Any]:
    G = Graph.from_scopes([[0]], knobs=2).to_networkx()
    G.add_node(node)
    return G


@pytest.mark.parametrize(
    ("G", "message"),
    [
        ([(0, 1)], "G is a list; give a networkx Graph or DiGraph"),
        (
            nx.MultiGraph([(0, 1)]),
            "G is a MultiGraph; merge parallel edges with nx.Graph or nx.DiGraph",
        ),
        (nx.Graph(), "G has no nodes; add one node per knob"),
        (
            nx.Graph([("a", "b"), ("b", "b")]),
            "G has a self-loop at node 'b'; leave it out, a criterion reads its own knob anyway",
        ),
        (
            nx.DiGraph([(0, 1), (1, 1)]),
            "G has a self-loop at node 1; leave it out, a criterion reads its own knob anyway",
        ),
        (
            with_node("x"),
            "G has node 'x' among 1 criteria and 2 knobs; "
            'number ("criterion", i) and ("knob", j) from 0 and remove other nodes',
        ),
        (
            with_node(("knob", 3)),
            "G has node ('knob', 3) among 1 criteria and 3 knobs; "
            'number ("criterion", i) and ("knob", j) from 0 and remove other nodes',
        ),
        (with_node(("criterion", 1)), "scopes[1] is empty; name at least one knob"),
        (
            nx.Graph([(("criterion", 0), ("knob", 0)), (("knob", 0), ("knob", 1))]),
            "G joins ('knob', 0) and ('knob', 1); join criteria to knobs only",
        ),
    ],
)
def test_refused_networkx(G: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{re.escape(message)}"):
        Graph.from_networkx(G)


def test_a_self_loop_at_a_node_called_false() -> None:
    with pytest.raises(InvalidInput, match="self-loop at node False"):
        Graph.from_networkx(nx.Graph([(False, False)]))


def test_refused_lookups() -> None:
    graph = Graph.from_scopes([[0], [1]], knobs=3)
    with refused("criterion 2 does not exist; they are numbered 0 to 1"):
        graph.scope(2)
    with refused("criterion -1 does not exist; they are numbered 0 to 1"):
        graph.scope(-1)
    with refused("knob 3 does not exist; they are numbered 0 to 2"):
        graph.touching(3)
    with refused("knob 1.0 is not an integer; name it by its index"):
        graph.touching(1.0)  # type: ignore[arg-type]
    assert graph.touching(2).size == 0
