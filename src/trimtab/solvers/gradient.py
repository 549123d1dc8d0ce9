"""Local search with gradients, for bases that are not monomials."""

from __future__ import annotations

import warnings

import numpy as np

from trimtab.arrays import Array
from trimtab.bases.custom import CustomFeatures
from trimtab.bases.fourier import Fourier
from trimtab.domain import BoundBox
from trimtab.errors import FiniteDifferences
from trimtab.solvers.part import Part
from trimtab.solvers.solution import Counters, Solution, choose
from trimtab.solvers.starts import mix

GRID = 9  # points tried along each continuous knob before the gradients take over
PER_WAVE = 6  # and at least so many along the shortest wave of a Fourier basis
SAME = 1e-12  # a knob this near to where it is now has not moved


def search(part: Part, domain: BoundBox, starts: int, seed: int) -> Solution:
    """The best of several local searches by the free knobs.

    The first search starts from the present state, the others from random points.
    """
    features, knobs = part.lcb.problem.features, part.knobs
    if isinstance(features, CustomFeatures) and not features.differentiable:
        warnings.warn(
            "the basis function has no jacobian=, so its gradients are finite differences: "
            "slower, and good to about six digits",
            FiniteDifferences,
            stacklevel=2,
        )
    rng = np.random.default_rng(int(mix(np.uint64(seed))))
    local = _Local(part, domain)
    found, values = [part.now[knobs]], [part.value(part.now)]
    for c in range(starts):
        state = part.now.copy()
        if c > 0:
            state[knobs] = domain.sample(rng)[knobs]
        if c % 2 == 0:  # a sweep tends to bring different starts to the same place
            local.sweep(state)
        local.polish(state)
        found.append(state[knobs])
        values.append(part.value(state))
    best = choose(np.array(found), np.array(values), part.now[knobs])
    counters = Counters(steps=local.steps, gradients=local.gradients)
    return Solution(found[best], values[best], None, counters)


class _Local:
    """Local moves of a state, which only ever lower G; and how many there were."""

    def __init__(self, part: Part, domain: BoundBox) -> None:
        self.part, self.domain = part, domain
        self.steps = self.gradients = 0
        self.smooth = np.setdiff1d(part.knobs, domain.leveled)
        features = part.lcb.problem.features
        wave = features.shortest_wave if isinstance(features, Fourier) else np.inf
        width = float((domain.high - domain.low)[part.knobs].max())
        self.grid = max(GRID, int(np.ceil(PER_WAVE * width / wave)) + 1)

    def sweep(self, state: Array) -> None:
        """One pass over the knobs, each set to the best of a few values or of all its levels."""
        part, domain = self.part, self.domain
        for j in part.knobs.tolist():
            levels = domain.levels_of(j)
            if not levels.size:
                levels = np.linspace(domain.low[j], domain.high[j], self.grid)
            trial = np.repeat(state[None], levels.size + 2, axis=0)
            trial[1:-1, j], trial[-1, j] = levels, part.now[j]
            readers = part.lcb.problem.graph.touching(j)
            toll = part.price[j] * np.abs(trial[:, j] - part.now[j])
            height = toll + [part.lcb.value(s, readers) for s in trial]
            state[j] = trial[int(np.argmin(height)), j]
            self.steps += 1

    def polish(self, state: Array) -> None:
        """L-BFGS-B over the continuous knobs.

        A priced knob is x = now + rise - fall with rise, fall >= 0, where its price is smooth
        and staying exactly at `now` is a corner.
        """
        from scipy.optimize import minimize

        part, smooth = self.part, self.smooth
        if smooth.size == 0:
            return
        now, price = part.now[smooth], part.price[smooth]
        low, high = self.domain.low[smooth], self.domain.high[smooth]
        priced = price > 0.0
        trial = state.copy()

        def put(x: Array) -> None:
            rise, fall = x[: smooth.size], x[smooth.size :]
            trial[smooth] = np.where(priced, np.clip(now + rise - fall, low, high), rise)

        def value_and_slope(x: Array) -> tuple[float, Array]:
            put(x)
            self.gradients += 1
            slope = part.lcb.gradient(trial, part.criteria)[smooth]
            value = part.lcb.value(trial, part.criteria)
            toll = float(price @ (x[: smooth.size] + x[smooth.size :]) if priced.any() else 0.0)
            return value + toll, np.concatenate((slope + price, np.where(priced, price - slope, 0)))

        ahead = state[smooth] - now
        begin = np.concatenate(
            (np.where(priced, ahead.clip(min=0.0), state[smooth]), (-ahead * priced).clip(min=0.0))
        )
        bounds = list(
            zip(
                np.concatenate((np.where(priced, 0.0, low), np.zeros(smooth.size))),
                np.concatenate((np.where(priced, high - now, high), (now - low) * priced)),
                strict=True,
            )
        )
        before = part.value(state)
        found = minimize(value_and_slope, begin, jac=True, method="L-BFGS-B", bounds=bounds)
        put(found.x)
        near = priced & (np.abs(trial[smooth] - now) <= SAME)
        trial[smooth[near]] = now[near]
        trial[smooth] = np.clip(trial[smooth], low, high)
        if part.value(trial) < before:
            state[:] = trial
