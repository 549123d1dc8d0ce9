r"""The lower confidence bound as a sum of tables over candidate values of the free knobs.

A criterion's term w_i (u_i.v_i - beta_i |u_i|), u_i = R_i^{-1} phi_i, depends on the knobs of
its own scope only, so it is a table over their candidates. For monomial features the
combinations are visited in the order of a reflected Gray code, in which each differs from
the one before in one knob. Then u_i changes by the columns of R_i^{-1} of that knob's features,
which are lower triangular, so that the sums u.v and u.u are the same up to the first of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases import Monomials
from trimtab.bases.features import offsets_of
from trimtab.bases.monomial import MonomialArrays, feature
from trimtab.compiled import Structure, bare, inner
from trimtab.estimators.factor import invert
from trimtab.solvers.part import Part

REFRESH = 64  # entries from one u that is computed from scratch to the next


def entries(part: Part, counts: Ints) -> float:
    """The number of table entries, with so many candidates of each free knob."""
    return float(_sizes(part.scopes, counts).sum())


def _sizes(scopes: list[Ints], counts: Ints) -> Array:
    """The number of entries of each table, as floats, which do not overflow."""
    starts = offsets_of(np.array([scope.size for scope in scopes], np.int64))
    return np.asarray(
        np.multiply.reduceat(counts[np.concatenate(scopes)], starts[:-1], dtype=float)
    )


def tables(part: Part, candidates: list[Array]) -> tuple[list[Ints], Array]:
    """G as a sum of factors: what each reads, and their tables in C order, one after another.

    First come the part's criteria, where knobs that are not free stay as they are now, then
    the price of every free knob whose moves cost anything. Scopes are positions in
    `part.knobs`.

    Args:
        part: whose G is tabulated.
        candidates: the values of each of its knobs.
    """
    scopes = part.scopes
    counts = np.array([values.size for values in candidates], np.int64)
    starts = offsets_of(_sizes(scopes, counts).astype(np.int64))
    flat = np.empty(int(starts[-1]))
    features = part.lcb.problem.features
    if isinstance(features, Monomials):
        book = part.lcb.estimators.book
        factors = Factors(
            criteria=part.criteria.copy(),
            offsets=offsets_of(np.array([scope.size for scope in scopes], np.int64)),
            reads=np.concatenate(scopes),
            knobs=part.knobs.copy(),
            firsts=offsets_of(counts),
            values=np.concatenate(candidates),
            starts=starts,
            maps=features.arrays,
            blocks=book.blocks,
            R=book.R,
            weights=part.lcb.problem.weights,
            radii=part.lcb.radii,
        )
        widest = int(part.lcb.problem.dims[part.criteria].max())
        desk = _desk(widest, max(scope.size for scope in scopes))
        _tabulate(flat, part.now.copy(), factors, desk)
    else:
        for c in range(part.criteria.size):
            flat[starts[c] : starts[c + 1]] = _by_value(part, c, scopes[c], candidates)
    for c in range(part.criteria.size, len(scopes)):
        n = int(scopes[c][0])
        j = part.knobs[n]
        flat[starts[c] : starts[c + 1]] = part.price[j] * np.abs(candidates[n] - part.now[j])
    return scopes, flat


def _by_value(part: Part, c: int, scope: Ints, candidates: list[Array]) -> list[float]:
    """The table of the part's c-th criterion, by one evaluation per entry."""
    state = part.now.copy()
    criterion = part.criteria[c : c + 1]
    table = []
    for values in product(*(candidates[p] for p in scope)):
        state[part.knobs[scope]] = values
        table.append(part.lcb.value(state, criterion))
    return table


@dataclass(frozen=True, kw_only=True, eq=False)
class Factors(Structure):
    """Criteria with monomial features, and the candidates of the knobs they read."""

    criteria: Ints  # (c,)
    offsets: Ints  # (c + 1,)
    reads: Ints  # positions in `knobs`
    knobs: Ints  # (n,)
    firsts: Ints  # (n + 1,) where the candidates of a knob begin
    values: Array  # the candidates
    starts: Ints  # (c + 1,) where each table begins
    maps: MonomialArrays
    blocks: Ints  # (m + 1,) the augmented factor of criterion i in R
    R: Array
    weights: Array  # (m,) w_i
    radii: Array  # (m,) beta_i


@dataclass(frozen=True, kw_only=True, eq=False)
class Desk(Structure):
    """Room for the widest criterion and the largest scope."""

    U: Array  # R^{-1}, column after column, the zeros above the diagonal left out
    phi: Array  # (d,)
    u: Array  # (d,)
    means: Array  # (d + 1,) the sums of the first terms of u.v
    squares: Array  # (d + 1,) and of u.u
    owned_offsets: Ints  # (scope + 1,)
    owned: Ints  # the features that contain a knob of the scope
    digits: Ints  # (scope,) which candidate it is
    ways: Ints  # (scope,) up or down
    strides: Ints  # (scope,)


def _desk(d: int, scope: int) -> Desk:
    return Desk(
        U=np.empty(d * (d + 1) // 2),
        phi=np.empty(d),
        u=np.empty(d),
        means=np.zeros(d + 1),
        squares=np.zeros(d + 1),
        owned_offsets=np.zeros(scope + 1, np.int64),
        owned=np.empty(2 * d, np.int64),
        digits=np.empty(scope, np.int64),
        ways=np.empty(scope, np.int64),
        strides=np.empty(scope, np.int64),
    )


@bare
def _tabulate(flat: Array, s: Array, factors: Factors, desk: Desk) -> None:
    """The tables of all criteria; s is left with its free knobs anywhere."""
    for c in range(factors.criteria.size):
        _list_owned(c, factors, desk)
        _run_through(c, flat, s, factors, desk)


@inner
def _run_through(c: int, flat: Array, s: Array, factors: Factors, desk: Desk) -> None:
    """Every combination of the candidates of the c-th criterion's knobs."""
    i = factors.criteria[c]
    maps, knobs, firsts, R = factors.maps, factors.knobs, factors.firsts, factors.R
    U, phi, u, means, squares = desk.U, desk.phi, desk.u, desk.means, desk.squares
    digits, ways, strides = desk.digits, desk.ways, desk.strides
    scope = factors.reads[factors.offsets[c] : factors.offsets[c + 1]]
    lo = maps.offsets[i]
    d = maps.offsets[i + 1] - lo
    v = factors.blocks[i] + d * (d + 1) // 2  # where R^{-1} b begins
    stride = 1
    for p in range(scope.size - 1, -1, -1):
        digits[p], ways[p], strides[p] = 0, 1, stride
        stride *= firsts[scope[p] + 1] - firsts[scope[p]]
        s[knobs[scope[p]]] = factors.values[firsts[scope[p]]]
    entry = factors.starts[c]
    for visited in range(factors.starts[c + 1] - factors.starts[c]):
        if visited % REFRESH == 0:
            _refresh(i, s, factors, desk)
        flat[entry] = factors.weights[i] * (means[d] - factors.radii[i] * np.sqrt(squares[d]))
        p = scope.size - 1
        while p >= 0 and not 0 <= digits[p] + ways[p] < firsts[scope[p] + 1] - firsts[scope[p]]:
            ways[p] = -ways[p]
            p -= 1
        if p < 0:
            return
        digits[p] += ways[p]
        entry += ways[p] * strides[p]
        s[knobs[scope[p]]] = factors.values[firsts[scope[p]] + digits[p]]
        first = d
        for e in range(desk.owned_offsets[p], desk.owned_offsets[p + 1]):
            f = desk.owned[e]
            first = min(first, f)
            x = feature(i, lo + f, s, maps)
            change = x - phi[f]
            phi[f] = x
            column = f * d - f * (f - 1) // 2
            for r in range(f, d):
                u[r] += change * U[column + r - f]
        mean, square = means[first], squares[first]
        for r in range(first, d):
            mean += u[r] * R[v + r]
            square += u[r] * u[r]
            means[r + 1], squares[r + 1] = mean, square


@inner
def _list_owned(c: int, factors: Factors, desk: Desk) -> None:
    """Invert the factor of the c-th criterion, and list the features of each knob of its scope."""
    i, maps = factors.criteria[c], factors.maps
    lo = maps.offsets[i]
    d = maps.offsets[i + 1] - lo
    invert(factors.R, factors.blocks[i], d, desk.U, 0)
    found = 0
    begin = factors.offsets[c]
    for p in range(factors.offsets[c + 1] - begin):
        knob = factors.knobs[factors.reads[begin + p]]
        for f in range(d):
            a, b = maps.a[lo + f] == knob, maps.b[lo + f] == knob
            if (a and maps.p[lo + f] > 0) or (b and maps.q[lo + f] > 0):
                desk.owned[found] = f
                found += 1
        desk.owned_offsets[p + 1] = found


@inner
def _refresh(i: int, s: Array, factors: Factors, desk: Desk) -> None:
    """phi, u = R^{-1} phi and the sums at s, from scratch."""
    maps, u, phi = factors.maps, desk.u, desk.phi
    lo = maps.offsets[i]
    d = maps.offsets[i + 1] - lo
    v = factors.blocks[i] + d * (d + 1) // 2
    for f in range(d):
        u[f] = 0.0
    for f in range(d):
        phi[f] = feature(i, lo + f, s, maps)
        column = f * d - f * (f - 1) // 2
        for r in range(f, d):
            u[r] += phi[f] * desk.U[column + r - f]
    for f in range(d):
        desk.means[f + 1] = desk.means[f] + u[f] * factors.R[v + f]
        desk.squares[f + 1] = desk.squares[f] + u[f] * u[f]
