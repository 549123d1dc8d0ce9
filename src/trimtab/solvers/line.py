r"""The exact one-dimensional step: the least value of G along one knob.

Along a knob x, every other knob fixed,

    G(x) = A(x) - sum_i a_i sqrt(Q_i(x)) + price |x - anchor|,

a polynomial minus roots of polynomials of twice its degree, one for each criterion that
reads the knob, and what moving the knob away from its anchor costs. Its minimum on an
interval is looked for at the ends, at the anchor, at sample points, among them both
sides of every narrow dip of a Q, and by a safeguarded Newton iteration wherever the slope
turns from falling to rising, also where it does so twice between two samples. For
features linear in x, F is concave: the ends and the anchor suffice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array
from trimtab.compiled import Structure, bare, inner

SAMPLES_PER_DEGREE = 4  # a gap between samples for every half power of Q
NEWTON_STEPS = 60
TURN_STEPS = 8
SHARE = 1e-3  # of the least gain that counts: smaller errors do not matter
FAR = 0.2  # of the interval: what counts as another place than the present one


@dataclass(frozen=True, kw_only=True, eq=False)
class Line(Structure):
    """G along a knob, and room for the points to look at."""

    A: Array  # (degree + 1,)
    Q: Array  # (most readers of a knob, 2 degree + 1)
    bonus: Array  # (most readers of a knob,) a_i
    toll: Array  # (2,) anchor and price
    falls: Array  # (most readers of a knob,) the slope of each Q at the sample before
    x: Array
    y: Array  # F at x
    slope: Array
    bend: Array


def new_line(degree: int, readers: int) -> Line:
    """Room for a line of this degree with so many readers."""
    most = SAMPLES_PER_DEGREE * max(degree, 1) + 2 + 3 * degree * readers
    return Line(
        A=np.empty(degree + 1),
        Q=np.empty((readers, 2 * degree + 1)),
        bonus=np.empty(readers),
        toll=np.zeros(2),
        falls=np.empty(readers),
        x=np.empty(most),
        y=np.empty(most),
        slope=np.empty(most),
        bend=np.empty(most),
    )


@inner
def scale_of(degree: int, readers: int, line: Line) -> float:
    """A size that no value of F along the knob exceeds; 0 only where F is 0 everywhere."""
    size = 0.0
    for r in range(degree + 1):
        size += abs(line.A[r])
    for c in range(readers):
        q = 0.0
        for r in range(2 * degree + 1):
            q += abs(line.Q[c, r])
        size += line.bonus[c] * np.sqrt(q)
    return size


@inner
def width_of(x: float, degree: int, readers: int, line: Line) -> float:
    """The width of all readers at x."""
    size = 0.0
    for c in range(readers):
        q = 0.0
        for r in range(2 * degree, -1, -1):
            q = q * x + line.Q[c, r]
        size += line.bonus[c] * np.sqrt(max(q, 0.0))
    return size


@bare
def argmin(
    now: float,
    low: float,
    high: float,
    levels: Array,
    degree: int,
    readers: int,
    line: Line,
    least_gain: float,
) -> tuple[float, float]:
    """Where G is least on [low, high] or among the levels, and what is gained over `now`.

    It is `now` unless another place is better by more than `least_gain`. `readers`
    criteria of at most this degree take part; `levels` is empty for an interval.
    """
    at = height(now, degree, readers, line)
    best, x_best = at - least_gain, now
    if levels.size > 0:
        for level in levels:
            y = height(level, degree, readers, line)
            if y < best:
                best, x_best = y, level
        return x_best, (at - best if x_best != now else 0.0)
    points = _look(low, high, degree, readers, line)
    anchor, price = line.toll[0], line.toll[1]
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
            middle = _curve(turn, degree, readers, line)[1] + pull
            if after < 0.0 < middle:
                right = turn
            elif middle < 0.0 < after:
                left = turn
            else:
                continue
        elif not before < 0.0 < after:
            continue
        start = now if left < now < right else 0.5 * (left + right)
        z = _valley(left, right, start, pull, degree, readers, line, SHARE * least_gain)
        y = height(z, degree, readers, line)
        if y < best:
            best, x_best = y, z
    return x_best, (at - best if x_best != now else 0.0)


@bare
def elsewhere(
    now: float, low: float, high: float, levels: Array, degree: int, readers: int, line: Line
) -> float:
    """The best sample that is far from `now`, or `now` where there is no other."""
    best, x_best = np.inf, now
    gaps = levels.size - 1 if levels.size > 0 else SAMPLES_PER_DEGREE * max(degree, 1)
    for n in range(gaps + 1):
        x = levels[n] if levels.size > 0 else low + n * (high - low) / gaps
        if x != now and (levels.size > 0 or abs(x - now) >= FAR * (high - low)):
            y = height(x, degree, readers, line)
            if y < best:
                best, x_best = y, x
    return x_best


@inner
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


@inner
def _look(low: float, high: float, degree: int, readers: int, line: Line) -> int:
    """F and its derivatives at the points to look at, ascending in line.x: so many points.

    Evenly spaced ones, the anchor where leaving it costs something, and three at every
    notch: where a state was played for long, the width of a reader is nearly 0 and grows
    steeply to both sides, over a distance that even spacing would step over.
    """
    gaps = 1 if degree <= 1 else SAMPLES_PER_DEGREE * degree
    gap = (high - low) / gaps
    points = gaps + 1
    x = line.x
    for n in range(gaps + 1):
        x[n] = high if n == gaps else low + n * gap
        y = slope = bend = 0.0
        for r in range(degree, -1, -1):
            bend = bend * x[n] + 2.0 * slope
            slope = slope * x[n] + y
            y = y * x[n] + line.A[r]
        for c in range(readers):
            q, dq, ddq = _Q(x[n], degree, c, line)
            if n > 0 and line.falls[c] < 0.0 < dq and _narrow(q, dq, ddq, gap):
                centre = _bottom_of_Q(x[n - 1], x[n], degree, c, line)
                q_least, _, curve = _Q(centre, degree, c, line)
                reach = np.sqrt(2.0 * q_least / curve) if q_least > 0.0 and curve > 0.0 else 0.0
                if reach < gap and not _known(centre, reach, gaps + 1, points, x):
                    x[points] = max(centre - reach, low)
                    x[points + 1] = centre
                    x[points + 2] = min(centre + reach, high)
                    points += 3
            line.falls[c] = dq
            if q > 0.0:
                root = np.sqrt(q)
                share = 0.5 * line.bonus[c] / root
                y -= line.bonus[c] * root
                slope -= share * dq
                bend -= share * (ddq - 0.5 * dq * dq / q)
        line.y[n], line.slope[n], line.bend[n] = y, slope, bend
    if line.toll[1] > 0.0 and low < line.toll[0] < high:
        x[points] = line.toll[0]
        points += 1
    for n in range(gaps + 1, points):
        at = x[n]
        y, slope, bend = _curve(at, degree, readers, line)
        place = n
        while place > 0 and x[place - 1] > at:
            x[place] = x[place - 1]
            line.y[place] = line.y[place - 1]
            line.slope[place], line.bend[place] = line.slope[place - 1], line.bend[place - 1]
            place -= 1
        x[place] = at
        line.y[place], line.slope[place], line.bend[place] = y, slope, bend
    return points


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


@inner
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


@bare
def height(x: float, degree: int, readers: int, line: Line) -> float:
    """G along the knob at x."""
    y = 0.0
    for r in range(degree, -1, -1):
        y = y * x + line.A[r]
    for c in range(readers):
        q = 0.0
        for r in range(2 * degree, -1, -1):
            q = q * x + line.Q[c, r]
        if q > 0.0:
            y -= line.bonus[c] * np.sqrt(q)
    return float(y + line.toll[1] * abs(x - line.toll[0]))


@inner
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
) -> float:
    """A point in (left, right) where the slope, `pull` added, turns from negative to positive.

    Newton's method from x ends with the step that is to gain no more than `settled`.
    """
    for _ in range(NEWTON_STEPS):
        _, slope, curvature = _curve(x, degree, readers, line)
        slope += pull
        if slope < 0.0:
            left = x
        else:
            right = x
        step = x - slope / curvature if curvature > 0.0 else left
        if not left < step < right:
            step = 0.5 * (left + right)
        elif slope * slope <= 2.0 * settled * curvature:
            return step
        if abs(step - x) <= 1e-15 + 1e-12 * abs(x):
            return step
        x = step
    return x
