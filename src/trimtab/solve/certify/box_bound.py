r"""Lower bounds of one criterion's term on boxes, by values at corners alone.

With u = R^{-1} phi the term of a criterion is h(phi) = w (v'u - beta |u|), concave in phi.
In a box phi(s) is a mixture of the corners' phi, with weights lambda_c(s) that multiply
over the knobs, plus a drift: phi(s) = sum_c lambda_c(s) phi(c) + e.
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

On a box let I phi be the interpolation of phi from the 2^n corners, linear in each knob. The
*drift* phi - I phi is enclosed componentwise from what single knobs do on their sides
[l, h], their *bend*:

    x^p, x >= 0:    0 <= I x^p - x^p <= e_p = min(p (p - 1) / 8 h^(p-2) (h - l)^2, h^p - l^p)
    x_a^p x_b^q:    0 <= I_a I_b - x_a^p x_b^q <= e_p h_b^q + h_a^p e_q
    cos(w.x + b):   |drift| <= sum_j w_j^2 (h_j - l_j)^2 / 8, and at most 2

A product of two knobs, and everything linear, does not drift at all. User functions have no
enclosure.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.model.bases import Features, Monomials
from trimtab.model.bases.fourier import Fourier
from trimtab.model.bases.pairwise_fourier import Waves
from trimtab.solve.subproblem import Part

ROUNDING = 1e-12  # of the summands: what a floor is lowered by


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
        bends = np.zeros((len(top), self.rest.size, bend.shape[2]))
        bends[:, self.own] = bend
        lo, hi = self.enclosure.drift(bends, self._whole(top))
        term, floor = terms_and_floors(phi, lo, hi, self.inverse, self.v, self.beta)
        return self.weight * term, self.weight * floor

    def _whole(self, X: Array) -> Array:
        """All knobs of the scope: (N, size of the scope)."""
        points = np.tile(self.rest, (len(X), 1))
        points[:, self.own] = X
        return points


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


def floors(part: Part) -> list[Floor]:
    """The terms of a part's criteria, or none where nothing is known of their features."""
    problem, criteria = part.bound.problem, part.criteria.tolist()
    known = [enclosure(problem.features, i, problem.graph.scope(i)) for i in criteria]
    terms = [Floor(part, i, found) for i, found in zip(criteria, known, strict=True) if found]
    return terms if len(terms) == len(criteria) else []


def enclosure(features: Features, criterion: int, scope: Ints) -> Enclosure | None:
    """The enclosure of one criterion's features, or None where nothing is known of them."""
    if isinstance(features, Monomials):
        return MonomialEnclosure(features, criterion, scope)
    if isinstance(features, Fourier):
        maps = features.arrays
        start, size = maps.w_start[criterion], maps.b.size * scope.size
        W = maps.W[start : start + size].reshape(maps.b.size, scope.size)
        return FourierEnclosure(W, maps.b, maps.amplitude)
    if isinstance(features, Waves):
        shape = features.shapes[criterion]
        return FourierEnclosure(shape.W, shape.b, shape.amplitude)
    return None


class MonomialEnclosure:
    """Scaled monomials x_a^p x_b^q of knobs that are nowhere negative."""

    def __init__(self, features: Monomials, criterion: int, scope: Ints) -> None:
        maps = features.arrays
        mine = slice(maps.offsets[criterion], maps.offsets[criterion + 1])
        self.a, self.b = (np.searchsorted(scope, knobs[mine]) for knobs in (maps.a, maps.b))
        self.p, self.q = maps.p[mine].astype(np.int64), maps.q[mine].astype(np.int64)
        self.scale = float(maps.scale[criterion])
        self.degree = int(max(maps.p.max(), maps.q.max()))  # of all criteria: bends are shared

    def at(self, X: Array) -> Array:
        """phi at the points (N, n): (N, d)."""
        powers = np.ones((*X.shape, self.degree + 1))
        for p in range(1, self.degree + 1):
            np.multiply(powers[..., p - 1], X, out=powers[..., p])
        phi = powers[:, self.a, self.p] * powers[:, self.b, self.q]
        return np.ascontiguousarray(self.scale * phi)

    def bend(self, low: Array, high: Array) -> Array:
        """What the drift depends on: e_p of every power p up to the degree, (..., degree + 1)."""
        p = np.arange(self.degree + 1)
        low, high = low[..., None], high[..., None]
        curved = p * (p - 1) / 8.0 * high ** np.maximum(p - 2, 0) * (high - low) ** 2
        return np.asarray(np.where(p < 2, 0.0, np.minimum(curved, high**p - low**p)))

    def drift(self, bend: Array, top: Array) -> tuple[Array, Array]:
        """The enclosure (lo, hi), (N, d) each, by bends (N, n, B) and the highest x (N, n).

        Monomials lie below their interpolation.
        """
        fall = np.zeros((len(top), self.p.size))
        for f in np.flatnonzero(np.maximum(self.p, self.q) > 1):
            a, b, p, q = self.a[f], self.b[f], self.p[f], self.q[f]
            fall[:, f] = bend[:, a, p] * top[:, b] ** q + top[:, a] ** p * bend[:, b, q]
        return -self.scale * fall, np.zeros_like(fall)


class FourierEnclosure:
    """Waves amplitude * cos(W x + b)."""

    def __init__(self, W: Array, b: Array, amplitude: Array | float) -> None:
        self.W, self.b, self.amplitude = W, b, amplitude

    def at(self, X: Array) -> Array:
        """phi at the points (N, n): (N, d)."""
        return np.asarray(self.amplitude * np.cos(X @ self.W.T + self.b))

    def bend(self, low: Array, high: Array) -> Array:
        """(h - l)^2 / 8: (..., 1)."""
        return np.asarray((high - low)[..., None] ** 2 / 8.0)

    def drift(self, bend: Array, top: Array) -> tuple[Array, Array]:
        """The enclosure (lo, hi), which is symmetric."""
        far = self.amplitude * np.minimum(bend[..., 0] @ (self.W**2).T, 2.0)
        return -far, far


# The features of one criterion over its scope of n knobs, for many boxes at once.
Enclosure = MonomialEnclosure | FourierEnclosure
