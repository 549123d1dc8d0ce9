"""Random Fourier features in groups, one per knob and one per pair: Example 2 with owners.

Every feature of `FourierFeatures` mixes all knobs of its scope, so that no knob can be left out of
it, and a smaller scope has other features. Here a loss is a sum of smooth functions of one and of
two knobs, each a random Fourier expansion of its own. A knob owns the groups that hold it; the
features of a smaller scope are some of those of a larger one. So the graph can be learned, criteria
can share factors, and a super-graph is safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from trimtab.arrays import Array, Ints, read_only
from trimtab.model.bases.features import offsets_of
from trimtab.model.bases.fourier import RandomWaves
from trimtab.model.bases.registry import register
from trimtab.model.domain import BoundDomain
from trimtab.model.graph import Graph

Group = tuple[int, ...]  # the positions of its knobs in the scope


@register
@dataclass(frozen=True)
class PairwiseFourier(RandomWaves):
    r"""A 1, and `dim` waves sqrt(2/dim) cos(w'x + b) of every knob and of every pair of knobs.

    Frequencies are normal with standard deviation 1/lengthscale; a cosine and a sine of each,
    as in `FourierFeatures`. All knobs share theirs, and so do all pairs.

    >>> import trimtab as tt
    >>> problem = tt.Problem(tt.Graph.complete(3), basis=PairwiseFourier(4))
    >>> int(problem.dims[0])  # 1, and 4 for each of 3 knobs and of 3 pairs
    25
    >>> problem.features.owned(0, 2).tolist()  # its own, and those of the pairs (0, 2) and (1, 2)
    [9, 10, 11, 12, 17, 18, 19, 20, 21, 22, 23, 24]
    """

    def bind(self, graph: Graph, domain: BoundDomain) -> Waves:
        """The feature maps of every criterion of the graph on the domain."""
        self.refuse_balls(domain)
        return Waves(self, graph)


@dataclass(frozen=True, eq=False)
class Shape:
    """The features of a scope of n knobs: amplitude cos(W x + b), the constant first."""

    groups: Sequence[Group]  # after the constant, which has none
    W: Array  # (d, n)
    b: Array  # (d,)
    amplitude: Array  # (d,)
    bound: float  # no phi is longer


@lru_cache(maxsize=64)
def shape_of(basis: PairwiseFourier, n: int) -> Shape:
    """What all criteria with n knobs in their scope share."""
    groups: list[Group] = [(j,) for j in range(n)] + list(combinations(range(n), 2))
    dim = basis.dim
    W = np.zeros((1 + dim * len(groups), n))
    for g, group in enumerate(groups):
        W[1 + g * dim : 1 + (g + 1) * dim, group] = basis.frequencies(len(group))
    b = np.append(0.0, np.tile(basis.phases, len(groups)))
    longest = np.sqrt(1.0 + len(groups) * 2.0 / dim * ((dim + 1) // 2))  # cos^2 + sin^2 = 1
    amplitude = np.append(1.0, np.full(len(groups) * dim, np.sqrt(2.0 / dim)))
    if basis.normalize:
        amplitude, longest = amplitude / longest, 1.0
    return Shape(groups, read_only(W), read_only(b), read_only(amplitude), float(longest))


class Waves:
    """The feature maps of all criteria."""

    def __init__(self, basis: PairwiseFourier, graph: Graph) -> None:
        self.basis, self._graph = basis, graph
        sizes = np.diff(graph.scope_offsets)
        self.shapes = [shape_of(basis, int(n)) for n in sizes]
        self.offsets = read_only(offsets_of(np.array([x.b.size for x in self.shapes])))
        self.bounds = read_only(np.array([x.bound for x in self.shapes]))
        fastest = max(float(np.abs(x.W).max()) for x in self.shapes)
        self.shortest_wave = 2.0 * np.pi / fastest if fastest > 0.0 else np.inf  # along a knob

    def fill(self, phi: Array, state: Array, criteria: Ints, /) -> None:
        """Write phi_i(state) into its slice of the flat vector, for the criteria given."""
        for i in criteria.tolist():
            s = self.shapes[i]
            x = state[self._graph.scope(i)]
            phi[self.offsets[i] : self.offsets[i + 1]] = s.amplitude * np.cos(s.W @ x + s.b)

    def jacobian(self, criterion: int, state: Array) -> Array:
        """The derivatives of phi_i by the knobs of its scope: (d_i, size of the scope)."""
        s = self.shapes[criterion]
        slope = -s.amplitude * np.sin(s.W @ state[self._graph.scope(criterion)] + s.b)
        return np.asarray(slope[:, None] * s.W)

    def owned(self, criterion: int, knob: int) -> Ints:
        """The features of the groups that hold the knob."""
        scope, dim = self._graph.scope(criterion), self.basis.dim
        at = np.flatnonzero(scope == knob)
        held = [
            g for g, group in enumerate(self.shapes[criterion].groups) if at.size and at[0] in group
        ]
        return np.asarray((1 + dim * np.array(held, np.int64)[:, None] + np.arange(dim)).ravel())

    def names(self, criterion: int) -> list[tuple[tuple[int, int], ...]]:
        """Each feature by its knobs and the number of its wave; the same in every scope."""
        scope, dim = self._graph.scope(criterion).tolist(), self.basis.dim
        waves = [
            tuple((scope[x], f) for x in group)
            for group in self.shapes[criterion].groups
            for f in range(1, dim + 1)
        ]
        return [(), *waves]

    def scale(self, criterion: int) -> float:
        """What all features of the criterion are multiplied by."""
        return float(self.shapes[criterion].amplitude[0])
