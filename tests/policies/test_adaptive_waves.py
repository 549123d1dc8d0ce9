"""The graph learned with Fourier features, in groups per knob and pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.learn.sparsity_test import group, orthonormal
from trimtab.learn.subset_refit import kept_features, on_graph
from trimtab.sim.worlds import World

K, SIGMA = 4, 0.1
BASIS = tt.bases.PairwiseFourier(4, seed=1)


def world(size: float = 0.5, basis: tt.bases.PairwiseFourier = BASIS) -> tuple[World, tt.Graph]:
    """Criterion i reads knobs i and i + 1, through waves of each and of both together."""
    problem = tt.Problem(tt.Graph.complete(K), basis=basis)
    scopes = [sorted({i, (i + 1) % K}) for i in range(K)]
    truth = tt.Graph.from_scopes(scopes, knobs=K, centres=range(K))
    rng, theta = np.random.default_rng(0), []
    for i, scope in enumerate(scopes):
        names = problem.features.names(i)  # type: ignore[attr-defined]
        part = np.array([rng.normal() * ({j for j, _ in name} <= set(scope)) for name in names])
        least = np.inf
        for j in scope:
            G, C = group(problem, orthonormal(problem, i), i, np.array([j]))
            least = min(least, float(np.linalg.norm(C.T @ part[G])))
        theta.append(part * size / least)
    return World(problem, theta=theta, noise=tt.worlds.Gaussian(SIGMA)), truth


def policy(given: World, **options: Any) -> tt.AdaptiveGraphLinUCB:
    radius = tt.Confidence(sigma=SIGMA, norm=given.norms)
    known = {"radius": radius, "reg": radius.balanced_reg, "start": [0.5] * K, "gamma": 0.5}
    return tt.AdaptiveGraphLinUCB(given.problem, **(known | options))


@pytest.mark.slow
def test_the_exact_graph_of_smooth_losses() -> None:
    given, truth = world()
    found = policy(given)
    tt.play(found, given, horizon=20_000, seed=0)
    assert not found.warming
    assert found.graph == truth
    edges = {(edge.criterion, edge.knob): edge.decision for edge in found.edges}
    assert edges[0, 1] == "included"
    assert edges[0, 2] == "excluded"


def test_it_goes_on_as_if_it_had_known_the_graph() -> None:
    """The refitted regression is that of the same data on the smaller scopes."""
    given, _ = world()
    found = policy(given)
    rng, states, losses = np.random.default_rng(0), [], []
    t = 0
    while found.warming:
        states.append(found.ask().copy())
        losses.append(given.draw(found.ask(), rng, t))
        found.tell(losses[-1])
        t += 1
    found.learner.absorb(found.learner.problem.all_criteria)
    small = found.learner.problem
    for i in range(K):
        X = np.array([small.phi(s) for s in states])
        X = X[:, small.features.offsets[i] : small.features.offsets[i + 1]]
        V = found.learner.estimators.reg[i] * np.eye(X.shape[1]) + X.T @ X
        np.testing.assert_allclose(found.learner.estimators.V(i), V, rtol=1e-8, atol=1e-8)
        theta = np.linalg.solve(V, X.T @ np.array(losses)[:, i])
        np.testing.assert_allclose(found.learner.estimators.theta(i), theta, rtol=1e-6, atol=1e-8)


def test_a_smaller_scope_has_some_of_the_features_of_the_larger() -> None:
    given, truth = world()
    small = on_graph(given.problem, truth)
    kept, ratio = kept_features(given.problem, small, 0)
    for state in np.random.default_rng(1).random((5, K)):
        whole = given.problem.phi(state)[: given.problem.dims[0]]
        np.testing.assert_allclose(ratio * whole[kept], small.phi(state)[: small.dims[0]])


@pytest.mark.slow
def test_with_nothing_to_decide_it_is_algorithm_1_bit_for_bit() -> None:
    given, _ = world()
    found = policy(given, warmup=0)
    radius = tt.Confidence(sigma=SIGMA, norm=given.norms)
    lazy = tt.LazyGraphLinUCB(
        given.problem, start=[0.5] * K, radius=radius, reg=radius.balanced_reg
    )
    a, b = (tt.play(each, given, horizon=12, seed=2) for each in (found, lazy))
    np.testing.assert_array_equal(a.states, b.states)


@pytest.mark.slow
def test_told_nothing_it_learns_the_graph_with_a_prior_and_its_snapshot_goes_on() -> None:
    given, truth = world(1.0)
    found = tt.AdaptiveGraphLinUCB(given.problem, start=[0.5] * K, warmup=400)
    tt.play(found, given, horizon=600, seed=0)
    assert not found.warming
    for i in range(K):
        assert set(truth.scope(i)) <= set(found.graph.scope(i))
    assert found.graph.scope_knobs.size < given.problem.graph.scope_knobs.size
    again = tt.restore(given.problem, found.snapshot())
    a, b = (tt.play(each, given, horizon=100, seed=3) for each in (found, again))
    np.testing.assert_array_equal(a.states, b.states)


def test_whole_scopes_of_waves_are_not_nested() -> None:
    problem = tt.Problem(tt.Graph.complete(3), basis=tt.bases.FourierFeatures(8))
    with pytest.raises(tt.InvalidInput, match="PairwiseFourier"):
        tt.AdaptiveGraphLinUCB(problem, start=[0.5] * 3, radius=0.5, gamma=0.1)
