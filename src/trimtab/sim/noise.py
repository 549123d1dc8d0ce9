"""Noise on the losses of a simulated system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trimtab.arrays import Array, ArrayLike, number, per_item
from trimtab.graph import Graph


class Noise(Protocol):
    """Independent draws of zero-mean noise, one per criterion and round."""

    def draw(self, rng: np.random.Generator, graph: Graph) -> Array:
        """The noise of one round: (m,)."""

    def scales(self, graph: Graph) -> Array:
        """The sub-Gaussian scale of each criterion's noise, what `Confidence` calls sigma."""


@dataclass(frozen=True)
class Gaussian:
    """Normal noise, independent across criteria.

    >>> Gaussian(0.1).scales(Graph.complete(2))
    array([0.1, 0.1])
    """

    sigma: float | ArrayLike

    def draw(self, rng: np.random.Generator, graph: Graph) -> Array:
        """The noise of one round: (m,)."""
        return self.scales(graph) * rng.normal(size=graph.criteria)

    def scales(self, graph: Graph) -> Array:
        """The standard deviations."""
        return per_item(self.sigma, graph.criteria, "sigma", "criterion", low=0.0, strict=False)


@dataclass(frozen=True)
class Bounded:
    """Uniform noise between -width and +width, independent across criteria."""

    width: float | ArrayLike

    def draw(self, rng: np.random.Generator, graph: Graph) -> Array:
        """The noise of one round: (m,)."""
        return self.scales(graph) * rng.uniform(-1.0, 1.0, graph.criteria)

    def scales(self, graph: Graph) -> Array:
        """Half the range: the scale that holds for anything bounded like this."""
        return per_item(self.width, graph.criteria, "width", "criterion", low=0.0, strict=False)


@dataclass(frozen=True)
class Correlated:
    r"""The paper's latent noise: :math:`\eta_i = \sum_{j \in N(i)} \xi_j`, one normal xi per knob.

    Criteria that share knobs have correlated losses; criterion i's standard
    deviation is `sigma` times the root of the size of its scope.

    >>> Correlated(0.1).scales(Graph.from_edges(3, [(0, 1), (0, 2)])).round(3)
    array([0.173, 0.141, 0.141])
    """

    sigma: float

    def draw(self, rng: np.random.Generator, graph: Graph) -> Array:
        """The noise of one round: (m,)."""
        xi = rng.normal(scale=self.sigma, size=graph.knobs)
        return np.asarray(np.add.reduceat(xi[graph.scope_knobs], graph.scope_offsets[:-1]))

    def scales(self, graph: Graph) -> Array:
        """The standard deviations."""
        sigma = number(self.sigma, "sigma", low=0.0, strict=False)
        return np.asarray(sigma * np.sqrt(np.diff(graph.scope_offsets)))
