"""The rival on smooth boxes: SciPy's L-BFGS-B from 32 starts, with a compiled analytic gradient."""

from __future__ import annotations

import numpy as np
from instances import Instance
from scipy.optimize import Bounds, minimize
from trimtab.compiled import bare
from trimtab.solvers.coordinate import set_out
from trimtab.solvers.landscape import Landscape, Work, column_of, power, refresh
from trimtab.solvers.walk import walk_of

from trimtab.arrays import Array, Ints
from trimtab.bases import Monomials
from trimtab.domain import BoundBox

STARTS = 32


@bare
def value_and_slope(s: Array, criteria: Ints, land: Landscape, work: Work, slope: Array) -> float:
    """F and its gradient, by the inverse factors: the fastest way we know."""
    value = refresh(s, criteria, land, work)
    maps = land.maps
    offsets, first, second, scale = maps.offsets, maps.a, maps.b, maps.scale
    slope[:] = 0.0
    for i in criteria:
        lo, d = offsets[i], offsets[i + 1] - offsets[i]
        square = 0.0
        for f in range(lo, lo + d):
            square += work.u[f] * work.u[f]
        share = land.radii[i] / np.sqrt(square) if square > 0.0 else 0.0
        v = land.blocks[i] + d * (d + 1) // 2
        column = column_of(i, land)
        for f in range(d):
            pull = 0.0
            for g in range(f, d):
                pull += work.U[column + g - f] * (land.R[v + g] - share * work.u[lo + g])
            column += d - f
            pull *= scale[i] * land.weights[i]
            a, b, m, n = first[lo + f], second[lo + f], maps.p[lo + f], maps.q[lo + f]
            if m > 0:
                slope[a] += pull * m * power(s[a], m - 1) * power(s[b], n)
            if n > 0:
                slope[b] += pull * n * power(s[a], m) * power(s[b], n - 1)
    return value


class Multistart:
    """L-BFGS-B from the current state and from random ones, as SciPy ships it."""

    def __init__(self, instance: Instance) -> None:
        problem = instance.lcb.problem
        domain, features = problem.domain, problem.features
        assert isinstance(domain, BoundBox)
        assert isinstance(features, Monomials)
        self.criteria = problem.all_criteria.copy()
        walk = walk_of(instance.lcb, domain, features)
        set_out(np.arange(problem.knobs), self.criteria, walk)
        self.land, self.work = walk.land, walk.work
        self.domain, self.current = domain, instance.current
        self.slope = np.empty(problem.knobs)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """F and its gradient, as SciPy wants them."""
        value = value_and_slope(x, self.criteria, self.land, self.work, self.slope)
        return value, self.slope

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
