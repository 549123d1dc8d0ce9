"""What a policy and its searches keep, against the matrices that they are about."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab as tt
from benchmarks.scale import memory_of

K = 2000


def ring(k: int) -> tt.Graph:
    j = np.arange(k)
    return tt.Graph.from_edges(k, np.column_stack((j, (j + 1) % k)))


@pytest.mark.parametrize("kind", [tt.AsyncLazyGraphLinUCB, tt.SteadyGraphLinUCB])
def test_state_and_caches_are_at_most_three_times_the_matrices(
    kind: type[tt.AsyncLazyGraphLinUCB | tt.SteadyGraphLinUCB],
) -> None:
    """On a ring, where each criterion has only 7 features, so that everything else weighs most."""
    world = tt.worlds.quadratic(ring(K), basis=tt.bases.PairwiseQuadratic(), seed=3)
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    policy = kind(world.problem, start=np.full(K, 0.5), radius=radius, cold_start="keep")
    assert policy.learner.local is not None  # where the arrays of its searches are
    assert 1.0 < memory_of(policy) <= 3.0


def test_an_undirected_graph_is_one_table() -> None:
    """Who reads a knob is then who it reads."""
    graph = ring(5)
    assert graph.touch_criteria is graph.scope_knobs
    assert graph.touch_offsets is graph.scope_offsets
    directed = tt.Graph.from_scopes([[0, 1], [1], [2, 0]], knobs=3)
    assert directed.touching(0).tolist() == [0, 2]
    assert directed.touching(1).tolist() == [0, 1]
