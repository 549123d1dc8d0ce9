"""Graphs to and from networkx."""

from __future__ import annotations

from typing import Any

import networkx as nx

from trimtab.errors import InvalidInput
from trimtab.model.graph.graph import NO_LOOPS, Graph


def read(G: nx.Graph[Any]) -> Graph:
    """The graph of a networkx graph; see `Graph.from_networkx`."""
    if not isinstance(G, nx.Graph):
        raise InvalidInput(f"G is a {type(G).__name__}; give a networkx Graph or DiGraph")
    if G.is_multigraph():
        raise InvalidInput(
            f"G is a {type(G).__name__}; merge parallel edges with nx.Graph or nx.DiGraph"
        )
    if len(G) == 0:
        raise InvalidInput("G has no nodes; add one node per knob")
    loop = next((u for u in G if G.has_edge(u, u)), None)
    if loop is not None:
        raise InvalidInput(f"G has a self-loop at node {loop!r}; {NO_LOOPS}")
    if not G.is_directed() and any(map(_is_part, G)):
        return _read_bipartite(G)
    index = {node: i for i, node in enumerate(G)}
    if not G.is_directed():
        return Graph.from_edges(len(G), [(index[u], index[v]) for u, v in G.edges()])
    scopes = [[i, *(index[v] for v in G[u])] for u, i in index.items()]
    return Graph.from_scopes(scopes, knobs=len(G), centres=range(len(G)))


def write(graph: Graph) -> nx.Graph[Any]:
    """The graph as networkx knows it; see `Graph.to_networkx`."""
    rows = graph.scope_rows()
    G: nx.Graph[Any] = nx.Graph()
    if graph.is_undirected:
        once = rows < graph.scope_knobs
        G.add_nodes_from(range(graph.knobs))
        G.add_edges_from(zip(rows[once].tolist(), graph.scope_knobs[once].tolist(), strict=True))
        return G
    G.add_nodes_from((("criterion", i) for i in range(graph.criteria)), bipartite=0)
    G.add_nodes_from((("knob", j) for j in range(graph.knobs)), bipartite=1)
    pairs = zip(rows.tolist(), graph.scope_knobs.tolist(), strict=True)
    G.add_edges_from((("criterion", i), ("knob", j)) for i, j in pairs)
    if graph.centres is not None:
        for i, centre in enumerate(graph.centres.tolist()):
            G.nodes["criterion", i]["centre"] = centre
    return G


def _is_part(node: object) -> bool:
    """Whether a networkx node is one of the bipartite form that `to_networkx` writes."""
    return isinstance(node, tuple) and len(node) == 2 and node[0] in ("criterion", "knob")


def _read_bipartite(G: nx.Graph[Any]) -> Graph:
    """The graph that `to_networkx` wrote in bipartite form."""
    parts = [node[0] for node in G if _is_part(node)]
    m, k = parts.count("criterion"), parts.count("knob")
    expected = {*(("criterion", i) for i in range(m)), *(("knob", j) for j in range(k))}
    for node in G:
        if node not in expected:
            raise InvalidInput(
                f"G has node {node!r} among {m} criteria and {k} knobs; "
                'number ("criterion", i) and ("knob", j) from 0 and remove other nodes'
            )
    for u, v in G.edges():
        if u[0] == v[0]:
            raise InvalidInput(f"G joins {u!r} and {v!r}; join criteria to knobs only")
    scopes = [[j for _, j in G["criterion", i]] for i in range(m)]
    centres: list[Any] = [G.nodes["criterion", i].get("centre") for i in range(m)]
    absent = all(centre is None for centre in centres)
    return Graph.from_scopes(scopes, knobs=k, centres=None if absent else centres)
