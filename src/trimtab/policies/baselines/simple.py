"""What a policy must beat: staying, guessing, and switches that are only on or off."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from trimtab.arrays import NOBODY, ArrayLike, whole
from trimtab.errors import InvalidInput
from trimtab.learn import NEVER
from trimtab.model.domain import BoundBox, Box
from trimtab.model.problem import Problem
from trimtab.policies.base import Policy, Told
from trimtab.policies.learner import Learner
from trimtab.policies.registry import register


@register
class FixedState(Policy):
    """Stays where it is, whatever it is told.

    >>> import trimtab as tt
    >>> world = tt.worlds.quadratic(tt.Graph.complete(2), seed=1)
    >>> trace = tt.play(tt.FixedState(world.problem, start=[0.5, 0.5]), world, horizon=100)
    >>> trace.moves, trace.states
    (0, array([[0.5, 0.5]]))

    Args:
        problem: the knobs and the criteria.
        start: the state the system is in now, and stays in.
    """

    _own: ClassVar[tuple[str, ...]] = ()

    def __init__(self, problem: Problem, *, start: ArrayLike) -> None:
        self.learner = _bystander(problem, start, seed=0)

    def tell(
        self, losses: ArrayLike | None, *, played: ArrayLike | None = None, count: ArrayLike = 1
    ) -> Told:
        """Take note of the losses; the state stays."""
        self.learner.observe(losses, played=played, count=count)
        return Told(triggered=NOBODY, cause="none", moved=0.0, next_review=NEVER)


@register
class RandomState(Policy):
    """Moves to a random state of the domain at fixed intervals; the first is the start.

    >>> import trimtab as tt
    >>> world = tt.worlds.quadratic(tt.Graph.complete(2), seed=1)
    >>> guess = tt.RandomState(world.problem, start=[0.5, 0.5], every=10)
    >>> tt.play(guess, world, horizon=100).moves
    10

    Args:
        problem: the knobs and the criteria.
        start: the state the system is in now.
        every: for how many rounds each state is played.
        seed: of the states.
    """

    every: int
    _next: int  # the clock at which the state moves
    _own: ClassVar[tuple[str, ...]] = ("every", "_next")

    def __init__(
        self, problem: Problem, *, start: ArrayLike, every: int = 1, seed: int = 0
    ) -> None:
        self.learner = _bystander(problem, start, seed)
        self.every = self._next = whole(every, "every", low=1)

    def tell(
        self, losses: ArrayLike | None, *, played: ArrayLike | None = None, count: ArrayLike = 1
    ) -> Told:
        """Take note of the losses; move if the time has come."""
        self.learner.observe(losses, played=played, count=count)
        before = self.ask()
        due = self.rounds >= self._next
        if due:  # one generator per round, so that none has to be saved
            rng = np.random.default_rng((self.learner.seed, self.rounds))
            self.learner.place(self.problem.domain.sample(rng))
            self._next = self.rounds + self.every
        return Told(
            triggered=NOBODY,
            cause="review" if due else "none",
            moved=float(np.abs(self.ask() - before).sum()),
            next_review=self._next - self.rounds,
        )


def binary(problem: Problem) -> Problem:
    """The problem with every knob on or off, at the ends of its interval.

    Any policy for it can be played in a world of the original problem. With `LazyGraphLinUCB`
    it is the predecessor that the paper extends, whose states are binary.

    >>> import trimtab as tt
    >>> world = tt.worlds.quadratic(tt.Graph.complete(3), seed=1)
    >>> policy = tt.LazyGraphLinUCB(tt.binary(world.problem), start=[0, 0, 1], radius=0.5)
    >>> trace = tt.play(policy, world, horizon=1000)
    >>> bool(np.isin(trace.states, [0.0, 1.0]).all())
    True

    Raises:
        InvalidInput: the domain is no box.
    """
    box = problem.domain
    if not isinstance(box, BoundBox):
        raise InvalidInput(f"the domain is {box!r}; only the knobs of a Box have two ends")
    return Problem(
        problem.graph,
        basis=problem.basis,
        domain=Box(levels=[np.unique([a, b]) for a, b in zip(box.low, box.high, strict=True)]),
        weights=problem.weights,
        **problem.prices,
    )


def _bystander(problem: Problem, start: ArrayLike, seed: int) -> Learner:
    """A memory that keeps the stats and is never asked what it has learned."""
    return Learner(problem, start=start, radius=0.0, reg=1.0, factor=2.0, seed=seed)
