r"""Lower bounds of one criterion's term on boxes, by values at corners alone.

With u = R^{-1} phi the term of a criterion is h(phi) = w (v'u - beta |u|), concave in phi.
In a box phi(s) is a mixture of the corners' phi, with weights lambda_c(s) that multiply
over the knobs, plus a drift that `enclosure` bounds: phi(s) = sum_c lambda_c(s) phi(c) + e.
So by concavity

    h(phi(s)) >= sum_c lambda_c(s) floor(c),    floor(c) = min over e of h(phi(c) + e).

The weights are the same for all criteria and the price of moving is linear between corners
(as long as `now` is not inside a side), so the floors of all criteria add up: no G(s) of a
box is below the least total floor of its corners. It is exact where features do not drift.

The floor of a corner itself: for a drift e with rho = R^{-1} e, |rho| <= P and
K = sqrt(|u|^2 + P^2), concavity of the root gives |u + rho| <= K + u'rho / K, hence

    floor >= w (v'u - beta K + min over e of (v - beta u / K)' R^{-1} e).

P^2 is the lesser of q'|V^{-1}|q, q = max |e| (only the positive entries of V^{-1} where all
drifts have one sign), and |q|^2 times the largest eigenvalue of V^{-1}.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.solve.certify.enclosure import Enclosure, enclosure
from trimtab.solve.subproblem import Part

ROUNDING = 1e-12  # of the summands: what a floor is lowered by


@dataclass(frozen=True)
class Bound:
    """What has been proven of the least G, and the best state met on the way."""

    value: float  # no state has a smaller G; -inf when nothing is known
    spent: int  # of the budget
    state: Array  # (k,) the incumbent, or a better one
    upper: float  # G(state)


class Floor:
    """The term of one criterion of a part as a function of the part's knobs that it reads."""

    def __init__(self, part: Part, criterion: int, enclosure: Enclosure) -> None:
        bound, problem = part.bound, part.bound.problem
        scope = problem.graph.scope(criterion)
        self.enclosure = enclosure
        self.own = np.flatnonzero(np.isin(scope, part.knobs))  # its free knobs, in the scope
        self.places: Ints = np.searchsorted(part.knobs, scope[self.own])  # and in the part
        self.rest = part.now[scope]
        R, self.v = bound.factor(criterion)
        self.inverse: Array = np.tril(np.linalg.inv(R))
        self.beta = float(bound.radii[criterion])
        self.weight = float(problem.weights[criterion])

    def __call__(self, X: Array, bend: Array, top: Array) -> tuple[Array, Array]:
        """The term, and its floor, at corners (N, n) of the free knobs: (N,) each.

        `bend` (N, n, B) and `top` (N, n) describe the sides that meet in each corner.
        """
        phi = self.enclosure.at(self._whole(X))
        lo, hi = self._drift(bend, top)
        term, floor = terms_and_floors(phi, lo, hi, self.inverse, self.v, self.beta)
        return self.weight * term, self.weight * floor

    def _whole(self, X: Array) -> Array:
        """All knobs of the scope: (N, size of the scope)."""
        if self.own.size == self.rest.size:
            return X
        points = np.tile(self.rest, (len(X), 1))
        points[:, self.own] = X
        return points

    def _drift(self, bend: Array, top: Array) -> tuple[Array, Array]:
        if self.own.size < self.rest.size:
            free = bend
            bend = np.zeros((len(top), self.rest.size, free.shape[2]))
            bend[:, self.own] = free
        return self.enclosure.drift(bend, self._whole(top))


def terms_and_floors(
    phi: Array, lo: Array, hi: Array, inverse: Array, v: Array, beta: float
) -> tuple[Array, Array]:
    """v'u - beta |u| of every row of phi, and its floor under drifts in [lo, hi], lo <= 0 <= hi."""
    u, q, V_inverse = phi @ inverse.T, np.maximum(-lo, hi), inverse.T @ inverse
    one_sign = (hi <= 0.0).all(axis=1)
    reach = np.where(
        one_sign,
        ((q @ np.maximum(V_inverse, 0.0)) * q).sum(axis=1),
        ((q @ np.abs(V_inverse)) * q).sum(axis=1),
    )
    longest = float(np.linalg.norm(V_inverse, 2))
    P_squared = np.minimum(reach, longest * (q * q).sum(axis=1))
    square = (u * u).sum(axis=1)
    K = np.sqrt(square + P_squared)
    pull = v - np.divide(beta * u, K[:, None], out=np.zeros_like(u), where=K[:, None] > 0.0)
    pulls = pull @ inverse  # (v - beta u / K)' R^{-1}
    lost = np.minimum(pulls * lo, pulls * hi).sum(axis=1)
    mean, size = u @ v, np.abs(u * v).sum(axis=1)
    floor = mean - beta * K + lost - ROUNDING * (size + beta * K - lost)
    return mean - beta * np.sqrt(square), floor


def floors(part: Part) -> list[Floor] | None:
    """The terms of a part's criteria, or None where nothing is known of their features."""
    problem = part.bound.problem
    terms = []
    for i in part.criteria.tolist():
        found = enclosure(problem.features, i, problem.graph.scope(i))
        if found is None:
            return None
        terms.append(Floor(part, i, found))
    return terms or None
