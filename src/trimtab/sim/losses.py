"""The losses of many rounds at once, for the jumps of `play`."""

from __future__ import annotations

import math

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.errors import InvalidInput
from trimtab.policies import LazyPolicy
from trimtab.sim.worlds import Drifting, Recorded, Summable, World


class Means:
    """The expected losses at the state now played, kept up as it moves."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rate = 0.0  # of a round, in total
        self.values = np.empty(0)  # (m,)
        self._state: Array | None = None

    def visit(self, state: Array) -> None:
        """Move to the state; only criteria that read a moved knob are computed anew."""
        if state is self._state:
            return
        if self._state is None or "mean" in self.world.overrides:  # it may read outside its scope
            self.values = self.world.expected(state)
        else:
            moved = self.world.problem.graph.readers(np.flatnonzero(state != self._state))
            self.values[moved] = self.world.expected(state, moved)
        self._state = state
        self.rate = float(self.world.problem.weights @ self.values)


class Drawn:
    """Losses of which the sums of many rounds are drawn when they are asked for."""

    def __init__(self, world: World, noise: Summable, rng: np.random.Generator) -> None:
        self.means, self.noise, self.rng = Means(world), noise, rng

    def next_jump(self, policy: LazyPolicy, t: int, stop: int) -> tuple[int, Ints | None]:
        """Rounds to skip from t on, and how often each criterion is seen in them: always."""
        return min(policy.rounds_left(), stop - t), None

    def owed(self, criteria: Ints, n: Ints) -> tuple[Array, Array]:
        """The mean of n losses of each criterion, and the squares about it."""
        mean, squares = self.noise.sums(self.rng, criteria, n)
        return self.means.values[criteria] + mean, squares


class Replayed:
    """Losses of which the noise is recorded, gaps included."""

    def __init__(self, world: World, noise: Recorded, t: int) -> None:
        self.means, self.noise = Means(world), noise
        self._upto = t  # the last round skipped
        self._paid = np.full(world.problem.criteria, t)  # the last round paid for

    def next_jump(self, policy: LazyPolicy, t: int, stop: int) -> tuple[int, Ints | None]:
        """Rounds to skip from t on, and how often each criterion is seen in them."""
        until = self.noise.until(t, policy.needs())
        rounds = min(until, policy.review_left(), stop - t)
        self._upto = t + rounds
        return rounds, self.noise.seen[t + rounds] - self.noise.seen[t]

    def owed(self, criteria: Ints, n: Ints) -> tuple[Array, Array]:
        """The mean of each criterion's losses since it was last paid, and the squares about it."""
        found = [self.noise.summary(i, int(self._paid[i]), self._upto) for i in criteria.tolist()]
        self._paid[criteria] = self._upto
        mean, squares = np.ascontiguousarray(np.array(found).T)
        return self.means.values[criteria] + mean, squares


def without_sums(world: World | Drifting) -> str:
    """Why the losses of many rounds cannot be had at once; empty if they can."""
    return next(filter(None, (each.without_sums() for each in _worlds(world))), "")


def last_round(world: World | Drifting) -> float:
    """The last round of which the world has losses."""
    tables = [len(w.noise.table) for w in _worlds(world) if isinstance(w.noise, Recorded)]
    return min(tables, default=math.inf)


def _worlds(world: World | Drifting) -> tuple[World, ...]:
    return world.worlds if isinstance(world, Drifting) else (world,)


def losses_of(world: World, rng: np.random.Generator, t: int) -> Drawn | Replayed:
    """The losses of the rounds after t, in a world without `without_sums`."""
    if isinstance(world.noise, Recorded):
        return Replayed(world, world.noise, t)
    if isinstance(world.noise, Summable):
        return Drawn(world, world.noise, rng)
    raise InvalidInput(f"{world.noise!r} cannot be summed")
