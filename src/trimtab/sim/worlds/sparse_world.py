"""Worlds whose criteria read fewer knobs than the problem allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.arrays import Array, ArrayLike, number, whole
from trimtab.errors import InvalidInput
from trimtab.learn.sparsity_test import group, orthonormal
from trimtab.learn.subset_refit import kept_features, monomials, on_graph
from trimtab.model.bases import PairwiseQuadratic, Quadratic
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.sim.worlds.noise import Gaussian, Noise
from trimtab.sim.worlds.registry import register
from trimtab.sim.worlds.world import World


class SparseWorld(World):
    """A world on a super-graph, of which it uses the edges of `truth` only."""

    def __init__(
        self, problem: Problem, *, theta: Sequence[ArrayLike], noise: Noise, truth: Graph
    ) -> None:
        super().__init__(problem, theta=theta, noise=noise)
        self.truth = truth

    @property
    def sizes(self) -> Array:
        """The size of every dependency of the super-graph, as its scopes list them: (e,)."""
        graph, found = self.problem.graph, []
        for i in range(graph.criteria):
            lo, hi = self.problem.features.offsets[i : i + 2]
            map_ = orthonormal(self.problem, i)
            for j in graph.scope(i):
                G, C = group(self.problem, map_, i, np.array([j]))
                found.append(float(np.linalg.norm(C.T @ self.theta[lo:hi][G])))
        return np.array(found)

    def known(self) -> World:
        """The same losses to somebody who knows the graph: on a problem of true scopes."""
        known = on_graph(self.problem, self.truth)
        theta = []
        for i in range(known.criteria):
            lo, hi = self.problem.features.offsets[i : i + 2]
            kept, ratio = kept_features(self.problem, known, i)
            theta.append(self.theta[lo:hi][kept] / ratio)
        return World(known, theta=theta, noise=self.noise)


@register
def sparse(
    knobs: int,
    *,
    degree: int,
    gamma: float,
    within: Graph | None = None,
    products_only: bool = False,
    seed: int = 0,
    noise: Noise | None = None,
    basis: Quadratic | PairwiseQuadratic | None = None,
    move_cost: ArrayLike = 0.0,
) -> SparseWorld:
    """A random world whose true graph is part of the problem's, with dependencies of size gamma.

    Every criterion pulls its own knob to a target, with a curvature between 2 and 4, and
    depends on `degree` others: each by a random size between gamma and 1.5 gamma (see
    `bases.orthonormal`), through the knob itself and its product with the criterion's own.

    >>> world = sparse(6, degree=2, gamma=0.3, seed=1)
    >>> world.problem.graph == Graph.complete(6), world.truth.scope(0).size
    (True, 3)
    >>> world.truth.scope(0), world.sizes[:6].round(2)
    (array([0, 2, 5]), array([0.49, 0.  , 0.43, 0.  , 0.  , 0.38]))

    Args:
        knobs: k; criterion i has knob i for its own.
        degree: how many other knobs each criterion reads.
        gamma: the least size of a dependency.
        within: the super-graph, with one criterion per knob; the complete graph by default, then
            the true graph is a random regular one, otherwise scopes are chosen at random.
        products_only: whether others matter through the product with the own knob alone.
        seed: of the graph and the parameters.
        noise: `Gaussian(0.3)` by default.
        basis: `PairwiseQuadratic`, the paper's Example 1, by default.
        move_cost: the price of movement, kept in the problem.
    """
    k, n = whole(knobs, "knobs", low=2), whole(degree, "degree", low=0)
    least = number(gamma, "gamma", low=0.0, strict=True)
    seed = whole(seed, "seed", low=0)
    graph = Graph.complete(k) if within is None else within
    if graph.knobs != k or graph.centres is None or graph.criteria != k:
        raise InvalidInput(f"within is {graph!r}; give a graph of {k} knobs with a criterion each")
    problem = Problem(graph, basis=basis or PairwiseQuadratic(), move_cost=move_cost)
    if not isinstance(problem.basis, Quadratic | PairwiseQuadratic):
        raise InvalidInput(f"basis = {basis!r}; choose Quadratic() or PairwiseQuadratic()")
    rng = np.random.default_rng((seed, 4))
    truth = _regular(k, n, seed) if within is None else _scopes(graph, n, rng)
    theta = [_parameter(problem, truth, i, least, products_only, rng) for i in range(k)]
    return SparseWorld(problem, theta=theta, noise=noise or Gaussian(0.3), truth=truth)


def _regular(k: int, degree: int, seed: int) -> Graph:
    """A random graph in which every knob has the same number of neighbours."""
    import networkx as nx

    if degree >= k or k * degree % 2:
        raise InvalidInput(f"degree = {degree}; no graph of {k} knobs has that degree everywhere")
    edges = nx.random_regular_graph(degree, k, seed=seed).edges()
    return Graph.from_edges(k, [(int(u), int(v)) for u, v in edges])


def _scopes(graph: Graph, degree: int, rng: np.random.Generator) -> Graph:
    """The own knob and some others of every scope, at random."""
    scopes = []
    for i in range(graph.criteria):
        others = graph.scope(i)[graph.scope(i) != i]
        if degree > others.size:
            raise InvalidInput(f"degree = {degree}; criterion {i} has {others.size} other knobs")
        scopes.append([i, *rng.permutation(others)[:degree].tolist()])
    return Graph.from_scopes(scopes, knobs=graph.knobs, centres=range(graph.criteria))


def _parameter(
    problem: Problem,
    truth: Graph,
    i: int,
    gamma: float,
    products_only: bool,
    rng: np.random.Generator,
) -> Array:
    """theta_i: a parabola in the own knob, and the dependencies."""
    features, scale = monomials(problem, i)
    place = {monomial: f for f, monomial in enumerate(features)}
    theta = np.zeros(len(place))
    curvature, target = rng.uniform(2.0, 4.0), rng.uniform()
    theta[place[((i, 2),)]] = curvature / scale
    theta[place[((i, 1),)]] = -2.0 * curvature * target / scale
    theta[place[()]] = curvature * target**2 / scale
    map_ = orthonormal(problem, i)
    for j in truth.scope(i)[truth.scope(i) != i].tolist():
        product = ((min(i, j), 1), (max(i, j), 1))
        at = [place[product]] if products_only else [place[product], place[((j, 1),)]]
        G, C = group(problem, map_, i, np.array([j]))
        part = np.zeros(len(place))
        part[at] = rng.normal(size=len(at))
        theta += part * gamma * rng.uniform(1.0, 1.5) / np.linalg.norm(C.T @ part[G])
    return theta
