"""Search among admissible states: those at which upper bounds stay at or below their limits.

Sweeps go knob by knob over admissible places only; SLSQP then moves all continuous knobs
together, along the edge of what is admissible where the minimum is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trimtab._core import choose
from trimtab.arrays import Array, Ints
from trimtab.errors import SolverFailed
from trimtab.model.domain import BoundBox
from trimtab.solve.bound import Constraint
from trimtab.solve.gradient import Coordinates, LocalSearch, along
from trimtab.solve.solution import Solution
from trimtab.solve.subproblem import Part

SAMPLES = 200  # random states among which the first admissible one is looked for
HALVINGS = 40  # of the way from an admissible state to one that is not
MARGIN = 1e-10  # of the scale: SLSQP stays this far inside
NOWHERE = (
    "no admissible state was found: at every state tried an upper bound is above its limit; "
    "raise the limits, or learn more of the constraints near the present state"
)


class NoAdmissibleState(SolverFailed):
    """At every state tried some upper bound is above its limit."""


def search(
    part: Part,
    domain: BoundBox,
    constraints: Sequence[Constraint],
    *,
    starts: int,
    seed: int,
    tempting: Array,
    polish: bool = True,
) -> Solution:
    """The best admissible state of several local searches.

    Args:
        part: what is minimised, over which knobs.
        domain: where they may be.
        constraints: what an admissible state satisfies.
        starts: how many searches begin at random states.
        seed: of those.
        polish: whether SLSQP moves all continuous knobs together after sweeps knob by knob. It
            takes nine tenths of the time.
        tempting: the minimiser if nothing were constrained; searches begin near it too.

    Raises:
        NoAdmissibleState: no admissible state was found.
    """
    rng = np.random.default_rng(seed)
    local = AdmissibleSearch(part, domain, constraints, polish=polish)
    safe = local.first_admissible(rng)
    begins = [safe, local.drawn_back(tempting, safe)]
    begins += [local.drawn_back(_elsewhere(part, domain, rng), safe) for _ in range(starts)]
    for state in begins:
        local.settle(state)
    if local.admissible(part.now):
        begins.append(part.now)
    found = np.array([state[part.knobs] for state in begins])
    values = np.array([part.value(state) for state in begins])
    best = choose(found, values, part.now[part.knobs])
    return Solution(found[best], float(values[best]), None, local.work)


def farthest(admits: Callable[[Array], bool], safe: Array, state: Array, levels: Ints) -> Array:
    """The state, or the farthest admissible one on the way there that bisection finds.

    Knobs with levels stay where they are safe unless the whole way is admissible.
    """
    if admits(state):
        return state.copy()
    end = state.copy()
    end[levels] = safe[levels]
    inside, outside = 0.0, 1.0
    for _ in range(HALVINGS):
        share = 0.5 * (inside + outside)
        if admits(safe + share * (end - safe)):
            inside = share
        else:
            outside = share
    return np.asarray(safe + inside * (end - safe))


def _elsewhere(part: Part, domain: BoundBox, rng: np.random.Generator) -> Array:
    return part.put(domain.sample(rng)[part.knobs])


class AdmissibleSearch(LocalSearch):
    """Local moves from admissible states to better admissible states."""

    def __init__(
        self,
        part: Part,
        domain: BoundBox,
        constraints: Sequence[Constraint],
        *,
        polish: bool = True,
    ) -> None:
        super().__init__(part, domain)
        self._polishes = polish
        self.constraints = constraints

    def excess(self, state: Array) -> float:
        """How far the worst upper bound is above its limit."""
        return max(each.excess(state) for each in self.constraints)

    def admissible(self, state: Array) -> bool:
        """Whether every upper bound is at or below its limit."""
        return all(each.excess(state) <= 0.0 for each in self.constraints)

    def first_admissible(self, rng: np.random.Generator) -> Array:
        """The present state if it is admissible, else another one."""
        now = self.part.now.copy()
        if self.admissible(now):
            return now
        states = [_elsewhere(self.part, self.domain, rng) for _ in range(SAMPLES)]
        for state in sorted(states, key=self.excess)[: self.part.knobs.size + 1]:
            self._lower_excess(state)
            if self.admissible(state):
                return state
        raise NoAdmissibleState(NOWHERE)

    def drawn_back(self, state: Array, safe: Array) -> Array:
        """The state, or what is admissible on the way there from a safe one."""
        return farthest(self.admissible, safe, state, self.domain.leveled)

    def polish(self, state: Array) -> None:
        """All continuous knobs together; what would not be admissible is not taken."""
        if not self._polishes:
            return
        end = state.copy()
        super().polish(end)
        if self.admissible(end):
            state[:] = end

    def how(self, trial: Coordinates) -> dict[str, Any]:
        """SLSQP, which stays among admissible states."""
        rules = [
            {
                "type": "ineq",
                "fun": lambda x, each=each: (
                    -each.excess(trial.put(x)) - MARGIN * max(abs(each.limit), 1.0)
                ),
                "jac": lambda x, each=each: -trial.spread(each.slope(trial.put(x))),
            }
            for each in self.constraints
        ]
        options = {"ftol": 1e-13, "maxiter": 200}
        return {"method": "SLSQP", "constraints": rules, "options": options}

    def _best(self, j: int, state: Array, x: Array) -> tuple[float, Array]:
        """The best admissible place; places that are not count as worse than all others."""
        _, y = super()._best(j, state, x)
        bad = np.array([not self.admissible(s) for s in along(j, state, x)])
        if bad.all():
            return float(state[j]), y
        y[bad] = y.max() + self.scale
        return float(x[x.size - 1 - int(np.argmin(y[::-1]))]), y

    def _lower_excess(self, state: Array) -> None:
        """Knob by knob to where the worst upper bound is lowest, until it is low enough."""
        for _ in range(self.part.knobs.size):
            for j in self.part.knobs.tolist():
                levels = self.domain.levels_of(j)
                ends = self.domain.low[j], self.domain.high[j]
                places = levels if levels.size else np.linspace(*ends, self.grid)
                trial = along(j, state, places)
                state[:] = min([state.copy(), *trial], key=self.excess)
                if self.admissible(state):
                    return
