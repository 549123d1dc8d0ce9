"""A simulated system that changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trimtab.arrays import whole
from trimtab.errors import InvalidInput
from trimtab.sim.worlds.world import World


class Drifting:
    """A system that is one world after another, changing at given rounds.

    Regret is counted against the best state of each time.

    Args:
        worlds: one after the other, all of the same problem.
        changes: the first round of each world but the first, ascending.
    """

    def __init__(self, worlds: Sequence[World], *, changes: Sequence[int]) -> None:
        if not worlds or len(changes) != len(worlds) - 1:
            raise InvalidInput(
                f"{len(changes)} changes for {len(worlds)} worlds; give one less than worlds"
            )
        first = [1, *(whole(t, "changes", low=2) for t in changes)]
        if any(b <= a for a, b in pairwise(first)):
            raise InvalidInput(f"changes = {list(changes)}; they must ascend")
        prints = {world.problem.fingerprint() for world in worlds}
        if len(prints) > 1:
            raise InvalidInput("the worlds have different problems; build them from one")
        self.problem, self.worlds, self.first = worlds[0].problem, tuple(worlds), first

    def at(self, t: int) -> tuple[World, int | None]:
        """The world as it is in round t, and the last round in which it will be so, if any."""
        n = int(np.searchsorted(self.first, t, side="right")) - 1
        return self.worlds[n], self.first[n + 1] - 1 if n + 1 < len(self.first) else None
