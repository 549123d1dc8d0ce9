"""Local search with gradients, for bases that are not monomials."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.domain import BoundBox
from trimtab.lcb import LCB
from trimtab.solvers.solution import choose
from trimtab.solvers.starts import mix

GRID = 9  # points tried along each continuous knob before the gradients take over


def search(
    lcb: LCB, domain: BoundBox, current: Array, knobs: Ints, criteria: Ints, starts: int, seed: int
) -> tuple[Array, float]:
    """The best of several local searches by the free knobs: their values, and F there.

    `criteria` are all those that read a free knob. The first search starts from the
    current state, the others from random points.
    """
    rng = np.random.default_rng(int(mix(np.uint64(seed))))
    found, values = [current[knobs]], [lcb.value(current, criteria)]
    for c in range(starts):
        state = current.copy()
        if c > 0:
            state[knobs] = domain.sample(rng)[knobs]
        if c % 2 == 0:  # a sweep tends to bring different starts to the same place
            _sweep(lcb, domain, state, knobs, criteria)
        _polish(lcb, domain, state, knobs, criteria)
        found.append(state[knobs])
        values.append(lcb.value(state, criteria))
    best = choose(np.array(found), np.array(values), current[knobs])
    return found[best], values[best]


def _sweep(lcb: LCB, domain: BoundBox, state: Array, knobs: Ints, criteria: Ints) -> None:
    """One pass over the knobs, each set to the best of a few values or of all its levels."""
    for j in knobs.tolist():
        levels = domain.levels_of(j)
        trial = np.repeat(state[None], (levels.size or GRID) + 1, axis=0)
        trial[1:, j] = levels if levels.size else np.linspace(domain.low[j], domain.high[j], GRID)
        state[j] = trial[int(np.argmin([lcb.value(s, criteria) for s in trial])), j]


def _polish(lcb: LCB, domain: BoundBox, state: Array, knobs: Ints, criteria: Ints) -> None:
    """L-BFGS-B over the continuous knobs; the state changes only for the better."""
    from scipy.optimize import Bounds, minimize

    free = np.setdiff1d(knobs, domain.leveled)
    if free.size == 0:
        return
    trial = state.copy()

    def value_and_slope(x: Array) -> tuple[float, Array]:
        trial[free] = x
        return lcb.value(trial, criteria), lcb.gradient(trial, criteria)[free]

    before = lcb.value(state, criteria)
    bounds = Bounds(domain.low[free], domain.high[free])
    found = minimize(value_and_slope, state[free], jac=True, method="L-BFGS-B", bounds=bounds)
    if found.fun < before:
        state[free] = np.clip(found.x, domain.low[free], domain.high[free])
