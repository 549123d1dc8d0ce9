"""Section 5.1 of the paper: asynchronous Lazy Graph-LinUCB."""

from __future__ import annotations

from typing import ClassVar

from trimtab.arrays import ArrayLike, number
from trimtab.learn import Confidence, Prior
from trimtab.model.problem import Problem
from trimtab.policies.base import Told
from trimtab.policies.lazy_policy import ColdStart, LazyPolicy
from trimtab.policies.registry import register

EXACT = 1.0  # blocks of few knobs are then within 1e-3 W of a search many times as long


@register
class AsyncLazyGraphLinUCB(LazyPolicy):
    r"""The asynchronous version: a trigger moves only the knobs that its criterion reads.

    1. *Local trigger.* Criterion i triggers when :math:`\det V_{t,i} > C \det V_{\tau_i,i}`,
       by its own clock :math:`\tau_i`.
    2. *Local update.* The union of the triggering criteria's scopes is free; every other
       knob stays. The objective is the LCB of all criteria that read a free knob, at
       their current statistics.
    3. *Synchronisation.* :math:`\tau_i \leftarrow t` for the triggering criteria alone.

    Its options are those of `LazyPolicy`, problem, start, radius, reg, factor, cold_start, review
    and seed, and `effort`: how long a local update searches. 1 finds the paper's argmin over a
    block of few knobs; 0 descends from the present state alone, a fraction of the work, for
    simulations of many rounds.

    Deviation: part (b) of the paper's theorem does not hold, and with it the regret
    bound (`tt.worlds.spin_glass` is a counterexample): block updates may stop at a state
    that no block can improve. The review, a global solve with all clocks reset whenever
    the clock has doubled, frees it again. From the first local update on the certificate
    is not certified.

    Deviation: the local objective holds every criterion that reads a free knob. With the
    triggering criterion's own term alone, as part (b) can be read, a move that helps it
    and harms its neighbours more would be taken.

    Deviation: ``cold_start="solve"`` as in `LazyGraphLinUCB`; with ``cold_start="keep",
    review=False`` it is the paper to the letter.

    >>> import trimtab as tt
    >>> world = tt.worlds.quadratic(tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)]), seed=2)
    >>> policy = tt.AsyncLazyGraphLinUCB(world.problem, start=[0.5] * 4, radius=1.0)
    >>> tt.play(policy, world, horizon=10**6).horizon
    1000000
    """

    _own: ClassVar[tuple[str, ...]] = (*LazyPolicy._own, "effort")

    def __init__(
        self,
        problem: Problem,
        *,
        start: ArrayLike,
        radius: ArrayLike | Confidence | None = None,
        reg: ArrayLike | None = None,
        prior: Prior | None = None,
        factor: float = 2.0,
        cold_start: ColdStart = "solve",
        review: bool = True,
        effort: float = EXACT,
        seed: int = 0,
    ) -> None:
        wanted = number(effort, "effort", low=0.0, strict=False)
        super().__init__(
            problem,
            start=start,
            radius=radius,
            reg=reg,
            prior=prior,
            factor=factor,
            cold_start=cold_start,
            review=review,
            seed=seed,
        )
        self.effort = wanted

    @property
    def effort(self) -> float:
        """How long a local update searches."""
        return self.learner.local_effort

    @effort.setter
    def effort(self, effort: float) -> None:
        self.learner.local_effort = effort

    def _check(self) -> Told:
        triggered = self.learner.estimators.triggered()  # 1.
        if self._review_due():
            return self._told(triggered, self._solve_globally())
        if triggered.size:
            moved = self.learner.resolve(around=triggered, reset=triggered)  # 2. and 3.
            return self._told(triggered, moved)
        return self._told(triggered, None)
