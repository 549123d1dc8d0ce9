"""What policies share that let another policy do the work, on a problem made for it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from trimtab.arrays import Ints
from trimtab.errors import InvalidInput
from trimtab.model.problem import Problem
from trimtab.policies.base import FORMAT
from trimtab.policies.lazy_policy import LazyPolicy

Restore = Callable[[Problem, Mapping[str, Any]], Any]


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

    def _next_look(self) -> int:
        return self.inner._next_look()

    # Memory.

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
    def restored(cls, problem: Problem, saved: Mapping[str, Any], restore: Restore) -> Self:
        """The policy that `snapshot` saw; `restore` brings back the inner one."""


def check_inner(then: Any) -> None:
    """Refuse what cannot be the inner policy: classes that are not lazy, and other wrappers."""
    lazy = isinstance(then, type) and LazyPolicy in then.__mro__
    if not lazy or issubclass(then, Wrapper):
        raise InvalidInput(f"then = {then!r}; give a lazy policy, such as LazyGraphLinUCB")


def check_entries(saved: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...] | None]) -> None:
    """Refuse a snapshot that lacks one of these entries, or has one of another shape."""
    missing = sorted(shapes.keys() - saved.keys())
    if missing:
        raise InvalidInput(f"the snapshot is incomplete: {', '.join(missing)} is missing")
    for name, shape in shapes.items():
        if shape is not None and np.shape(saved[name]) != shape:
            raise InvalidInput(
                f"the snapshot is damaged: {name} has shape {np.shape(saved[name])}, "
                f"expected {shape}"
            )


def part(saved: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The entries of a snapshot that belong to a part, by their names there.

    >>> part({"inner.clock": 3, "noise": 0.1}, "inner.")
    {'clock': 3}
    """
    return {name[len(prefix) :]: x for name, x in saved.items() if name.startswith(prefix)}
