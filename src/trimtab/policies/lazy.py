"""Algorithm 1 of the paper: synchronous Lazy Graph-LinUCB."""

from __future__ import annotations

from typing import Literal

from trimtab.arrays import ArrayLike, number
from trimtab.errors import InvalidInput
from trimtab.estimators import Confidence
from trimtab.policies.base import Cause, Policy, Told
from trimtab.policies.learner import Learner
from trimtab.problem import Problem

ColdStart = Literal["solve", "keep"]


class LazyGraphLinUCB(Policy):
    r"""Algorithm 1: the state stays until some criterion's determinant has doubled.

    .. math::
        \exists i: \det V_{t-1,i} > C \det V_{\tau_i,i}
        \;\Longrightarrow\;
        s \leftarrow \arg\min_s \mathrm{LCB}_t(s), \quad \tau_j \leftarrow t - 1 \;\forall j

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

    Args:
        problem: the knobs, the criteria and the features between them.
        start: the state the system is in now.
        radius: beta, one number or one per criterion, or a `Confidence`.
        reg: the ridge parameter, one number or one per criterion.
        factor: C, by how much a determinant must grow to trigger.
        cold_start: "solve" before the first round, or "keep" the start state.
        review: whether to solve again at every doubling of the clock.
        seed: of the solver's random starts.
    """

    _own = ("review", "_last_solve")

    def __init__(
        self,
        problem: Problem,
        *,
        start: ArrayLike,
        radius: ArrayLike | Confidence,
        reg: ArrayLike = 1.0,
        factor: float = 2.0,
        cold_start: ColdStart = "solve",
        review: bool = True,
        seed: int = 0,
    ) -> None:
        if cold_start not in ("solve", "keep"):
            raise InvalidInput(f"cold_start = {cold_start!r}; choose 'solve' or 'keep'")
        self.learner = Learner(
            problem,
            start=start,
            radius=radius,
            reg=reg,
            factor=number(factor, "factor", low=1.0, strict=True),
            seed=seed,
        )
        self.review = bool(review)
        self._last_solve = 0  # the clock then
        if cold_start == "solve":
            self.learner.resolve(problem.all_criteria)

    def tell(
        self, losses: ArrayLike, *, played: ArrayLike | None = None, count: ArrayLike = 1
    ) -> Told:
        """Learn from the losses; look at the state again if a determinant has doubled."""
        learner, estimators = self.learner, self.learner.estimators
        learner.observe(losses, played=played, count=count)  # lines 13 to 18
        triggered = estimators.triggered()  # line 6
        cause: Cause = "none"
        moved = 0.0
        if triggered.size:
            cause = "trigger"
        elif self.review and learner.clock >= self._review_at:
            cause = "review"
        if cause != "none":
            moved = learner.resolve(reset=self.problem.all_criteria)  # lines 8 to 10
            self._last_solve = learner.clock
        next_review = estimators.rounds_left()
        if self.review:
            next_review = min(next_review, self._review_at - learner.clock)
        return Told(triggered=triggered, cause=cause, moved=moved, next_review=next_review)

    @property
    def _review_at(self) -> int:
        return 2 * max(self._last_solve, 1)
