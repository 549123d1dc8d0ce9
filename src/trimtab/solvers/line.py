r"""The exact one-dimensional step: the least value of F along one knob.

Along a knob x, every other knob fixed,

    F(x) = A(x) - sum_i a_i sqrt(Q_i(x)),

a polynomial minus roots of polynomials of twice its degree, one for each criterion that
reads the knob. Its minimum on an interval is looked for at the ends, at sample points,
among them both sides of every narrow dip of a Q, and by a safeguarded Newton iteration
wherever the slope turns from falling to rising, also where it does so twice between two
samples. For features linear in x, F is concave and the ends suffice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.arrays import Array
from trimtab.compiled import compiled

SAMPLES_PER_DEGREE = 4  # a gap between samples for every half power of Q
NEWTON_STEPS = 60
TURN_STEPS = 8
SETTLED = 1e-11  # times 1 + |F|: gains below this are none


class Line(NamedTuple):
    """F along a knob, and room for the points to look at."""

    A: Array  # (degree + 1,)
    Q: Array  # (most readers of a knob, 2 degree + 1)
    bonus: Array  # (most readers of a knob,) a_i
    x: Array


@compiled
def new_line(degree: int, readers: int) -> Line:
    """Room for a line of this degree with so many readers."""
    return Line(
        A=np.empty(degree + 1),
        Q=np.empty((readers, 2 * degree + 1)),
        bonus=np.empty(readers),
        x=np.empty(SAMPLES_PER_DEGREE * max(degree, 1) + 1 + 3 * degree * readers),
    )


@compiled
def argmin(
    now: float, low: float, high: float, levels: Array, degree: int, readers: int, line: Line
) -> float:
    """Where F is least on [low, high] or among the levels; `now` unless another is really better.

    `readers` criteria of at most this degree take part; `levels` is empty for an interval.
    """
    at, _, _ = _curve(now, degree, readers, line)
    best, x_best = at - SETTLED * (1.0 + abs(at)), now
    if levels.size > 0:
        for level in levels:
            y, _, _ = _curve(level, degree, readers, line)
            if y < best:
                best, x_best = y, level
        return x_best
    points = _points(low, high, degree, readers, line)
    slope_left = bend_left = 0.0
    for n in range(points):
        x = line.x[n]
        y, slope, bend = _curve(x, degree, readers, line)
        if y < best:
            best, x_best = y, x
        if n > 0 and degree > 1:
            left, right = line.x[n - 1], x
            if slope_left * slope > 0.0 and slope_left * bend_left < 0.0 < slope * bend:
                # The slope turns back on the way: it may have been through 0 and again.
                turn = _turn(left, right, bend_left < 0.0, degree, readers, line)
                _, middle, _ = _curve(turn, degree, readers, line)
                if slope < 0.0 < middle:
                    right = turn
                elif middle < 0.0 < slope:
                    left = turn
                else:
                    right = left
            elif not slope_left < 0.0 < slope:
                right = left
            if left < right:
                z = _valley(left, right, degree, readers, line)
                y, _, _ = _curve(z, degree, readers, line)
                if y < best:
                    best, x_best = y, z
        slope_left, bend_left = slope, bend
    return x_best


@compiled
def _turn(left: float, right: float, falling: bool, degree: int, readers: int, line: Line) -> float:
    """Where the slope stops falling (or rising) between two points, roughly."""
    for _ in range(TURN_STEPS):
        x = 0.5 * (left + right)
        _, _, bend = _curve(x, degree, readers, line)
        if (bend < 0.0) == falling:
            left = x
        else:
            right = x
    return 0.5 * (left + right)


@compiled
def _points(low: float, high: float, degree: int, readers: int, line: Line) -> int:
    """Where to look at F along the knob, ascending in line.x: so many points.

    Evenly spaced ones, and three at every notch: where a state was played for long, the
    width of a reader is nearly 0 and grows steeply to both sides, over a distance that
    even spacing would step over.
    """
    gaps = 1 if degree <= 1 else SAMPLES_PER_DEGREE * degree
    x = line.x
    for n in range(gaps + 1):
        x[n] = low + n * (high - low) / gaps
    x[gaps] = high
    points = gaps + 1
    if degree <= 1:
        return points
    for c in range(readers):
        left = _Q(low, degree, c, line)[1]
        for n in range(gaps):
            right = _Q(x[n + 1], degree, c, line)[1]
            if left < 0.0 < right:
                centre = _bottom_of_Q(x[n], x[n + 1], degree, c, line)
                q, _, bend = _Q(centre, degree, c, line)
                reach = np.sqrt(2.0 * q / bend) if q > 0.0 and bend > 0.0 else 0.0
                if reach < (high - low) / gaps and not _known(centre, reach, gaps + 1, points, x):
                    x[points] = max(centre - reach, low)
                    x[points + 1] = centre
                    x[points + 2] = min(centre + reach, high)
                    points += 3
            left = right
    if points > gaps + 1:
        x[:points].sort()
    return points


@compiled
def _known(centre: float, reach: float, first: int, points: int, x: Array) -> bool:
    """Whether a dip at about the same place and of about the same width has its points already."""
    for n in range(first, points, 3):
        other = x[n + 2] - x[n + 1]
        if abs(centre - x[n + 1]) <= 0.5 * min(reach, other) and other <= 4 * reach <= 16 * other:
            return True
    return False


@compiled
def _Q(x: float, degree: int, c: int, line: Line) -> tuple[float, float, float]:
    """Q of one reader at x, and its first two derivatives."""
    if degree == 2:  # nearly always; written out, it is several times faster
        c1, c2, c3, c4 = line.Q[c, 1], line.Q[c, 2], line.Q[c, 3], line.Q[c, 4]
        q = (((c4 * x + c3) * x + c2) * x + c1) * x + line.Q[c, 0]
        dq = ((4.0 * c4 * x + 3.0 * c3) * x + 2.0 * c2) * x + c1
        ddq = (12.0 * c4 * x + 6.0 * c3) * x + 2.0 * c2
        return q, dq, ddq
    q = dq = ddq = 0.0
    for r in range(2 * degree, -1, -1):
        ddq = ddq * x + 2.0 * dq
        dq = dq * x + q
        q = q * x + line.Q[c, r]
    return q, dq, ddq


@compiled
def _bottom_of_Q(left: float, right: float, degree: int, c: int, line: Line) -> float:
    """A point in (left, right) where one reader's Q turns from falling to rising."""
    x = 0.5 * (left + right)
    for _ in range(NEWTON_STEPS):
        _, dq, ddq = _Q(x, degree, c, line)
        if dq < 0.0:
            left = x
        else:
            right = x
        step = x - dq / ddq if ddq > 0.0 else left
        if not left < step < right:
            step = 0.5 * (left + right)
        if abs(step - x) <= 1e-12:
            return step
        x = step
    return x


@compiled
def _curve(x: float, degree: int, readers: int, line: Line) -> tuple[float, float, float]:
    """F along the knob, its slope and its curvature, at x."""
    y = slope = curvature = 0.0
    for r in range(degree, -1, -1):
        curvature = curvature * x + 2.0 * slope
        slope = slope * x + y
        y = y * x + line.A[r]
    for c in range(readers):
        q, dq, ddq = _Q(x, degree, c, line)
        if q > 0.0:
            root = np.sqrt(q)
            half = line.bonus[c] / (2.0 * root)
            y -= line.bonus[c] * root
            slope -= half * dq
            curvature -= half * (ddq - dq * dq / (2.0 * q))
    return y, slope, curvature


@compiled
def _valley(left: float, right: float, degree: int, readers: int, line: Line) -> float:
    """A point in (left, right) where the slope turns from negative to positive."""
    x = 0.5 * (left + right)
    for _ in range(NEWTON_STEPS):
        _, slope, curvature = _curve(x, degree, readers, line)
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
