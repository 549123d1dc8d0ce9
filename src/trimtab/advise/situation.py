"""What `advise` is told of a problem, checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, ArrayLike, number, per_item, read_only, whole
from trimtab.errors import InvalidInput
from trimtab.learn import Prior
from trimtab.model.problem import Problem


@dataclass(frozen=True, kw_only=True, eq=False)
class Situation:
    """A problem, its horizon and start, and what is known of its losses."""

    problem: Problem
    horizon: int
    start: Array  # (k,)
    prior: Prior  # what policies are told
    seed: int
    sigma: Array | None  # (m,) the noise of the worlds, where it is known
    worst: float | None  # the largest total loss of a state less the least one
    drift: bool
    graph_known: bool
    gamma: Array | None  # (m,)
    reads: int
    correlated: bool
    factor_norm: float | None
    lipschitz: float | None
    budget: int | None

    @property
    def told(self) -> dict[str, Prior]:
        """What a policy that learns with a prior is told beyond the problem and the start."""
        nothing = self.prior.spread is None and self.prior.sigma is None
        return {} if nothing else {"prior": self.prior}


def start_of(problem: Problem, start: ArrayLike | None) -> Array:
    """The start state, the middle of the domain if none is given."""
    domain = problem.domain
    if start is not None:
        return read_only(domain.check(start, "start"))
    return read_only(domain.project(0.5 * (domain.low + domain.high)))


def noise_of(problem: Problem, sigma: ArrayLike | None, prior: Prior) -> Array | None:
    """The noise of each objective if it is known: (m,)."""
    if sigma is not None and prior.sigma is not None:
        raise InvalidInput("sigma is given twice; leave it out, or out of the prior")
    known = prior.sigma if sigma is None else sigma
    if known is None:
        return None
    return per_item(known, problem.criteria, "sigma", "criterion", low=0.0, strict=True)


def gamma_of(problem: Problem, gamma: ArrayLike | None) -> Array | None:
    """The least size of a dependency of each objective, where it is told: (m,)."""
    if gamma is None:
        return None
    return per_item(gamma, problem.criteria, "gamma", "criterion", low=0.0, strict=True)


def budget_of(budget: int | None, horizon: int) -> int | None:
    """How often the state may change, at most in every round."""
    if budget is None:
        return None
    if whole(budget, "budget", low=1) > horizon:
        raise InvalidInput(
            f"budget = {budget} is above the horizon {horizon}; {horizon} is a move in every round"
        )
    return int(budget)


def some(value: float | None, name: str, *, strict: bool = True) -> float | None:
    """A positive number, or None."""
    return None if value is None else number(value, name, low=0.0, strict=strict)


def reads_of(problem: Problem, reads: int) -> int:
    """How many knobs an objective reads where the graph is not known."""
    widest = int(np.diff(problem.graph.scope_offsets).max())
    return min(whole(reads, "reads", low=1), widest)
