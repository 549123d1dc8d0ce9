"""The step along one knob: as good as a dense grid, wherever it is and whatever moving costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from trimtab.arrays import Array
from trimtab.solvers.curve import Line, height, new_line
from trimtab.solvers.line import FAR, argmin, elsewhere

NO_LEVELS = np.empty(0)
GRID = 4001


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


def draw(rng: np.random.Generator, degree: int, *, notched: bool, priced: bool) -> Case:
    """Readers with a curved u, and where notched straight ones that vanish somewhere."""
    readers = int(rng.integers(1, 6))
    line = new_line(degree, readers)
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
        line, _, readers, low, high, now, _ = case
        x, gain = argmin(now, low, high, NO_LEVELS, degree, readers, line, 0.0)
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
        line, _, readers, low, high, now, _ = case
        squares = np.maximum([np.polyval(q[::-1], now) for q in line.Q], 0.0)
        width = float(line.bonus @ np.sqrt(squares))
        x, gain = argmin(now, low, high, NO_LEVELS, 2, readers, line, 0.3)
        assert gain > 0.3 * width or (x, gain) == (now, 0.0)
        moved += x != now
    assert moved >= 20


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_elsewhere_is_the_best_of_the_even_points_that_are_far(degree: int) -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        case = draw(rng, degree, notched=False, priced=True)
        line, _, readers, low, high, now, _ = case
        x, up = elsewhere(now, low, high, NO_LEVELS, degree, readers, line)
        even = np.linspace(low, high, 4 * degree)
        far = even[np.abs(even - now) >= FAR * (high - low)]
        assert x == pytest.approx(far[np.argmin(case.heights(far))], abs=1e-12)
        here, there = case.heights(np.array([now, x]))
        assert up == pytest.approx(there - here, abs=1e-9 * (1.0 + abs(here)))
        assert height(x, degree, readers, line) == pytest.approx(there, rel=1e-9)


def test_among_levels_the_best_and_the_next_best_are_found() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        case = draw(rng, 2, notched=False, priced=True)
        line, _, readers, low, high, _, _ = case
        levels = np.sort(rng.uniform(low, high, size=5))
        order = np.argsort(case.heights(levels))
        best, second = levels[order[0]], levels[order[1]]
        assert argmin(levels[2], low, high, levels, 2, readers, line, 0.0)[0] == best
        assert elsewhere(best, low, high, levels, 2, readers, line)[0] == second
