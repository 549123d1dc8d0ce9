r"""The exact one-dimensional step: the least value of G along one knob.

Its minimum on an interval is looked for at the ends, at the anchor, at sample points, among
them both sides of every narrow dip of a Q, and by a safeguarded Newton iteration wherever the
slope turns from falling to rising, also where it does so twice between two samples. For
features linear in x, F is concave: the ends and the anchor suffice.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array
from trimtab.compiled import bare, inner
from trimtab.solvers.curve import Line, coefficients, curve, height, mean, reader, width_of
from trimtab.solvers.samples import look, sample

SETTLED = 1e-11  # of the scale along the knob: gains below this are none
NEWTON_STEPS = 60
TURN_STEPS = 8
SHARE = 0.1  # of the least gain that counts: smaller errors do not matter
FAR = 0.2  # of the interval: what counts as another place than the present one


@bare
def argmin(
    now: float,
    low: float,
    high: float,
    levels: Array,
    degree: int,
    readers: int,
    line: Line,
    coarse: float,
) -> tuple[float, float]:
    """Where G is least on [low, high] or among the levels, and what is gained over `now`.

    It is `now` unless another place is better by more than this share of the width at `now`.
    `readers` criteria of at most this degree take part; `levels` is empty for an interval.
    """
    anchor, price = line.toll[0], line.toll[1]
    width = width_of(now, degree, readers, line)
    at = mean(now, degree, line)[0] - width + price * abs(now - anchor)
    scale = width
    for r in range(degree + 1):
        scale += abs(line.A[r])
    least_gain = max(SETTLED * scale, coarse * width)
    best, x_best = at - least_gain, now
    if levels.size > 0:
        for level in levels:
            y = height(level, degree, readers, line)
            if y < best:
                best, x_best = y, level
        return x_best, (at - best if x_best != now else 0.0)
    at_end = min(now - low, high - now) == 0.0
    if at_end and degree == 2 and _stays(now, low, high, readers, line):
        return now, 0.0
    points = look(low, high, degree, readers, line)
    for n in range(points):
        x = line.x[n]
        y = line.y[n] + price * abs(x - anchor)
        if y < best:
            best, x_best = y, x
        if n == 0 or degree <= 1:
            continue
        left, right = line.x[n - 1], x
        pull = price if left >= anchor else -price
        before, after = line.slope[n - 1] + pull, line.slope[n] + pull
        bend_left, bend_right = line.bend[n - 1], line.bend[n]
        if before * after > 0.0 and before * bend_left < 0.0 < after * bend_right:
            # The slope turns back on the way: it may have been through 0 and again, unless
            # even its tangents meet before they get there.
            meet = (after - before + bend_left * left - bend_right * right) / (
                bend_left - bend_right
            )
            if (before + bend_left * (meet - left)) * before > 0.0:
                continue
            turn = _turn(left, right, bend_left < 0.0, degree, readers, line)
            middle = curve(turn, degree, readers, line)[1] + pull
            if after < 0.0 < middle:
                right = turn
            elif middle < 0.0 < after:
                left = turn
            else:
                continue
        elif not before < 0.0 < after:
            continue
        start = now if left < now < right else 0.5 * (left + right)
        z, y = _valley(left, right, start, pull, degree, readers, line, SHARE * least_gain)
        y += price * abs(z - anchor)
        if y < best:
            best, x_best = y, z
    return x_best, (at - best if x_best != now else 0.0)


@inner
def _stays(now: float, low: float, high: float, readers: int, line: Line) -> bool:
    """Whether a line of degree 2 is certainly least at the end of the interval where the knob is.

    A root is below its tangent, sqrt(Q) <= (q + Q) / (2 sqrt(q)) where Q is q now, so F is above
    a polynomial that it touches now. It has risen everywhere else if the Bernstein coefficients
    of its rise, divided by the distance, are positive.
    """
    a1, a2, a3, a4 = line.A[1], line.A[2], 0.0, 0.0
    for c in range(readers):
        _, c1, c2, c3, c4 = coefficients(c, line)
        q, _, _ = reader(now, 2, c, line)
        if q <= 0.0:
            return False
        half = 0.5 * line.bonus[c] / np.sqrt(q)
        a1 -= half * c1
        a2 -= half * c2
        a3 -= half * c3
        a4 -= half * c4
    # The powers of the distance, which is 1 at the other end.
    h = high - now if now == low else low - now
    toll = line.toll[1] * abs(h)
    b1 = h * (((4.0 * a4 * now + 3.0 * a3) * now + 2.0 * a2) * now + a1)
    b1 += toll if line.toll[0] == now else -toll
    b2 = h * h * ((6.0 * a4 * now + 3.0 * a3) * now + a2)
    b3 = h * h * h * (4.0 * a4 * now + a3)
    b4 = h * h * h * h * a4
    return bool(min(b1, b1 + b2 / 3.0, b1 + (2.0 * b2 + b3) / 3.0, b1 + b2 + b3 + b4) >= 0.0)


@bare
def elsewhere(
    now: float, low: float, high: float, levels: Array, degree: int, readers: int, line: Line
) -> tuple[float, float]:
    """The best sample that is far from `now`, and by how much G is higher there.

    It is `now` where there is no other.
    """
    best, x_best = np.inf, now
    if levels.size > 0:
        for level in levels:
            y = height(level, degree, readers, line)
            if level != now and y < best:
                best, x_best = y, level
    else:
        points = sample(low, high, degree, readers, line)
        for n in range(points):
            x = line.x[n]
            y = line.y[n] + line.toll[1] * abs(x - line.toll[0])
            if abs(x - now) >= FAR * (high - low) and y < best:
                best, x_best = y, x
    return x_best, best - height(now, degree, readers, line)


@inner
def _turn(left: float, right: float, falling: bool, degree: int, readers: int, line: Line) -> float:
    """Where the slope stops falling (or rising) between two points, roughly."""
    for _ in range(TURN_STEPS):
        x = 0.5 * (left + right)
        _, _, bend = curve(x, degree, readers, line)
        if (bend < 0.0) == falling:
            left = x
        else:
            right = x
    return 0.5 * (left + right)


@inner
def _valley(
    left: float,
    right: float,
    x: float,
    pull: float,
    degree: int,
    readers: int,
    line: Line,
    settled: float,
) -> tuple[float, float]:
    """A point in (left, right) where the slope, `pull` added, turns from negative to positive.

    And F there. Newton's method from x ends with the step that is to gain no more than
    `settled`, and what it gains is known well enough without another look.
    """
    y = 0.0
    for _ in range(NEWTON_STEPS):
        y, slope, curvature = curve(x, degree, readers, line)
        slope += pull
        if slope < 0.0:
            left = x
        else:
            right = x
        step = x - slope / curvature if curvature > 0.0 else left
        if not left < step < right:
            step = 0.5 * (left + right)
        elif slope * slope <= 2.0 * settled * curvature:
            return step, y - (0.5 * slope - pull) * (x - step)
        if abs(step - x) <= 1e-15 + 1e-12 * abs(x):
            break
        x = step
    return x, y
