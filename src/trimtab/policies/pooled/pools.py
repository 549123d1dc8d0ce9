"""Which criteria are alike, and the problem in which those that are alike are one."""

from __future__ import annotations

from typing import Literal

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, per_item
from trimtab.errors import InvalidInput
from trimtab.learn import Confidence, Prior, as_radius
from trimtab.learn.confidence import BoundConfidence, FixedRadius
from trimtab.learn.nodewise import Owed
from trimtab.model.bases import Features, Monomials
from trimtab.model.bases.features import spans
from trimtab.model.bases.fourier import Fourier
from trimtab.model.bases.pairwise_fourier import Waves
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem

Dependence = Literal["independent", "correlated"]


def alike(problem: Problem, reg: Array) -> Ints:
    """The group of each criterion: (m,). One group has one scope, one feature map, one reg.

    Groups are numbered in the order of their first members. Features of the user's own
    (`Custom`) may depend on the criterion, so that no two are known to be the same.

    >>> import trimtab as tt
    >>> alike(tt.Problem(tt.Graph.cliques([2, 1, 2])), np.array([1.0, 1.0, 1.0, 1.0, 0.5]))
    array([0, 0, 1, 2, 3])
    """
    features, numbers = problem.features, dict[tuple[object, ...], int]()
    keys = (
        (problem.graph.scope(i).tobytes(), *_map(features, i), float(reg[i]))
        for i in range(problem.criteria)
    )
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _map(features: Features, i: int) -> tuple[object, ...]:
    """What is the same for two criteria of one scope only if their features are."""
    if isinstance(features, Monomials):
        maps, mine = features.arrays, slice(features.offsets[i], features.offsets[i + 1])
        rows = (column[mine].tobytes() for column in (maps.a, maps.b, maps.p, maps.q))
        return (*rows, float(maps.scale[i]))
    if isinstance(features, Fourier):  # one set of frequencies for all scopes of one size
        return (int(features.arrays.w_start[i]),)
    if isinstance(features, Waves):
        return ()
    return (i,)


class Pools:
    """Groups of criteria that are alike, each to be learned as one.

    With the weights w_i and w = sum_i w_i over the members of a group, its loss is the mean
    sum_i (w_i / w) y_i, its weight w, and its parameter the same mean of the members'.

    Args:
        problem: as the user has given it.
        group: (m,) the group of each criterion, as `alike` numbers them.
    """

    def __init__(self, problem: Problem, group: Ints) -> None:
        self.group = group
        self.members: Ints = np.argsort(group, kind="stable")  # (m,) one group after another
        self.sizes: Ints = np.bincount(group)  # (G,)
        self.starts: Ints = np.cumsum(self.sizes) - self.sizes  # (G,)
        self.first: Ints = self.members[self.starts]  # (G,)
        weights = np.add.reduceat(problem.weights[self.members], self.starts)
        self.shares: Array = problem.weights / weights[group]  # (m,) exactly 1 for one alone
        self.problem = problem if self.trivial else self._pooled(problem, weights)

    @property
    def trivial(self) -> bool:
        """Whether no two criteria are alike."""
        return self.sizes.size == self.group.size

    def _pooled(self, problem: Problem, weights: Array) -> Problem:
        graph = problem.graph
        centres = None if graph.centres is None else graph.centres[self.first].tolist()
        scopes = [graph.scope(i).tolist() for i in self.first.tolist()]
        return Problem(
            Graph.from_scopes(scopes, knobs=graph.knobs, centres=centres),
            basis=problem.basis,
            domain=problem.domain.unbound(),
            weights=weights,
            **problem.prices,
        )

    # From criteria to groups: (m,) to (G,).

    def mean(self, values: Array) -> Array:
        """The weighted mean over each group; NaN where a member's value is missing."""
        return np.asarray(np.add.reduceat((self.shares * values)[self.members], self.starts))

    def mean_rows(self, rows: Array) -> Array:
        """The same of several rounds, one row each: (n, G)."""
        each = (self.shares * rows)[:, self.members]
        return np.asarray(np.add.reduceat(each, self.starts, axis=1))

    def least(self, counts: Ints) -> Ints:
        """The smallest count in each group.

        Means of n_i rounds have the noise sum_i (w_i / w)^2 sigma_i^2 / n_i, or the like for
        correlated noise: never more than that of the smallest n_i for all.
        """
        return np.asarray(np.minimum.reduceat(counts[self.members], self.starts))

    def scale(self, sigma: Array, noise: Dependence | None) -> Array:
        """The noise of each group's loss, from that of each criterion's."""
        if noise is None:
            raise InvalidInput(
                "noise is missing; to pool a given noise say whether it is 'independent' or "
                "'correlated', or give neither radius nor sigma: then it is learned"
            )
        if noise == "correlated":
            return self.mean(sigma)
        squares = ((self.shares * sigma) ** 2)[self.members]
        return np.asarray(np.sqrt(np.add.reduceat(squares, self.starts)))

    def prior(self, prior: Prior, noise: Dependence | None) -> Prior:
        """The prior of the groups: what is told of the criteria, pooled; the rest is learned."""

        def each(value: ArrayLike, name: str) -> Array:
            return per_item(value, self.group.size, name, "criterion", low=0.0, strict=True)

        spread, sigma = prior.spread, prior.sigma
        return Prior(
            spread=None if spread is None else self.mean(each(spread, "spread")),
            sigma=None if sigma is None else self.scale(each(sigma, "sigma"), noise),
        )

    def radius(
        self, radius: ArrayLike | Confidence, noise: Dependence | None
    ) -> ArrayLike | Confidence:
        """The radius of each group; fixed numbers are taken for multiples of the noise."""
        rule = as_radius(radius, self.group.size)
        if isinstance(rule, BoundConfidence):
            sigma = None if rule.sigma is None else self.scale(rule.sigma, noise)
            norm = self.mean(rule.norm)
            return Confidence(sigma=sigma, norm=norm, delta=rule.delta, form=rule.form)
        return self.scale(rule.beta, noise) if isinstance(rule, FixedRadius) else radius

    def owed(self, owed: Owed) -> Owed:
        """The losses owed to groups, from those owed to their members.

        The squares are right on average for independent noise, as all that is drawn in sums.
        """

        def pooled(groups: Ints, n: Ints) -> tuple[Array, Array]:
            sizes = self.sizes[groups]
            members = self.within(groups)
            mean, squares = owed(members, np.repeat(n, sizes))
            shares, starts = self.shares[members], np.cumsum(sizes) - sizes
            return (
                np.add.reduceat(shares * mean, starts),
                np.add.reduceat(shares**2 * squares, starts),
            )

        return pooled

    # And back.

    def within(self, groups: Ints) -> Ints:
        """The members of these groups, one group after another."""
        return self.members[spans(self.starts[groups], self.sizes[groups])]
