"""The tournament tree against plain scans, and small pieces of a graph against brute force."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import trimtab as tt
from trimtab.learn import NodewiseEstimators


@given(st.integers(1, 200), st.integers(0, 10**6))
def test_the_tree_is_a_scan(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = tt.Problem(tt.Graph.from_scopes([[0]] * m, knobs=1), basis=tt.bases.Linear())
    found = NodewiseEstimators(problem, reg=np.ones(m), factor=2.0, state=np.full(1, 0.5))
    stats = found.stats
    for _ in range(12):
        stats.n[:] = rng.integers(-5, 5, m)
        found.measure(np.empty(0, np.int64))
        some = rng.choice(m, size=int(rng.integers(1, m + 1)), replace=False)
        stats.R[stats.blocks[some]] = rng.uniform(0.1, 4.0, some.size)
        found.measure(some)
        rounds = stats.due - stats.n
        assert np.unique(stats.due).size > 1 or m == 1 or some.size == m
        for now in (-6, 0, 7, 29, 40):
            stats.counters[0] = now
            assert found.rounds_left == max(rounds.min() - now, 0)
            assert found.triggered().tolist() == np.flatnonzero(rounds <= now).tolist()


@given(st.integers(0, 10**6))
def test_reach_and_parts_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, m = int(rng.integers(1, 15)), int(rng.integers(1, 12))
    widest = min(k, 4) + 1
    scopes = [
        rng.choice(k, size=int(rng.integers(1, widest)), replace=False).tolist() for _ in range(m)
    ]
    graph = tt.Graph.from_scopes(scopes, knobs=k)
    some = np.sort(rng.choice(m, size=int(rng.integers(1, m + 1)), replace=False))
    knobs, criteria = graph.reach(some)
    assert knobs.tolist() == sorted({j for i in some for j in scopes[i]})
    assert criteria.tolist() == [i for i in range(m) if set(scopes[i]) & set(knobs.tolist())]

    free = np.sort(rng.choice(k, size=int(rng.integers(1, k + 1)), replace=False))
    G: nx.Graph[int] = nx.Graph()
    G.add_nodes_from(free.tolist())
    for scope in scopes:
        inside = sorted(set(scope) & set(free.tolist()))
        G.add_edges_from(pairwise(inside))
    parts = graph.parts(free)
    assert [p.tolist() for p, _ in parts] == sorted(map(sorted, nx.connected_components(G)))
    for part, readers in parts:
        assert readers.tolist() == [i for i in range(m) if set(scopes[i]) & set(part.tolist())]
