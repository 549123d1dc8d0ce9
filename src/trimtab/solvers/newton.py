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

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.compiled import bare, compiled
from trimtab.solvers.landscape import Landscape, Work, power, refresh

STEPS = 50
HALVINGS = 12
ROUGHLY, FULLY = 0.1, 1e-8  # how well a step solves its equations, at first and in the end
ROUNDING = 1e-14  # relative
CURVED = 1e-12  # relative: curvature below this is none


@compiled
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
) -> float:
    """Move s down to where the slope vanishes, as far as Newton's method gets; F there."""
    k = s.size
    starts = np.empty(land.radii.size, np.int64)  # of each criterion's block in H
    size = 0
    for i in criteria:
        starts[i] = size
        n = land.scope_offsets[i + 1] - land.scope_offsets[i]
        size += n * n
    H = np.empty(size)
    slope, step, trial = np.zeros(k), np.zeros(k), s.copy()
    accuracy = ROUGHLY
    for _ in range(STEPS):
        _quadratic_model(s, criteria, starts, land, work, slope, H)
        inside = _inside(s, current, price, knobs, land)
        steepest = 0.0
        for j in inside:
            slope[j] += price[j] if s[j] > current[j] else (-price[j] if s[j] < current[j] else 0.0)
            steepest = max(steepest, abs(slope[j]))
        if inside.size == 0 or steepest == 0.0:
            break
        _conjugate_gradients(inside, criteria, starts, land, slope, H, step, accuracy)
        length = 1.0
        better = False
        for _ in range(HALVINGS):
            for j in inside:
                x = min(max(s[j] + length * step[j], land.low[j]), land.high[j])
                across = (s[j] - current[j]) * (x - current[j]) < 0.0
                trial[j] = current[j] if price[j] > 0.0 and across else x
            after = refresh(trial, criteria, land, work)
            for j in knobs:
                after += price[j] * abs(trial[j] - current[j])
            # Where values no longer tell two states apart, the slope still does.
            if after < value + (ROUNDING * abs(value) if accuracy == FULLY else 0.0):
                better = True
                break
            length *= 0.5
        gain = 0.0
        if better:
            gain = value - after
            value = after
            for j in inside:
                s[j] = trial[j]
        if gain <= settled * abs(value):
            if accuracy == FULLY:
                break
            accuracy = FULLY
    refresh(s, criteria, land, work)
    return value


@compiled
def _inside(s: Array, current: Array, price: Array, knobs: Ints, land: Landscape) -> Ints:
    """The knobs in which F is smooth at s."""
    inside = np.empty(knobs.size, np.int64)
    n = 0
    for j in knobs:
        continuous = land.level_offsets[j] == land.level_offsets[j + 1]
        kink = price[j] > 0.0 and s[j] == current[j]
        if continuous and land.low[j] < s[j] < land.high[j] and not kink:
            inside[n] = j
            n += 1
    return inside[:n]


@compiled
def _quadratic_model(
    s: Array, criteria: Ints, starts: Ints, land: Landscape, work: Work, slope: Array, H: Array
) -> None:
    """The slope of F at s, and its curvature, block after block."""
    offsets, first, second, p, q, scale = land.maps
    slot = np.zeros(s.size, np.int64)
    slope[:] = 0.0
    H[:] = 0.0
    for i in criteria:
        lo, d = offsets[i], offsets[i + 1] - offsets[i]
        scope = land.scope[land.scope_offsets[i] : land.scope_offsets[i + 1]]
        n = scope.size
        for r in range(n):
            slot[scope[r]] = r
        u = work.u[lo : lo + d]
        length = np.sqrt((u * u).sum())
        v = land.blocks[i] + d * (d + 1) // 2
        share = land.radii[i] / length if length > 0.0 else 0.0
        B = np.zeros((n, d))
        block = H[starts[i] : starts[i] + n * n]
        column = work.columns[i]
        for f in range(lo, lo + d):
            pull = 0.0
            for g in range(f - lo, d):
                pull += work.U[column + g - (f - lo)] * (land.R[v + g] - share * u[g])
            a, b = slot[first[f]], slot[second[f]]
            x, y, m, n_b = s[first[f]], s[second[f]], p[f], q[f]
            c = scale[i] * land.weights[i]
            if m > 0:
                by_a = m * power(x, m - 1) * power(y, n_b)
                slope[first[f]] += c * pull * by_a
                _add_column(B[a], scale[i] * by_a, work.U, column, f - lo, d)
                if m > 1:
                    block[a * n + a] += c * pull * m * (m - 1) * power(x, m - 2) * power(y, n_b)
            if n_b > 0:
                by_b = n_b * power(x, m) * power(y, n_b - 1)
                slope[second[f]] += c * pull * by_b
                _add_column(B[b], scale[i] * by_b, work.U, column, f - lo, d)
                if n_b > 1:
                    bend = n_b * (n_b - 1) * power(x, m) * power(y, n_b - 2)
                    block[b * n + b] += c * pull * bend
            if m > 0 and n_b > 0:
                mixed = c * pull * m * n_b * power(x, m - 1) * power(y, n_b - 1)
                block[a * n + b] += mixed
                block[b * n + a] += mixed
            column += d - (f - lo)
        if share == 0.0:
            continue
        along = np.zeros(n)
        for r in range(n):
            for g in range(d):
                along[r] += B[r, g] * u[g] / length
        for r in range(n):
            for t in range(n):
                both = 0.0
                for g in range(d):
                    both += B[r, g] * B[t, g]
                block[r * n + t] -= land.weights[i] * share * (both - along[r] * along[t])


@bare
def _add_column(out: Array, x: float, U: Array, column: int, first: int, d: int) -> None:
    for g in range(first, d):
        out[g] += x * U[column + g - first]


@bare
def _times(p: Array, criteria: Ints, starts: Ints, land: Landscape, H: Array, out: Array) -> None:
    """The curvature times p."""
    out[:] = 0.0
    for i in criteria:
        lo, hi = land.scope_offsets[i], land.scope_offsets[i + 1]
        h = starts[i]
        for r in range(lo, hi):
            x = 0.0
            for c in range(lo, hi):
                x += H[h] * p[land.scope[c]]
                h += 1
            out[land.scope[r]] += x


@compiled
def _conjugate_gradients(
    inside: Ints,
    criteria: Ints,
    starts: Ints,
    land: Landscape,
    slope: Array,
    H: Array,
    step: Array,
    accuracy: float,
) -> None:
    """Solve curvature step = -slope over the inside knobs, until the curvature turns negative."""
    k = step.size
    diagonal = np.zeros(k)
    for i in criteria:
        lo, hi = land.scope_offsets[i], land.scope_offsets[i + 1]
        for r in range(hi - lo):
            diagonal[land.scope[lo + r]] += H[starts[i] + r * (hi - lo) + r]
    top = 0.0
    for j in inside:
        top = max(top, abs(diagonal[j]))
    step[:] = 0.0
    p, Hp = np.zeros(k), np.zeros(k)
    rest = np.zeros(k)
    rho = 0.0
    for j in inside:
        rest[j] = -slope[j]
        diagonal[j] = max(diagonal[j], CURVED * top)
        if diagonal[j] == 0.0:
            diagonal[j] = 1.0
        p[j] = rest[j] / diagonal[j]
        rho += rest[j] * p[j]
    begin = rho
    for n in range(2 * inside.size + 20):
        _times(p, criteria, starts, land, H, Hp)
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
