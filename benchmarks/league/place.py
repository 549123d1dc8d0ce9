"""Where a match is played: a simulated system, and what everybody is told about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trimtab.arrays import Array
from trimtab.live import Spec
from trimtab.model.problem import Problem
from trimtab.sim.worlds import World
from trimtab.solve import Solution


class Now(Protocol):
    """The system as it is in some round."""

    @property
    def problem(self) -> Problem:
        """Its knobs, criteria and prices."""

    def mean(self, state: Array) -> Array:
        """The expected loss of each criterion: (m,)."""

    def loss(self, state: Array) -> float:
        """The expected total loss, weights included."""

    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        """The losses observed in round t, NaN where one is missing: (m,)."""

    @property
    def optimum(self) -> Solution:
        """The best fixed state."""


class System(Protocol):
    """A simulated system that may change with the rounds."""

    def at(self, t: int) -> tuple[Now, int | None]:
        """The system as it is in round t, and the last round in which it will be so, if any."""


@dataclass(frozen=True, eq=False)
class Place:
    """A world of one seed, and what everybody is told about it.

    `sigma` is known only to the players that are told everything.
    """

    world: System
    problem: Problem  # what the policies believe: the world's own, but for a wrong graph
    start: Array  # (k,) the settings that somebody left behind
    sigma: Array  # (m,) noise of a loss
    spec: Spec | None = None  # of a recorded system: that of its example


@dataclass(frozen=True)
class Setting:
    """A world up to its seed."""

    name: str
    make: Callable[[int], Place]
    holds: bool = True  # whether the model's assumptions hold
    why: str = ""  # not
    delay: int = 0  # rounds until a loss is told
    small: bool = False  # whether slow players take part
    box: bool = True  # whether its domain is one
    drifts: bool = False  # whether the world depends on the horizon
    files: tuple[str, ...] = ()  # of this folder, beyond worlds.py, that decide what it is


def placed(world: World, seed: int, start: Sequence[float] | None = None) -> Place:
    """The place of a world whose problem is known; a random start unless one is given."""
    rng = np.random.default_rng((seed, 11))
    problem = world.problem
    where = problem.domain.sample(rng) if start is None else np.array(start, np.float64)
    return Place(world, problem, where, world.noise.scales(problem.graph))
