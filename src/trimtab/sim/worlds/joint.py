"""Random worlds made of factors that criteria share: Assumption D of the paper."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, ArrayLike, vector, whole
from trimtab.errors import InvalidInput
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
    maps, owner = made_of.features.arrays, made_of.owner
    square = maps.p == 2
    w = rng.normal(size=made_of.dim)
    if square.any():
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
    problem, features = factors.problem, factors.features
    w = vector(w, factors.dim, "w", "feature of a factor")
    if not isinstance(problem.features, Monomials):
        raise InvalidInput(f"the basis {problem.basis!r} has no monomials; use Quadratic()")
    theta = []
    for i in range(problem.criteria):
        place = {key: f for f, key in enumerate(_monomials(problem.features, i))}
        part = np.zeros(len(place))
        for c in np.flatnonzero(factors.shares[i]):
            share = factors.shares[i, c] * features.arrays.scale[c]
            own = w[features.offsets[c] : features.offsets[c + 1]]
            for key, x in zip(_monomials(features, int(c)), own, strict=True):
                part[place[key]] += share / problem.features.arrays.scale[i] * x
        theta.append(part)
    return World(problem, theta=theta, noise=noise, missing=missing)


def _monomials(features: Monomials, i: int) -> list[frozenset[tuple[int, int]]]:
    """Each feature of a criterion or factor as its knobs and their powers."""
    lo, hi = features.offsets[i], features.offsets[i + 1]
    columns = features.arrays.columns(lo, hi)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [frozenset((j, n) for j, n in ((a, p), (b, q)) if n) for a, b, p, q in rows]
