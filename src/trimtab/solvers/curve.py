r"""G along one knob, every other knob fixed.

Along a knob x,

    G(x) = A(x) - sum_i a_i sqrt(Q_i(x)) + price |x - anchor|,

a polynomial minus roots of polynomials of twice its degree, one for each criterion that
reads the knob, and what moving the knob away from its anchor costs. F is G without the price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array
from trimtab.compiled import Structure, bare, inner

Quartic = tuple[float, float, float, float, float]
SAMPLES_PER_DEGREE = 4  # evenly spaced
AT_ONCE = 4  # points that processors do together


@dataclass(frozen=True, kw_only=True, eq=False)
class Line(Structure):
    """G along a knob, and room for the points to look at."""

    A: Array  # (degree + 1,)
    Q: Array  # (most readers of a knob, 2 degree + 1)
    bonus: Array  # (most readers of a knob,) a_i
    toll: Array  # (2,) anchor and price
    x: Array  # the points
    y: Array  # F there
    slope: Array
    bend: Array


def new_line(degree: int, readers: int) -> Line:
    """Room for a line of this degree with so many readers."""
    most = SAMPLES_PER_DEGREE * max(degree, 1) + 1 + 3 * degree * readers + AT_ONCE
    return Line(
        A=np.empty(degree + 1),
        Q=np.empty((readers, 2 * degree + 1)),
        bonus=np.empty(readers),
        toll=np.zeros(2),
        x=np.empty(most),
        y=np.empty(most),
        slope=np.empty(most),
        bend=np.empty(most),
    )


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
def height(x: float, degree: int, readers: int, line: Line) -> float:
    """G along the knob at x."""
    y = 0.0
    for r in range(degree, -1, -1):
        y = y * x + line.A[r]
    return float(y - width_of(x, degree, readers, line) + line.toll[1] * abs(x - line.toll[0]))


@inner
def curve(x: float, degree: int, readers: int, line: Line) -> tuple[float, float, float]:
    """F along the knob, its slope and its bend, at x."""
    y, slope, bend = mean(x, degree, line)
    for c in range(readers):
        q, dq, ddq = reader(x, degree, c, line)
        width, d_width, dd_width = _root(line.bonus[c], q, dq, ddq)
        y -= width
        slope -= d_width
        bend -= dd_width
    return y, slope, bend


@inner
def mean(x: float, degree: int, line: Line) -> tuple[float, float, float]:
    """A at x, and its first two derivatives."""
    y = slope = bend = 0.0
    for r in range(degree, -1, -1):
        bend = bend * x + 2.0 * slope
        slope = slope * x + y
        y = y * x + line.A[r]
    return y, slope, bend


@inner
def reader(x: float, degree: int, c: int, line: Line) -> tuple[float, float, float]:
    """Q of one reader at x, and its first two derivatives."""
    if degree == 2:  # nearly always; written out, it is several times faster
        return quartic(x, coefficients(c, line))
    q = dq = ddq = 0.0
    for r in range(2 * degree, -1, -1):
        ddq = ddq * x + 2.0 * dq
        dq = dq * x + q
        q = q * x + line.Q[c, r]
    return q, dq, ddq


@inner
def take_heights(points: int, degree: int, readers: int, line: Line) -> None:
    """F at the first points.

    Points are done side by side, here and below, so that processors do several at once.
    """
    x, y = line.x[:points], line.y[:points]
    for n in range(points):
        y[n] = mean(x[n], degree, line)[0]
    for c in range(readers):
        a = line.bonus[c]
        if degree == 2:
            Q = coefficients(c, line)
            for n in range(points):
                y[n] -= a * np.sqrt(max(quartic(x[n], Q)[0], 0.0))
        else:
            for n in range(points):
                y[n] -= a * np.sqrt(max(reader(x[n], degree, c, line)[0], 0.0))


@inner
def take_curves(points: int, degree: int, readers: int, line: Line) -> None:
    """F and its derivatives at the first points."""
    if degree != 2:
        for n in range(points):
            line.y[n], line.slope[n], line.bend[n] = curve(line.x[n], degree, readers, line)
        return
    x, y, slope, bend = line.x[:points], line.y[:points], line.slope[:points], line.bend[:points]
    a0, a1, a2 = line.A[0], line.A[1], line.A[2]
    for n in range(x.size):
        y[n] = (a2 * x[n] + a1) * x[n] + a0
        slope[n] = 2.0 * a2 * x[n] + a1
        bend[n] = 2.0 * a2
    for c in range(readers):
        a, Q = line.bonus[c], coefficients(c, line)
        for n in range(x.size):
            q, dq, ddq = quartic(x[n], Q)
            width, d_width, dd_width = _root(a, q, dq, ddq)
            y[n] -= width
            slope[n] -= d_width
            bend[n] -= dd_width


@inner
def coefficients(c: int, line: Line) -> Quartic:
    """Those of one reader's Q, of degree 4."""
    Q = line.Q[c]
    return Q[0], Q[1], Q[2], Q[3], Q[4]


@inner
def quartic(x: float, Q: Quartic) -> tuple[float, float, float]:
    """Q at x, and its first two derivatives."""
    c0, c1, c2, c3, c4 = Q
    q = (((c4 * x + c3) * x + c2) * x + c1) * x + c0
    dq = ((4.0 * c4 * x + 3.0 * c3) * x + 2.0 * c2) * x + c1
    ddq = (12.0 * c4 * x + 6.0 * c3) * x + 2.0 * c2
    return q, dq, ddq


@inner
def _root(a: float, q: float, dq: float, ddq: float) -> tuple[float, float, float]:
    """a sqrt(Q), and its first two derivatives; 0 where Q is, or would be but for rounding."""
    there = a if q > 0.0 else 0.0
    root = np.sqrt(q if q > 0.0 else 1.0)
    part = 1.0 / root
    half = 0.5 * there * part
    fall = dq * part
    return there * root, half * dq, half * (ddq - 0.5 * fall * fall)
