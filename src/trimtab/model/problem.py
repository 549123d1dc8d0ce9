"""The problem to be solved: who reads which knob, through which features, at what price."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, number, per_item, read_only
from trimtab.display import displayed
from trimtab.errors import InvalidInput
from trimtab.model.bases import Basis, Monomials, Quadratic
from trimtab.model.bases.fourier import Fourier
from trimtab.model.bases.pairwise_fourier import Waves
from trimtab.model.domain import Box, Domain
from trimtab.model.graph import Graph
from trimtab.model.toll import Norm, Toll

PROBES = 16  # states at which two bases are told apart
POWERS = 6  # of the default basis


@displayed
class Problem:
    """Knobs, criteria and the features between them: everything a policy may know beforehand.

    The total loss is the sum of the criteria's losses, each times its weight. A
    move from s to s' costs ``sum_j move_cost[j] * |s'_j - s_j|``, or the Euclidean length of
    these products, and `switch_cost` whatever its length.

    >>> import trimtab as tt
    >>> graph = tt.Graph.from_edges(3, [(0, 1), (1, 2)])
    >>> problem = tt.Problem(graph, basis=tt.bases.PairwiseQuadratic(), move_cost=5.0)
    >>> problem.knobs, problem.criteria, problem.dims
    (3, 3, array([5, 7, 5]))

    Args:
        graph: which criterion reads which knobs.
        basis: how the knobs of a scope become features; `Quadratic(powers=6)` by default.
        domain: where the knobs may be; every knob in [0, 1] by default.
        weights: how much each criterion counts, all positive; 1 each by default.
        move_cost: the price of moving a knob by 1, one number or one per knob.
        move_norm: "l1" if the prices of several knobs add up, "l2" for the length of the move.
        switch_cost: the price of any move, however short.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        basis: Basis | None = None,
        domain: Domain | None = None,
        weights: ArrayLike | None = None,
        move_cost: ArrayLike = 0.0,
        move_norm: Norm = "l1",
        switch_cost: float = 0.0,
    ) -> None:
        if not isinstance(graph, Graph):
            raise InvalidInput(f"graph is a {type(graph).__name__}; build it with tt.Graph")
        if domain is not None and not isinstance(domain, Domain):
            raise InvalidInput(f"domain is {domain!r}; give tt.Box(...) or tt.Balls(...)")
        if basis is not None and (isinstance(basis, type) or not hasattr(basis, "bind")):
            raise InvalidInput(f"basis is {basis!r}; give one of tt.bases, for example Quadratic()")
        self.graph = graph
        self.knobs, self.criteria = graph.knobs, graph.criteria  # k and m
        self.domain = (Box() if domain is None else domain).bind(graph.knobs)
        self.basis: Basis = Quadratic(powers=POWERS) if basis is None else basis
        self.features = self.basis.bind(graph, self.domain)
        self.weights: Array = read_only(
            per_item(
                1.0 if weights is None else weights,
                graph.criteria,
                "weights",
                "criterion",
                low=0.0,
                strict=True,
            )
        )
        self.move_cost: Array = read_only(
            per_item(move_cost, graph.knobs, "move_cost", "knob", low=0.0, strict=False)
        )
        if move_norm not in ("l1", "l2"):
            raise InvalidInput(f"move_norm = {move_norm!r}; choose 'l1' or 'l2'")
        self.toll = Toll(
            per_knob=self.move_cost,
            norm=move_norm,
            switch=number(switch_cost, "switch_cost", low=0.0, strict=False),
        )
        self.all_criteria: Ints = read_only(np.arange(graph.criteria))

    @property
    def dims(self) -> Ints:
        """The number of features of each criterion, d_i."""
        return np.diff(self.features.offsets)

    @cached_property
    def components(self) -> tuple[tuple[Ints, Ints], ...]:
        """The parts that share no criterion: pairs (knobs, criteria)."""
        return self.graph.components()

    @cached_property
    def has_constants(self) -> bool:
        """Whether every criterion has a feature that no state makes vanish."""
        if isinstance(self.features, Monomials):
            maps = self.features.arrays
            constant = (maps.p == 0) & (maps.q == 0)
            return bool(np.logical_or.reduceat(constant, self.features.offsets[:-1]).all())
        return isinstance(self.features, Fourier | Waves)

    @property
    def prices(self) -> dict[str, Any]:
        """What moves cost, as arguments for another problem."""
        toll = self.toll
        return {"move_cost": toll.per_knob, "move_norm": toll.norm, "switch_cost": toll.switch}

    def phi(self, state: Array) -> Array:
        """The features of all criteria at a state, as one flat vector."""
        if state.shape != (self.knobs,):
            raise InvalidInput(
                f"state has shape {state.shape}, expected ({self.knobs},); give one value per knob"
            )
        phi = np.empty(int(self.features.offsets[-1]))
        self.features.fill(phi, state, self.all_criteria)
        return phi

    def fingerprint(self) -> str:
        """A digest that two problems share only if a policy could not tell them apart.

        The basis enters through its features at some fixed states, so that bases
        made of Python functions count as well.
        """
        graph, domain, toll = self.graph, self.domain, self.toll
        digest = hashlib.sha256()
        if toll.norm != "l1" or toll.switch:
            digest.update(f"{toll.norm} {toll.switch!r}".encode())
        rng = np.random.default_rng(0)
        probes = [domain.sample(rng) for _ in range(PROBES)]
        centres = np.empty(0, np.int64) if graph.centres is None else graph.centres
        for array in (
            graph.scope_offsets,
            graph.scope_knobs,
            centres,
            *domain.signature,
            self.weights,
            self.move_cost,
            self.features.bounds,
            *(self.phi(probe).round(12) for probe in probes),
        ):
            digest.update(str(array.shape).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"Problem({self.graph!r}, basis={self.basis!r})"
