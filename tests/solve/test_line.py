"""The step along one knob: as good as a dense grid, wherever it is and whatever moving costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from trimtab._core import line_minimum
from trimtab.arrays import Array

NO_LEVELS = np.empty(0)
GRID = 4001


class Line(NamedTuple):
    """A(x) - bonus.sqrt(Q(x)) + price |x - anchor|, the coefficients from the lowest power on."""

    A: Array  # (degree + 1,)
    Q: Array  # (readers, 2 degree + 1)
    bonus: Array  # (readers,)
    toll: Array  # (2,) anchor and price


class Case(NamedTuple):
    """A line, its interval, where the knob is, and where roots have their notches."""

    line: Line
    degree: int
    readers: int
    low: float
    high: float
    now: float
    notches: list[float]

    def heights(self, x: Array) -> Array:
        """G at many points, by numpy."""
        A, Q, a = self.line.A, self.line.Q[: self.readers], self.line.bonus[: self.readers]
        squares = np.array([np.polyval(q[::-1], x) for q in Q])
        anchor, price = self.line.toll
        roots = np.sqrt(np.maximum(squares, 0.0))
        return np.asarray(np.polyval(A[::-1], x) - a @ roots + price * np.abs(x - anchor))

    def least(self) -> float:
        """The least height on a grid that is denser at notches and at the anchor."""
        x = [np.linspace(self.low, self.high, GRID)]
        for centre in [*self.notches, self.line.toll[0]]:
            x += [centre + sign * np.geomspace(1e-9, 1.0, 400) for sign in (-1.0, 1.0)]
        near = np.concatenate([*x, [self.line.toll[0]]])
        near = near[(self.low <= near) & (near <= self.high)]
        return float(self.heights(near).min())


def argmin(case: Case, *, levels: Array = NO_LEVELS, coarse: float = 0.0) -> tuple[float, float]:
    """Where the core finds the least, and what it says is gained."""
    line = case.line
    anchor, price = (float(x) for x in line.toll)
    return line_minimum(
        line.A, line.Q, line.bonus, anchor, price, case.now, case.low, case.high, levels, coarse
    )


def draw(rng: np.random.Generator, degree: int, *, notched: bool, priced: bool) -> Case:
    """Readers with a curved u, and where notched straight ones that vanish somewhere."""
    readers = int(rng.integers(1, 6))
    line = Line(
        np.empty(degree + 1), np.empty((readers, 2 * degree + 1)), np.empty(readers), np.empty(2)
    )
    low, high = np.sort(rng.uniform(-1.0, 2.0, size=2))
    line.A[:] = rng.normal(size=degree + 1)
    line.Q[:] = 0.0
    line.bonus[:] = rng.exponential(size=readers) * 10.0 ** rng.uniform(-2.0, 1.0)
    notches = []
    for c in range(readers):
        u = rng.normal(size=(degree + 1, 6))
        if notched and c % 2 == 0:
            u[2:] = 0.0
            notches.append(float(rng.uniform(low, high)))
            u[0] = -notches[-1] * u[1] + 10.0 ** rng.uniform(-9.0, -1.0) * rng.normal(size=6)
        for r in range(degree + 1):
            for t in range(degree + 1):
                line.Q[c, r + t] += u[r] @ u[t]
    if notched:  # a bowl about a notch: one valley on each side of it
        line.A[:3] += rng.exponential() * np.array([notches[0] ** 2, -2.0 * notches[0], 1.0])
    now = float(rng.choice([low, high, rng.uniform(low, high)]))
    line.toll[:] = 0.0
    if priced:
        line.toll[:] = rng.choice([now, rng.uniform(low, high)]), rng.exponential()
    return Case(line, degree, readers, float(low), float(high), now, notches)


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("notched", [False, True])
@pytest.mark.parametrize("degree", [2, 3])
def test_a_step_ends_as_low_as_a_dense_grid(degree: int, notched: bool, priced: bool) -> None:
    rng = np.random.default_rng(degree)
    stayed = 0
    for _ in range(600):
        case = draw(rng, degree, notched=notched, priced=priced)
        line, _, _, low, high, now, _ = case
        x, gain = argmin(case)
        here, there = case.heights(np.array([now, x]))
        size = np.abs(line.A).sum() + line.bonus.sum() + abs(here)
        assert low <= x <= high
        assert there <= case.least() + 1e-7 * size
        assert gain == pytest.approx(here - there, abs=1e-9 * size)
        stayed += x == now
    assert 50 <= stayed <= 550


def test_gains_below_a_share_of_the_width_are_left_alone() -> None:
    rng = np.random.default_rng(4)
    moved = 0
    for _ in range(200):
        case = draw(rng, 2, notched=False, priced=False)
        line, now = case.line, case.now
        squares = np.maximum([np.polyval(q[::-1], now) for q in line.Q], 0.0)
        width = float(line.bonus @ np.sqrt(squares))
        x, gain = argmin(case, coarse=0.3)
        assert gain > 0.3 * width or (x, gain) == (now, 0.0)
        moved += x != now
    assert moved >= 20


def test_among_levels_the_best_is_found() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        case = draw(rng, 2, notched=False, priced=True)
        levels = np.sort(rng.uniform(case.low, case.high, size=5))
        best = levels[np.argmin(case.heights(levels))]
        assert argmin(case._replace(now=float(levels[2])), levels=levels)[0] == best
