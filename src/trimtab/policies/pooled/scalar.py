"""The naive reduction: one bandit for the total loss, blind to who caused it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trimtab import arrays
from trimtab.arrays import NOBODY, Array, ArrayLike, read_only
from trimtab.learn import Confidence, Prior
from trimtab.model.bases import Custom, Features, Monomials
from trimtab.model.bases.monomial import MonomialArrays
from trimtab.model.domain import BoundBalls, BoundDomain
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.policies.base import Policy, Told
from trimtab.policies.learner import Learner, rounds_of
from trimtab.policies.registry import register


@register
class ScalarLinUCB(Policy):
    """LinUCB that sees only the weighted sum of all losses, in the features of all criteria.

    The paper's "naive reduction". Its one estimator has every feature that any criterion has,
    each once, and reads every knob. A round in which a loss is missing teaches it nothing.

    >>> import trimtab as tt
    >>> world = tt.worlds.quadratic(tt.Graph.from_edges(3, [(0, 1), (1, 2)]), seed=1)
    >>> policy = tt.ScalarLinUCB(world.problem, start=[0.5] * 3, radius=0.5)
    >>> world.problem.dims, policy.learner.problem.dims
    (array([ 6, 10,  6]), array([10]))

    Args:
        problem: the knobs, the criteria and the features between them.
        start: the state the system is in now; the first move leaves it.
        radius: beta of the total, a number or a `Confidence` with the noise and the norm
            of the total. None for a prior.
        reg: the ridge parameter that goes with a radius; 1 by default.
        prior: what is believed of the total before any loss is seen, `Prior()` by default.
        seed: of the solver's random starts.
    """

    _own: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        problem: Problem,
        *,
        start: ArrayLike,
        radius: ArrayLike | Confidence | None = None,
        reg: ArrayLike | None = None,
        prior: Prior | None = None,
        seed: int = 0,
    ) -> None:
        total = Total(problem)
        self.learner = Learner(
            total, start=start, radius=radius, reg=reg, prior=prior, factor=1.0, seed=seed
        )
        if self.learner.ready:
            self.learner.resolve(reset=total.all_criteria)

    @property
    def problem(self) -> Problem:
        """The problem whose total loss is being minimised."""
        total = self.learner.problem
        return total.parts if isinstance(total, Total) else total

    def tell(
        self, losses: ArrayLike | None, *, played: ArrayLike | None = None, count: ArrayLike = 1
    ) -> Told:
        """Learn from the total of the losses, then move to the new minimiser.

        Where the losses are means of different numbers of rounds, their total counts
        for the smallest.
        """
        if losses is None:
            self.learner.observe(None, played=played, count=count)
            return self._moved()
        m = self.problem.criteria
        y, _ = arrays.losses(losses, m)
        n = arrays.counts(count, m, losses=y)
        here = played is None or np.array_equal(
            self.problem.domain.check(played, "played"), self.ask()
        )
        total = float(self.problem.weights @ y)  # NaN if one is missing
        least = int(n.min())
        self.learner.observe([total], played=played, count=least)
        if here and n.all():  # rounds that teach it nothing pass as well
            self.learner.wait(rounds_of(y, n) - (1 if np.isnan(total) else least))
        return self._moved()

    @classmethod
    def _as_learned(cls, problem: Problem) -> Problem:
        return Total(problem)

    def _moved(self) -> Told:
        if not self.learner.ready:
            left = int(self.learner.lacking().max())
            return Told(triggered=NOBODY, cause="none", moved=0.0, next_review=left)
        moved = self.learner.resolve(reset=self.learner.problem.all_criteria)
        return Told(triggered=NOBODY, cause="trigger", moved=moved, next_review=1)


class Total(Problem):
    """A problem whose one criterion is the total loss of another problem, its `parts`."""

    def __init__(self, parts: Problem) -> None:
        self.parts = parts
        read = np.unique(parts.graph.scope_knobs)
        super().__init__(
            Graph.from_scopes([read.tolist()], knobs=parts.knobs),
            basis=_Together(parts),
            domain=parts.domain.unbound(),
            **parts.prices,
        )


@dataclass(frozen=True)
class _Together:
    """All features of a problem, as those of one criterion."""

    parts: Problem

    def bind(self, graph: Graph, domain: BoundDomain) -> Features:
        features = self.parts.features
        if isinstance(features, Monomials):
            return self._monomials(features, graph, domain)
        bound = float(np.linalg.norm(features.bounds))
        together = Custom(function=self._phi, bound=bound, jacobian=self._slopes)
        return together.bind(graph, domain)

    def _monomials(self, features: Monomials, graph: Graph, domain: BoundDomain) -> Monomials:
        """Each different s_a^p s_b^q once, with a <= b, so that s_1 s_2 is s_2 s_1."""
        maps = features.arrays
        p, q = maps.p, maps.q
        a, b = np.where(p > 0, maps.a, 0), np.where(q > 0, maps.b, 0)
        swap = (q > 0) & (b < a)
        rows = np.column_stack(
            (np.where(swap, b, a), np.where(swap, a, b), np.where(swap, q, p), np.where(swap, p, q))
        )
        a, b, p, q = np.unique(rows, axis=0).T
        longest = np.sqrt(((domain.high[a] ** p * domain.high[b] ** q) ** 2).sum())
        if isinstance(domain, BoundBalls):  # linear: a ball each, and perhaps a constant
            longest = np.sqrt(domain.blocks_per_scope(graph)[0] + (p == 0).sum())
        scaled = getattr(self.parts.basis, "normalize", True) and longest > 0.0
        maps = MonomialArrays(
            offsets=read_only(np.array([0, a.size])),
            a=a.astype(np.int32),
            b=b.astype(np.int32),
            p=p.astype(np.int8),
            q=q.astype(np.int8),
            scale=np.array([1.0 / longest if scaled else 1.0]),
        )
        bounds = np.array([1.0 if scaled else longest])
        return Monomials(maps, read_only(bounds), graph)

    def _state(self, values: Array) -> Array:
        state = self.parts.domain.anchor.copy()
        state[np.unique(self.parts.graph.scope_knobs)] = values
        return state

    def _phi(self, criterion: int, values: Array) -> Array:
        return self.parts.phi(self._state(values))

    def _slopes(self, criterion: int, values: Array) -> Array:
        graph, state = self.parts.graph, self._state(values)
        slopes = np.zeros((int(self.parts.dims.sum()), graph.knobs))
        for i, first in enumerate(self.parts.features.offsets[:-1]):
            J = self.parts.features.jacobian(i, state)
            slopes[first : first + len(J), graph.scope(i)] = J
        return slopes[:, np.unique(graph.scope_knobs)]
