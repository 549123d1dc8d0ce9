"""A system given by what its losses are, whatever basis would fit them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trimtab.arrays import Array
from trimtab.model.problem import Problem
from trimtab.sim.worlds.noise import Noise
from trimtab.solve import Solution

SEARCH, KEPT, SHRINK, LEAST = 8192, 16, 0.7, 1e-4  # of the search for the best state


@dataclass(frozen=True, eq=False)
class Surface:
    """Losses that are a function of the state, and noise. No basis needs to fit them.

    Args:
        problem: the graph, the prices, and the basis that policies are told.
        means: the expected losses (n, m) at states (n, k).
        noise: what is added to every loss.
    """

    problem: Problem
    means: Callable[[Array], Array]
    noise: Noise

    def mean(self, state: Array) -> Array:
        """The expected loss of each criterion: (m,)."""
        return np.asarray(self.means(state[None])[0])

    def loss(self, state: Array) -> float:
        """The expected total loss, weights included."""
        return float(self.problem.weights @ self.mean(state))

    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        """The losses observed in round t: (m,)."""
        return np.asarray(self.mean(state) + self.noise.draw(rng, self.problem.graph, t))

    def at(self, t: int) -> tuple[Surface, int | None]:
        """It never changes."""
        return self, None

    @cached_property
    def optimum(self) -> Solution:
        """The best state that a search finds."""
        return searched(self.problem, self.means)


def searched(problem: Problem, means: Callable[[Array], Array]) -> Solution:
    """The best of many random states, after ever smaller random steps from the best of them."""
    rng, domain = np.random.default_rng(0), problem.domain

    def totals(states: Array) -> Array:
        return np.asarray(means(states) @ problem.weights)

    states = np.array([domain.sample(rng) for _ in range(SEARCH)])
    step = 0.3
    while step > LEAST:
        best = states[np.argsort(totals(states), kind="stable")[:KEPT]]
        steps = step * rng.standard_normal((KEPT, KEPT, problem.knobs))
        steps *= rng.random(steps.shape) < 0.5  # some knobs stay
        near = (best[:, None] + steps).reshape(-1, problem.knobs)
        states = np.concatenate((best, [domain.project(state) for state in near]))
        step *= SHRINK
    values = totals(states)
    place = int(np.argmin(values))
    return Solution(state=states[place], value=float(values[place]), lower_bound=None)
