"""Algorithm 1 of the paper: synchronous Lazy Graph-LinUCB."""

from __future__ import annotations

from trimtab.policies.base import Told
from trimtab.policies.lazy_policy import LazyPolicy
from trimtab.policies.registry import register


@register
class LazyGraphLinUCB(LazyPolicy):
    r"""Algorithm 1: the state stays until some criterion's determinant has doubled.

    .. math::
        \exists i: \det V_{t-1,i} > C \det V_{\tau_i,i}
        \;\Longrightarrow\;
        s \leftarrow \arg\min_s \mathrm{LCB}_t(s), \quad \tau_j \leftarrow t - 1 \;\forall j

    Its options are those of `LazyPolicy`: problem, start, radius, reg, factor,
    cold_start, review, seed.

    Deviation: the paper leaves the first state arbitrary and plays it until the first
    trigger, which may never come (features of length 0) and which no bound covers.
    ``cold_start="solve"`` minimises the LCB before the first round.

    Deviation: ``review=True`` also solves when the clock has doubled since the last
    solve, so that no freeze lasts for ever, at log2(T) + 1 more solves at most.

    With ``cold_start="keep", review=False`` it is the paper to the letter.

    >>> import trimtab as tt
    >>> problem = tt.Problem(tt.Graph.complete(2))
    >>> policy = tt.LazyGraphLinUCB(problem, start=[0.5, 0.5], radius=0.5, cold_start="keep")
    >>> policy.ask()
    array([0.5, 0.5])
    >>> told = policy.tell([0.1, 0.3])
    >>> told.cause, told.next_review
    ('none', 1)
    """

    def _check(self) -> Told:
        triggered = self.learner.estimators.triggered()  # line 6
        if triggered.size or self._review_due():
            moved = self._solve_globally()  # lines 8 to 10
            return self._told(triggered, moved)
        return self._told(triggered, None)
