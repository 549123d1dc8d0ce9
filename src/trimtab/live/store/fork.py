"""Locks do not pass to forked children.

A child shares its parent's open files and connections. It would keep the locks on them alive
after the parent's death, so it closes its copies as soon as it exists.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forsaking(Protocol):
    """Something that holds a lock by an open file."""

    def forsake(self) -> None:
        """Close this process's copy of the file, and leave the lock to the other one."""


_holders: WeakSet[Forsaking] = WeakSet()


def keep_from_children(holder: Forsaking) -> None:
    """Have the holder forsake its lock in every child that is forked from now on."""
    _holders.add(holder)


def _forsake() -> None:
    for holder in list(_holders):
        holder.forsake()


os.register_at_fork(after_in_child=_forsake)
