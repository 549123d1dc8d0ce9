r"""Coordinate descent for monomial bases, with a one-dimensional step that is exact.

Along one knob x, every other knob fixed, the features of a criterion are a polynomial
in x, phi(x) = sum_r p_r x^r, and so is u(x) = R^{-1} phi(x) = sum_r u_r x^r. Hence F along
the knob is a polynomial, the means, minus w_i beta_i |u_i(x)| for every criterion that
reads it: what `line` minimises.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases.monomial import MonomialArrays, Monomials
from trimtab.compiled import compiled
from trimtab.domain import BoundBox
from trimtab.lcb import LCB
from trimtab.solvers.line import SETTLED, Line, argmin, new_line
from trimtab.solvers.solution import choose
from trimtab.solvers.starts import uniform

SWEEPS = 500


class Landscape(NamedTuple):
    """The LCB as the descent sees it; arrays over all criteria or all knobs."""

    maps: MonomialArrays
    blocks: Ints  # (m + 1,) the augmented factor of criterion i in R
    R: Array
    weights: Array  # (m,) w_i
    radii: Array  # (m,) beta_i
    touch_offsets: Ints  # (k + 1,)
    touch: Ints  # the criteria that read a knob
    low: Array  # (k,)
    high: Array  # (k,)
    level_offsets: Ints  # (k + 1,)
    levels: Array


class Work(NamedTuple):
    """Room for one search; only the entries of its own criteria are ever touched."""

    columns: Ints  # (m,) where criterion i's inverse factor begins in U
    U: Array  # R_i^{-1}, column after column, the zeros above the diagonal left out
    u: Array  # (sum d,) R_i^{-1} phi_i at the present state
    rise: Array  # (most readers of a knob, degree + 1, widest d) the u_r of each reader
    line: Line


def search(
    lcb: LCB,
    domain: BoundBox,
    features: Monomials,
    current: Array,
    knobs: Ints,
    criteria: Ints,
    starts: int,
    seed: int,
) -> tuple[Array, float]:
    """The best of several descents by the free knobs: their values, and F there.

    `criteria` are all those that read a free knob. The first descent starts from
    the current state, the others from random points and random corners in turn.
    """
    land = _LANDSCAPES.get(lcb)
    if land is None:
        land = _LANDSCAPES[lcb] = _landscape(lcb, domain, features)
    return _search(land, current, knobs, criteria, starts, seed)


# A landscape only points at arrays that live as long as their LCB.
_LANDSCAPES: WeakKeyDictionary[LCB, Landscape] = WeakKeyDictionary()


def _landscape(lcb: LCB, domain: BoundBox, features: Monomials) -> Landscape:
    graph, book = lcb.problem.graph, lcb.estimators.book
    return Landscape(
        maps=features.arrays,
        blocks=book.blocks,
        R=book.R,
        weights=lcb.problem.weights,
        radii=lcb.radii,
        touch_offsets=graph.touch_offsets,
        touch=graph.touch_criteria,
        low=domain.low,
        high=domain.high,
        level_offsets=domain.level_offsets,
        levels=domain.level_values,
    )


@compiled
def _search(
    land: Landscape, current: Array, knobs: Ints, criteria: Ints, starts: int, seed: int
) -> tuple[Array, float]:
    work = _prepare(land, knobs, criteria)
    s = current.copy()
    found = np.empty((starts + 1, knobs.size))
    values = np.empty(starts + 1)
    now = current[knobs]
    found[0] = now
    values[0] = _refresh(s, criteria, land, work)
    for c in range(starts):
        for n in range(knobs.size):
            s[knobs[n]] = now[n] if c == 0 else _start(knobs[n], c, seed, land)
        value = values[0] if c == 0 else _refresh(s, criteria, land, work)
        values[c + 1] = _descend(s, value, knobs, criteria, land, work)
        for n in range(knobs.size):
            found[c + 1, n] = s[knobs[n]]
    best = choose(found, values, now)
    return found[best], values[best]


@compiled
def _start(j: int, c: int, seed: int, land: Landscape) -> float:
    """Where knob j starts in the c-th descent: anywhere, or for odd c in a corner."""
    x = uniform(seed, c, j)
    if c % 2 == 1:
        return float(land.low[j] if x < 0.5 else land.high[j])
    levels = land.level_offsets[j + 1] - land.level_offsets[j]
    if levels > 0:
        return float(land.levels[land.level_offsets[j] + int(x * levels)])
    return float(min(land.low[j] + x * (land.high[j] - land.low[j]), land.high[j]))


@compiled
def _prepare(land: Landscape, knobs: Ints, criteria: Ints) -> Work:
    """Invert the factors of the criteria that take part, and make room for the rest."""
    maps, offsets = land.maps, land.maps.offsets
    degree = widest = size = readers = 0
    for i in criteria:
        d = offsets[i + 1] - offsets[i]
        widest = max(widest, d)
        size += d * (d + 1) // 2
        for f in range(offsets[i], offsets[i + 1]):
            degree = max(degree, maps.p[f], maps.q[f])
    for j in knobs:
        readers = max(readers, land.touch_offsets[j + 1] - land.touch_offsets[j])
    work = Work(
        columns=np.empty(land.radii.size, np.int64),
        U=np.empty(size),
        u=np.empty(offsets[-1]),
        rise=np.empty((readers, degree + 1, widest)),
        line=new_line(degree, readers),
    )
    start = 0
    for i in criteria:
        d = offsets[i + 1] - offsets[i]
        R = land.R[land.blocks[i] : land.blocks[i + 1]]
        work.columns[i] = start
        for c in range(d):
            column = work.U[start : start + d - c]
            column[0] = 1.0 / R[c * (c + 1) // 2 + c]
            for r in range(c + 1, d):
                row = r * (r + 1) // 2
                x = 0.0
                for j in range(c, r):
                    x -= R[row + j] * column[j - c]
                column[r - c] = x / R[row + r]
            start += d - c
    return work


@compiled
def _v(i: int, d: int, land: Landscape) -> Array:
    """R_i^{-1} b_i: the last row of the augmented factor."""
    start = land.blocks[i] + d * (d + 1) // 2
    return land.R[start : start + d]


@compiled
def _descend(
    s: Array, value: float, knobs: Ints, criteria: Ints, land: Landscape, work: Work
) -> float:
    """Sweep over the knobs until none moves any more; F there, having begun at `value`."""
    for _ in range(SWEEPS):
        moved = False
        for j in knobs:
            moved |= _step(j, s, land, work)
        if not moved:
            return value
        before = value
        value = _refresh(s, criteria, land, work)
        if before - value <= SETTLED * (1.0 + abs(value)):
            return value
    return value


@compiled
def _refresh(s: Array, criteria: Ints, land: Landscape, work: Work) -> float:
    """u_i = R_i^{-1} phi_i(s) from scratch, and the value F(s) of these criteria."""
    maps, u = land.maps, work.u
    value = 0.0
    for i in criteria:
        lo, hi = maps.offsets[i], maps.offsets[i + 1]
        u[lo:hi] = 0.0
        column = work.columns[i]
        for f in range(lo, hi):
            x = maps.scale[i] * _power(s[maps.a[f]], maps.p[f]) * _power(s[maps.b[f]], maps.q[f])
            for r in range(f, hi):
                u[r] += x * work.U[column + r - f]
            column += hi - f
        v = _v(i, hi - lo, land)
        mean = 0.0
        square = 0.0
        for f in range(lo, hi):
            mean += u[f] * v[f - lo]
            square += u[f] * u[f]
        value += land.weights[i] * (mean - land.radii[i] * np.sqrt(square))
    return value


@compiled
def _power(x: float, n: int) -> float:
    if n == 0:
        return 1.0
    y = x
    for _ in range(1, n):
        y *= x
    return y


@compiled
def _step(j: int, s: Array, land: Landscape, work: Work) -> bool:
    """Put knob j where F is least, all others fixed, and keep the u_i up to date; if it moved."""
    first, last = land.touch_offsets[j], land.touch_offsets[j + 1]
    work.line.A[:] = 0.0
    degree = 0
    for c in range(last - first):
        degree = max(degree, _expand(land.touch[first + c], j, s, land, work, c))
    levels = land.levels[land.level_offsets[j] : land.level_offsets[j + 1]]
    x = argmin(s[j], land.low[j], land.high[j], levels, degree, last - first, work.line)
    if x == s[j]:
        return False
    s[j] = x
    for c in range(last - first):
        i = land.touch[first + c]
        lo = land.maps.offsets[i]
        for f in range(land.maps.offsets[i + 1] - lo):
            y = 0.0
            for r in range(degree, -1, -1):
                y = y * x + work.rise[c, r, f]
            work.u[lo + f] = y
    return True


@compiled
def _expand(i: int, j: int, s: Array, land: Landscape, work: Work, c: int) -> int:
    """Criterion i as a function of knob j alone: its u_r, Q, and its part of A. The degree."""
    maps = land.maps
    lo, hi = maps.offsets[i], maps.offsets[i + 1]
    d = hi - lo
    rise = work.rise[c]
    rise[:, :d] = 0.0
    degree = 0
    column = work.columns[i]
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
                rise[r, g] += x * work.U[column + g - (f - lo)]
        column += hi - f
    for f in range(d):
        known = 0.0
        for r in range(degree, 0, -1):
            known = (known + rise[r, f]) * s[j]
        rise[0, f] = work.u[lo + f] - known
    work.line.Q[c, :] = 0.0
    work.line.bonus[c] = land.weights[i] * land.radii[i]
    v = _v(i, d, land)
    for r in range(degree + 1):
        mean = 0.0
        for f in range(d):
            mean += rise[r, f] * v[f]
        work.line.A[r] += land.weights[i] * mean
        for t in range(r, degree + 1):
            both = 0.0
            for f in range(d):
                both += rise[r, f] * rise[t, f]
            work.line.Q[c, r + t] += both if r == t else 2.0 * both
    return degree
