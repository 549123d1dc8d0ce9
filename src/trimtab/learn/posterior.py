"""What estimators with a learned prior believe of losses: means and standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array
from trimtab.learn.nodewise import NodewiseEstimators


@dataclass(frozen=True, eq=False)
class Posterior:
    """The beliefs of all criteria as of their last flush, in losses.

    Args:
        estimators: the regressions.
        sigma: the noise of one loss of each criterion, (m,).
    """

    estimators: NodewiseEstimators
    sigma: Array

    @property
    def offset(self) -> Array:
        """What the regressions count as 0, (m,)."""
        stats = self.estimators.stats
        return stats.offset if stats.offset.size else np.zeros(self.sigma.size)

    def at(self, state: Array) -> tuple[Array, Array]:
        """The expected loss of each criterion at a state and its standard deviation, (m,) each."""
        mean, sd = self._along(self.estimators.problem.phi(state))
        return mean + self.offset, sd

    def between(self, here: Array, there: Array) -> tuple[Array, Array]:
        """By how much each loss is higher here than there, and the standard deviation of that.

        What is not known of both states alike, such as the level, is no part of it.
        """
        problem = self.estimators.problem
        return self._along(problem.phi(here) - problem.phi(there))

    def _along(self, phi: Array) -> tuple[Array, Array]:
        offsets = self.estimators.stats.offsets
        mean, sd = np.empty(self.sigma.size), np.empty(self.sigma.size)
        for i in range(self.sigma.size):
            R, v, _ = self.estimators.split(i)
            u = np.linalg.solve(R, phi[offsets[i] : offsets[i + 1]])
            mean[i], sd[i] = u @ v, self.sigma[i] * np.sqrt(u @ u)
        return mean, sd
