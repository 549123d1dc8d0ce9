"""Random worlds made of factors that criteria share: Assumption D of the paper."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, ArrayLike, vector, whole
from trimtab.learn.joint.model import Factors, Knobs
from trimtab.model.bases import Basis, Monomials, Quadratic
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.sim.worlds.noise import Gaussian, Noise
from trimtab.sim.worlds.registry import register
from trimtab.sim.worlds.world import World


@register
def factored(
    graph: Graph,
    *,
    seed: int = 0,
    noise: Noise | None = None,
    basis: Basis | None = None,
    factors: Knobs | None = None,
    weights: ArrayLike | None = None,
    missing: float = 0.0,
) -> tuple[World, Array]:
    """A random world whose losses are made of factors, and the parameters w of all factors.

    With a quadratic basis every factor pulls its knobs to targets of its own, and couples
    them weakly; with any other w is uniform on the unit sphere.

    >>> world, w = factored(Graph.complete(2), seed=1)
    >>> world.problem.dims, w.size
    (array([6, 6]), 6)
    """
    problem = Problem(graph, basis=basis or Quadratic(), weights=weights)
    made_of = Factors(problem, factors=factors)
    rng = np.random.default_rng((whole(seed, "seed", low=0), 5))
    w = rng.normal(size=made_of.dim)
    maps = made_of.features.arrays if isinstance(made_of.features, Monomials) else None
    if maps is not None and (square := maps.p == 2).any():
        owner = made_of.owner
        w *= 0.2 / np.bincount(owner)[owner]
        single = (maps.p == 1) & (maps.q == 0)
        curvature, target = rng.uniform(0.5, 1.5, square.sum()), rng.uniform(size=square.sum())
        w[square], w[single] = curvature, -2.0 * curvature * target
        w /= maps.scale[owner]
    else:
        w /= np.linalg.norm(w)
    return world_of(made_of, w, noise=noise or Gaussian(0.1), missing=missing), w


def world_of(factors: Factors, w: ArrayLike, *, noise: Noise, missing: float = 0.0) -> World:
    """The world in which the factors have these parameters, each criterion with its share."""
    w = vector(w, factors.dim, "w", "feature of a factor")
    if factors.nested:
        theta = factors.nodewise(w)
        return World(factors.problem, theta=theta, noise=noise, missing=missing)
    return _Shared(factors, w, noise=noise, missing=missing)


class _Shared(World):
    """A world whose losses are made of factors that the criteria's own features do not hold."""

    def __init__(self, factors: Factors, w: Array, *, noise: Noise, missing: float) -> None:
        self._factors, self._w = factors, w
        super().__init__(factors.problem, noise=noise, missing=missing)

    def mean(self, state: Array) -> Array:
        """Psi(s) w."""
        return np.asarray(self._factors.Psi(state) @ self._w)
