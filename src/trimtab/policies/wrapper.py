"""What policies share that let another policy do the work, on a problem made for it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from trimtab.arrays import Ints
from trimtab.errors import InvalidInput
from trimtab.model.problem import Problem
from trimtab.policies.base import FORMAT, part
from trimtab.policies.lazy_policy import LazyPolicy
from trimtab.policies.snapshots import restore


class Wrapper(LazyPolicy):
    """A lazy policy with another one inside, whose learner is also its own."""

    inner: LazyPolicy
    _problem: Problem

    @property
    def problem(self) -> Problem:
        """The problem as the user has given it; the learner's is the inner policy's."""
        return self._problem

    def rounds_left(self) -> int:
        """Rounds until the next review if everything is observed."""
        return self.inner.rounds_left()

    def review_left(self) -> int:
        """Rounds until the next review by the clock alone."""
        return self.inner.review_left()

    def needs(self) -> Ints:
        """How often each criterion must still be observed to trigger: (m,)."""
        return self.inner.needs()

    def next_look(self) -> int:
        """Rounds until the state is looked at again if everything is observed."""
        return self.inner.next_look()

    # Memory.

    @classmethod
    def _around(cls, problem: Problem) -> Self:
        """A policy that knows the user's problem and nothing else yet."""
        policy = object.__new__(cls)
        policy._problem = problem
        return policy

    @abstractmethod
    def _beside(self) -> dict[str, Any]:
        """What it remembers beside its own scalars and the inner policy."""

    def snapshot(self) -> dict[str, Any]:
        """The whole policy as plain scalars and arrays; `restore` goes on from it bit for bit."""
        return {
            "format": FORMAT,
            "policy": type(self).__name__,
            "problem": self.problem.fingerprint(),
            **{name: getattr(self, name) for name in self._own},
            **self._beside(),
            **{f"inner.{name}": value for name, value in self.inner.snapshot().items()},
        }

    @classmethod
    @abstractmethod
    def restored(cls, problem: Problem, saved: Mapping[str, Any]) -> Self:
        """The policy that `snapshot` saw, the inner one among it."""


def restored_inner(problem: Problem, saved: Mapping[str, Any]) -> LazyPolicy:
    """The inner policy, from the snapshot of the one around it."""
    inner: Any = restore(problem, part(saved, "inner."))
    check_inner(type(inner))
    lazy: LazyPolicy = inner
    return lazy


def is_inner(kind: Any) -> bool:
    """Whether this can be the inner policy: a lazy one that is no wrapper itself."""
    lazy = isinstance(kind, type) and LazyPolicy in kind.__mro__
    return lazy and not issubclass(kind, Wrapper)


def check_inner(then: Any) -> None:
    """Refuse what cannot be the inner policy."""
    if not is_inner(then):
        raise InvalidInput(f"then = {then!r}; give a lazy policy, such as LazyGraphLinUCB")
