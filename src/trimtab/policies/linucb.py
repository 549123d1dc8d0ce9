"""Standard LinUCB: the baseline that looks, and moves, in every round."""

from __future__ import annotations

from typing import ClassVar

from trimtab.arrays import NOBODY, ArrayLike
from trimtab.learn import Confidence, Prior
from trimtab.model.problem import Problem
from trimtab.policies.base import Policy, Told
from trimtab.policies.learner import Learner
from trimtab.policies.registry import register


@register
class LinUCB(Policy):
    r"""Plays the minimiser of the lower confidence bound anew in every round.

    .. math:: s_t = \arg\min_s \mathrm{LCB}_{t-1}(s)

    It is what the lazy policies are measured against: the same estimators and the
    same solver, without patience. The cause it gives is always "trigger".

    Args:
        problem: the knobs, the criteria and the features between them.
        start: the state the system is in now; the first move leaves it.
        radius: beta, one number or one per criterion, or a `Confidence`. One that estimates
            the noise does so once, at the start state: nothing is replicated later.
            None for a prior.
        reg: the ridge parameter that goes with a radius, one number or one per criterion; 1 by
            default.
        prior: what is believed of the losses before any is seen, `Prior()` by default.
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
        # With factor 1 a criterion triggers as soon as it has learned anything.
        self.learner = Learner(
            problem, start=start, radius=radius, reg=reg, prior=prior, factor=1.0, seed=seed
        )
        if self.learner.ready:
            self.learner.resolve(reset=problem.all_criteria)

    def tell(
        self, losses: ArrayLike | None, *, played: ArrayLike | None = None, count: ArrayLike = 1
    ) -> Told:
        """Learn from the losses, then move to the new minimiser."""
        cut = self.learner.observe(losses, played=played, count=count)
        if not self.learner.ready:
            left = int(self.learner.lacking().max())
            return Told(triggered=NOBODY, cause="none", moved=0.0, next_review=left, cut=cut)
        triggered = self.learner.estimators.triggered()
        moved = self.learner.resolve(reset=self.problem.all_criteria)
        return Told(triggered=triggered, cause="trigger", moved=moved, next_review=1, cut=cut)
