r"""Features in orthonormal coordinates: how much a criterion really depends on a knob.

Draw every knob at random from its own range, independently. On each knob let P_0 = 1, P_1,
P_2, ... be the polynomials orthonormal under that draw: shifted Legendre polynomials on an
interval. A monomial is a sum of products of these, so with phi = B psi a loss phi' theta has
the coefficients c = B' theta. A knob owns the columns of B in which its polynomial is not P_0;
only features that the knob owns enter them. The length of the coefficients it owns,

    size^2 = |c_G|^2 = |C' theta_G|^2,     C = B[G, columns of the knob],

is the variance of the loss that would vanish if the knob were held fixed (Sobol's total
effect), whatever units the features have.

Waves of one knob and of two are split alike: into their mean, what is left of them as functions
of one knob, and the rest. The functions of each knob, and of each pair, get an orthonormal basis
of their own, by quadrature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Bools, Ints
from trimtab.model.bases.monomial import Monomials
from trimtab.model.bases.pairwise_fourier import Waves
from trimtab.model.domain import BoundBalls, BoundDomain

NODES = 32  # of a knob, at which waves are known
NOTHING = 1e-12  # of the largest singular value


@dataclass(frozen=True, kw_only=True)
class Coordinates:
    """The features of one criterion as combinations of orthonormal products: phi = B psi."""

    B: Array  # (d, c)
    knobs: Ints  # (c, 2) the knobs of each product, -1 where the polynomial is P_0
    degrees: Ints  # (c, 2) of the polynomial in each of these knobs, 0 where it is P_0

    @property
    def constant(self) -> Bools:
        """The columns that no knob changes: (c,)."""
        return np.asarray((self.knobs < 0).all(axis=1))

    def columns(self, knobs: Ints) -> Bools:
        """The columns that change with any of these knobs: (c,)."""
        return np.asarray(np.isin(self.knobs, knobs).any(axis=1))


def coordinates(features: Monomials | Waves, domain: BoundDomain, criterion: int) -> Coordinates:
    """The features of a criterion in orthonormal coordinates.

    >>> import trimtab as tt
    >>> problem = tt.Problem(tt.Graph.complete(1), basis=tt.bases.Linear(intercept=True))
    >>> found = coordinates(problem.features, problem.domain, 0)
    >>> (np.abs(found.B) * np.sqrt(2)).round(4)  # s = 1/2 + P_1 / sqrt(12)
    array([[1.    , 0.    ],
           [0.5   , 0.2887]])
    >>> found.knobs.tolist()
    [[-1, -1], [0, -1]]
    """
    if isinstance(features, Waves):
        return _of_waves(features, domain, criterion)
    maps = features.arrays
    mine = slice(maps.offsets[criterion], maps.offsets[criterion + 1])
    rows = [tuple(row) for row in np.stack((maps.a, maps.p, maps.b, maps.q), axis=1)[mine].tolist()]
    power: dict[int, int] = {}
    for a, p, b, q in rows:
        for knob, most in ((a, p), (b, q)):
            power[knob] = max(power.get(knob, 0), most)
    expansions = {j: expansion(domain, j, most) for j, most in power.items()}
    columns: dict[tuple[tuple[int, int], ...], int] = {}
    entries: list[tuple[int, int, float]] = []
    for f, (a, p, b, q) in enumerate(rows):
        for left, x in enumerate(expansions[a][p, : p + 1]):
            for right, y in enumerate(expansions[b][q, : q + 1]):
                product = tuple(sorted((j, n) for j, n in ((a, left), (b, right)) if n))
                entries.append((f, columns.setdefault(product, len(columns)), float(x * y)))
    B, knobs = np.zeros((len(rows), len(columns))), np.full((len(columns), 2), -1)
    degrees = np.zeros((len(columns), 2), np.int64)
    for f, column, x in entries:
        B[f, column] += maps.scale[criterion] * x
    for product, column in columns.items():
        knobs[column, : len(product)] = [j for j, _ in product]
        degrees[column, : len(product)] = [n for _, n in product]
    return Coordinates(B=B, knobs=knobs, degrees=degrees)


def _of_waves(features: Waves, domain: BoundDomain, criterion: int) -> Coordinates:
    """The waves of a criterion, split into functions of nothing, of one knob and of two."""
    names, shape, dim = features.names(criterion), features.shapes[criterion], features.basis.dim
    scope = [name[0][0] for name in names[1 : 1 + dim * shape.W.shape[1] : dim]]
    d, draws = len(names), {j: _draw(domain, j, NODES - 1) for j in scope}
    mean = np.zeros(d)
    mean[0] = shape.amplitude[0]
    alone: dict[int, list[tuple[Ints, Array]]] = {j: [] for j in scope}  # rows, and functions
    parts: list[tuple[Array, tuple[int, int]]] = []
    for g, group in enumerate(shape.groups):
        rows = 1 + g * dim + np.arange(dim)
        W, b, size = shape.W[rows][:, group], shape.b[rows], shape.amplitude[rows, None]
        knobs = [scope[x] for x in group]
        x, w = draws[knobs[0]]
        root = np.sqrt(w)
        if len(group) == 1:
            f = size * np.cos(W * x + b[:, None])  # (dim, nodes)
            mean[rows] = f @ w
            alone[knobs[0]].append((rows, (f - mean[rows, None]) * root))
            continue
        y, v = draws[knobs[1]]
        grid = W[:, :1, None] * x[:, None] + W[:, 1:, None] * y + b[:, None, None]
        f = size[:, :, None] * np.cos(grid)  # (dim, nodes, nodes)
        left, right = f @ v, np.einsum("fab,a->fb", f, w)
        mean[rows] = left @ w
        middle = mean[rows, None]
        alone[knobs[0]].append((rows, (left - middle) * root))
        alone[knobs[1]].append((rows, (right - middle) * np.sqrt(v)))
        rest = f - left[:, :, None] - right[:, None, :] + middle[:, :, None]
        whole = (rest * root[:, None] * np.sqrt(v)).reshape(dim, -1)
        parts.append((_compressed(d, [(rows, whole)]), (knobs[0], knobs[1])))
    columns = [(mean[:, None], (-1, -1))]
    columns += [(_compressed(d, found), (j, -1)) for j, found in alone.items()] + parts
    who = np.array([read for part, read in columns for _ in range(part.shape[1])])
    B = np.concatenate([part for part, _ in columns], axis=1)
    return Coordinates(B=B, knobs=who, degrees=(who >= 0).astype(np.int64))


def _compressed(d: int, found: list[tuple[Ints, Array]]) -> Array:
    """The features' coefficients in an orthonormal basis of these functions: (d, rank)."""
    functions = np.zeros((d, found[0][1].shape[1]))
    for rows, values in found:
        functions[rows] += values
    U, S, _ = np.linalg.svd(functions, full_matrices=False)
    kept = NOTHING * max(float(S[0]), 1e-300) < S
    return np.asarray(U[:, kept] * S[kept])


def expansion(domain: BoundDomain, knob: int, degree: int) -> Array:
    """Row p holds the coefficients of s^p in the knob's orthonormal polynomials: lower triangular.

    Where the knob has too few values the higher polynomials vanish, and so do their columns.
    """
    nodes, weights = _draw(domain, knob, degree)
    powers = np.sqrt(weights)[:, None] * nodes[:, None] ** np.arange(degree + 1)
    _, R = np.linalg.qr(powers)  # Q holds the polynomials at the nodes
    found = np.zeros((degree + 1, degree + 1))
    found[:, : len(R)] = R.T * np.where(np.diag(R) < 0.0, -1.0, 1.0)  # P_0 is 1, not -1
    return found


def _draw(domain: BoundDomain, knob: int, degree: int) -> tuple[Array, Array]:
    """Values of a knob and their weights, with the moments of its draw up to 2 degree."""
    if isinstance(domain, BoundBalls):  # uniform in a ball of n dimensions: variance 1 / (n + 2)
        n = domain.block(int(domain.block_of[knob])).size
        return np.array([-1.0, 1.0]) / np.sqrt(n + 2.0), np.full(2, 0.5)
    levels = domain.levels_of(knob)
    low, high = domain.low[knob], domain.high[knob]
    if levels.size:
        return levels, np.full(levels.size, 1.0 / levels.size)
    if low == high:
        return np.array([low]), np.ones(1)
    x, w = np.polynomial.legendre.leggauss(degree + 1)
    return low + (high - low) * (x + 1.0) / 2.0, w / 2.0
