"""Noise on the losses of a simulated system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from trimtab._core import gaussian_sums
from trimtab.arrays import Array, ArrayLike, Ints, floats, number, per_item, read_only
from trimtab.errors import InvalidInput
from trimtab.model.graph import Graph


class Noise(Protocol):
    """Zero-mean noise, one draw per criterion and round."""

    def draw(self, rng: np.random.Generator, graph: Graph, t: int) -> Array:
        """The noise of round t, counted from 1; NaN where a loss is missing: (m,)."""

    def scales(self, graph: Graph) -> Array:
        """The sub-Gaussian scale of each criterion's noise, what `Confidence` calls sigma."""


@runtime_checkable
class Summable(Protocol):
    """Noise of which the sum over many rounds can be drawn at once."""

    def sums(self, rng: np.random.Generator, criteria: Ints, n: Ints) -> tuple[Array, Array]:
        """For each criterion the mean of n rounds' noise, and the sum of squares about it."""


@dataclass(frozen=True)
class Gaussian:
    """Normal noise, independent across criteria.

    >>> Gaussian(0.1).scales(Graph.complete(2))
    array([0.1, 0.1])
    """

    sigma: float | ArrayLike

    def __post_init__(self) -> None:
        sigma = floats(self.sigma, "sigma")
        per_item(sigma, sigma.size, "sigma", "criterion", low=0.0, strict=False)

    def draw(self, rng: np.random.Generator, graph: Graph, t: int) -> Array:
        """The noise of one round: (m,)."""
        return np.asarray(self.sigma, np.float64) * rng.standard_normal(graph.criteria)

    def scales(self, graph: Graph) -> Array:
        """The standard deviations."""
        return per_item(self.sigma, graph.criteria, "sigma", "criterion", low=0.0, strict=False)

    def sums(self, rng: np.random.Generator, criteria: Ints, n: Ints) -> tuple[Array, Array]:
        """Independent by Cochran's theorem: a normal mean, and chi-square squares about it."""
        sigma = np.asarray(self.sigma, np.float64)
        each = sigma[criteria] if sigma.ndim else np.full(criteria.size, sigma)
        with rng.bit_generator.lock:  # the core draws these, in runs from event to event as well
            return gaussian_sums(rng.bit_generator.capsule, each, n)


@dataclass(frozen=True)
class Bounded:
    """Uniform noise between -width and +width, independent across criteria."""

    width: float | ArrayLike

    def __post_init__(self) -> None:
        width = floats(self.width, "width")
        per_item(width, width.size, "width", "criterion", low=0.0, strict=False)

    def draw(self, rng: np.random.Generator, graph: Graph, t: int) -> Array:
        """The noise of one round: (m,)."""
        return np.asarray(self.width, np.float64) * rng.uniform(-1.0, 1.0, graph.criteria)

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

    def __post_init__(self) -> None:
        number(self.sigma, "sigma", low=0.0, strict=False)

    def draw(self, rng: np.random.Generator, graph: Graph, t: int) -> Array:
        """The noise of one round: (m,)."""
        xi = self.sigma * rng.standard_normal(graph.knobs)
        return np.asarray(np.add.reduceat(xi[graph.scope_knobs], graph.scope_offsets[:-1]))

    def scales(self, graph: Graph) -> Array:
        """The standard deviations."""
        return np.asarray(self.sigma * np.sqrt(np.diff(graph.scope_offsets)))


class Recorded:
    """Noise from a table, one row per round, NaN where a loss was missing.

    It makes two runs comparable that draw nothing, and replays what was once seen.

    Args:
        table: (T, m).
    """

    def __init__(self, table: ArrayLike) -> None:
        self.table: Array = read_only(floats(table, "table"))
        if self.table.ndim != 2 or 0 in self.table.shape:
            raise InvalidInput(f"table has shape {self.table.shape}; give a row per round")
        if np.isinf(self.table).any():
            raise InvalidInput("table holds an infinite value; use NaN for a missing loss")
        self.seen: Ints = np.zeros((len(self.table) + 1, self.table.shape[1]), np.int64)
        np.cumsum(~np.isnan(self.table), axis=0, out=self.seen[1:])

    def draw(self, rng: np.random.Generator, graph: Graph, t: int) -> Array:
        """Row t of the table, counted from 1."""
        if not 1 <= t <= len(self.table):
            raise InvalidInput(f"round {t} is not in the table; it has 1 to {len(self.table)}")
        return np.array(self.table[t - 1])

    def scales(self, graph: Graph) -> Array:
        """The standard deviation of each column."""
        if self.table.shape[1] != graph.criteria:
            raise InvalidInput(
                f"table has {self.table.shape[1]} columns for {graph.criteria} criteria"
            )
        seen = [column[~np.isnan(column)] for column in self.table.T]
        return np.array([column.std() if column.size else 0.0 for column in seen])

    def until(self, t: int, need: Ints) -> int:
        """Rounds after t until some criterion has been seen as often as it needs."""
        rounds = len(self.table) - t
        for i in np.flatnonzero(self.seen[-1] - self.seen[t] >= need):
            hit = int(np.searchsorted(self.seen[:, i], self.seen[t, i] + need[i]))
            rounds = min(rounds, hit - t)
        return rounds

    def summary(self, i: int, first: int, last: int) -> tuple[float, float]:
        """Mean of criterion i's noise in rounds first + 1 to last, and the squares about it."""
        noise = self.table[first:last, i]
        noise = noise[~np.isnan(noise)]
        mean = float(noise.mean()) if noise.size else 0.0
        return mean, float(((noise - mean) ** 2).sum())
