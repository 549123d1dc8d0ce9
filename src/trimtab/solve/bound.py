r"""What every solve minimises: a confidence bound of a sum of regressions, as a value.

    F(s) = sum_i w_i (phi_i(s)' theta_i - beta_i sqrt(phi_i(s)' V_i^{-1} phi_i(s)))

with the weights w_i (all 1 in the paper). The second part alone,
W(s) = sum_i w_i beta_i sqrt(...), is the width: on the good event the regret of playing s
is at most 2 W(s) + F(s) - min F. With a plus sign the sum is an upper bound, which a
`Constraint` keeps below a limit.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trimtab._core import Objective, predict
from trimtab.arrays import Array, ArrayLike, Ints, read_only, refuse_where
from trimtab.errors import InvalidInput
from trimtab.learn.statistics import triangles, unpack
from trimtab.model.bases import Monomials
from trimtab.model.domain import BoundBox, BoundDomain
from trimtab.model.problem import Problem


class Bound:
    """Features, factors, weights, radii and bounds of the knobs; it reads arrays where they are.

    >>> import trimtab as tt
    >>> problem = tt.Problem(tt.Graph.complete(2), basis=tt.bases.Linear(normalize=False))
    >>> known = Bound.of_parameters(problem, np.array([1.0, -1.0, 0.0, 2.0]))
    >>> known.mean(np.array([0.5, 0.5])), known.width(np.array([0.5, 0.5]))
    (1.0, 0.0)

    Args:
        problem: gives the features, the weights and the domain.
        R: the augmented factor of each criterion, one packed triangle after another.
        radii: beta_i of each criterion, or one for all.
    """

    def __init__(self, problem: Problem, R: Array, radii: ArrayLike) -> None:
        self.problem, self.R = problem, R
        self.domain: BoundDomain = problem.domain
        self.weights = problem.weights
        self.blocks = read_only(triangles(problem.dims))
        if R.shape != (self.blocks[-1],):
            raise InvalidInput(
                f"R has shape {R.shape}, expected ({self.blocks[-1]},): "
                "(d + 1) (d + 2) / 2 numbers for a criterion of d features"
            )
        self.radii = np.array(np.broadcast_to(radii, problem.criteria), dtype=np.float64)
        refuse_where(~(self.radii >= 0.0), self.radii, "radii", "must be at least 0")

    @classmethod
    def of_parameters(cls, problem: Problem, theta: Array) -> Bound:
        """The expected loss for known parameters theta, (sum d,): V = I, b = theta, no width."""
        d, offsets = problem.dims, problem.features.offsets
        starts = np.repeat(triangles(d)[:-1], d)
        row = np.arange(theta.size) - np.repeat(offsets[:-1], d)
        R = np.zeros(int(triangles(d)[-1]))
        R[starts + (row + 1) * (row + 2) // 2 - 1] = 1.0
        R[starts + np.repeat(d * (d + 1) // 2, d) + row] = theta
        return cls(problem, R, 0.0)

    def within(self, domain: BoundDomain) -> Bound:
        """The same bound, for solves that look in this part of the domain only."""
        part = copy(self)
        part.domain = domain
        part.__dict__.pop("core", None)
        return part

    @cached_property
    def core(self) -> Objective | None:
        """The bound as the compiled core sees it, on a box with monomial features; else None."""
        problem, domain = self.problem, self.domain
        if not (isinstance(domain, BoundBox) and isinstance(problem.features, Monomials)):
            return None
        return Objective(problem.features.core, self, problem.graph, domain)

    def predict(self, state: Array, criteria: Ints) -> tuple[Array, Array]:
        """phi_i' theta_i and phi_i' V_i^{-1} phi_i of these criteria at a state."""
        features = self.problem.features
        phi = np.empty(features.offsets[-1])
        features.fill(phi, state, criteria)
        return predict(self.R, self.blocks, features.offsets, criteria, phi)

    def terms(self, state: Array, criteria: Ints | None = None) -> tuple[Array, Array]:
        """Each criterion's part of F: its estimated loss and its width, weights included."""
        asked = self.problem.all_criteria if criteria is None else criteria
        means, spreads = self.predict(state, asked)
        weights = self.weights[asked]
        return weights * means, weights * self.radii[asked] * np.sqrt(spreads)

    def value(self, state: Array, criteria: Ints | None = None) -> float:
        """F(s), or the part of it that the given criteria contribute."""
        means, widths = self.terms(state, criteria)
        return float(means.sum() - widths.sum())

    def mean(self, state: Array) -> float:
        """The estimated total loss at a state, weights included."""
        return float(self.terms(state)[0].sum())

    def width(self, state: Array) -> float:
        """W(s): how much of F(s) is optimism."""
        return float(self.terms(state)[1].sum())

    def pruned(self, state: Array, current: Array, price: Array, left: float) -> Array:
        """The state without the moves that hardly matter to it, the smallest first.

        What is given up of F and the price of moving is, all together, at most this.
        """
        steps, best = np.abs(state - current), state.copy()
        for j in np.argsort(steps, kind="stable").tolist():
            if steps[j] > 0.0:
                readers, there = self.problem.graph.touching(j), best[j]
                value = self.value(best, readers)
                best[j] = current[j]
                loss = self.value(best, readers) - value - price[j] * steps[j]
                if loss <= left:
                    left -= loss
                else:
                    best[j] = there
        return best

    def gradient(
        self, state: Array, criteria: Ints | None = None, *, optimism: float = 1.0
    ) -> Array:
        """The derivatives of F by every knob: (k,). At a width of 0 the mean's alone.

        Args:
            state: where.
            criteria: whose parts, all by default.
            optimism: how often the width is subtracted; -1 for those of the upper bound.
        """
        problem, offsets = self.problem, self.problem.features.offsets
        asked = problem.all_criteria if criteria is None else criteria
        phi = problem.phi(state)
        slope = np.zeros(problem.knobs)
        for i in asked.tolist():
            R, v = self.factor(i)
            u = np.linalg.solve(R, phi[offsets[i] : offsets[i + 1]])
            width = float(np.sqrt(u @ u))
            pull = v - optimism * self.radii[i] * u / width if width > 0.0 else v
            J = problem.features.jacobian(i, state)
            slope[problem.graph.scope(i)] += self.weights[i] * (J.T @ np.linalg.solve(R.T, pull))
        return slope

    def factor(self, criterion: int) -> tuple[Array, Array]:
        """The lower triangle R_i of V_i = R_i R_i', (d, d), and v_i = R_i^{-1} b_i: (d,)."""
        d = int(self.problem.dims[criterion])
        A = unpack(self.R, int(self.blocks[criterion]), d + 1)
        return A[:d, :d], A[d, :d]


@dataclass(frozen=True)
class Constraint:
    """A state is admissible if an upper bound, mean plus width, stays at or below a limit.

    The regressions are of other losses than those that are minimised, over the same knobs.
    """

    bound: Bound
    limit: float

    def excess(self, state: Array) -> float:
        """How far the upper bound is above the limit; admissible states have none."""
        means, widths = self.bound.terms(state)
        return float(means.sum() + widths.sum()) - self.limit

    def slope(self, state: Array) -> Array:
        """The derivatives of the upper bound by every knob: (k,)."""
        return self.bound.gradient(state, optimism=-1.0)
