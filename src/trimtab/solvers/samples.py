"""Where to look along a knob: evenly spaced points, and both sides of every notch."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array
from trimtab.compiled import inner
from trimtab.solvers.curve import (
    AT_ONCE,
    SAMPLES_PER_DEGREE,
    Line,
    reader,
    take_curves,
    take_heights,
)

NEWTON_STEPS = 60
CENTRED = 0.01  # of its reach: how well the centre of a notch is known


@inner
def look(low: float, high: float, degree: int, readers: int, line: Line) -> int:
    """F and its derivatives at the points to look at, ascending in line.x: so many points.

    Evenly spaced ones, the anchor where leaving it costs something, and three at every
    notch: where a state was played for long, the width of a reader is nearly 0 and grows
    steeply to both sides, over a distance that even spacing would step over.
    """
    even = points = 2 if degree <= 1 else SAMPLES_PER_DEGREE * degree
    _space(low, high, even, line)
    for c in range(readers if degree > 1 else 0):
        points = _notches(c, even, points, degree, line)
    if line.toll[1] > 0.0 and low < line.toll[0] < high:
        line.x[points] = line.toll[0]
        points += 1
    _sort(even, points, line.x)
    padded = points + -points % AT_ONCE
    for n in range(points, padded):
        line.x[n] = high
    take_curves(padded, degree, readers, line)
    return points


@inner
def sample(low: float, high: float, degree: int, readers: int, line: Line) -> int:
    """F at evenly spaced points, without derivatives: so many."""
    points = SAMPLES_PER_DEGREE * max(degree, 1)
    _space(low, high, points, line)
    take_heights(points, degree, readers, line)
    return points


@inner
def _space(low: float, high: float, points: int, line: Line) -> None:
    """Put so many points from end to end."""
    gap = (high - low) / (points - 1)
    for n in range(points - 1):
        line.x[n] = low + n * gap
    line.x[points - 1] = high


@inner
def _notches(c: int, even: int, points: int, degree: int, line: Line) -> int:
    """Add what is to be looked at where a reader's Q dips between even points; so many points."""
    x = line.x
    low, high = x[0], x[even - 1]
    gap = (high - low) / (even - 1)
    if degree == 2 and line.Q[c, 3] == 0.0 and line.Q[c, 4] == 0.0:  # a parabola
        slope, curve = line.Q[c, 1], line.Q[c, 2]
        if curve <= 0.0 or slope + 2.0 * curve * low >= 0.0 or slope + 2.0 * curve * high <= 0.0:
            return points
        centre = -0.5 * slope / curve
        q = line.Q[c, 0] + 0.5 * centre * slope
        if q >= gap * gap * curve:
            return points
        return _add(centre, np.sqrt(max(q, 0.0) / curve), low, high, even, points, x)
    before = reader(low, degree, c, line)[1]
    for n in range(1, even):
        q, after, curve = reader(x[n], degree, c, line)
        if before < 0.0 < after and _narrow(q, after, curve, gap):
            centre, reach = _bottom(x[n - 1], x[n], before, after, degree, c, line)
            if reach < gap:
                points = _add(centre, reach, low, high, even, points, x)
        before = after
    return points


@inner
def _add(
    centre: float, reach: float, low: float, high: float, even: int, points: int, x: Array
) -> int:
    """Add both sides of a notch and its centre, unless they are known; so many points."""
    if not _known(centre, reach, even, points, x):
        x[points] = max(centre - reach, low)
        x[points + 1] = centre
        x[points + 2] = min(centre + reach, high)
        points += 3
    return points


@inner
def _sort(even: int, points: int, x: Array) -> None:
    """Put the points from `even` on where they belong."""
    for n in range(even, points):
        x_n, place = x[n], n
        while place > 0 and x[place - 1] > x_n:
            x[place] = x[place - 1]
            place -= 1
        x[place] = x_n


@inner
def _narrow(q: float, dq: float, ddq: float, gap: float) -> bool:
    """Whether a dip of Q, seen from its right, may be narrower than a few gaps."""
    if ddq <= 0.0:
        return True
    bottom = q - 0.5 * dq * dq / ddq
    return bool(bottom <= 8.0 * ddq * gap * gap)


@inner
def _known(centre: float, reach: float, first: int, points: int, x: Array) -> bool:
    """Whether a dip at about the same place and of about the same width has its points already."""
    for n in range(first, points, 3):
        other = x[n + 2] - x[n + 1]
        if abs(centre - x[n + 1]) <= 0.5 * min(reach, other) and other <= 4 * reach <= 16 * other:
            return True
    return False


@inner
def _bottom(
    left: float, right: float, before: float, after: float, degree: int, c: int, line: Line
) -> tuple[float, float]:
    """Where in (left, right) a reader's Q turns from falling to rising, and how wide its dip is.

    The slopes of Q at both ends are given.
    """
    x = left + (right - left) * before / (before - after)
    reach = 0.0
    for _ in range(NEWTON_STEPS):
        q, dq, ddq = reader(x, degree, c, line)
        if dq < 0.0:
            left = x
        else:
            right = x
        step = x - dq / ddq if ddq > 0.0 else left
        if not left < step < right:
            step = 0.5 * (left + right)
        q -= 0.5 * (x - step) * dq  # about what it will be there
        reach = np.sqrt(2.0 * q / ddq) if q > 0.0 and ddq > 0.0 else 0.0
        off, x = abs(step - x), step
        if off <= CENTRED * reach or off <= 1e-12:
            break
    return x, reach
