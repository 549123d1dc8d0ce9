r"""The objective of every solve: the lower confidence bound of the total loss.

    F(s) = sum_i w_i (phi_i(s)' theta_i - beta_i sqrt(phi_i(s)' V_i^{-1} phi_i(s)))

with the weights w_i (all 1 in the paper). The second part alone,
W(s) = sum_i w_i beta_i sqrt(...), is the width: on the good event the regret of playing s
is at most 2 W(s) + F(s) - min F.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np

from trimtab._core import Objective
from trimtab.arrays import Array, Ints
from trimtab.bases import Monomials
from trimtab.domain import BoundBox, BoundDomain
from trimtab.estimators import NodewiseEstimators, Radius
from trimtab.problem import Problem


class LCB:
    """The lower confidence bound at the estimators' statistics, as of their last `update`.

    It reads the estimators' arrays where they are, and keeps the radii: after a flush
    the criteria flushed must be updated. Solves look for states in `domain`, the problem's own
    or a part of it.
    """

    def __init__(self, estimators: NodewiseEstimators, radius: Radius) -> None:
        self.estimators, self.radius = estimators, radius
        self.domain: BoundDomain = estimators.problem.domain
        evidence = estimators.evidence(estimators.problem.all_criteria)
        self.radii = np.array(radius.radii(evidence))  # (m,) beta_i

    def within(self, domain: BoundDomain) -> LCB:
        """The same bound, for solves that look in this part of the domain only."""
        part = copy(self)
        part.domain = domain
        if self.objective is not None and isinstance(domain, BoundBox):
            part.objective = self.objective.within(
                domain.low, domain.high, domain.level_offsets, domain.level_values
            )
        return part

    @cached_property
    def objective(self) -> Objective | None:
        """The bound as the compiled core sees it, on a box with monomial features; else None."""
        problem, book, domain = self.problem, self.estimators.book, self.domain
        if not (isinstance(domain, BoundBox) and isinstance(problem.features, Monomials)):
            return None
        return Objective(
            maps=problem.features.core,
            blocks=book.blocks,
            R=book.R,
            weights=problem.weights,
            radii=self.radii,
            scope_offsets=problem.graph.scope_offsets,
            scope=problem.graph.scope_knobs,
            touch_offsets=problem.graph.touch_offsets,
            touch=problem.graph.touch_criteria,
            low=domain.low,
            high=domain.high,
            level_offsets=domain.level_offsets,
            levels=domain.level_values,
        )

    @property
    def problem(self) -> Problem:
        """The problem whose loss is bounded."""
        return self.estimators.problem

    def update(self, criteria: Ints) -> None:
        """Take in what these criteria's last flush has changed."""
        if not self.radius.constant:
            self.radii[criteria] = self.radius.radii(self.estimators.evidence(criteria))

    def terms(self, state: Array, criteria: Ints | None = None) -> tuple[Array, Array]:
        """Each criterion's part of F: its estimated loss and its width, weights included."""
        problem, book = self.problem, self.estimators.book
        asked = problem.all_criteria if criteria is None else criteria
        phi = np.empty_like(book.phi)
        problem.features.fill(phi, state, asked)
        means, spreads = book.core.predict(asked, phi)
        weights = problem.weights[asked]
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

    def gradient(self, state: Array, criteria: Ints | None = None) -> Array:
        """The derivatives of F by every knob: (k,). At a width of 0 the mean's alone."""
        problem, estimators = self.problem, self.estimators
        offsets = estimators.book.offsets
        asked = problem.all_criteria if criteria is None else criteria
        phi = problem.phi(state)
        slope = np.zeros(problem.knobs)
        for i in asked.tolist():
            R, v, _ = estimators.split(i)
            u = np.linalg.solve(R, phi[offsets[i] : offsets[i + 1]])
            width = float(np.sqrt(u @ u))
            pull = v - self.radii[i] * u / width if width > 0.0 else v
            J = problem.features.jacobian(i, state)
            slope[problem.graph.scope(i)] += problem.weights[i] * (J.T @ np.linalg.solve(R.T, pull))
        return slope
