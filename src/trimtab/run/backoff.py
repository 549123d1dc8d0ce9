"""Longer waits after each failure, with jitter, so that many loops do not retry at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

FIRST = 1.0  # second
LONGEST = 300.0  # seconds
JITTER = 0.25  # of the wait, at most, by which it is shorter at random


@dataclass
class Backoff:
    """Seconds to wait: 1, 2, 4, ... up to 300, each up to a quarter shorter.

    >>> waits = Backoff(chance=lambda: 0.0)
    >>> [waits.failed() for _ in range(4)], waits.failures
    ([1.0, 2.0, 4.0, 8.0], 4)
    >>> waits.worked()
    >>> waits.failed()
    1.0
    """

    failures: int = 0
    chance: Callable[[], float] = field(default=random.random, repr=False)  # in [0, 1)

    def failed(self) -> float:
        """Seconds to wait after one more failure."""
        wait = min(FIRST * 2.0 ** min(self.failures, 30), LONGEST)
        self.failures += 1
        return wait * (1.0 - JITTER * self.chance())

    def worked(self) -> None:
        """All is well again."""
        self.failures = 0
