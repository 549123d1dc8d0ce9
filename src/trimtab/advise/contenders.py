"""The variants that take part, and how each is built in a drawn world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trimtab.advise.situation import Situation
from trimtab.advise.worlds import has_factors
from trimtab.errors import InvalidInput
from trimtab.learn.sparsity_test import Edges
from trimtab.policies import (
    AdaptiveGraphLinUCB,
    AsyncLazyGraphLinUCB,
    FixedState,
    JointLazyGraphLinUCB,
    LazyGraphLinUCB,
    LinUCB,
    Policy,
    PooledGraphLinUCB,
    SteadyGraphLinUCB,
)
from trimtab.policies.pooled.pools import alike
from trimtab.policies.registry import POLICIES, is_told_losses
from trimtab.sim.worlds import World
from trimtab.theory.variants import descent

STAY, EAGER, DESCENT = "FixedState", "LinUCB", "LazyOGD"


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A variant, or why it does not take part."""

    name: str
    kind: Callable[..., Policy] | None = None
    learns: bool = True  # with the prior that was given, if one was
    options: dict[str, Any] = field(default_factory=dict)  # beside that, as a user gives them
    absent: str = ""  # why it is not simulated

    def policy(self, situation: Situation, world: World) -> Policy:
        """The policy that plays in this world."""
        if self.kind is None:
            raise InvalidInput(f"{self.name} is not simulated: {self.absent}")
        told = situation.told if self.learns else {}
        return self.kind(world.problem, start=situation.start, **told, **self.options)


def contenders(situation: Situation, *, eager: bool) -> list[Contender]:
    """All variants, in the order of the table.

    Args:
        situation: the problem, and what is known of it.
        eager: whether a variant that looks in every round is simulated.
    """
    slow = "" if eager else "it looks in every round, which takes too long to simulate"
    everywhere = [
        Contender(name=STAY, kind=FixedState, learns=False),
        Contender(name=EAGER, kind=LinUCB, absent=slow),
        Contender(name="LazyGraphLinUCB", kind=LazyGraphLinUCB),
        Contender(name="AsyncLazyGraphLinUCB", kind=AsyncLazyGraphLinUCB),
        Contender(name="SteadyGraphLinUCB", kind=SteadyGraphLinUCB),
    ]
    return [
        *everywhere,
        _pooled(situation),
        _adaptive(situation),
        _joint(situation),
        _descent(situation),
        *_joined(),
    ]


def _joined() -> list[Contender]:
    """Policies that users have registered, with the defaults of their own."""
    return [
        Contender(name=name, kind=POLICIES[name])
        for name in POLICIES
        if is_told_losses(POLICIES[name]) and not _is_ours(POLICIES[name])
    ]


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("trimtab.")


def _pooled(situation: Situation) -> Contender:
    name, problem = "PooledGraphLinUCB", situation.problem
    groups = alike(problem, np.ones(problem.criteria))
    if np.unique(groups).size == groups.size:
        return Contender(name=name, absent="no two objectives have the same scope and features")
    noise = "correlated" if situation.correlated else "independent"
    return Contender(
        name=name,
        kind=PooledGraphLinUCB,
        options={} if situation.prior.sigma is None else {"noise": noise},
    )


def _adaptive(situation: Situation) -> Contender:
    name = "AdaptiveGraphLinUCB"
    if situation.graph_known:
        return Contender(name=name, absent="the graph is known")
    if situation.gamma is None:
        against = "give gamma, the least size of a dependency; a super-graph is safe without it"
        return Contender(name=name, absent=against)
    if not Edges(situation.problem).open.any():
        return Contender(name=name, absent="no scope has a knob that could leave it")
    return Contender(
        name=name,
        kind=AdaptiveGraphLinUCB,
        options={"gamma": situation.gamma},
    )


def _joint(situation: Situation) -> Contender:
    name = "JointLazyGraphLinUCB"
    if situation.factor_norm is None:
        return Contender(name=name, absent="give factor_norm if objectives share factors")
    if not has_factors(situation.problem):
        return Contender(name=name, absent="its basis cannot be split into shared factors")
    return Contender(name=name, kind=JointLazyGraphLinUCB)


def _descent(situation: Situation) -> Contender:
    if situation.lipschitz is None:
        return Contender(name=DESCENT, absent="give lipschitz if gradients can be told")
    T, G, M = situation.horizon, situation.lipschitz, situation.budget
    bound, step = descent(situation.problem, T, lipschitz=G, budget=M)
    options = {"horizon": T, "lipschitz": G, "budget": T if M is None else M, "step": step}
    return Contender(name=DESCENT, options=options, absent=bound.lacks)
