r"""The better of two lower confidence bounds on the total loss, and where it is least.

    F_J(s) = omega' Psi(s) w - beta_J |Psi(s)' omega|_{V^-1}

is an LCB of one criterion that reads every knob of every factor, so that `solve` can minimise
it. If both bounds hold, so does F = max(F_node, F_J), and no state's F is below the minimum of
either, or of any mixture

    F_lambda = lambda F_node + (1 - lambda) F_J <= F,

which is again an LCB, of m + 1 criteria. A minimiser of a mixture at which both bounds are equal
minimises F; the minimiser of one bound does where that one is the larger. Where there is no
such mixture, knobs are moved one by one from the best state found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, read_only
from trimtab.learn.joint.estimator import JointEstimator
from trimtab.learn.statistics import triangles
from trimtab.model.bases import Features, Monomials
from trimtab.model.bases.monomial import MonomialArrays
from trimtab.model.bases.stacked import Joined, Laid, Together
from trimtab.model.domain import BoundBox, BoundDomain
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.solve import Bound, Solution, solve

HALVINGS = 6  # of the interval of lambda
MIXED_EFFORT = 0.25  # of each mixture, as a share of that of the two bounds
TIED = 1e-9  # of |F|: candidates this close to the best count as equal
STEPS = 2.0 ** -np.arange(19)  # by which knobs are moved in the end


class JointBound:
    """F = max(F_node, F_J), or F_J alone where no node-wise bound is given.

    It reads the estimators where they are; after a flush of the joint one it must be updated.
    """

    def __init__(self, joint: JointEstimator, nodes: Bound | None) -> None:
        factors = joint.factors
        problem, own = factors.problem, factors.problem.features
        self.joint, self.nodes = joint, nodes
        scope = np.unique(factors.graph.scope_knobs).tolist()
        # phi = c x, x as the solver has them: R^{-1} phi = (R / c)^{-1} x, row by row.
        c = factors.pulls
        if isinstance(factors.features, Monomials):
            maps = factors.features.arrays
            c = c * maps.scale[factors.owner]  # and x the bare monomials
            rows = replace(maps, offsets=read_only(np.array([0, factors.dim])), scale=np.ones(1))
            self.total = _blank(problem, [scope], rows)
        else:
            together = Together(factors.features, factors.graph)
            self.total = _blank(problem, [scope], together)
        self._rescale = np.repeat(np.append(1.0 / c, 1.0), np.arange(1, c.size + 2))
        self.mixture = self.total
        if nodes is None:
            return
        scopes = [problem.graph.scope(i).tolist() for i in range(problem.criteria)]
        if isinstance(factors.features, Monomials) and isinstance(own, Monomials):
            both = MonomialArrays(
                offsets=read_only(np.append(own.offsets, own.offsets[-1] + factors.dim)),
                a=np.concatenate((own.arrays.a, rows.a)),
                b=np.concatenate((own.arrays.b, rows.b)),
                p=np.concatenate((own.arrays.p, rows.p)),
                q=np.concatenate((own.arrays.q, rows.q)),
                scale=np.append(own.arrays.scale, 1.0),
            )
            self.mixture = _blank(problem, [*scopes, scope], both)
        else:
            joined = Joined([own, self.total.problem.features])
            self.mixture = _blank(problem, [*scopes, scope], joined)

    def update(self, radius: float) -> None:
        """Take in what the joint estimate's last flush has changed, and its radius."""
        self.total.R[:] = self.joint.R * self._rescale
        self.total.radii[0] = radius

    def interval(self, state: Array) -> tuple[float, float]:
        """F(s), and the smaller of the two upper bounds."""
        means, widths = self.total.terms(state)
        low, high = float(means[0] - widths[0]), float(means[0] + widths[0])
        if self.nodes is None:
            return low, high
        means, widths = self.nodes.terms(state)
        mean, width = float(means.sum()), float(widths.sum())
        return max(low, mean - width), min(high, mean + width)

    def value(self, state: Array) -> float:
        """F(s)."""
        return self.interval(state)[0]

    def solve(
        self,
        current: Array,
        *,
        free: Ints | None = None,
        price: ArrayLike = 0.0,
        effort: float = 1.0,
        certify: float | None = None,
        seed: int = 0,
        domain: BoundDomain | None = None,
    ) -> Solution:
        """A state of small F, price included, and the largest lower bound proven, if any.

        The arguments are those of `solvers.solve`, and the part of the domain to look in.
        """
        where = self.total.domain if domain is None else domain

        def minimum(bound: Bound, effort: float) -> Solution:
            return solve(
                bound.within(where),
                current,
                free=free,
                price=price,
                effort=effort,
                certify=certify,
                seed=seed,
            )

        found = [minimum(self.total, effort)]
        if self.nodes is None:
            return found[0]
        found.append(minimum(self.nodes, effort))
        low, high = 0.0, 1.0  # of lambda
        between = self._lead(found[0].state) > 0.0 > self._lead(found[1].state)
        for _ in range(HALVINGS if between else 0):
            share = 0.5 * (low + high)
            mixed = self._mixed(self.nodes, share)
            found.append(minimum(mixed, MIXED_EFFORT * effort))
            if self._lead(found[-1].state) > 0.0:
                low = share
            else:
                high = share
        prices = np.broadcast_to(np.asarray(price, np.float64), current.shape)
        best = self._best(found, current, prices)
        if between:
            best = self._settled(best, current, prices, free, where)
        known = [x.lower_bound for x in found if x.lower_bound is not None]
        return replace(best, lower_bound=min(max(known), best.value) if known else None)

    def _lead(self, state: Array) -> float:
        """F_node - F_J."""
        return 0.0 if self.nodes is None else self.nodes.value(state) - self.total.value(state)

    def _cost(self, state: Array, current: Array, prices: Array) -> float:
        return self.value(state) + float(prices @ np.abs(state - current))

    def _mixed(self, nodes: Bound, share: float) -> Bound:
        """The mixture with this share of the node-wise bound: means and radii are scaled."""
        mixture = self.mixture
        weights = np.append(share * nodes.problem.weights, 1.0 - share)
        mixture.R[:] = np.concatenate((nodes.R, self.total.R))
        dims = mixture.problem.dims
        for weight, end, d in zip(weights, mixture.blocks[1:], dims, strict=True):
            mixture.R[end - d - 1 : end] *= weight  # the last row: v, and rho
        mixture.radii[:] = weights * np.append(nodes.radii, self.total.radii)
        return mixture

    def _best(self, found: list[Solution], current: Array, prices: Array) -> Solution:
        """The best of the states found and the current one; of those tied the nearest."""
        states = [current, *(x.state for x in found)]
        values = [self._cost(s, current, prices) for s in states]
        least = min(values)
        tied = [n for n, y in enumerate(values) if y <= least + TIED * abs(least)]
        far = [float(np.abs(s - current).sum()) for s in states]
        best = min(tied, key=lambda n: (far[n], states[n].tolist()))
        return Solution(states[best], values[best], None, sum(x.work for x in found))

    def _settled(
        self,
        found: Solution,
        current: Array,
        prices: Array,
        free: Ints | None,
        domain: BoundDomain,
    ) -> Solution:
        """The same, with every continuous knob where a step either way makes it no better."""
        read = self.total.problem.graph.scope(0)
        if not isinstance(domain, BoundBox):
            return found
        state, value = found.state.copy(), found.value
        knobs = np.setdiff1d(read if free is None else np.intersect1d(read, free), domain.leveled)
        for step in STEPS.tolist():
            for j in knobs.tolist():
                for way in (-step, step):
                    trial = state.copy()
                    trial[j] = np.clip(state[j] + way, domain.low[j], domain.high[j])
                    there = self._cost(trial, current, prices)
                    if there < value - TIED * abs(value):
                        state, value = trial, there
        return replace(found, state=state, value=value)


def _blank(problem: Problem, scopes: list[list[int]], features: Features | MonomialArrays) -> Bound:
    """A bound of these features over the problem's domain, its factors and radii to be set."""
    graph = Graph.from_scopes(scopes, knobs=problem.knobs)
    other = Problem(graph, basis=Laid(features), domain=problem.domain.unbound())
    return Bound(other, np.zeros(int(triangles(other.dims)[-1])), 0.0)
