"""What a basis becomes once it knows the graph and the domain.

A `Basis` is a recipe: how to turn the knobs of one scope into features. Bound to
a graph and a domain it becomes `Features`: the maps phi_1, ..., phi_m of all
criteria. Their values at a state live in one flat vector, criterion i's in
``offsets[i]:offsets[i + 1]``.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.model.domain import BoundDomain
from trimtab.model.graph import Graph


class Features(Protocol):
    """The feature maps of all criteria of a problem."""

    offsets: Ints  # (m + 1,)
    bounds: Array  # (m,) no phi_i is longer than bounds[i] anywhere in the domain

    def fill(self, phi: Array, state: Array, criteria: Ints, /) -> None:
        """Write phi_i(state) into its slice of the flat vector, for the criteria given."""

    def jacobian(self, criterion: int, state: Array) -> Array:
        """The derivatives of phi_i by the knobs of its scope: (d_i, size of the scope)."""

    def owned(self, criterion: int, knob: int) -> Ints:
        """The features of the criterion that depend on the knob, by their index in phi_i."""


class Basis(Protocol):
    """A recipe for features, independent of any particular graph."""

    def bind(self, graph: Graph, domain: BoundDomain) -> Features:
        """The feature maps of every criterion of the graph on the domain."""


def offsets_of(dims: Ints) -> Ints:
    """Where each block starts, and where the last one ends: (m + 1,)."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(dims, dtype=np.int64)))


def spans(starts: Ints, lengths: Ints) -> Ints:
    """The indices of several blocks in one row.

    >>> spans(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(lengths)
    return np.asarray(np.arange(lengths.sum()) + np.repeat(starts - ends + lengths, lengths))
