"""Shares that add up to 1, a domain of the gradient policies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, read_only, refuse_where, vector, whole
from trimtab.errors import InvalidInput

ROUNDING = 1e-9  # how far from 1 the sum of the shares may be: what normalising leaves


@dataclass(frozen=True)
class Simplex:
    """All knobs at least 0, and 1 together: the probability simplex.

    Only the gradient policies, such as `LazyOGD`, take it. A `Problem` refuses it.

    >>> Simplex().bind(3).check([0.2, 0.3, 0.5])
    array([0.2, 0.3, 0.5])
    """

    def bind(self, k: int) -> BoundSimplex:
        """The simplex of k knobs."""
        return BoundSimplex(knobs=whole(k, "k", low=1))


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundSimplex:
    """The simplex of a known number of knobs."""

    knobs: int

    @property
    def signature(self) -> tuple[Array | Ints, ...]:
        """The arrays that tell this domain from another."""
        return (np.array([self.knobs]),)

    @cached_property
    def low(self) -> Array:
        """The smallest value of each knob, 0."""
        return read_only(np.zeros(self.knobs))

    @cached_property
    def high(self) -> Array:
        """The largest value of each knob, 1."""
        return read_only(np.ones(self.knobs))

    @cached_property
    def anchor(self) -> Array:
        """Some state of the domain: equal shares."""
        return read_only(np.full(self.knobs, 1.0 / self.knobs))

    @property
    def diameter(self) -> float:
        """The largest l1 distance between two states: 2, that of two vertices."""
        return 2.0 if self.knobs > 1 else 0.0

    @property
    def diameter_l2(self) -> float:
        """The largest Euclidean distance between two states: sqrt(2), that of two vertices."""
        return float(np.sqrt(2.0)) if self.knobs > 1 else 0.0

    @cached_property
    def components(self) -> Ints:
        """Which factor of the product each knob belongs to: all to one, (k,)."""
        return read_only(np.zeros(self.knobs, np.int64))

    def check(self, state: ArrayLike, name: str = "state") -> Array:
        """The state as a new array.

        Raises:
            InvalidInput: a wrong shape, a value that is no number or negative, or a
                sum that is not 1. Nothing is rescaled.
        """
        s = vector(state, self.knobs, name, "knob")
        refuse_where(s < 0.0, s, name, "is negative; a share is at least 0")
        if abs(s.sum() - 1.0) > ROUNDING:
            raise InvalidInput(f"{name} adds up to {s.sum():.12g}, not 1; divide it by its sum")
        return s

    def contains(self, state: ArrayLike) -> bool:
        """Whether `check` would accept the state."""
        try:
            self.check(state)
        except InvalidInput:
            return False
        return True

    def sample(self, rng: np.random.Generator) -> Array:
        """A uniform draw."""
        return rng.dirichlet(np.ones(self.knobs))

    def project(self, point: Array) -> Array:
        """The nearest state in Euclidean distance.

        It is max(x - tau, 0) with the one tau that makes the sum 1: with the n largest
        entries positive, tau is their mean less 1/n, and n is the most that stay so.

        >>> Simplex().bind(3).project(np.array([0.5, 0.9, -2.0]))
        array([0.3, 0.7, 0. ])
        """
        point = point - point.max()  # the same projection, and no digits lost to a large mean
        x = np.sort(point)[::-1]
        taus = (np.cumsum(x) - 1.0) / np.arange(1, self.knobs + 1)
        n = np.flatnonzero(x > taus)[-1]
        return np.asarray(np.maximum(point - taus[n], 0.0))

    def minimiser(self, slope: Array) -> Array:
        """A state where <slope, s> is least: the first of the best vertices."""
        return self._vertex(int(np.argmin(slope)))

    def farthest(self, state: Array) -> Array:
        """A state at the largest Euclidean distance from this one: the vertex of least share.

        >>> Simplex().bind(3).farthest(np.array([0.5, 0.1, 0.4]))
        array([0., 1., 0.])
        """
        return self._vertex(int(np.argmin(state)))

    def _vertex(self, j: int) -> Array:
        s = np.zeros(self.knobs)
        s[j] = 1.0
        return s
