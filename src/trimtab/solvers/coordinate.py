r"""Coordinate descent for monomial bases, with a one-dimensional step that is exact.

Along one knob x, every other knob fixed, the features of a criterion are a polynomial
in x, phi(x) = sum_r p_r x^r, and so is u(x) = R^{-1} phi(x) = sum_r u_r x^r. Hence

    F(x) = A(x) - sum_i a_i sqrt(Q_i(x)),    Q_i(x) = |u_i(x)|^2,    a_i = w_i beta_i,

with one polynomial A for all means. Its minimum on an interval is looked for at the
ends, at sample points, and by a safeguarded Newton iteration in every gap between
samples across which the slope turns from falling to rising. A knob with levels tries
them all. For features linear in x, F is concave and the ends suffice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases.features import offsets_of
from trimtab.bases.monomial import MonomialArrays, Monomials
from trimtab.compiled import compiled
from trimtab.estimators.nodewise import Book
from trimtab.lcb import LCB

SAMPLES_PER_DEGREE = 4  # a gap between samples for every half power of Q
NEWTON_STEPS = 60
SWEEPS = 500
SETTLED = 1e-11  # relative: a sweep that gains less than this ends the descent


class Landscape(NamedTuple):
    """The LCB as the descent sees it; arrays over all criteria or all knobs."""

    maps: MonomialArrays
    columns: Ints  # (m + 1,) where criterion i's inverse factor begins in U
    U: Array  # R_i^{-1}, column after column, the zeros above the diagonal left out
    v: Array  # (sum d,) R_i^{-1} b_i
    weight: Array  # (m,) w_i
    bonus: Array  # (m,) w_i beta_i
    touch_offsets: Ints  # (k + 1,)
    touch: Ints  # the criteria that read a knob
    low: Array  # (k,)
    high: Array  # (k,)
    level_offsets: Ints  # (k + 1,)
    levels: Array


class Work(NamedTuple):
    """Room for the vectors of one step."""

    u: Array  # (sum d,) u_i at the present state
    rise: Array  # (most readers of a knob, degree + 1, widest d) the u_r of each reader
    Q: Array  # (most readers of a knob, 2 degree + 1)
    A: Array  # (degree + 1,)
    bonus: Array  # (most readers of a knob,)


def landscape(lcb: LCB, features: Monomials, criteria: Ints) -> Landscape:
    """Prepare the descent: invert the factors of the criteria that take part."""
    problem, book = lcb.problem, lcb.estimators.book
    d = problem.dims
    columns = offsets_of(d * (d + 1) // 2)
    U, v = np.empty(int(columns[-1])), np.empty(int(book.offsets[-1]))
    _invert(criteria, book, columns, U, v)
    graph, domain = problem.graph, problem.domain
    return Landscape(
        maps=features.arrays,
        columns=columns,
        U=U,
        v=v,
        weight=problem.weights,
        bonus=problem.weights * lcb.radii,
        touch_offsets=graph.touch_offsets,
        touch=graph.touch_criteria,
        low=domain.low,
        high=domain.high,
        level_offsets=domain.level_offsets,
        levels=domain.level_values,
    )


def descend(land: Landscape, starts: Array, knobs: Ints, criteria: Ints) -> Array:
    """Move every row of `starts` (S, k) to a minimum by its free knobs; their values (S,)."""
    maps = land.maps
    degree = int(max(maps.p.max(), maps.q.max(), 1))
    widest = int(np.diff(maps.offsets).max())
    readers = int(np.diff(land.touch_offsets).max())
    work = Work(
        u=np.zeros(int(maps.offsets[-1])),
        rise=np.zeros((readers, degree + 1, widest)),
        Q=np.zeros((readers, 2 * degree + 1)),
        A=np.zeros(degree + 1),
        bonus=np.zeros(readers),
    )
    values = np.empty(len(starts))
    _descend_all(starts, knobs, criteria, land, work, values)
    return values


@compiled
def _invert(criteria: Ints, book: Book, columns: Ints, U: Array, v: Array) -> None:
    """R^{-1} of each criterion by columns, and the last row of its augmented factor."""
    for i in criteria:
        d = book.offsets[i + 1] - book.offsets[i]
        R = book.R[book.blocks[i] : book.blocks[i + 1]]
        start = columns[i]
        for c in range(d):
            column = U[start : start + d - c]
            column[0] = 1.0 / R[c * (c + 1) // 2 + c]
            for r in range(c + 1, d):
                row = r * (r + 1) // 2
                x = 0.0
                for j in range(c, r):
                    x -= R[row + j] * column[j - c]
                column[r - c] = x / R[row + r]
            start += d - c
        for f in range(d):
            v[book.offsets[i] + f] = R[d * (d + 1) // 2 + f]


@compiled
def _descend_all(
    states: Array, knobs: Ints, criteria: Ints, land: Landscape, work: Work, values: Array
) -> None:
    for c in range(len(states)):
        s = states[c]
        before = _refresh(s, criteria, land, work.u)
        for _ in range(SWEEPS):
            for j in knobs:
                _step(j, s, land, work)
            after = _refresh(s, criteria, land, work.u)
            if before - after <= SETTLED * (1.0 + abs(after)):
                break
            before = after
        values[c] = after


@compiled
def _refresh(s: Array, criteria: Ints, land: Landscape, u: Array) -> float:
    """u_i = R_i^{-1} phi_i(s) from scratch, and the value F(s) of these criteria."""
    maps = land.maps
    value = 0.0
    for i in criteria:
        lo, hi = maps.offsets[i], maps.offsets[i + 1]
        u[lo:hi] = 0.0
        column = land.columns[i]
        for f in range(lo, hi):
            x = maps.scale[i] * _power(s[maps.a[f]], maps.p[f]) * _power(s[maps.b[f]], maps.q[f])
            for r in range(f, hi):
                u[r] += x * land.U[column + r - f]
            column += hi - f
        mean = 0.0
        square = 0.0
        for f in range(lo, hi):
            mean += u[f] * land.v[f]
            square += u[f] * u[f]
        value += land.weight[i] * mean - land.bonus[i] * np.sqrt(square)
    return value


@compiled
def _power(x: float, n: int) -> float:
    y = 1.0
    for _ in range(n):
        y *= x
    return y


@compiled
def _step(j: int, s: Array, land: Landscape, work: Work) -> None:
    """Put knob j where F is least, all others fixed, and keep the u_i up to date."""
    first, last = land.touch_offsets[j], land.touch_offsets[j + 1]
    work.A[:] = 0.0
    degree = 0
    for c in range(last - first):
        degree = max(degree, _expand(land.touch[first + c], j, s, land, work, c))
    x = _argmin(j, s[j], degree, last - first, land, work)
    if x != s[j]:
        s[j] = x
        for c in range(last - first):
            i = land.touch[first + c]
            lo = land.maps.offsets[i]
            for f in range(land.maps.offsets[i + 1] - lo):
                y = 0.0
                for r in range(degree, -1, -1):
                    y = y * x + work.rise[c, r, f]
                work.u[lo + f] = y


@compiled
def _expand(i: int, j: int, s: Array, land: Landscape, work: Work, c: int) -> int:
    """Criterion i as a function of knob j alone: its u_r, Q, and its part of A. The degree."""
    maps = land.maps
    lo, hi = maps.offsets[i], maps.offsets[i + 1]
    d = hi - lo
    rise = work.rise[c]
    rise[:, :d] = 0.0
    degree = 0
    column = land.columns[i]
    for f in range(lo, hi):
        r = 0
        x = maps.scale[i]
        if maps.a[f] == j:
            r += maps.p[f]
        else:
            x *= _power(s[maps.a[f]], maps.p[f])
        if maps.b[f] == j:
            r += maps.q[f]
        else:
            x *= _power(s[maps.b[f]], maps.q[f])
        if r > 0:
            degree = max(degree, r)
            for g in range(f - lo, d):
                rise[r, g] += x * land.U[column + g - (f - lo)]
        column += hi - f
    for f in range(d):
        known = 0.0
        for r in range(degree, 0, -1):
            known = (known + rise[r, f]) * s[j]
        rise[0, f] = work.u[lo + f] - known
    work.Q[c, :] = 0.0
    work.bonus[c] = land.bonus[i]
    for r in range(degree + 1):
        for f in range(d):
            work.A[r] += land.weight[i] * rise[r, f] * land.v[lo + f]
        for t in range(degree + 1):
            for f in range(d):
                work.Q[c, r + t] += rise[r, f] * rise[t, f]
    return degree


@compiled
def _argmin(j: int, now: float, degree: int, readers: int, land: Landscape, work: Work) -> float:
    """The best value of knob j; its present value `now` unless another is really better."""
    at, _, _ = _curve(now, degree, readers, work)
    best, x_best = at - SETTLED * (1.0 + abs(at)), now
    if land.level_offsets[j + 1] > land.level_offsets[j]:
        for n in range(land.level_offsets[j], land.level_offsets[j + 1]):
            y, _, _ = _curve(land.levels[n], degree, readers, work)
            if y < best:
                best, x_best = y, land.levels[n]
        return x_best
    low, high = land.low[j], land.high[j]
    gaps = 1 if degree <= 1 else SAMPLES_PER_DEGREE * degree
    left = low
    slope_left = 0.0
    for n in range(gaps + 1):
        x = high if n == gaps else low + n * (high - low) / gaps
        y, slope, _ = _curve(x, degree, readers, work)
        if y < best:
            best, x_best = y, x
        if n > 0 and degree > 1 and slope_left < 0.0 < slope:
            z = _valley(left, x, degree, readers, work)
            y, _, _ = _curve(z, degree, readers, work)
            if y < best:
                best, x_best = y, z
        left, slope_left = x, slope
    return x_best


@compiled
def _curve(x: float, degree: int, readers: int, work: Work) -> tuple[float, float, float]:
    """F along the knob, its slope and its curvature, at x."""
    y = slope = curvature = 0.0
    for r in range(degree, -1, -1):
        curvature = curvature * x + 2.0 * slope
        slope = slope * x + y
        y = y * x + work.A[r]
    for c in range(readers):
        q = dq = ddq = 0.0
        for r in range(2 * degree, -1, -1):
            ddq = ddq * x + 2.0 * dq
            dq = dq * x + q
            q = q * x + work.Q[c, r]
        if q > 0.0:
            root = np.sqrt(q)
            y -= work.bonus[c] * root
            slope -= work.bonus[c] * dq / (2.0 * root)
            curvature -= work.bonus[c] * (ddq - dq * dq / (2.0 * q)) / (2.0 * root)
    return y, slope, curvature


@compiled
def _valley(left: float, right: float, degree: int, readers: int, work: Work) -> float:
    """A point in (left, right) where the slope turns from negative to positive."""
    x = 0.5 * (left + right)
    for _ in range(NEWTON_STEPS):
        _, slope, curvature = _curve(x, degree, readers, work)
        if slope < 0.0:
            left = x
        else:
            right = x
        step = x - slope / curvature if curvature > 0.0 else left
        if not left < step < right:
            step = 0.5 * (left + right)
        if abs(step - x) <= 1e-15 + 1e-12 * abs(x):
            return step
        x = step
    return x
