"""The best state of a loss of which nothing is known but its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from trimtab.arrays import Array
from trimtab.model.domain import BoundBox, BoundDomain
from trimtab.solve import Solution

ENUMERATED = 20_000  # states at most that are tried one by one
SAMPLES = 500
DESCENTS = 12  # from the best samples
STEPS = 0.25 * 0.5 ** np.arange(26)  # of a descent, in units of the range of a knob
SWEEPS = 100  # at most, with one length of step
AGREED = 1e-6  # of the spread of the samples: descents this close ended at the same loss


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """What a search has found, and how much speaks for it."""

    solution: Solution  # certified, with gap 0, where all states were tried
    descents: int
    agreed: int  # descents that ended at the loss found; 1 speaks for more of them


def search(loss: Callable[[Array], float], domain: BoundDomain, *, seed: int = 0) -> Found:
    """The best state found: all of them where they are few, or descents from the best samples.

    >>> import trimtab as tt
    >>> box = tt.Box().bind(2)
    >>> found = search(lambda s: float(np.abs(s - 0.3).sum()), box)
    >>> found.solution.state.round(6), found.agreed == found.descents
    (array([0.3, 0.3]), True)
    >>> levels = tt.Box(levels=[(0.0, 0.5, 1.0), (0.0, 1.0)]).bind(2)
    >>> search(lambda s: float(s[0] - s[1]), levels).solution.gap
    0.0

    Args:
        loss: of a state.
        domain: of the states.
        seed: of the samples.
    """
    listed = _listed(domain)
    if listed is not None:
        values = [loss(state) for state in listed]
        n = int(np.argmin(values))
        exact = Solution(state=listed[n], value=values[n], lower_bound=values[n])
        return Found(solution=exact, descents=0, agreed=0)
    rng = np.random.default_rng(seed)
    states = [domain.anchor, *(domain.sample(rng) for _ in range(SAMPLES))]
    values = [loss(state) for state in states]
    order = np.argsort(values, kind="stable")[:DESCENTS]
    ends = [_descend(loss, domain, states[n], values[n]) for n in order]
    state, value = _polished(loss, domain, *min(ends, key=lambda end: end[1]))
    near = AGREED * (max(values) - value) + 1e-12 * (1.0 + abs(value))
    agreed = sum(end <= value + near for _, end in ends)
    solution = Solution(state=state, value=value, lower_bound=None)
    return Found(solution=solution, descents=len(ends), agreed=agreed)


def _listed(domain: BoundDomain) -> list[Array] | None:
    """All states, if there are finitely and not too many."""
    if not isinstance(domain, BoundBox) or domain.leveled.size < domain.knobs:
        return None
    levels = [domain.levels_of(j) for j in range(domain.knobs)]
    if prod(each.size for each in levels) > ENUMERATED:
        return None
    return [np.array(values) for values in product(*levels)]


def _descend(
    loss: Callable[[Array], float], domain: BoundDomain, state: Array, value: float
) -> tuple[Array, float]:
    """Hooke and Jeeves: sweeps over the knobs, then as far again in the direction they went."""
    for step in STEPS:
        for _ in range(SWEEPS):
            before = state
            state, value = _swept(loss, domain, state, value, float(step))
            if state is before:
                break
            beyond = domain.project(2.0 * state - before)
            further, found = _swept(loss, domain, beyond, loss(beyond), float(step))
            if found < value:
                state, value = further, found
    return state, value


def _swept(
    loss: Callable[[Array], float], domain: BoundDomain, state: Array, value: float, step: float
) -> tuple[Array, float]:
    """One knob after the other a step up or down, or to another level, where that is better."""
    for j in range(domain.knobs):
        for x in _trials(domain, state, j, step):
            trial = state.copy()
            trial[j] = x
            trial = domain.project(trial)
            if not np.array_equal(trial, state) and (found := loss(trial)) < value:
                state, value = trial, found
    return state, value


def _polished(
    loss: Callable[[Array], float], domain: BoundDomain, state: Array, value: float
) -> tuple[Array, float]:
    """The same by quasi-Newton steps, which follow narrow valleys; on boxes without levels."""
    from scipy.optimize import minimize

    if not isinstance(domain, BoundBox) or domain.leveled.size:
        return state, value
    ends = list(zip(domain.low, domain.high, strict=True))
    found = domain.project(minimize(loss, state, method="L-BFGS-B", bounds=ends).x)
    return min(((state, value), (found, loss(found))), key=lambda end: end[1])


def _trials(domain: BoundDomain, state: Array, j: int, step: float) -> list[float]:
    if isinstance(domain, BoundBox) and (levels := domain.levels_of(j)).size:
        return [float(x) for x in levels if x != state[j]]
    wide = step * float(domain.high[j] - domain.low[j])
    return [state[j] - wide, state[j] + wide]
