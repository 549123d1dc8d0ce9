"""Simulated systems: what the losses would be, at any state, in any round."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from trimtab.arrays import Array, ArrayLike, number, read_only, vector, whole
from trimtab.bases import Linear, Monomials, PairwiseQuadratic, Quadratic
from trimtab.errors import InvalidInput
from trimtab.estimators import NodewiseEstimators, as_radius
from trimtab.graph import Graph
from trimtab.lcb import LCB
from trimtab.problem import Problem
from trimtab.sim.noise import Bounded, Correlated, Gaussian, Noise
from trimtab.solvers import Solution, solve

__all__ = ["Bounded", "Correlated", "Gaussian", "Noise", "World", "linear", "quadratic"]

OPTIMUM_STARTS = 16


class World:
    """A system whose expected losses are linear in the problem's features, Eq. (1).

    >>> world = linear(Graph.complete(3), seed=1)
    >>> rng = np.random.default_rng(0)
    >>> world.draw(np.full(3, 0.5), rng).shape
    (3,)

    Args:
        problem: gives the features.
        theta: the true parameter of each criterion.
        noise: what is added to every loss.
        missing: the probability that a criterion's loss is not observed in a round.
    """

    def __init__(
        self, problem: Problem, *, theta: Sequence[ArrayLike], noise: Noise, missing: float = 0.0
    ) -> None:
        if len(theta) != problem.criteria:
            raise InvalidInput(
                f"theta has {len(theta)} parts, expected {problem.criteria}; one per criterion"
            )
        parts = [
            vector(part, int(d), f"theta[{i}]", "feature")
            for i, (part, d) in enumerate(zip(theta, problem.dims, strict=True))
        ]
        self.problem, self.noise = problem, noise
        self.theta: Array = read_only(np.concatenate(parts))
        self.missing = number(missing, "missing", low=0.0, strict=False, high=1.0)
        self.noise.scales(problem.graph)  # refuses scales that do not fit

    def mean(self, state: Array) -> Array:
        """The expected loss of each criterion: (m,)."""
        starts = self.problem.features.offsets[:-1]
        return np.asarray(np.add.reduceat(self.problem.phi(state) * self.theta, starts))

    def loss(self, state: Array) -> float:
        """The expected total loss L(s), weights included."""
        return float(self.problem.weights @ self.mean(state))

    def draw(self, state: Array, rng: np.random.Generator) -> Array:
        """The losses observed in one round, NaN where one is missing: (m,)."""
        losses = self.mean(state) + self.noise.draw(rng, self.problem.graph)
        if self.missing:
            losses[rng.random(losses.size) < self.missing] = np.nan
        return losses

    @property
    def norms(self) -> Array:
        """The length of each criterion's parameter, what `Confidence` calls norm: (m,)."""
        starts = self.problem.features.offsets[:-1]
        return np.asarray(np.sqrt(np.add.reduceat(self.theta**2, starts)))

    @cached_property
    def optimum(self) -> Solution:
        """The best fixed state, by the policies' own solver with nothing left to explore."""
        problem = self.problem
        known = NodewiseEstimators(
            problem, reg=np.ones(problem.criteria), factor=2.0, state=problem.domain.low
        )
        # V = I and b = theta: the estimate is the truth.
        d, book = problem.dims, known.book
        last_row = np.repeat(book.blocks[:-1] + d * (d + 1) // 2 - book.offsets[:-1], d)
        book.R[last_row + np.arange(last_row.size)] = self.theta
        nothing_to_explore = as_radius(0.0, problem.criteria)
        lcb = LCB(known, nothing_to_explore)
        return solve(lcb, problem.domain.low, starts=OPTIMUM_STARTS)


def linear(
    graph: Graph,
    *,
    seed: int = 0,
    noise: Noise | None = None,
    intercept: bool = False,
    normalize: bool = True,
    missing: float = 0.0,
    move_cost: ArrayLike = 0.0,
) -> World:
    """A random world with a linear basis: each parameter uniform on the unit sphere."""
    basis = Linear(intercept=intercept, normalize=normalize)
    problem = Problem(graph, basis=basis, move_cost=move_cost)
    rng = np.random.default_rng((whole(seed, "seed", low=0), 1))
    raw = [rng.normal(size=d) for d in problem.dims]
    theta = [x / np.linalg.norm(x) for x in raw]
    return World(problem, theta=theta, noise=noise or Gaussian(0.1), missing=missing)


def quadratic(
    graph: Graph,
    *,
    seed: int = 0,
    noise: Noise | None = None,
    basis: Quadratic | PairwiseQuadratic | None = None,
    coupling: float = 0.8,
    missing: float = 0.0,
    move_cost: ArrayLike = 0.0,
) -> World:
    """A random world on a graph whose total loss is strongly convex, with conflicting criteria.

    Every squared knob of a criterion pulls it to a target of the criterion's own,
    with a curvature between 1/2 and 3/2; products of knobs couple them. `coupling`
    below 1 keeps the Hessian of the total diagonally dominant, so that the optimum
    is the only local one.

    Args:
        graph: which criterion reads which knobs.
        seed: of the random parameters.
        noise: `Gaussian(0.1)` by default.
        basis: `Quadratic` by default; `PairwiseQuadratic` is the paper's Example 1.
        coupling: the share of the diagonal that the products of a knob may take.
        missing: the probability that a loss is not observed.
        move_cost: the price of movement, kept in the problem.
    """
    coupling = number(coupling, "coupling", low=0.0, strict=False, high=1.0)
    problem = Problem(graph, basis=basis or Quadratic(), move_cost=move_cost)
    features = problem.features
    if not isinstance(features, Monomials) or not isinstance(
        problem.basis, Quadratic | PairwiseQuadratic
    ):
        raise InvalidInput(f"basis = {basis!r}; choose Quadratic() or PairwiseQuadratic()")
    maps = features.arrays
    rng = np.random.default_rng((whole(seed, "seed", low=0), 2))
    owner = np.repeat(np.arange(problem.criteria), problem.dims)
    const, single = maps.p == 0, (maps.p == 1) & (maps.q == 0)
    square, product = maps.p == 2, (maps.p == 1) & (maps.q == 1)
    # Which feature s_j goes with each s_j^2.
    knob_of = owner * problem.knobs + maps.a
    order = np.flatnonzero(single)[np.argsort(knob_of[single])]
    partner = order[np.searchsorted(knob_of[order], knob_of[square])]
    curvature = rng.uniform(0.5, 1.5, partner.size)
    target = rng.uniform(0.0, 1.0, partner.size)
    busiest = np.bincount(np.concatenate((maps.a[product], maps.b[product])), minlength=1).max()
    theta = np.zeros(owner.size)
    theta[single] = rng.uniform(-0.1, 0.1, single.sum())
    theta[square] = curvature
    theta[partner] = -2.0 * curvature * target
    theta[product] = coupling / max(busiest, 1) * rng.uniform(-1.0, 1.0, product.sum())
    theta[const] = np.bincount(owner[square], curvature * target**2, problem.criteria)
    theta /= maps.scale[owner]
    return World(
        problem,
        theta=np.split(theta, features.offsets[1:-1]),
        noise=noise or Gaussian(0.1),
        missing=missing,
    )
