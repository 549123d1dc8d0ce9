"""The step along one knob: as good as a dense grid, wherever it is and whatever moving costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import trimtab as tt
from tests.builders import Datum, posterior
from trimtab.arrays import Array
from trimtab.model.domain import BoundBox
from trimtab.solve.bound import Bound

GRID = 4001


class Case(NamedTuple):
    """A bound of one knob, where the knob is, where it starts, and its notches."""

    bound: Bound
    now: float  # moves away from here cost the price
    price: float
    start: float
    notches: list[float]

    def heights(self, x: Array) -> Array:
        """G at many points, by numpy."""
        total = self.price * np.abs(x - self.now)
        features = self.bound.problem.features
        assert isinstance(features, tt.bases.Monomials)
        for i in range(self.bound.problem.criteria):
            R, v = self.bound.factor(i)
            phi = features.arrays.scale[i] * x ** np.arange(v.size)[:, None]
            u = np.linalg.solve(R, phi)
            width = self.bound.radii[i] * np.sqrt((u * u).sum(axis=0))
            total += self.bound.weights[i] * (v @ u - width)
        return np.asarray(total)

    def least(self) -> float:
        """The least height on a grid that is denser at notches and where the knob is."""
        low, high = float(self.box.low[0]), float(self.box.high[0])
        x = [np.linspace(low, high, GRID), np.array([self.now])]
        for centre in [*self.notches, self.now]:
            x += [centre + sign * np.geomspace(1e-9, 1.0, 400) for sign in (-1.0, 1.0)]
        near = np.concatenate(x)
        return float(self.heights(near[(low <= near) & (near <= high)]).min())

    @property
    def box(self) -> BoundBox:
        assert isinstance(self.bound.domain, BoundBox)
        return self.bound.domain

    def step(self) -> tuple[float, float]:
        """Where the core finds the least of one descent, and the value there."""
        assert self.bound.core is not None
        found = self.bound.core.minimise(
            start=np.array([self.start]),
            current=np.array([self.now]),
            price=np.array([self.price]),
            knobs=np.array([0]),
            criteria=self.bound.problem.all_criteria,
            effort=0.0,
            seed=0,
            curved=False,
        )
        assert found is not None
        state, value, _ = found
        return float(state[0]), value


def draw(
    rng: np.random.Generator,
    degree: int,
    *,
    notched: bool,
    priced: bool,
    levels: list[float] | None = None,
) -> Case:
    """Readers of one knob; where notched some have seen one state very often."""
    m = int(rng.integers(1, 6))
    problem = tt.Problem(
        tt.Graph.from_scopes([[0]] * m, knobs=1),
        basis=tt.bases.Quadratic(powers=degree),
        domain=None if levels is None else tt.Box(levels={0: levels}),
        weights=rng.uniform(0.3, 3.0, m),
    )
    places = rng.random(3) if levels is None else rng.choice(levels, 3)
    data = [
        Datum(np.array([x]), rng.normal(size=m), rng.integers(1, 5, m).astype(np.int64))
        for x in places
    ]
    notches = [float(x) for x in rng.random(2)] if notched else []
    for x in notches:
        often = (10.0 ** rng.uniform(1.0, 10.0, m)).astype(np.int64)
        data.append(Datum(np.array([x]), 0.1 * rng.normal(size=m), often))
    radii = rng.exponential(size=m) * 10.0 ** rng.uniform(-2.0, 1.0)
    bound: Bound = posterior(problem, data, reg=rng.uniform(0.01, 1.0, m), radii=radii)
    if levels is None and isinstance(problem.domain, BoundBox):
        low, high = np.sort(rng.random(2))
        bound = bound.within(problem.domain.narrowed(np.array([low]), np.array([high])))
        now = float(rng.choice([low, high, rng.uniform(low, high)]))
    else:
        now = float(rng.choice(levels or [0.0]))
    price = float(rng.exponential()) if priced else 0.0
    return Case(bound, now, price, now, notches)


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("notched", [False, True])
@pytest.mark.parametrize("degree", [2, 3, 6])
def test_a_step_ends_as_low_as_a_dense_grid(degree: int, notched: bool, priced: bool) -> None:
    rng = np.random.default_rng(degree)
    stayed = 0
    for _ in range(150):
        case = draw(rng, degree, notched=notched, priced=priced)
        x, value = case.step()
        here, there = case.heights(np.array([case.now, x]))
        size = abs(here) + abs(there) + float(case.bound.radii.sum())
        assert case.box.low[0] <= x <= case.box.high[0]
        assert there <= case.least() + 1e-7 * size
        assert value == pytest.approx(there, abs=1e-8 * size)
        stayed += x == case.now
    assert 5 <= stayed <= 145


def test_among_levels_the_best_is_found() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        levels = np.unique(rng.random(5))
        case = draw(rng, 2, notched=False, priced=True, levels=levels.tolist())
        assert case.step()[0] == levels[np.argmin(case.heights(levels))]
