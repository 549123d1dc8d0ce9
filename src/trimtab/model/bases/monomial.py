"""Bases made of monomials: every feature is a power of one knob or a product of two.

A monomial basis is described by its *template* for a scope of n knobs: a row
(a, p, b, q) per feature stands for x_a^p x_b^q, with a and b positions in the
scope (the centre first, where there is one). Bound to a graph it becomes four
flat index arrays, which the core reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trimtab import _core
from trimtab.arrays import Array, Ints, read_only, whole
from trimtab.errors import InvalidInput
from trimtab.model.bases.features import offsets_of
from trimtab.model.bases.registry import register
from trimtab.model.domain import BoundBalls, BoundDomain
from trimtab.model.graph import Graph

Template = list[tuple[int, int, int, int]]
ONE = (0, 0, 0, 0)
HIGHEST = 16
TOO_HIGH = f"powers above {HIGHEST} are all alike on [0, 1]"


class MonomialBasis(Protocol):
    """A basis whose features are monomials, given by a template per scope size."""

    normalize: bool
    needs_centre: bool

    def template(self, n: int) -> Template:
        """The rows (a, p, b, q) of a scope of n knobs."""

    def bind(self, graph: Graph, domain: BoundDomain) -> Monomials:
        """The feature maps of every criterion of the graph on the domain."""
        if self.needs_centre and graph.centres is None:
            raise InvalidInput(
                f"{type(self).__name__} needs a centre knob per criterion and this graph has "
                "none; pass centres= to Graph.from_scopes or use Quadratic()"
            )
        return bind_template(self, graph, domain)


@register
@dataclass(frozen=True, kw_only=True)
class Linear(MonomialBasis):
    """The knobs themselves, with a leading 1 when `intercept` is set.

    >>> Linear(intercept=True).template(2)
    [(0, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0)]
    """

    intercept: bool = False
    normalize: bool = True
    needs_centre = False

    def template(self, n: int) -> Template:
        """One row per knob."""
        return [ONE] * self.intercept + [(j, 1, 0, 0) for j in range(n)]


@register
@dataclass(frozen=True)
class Polynomial(MonomialBasis):
    """A 1 and the powers of each knob up to the degree, without products.

    The paper's threshold experiment uses ``Polynomial(2)`` on a single knob:

    >>> Polynomial(2).template(1)
    [(0, 0, 0, 0), (0, 1, 0, 0), (0, 2, 0, 0)]
    """

    degree: int
    normalize: bool = True
    needs_centre = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", whole(self.degree, "degree", low=1))
        if self.degree > HIGHEST:
            raise InvalidInput(f"degree = {self.degree}; {TOO_HIGH}")

    def template(self, n: int) -> Template:
        """The powers of one knob after another."""
        return [ONE] + [(j, p, 0, 0) for j in range(n) for p in range(1, self.degree + 1)]


@register
@dataclass(frozen=True)
class Products(Polynomial):
    """The features of `Polynomial`, and the products of powers of two knobs up to the degree.

    ``Products(2)`` has the features of `Quadratic`.

    >>> Products(3).template(1)
    [(0, 0, 0, 0), (0, 1, 0, 0), (0, 2, 0, 0), (0, 3, 0, 0)]
    >>> len(Products(3).template(2)), len(Products(4).template(2))
    (10, 15)
    """

    def template(self, n: int) -> Template:
        """The powers of one knob after another, then the products of one pair after another."""
        powers = range(1, self.degree + 1)
        pairs = combinations(range(n), 2)
        mixed = [(a, p, b, q) for a, b in pairs for p in powers for q in powers[: self.degree - p]]
        return super().template(n) + mixed


@register
@dataclass(frozen=True, kw_only=True)
class PairwiseQuadratic(MonomialBasis):
    """Example 1 of the paper: 1, s_i, s_i^2, the other s_j, and the products s_i s_j.

    Here i is the centre of the criterion, which the graph must provide.
    """

    normalize: bool = True
    needs_centre = True

    @property
    def of_factors(self) -> Quadratic:
        """What all members of a clique have together: every one of them is a centre in turn."""
        return Quadratic(normalize=self.normalize)

    def template(self, n: int) -> Template:
        """The rows of Example 1; position 0 is the centre."""
        others = range(1, n)
        own = [ONE, (0, 1, 0, 0), (0, 2, 0, 0)]
        return own + [(j, 1, 0, 0) for j in others] + [(0, 1, j, 1) for j in others]


@register
@dataclass(frozen=True, kw_only=True)
class Quadratic(MonomialBasis):
    """A 1, the knobs of the scope, their squares and all their products: the default.

    With ``powers`` above 2 each knob has its higher powers too, for losses that saturate, fall off
    a cliff or have a second valley. A `Prior` learns how large that part is, and whether there is
    any.

    >>> Quadratic(powers=4).template(1)
    [(0, 0, 0, 0), (0, 1, 0, 0), (0, 2, 0, 0), (0, 3, 0, 0), (0, 4, 0, 0)]
    """

    powers: int = 2
    normalize: bool = True
    needs_centre = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "powers", whole(self.powers, "powers", low=2))
        if self.powers > HIGHEST:
            raise InvalidInput(f"powers = {self.powers}; {TOO_HIGH}")

    def template(self, n: int) -> Template:
        """Constant, linear, square, mixed and higher rows."""
        linear = [(j, 1, 0, 0) for j in range(n)]
        squares = [(j, 2, 0, 0) for j in range(n)]
        mixed = [(a, 1, b, 1) for a, b in combinations(range(n), 2)]
        higher = [(j, p, 0, 0) for j in range(n) for p in range(3, self.powers + 1)]
        return [ONE, *linear, *squares, *mixed, *higher]


@dataclass(frozen=True, kw_only=True, eq=False)
class MonomialArrays:
    """Feature f of criterion i is scale[i] * s[a[f]]^p[f] * s[b[f]]^q[f]."""

    offsets: Ints  # (m + 1,)
    a: npt.NDArray[np.int32]  # (sum d,)
    b: npt.NDArray[np.int32]
    p: npt.NDArray[np.int8]
    q: npt.NDArray[np.int8]
    scale: Array  # (m,)

    def columns(self, lo: int, hi: int) -> tuple[Ints, Ints, Ints, Ints]:
        """a, b, p and q of some features."""
        return self.a[lo:hi], self.b[lo:hi], self.p[lo:hi], self.q[lo:hi]  # type: ignore[return-value]


class Monomials:
    """The monomial feature maps of all criteria, as index arrays for the core."""

    def __init__(self, arrays: MonomialArrays, bounds: Array, graph: Graph) -> None:
        self.arrays = arrays
        self.core = _core.Features(arrays)
        self.fill = self.core.fill
        self.offsets = arrays.offsets
        self.bounds = bounds
        self._graph = graph

    def jacobian(self, criterion: int, state: Array) -> Array:
        """The derivatives of phi_i by the knobs of its scope: (d_i, size of the scope)."""
        scope = self._graph.scope(criterion)
        lo, hi = self.offsets[criterion], self.offsets[criterion + 1]
        a, b, p, q = (column[:, None] for column in self.arrays.columns(lo, hi))
        left, right = state[a] ** p, state[b] ** q
        d_left = p * state[a] ** np.maximum(p - 1, 0) * (a == scope)
        d_right = q * state[b] ** np.maximum(q - 1, 0) * (b == scope)
        return np.asarray(self.arrays.scale[criterion] * (d_left * right + left * d_right))

    def owned(self, criterion: int, knob: int) -> Ints:
        """The features of the criterion that depend on the knob, by their index in phi_i."""
        lo, hi = self.offsets[criterion], self.offsets[criterion + 1]
        a, b, p, q = self.arrays.columns(lo, hi)
        return np.flatnonzero(((a == knob) & (p > 0)) | ((b == knob) & (q > 0)))


def bind_template(basis: MonomialBasis, graph: Graph, domain: BoundDomain) -> Monomials:
    """Lay the basis' template over every scope; all scopes of one size at once."""
    sizes = np.diff(graph.scope_offsets)
    templates = {int(n): np.array(basis.template(int(n)), np.int64) for n in np.unique(sizes)}
    dims = np.zeros(graph.criteria, np.int64)
    for n, rows in templates.items():
        dims[sizes == n] = len(rows)
    offsets = offsets_of(dims)
    total = int(offsets[-1])
    arrays = MonomialArrays(
        offsets=read_only(offsets),
        a=np.zeros(total, np.int32),
        b=np.zeros(total, np.int32),
        p=np.zeros(total, np.int8),
        q=np.zeros(total, np.int8),
        scale=np.ones(graph.criteria),
    )
    bounds = np.zeros(graph.criteria)
    for n, rows in templates.items():
        group = np.flatnonzero(sizes == n)
        knobs = graph.scope_knobs[graph.scope_offsets[group][:, None] + np.arange(n)]  # (g, n)
        if basis.needs_centre and graph.centres is not None:
            off_centre = knobs != graph.centres[group][:, None]
            knobs = np.take_along_axis(knobs, np.argsort(off_centre, axis=1, kind="stable"), 1)
        where = offsets[group][:, None] + np.arange(len(rows))  # (g, d)
        a, p, b, q = rows.T
        arrays.a[where], arrays.b[where] = knobs[:, a], knobs[:, b]
        arrays.p[where], arrays.q[where] = p, q
        # Each |monomial| grows with every knob on [0, 1], so the longest phi is at the top.
        top = domain.high[knobs]
        bounds[group] = np.sqrt(((top[:, a] ** p * top[:, b] ** q) ** 2).sum(axis=1))
    if isinstance(domain, BoundBalls):
        if not isinstance(basis, Linear):
            raise InvalidInput(f"{type(basis).__name__} on Balls; balls take a Linear basis only")
        bounds = np.sqrt(domain.blocks_per_scope(graph) + float(basis.intercept))
    if basis.normalize:
        longest = bounds > 0
        arrays.scale[longest] = 1.0 / bounds[longest]
        bounds[longest] = 1.0
    return Monomials(arrays, read_only(bounds), graph)
