"""Longer waits after each failure, with jitter, so that many loops do not retry at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

FIRST = 1.0  # second
SHORTEST, LONGEST = 10.0, 300.0  # seconds: what the longest wait may be
JITTER = 0.25  # of the wait, at most, by which it is shorter at random


@dataclass
class Backoff:
    """Seconds to wait: 1, 2, 4, ... up to `longest`, each up to a quarter shorter.

    >>> waits = Backoff(chance=lambda: 0.0)
    >>> [waits.failed() for _ in range(4)], waits.failures
    ([1.0, 2.0, 4.0, 8.0], 4)
    >>> waits.worked()
    >>> waits.failed()
    1.0
    """

    longest: float = LONGEST
    failures: int = 0
    chance: Callable[[], float] = field(default=random.random, repr=False)  # in [0, 1)

    @classmethod
    def for_rounds(cls, seconds: float) -> Backoff:
        """One that waits no longer than a round takes, so that short rounds soon go on."""
        return cls(longest=min(max(seconds, SHORTEST), LONGEST))

    def failed(self) -> float:
        """Seconds to wait after one more failure."""
        wait = min(FIRST * 2.0 ** min(self.failures, 30), self.longest)
        self.failures += 1
        return wait * (1.0 - JITTER * self.chance())

    def worked(self) -> None:
        """All is well again."""
        self.failures = 0
