"""The rival on smooth boxes: SciPy's L-BFGS-B from 32 starts, with a compiled analytic gradient."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from instances import Instance
from scipy.optimize import Bounds, minimize

from trimtab.arrays import Array, Ints
from trimtab.model.bases import Monomials
from trimtab.model.domain import BoundBox

STARTS = 32


@numba.njit
def value_and_slope(
    s: Array,
    maps: Any,
    starts: Ints,
    U: Array,
    v: Array,
    weights: Array,
    radii: Array,
    slope: Array,
) -> float:
    """F and its gradient, by the inverse factors: the fastest way we know.

    U holds the columns of R_i^{-1} without zeros, criterion after criterion from starts[i] on.
    """
    offsets, first, second, p, q, scale = maps
    slope[:] = 0.0
    value = 0.0
    for i in range(weights.size):
        lo, d = offsets[i], offsets[i + 1] - offsets[i]
        u = np.zeros(d)
        column = starts[i]
        for f in range(d):
            x = scale[i] * s[first[lo + f]] ** p[lo + f] * s[second[lo + f]] ** q[lo + f]
            for g in range(f, d):
                u[g] += x * U[column + g - f]
            column += d - f
        length = np.sqrt((u * u).sum())
        share = radii[i] / length if length > 0.0 else 0.0
        value += weights[i] * ((u * v[lo : lo + d]).sum() - radii[i] * length)
        column = starts[i]
        for f in range(d):
            pull = 0.0
            for g in range(f, d):
                pull += U[column + g - f] * (v[lo + g] - share * u[g])
            column += d - f
            pull *= scale[i] * weights[i]
            a, b, m, n = first[lo + f], second[lo + f], p[lo + f], q[lo + f]
            if m > 0:
                slope[a] += pull * m * s[a] ** (m - 1) * s[b] ** n
            if n > 0:
                slope[b] += pull * n * s[a] ** m * s[b] ** (n - 1)
    return value


class Multistart:
    """L-BFGS-B from the current state and from random ones, as SciPy ships it."""

    def __init__(self, instance: Instance) -> None:
        lcb = instance.lcb
        domain, features = lcb.problem.domain, lcb.problem.features
        assert isinstance(domain, BoundBox)
        assert isinstance(features, Monomials)
        U, v, starts = [], [], [0]
        for i in range(lcb.problem.criteria):
            R, mine, _ = lcb.estimators.split(i)
            inverse = np.linalg.inv(R)
            U += [inverse[f:, f] for f in range(len(R))]
            v.append(mine)
            starts.append(starts[-1] + len(R) * (len(R) + 1) // 2)
        maps = features.arrays
        self.slope = np.empty(lcb.problem.knobs)
        self.parts = (
            (maps.offsets, maps.a, maps.b, maps.p, maps.q, maps.scale),
            np.array(starts),
            np.concatenate(U),
            np.concatenate(v),
            lcb.problem.weights,
            lcb.radii,
            self.slope,
        )
        self.domain, self.current = domain, instance.current

    def __call__(self, x: Array) -> tuple[float, Array]:
        """F and its gradient, as SciPy wants them."""
        return value_and_slope(x, *self.parts), self.slope

    def minimum(self, seed: int = 0, starts: int = STARTS) -> tuple[Array, float]:
        """The best of all starts."""
        rng = np.random.default_rng(seed)
        bounds = Bounds(self.domain.low, self.domain.high)
        best, x_best = np.inf, self.current
        for c in range(starts):
            x = self.current if c == 0 else self.domain.sample(rng)
            found = minimize(self, x.copy(), jac=True, method="L-BFGS-B", bounds=bounds)
            if found.fun < best:
                best, x_best = float(found.fun), found.x
        return x_best, best
