"""Which states a look may consider: those that constraints admit, and those known to be safe."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.model.toll import Toll
from trimtab.solve.bound import Bound, Constraint
from trimtab.solve.constrained import NoAdmissibleState, farthest
from trimtab.solve.solution import Solution
from trimtab.solve.solve import solve

LIGHT = 0.25  # the effort of a search among admissible states: looks must be quick


@dataclass(frozen=True, eq=False)
class Admissible:
    """A set of states: those that satisfy all constraints, and some that are safe anyway.

    Args:
        constraints: upper bounds that must stay at or below their limits; None if too little is
            known for any, so that only safe states are admissible.
        safe: states that were seen to be all right.
    """

    constraints: tuple[Constraint, ...] | None
    safe: tuple[Array, ...] = ()

    def admits(self, state: Array) -> bool:
        """Whether the state is one of them."""
        if self.is_safe(state):
            return True
        return self.constraints is not None and all(
            each.excess(state) <= 0.0 for each in self.constraints
        )

    def is_safe(self, state: Array) -> bool:
        """Whether the state was seen to be all right."""
        return any(np.array_equal(state, each) for each in self.safe)

    def toward(self, state: Array, current: Array, levels: Ints) -> Array:
        """The state, or the farthest one of them on the way there that bisection finds."""
        return farthest(self.admits, current, state, levels)

    def minimum(self, bound: Bound, current: Array, **options: Any) -> Solution:
        """The best state of the set that is found; the current one where nothing else is.

        The options are those of `solve`. Where only some knobs are free, only what the constraints
        admit is considered.
        """
        found = solve(bound, current, **options)
        if self.admits(found.state):
            return found
        relaxed, found = found, Solution(current, bound.value(current), None)
        if self.constraints is not None:
            options |= {"effort": min(options.get("effort", 1.0), LIGHT), "certify": None}
            with suppress(NoAdmissibleState):
                found = solve(bound, current, constraints=self.constraints, **options)
        found = replace(found, lower_bound=relaxed.lower_bound)
        if options.get("free") is not None:
            return found
        price = options.get("price", 0.0)
        if not isinstance(price, Toll):
            price = Toll(per_knob=np.broadcast_to(np.asarray(price, np.float64), current.shape))
        for state in self.safe:
            if bound.domain.contains(state):
                value = bound.value(state) + price.of(current, state)
                if value < found.value:
                    found = replace(found, state=state.copy(), value=value)
        return found
