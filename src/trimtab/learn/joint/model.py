r"""Assumption D made precise: losses that are made of factors, and who shares in them.

A factor C is a set of knobs with features psi_C and one parameter w_C. Criterion i may share in
it if C lies within its scope, and A_iC says how much of it is its own:

    mu_i(s) = sum_C A_iC psi_C(s_C)' w_C = Psi_i(s) w,        sum_i A_iC = 1.

Row i of Psi(s), (m, d_eff), has A_iC psi_C' in block C. Since the shares of a factor sum to 1,
the losses add up to Assumption D exactly: 1' Psi(s) w = sum_C psi_C' w_C = L(s). With weights
omega on the criteria the total is omega' Psi(s) w = sum_C (omega' A)_C psi_C' w_C: a factor counts
by the mean weight of those who share in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from trimtab.arrays import Array, ArrayLike, Bools, Ints, floats, read_only, refuse
from trimtab.errors import InvalidInput
from trimtab.model.bases import Monomials
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem

Knobs = Iterable[Collection[int]]
MOST_FEATURES = 10_000  # the factor of V then takes 400 MB
SUM = 1e-9  # how far from 1 the shares of a factor may sum


class Factors:
    r"""The factors of a problem, their features and their shares.

    By default the factors are the maximal cliques of an undirected graph and the distinct
    scopes of any other, each shared equally by all criteria whose scope holds it.

    Deviation: the paper gives every clique a parameter but not what one criterion observes
    of it, so that Psi is undefined; added up as it is printed, the losses would count a clique
    once per member. The shares define it, and make 1' Psi w = L.

    Two factors may both hold the monomial s_j. These are two features, since their factors are
    shared by different criteria, and leaving one out would take losses from the model. Where
    the shares do not tell them apart (even cycles) they are redundant, which adds a constant to
    log det V, not a dimension.

    >>> import trimtab as tt
    >>> problem = tt.Problem(tt.Graph.from_edges(3, [(0, 1), (1, 2)]), basis=tt.bases.Linear())
    >>> factors = Factors(problem)
    >>> factors.scopes, factors.dim
    ([[0, 1], [1, 2]], 4)
    >>> factors.shares
    array([[0.5, 0. ],
           [0.5, 0.5],
           [0. , 0.5]])

    Args:
        problem: gives the scopes, the domain and the basis, `Linear`, `Polynomial` or `Quadratic`.
        factors: the knobs of each factor, where the default is not meant.
        shares: A, one row per criterion and one column per factor; equal by default.
    """

    def __init__(
        self, problem: Problem, *, factors: Knobs | None = None, shares: ArrayLike | None = None
    ) -> None:
        self.problem = problem
        if not isinstance(problem.features, Monomials) or getattr(
            problem.basis, "needs_centre", False
        ):
            raise InvalidInput(
                f"factors with the basis {problem.basis!r}; what criteria share must be in the "
                "basis of each: use Quadratic(), Polynomial() or Linear()"
            )
        self.graph = _factor_graph(problem.graph, factors)
        self.shares: Array = read_only(_shares(problem.graph, self.graph, shares))  # (m, F)
        features = problem.basis.bind(self.graph, problem.domain)
        if not isinstance(features, Monomials):
            raise InvalidInput(f"the basis {problem.basis!r} has no monomials; use Quadratic()")
        self.features = features
        if self.dim > MOST_FEATURES:
            raise InvalidInput(
                f"the factors have {self.dim} features in all, more than {MOST_FEATURES}; "
                "pass fewer or smaller factors"
            )
        self._all = np.arange(self.graph.criteria)
        self.owner: Ints = np.repeat(self._all, np.diff(features.offsets))  # (d_eff,) its factor
        self._spread = np.ascontiguousarray(self.shares[:, self.owner])  # (m, d_eff)
        self.pull: Array = problem.weights @ self.shares  # (F,) omega' A

    @property
    def dim(self) -> int:
        """d_eff, the number of features of all factors."""
        return int(self.features.offsets[-1])

    @property
    def scopes(self) -> list[list[int]]:
        """The knobs of each factor, ascending."""
        return [self.graph.scope(c).tolist() for c in range(self.graph.criteria)]

    def Psi(self, state: Array) -> Array:
        """The features of every criterion at a state: (m, d_eff)."""
        psi = np.empty(self.dim)
        self.features.fill(psi, state, self._all)
        return np.asarray(self._spread * psi)

    @property
    def bound(self) -> float:
        """The most that |Psi' omega|, the length of the total's features, can be."""
        return float(np.linalg.norm(self.pull * self.features.bounds))

    @property
    def norm(self) -> float:
        """The most that the operator norm of Psi can be: Psi Psi' = sum_C |psi_C|^2 A_C A_C'."""
        return float(np.linalg.norm(self.shares * self.features.bounds, ord=2))

    @property
    def frobenius(self) -> float:
        """The most that the Frobenius norm of Psi can be."""
        return float(np.linalg.norm(self.shares * self.features.bounds))


def _factor_graph(graph: Graph, factors: Knobs | None) -> Graph:
    """The factors as the scopes of a graph."""
    if factors is not None:
        try:
            return Graph.from_scopes(factors, knobs=graph.knobs)
        except InvalidInput as error:
            text = str(error).replace("scopes", "factors").replace("criterion", "factor")
            raise InvalidInput(text) from None
    if graph.is_undirected:
        return Graph.from_scopes(graph.maximal_cliques(), knobs=graph.knobs)
    scopes = {tuple(graph.scope(i).tolist()) for i in range(graph.criteria)}
    return Graph.from_scopes(sorted(scopes), knobs=graph.knobs)


def _shares(graph: Graph, factors: Graph, given: ArrayLike | None) -> Array:
    """A: equal shares, or those given once they are known to be shares."""
    may = _within(graph, factors)
    refuse(
        np.asarray(~may.any(axis=0)),
        lambda c: (
            f"factors[{c}] = {factors.scope(c).tolist()} lies within no criterion's scope, "
            "so nobody shares in it; leave it out"
        ),
    )
    if given is None:
        A: Array = may / may.sum(axis=0)
    else:
        A = floats(given, "shares")
        if A.shape != may.shape:
            raise InvalidInput(
                f"shares has shape {A.shape}, expected {may.shape}: a row per criterion and a "
                "column per factor"
            )
        for i, c in np.argwhere(~(A >= 0.0) | ((A > 0.0) & ~may)).tolist():
            raise InvalidInput(
                f"shares[{i}, {c}] = {A[i, c]:g}; it must be at least 0, and 0 where factor {c} "
                f"is not within the scope of criterion {i}"
            )
        refuse(
            np.asarray(~(np.abs(A.sum(axis=0) - 1.0) <= SUM)),
            lambda c: f"shares[:, {c}] sum to {A[:, c].sum():g}; those of a factor must sum to 1",
        )
    refuse(
        np.asarray(~(A > 0.0).any(axis=1)),
        lambda i: f"criterion {i} shares in no factor; add one within its scope",
    )
    return A


def _within(graph: Graph, factors: Graph) -> Bools:
    """Whether factor C lies within the scope of criterion i: (m, F)."""
    unread = np.ones((graph.criteria, graph.knobs))
    unread[graph.scope_rows(), graph.scope_knobs] = 0.0
    holds = np.zeros((factors.criteria, factors.knobs))
    holds[factors.scope_rows(), factors.scope_knobs] = 1.0
    return np.asarray(unread @ holds.T == 0.0)
