r"""How far features stray, inside a box, from the interpolation of their values at its corners.

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

from typing import Protocol

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.model.bases import Features, Monomials
from trimtab.model.bases.fourier import Fourier


class Enclosure(Protocol):
    """The features of one criterion over its scope of n knobs, for many boxes at once."""

    def at(self, X: Array) -> Array:
        """phi at the points (N, n): (N, d)."""

    def bend(self, low: Array, high: Array) -> Array:
        """What the drift depends on, for sides of any shape: (..., B); it grows with them."""

    def drift(self, bend: Array, top: Array) -> tuple[Array, Array]:
        """The enclosure (lo, hi), (N, d) each, by the bends (N, n, B) and the highest x (N, n)."""


def enclosure(features: Features, criterion: int, scope: Ints) -> Enclosure | None:
    """The enclosure of one criterion's features, or None where nothing is known of them."""
    if isinstance(features, Monomials):
        return MonomialEnclosure(features, criterion, scope)
    if isinstance(features, Fourier):
        return FourierEnclosure(features, criterion, scope)
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
        """e_p for every power p from 0 to the degree: (..., degree + 1)."""
        p = np.arange(self.degree + 1)
        low, high = low[..., None], high[..., None]
        curved = p * (p - 1) / 8.0 * high ** np.maximum(p - 2, 0) * (high - low) ** 2
        return np.asarray(np.where(p < 2, 0.0, np.minimum(curved, high**p - low**p)))

    def drift(self, bend: Array, top: Array) -> tuple[Array, Array]:
        """The enclosure (lo, hi): monomials lie below their interpolation."""
        fall = np.zeros((len(top), self.p.size))
        for f in np.flatnonzero(np.maximum(self.p, self.q) > 1):
            a, b, p, q = self.a[f], self.b[f], self.p[f], self.q[f]
            fall[:, f] = bend[:, a, p] * top[:, b] ** q + top[:, a] ** p * bend[:, b, q]
        return -self.scale * fall, np.zeros_like(fall)


class FourierEnclosure:
    """Waves amplitude * cos(W x + b)."""

    def __init__(self, features: Fourier, criterion: int, scope: Ints) -> None:
        maps = features.arrays
        start, size = maps.w_start[criterion], maps.b.size * scope.size
        self.W = maps.W[start : start + size].reshape(maps.b.size, scope.size)
        self.b, self.amplitude = maps.b, maps.amplitude

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
