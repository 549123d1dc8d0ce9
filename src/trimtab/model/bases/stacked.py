"""Features that are made of others: all of them as one criterion's, or one set after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Ints, read_only
from trimtab.model.bases.features import Features
from trimtab.model.bases.monomial import MonomialArrays, Monomials
from trimtab.model.domain import BoundDomain
from trimtab.model.graph import Graph


@dataclass(frozen=True, eq=False)
class Laid:
    """A basis whose features are there already; monomials may come as their arrays."""

    features: Features | MonomialArrays

    def bind(self, graph: Graph, domain: BoundDomain) -> Features:
        """The features; nobody asks for the bounds of monomials that come as arrays."""
        if isinstance(self.features, MonomialArrays):
            return Monomials(self.features, read_only(np.ones(graph.criteria)), graph)
        return self.features


class Together:
    """The features of all criteria of a graph as those of one criterion that reads all knobs."""

    def __init__(self, features: Features, graph: Graph) -> None:
        self._features, self._graph = features, graph
        self._all = np.arange(graph.criteria)
        self.scope: Ints = np.unique(graph.scope_knobs)
        self.offsets = read_only(features.offsets[[0, -1]])
        self.bounds = read_only(np.array([float(np.linalg.norm(features.bounds))]))
        self.shortest_wave = float(getattr(features, "shortest_wave", np.inf))

    def fill(self, phi: Array, state: Array, criteria: Ints, /) -> None:
        """Write all of them, if the one criterion is asked for."""
        if criteria.size:
            self._features.fill(phi, state, self._all)

    def jacobian(self, criterion: int, state: Array) -> Array:
        """The derivatives by the knobs of all scopes: (d, knobs read)."""
        found = np.zeros((int(self.offsets[1]), self.scope.size))
        for i, first in enumerate(self._features.offsets[:-1].tolist()):
            J = self._features.jacobian(i, state)
            at = np.searchsorted(self.scope, self._graph.scope(i))
            found[first : first + len(J), at] = J
        return found

    def owned(self, criterion: int, knob: int) -> Ints:
        """Those that depend on the knob."""
        starts = self._features.offsets[:-1].tolist()
        owned = [first + self._features.owned(i, knob) for i, first in enumerate(starts)]
        return np.concatenate(owned)


class Joined:
    """The criteria of several sets of features, one set after the other."""

    def __init__(self, parts: Sequence[Features]) -> None:
        self._parts = parts
        criteria = [x.offsets.size - 1 for x in parts]
        self._first = np.concatenate(([0], np.cumsum(criteria)))  # criterion of each part
        sizes = [int(x.offsets[-1]) for x in parts]
        self._start = np.concatenate(([0], np.cumsum(sizes)))  # of each part in phi
        ends = [x.offsets[1:] + at for x, at in zip(parts, self._start, strict=False)]
        self.offsets = read_only(np.concatenate(([0], *ends)))
        self.bounds = read_only(np.concatenate([x.bounds for x in parts]))
        self.shortest_wave = min(float(getattr(x, "shortest_wave", np.inf)) for x in parts)

    def fill(self, phi: Array, state: Array, criteria: Ints, /) -> None:
        """Write phi_i(state) into its slice of the flat vector, for the criteria given."""
        for n, part in enumerate(self._parts):
            mine = criteria[(criteria >= self._first[n]) & (criteria < self._first[n + 1])]
            if mine.size:
                part.fill(phi[self._start[n] : self._start[n + 1]], state, mine - self._first[n])

    def part(self, criterion: int) -> tuple[Features, int]:
        """The set that a criterion is of, and its number there."""
        n = int(np.searchsorted(self._first, criterion, side="right")) - 1
        return self._parts[n], criterion - int(self._first[n])

    def jacobian(self, criterion: int, state: Array) -> Array:
        """The derivatives of phi_i by the knobs of its scope: (d_i, size of the scope)."""
        part, i = self.part(criterion)
        return part.jacobian(i, state)

    def owned(self, criterion: int, knob: int) -> Ints:
        """The features of the criterion that depend on the knob, by their index in phi_i."""
        part, i = self.part(criterion)
        return part.owned(i, knob)
