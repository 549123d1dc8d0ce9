"""The lower confidence bound of a policy: the bound that its estimators and its radius make."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Ints
from trimtab.learn import NodewiseEstimators, Radius
from trimtab.solve.bound import Bound


class LCB(Bound):
    """The lower confidence bound at the estimators' statistics, as of their last `update`.

    It reads the estimators' factors where they are, and keeps the radii: after a flush
    the criteria flushed must be updated.
    """

    def __init__(self, estimators: NodewiseEstimators, radius: Radius) -> None:
        problem = estimators.problem
        evidence = estimators.evidence(problem.all_criteria)
        super().__init__(problem, estimators.stats.R, np.array(radius.radii(evidence)))
        self.estimators, self.radius = estimators, radius
        self.blocks = estimators.stats.blocks

    def update(self, criteria: Ints) -> None:
        """Take in what these criteria's last flush has changed."""
        if not self.radius.constant:
            self.radii[criteria] = self.radius.radii(self.estimators.evidence(criteria))
