r"""Which knobs a criterion reads, by what its regression says: the sparsity test of Section 5.2.

Let G be the features that a knob owns, R R' = V, W = R^{-1} restricted to the columns G, so
that (V^{-1})_GG = W' W, and C the map from theta_G to the knob's orthonormal coefficients
(`bases.orthonormal`). While the ellipsoid of radius beta holds, the knob

    is read           if  theta_G' [(V^{-1})_GG]^{-1} theta_G  >  beta^2,
    is not, or hardly if  |C' theta_G| + beta |W C|            <  gamma,

where |W C| is the largest singular value. The first is the squared distance of the ellipsoid's
centre from theta_G = 0 and needs no gamma; the second bounds the true size of the dependency.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from trimtab.arrays import Array, Bools, Ints
from trimtab.errors import InvalidInput
from trimtab.learn.nodewise import NodewiseEstimators
from trimtab.model.bases import Monomials
from trimtab.model.bases.orthonormal import Coordinates, coordinates
from trimtab.model.bases.pairwise_fourier import Waves
from trimtab.model.domain import BoundBalls
from trimtab.model.problem import Problem

UNDECIDED, INCLUDED, EXCLUDED, FIXED = range(4)
NAMES = ("undecided", "included", "excluded", "fixed")
LEVEL = 0.05  # the probability that some edge is decided wrongly, under the posterior


class Edge(NamedTuple):
    """What is known of one edge: whether a criterion reads a knob."""

    criterion: int
    knob: int
    statistic: float  # theta_G' [(V^{-1})_GG]^{-1} theta_G
    threshold: float  # beta^2: above it the edge is included
    size: float  # |C' theta_G|, the estimated size of the dependency
    bound: float  # the size is at most this: below gamma the edge is excluded
    decision: str  # "included", "excluded", "undecided", or "fixed": not up for decision
    round: int  # the clock at the last test


class Edges:
    """The evidence for every edge of a graph, and what has been decided.

    The arrays are aligned with `graph.scope_knobs`. The centre of a criterion, and a scope
    of a single knob, are fixed. On `Balls` the knobs of a block stand or fall together. Once
    decided an edge stays so until its criterion is reopened, and its row shows the evidence of
    the last test.

    >>> import trimtab as tt
    >>> edges = Edges(tt.Problem(tt.Graph.from_edges(3, [(0, 1)])))
    >>> [(edge.criterion, edge.knob, edge.decision) for edge in edges][:3]
    [(0, 0, 'fixed'), (0, 1, 'undecided'), (1, 0, 'undecided')]
    """

    def __init__(self, problem: Problem) -> None:
        graph, e = problem.graph, problem.graph.scope_knobs.size
        self.criterion, self.knob = graph.scope_rows(), graph.scope_knobs
        self._offsets = graph.scope_offsets
        self.unit = units(problem)[self.knob]  # what is decided together
        self.statistic, self.threshold = np.zeros(e), np.full(e, np.inf)
        self.size, self.bound = np.zeros(e), np.full(e, np.inf)
        self.decision = np.full(e, UNDECIDED, np.int64)
        self.round = np.zeros(e, np.int64)
        if graph.centres is not None:
            own = units(problem)[graph.centres][self.criterion]
            self.decision[self.unit == own] = FIXED
        for i in range(graph.criteria):
            mine = self._of(i)
            if (self.unit[mine] == self.unit[mine[0]]).all():
                self.decision[mine] = FIXED

    @property
    def open(self) -> Bools:
        """The edges that are undecided: (e,)."""
        return np.asarray(self.decision == UNDECIDED)

    @property
    def kept(self) -> Bools:
        """The edges of the graph as it is known now, undecided ones included: (e,)."""
        return np.asarray(self.decision != EXCLUDED)

    def scopes(self) -> list[list[int]]:
        """The knobs that each criterion keeps."""
        ends = self._offsets[1:-1]
        rows = zip(np.split(self.knob, ends), np.split(self.kept, ends), strict=True)
        return [knobs[kept].tolist() for knobs, kept in rows]

    def counts(self, decision: int) -> Ints:
        """How many edges of each criterion have this decision, blocks of a ball as one: (m,)."""
        rows = np.stack((self.criterion, self.unit))[:, self.decision == decision]
        return np.bincount(np.unique(rows, axis=1)[0], minlength=self._offsets.size - 1)

    def test(self, estimators: NodewiseEstimators, radii: Array, gamma: Array, clock: int) -> bool:
        """Test every undecided edge; whether anything was decided.

        Args:
            estimators: regressions on the graph as it is known now, as of their last flush.
            radii: (m,) of their ellipsoids.
            gamma: (m,) the least size of a dependency that is there.
            clock: rounds told so far, for the record.
        """
        before = self.decision.copy()
        for i in np.unique(self.criterion[self.open]).tolist():
            mine = self._of(i)
            candidates = mine[self.open[mine]]
            regression = Regression(estimators, i)
            for unit in np.unique(self.unit[candidates]):
                at = candidates[self.unit[candidates] == unit]
                statistic, size, reach = regression.test(self.knob[at])
                bound = size + float(radii[i]) * reach
                self.statistic[at], self.threshold[at] = statistic, float(radii[i]) ** 2
                self.size[at], self.bound[at], self.round[at] = size, bound, clock
                if statistic > radii[i] ** 2:
                    self.decision[at] = INCLUDED
                elif bound < gamma[i]:
                    self.decision[at] = EXCLUDED
            if not self.kept[mine].any():  # a scope is not empty: its strongest knob stays
                best = candidates[np.argmax(self.statistic[candidates])]
                self.decision[mine[self.unit[mine] == self.unit[best]]] = UNDECIDED
        return not np.array_equal(before, self.decision)

    def compare(self, estimators: NodewiseEstimators, gamma: Array, clock: int) -> bool:
        """Decide every open edge by the paper's |theta_ij| > gamma / 2; whether any was open.

        theta_ij is the largest coefficient that the knob owns, in the basis as it is. A scope is
        not left empty: its knob with the largest one stays.
        """
        opened = self.open
        for i in np.unique(self.criterion[opened]).tolist():
            mine, theta = self._of(i), np.abs(estimators.theta(i))
            candidates = mine[opened[mine]]
            for unit in np.unique(self.unit[candidates]):
                at = candidates[self.unit[candidates] == unit]
                largest = theta[features_of(estimators.problem, i, self.knob[at])].max(initial=0.0)
                self.statistic[at] = self.size[at] = largest
                self.threshold[at], self.bound[at], self.round[at] = gamma[i] / 2.0, np.inf, clock
                self.decision[at] = INCLUDED if largest > gamma[i] / 2.0 else EXCLUDED
            if not self.kept[mine].any():
                best = candidates[np.argmax(self.statistic[candidates])]
                self.decision[mine[self.unit[mine] == self.unit[best]]] = INCLUDED
        return bool(opened.any())

    def reopen(self, criteria: Ints) -> Ints:
        """Decide these criteria's edges anew, of which some were excluded; which edges: (r,)."""
        mine = np.isin(self.criterion, criteria)
        again = np.flatnonzero(mine & (self.decision == EXCLUDED))
        self.decision[mine & ((self.decision == EXCLUDED) | (self.decision == INCLUDED))] = (
            UNDECIDED
        )
        return again

    def __iter__(self) -> Iterator[Edge]:
        """One row per edge, criterion after criterion."""
        columns = (self.criterion, self.knob, self.statistic, self.threshold, self.size, self.bound)
        names = [NAMES[decision] for decision in self.decision]
        rows = zip(
            *(column.tolist() for column in columns), names, self.round.tolist(), strict=True
        )
        return (Edge(*row) for row in rows)

    def __str__(self) -> str:
        """A table for people."""
        head = "criterion  knob   statistic   threshold      size     bound  decision"
        rows = [
            f"{edge.criterion:9d}  {edge.knob:4d}  {edge.statistic:10.4g}  {edge.threshold:10.4g}"
            f"  {edge.size:8.3g}  {edge.bound:8.3g}  {edge.decision}"
            for edge in self
        ]
        return "\n".join([head, *rows])

    def snapshot(self) -> dict[str, Any]:
        """The evidence as plain arrays."""
        return {name: getattr(self, name).copy() for name in _EVIDENCE}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Become what `snapshot` saw; the arrays are known to fit."""
        for name in _EVIDENCE:
            getattr(self, name)[:] = saved[name]

    def _of(self, i: int) -> Ints:
        """The edges of criterion i."""
        return np.arange(self._offsets[i], self._offsets[i + 1])


_EVIDENCE = ("statistic", "threshold", "size", "bound", "decision", "round")


def posterior_radii(problem: Problem, edges: Edges, sigma: Array) -> Array:
    """The radii that make a test of all edges wrong with probability 0.05, by the posterior: (m,).

    With a prior theta_G is normal about its estimate, and its squared distance from it, in the
    metric of the test, is sigma^2 times chi-square with as many degrees as G has features. Every
    edge has an equal share of the probability; a criterion has the radius of its largest group.

    Args:
        problem: on the graph as it is known now.
        edges: of the super-graph.
        sigma: (m,) the noise of each criterion.
    """
    from scipy.special import chdtri

    share = LEVEL / max(int((edges.decision != FIXED).sum()), 1)
    widest = np.ones(problem.criteria)
    for i in np.unique(edges.criterion[edges.open]).tolist():
        mine = (edges.criterion == i) & edges.open
        for unit in np.unique(edges.unit[mine]):
            knobs = edges.knob[mine & (edges.unit == unit)]
            widest[i] = max(widest[i], features_of(problem, i, knobs).size)
    return np.asarray(sigma * np.sqrt(chdtri(widest, share)))


class Regression:
    """One criterion's regression, as far as tests of its edges need it."""

    def __init__(self, estimators: NodewiseEstimators, criterion: int) -> None:
        R, self.v, _ = estimators.split(criterion)
        self.inverse = np.linalg.solve(R, np.eye(len(R)))  # R^{-1}
        self.problem, self.criterion = estimators.problem, criterion
        self.map = orthonormal(estimators.problem, criterion)

    def test(self, knobs: Ints) -> tuple[float, float, float]:
        """The statistic of these knobs, their estimated size, and |W C|: its error per radius."""
        G, C = group(self.problem, self.map, self.criterion, knobs)
        W = self.inverse[:, G]
        theta = W.T @ self.v
        Q = np.linalg.qr(W)[0]  # theta_G' (W' W)^{-1} theta_G = |Q' v|^2
        return float(np.sum((Q.T @ self.v) ** 2)), float(np.linalg.norm(C.T @ theta)), norm(W @ C)


def norm(matrix: Array) -> float:
    """The largest singular value, 0 of an empty matrix."""
    return float(np.linalg.norm(matrix, 2)) if matrix.size else 0.0


def units(problem: Problem) -> Ints:
    """What each knob is decided with: itself, or on balls its block: (k,)."""
    domain = problem.domain
    return domain.block_of if isinstance(domain, BoundBalls) else np.arange(problem.knobs)


def orthonormal(problem: Problem, criterion: int) -> Coordinates:
    """A criterion's features in orthonormal coordinates.

    Raises:
        InvalidInput: the basis is not made of monomials, or of waves of one and two knobs.
    """
    if not isinstance(problem.features, Monomials | Waves):
        raise InvalidInput(
            f"{type(problem.basis).__name__} mixes all knobs of a scope in every feature, so that "
            "no knob can be left out; learn the graph with a basis of monomials, for example "
            "Quadratic(), or with PairwiseFourier()"
        )
    return coordinates(problem.features, problem.domain, criterion)


def group(problem: Problem, map_: Coordinates, criterion: int, knobs: Ints) -> tuple[Ints, Array]:
    """The features that these knobs own, G, and C, so that their size is |C' theta_G|."""
    G = features_of(problem, criterion, knobs)
    return G, map_.B[np.ix_(G, np.flatnonzero(map_.columns(knobs)))]


def features_of(problem: Problem, criterion: int, knobs: Ints) -> Ints:
    """The features of a criterion that these knobs own, G."""
    return np.unique(np.concatenate([problem.features.owned(criterion, int(j)) for j in knobs]))
