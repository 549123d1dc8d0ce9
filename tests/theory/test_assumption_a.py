"""Assumption A: is the LCB convex, for quadratics, for waves, or for a large ridge parameter?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array
from trimtab.solve import Bound

K = 4
RING = tt.Graph.from_edges(K, [(j, (j + 1) % K) for j in range(K)])
REGS = (0.1, 1.0, 10.0, 100.0, 1000.0)
STEP = 1e-4


def hessian(bound: Bound, state: Array) -> Array:
    """The second derivatives of F, by central differences."""
    moves = STEP * np.eye(K)

    def at(*signs: tuple[int, int]) -> float:
        return bound.value(state + sum(sign * moves[j] for j, sign in signs))

    found = np.empty((K, K))
    for a in range(K):
        for b in range(K):
            found[a, b] = at((a, 1), (b, 1)) - at((a, 1), (b, -1))
            found[a, b] += at((a, -1), (b, -1)) - at((a, -1), (b, 1))
    return found / (4.0 * STEP**2)


def truth(problem: tt.Problem) -> tt.worlds.World:
    """A world of the problem whose total is strongly convex, if its basis is a quadratic one."""
    if isinstance(problem.basis, tt.bases.PairwiseQuadratic):
        return tt.worlds.quadratic(RING, basis=problem.basis, seed=1)
    rng = np.random.default_rng(1)
    theta = [rng.normal(size=d) / np.sqrt(d) for d in problem.dims]
    return tt.worlds.World(problem, theta=theta, noise=tt.worlds.Gaussian(0.1))


def least_eigenvalues(basis: Any, reg: float) -> Array:
    """Of the LCB's Hessian at random states, after 60 rounds with a valid radius."""
    world = truth(tt.Problem(RING, basis=basis))
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    policy = tt.LazyGraphLinUCB(world.problem, start=[0.5] * K, radius=radius, reg=reg)
    tt.play(policy, world, horizon=60, seed=0)
    policy.learner.absorb(world.problem.all_criteria)
    states = np.random.default_rng(2).uniform(0.05, 0.95, (15, K))
    return np.array([np.linalg.eigvalsh(hessian(policy.learner.lcb, s))[0] for s in states])


@pytest.mark.parametrize(
    "basis",
    [tt.bases.PairwiseQuadratic(), tt.bases.FourierFeatures(20, lengthscale=0.5)],
    ids=["quadratics", "waves"],
)
def test_the_bound_of_quadratics_and_waves_is_not_convex_for_any_reg(basis: Any) -> None:
    """The lemma promises strong convexity once reg is large, of reg - beta C(phi) or more."""
    bent = {reg: least_eigenvalues(basis, reg) for reg in REGS}
    for reg in REGS:
        assert (bent[reg] < -1e-3).mean() > 0.5
    if isinstance(basis, tt.bases.PairwiseQuadratic):  # it is even less convex then
        assert np.median(bent[1000.0]) < np.median(bent[0.1])


def test_the_truth_of_these_quadratics_is_strongly_convex() -> None:
    world = truth(tt.Problem(RING, basis=tt.bases.PairwiseQuadratic()))
    known = Bound.of_parameters(world.problem, world.theta)
    states = np.random.default_rng(2).uniform(0.05, 0.95, (5, K))
    assert min(np.linalg.eigvalsh(hessian(known, s))[0] for s in states) > 0.1


def test_a_growing_reg_leaves_the_lengths_of_the_features() -> None:
    """Before any data the bound tends to -S sum_i |phi_i(s)|: nothing of reg is left."""
    problem = tt.Problem(RING, basis=tt.bases.PairwiseQuadratic())
    s = np.array([0.2, 0.9, 0.4, 0.6])
    phi = np.split(problem.phi(s), problem.features.offsets[1:-1])
    for reg in REGS:
        radius = tt.Confidence(sigma=1e-12, norm=2.0)
        policy = tt.LazyGraphLinUCB(problem, start=s, radius=radius, reg=reg, cold_start="keep")
        expected = -2.0 * sum(float(np.linalg.norm(p)) for p in phi)
        assert policy.learner.lcb.value(s) == pytest.approx(expected, rel=1e-9)


def test_the_bonus_has_unbounded_curvature_where_features_vanish() -> None:
    """C(phi) is said to be finite for every smooth basis: |phi| = |s| has a kink at 0."""
    problem = tt.Problem(tt.Graph.complete(1), basis=tt.bases.Linear(normalize=False))
    domain = tt.Balls([[0]])
    problem = tt.Problem(problem.graph, basis=problem.basis, domain=domain)
    policy = tt.LazyGraphLinUCB(problem, start=[0.0], radius=1.0, cold_start="keep")

    def F(x: float) -> float:
        return policy.learner.lcb.value(np.array([x]))

    bends = [(F(h) - 2.0 * F(0.0) + F(-h)) / h**2 for h in (1e-1, 1e-2, 1e-3)]
    np.testing.assert_allclose(bends, [-20.0, -200.0, -2000.0], rtol=1e-6)


def test_the_radius_grows() -> None:
    """beta_t is said to tend to 0; in a run of Algorithm 1 it never falls, and is above norm."""
    world = truth(tt.Problem(RING, basis=tt.bases.PairwiseQuadratic()))
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    policy = tt.LazyGraphLinUCB(world.problem, start=[0.5] * K, radius=radius)
    seen = [policy.learner.lcb.radii.copy()]
    for _ in range(20):
        tt.play(policy, world, horizon=500, seed=0)
        seen.append(policy.learner.lcb.radii.copy())
    assert (np.diff(seen, axis=0) >= 0.0).all()
    assert (seen[-1] > 1.05 * seen[0]).all()
    assert (seen[-1] >= world.norms).all()  # sqrt(reg) norm, with reg 1
