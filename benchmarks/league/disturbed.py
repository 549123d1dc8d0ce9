"""Noise of the kinds that live systems have: spikes, heavy tails, and a day that comes again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array
from trimtab.model.graph import Graph

SPIKES = 0.02  # the share of losses that are one
SPIKE = (10.0, 30.0)  # how far off they are, in standard deviations
DEGREES = 3  # of freedom of Student's t


@dataclass(frozen=True)
class Spiky:
    """Normal noise, and two losses in a hundred that are far off, up or down."""

    sigma: float

    def draw(self, rng: np.random.Generator, graph: Graph, t: int) -> Array:
        """The noise of one round: (m,)."""
        m = graph.criteria
        noise = rng.standard_normal(m)
        spikes = rng.uniform(*SPIKE, m) * rng.choice([-1.0, 1.0], m)
        return np.asarray(self.sigma * (noise + np.where(rng.random(m) < SPIKES, spikes, 0.0)))

    def scales(self, graph: Graph) -> Array:
        """The standard deviation without the spikes."""
        return np.full(graph.criteria, self.sigma)


@dataclass(frozen=True)
class HeavyTailed:
    """Student's t with three degrees of freedom, scaled to a standard deviation."""

    sigma: float

    def draw(self, rng: np.random.Generator, graph: Graph, t: int) -> Array:
        """The noise of one round: (m,)."""
        one = self.sigma / np.sqrt(DEGREES / (DEGREES - 2))
        return np.asarray(one * rng.standard_t(DEGREES, graph.criteria))

    def scales(self, graph: Graph) -> Array:
        """The standard deviations."""
        return np.full(graph.criteria, self.sigma)


@dataclass(frozen=True)
class Daily:
    """Normal noise on an offset that goes up and down once a day, for all criteria together.

    The offset is the same wherever the knobs are, so that the best state stays the best.
    """

    sigma: float
    amplitude: float  # of the offset
    day: int  # rounds

    def draw(self, rng: np.random.Generator, graph: Graph, t: int) -> Array:
        """The noise and the offset of round t: (m,)."""
        offset = self.amplitude * np.sin(2.0 * np.pi * t / self.day)
        return np.asarray(offset + self.sigma * rng.standard_normal(graph.criteria))

    def scales(self, graph: Graph) -> Array:
        """The standard deviations around the offset."""
        return np.full(graph.criteria, self.sigma)
