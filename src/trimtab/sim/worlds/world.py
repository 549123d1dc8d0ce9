"""A simulated system: what the losses would be, at any state."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, number, read_only, vector
from trimtab.errors import InvalidInput
from trimtab.model.bases.features import spans
from trimtab.model.problem import Problem
from trimtab.sim.worlds.noise import Noise, Recorded
from trimtab.solve import Bound, Solution, solve

OPTIMUM_EFFORT = 4.0


class World:
    """A system whose expected losses are linear in the problem's features, Eq. (1).

    >>> import trimtab as tt
    >>> world = tt.worlds.linear(tt.Graph.complete(3), seed=1)
    >>> rng = np.random.default_rng(0)
    >>> world.draw(np.full(3, 0.5), rng).shape
    (3,)

    Args:
        problem: gives the features.
        theta: the true parameter of each criterion.
        noise: what is added to every loss.
        missing: the probability that a criterion's loss is not observed in a round.
    """

    def __init__(
        self, problem: Problem, *, theta: Sequence[ArrayLike], noise: Noise, missing: float = 0.0
    ) -> None:
        if len(theta) != problem.criteria:
            raise InvalidInput(
                f"theta has {len(theta)} parts, expected {problem.criteria}; one per criterion"
            )
        parts = [
            vector(part, int(d), f"theta[{i}]", "feature")
            for i, (part, d) in enumerate(zip(theta, problem.dims, strict=True))
        ]
        if not hasattr(noise, "draw"):
            raise InvalidInput(f"noise = {noise!r}; say which, for example Gaussian({noise!r})")
        self.problem, self.noise = problem, noise
        self.theta: Array = read_only(np.concatenate(parts))
        self.missing = number(missing, "missing", low=0.0, strict=False, high=1.0)
        self.noise.scales(problem.graph)  # refuses scales that do not fit
        self._drawn: tuple[tuple[tuple[int, ...], bytes], Array] = ((), b""), np.empty(0)
        if self.missing and isinstance(noise, Recorded):
            raise InvalidInput("missing with Recorded noise; put NaN into its table instead")

    def mean(self, state: Array, criteria: Ints | None = None) -> Array:
        """The expected loss of each criterion, or of those asked for."""
        if state.shape != (self.problem.knobs,):
            raise InvalidInput(
                f"state has shape {state.shape}, expected ({self.problem.knobs},); "
                "give one value per knob"
            )
        asked = self.problem.all_criteria if criteria is None else criteria
        phi = np.empty(self.theta.size)
        self.problem.features.fill(phi, state, asked)
        dims = self.problem.dims[asked]
        mine = spans(self.problem.features.offsets[asked], dims)
        owner = np.repeat(np.arange(asked.size), dims)
        terms = phi[mine] * self.theta[mine]
        return np.asarray(np.bincount(owner, terms, asked.size), np.float64)

    def loss(self, state: Array) -> float:
        """The expected total loss L(s), weights included."""
        return float(self.problem.weights @ self.mean(state))

    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        """The losses observed in round t, NaN where one is missing: (m,)."""
        key = state.shape, state.tobytes()
        if key != self._drawn[0]:  # a state is played for many rounds
            self._drawn = key, self.mean(state)
        losses = self._drawn[1] + self.noise.draw(rng, self.problem.graph, t)
        if self.missing:
            losses[rng.random(losses.size) < self.missing] = np.nan
        return losses

    def at(self, t: int) -> tuple[World, int | None]:
        """The world as it is in round t, and the last round in which it will be so, if any."""
        return self, None

    @property
    def norms(self) -> Array:
        """The length of each criterion's parameter, what `Confidence` calls norm: (m,)."""
        starts = self.problem.features.offsets[:-1]
        return np.asarray(np.sqrt(np.add.reduceat(self.theta**2, starts)))

    @cached_property
    def optimum(self) -> Solution:
        """The best fixed state, by the policies' own solver with nothing left to explore."""
        known = Bound.of_parameters(self.problem, self.theta)
        return solve(known, self.problem.domain.anchor, effort=OPTIMUM_EFFORT)
