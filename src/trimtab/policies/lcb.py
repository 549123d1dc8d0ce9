"""The lower confidence bound of a policy: the bound that its estimators and its radius make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab._core import LocalUpdate
from trimtab.arrays import Array, Ints
from trimtab.learn import NodewiseEstimators, Radius
from trimtab.learn.confidence import BoundConfidence, FixedRadius, union
from trimtab.model.domain import BoundBox
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


@dataclass(frozen=True, eq=False)
class Growing:
    """Radii that grow with what is learned: sigma sqrt(gain + extra) + sqrt(reg) norm."""

    sigma: Array  # (m,), or empty where they do not
    norm: Array
    extra: float


def new_local(lcb: LCB) -> LocalUpdate | None:
    """The local update of Section 5.1 in one call of the core, or None where it has none.

    `Learner.resolve` says the same in a few readable lines. It runs for other bases, domains and
    radii, and the tests compare the two.
    """
    radius, domain = lcb.radius, lcb.problem.domain
    if lcb.core is None or not isinstance(domain, BoundBox) or domain.leveled.size:
        return None
    growing = Growing(np.empty(0), np.empty(0), 0.0)
    if isinstance(radius, BoundConfidence):
        if radius.sigma is None or radius.form != "logdet":
            return None
        extra = union(lcb.problem.criteria, radius.delta)
        growing = Growing(radius.sigma, radius.norm, extra)
    elif not isinstance(radius, FixedRadius):
        return None
    return LocalUpdate(lcb.estimators.stats.core, lcb.core, lcb, growing)
