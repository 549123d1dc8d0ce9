r"""The lower confidence bound as a sum of tables over candidate values of the free knobs.

A criterion's term w_i (u_i.v_i - beta_i |u_i|), u_i = R_i^{-1} phi_i, depends on the knobs of
its own scope only, so it is a table over their candidates. For monomial features the
combinations are visited in the order of a reflected Gray code, in which each differs from
the one before in one knob. Then u_i changes by the columns of R_i^{-1} of that knob's features,
which are lower triangular, so that the sums u.v and u.u are the same up to the first of these.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases import Monomials
from trimtab.bases.features import offsets_of
from trimtab.bases.monomial import MonomialArrays
from trimtab.compiled import bare, compiled
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
            maps=features.arrays,
            blocks=book.blocks,
            R=book.R,
            weights=part.lcb.problem.weights,
            radii=part.lcb.radii,
        )
        _tabulate_all(flat, starts, factors, part.now.copy())
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


class Factors(NamedTuple):
    """Criteria with monomial features, and the candidates of the knobs they read."""

    criteria: Ints  # (c,)
    offsets: Ints  # (c + 1,)
    reads: Ints  # positions in `knobs`
    knobs: Ints  # (n,)
    firsts: Ints  # (n + 1,) where the candidates of a knob begin
    values: Array  # the candidates
    maps: MonomialArrays
    blocks: Ints  # (m + 1,) the augmented factor of criterion i in R
    R: Array
    weights: Array  # (m,) w_i
    radii: Array  # (m,) beta_i


class Work(NamedTuple):
    """Room for one criterion."""

    U: Array  # R^{-1}, column after column, the zeros above the diagonal left out
    columns: Ints  # (d,) where each column begins
    phi: Array  # (d,)
    u: Array  # (d,)
    v: Array  # (d,) R^{-1} b
    means: Array  # (d + 1,) the sums of the first terms of u.v
    squares: Array  # (d + 1,) and of u.u
    owned_offsets: Ints  # (scope + 1,)
    owned: Ints  # the features that contain a knob of the scope


@compiled
def _tabulate_all(flat: Array, starts: Ints, factors: Factors, s: Array) -> None:
    for c in range(factors.criteria.size):
        _tabulate(c, flat[starts[c] : starts[c + 1]], factors, s)


@compiled
def _tabulate(c: int, table: Array, factors: Factors, s: Array) -> None:
    """The table of the c-th criterion; s is left with its free knobs anywhere."""
    i = factors.criteria[c]
    maps, knobs, firsts = factors.maps, factors.knobs, factors.firsts
    scope = factors.reads[factors.offsets[c] : factors.offsets[c + 1]]
    work = _prepare(i, scope, factors)
    # By name, since to hand on the whole tuple for every entry takes longer than the sums.
    U, columns, phi, u, v, means, squares, owned_offsets, owned = work
    d = u.size
    digits = np.zeros(scope.size, np.int64)
    ways = np.ones(scope.size, np.int64)  # up or down
    strides = np.ones(scope.size, np.int64)
    for p in range(scope.size - 1, 0, -1):
        strides[p - 1] = strides[p] * (firsts[scope[p] + 1] - firsts[scope[p]])
    for n in scope:
        s[knobs[n]] = factors.values[firsts[n]]
    entry = 0
    for visited in range(table.size):
        if visited % REFRESH == 0:
            _refresh(i, s, maps, work)
        table[entry] = factors.weights[i] * (means[d] - factors.radii[i] * np.sqrt(squares[d]))
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
        for e in range(owned_offsets[p], owned_offsets[p + 1]):
            f = owned[e]
            first = min(first, f)
            x = _feature(i, f, s, maps)
            change = x - phi[f]
            phi[f] = x
            column = columns[f]
            for r in range(f, d):
                u[r] += change * U[column + r - f]
        mean, square = means[first], squares[first]
        for r in range(first, d):
            mean += u[r] * v[r]
            square += u[r] * u[r]
            means[r + 1], squares[r + 1] = mean, square


@compiled
def _prepare(i: int, scope: Ints, factors: Factors) -> Work:
    """Invert the factor of criterion i, and list the features of each knob of its scope."""
    maps = factors.maps
    lo = maps.offsets[i]
    d = maps.offsets[i + 1] - lo
    work = Work(
        U=np.empty(d * (d + 1) // 2),
        columns=np.empty(d, np.int64),
        phi=np.empty(d),
        u=np.empty(d),
        v=factors.R[factors.blocks[i] + d * (d + 1) // 2 : factors.blocks[i + 1]],
        means=np.zeros(d + 1),
        squares=np.zeros(d + 1),
        owned_offsets=np.zeros(scope.size + 1, np.int64),
        owned=np.empty(2 * d, np.int64),
    )
    invert(factors.R, factors.blocks[i], d, work.U, 0)
    for c in range(d):
        work.columns[c] = c * d - c * (c - 1) // 2
    found = 0
    for p in range(scope.size):
        knob = factors.knobs[scope[p]]
        for f in range(d):
            a, b = maps.a[lo + f] == knob, maps.b[lo + f] == knob
            if (a and maps.p[lo + f] > 0) or (b and maps.q[lo + f] > 0):
                work.owned[found] = f
                found += 1
        work.owned_offsets[p + 1] = found
    return work


@bare
def _feature(i: int, f: int, s: Array, maps: MonomialArrays) -> float:
    """Feature f of criterion i at s."""
    at = maps.offsets[i] + f
    x = maps.scale[i]
    for _ in range(maps.p[at]):
        x *= s[maps.a[at]]
    for _ in range(maps.q[at]):
        x *= s[maps.b[at]]
    return float(x)


@bare
def _refresh(i: int, s: Array, maps: MonomialArrays, work: Work) -> None:
    """phi, u = R^{-1} phi and the sums at s, from scratch."""
    d = work.u.size
    for f in range(d):
        work.u[f] = 0.0
    for f in range(d):
        work.phi[f] = _feature(i, f, s, maps)
        column = work.columns[f]
        for r in range(f, d):
            work.u[r] += work.phi[f] * work.U[column + r - f]
    for f in range(d):
        work.means[f + 1] = work.means[f] + work.u[f] * work.v[f]
        work.squares[f + 1] = work.squares[f] + work.u[f] * work.u[f]
