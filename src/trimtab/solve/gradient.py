"""Local search with gradients, for bases that are not monomials."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from trimtab._core import choose
from trimtab.arrays import Array, Ints
from trimtab.errors import FiniteDifferences
from trimtab.model.bases.custom import CustomFeatures
from trimtab.model.domain import BoundBox
from trimtab.solve.solution import Solution
from trimtab.solve.subproblem import Part

GRID = 9  # points tried along each continuous knob before the gradients take over
PER_WAVE = 6  # and at least this number along the shortest wave of a Fourier basis
DIPS = 4  # of a knob's samples, to look at more closely
ROUNDS = 10
SETTLED = 1e-12  # of the size of F: gains below this are none
SAME = 1e-12  # a knob this near to where it is now has not moved


def search(part: Part, domain: BoundBox, starts: int, seed: int) -> Solution:
    """The best of several local searches by the free knobs.

    The first search starts from the present state, the others from random points.
    """
    features, knobs = part.bound.problem.features, part.knobs
    if isinstance(features, CustomFeatures) and not features.differentiable:
        warnings.warn(
            "the basis function has no jacobian=, so its gradients are finite differences: "
            "slower, and good to about six digits",
            FiniteDifferences,
            stacklevel=2,
        )
    rng = np.random.default_rng(seed)
    local = LocalSearch(part, domain)
    found, values = [part.now[knobs]], [part.value(part.now)]
    for c in range(starts):
        state = part.now.copy()
        if c > 0:
            state[knobs] = domain.sample(rng)[knobs]
        if c % 2 == 1:  # a sweep tends to bring different starts to the same place
            local.polish(state)
        local.settle(state)
        found.append(state[knobs])
        values.append(part.value(state))
    best = choose(np.array(found), np.array(values), part.now[knobs])
    return Solution(found[best], values[best], None, local.work)


def along(j: int, state: Array, x: Array) -> Array:
    """The state with these places of knob j in turn: (n, k)."""
    trial = np.repeat(state[None], x.size, axis=0)
    trial[:, j] = x
    return trial


class LocalSearch:
    """Local moves of a state, which only ever lower G; and how many there were."""

    def __init__(self, part: Part, domain: BoundBox) -> None:
        self.part, self.domain = part, domain
        self.work = 0  # sweeps of a knob, and gradients
        self.smooth = np.setdiff1d(part.knobs, domain.leveled)
        features = part.bound.problem.features
        wave = float(getattr(features, "shortest_wave", np.inf))
        width = float((domain.high - domain.low)[part.knobs].max())
        self.grid = max(GRID, int(np.ceil(PER_WAVE * width / wave)) + 1)
        means, widths = part.bound.terms(part.now, part.criteria)
        self.scale = float(np.abs(means).sum() + widths.sum()) or 1.0  # L-BFGS-B has no other

    def settle(self, state: Array) -> None:
        """Sweeps and polishes in turn, until neither lowers G."""
        for _ in range(ROUNDS):
            value = self.part.value(state)
            self.sweep(state)
            self.polish(state)
            if value - self.part.value(state) <= SETTLED * self.scale:
                return

    def sweep(self, state: Array) -> None:
        """One pass over the knobs, each set to the best place found along it."""
        for j in self.part.knobs.tolist():
            state[j] = self._along(j, state)
            self.work += 1

    def _along(self, j: int, state: Array) -> float:
        """The best of a knob's levels; or of samples, and of the parabolas through its dips."""
        domain, now = self.domain, float(self.part.now[j])
        levels = domain.levels_of(j)
        if levels.size:
            return self._best(j, state, np.append(levels, state[j]))[0]
        x = np.linspace(domain.low[j], domain.high[j], self.grid)
        _, y = self._best(j, state, x)
        bend = y[:-2] - 2.0 * y[1:-1] + y[2:]
        dips = np.flatnonzero((y[1:-1] <= y[:-2]) & (y[1:-1] <= y[2:]) & (bend > 0.0))
        dips = dips[np.argsort(y[dips + 1], kind="stable")[:DIPS]]
        bottoms = x[dips + 1] + 0.5 * (y[dips] - y[dips + 2]) / bend[dips] * (x[1] - x[0])
        trial = np.concatenate((x[[int(np.argmin(y))]], bottoms, [now, state[j]]))
        return self._best(j, state, np.clip(trial, domain.low[j], domain.high[j]))[0]

    def _best(self, j: int, state: Array, x: Array) -> tuple[float, Array]:
        """The best of these places of a knob, the last one in a tie, and G at each up to others."""
        part = self.part
        readers = part.bound.problem.graph.touching(j)
        y = part.price[j] * np.abs(x - part.now[j])
        y += [part.bound.value(s, readers) for s in along(j, state, x)]
        return float(x[x.size - 1 - int(np.argmin(y[::-1]))]), y

    def polish(self, state: Array) -> None:
        """All continuous knobs together, down to where the gradient is 0."""
        if self.smooth.size == 0:
            return
        before, trial = self.part.value(state), Coordinates(self.part, self.domain, self.smooth)
        trial.put(self.minimised(trial, trial.of(state)))
        end = trial.rounded(state)
        if self.part.value(end) < before:
            state[:] = end

    def minimised(self, trial: Coordinates, begin: Array) -> Array:
        """The coordinates of a local minimum, by the method of `how`."""
        from scipy.optimize import minimize

        def value_and_slope(x: Array) -> tuple[float, Array]:
            return self.value_and_slope(trial, x)

        how = self.how(trial)
        found = minimize(value_and_slope, begin, jac=True, bounds=trial.bounds, **how)
        return np.asarray(found.x)

    def how(self, trial: Coordinates) -> dict[str, Any]:
        """Options of SciPy's `minimize`, in these coordinates."""
        return {"method": "L-BFGS-B", "options": {"ftol": 1e-15, "gtol": 1e-10}}

    def value_and_slope(self, trial: Coordinates, x: Array) -> tuple[float, Array]:
        """G and its derivatives by the coordinates, in units of its scale."""
        part, state = self.part, trial.put(x)
        self.work += 1
        slopes = trial.spread(part.bound.gradient(state, part.criteria)) + trial.price
        value = part.bound.value(state, part.criteria) + float(trial.price @ x)
        return value / self.scale, slopes / self.scale


class Coordinates:
    """Continuous knobs as coordinates in which the price of moving is smooth.

    A priced knob is now + rise - fall with rise, fall >= 0, so that staying exactly at `now` is
    a corner. A knob without a price is its own rise.
    """

    def __init__(self, part: Part, domain: BoundBox, knobs: Ints) -> None:
        self.knobs, self.now, self._state = knobs, part.now[knobs], part.now.copy()
        self.low, self.high = domain.low[knobs], domain.high[knobs]
        price = part.price[knobs]
        self.priced = price > 0.0
        self.price = np.concatenate((price, price))
        now, priced = self.now, self.priced
        lows = np.concatenate((np.where(priced, 0.0, self.low), np.zeros(knobs.size)))
        highs = np.concatenate(
            (np.where(priced, self.high - now, self.high), (now - self.low) * priced)
        )
        self.bounds = list(zip(lows, highs, strict=True))

    def of(self, state: Array) -> Array:
        """The coordinates of a state, whose other knobs stay."""
        self._state[:] = state
        ahead = state[self.knobs] - self.now
        rise = np.where(self.priced, ahead.clip(min=0.0), state[self.knobs])
        return np.concatenate((rise, (-ahead * self.priced).clip(min=0.0)))

    def put(self, x: Array) -> Array:
        """The state of these coordinates, (k,); the array is used again."""
        rise, fall = x[: self.knobs.size], x[self.knobs.size :]
        there = np.where(self.priced, np.clip(self.now + rise - fall, self.low, self.high), rise)
        self._state[self.knobs] = there
        return self._state

    def spread(self, slope: Array) -> Array:
        """Derivatives by the coordinates, of those by the knobs: (k,)."""
        mine = slope[self.knobs]
        return np.concatenate((mine, np.where(self.priced, -mine, 0.0)))

    def rounded(self, state: Array) -> Array:
        """The state last put, inside the domain, knobs that have hardly moved put back."""
        end = state.copy()
        there = np.clip(self._state[self.knobs], self.low, self.high)
        near = self.priced & (np.abs(there - self.now) <= SAME)
        end[self.knobs] = np.where(near, self.now, there)
        return end
