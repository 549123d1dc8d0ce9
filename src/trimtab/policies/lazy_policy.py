"""What the lazy policies share: their options, their review, and when they check.

A lazy policy is a protocol with one rule to fill in, `_check`: what to do now that
rounds have passed. `tell` and `skip` differ only in how those rounds came in.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from trimtab.arrays import NOBODY, ArrayLike, Ints, number, rows_of_losses
from trimtab.errors import InvalidInput
from trimtab.learn import NEVER, Confidence, Prior
from trimtab.learn.nodewise import Owed
from trimtab.model.problem import Problem
from trimtab.policies.base import Cause, Policy, Told
from trimtab.policies.learner import Learner

ColdStart = Literal["solve", "keep"]


@runtime_checkable
class LazyPolicy(Policy, Protocol):
    """A policy that leaves the state alone until a determinant has grown by the factor.

    Args:
        problem: the knobs, the criteria and the features between them.
        start: the state the system is in now.
        radius: beta, one number or one per criterion, or a `Confidence`. Where that has to
            estimate the noise, the start state stays until it can, and the first solve follows.
            None for a prior.
        reg: the ridge parameter that goes with a radius, one number or one per criterion; 1 by
            default.
        prior: what is believed of the losses before any is seen, `Prior()` by default.
        factor: C, by how much a determinant must grow to trigger.
        cold_start: "solve" before the first round, or "keep" the start state.
        review: whether to solve globally whenever the clock has doubled since the last time.
        seed: of the solver's random starts.
    """

    review: bool
    _last_global: int  # the clock at the last global solve
    _own: ClassVar[tuple[str, ...]] = ("review", "_last_global")

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
        seed: int = 0,
    ) -> None:
        if cold_start not in ("solve", "keep"):
            raise InvalidInput(f"cold_start = {cold_start!r}; choose 'solve' or 'keep'")
        C = number(factor, "factor", low=1.0, strict=True)
        self.learner = Learner(
            problem, start=start, radius=radius, reg=reg, prior=prior, factor=C, seed=seed
        )
        self.review = bool(review)
        self._last_global = 0
        if cold_start == "solve" and self.learner.ready:
            self._solve_globally()

    def tell(
        self, losses: ArrayLike | None, *, played: ArrayLike | None = None, count: ArrayLike = 1
    ) -> Told:
        """Learn from the losses; look at the state again if that is due."""
        cut = self.learner.observe(losses, played=played, count=count)
        told = self.look()
        return replace(told, cut=cut) if cut.size else told

    def tell_rows(self, losses: ArrayLike) -> tuple[int, Told]:
        """Learn from several rounds, one row each, as single tells would; how many rows it took.

        It stops after a round in which something is due, since what comes next may belong to
        another state. Rows may be a piece of a memory-mapped file, float32 or float64: nothing is
        copied, and nothing but sums is kept.

        >>> import numpy as np
        >>> import trimtab as tt
        >>> problem = tt.Problem(tt.Graph.complete(2))
        >>> policy = tt.LazyGraphLinUCB(problem, start=[0.5, 0.5], radius=0.5, cold_start="keep")
        >>> rows, done = np.full((100, 2), 0.3, np.float32), 0
        >>> while done < len(rows):
        ...     taken, told = policy.tell_rows(rows[done:])
        ...     done += taken
        >>> policy.rounds
        100
        """
        rows, complete = rows_of_losses(losses, self.problem.criteria)
        if complete and not self.learner.holding:
            taken = min(len(rows), self.rounds_left())
            cut = self.learner.observe_rows(rows[:taken])
            return taken, replace(self.look(), cut=cut)
        taken, told = 0, Told(triggered=NOBODY, cause="none", moved=0.0, next_review=0)
        while taken < len(rows) and told.cause == "none":
            told = self.tell(rows[taken].astype(np.float64))
            taken += 1
        return taken, told

    def skip(self, rounds: int, owed: Owed, *, seen: Ints | None = None) -> Told:
        """Let rounds pass at the state that `ask` gives, and collect their losses later.

        What a simulated world offers instead of many calls of `tell`: losses are asked
        for only when a matrix needs them, and then as sums.

        Args:
            rounds: at most `rounds_left`; no criterion may be seen beyond its trigger.
            owed: gives, for criteria and for how many observations of each, the mean
                loss and the sum of squares about it.
            seen: how often each criterion was observed, every time by default: (m,).
        """
        left = self.rounds_left() if seen is None else self.review_left()
        if not 1 <= rounds <= left or (seen is not None and (seen > self.needs()).any()):
            raise InvalidInput(
                f"rounds = {rounds}; skip at least 1, and not beyond the next review"
            )
        self.learner.skip(rounds, owed, seen)
        return self.look()

    def look(self) -> Told:
        """Do what is due, now that rounds have passed."""
        return self._check() if self.learner.ready else self._told(NOBODY, None)

    @property
    def sums_suffice(self) -> bool:
        """Whether sums of losses are all it needs: with a prior it cuts single losses."""
        return self.learner.prior is None

    def settle(self) -> None:
        """Ask for all losses that are still owed; after this the policy needs `owed` no more."""
        self.learner.settle()

    @abstractmethod
    def _check(self) -> Told:
        """The algorithm's box: look for triggers, and act on them."""

    def rounds_left(self) -> int:
        """Rounds until the next review if everything is observed; at least one.

        What a prior learns at a look may make criteria due that were not: they wait for a round.
        """
        if self.learner.holding:
            return self.review_left()
        return max(min(self.learner.estimators.rounds_left, self.review_left()), 1)

    @property
    def looked_globally(self) -> bool:
        """Whether its last round ended with a look at all knobs."""
        return self._last_global == self.learner.clock

    def next_look(self) -> int:
        """Rounds until the state is looked at again if everything is observed."""
        return self.rounds_left()

    def needs(self) -> Ints:
        """How often each criterion must still be observed to trigger: (m,)."""
        if self.learner.holding:
            return np.full(self.problem.criteria, NEVER)
        return self.learner.estimators.needs()

    def review_left(self) -> int:
        """Rounds until the next review by the clock alone, or until the noise is known."""
        if self.learner.holding:
            return max(int(self.learner.lacking().max()), 1)
        return self._review_at - self.learner.clock if self.review else NEVER

    def _review_due(self) -> bool:
        return self.learner.holding or (self.review and self.learner.clock >= self._review_at)

    @property
    def _review_at(self) -> int:
        return 2 * max(self._last_global, 1)

    def _solve_globally(self) -> float:
        """Deploy the minimiser over all knobs and reset all clocks; how far it moved."""
        moved = self.learner.resolve(reset=self.problem.all_criteria)
        self._last_global = self.learner.clock
        return moved

    def _told(self, triggered: Ints, moved: float | None) -> Told:
        """What has come of it; `moved` is None if the state was not looked at."""
        cause: Cause = "none"
        if moved is not None:
            cause = "trigger" if triggered.size else "review"
        left = self.next_look()
        return Told(triggered=triggered, cause=cause, moved=moved or 0.0, next_review=left)
