r"""Assumption D made precise: losses that are made of factors, and who shares in them.

A factor C is a set of knobs with features psi_C and one parameter w_C. Criterion i may share in
it if C lies within its scope, and A_iC says how much of it is its own:

    mu_i(s) = sum_C A_iC psi_C(s_C)' w_C = Psi_i(s) w,        sum_i A_iC = 1.

Row i of Psi(s), (m, d_eff), has A_iC psi_C' in block C. Since the shares of a factor sum to 1,
the losses add up to Assumption D exactly: 1' Psi(s) w = sum_C psi_C' w_C = L(s). With weights
omega on the criteria the total is omega' Psi(s) w = sum_C (omega' A)_C psi_C' w_C: a factor counts
by the mean weight of those who share in it.

A criterion's own features may lack some of a factor's: in Example 1 criterion i has s_i^2 and the
products with s_i, and no s_j^2. Then each feature is shared by those who have it, in proportion to
their shares of the factor: s_i^2 is all i's, and the coefficient of s_i s_j is seen by i and by j,
half each. Factors of Example 1 are all that their members have: 1, the knobs, squares and products.

Random Fourier features of a clique (Example 2) are not among those of a larger scope. Then the
joint estimate stands alone, as in the paper: node by node nobody has what the factors are made of.
With `PairwiseFourier`, whose features are nested, everybody has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from trimtab.arrays import Array, ArrayLike, Bools, Ints, floats, read_only, refuse
from trimtab.errors import InvalidInput
from trimtab.model.bases import Basis, Features, Monomials
from trimtab.model.bases.custom import CustomFeatures
from trimtab.model.bases.pairwise_fourier import Waves
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

    >>> problem = tt.Problem(tt.Graph.complete(2), basis=tt.bases.PairwiseQuadratic())
    >>> Factors(problem).parts.T  # 1, s_0, s_1, s_0^2, s_1^2 and s_0 s_1: who has how much
    array([[0.5, 0.5],
           [0.5, 0.5],
           [0.5, 0.5],
           [1. , 0. ],
           [0. , 1. ],
           [0.5, 0.5]])

    Args:
        problem: gives the scopes, the domain and the basis.
        factors: the knobs of each factor, where the default is not meant.
        shares: A, one row per criterion and one column per factor; equal by default.
    """

    def __init__(
        self, problem: Problem, *, factors: Knobs | None = None, shares: ArrayLike | None = None
    ) -> None:
        self.problem = problem
        if isinstance(problem.features, CustomFeatures):
            raise InvalidInput(
                "factors with a Custom basis, whose function is told a criterion: a factor is "
                "none; use one of the bases of tt.bases"
            )
        self.graph = _factor_graph(problem.graph, factors)
        self.shares: Array = read_only(_shares(problem.graph, self.graph, shares))  # (m, F)
        self.basis: Basis = getattr(problem.basis, "of_factors", problem.basis)
        self.features: Features = self.basis.bind(self.graph, problem.domain)
        if self.dim > MOST_FEATURES:
            raise InvalidInput(
                f"the factors have {self.dim} features in all, more than {MOST_FEATURES}; "
                "pass fewer or smaller factors"
            )
        self._all = np.arange(self.graph.criteria)
        self.owner: Ints = np.repeat(self._all, np.diff(self.features.offsets))  # (d_eff,)
        has = self._held()
        self.nested = has is not None  # whether node by node losses can be what factors make them
        self.parts: Array = _parts(self.shares[:, self.owner], has)  # (m, d_eff)
        refuse(
            np.asarray(~(self.parts > 0.0).any(axis=1)),
            lambda i: f"criterion {i} has none of the features of its factors; add a factor",
        )
        self.pull: Array = problem.weights @ self.shares  # (F,) omega' A
        even = has is None or bool((has | (self.shares[:, self.owner] == 0.0)).all())
        self.pulls: Array = self.pull[self.owner] if even else problem.weights @ self.parts
        most = np.zeros((self.graph.criteria, problem.criteria))  # of any feature of a factor
        np.maximum.at(most, self.owner, self.parts.T)
        self.most: Array = most.T  # (m, F)

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
        return np.asarray(self.parts * psi)

    def nodewise(self, w: Array) -> list[Array]:
        """theta_i of every criterion, so that phi_i' theta_i = Psi_i w: (d_i,) each.

        Raises:
            InvalidInput: the criteria's features do not hold those of the factors.
        """
        if not self.nested:
            raise InvalidInput(
                f"{self.problem.basis!r} of a factor is not among the features of the criteria"
            )
        found, features = [], self.problem.features
        for i in range(self.problem.criteria):
            place = {x: f for f, x in enumerate(_names(features, self.problem.graph, i))}
            theta = np.zeros(len(place))
            for c in np.flatnonzero(self.shares[i]).tolist():
                lo, hi = self.features.offsets[c], self.features.offsets[c + 1]
                ratio = _scale(self.features, c) / _scale(features, i)
                own = self.parts[i, lo:hi] * ratio * w[lo:hi]
                for x, value in zip(_names(self.features, self.graph, c), own, strict=True):
                    if value != 0.0:
                        theta[place[x]] += value
            found.append(theta)
        return found

    @property
    def bound(self) -> float:
        """The most that |Psi' omega|, the length of the total's features, can be."""
        pull = np.zeros(self.graph.criteria)
        np.maximum.at(pull, self.owner, self.pulls)
        return float(np.linalg.norm(pull * self.features.bounds))

    @property
    def norm(self) -> float:
        """The most that the operator norm of Psi can be: Psi Psi' = sum_C |psi_C|^2 A_C A_C'."""
        return float(np.linalg.norm(self.most * self.features.bounds, ord=2))

    @property
    def frobenius(self) -> float:
        """The most that the Frobenius norm of Psi can be."""
        return float(np.linalg.norm(self.most * self.features.bounds))

    def _held(self) -> Bools | None:
        """Who has which feature of the factors among its own: (m, d_eff).

        None where features are nobody's, or waves of a factor not everybody's who shares in it.
        """
        problem, graph = self.problem, self.graph
        theirs = [name for c in range(graph.criteria) for name in _names(self.features, graph, c)]
        own = [set(_names(problem.features, problem.graph, i)) for i in range(problem.criteria)]
        held = np.array([[name in mine for name in theirs] for mine in own])
        shared = self.shares[:, self.owner] > 0.0
        held &= shared
        apart = isinstance(self.features, Monomials) and held.any(axis=0).all()
        return held if apart or bool((held == shared).all()) else None


def _names(features: Features, graph: Graph, i: int) -> list[object]:
    """What makes a feature the same function, up to its scale, in two scopes."""
    if isinstance(features, Waves):
        return list(features.names(i))
    scope = tuple(graph.scope(i).tolist())
    lo, hi = features.offsets[i], features.offsets[i + 1]
    if not isinstance(features, Monomials):
        return [(scope, f) for f in range(int(hi - lo))]  # of this scope alone
    rows = zip(*(column.tolist() for column in features.arrays.columns(lo, hi)), strict=True)
    return [frozenset((j, n) for j, n in ((a, p), (b, q)) if n) for a, b, p, q in rows]


def _scale(features: Features, i: int) -> float:
    """What all features of a criterion or factor are multiplied by."""
    if isinstance(features, Monomials):
        return float(features.arrays.scale[i])
    return features.scale(i) if isinstance(features, Waves) else 1.0  # of one scope alone


def _parts(shares: Array, has: Bools | None) -> Array:
    """How much of each feature is whose: those who have it share in it; each column sums to 1."""
    if has is None or bool((has | (shares == 0.0)).all()):
        return np.ascontiguousarray(shares)
    parts = shares * has
    return np.ascontiguousarray(parts / parts.sum(axis=0))


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
