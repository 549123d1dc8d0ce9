r"""The last digits of a minimum: Newton's method over the knobs that are inside their interval.

Steps by one knob at a time creep where knobs pull at each other. Near a minimum F is
smooth in every knob that is neither at an end of its interval, nor on levels, nor at the
kink of its price. With a = u_i(s), l = R^{-T}(v - beta a/|a|) and B = R^{-1} phi'(s),
criterion i adds

    slope      w (phi' l),
    curvature  w (sum_f l_f phi_f'' - (beta/|a|)(B'B - B'a a'B/|a|^2)),

and the step solves curvature p = -slope by conjugate gradients. Only steps down are taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.compiled import Structure, inner
from trimtab.solvers.landscape import Landscape, Work, column_of, power, refresh

HALVINGS = 12
# How well a step solves its equations, at first and in the end; between as the slope has fallen.
ROUGHLY, FULLY = 0.1, 1e-8
FEW = 32  # knobs for which every step is worth solving for in full
ROUNDING = 1e-14  # relative
CURVED = 1e-12  # relative: curvature below this is none


@dataclass(frozen=True, kw_only=True, eq=False)
class Model(Structure):
    """F near a state, to second order, and room for the step; only near knobs are ever touched.

    Nothing in it outlives `polish`, and a search keeps its trail in the same memory.
    """

    H: Array  # the curvature of one criterion after another over its scope, row after row up to
    #                    the diagonal
    slope: Array  # (k,)
    step: Array  # (k,)
    trial: Array  # (k,)
    inside: Ints  # (k,) the knobs in which F is smooth
    slot: Ints  # (k,) where in the scope at hand a knob is
    diagonal: Array  # (k,) or longer
    p: Array  # (k,)
    Hp: Array  # (k,)
    B: Array  # (largest scope, widest d)
    along: Array  # (largest scope,)


def new_model(land: Landscape) -> Model:
    """Room for steps of all knobs, and for the trail of a search."""
    k, m = land.low.size, land.radii.size
    n, d = np.diff(land.scope_offsets), np.diff(land.maps.offsets)
    return Model(
        H=np.empty(int(max((n * (n + 1) // 2).sum(), d.sum()))),
        slope=np.empty(k),
        step=np.empty(k),
        trial=np.empty(k),
        inside=np.empty(k, np.int64),
        slot=np.empty(k, np.int64),
        diagonal=np.empty(max(k, m)),
        p=np.empty(k),
        Hp=np.empty(k),
        B=np.empty((int(n.max()), int(d.max()))),
        along=np.empty(int(n.max())),
    )


@inner
def polish(
    s: Array,
    value: float,
    current: Array,
    price: Array,
    knobs: Ints,
    criteria: Ints,
    settled: float,
    land: Landscape,
    work: Work,
    model: Model,
    free: Ints,
    most: int,
) -> float:
    """Move s down to where the slope vanishes, as far as so many of Newton's steps get; F there."""
    slope, step, trial, inside = model.slope, model.step, model.trial, model.inside
    for i in criteria:
        for n in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
            trial[land.scope[n]] = s[land.scope[n]]
    steep, last = 0.0, knobs.size <= FEW
    for _ in range(most):
        _quadratic_model(s, criteria, land, work, model, free)
        size = _inside(s, current, price, knobs, land, inside)
        steepest = 0.0
        for j in inside[:size]:
            slope[j] += price[j] if s[j] > current[j] else (-price[j] if s[j] < current[j] else 0.0)
            steepest = max(steepest, abs(slope[j]))
        if size == 0 or steepest == 0.0:
            break
        steep = max(steep, steepest)
        accuracy = FULLY if last else max(min(ROUGHLY, steepest / steep), FULLY)
        _conjugate_gradients(inside[:size], criteria, land, model, accuracy)
        length = 1.0
        better = False
        after = value
        for _ in range(HALVINGS):
            for j in inside[:size]:
                x = min(max(s[j] + length * step[j], land.low[j]), land.high[j])
                across = (s[j] - current[j]) * (x - current[j]) < 0.0
                trial[j] = current[j] if price[j] > 0.0 and across else x
            after = refresh(trial, criteria, land, work)
            for j in knobs:
                after += price[j] * abs(trial[j] - current[j])
            # Where values no longer tell two states apart, the slope still does.
            if after < value + (ROUNDING * abs(value) if last else 0.0):
                better = True
                break
            length *= 0.5
        gain = 0.0
        if better:
            gain = value - after
            value = after
            for j in inside[:size]:
                s[j] = trial[j]
        else:
            refresh(s, criteria, land, work)
        if gain <= settled * abs(value):
            if last:
                break
            last = True
    refresh(s, criteria, land, work)
    return value


@inner
def _inside(
    s: Array, current: Array, price: Array, knobs: Ints, land: Landscape, inside: Ints
) -> int:
    """The knobs in which F is smooth at s: so many."""
    n = 0
    for j in knobs:
        continuous = land.level_offsets[j] == land.level_offsets[j + 1]
        kink = price[j] > 0.0 and s[j] == current[j]
        if continuous and land.low[j] < s[j] < land.high[j] and not kink:
            inside[n] = j
            n += 1
    return n


@inner
def _clear(x: Array, criteria: Ints, land: Landscape) -> None:
    """Zero for every knob that these criteria read."""
    for i in criteria:
        for n in range(land.scope_offsets[i], land.scope_offsets[i + 1]):
            x[land.scope[n]] = 0.0


@inner
def _quadratic_model(
    s: Array, criteria: Ints, land: Landscape, work: Work, model: Model, free: Ints
) -> None:
    """The slope of F at s, and its curvature, block after block, by the free knobs alone.

    Those are marked by 0 or more.
    """
    maps, slot, slope, B, along = land.maps, model.slot, model.slope, model.B, model.along
    offsets, first, second, scale = maps.offsets, maps.a, maps.b, maps.scale
    _clear(slope, criteria, land)
    start = 0
    for i in criteria:
        lo, d = offsets[i], offsets[i + 1] - offsets[i]
        scope = land.scope[land.scope_offsets[i] : land.scope_offsets[i + 1]]
        n = scope.size
        for r in range(n):
            slot[scope[r]] = r
            if free[scope[r]] >= 0:
                for g in range(d):
                    B[r, g] = 0.0
        u = work.u[lo : lo + d]
        square = 0.0
        for g in range(d):
            square += u[g] * u[g]
        length = np.sqrt(square)
        v = land.blocks[i] + d * (d + 1) // 2
        share = land.radii[i] / length if length > 0.0 else 0.0
        block = model.H[start : start + n * (n + 1) // 2]
        block[:] = 0.0
        start += block.size
        column = column_of(i, land)
        for f in range(lo, lo + d):
            m = maps.p[f] if free[first[f]] >= 0 else 0
            n_b = maps.q[f] if free[second[f]] >= 0 else 0
            if m == 0 and n_b == 0:
                column += d - (f - lo)
                continue
            pull = 0.0
            for g in range(f - lo, d):
                pull += work.U[column + g - (f - lo)] * (land.R[v + g] - share * u[g])
            a, b = slot[first[f]], slot[second[f]]
            x, y = s[first[f]], s[second[f]]
            left, right = power(x, maps.p[f]), power(y, maps.q[f])
            c = scale[i] * land.weights[i]
            if m > 0:
                by_a = m * power(x, m - 1) * right
                slope[first[f]] += c * pull * by_a
                _add_column(B[a], scale[i] * by_a, work.U, column, f - lo, d)
                if m > 1:
                    block[_at(a, a)] += c * pull * m * (m - 1) * power(x, m - 2) * right
            if n_b > 0:
                by_b = n_b * left * power(y, n_b - 1)
                slope[second[f]] += c * pull * by_b
                _add_column(B[b], scale[i] * by_b, work.U, column, f - lo, d)
                if n_b > 1:
                    bend = n_b * (n_b - 1) * left * power(y, n_b - 2)
                    block[_at(b, b)] += c * pull * bend
            if m > 0 and n_b > 0:
                mixed = c * pull * m * n_b * power(x, m - 1) * power(y, n_b - 1)
                block[_at(a, b)] += mixed
                if a == b:
                    block[_at(a, a)] += mixed
            column += d - (f - lo)
        if share == 0.0:
            continue
        for r in range(n):
            if free[scope[r]] < 0:
                continue
            along[r] = 0.0
            for g in range(d):
                along[r] += B[r, g] * u[g] / length
            for t in range(r + 1):
                if free[scope[t]] < 0:
                    continue
                both = 0.0
                for g in range(d):
                    both += B[r, g] * B[t, g]
                bend = land.weights[i] * share * (both - along[r] * along[t])
                block[_at(r, t)] -= bend


@inner
def _at(a: int, b: int) -> int:
    """Where in its block the curvature by two knobs of a scope is."""
    low, high = min(a, b), max(a, b)
    return high * (high + 1) // 2 + low


@inner
def _add_column(out: Array, x: float, U: Array, column: int, first: int, d: int) -> None:
    for g in range(first, d):
        out[g] += x * U[column + g - first]


@inner
def _times_p(criteria: Ints, land: Landscape, model: Model) -> None:
    """Hp, the curvature times p, which is 0 for knobs that are not inside."""
    H, p, out = model.H, model.p, model.Hp
    _clear(out, criteria, land)
    h = 0
    for i in criteria:
        scope = land.scope[land.scope_offsets[i] : land.scope_offsets[i + 1]]
        for r in range(scope.size):
            own = p[scope[r]]
            x = 0.0
            for c in range(r):
                x += H[h] * p[scope[c]]
                out[scope[c]] += H[h] * own
                h += 1
            out[scope[r]] += x + H[h] * own
            h += 1


@inner
def _conjugate_gradients(
    inside: Ints, criteria: Ints, land: Landscape, model: Model, accuracy: float
) -> None:
    """Solve curvature step = -slope over the inside knobs, until the curvature turns negative."""
    step, diagonal, p, Hp = model.step, model.diagonal, model.p, model.Hp
    rest = model.slope  # which is not needed any more, with its sign changed
    _clear(diagonal, criteria, land)
    _clear(p, criteria, land)
    h = 0
    for i in criteria:
        lo, hi = land.scope_offsets[i], land.scope_offsets[i + 1]
        for r in range(hi - lo):
            h += r
            diagonal[land.scope[lo + r]] += model.H[h]
            h += 1
    top = 0.0
    for j in inside:
        top = max(top, abs(diagonal[j]))
    rho = 0.0
    for j in inside:
        step[j] = 0.0
        rest[j] = -rest[j]
        diagonal[j] = max(diagonal[j], CURVED * top)
        if diagonal[j] == 0.0:
            diagonal[j] = 1.0
        p[j] = rest[j] / diagonal[j]
        rho += rest[j] * p[j]
    begin = rho
    for n in range(2 * inside.size + 20):
        _times_p(criteria, land, model)
        bend = size = 0.0
        for j in inside:
            bend += p[j] * Hp[j]
            size += p[j] * p[j] * diagonal[j]
        if bend <= CURVED * size:
            if n == 0:
                for j in inside:
                    step[j] = p[j]
            return
        alpha = rho / bend
        before = rho
        rho = 0.0
        for j in inside:
            step[j] += alpha * p[j]
            rest[j] -= alpha * Hp[j]
            rho += rest[j] * rest[j] / diagonal[j]
        if rho <= accuracy * accuracy * begin:
            return
        for j in inside:
            p[j] = rest[j] / diagonal[j] + rho / before * p[j]
