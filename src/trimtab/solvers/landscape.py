r"""The LCB of a monomial basis as the compiled searches see it.

Along one knob x, every other knob fixed, the features of a criterion are a polynomial
in x, phi(x) = sum_r p_r x^r, and so is u(x) = R^{-1} phi(x) = sum_r u_r x^r. Hence F along
the knob is a polynomial, the means, minus w_i beta_i |u_i(x)| for every criterion that
reads it: what `line` minimises. All searches keep the u_i of the state they are at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases import Monomials
from trimtab.bases.monomial import MonomialArrays, feature
from trimtab.compiled import Structure, bare, inner
from trimtab.domain import BoundBox
from trimtab.estimators.factor import invert
from trimtab.lcb import LCB
from trimtab.solvers.curve import Line, new_line


@dataclass(frozen=True, kw_only=True, eq=False)
class Landscape(Structure):
    """The LCB and its domain; arrays over all criteria or all knobs."""

    maps: MonomialArrays
    blocks: Ints  # (m + 1,) the augmented factor of criterion i in R
    R: Array
    weights: Array  # (m,) w_i
    radii: Array  # (m,) beta_i
    scope_offsets: Ints  # (m + 1,)
    scope: Ints  # the knobs that a criterion reads
    touch_offsets: Ints  # (k + 1,)
    touch: Ints  # the criteria that read a knob
    low: Array  # (k,)
    high: Array  # (k,)
    level_offsets: Ints  # (k + 1,)
    levels: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Work(Structure):
    """Where a search is; only the entries of its own criteria are ever touched."""

    U: Array  # R_i^{-1}, column after column, the zeros above the diagonal left out
    u: Array  # (sum d,) R_i^{-1} phi_i at the present state
    rise: Array  # (most readers of a knob, degree + 1, widest d) the u_r of each reader
    line: Line


def new_landscape(lcb: LCB, domain: BoundBox, features: Monomials) -> Landscape:
    """The LCB for the kernels: it only points at arrays that live as long as their LCB."""
    graph, book = lcb.problem.graph, lcb.estimators.book
    return Landscape(
        maps=features.arrays,
        blocks=book.blocks,
        R=book.R,
        weights=lcb.problem.weights,
        radii=lcb.radii,
        scope_offsets=graph.scope_offsets,
        scope=graph.scope_knobs,
        touch_offsets=graph.touch_offsets,
        touch=graph.touch_criteria,
        low=domain.low,
        high=domain.high,
        level_offsets=domain.level_offsets,
        levels=domain.level_values,
    )


def new_work(land: Landscape) -> Work:
    """Room for a search of all knobs."""
    maps = land.maps
    d = np.diff(maps.offsets)
    degree = int(max(maps.p.max(initial=0), maps.q.max(initial=0)))
    readers = int(np.diff(land.touch_offsets).max())
    return Work(
        U=np.empty(int((d * (d + 1) // 2).sum())),
        u=np.empty(int(maps.offsets[-1])),
        rise=np.empty((readers, degree + 1, int(d.max()))),
        line=new_line(degree, readers),
    )


@inner
def column_of(i: int, land: Landscape) -> int:
    """Where the inverse factor of criterion i begins in U, which has a row of d_i + 1 less than R.

    One number per criterion less to keep.
    """
    return int(land.blocks[i] - land.maps.offsets[i] - i)


@bare
def prepare(criteria: Ints, land: Landscape, work: Work) -> None:
    """Invert the factors of the criteria that take part."""
    for i in criteria:
        d = land.maps.offsets[i + 1] - land.maps.offsets[i]
        invert(land.R, land.blocks[i], d, work.U, column_of(i, land))


@bare
def refresh(s: Array, criteria: Ints, land: Landscape, work: Work) -> float:
    """u_i = R_i^{-1} phi_i(s) from scratch, and the value F(s) of these criteria."""
    maps, u = land.maps, work.u
    value = 0.0
    for i in criteria:
        lo, hi = maps.offsets[i], maps.offsets[i + 1]
        u[lo:hi] = 0.0
        column = column_of(i, land)
        for f in range(lo, hi):
            x = feature(i, f, s, maps)
            for r in range(f, hi):
                u[r] += x * work.U[column + r - f]
            column += hi - f
        value += term(i, u, land)
    return value


@inner
def term(i: int, u: Array, land: Landscape) -> float:
    """What criterion i adds to F where its u_i is this."""
    lo, hi = land.maps.offsets[i], land.maps.offsets[i + 1]
    v = land.blocks[i] + (hi - lo) * (hi - lo + 1) // 2  # where R_i^{-1} b_i begins
    mean = square = 0.0
    for f in range(lo, hi):
        mean += u[f] * land.R[v + f - lo]
        square += u[f] * u[f]
    return float(land.weights[i] * (mean - land.radii[i] * np.sqrt(square)))


@inner
def power(x: float, n: int) -> float:
    """x^n for a whole n >= 0."""
    if n == 0:
        return 1.0
    y = x
    for _ in range(1, n):
        y *= x
    return y


@inner
def slice_along(j: int, s: Array, land: Landscape, work: Work) -> int:
    """Make `work.line` and `work.rise` what F and the u_i are along knob j; the degree."""
    begin, end = land.touch_offsets[j], land.touch_offsets[j + 1]
    work.line.A[:] = 0.0
    highest = 0
    for entry in range(begin, end):
        i, c = land.touch[entry], entry - begin
        degree = _rise_along(j, i, c, s, land, work)
        work.line.bonus[c] = land.weights[i] * land.radii[i]
        if work.rise.shape[1] == 3:  # of degree 2, as nearly always
            _slice_quadratic(i, c, s[j], degree, land, work)
        else:
            _slice(i, c, s[j], degree, land, work)
        highest = max(highest, degree)
    return highest


@inner
def _rise_along(j: int, i: int, c: int, s: Array, land: Landscape, work: Work) -> int:
    """The u_r of criterion i, reader c of knob j, for r > 0; its degree."""
    maps = land.maps
    lo, hi = maps.offsets[i], maps.offsets[i + 1]
    a, b, p, q = maps.a[lo:hi], maps.b[lo:hi], maps.p[lo:hi], maps.q[lo:hi]
    d = a.size
    rise = work.rise[c]
    for r in range(1, rise.shape[0]):
        u_r = rise[r][:d]
        for g in range(d):
            u_r[g] = 0.0
    degree = 0
    column = column_of(i, land)
    for f in range(d):
        r = 0
        if a[f] == j:
            r += p[f]
        if b[f] == j:
            r += q[f]
        if r > 0:
            x = maps.scale[i]
            if a[f] != j:
                x *= power(s[a[f]], p[f])
            if b[f] != j:
                x *= power(s[b[f]], q[f])
            degree = max(degree, r)
            u_r, U = rise[r][f:d], work.U[column : column + d - f]
            for g in range(U.size):
                u_r[g] += x * U[g]
        column += d - f
    return degree


@inner
def _slice_quadratic(i: int, c: int, x: float, degree: int, land: Landscape, work: Work) -> None:
    """What criterion i, reader c, adds to the line at x; sums side by side are much faster."""
    lo, hi = land.maps.offsets[i], land.maps.offsets[i + 1]
    u, rise, weight = work.u[lo:hi], work.rise[c], land.weights[i]
    A, Q = work.line.A, work.line.Q[c]
    d = u.size
    first = land.blocks[i] + d * (d + 1) // 2  # where R_i^{-1} b_i begins
    v = land.R[first : first + d]
    u0, u1, u2 = rise[0][:d], rise[1][:d], rise[2][:d]
    m0 = m1 = q0 = q1 = q3 = 0.0
    if degree < 2:
        for g in range(d):
            z1, y = u1[g], v[g]
            z0 = u[g] - z1 * x
            u0[g] = z0
            m0 += z0 * y
            m1 += z1 * y
            q0 += z0 * z0
            q1 += z0 * z1
            q3 += z1 * z1
        A[0] += weight * m0
        A[1] += weight * m1
        Q[0], Q[1], Q[2], Q[3], Q[4] = q0, 2.0 * q1, q3, 0.0, 0.0
        return
    m2 = q2 = q4 = q5 = 0.0
    for g in range(d):
        z1, z2, y = u1[g], u2[g], v[g]
        z0 = u[g] - (z2 * x + z1) * x
        u0[g] = z0
        m0 += z0 * y
        m1 += z1 * y
        m2 += z2 * y
        q0 += z0 * z0
        q1 += z0 * z1
        q2 += z0 * z2
        q3 += z1 * z1
        q4 += z1 * z2
        q5 += z2 * z2
    A[0] += weight * m0
    A[1] += weight * m1
    A[2] += weight * m2
    Q[0], Q[1], Q[2], Q[3], Q[4] = q0, 2.0 * q1, 2.0 * q2 + q3, 2.0 * q4, q5


@inner
def _slice(i: int, c: int, x: float, degree: int, land: Landscape, work: Work) -> None:
    """The same for any degree."""
    lo, hi = land.maps.offsets[i], land.maps.offsets[i + 1]
    d = hi - lo
    rise, Q, A, weight = work.rise[c], work.line.Q[c], work.line.A, land.weights[i]
    v = land.blocks[i] + d * (d + 1) // 2  # where R_i^{-1} b_i begins
    Q[:] = 0.0
    for g in range(d):
        known = 0.0
        for r in range(degree, 0, -1):
            known = (known + rise[r, g]) * x
        rise[0, g] = work.u[lo + g] - known
    for r in range(degree + 1):
        mean = 0.0
        for g in range(d):
            mean += rise[r, g] * land.R[v + g]
        A[r] += weight * mean
        for t in range(r, degree + 1):
            both = 0.0
            for g in range(d):
                both += rise[r, g] * rise[t, g]
            Q[r + t] += both if r == t else 2.0 * both


@inner
def put(j: int, x: float, degree: int, s: Array, land: Landscape, work: Work) -> None:
    """Move knob j to x, along the slice just made."""
    s[j] = x
    first, last = land.touch_offsets[j], land.touch_offsets[j + 1]
    for c in range(last - first):
        i = land.touch[first + c]
        lo = land.maps.offsets[i]
        u = work.u[lo : land.maps.offsets[i + 1]]
        rise = work.rise[c]
        if rise.shape[0] == 3:
            u0, u1, u2 = rise[0], rise[1], rise[2]
            for f in range(u.size):
                u[f] = (u2[f] * x + u1[f]) * x + u0[f]
        else:
            for f in range(u.size):
                y = 0.0
                for r in range(degree, -1, -1):
                    y = y * x + rise[r, f]
                u[f] = y
