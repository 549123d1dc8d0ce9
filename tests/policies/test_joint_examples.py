"""Joint with the paper's Examples 1 and 2: pairwise quadratic and Fourier factors."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array
from trimtab.learn.joint.model import Factors
from trimtab.sim.worlds.joint import factored, world_of

EXAMPLE_1 = tt.bases.PairwiseQuadratic()
GROUPED = tt.bases.PairwiseFourier(4, seed=2)
EXAMPLE_2 = tt.bases.FourierFeatures(6, seed=3)
BASES = {"pairwise quadratic": EXAMPLE_1, "Fourier": EXAMPLE_2, "Fourier in groups": GROUPED}
PATH = tt.Graph.from_edges(3, [(0, 1), (1, 2)])
each_basis = pytest.mark.parametrize("basis", BASES.values(), ids=BASES.keys())


def options(world: Any, w: Array) -> dict[str, Any]:
    norms = world.norms if Factors(world.problem).nested else 1.0
    return {
        "start": np.full(world.problem.knobs, 0.5),
        "radius": tt.Confidence(sigma=0.1, norm=norms),
        "factor_norm": float(np.linalg.norm(w)),
    }


def test_who_has_what_in_example_1() -> None:
    """Each monomial of a clique is shared by those whose Example 1 has it, by its definition."""
    graph = tt.Graph.from_edges(4, [(0, 1), (1, 2), (0, 2), (2, 3)])
    factors = Factors(tt.Problem(graph, basis=EXAMPLE_1))
    assert factors.scopes == [[0, 1, 2], [2, 3]]
    f = 0
    for clique in factors.scopes:
        powers = [{}, *({j: 1} for j in clique), *({j: 2} for j in clique)]
        powers += [{a: 1, b: 1} for a in clique for b in clique if a < b]
        for monomial in powers:
            has = [
                i in clique
                and (
                    sum(monomial.values()) < 2  # 1 and s_j: everybody
                    or monomial == {i: 2}
                    or (len(monomial) == 2 and i in monomial)
                )
                for i in range(4)
            ]
            np.testing.assert_allclose(factors.parts[:, f], np.array(has) / sum(has))
            f += 1
    assert f == factors.dim
    assert factors.nested


@pytest.mark.parametrize("basis", [tt.bases.Quadratic(), tt.bases.Linear(), GROUPED], ids=repr)
def test_where_everybody_has_everything_features_are_shared_like_factors(
    basis: tt.bases.Basis,
) -> None:
    factors = Factors(tt.Problem(PATH, basis=basis))
    np.testing.assert_array_equal(factors.parts, factors.shares[:, factors.owner])
    np.testing.assert_array_equal(factors.pulls, factors.pull[factors.owner])
    np.testing.assert_array_equal(factors.most, factors.shares)


@each_basis
@pytest.mark.parametrize("graph", [PATH, tt.Graph.complete(3)], ids=["path", "clique"])
def test_the_shares_add_up_to_the_total(graph: tt.Graph, basis: tt.bases.Basis) -> None:
    """omega' Psi w = L = sum_C psi_C' w_C by weights of 1, and the world's losses are Psi w."""
    problem = tt.Problem(graph, basis=basis, weights=np.ones(3))
    factors = Factors(problem)
    rng = np.random.default_rng(0)
    w = rng.normal(size=factors.dim)
    world = world_of(factors, w, noise=tt.worlds.Gaussian(0.1))
    for state in rng.random((5, 3)):
        psi = np.empty(factors.dim)
        factors.features.fill(psi, state, np.arange(factors.graph.criteria))
        assert factors.Psi(state).sum(axis=0) @ w == pytest.approx(psi @ w, rel=1e-12)
        np.testing.assert_allclose(world.mean(state), factors.Psi(state) @ w, rtol=1e-10)
        assert np.linalg.norm(factors.Psi(state), 2) <= factors.norm + 1e-12
        assert np.linalg.norm(factors.Psi(state)) <= factors.frobenius + 1e-12
        assert np.linalg.norm(factors.Psi(state).sum(axis=0)) <= factors.bound + 1e-12


@each_basis
def test_estimates_and_triggers_equal_recomputation(basis: tt.bases.Basis) -> None:
    world, w = factored(PATH, seed=1, basis=basis)
    policy = tt.JointLazyGraphLinUCB(
        world.problem, **options(world, w), joint_only=True, cold_start="keep", review=False
    )
    joint, rng = policy.learner.joint, np.random.default_rng(1)
    V, b = joint.reg * np.eye(joint.factors.dim), np.zeros(joint.factors.dim)
    tau, triggers = np.linalg.slogdet(V)[1], 0
    for t in range(30):
        Psi, losses = joint.factors.Psi(policy.ask()), world.draw(policy.ask(), rng, t)
        V, b = V + Psi.T @ Psi, b + Psi.T @ losses
        told = policy.tell(losses)
        grown = np.linalg.slogdet(V)[1] - tau
        assert (told.cause == "trigger") == (grown > np.log(2.0))
        if told.cause == "trigger":
            tau, triggers = np.linalg.slogdet(V)[1], triggers + 1
    policy.learner.absorb(world.problem.all_criteria)
    np.testing.assert_allclose(joint.V, V, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(joint.w, np.linalg.solve(V, b), rtol=1e-7, atol=1e-9)
    assert triggers >= 3


@pytest.mark.slow
@each_basis
def test_the_bound_from_the_matrices_and_no_state_of_a_grid_is_better(
    basis: tt.bases.Basis,
) -> None:
    world, w = factored(PATH, seed=2, basis=basis)
    policy = tt.JointLazyGraphLinUCB(world.problem, **options(world, w))
    rng = np.random.default_rng(2)
    for t in range(10):
        policy.tell(world.draw(policy.ask(), rng, t))
    learner = policy.learner
    learner.absorb(world.problem.all_criteria)
    joint, beta, lcb = learner.joint, learner.joint_radius(), learner.lcb
    nested = joint.factors.nested
    assert learner.options.only == (not nested)
    grid = [np.array(x) for x in product(np.linspace(0.0, 1.0, 9), repeat=3)][::3]
    values = []
    for state in grid:
        pull = joint.factors.Psi(state).sum(axis=0)
        mean, width = pull @ joint.w, beta * np.sqrt(pull @ np.linalg.solve(joint.V, pull))
        low = mean - width
        if nested:
            low = max(low, lcb.value(state))
        values.append(low)
        assert learner.bound.value(state) == pytest.approx(low, rel=1e-7, abs=1e-8)
    found = learner.bound.solve(policy.ask())
    assert found.value <= min(values) + 1e-9
    assert found.value == pytest.approx(learner.bound.value(found.state), abs=1e-9)


@each_basis
def test_one_criterion_is_algorithm_1(basis: tt.bases.Basis) -> None:
    """One criterion shares with nobody: the joint estimate is its own, and so is the path."""
    problem = tt.Problem(tt.Graph.from_scopes([[0, 1]], knobs=2, centres=[0]), basis=basis)
    if basis is EXAMPLE_1:  # the factor has s_1^2, which nobody has, so that it is left to nobody
        with pytest.raises(tt.InvalidInput, match="joint_only"):
            tt.JointLazyGraphLinUCB(problem, start=[0.5, 0.5], radius=0.5, joint_only=False)
        return
    given: dict[str, Any] = {"start": [0.5, 0.5], "radius": 0.5, "reg": 0.7}
    joint = tt.JointLazyGraphLinUCB(problem, joint_only=True, **given)
    lazy = tt.LazyGraphLinUCB(problem, **given)
    rng = np.random.default_rng(0)
    for _ in range(15):
        np.testing.assert_allclose(joint.ask(), lazy.ask(), atol=2e-5)
        losses = rng.normal(size=1) + 3.0 * lazy.ask()[0]
        assert joint.tell(losses).cause == lazy.tell(losses).cause


@pytest.mark.slow
@each_basis
def test_it_pays_told_nothing_and_its_snapshot_goes_on_bit_for_bit(basis: tt.bases.Basis) -> None:
    world, _ = factored(PATH, seed=4, basis=basis)
    policy = tt.JointLazyGraphLinUCB(world.problem, start=[0.5] * 3)
    stay = 80 * (world.loss(policy.ask()) - world.optimum.value)
    assert tt.play(policy, world, horizon=80, seed=1).regret < 0.9 * stay
    again = tt.restore(world.problem, policy.snapshot())
    a, b = (tt.play(x, world, horizon=40, seed=2) for x in (policy, again))
    np.testing.assert_array_equal(a.states, b.states)


def test_sharing_the_products_of_example_1_learns_the_total_better() -> None:
    """Gauss and Markov: with next to no ridge the joint variance of the total is the smaller."""
    world, _ = factored(tt.Graph.complete(4), seed=5, basis=EXAMPLE_1)
    policy = tt.JointLazyGraphLinUCB(
        world.problem,
        start=[0.5] * 4,
        radius=1.0,
        reg=1e-6,
        factor_reg=1e-6,
        cold_start="keep",
        review=False,
    )
    rng = np.random.default_rng(5)
    for t, state in enumerate(rng.random((60, 4))):
        policy.tell(world.draw(state, rng, t), played=state)
    learner = policy.learner
    for state in rng.random((20, 4)):
        apart = float((learner.lcb.terms(state)[1] ** 2).sum())
        assert learner.bound.total.width(state) ** 2 < 0.9 * apart


def test_where_the_factors_are_nobodys_the_joint_bound_stands_alone() -> None:
    problem = tt.Problem(PATH, basis=EXAMPLE_2)
    assert not Factors(problem).nested
    assert Factors(tt.Problem(tt.Graph.complete(3), basis=EXAMPLE_2)).nested
    with pytest.raises(tt.InvalidInput, match="PairwiseFourier"):
        tt.JointLazyGraphLinUCB(problem, start=[0.5] * 3, radius=0.5, joint_only=False)
    with pytest.raises(tt.InvalidInput, match="not among the features"):
        Factors(problem).nodewise(np.zeros(Factors(problem).dim))
