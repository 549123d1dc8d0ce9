"""What a fork must not tear apart: locks do not pass to children, and calls end before it.

A child shares its parent's open files and connections. It would keep the locks on them alive
after the parent's death, so it closes its copies as soon as it exists. And it has the parent's
memory as it was, but only the thread that has forked: a lock inside SQLite that another thread
held would stay held in the child for ever. So a fork waits until nobody is inside a call.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Protocol
from weakref import WeakSet

PATIENCE = 1.0  # seconds that a fork waits for calls to end

opening = threading.RLock()  # held while a file is opened and becomes known here


class Forsaking(Protocol):
    """Something that holds a lock by an open file."""

    def forsake(self) -> None:
        """Close this process's copy of the file, and leave the lock to the other one."""


holders: WeakSet[Forsaking] = WeakSet()  # added to under `opening`
_guards: WeakSet[Any] = WeakSet()  # reentrant locks
_had = threading.local()  # those that the thread which forks has taken


def wait_for(guard: Any) -> None:
    """Have every fork from now on wait until nobody has this reentrant lock, but not for long."""
    with opening:
        _guards.add(guard)


def _before() -> None:
    deadline = time.monotonic() + PATIENCE
    with opening:
        guards = list(_guards)
    _had.guards = [
        guard for guard in guards if guard.acquire(timeout=max(deadline - time.monotonic(), 0.0))
    ]
    opening.acquire()


def _after() -> None:
    opening.release()
    for guard in _had.guards:
        guard.release()


def _forsake() -> None:
    for holder in list(holders):
        holder.forsake()
    _after()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_forsake)
