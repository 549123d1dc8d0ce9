"""A basis from the user's own function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, floats, number, read_only
from trimtab.errors import InvalidInput
from trimtab.model.bases.features import offsets_of
from trimtab.model.domain import BoundBalls, BoundDomain
from trimtab.model.graph import Graph

Function = Callable[[int, Array], ArrayLike]
STEP = 1e-6  # of the finite differences, on knobs that live in [0, 1]


@dataclass(frozen=True, kw_only=True)
class Custom:
    """Features computed by ``function(criterion, values)``.

    `values` are the knobs of the criterion's scope in ascending order. `bound`
    promises that no feature vector is longer than that anywhere in the domain;
    a longer one is refused when it appears, since every guarantee rests on it.
    ``jacobian(criterion, values)`` gives the (d, n) derivatives; without it a solve that
    needs them takes finite differences, and warns.

    >>> import trimtab as tt
    >>> basis = tt.bases.Custom(function=lambda i, x: [1.0, x[0] ** 2 + i], bound=2.5)
    >>> tt.Problem(tt.Graph.complete(2), basis=basis).dims
    array([2, 2])
    """

    function: Function
    bound: float
    jacobian: Function | None = None
    normalize: bool = True

    def bind(self, graph: Graph, domain: BoundDomain) -> CustomFeatures:
        """The feature maps of every criterion of the graph on the domain."""
        if isinstance(domain, BoundBalls):
            raise InvalidInput("Custom on Balls; balls take a Linear basis only")
        number(self.bound, "bound", low=0.0, strict=True)
        probes = [self._call(i, domain.high[graph.scope(i)]) for i in range(graph.criteria)]
        dims = np.array([probe.size for probe in probes], np.int64)
        return CustomFeatures(self, graph, domain, offsets_of(dims))

    def _call(self, criterion: int, values: Array) -> Array:
        phi = floats(self.function(criterion, values.copy()), f"features of criterion {criterion}")
        length = np.linalg.norm(phi)
        if phi.ndim != 1 or phi.size == 0 or not np.isfinite(length):
            raise InvalidInput(
                f"the basis function gave {phi!r} for criterion {criterion} at {values}; "
                "it must return a finite vector"
            )
        if length > self.bound * (1 + 1e-9):
            raise InvalidInput(
                f"the basis function gave features of length {length:g} for criterion "
                f"{criterion} at {values}, over its bound {self.bound:g}; raise the bound"
            )
        return phi


class CustomFeatures:
    """The feature maps of all criteria, by a Python call each."""

    def __init__(self, basis: Custom, graph: Graph, domain: BoundDomain, offsets: Ints) -> None:
        self.offsets = read_only(offsets)
        self.bounds = read_only(np.full(graph.criteria, 1.0 if basis.normalize else basis.bound))
        self._basis, self._graph, self._domain = basis, graph, domain
        self._scale = 1.0 / basis.bound if basis.normalize else 1.0

    @property
    def differentiable(self) -> bool:
        """Whether the user has given the derivatives."""
        return self._basis.jacobian is not None

    def fill(self, phi: Array, state: Array, criteria: Ints) -> None:
        """Write phi_i(state) into its slice of the flat vector, for the criteria given."""
        for i in criteria:
            values = self._one(int(i), state[self._graph.scope(int(i))])
            phi[self.offsets[i] : self.offsets[i + 1]] = values

    def jacobian(self, criterion: int, state: Array) -> Array:
        """The derivatives of phi_i by the knobs of its scope: (d_i, size of the scope)."""
        scope = self._graph.scope(criterion)
        x = state[scope]
        d = int(self.offsets[criterion + 1] - self.offsets[criterion])
        if self._basis.jacobian is not None:
            J = floats(self._basis.jacobian(criterion, x.copy()), f"Jacobian of {criterion}")
            if J.shape != (d, x.size):
                raise InvalidInput(
                    f"the Jacobian of criterion {criterion} has shape {J.shape}, "
                    f"expected ({d}, {x.size}): one row per feature, one column per knob"
                )
            if not np.isfinite(J).all():
                raise InvalidInput(
                    f"the Jacobian of criterion {criterion} at {x} is not finite; mend the function"
                )
            return self._scale * J
        J = np.empty((d, x.size))
        for c, j in enumerate(scope):
            up, down = x.copy(), x.copy()
            up[c] = min(x[c] + STEP, self._domain.high[j])
            down[c] = max(x[c] - STEP, self._domain.low[j])
            run = up[c] - down[c]
            rise = self._one(criterion, up) - self._one(criterion, down)
            J[:, c] = rise / run if run > 0 else 0.0
        return J

    def owned(self, criterion: int, knob: int) -> Ints:
        """Every feature, for a knob of the scope: the function may use it anywhere."""
        d = self.offsets[criterion + 1] - self.offsets[criterion]
        return np.arange(d if knob in self._graph.scope(criterion) else 0)

    def _one(self, criterion: int, values: Array) -> Array:
        phi = self._scale * self._basis._call(criterion, values)
        d = int(self.offsets[criterion + 1] - self.offsets[criterion])
        if phi.size != d:
            raise InvalidInput(
                f"the basis function gave {phi.size} features for criterion {criterion} at "
                f"{values} and {d} at another state; their number must not change"
            )
        return phi
