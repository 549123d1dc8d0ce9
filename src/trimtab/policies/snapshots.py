"""A policy from its snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

import numpy as np

from trimtab.errors import InvalidInput
from trimtab.learn import Confidence, Prior
from trimtab.model.domain import BoundConvexDomain, ConvexDomain
from trimtab.model.problem import Problem
from trimtab.policies.adaptive.policy import AdaptiveGraphLinUCB
from trimtab.policies.async_ import AsyncLazyGraphLinUCB
from trimtab.policies.base import FORMAT, Policy
from trimtab.policies.baselines.perturbed import FollowThePerturbedLeader
from trimtab.policies.baselines.simple import FixedState, RandomState
from trimtab.policies.gradient.descent import GradientPolicy
from trimtab.policies.gradient.lazy_ogd import LazyOGD
from trimtab.policies.joint import learner
from trimtab.policies.joint.policy import JointLazyGraphLinUCB
from trimtab.policies.lazy import LazyGraphLinUCB
from trimtab.policies.learner import Learner
from trimtab.policies.linucb import LinUCB
from trimtab.policies.pooled.policy import PooledGraphLinUCB
from trimtab.policies.pooled.scalar import ScalarLinUCB, Total
from trimtab.policies.steady import SteadyGraphLinUCB
from trimtab.policies.wrapper import Wrapper

KINDS: tuple[type[Policy], ...] = (
    AdaptiveGraphLinUCB,
    LinUCB,
    LazyGraphLinUCB,
    AsyncLazyGraphLinUCB,
    SteadyGraphLinUCB,
    JointLazyGraphLinUCB,
    PooledGraphLinUCB,
    ScalarLinUCB,
    FixedState,
    RandomState,
)
POLICIES = {kind.__name__: kind for kind in KINDS}
GRADIENT_KINDS: tuple[type[GradientPolicy], ...] = (LazyOGD, FollowThePerturbedLeader)
GRADIENT_POLICIES = {kind.__name__: kind for kind in GRADIENT_KINDS}


@overload
def restore(problem: Problem, snapshot: Mapping[str, Any]) -> Policy: ...
@overload
def restore(
    problem: ConvexDomain | BoundConvexDomain, snapshot: Mapping[str, Any]
) -> GradientPolicy: ...
def restore(
    problem: Problem | ConvexDomain | BoundConvexDomain, snapshot: Mapping[str, Any]
) -> Policy | GradientPolicy:
    """The policy that the snapshot was taken of; it has the same future, bit for bit.

    A gradient policy, such as `LazyOGD`, was made for a domain: give that instead of a problem.

    >>> import trimtab as tt
    >>> problem = tt.Problem(tt.Graph.complete(2))
    >>> policy = tt.LazyGraphLinUCB(problem, start=[0.5, 0.5], radius=0.5)
    >>> _ = policy.tell([0.1, 0.3])
    >>> again = tt.restore(problem, policy.snapshot())
    >>> again.rounds
    1

    Raises:
        InvalidInput: the snapshot is of another format, of another problem, incomplete
            or damaged.
    """
    version = snapshot.get("format")
    if not isinstance(version, int):
        raise InvalidInput("this is not a snapshot: it has no format number")
    if version != FORMAT:
        remedy = (
            "upgrade trimtab"
            if version > FORMAT
            else "begin with a new policy, or restore it with the trimtab that took it"
        )
        raise InvalidInput(
            f"the snapshot has format {version}, this trimtab reads format {FORMAT} only: {remedy}"
        )
    name = snapshot.get("policy")
    if name not in POLICIES | GRADIENT_POLICIES:
        raise InvalidInput(
            f"the snapshot is of a policy {name!r}; "
            f"this trimtab knows {', '.join(POLICIES | GRADIENT_POLICIES)}"
        )
    if isinstance(problem, Problem) == (name in GRADIENT_POLICIES):
        needed = "the domain" if name in GRADIENT_POLICIES else "the problem"
        raise InvalidInput(f"the snapshot is of a {name}; restore it with {needed} it was made for")
    if not isinstance(problem, Problem):
        return GRADIENT_POLICIES[name].restored(problem, snapshot)
    if snapshot.get("problem") != problem.fingerprint():
        raise InvalidInput(
            "the snapshot was taken of another problem (its graph, basis, domain, weights or "
            "move_cost differ); restore it with the problem it was made for"
        )
    kind = POLICIES[snapshot["policy"]]
    if issubclass(kind, Wrapper):
        return kind.restored(problem, snapshot, restore)
    problem = Total(problem) if kind is ScalarLinUCB else problem  # as the learner sees it
    pattern = _pattern(kind, problem, snapshot)
    missing = sorted(name for name in pattern if name not in snapshot)
    if missing:
        raise InvalidInput(f"the snapshot is incomplete: {', '.join(missing)} is missing")
    for name, model in pattern.items():
        grows = name.startswith(("diary.", "pending."))  # with a row for each entry
        found, expected = (np.shape(x)[grows:] for x in (snapshot[name], model))
        if found != expected or np.ndim(snapshot[name]) != np.ndim(model):
            raise InvalidInput(
                f"the snapshot is damaged: {name} has shape {np.shape(snapshot[name])}, "
                f"expected {np.shape(model)}"
            )
    policy = object.__new__(kind)
    memory = learner.JointLearner if kind is JointLazyGraphLinUCB else Learner
    policy.learner = memory.restored(problem, snapshot)
    for name in kind._own:
        setattr(policy, name, snapshot[name])
    return policy


def _pattern(kind: type[Policy], problem: Problem, snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Every entry a snapshot of this kind must have, in its shape."""
    prior = "prior.spread" in snapshot
    proven = "radius.form" in snapshot
    fresh = Learner(
        problem,
        start=problem.domain.anchor,
        radius=Confidence(sigma=1.0, norm=1.0) if proven else None if prior else 0.0,
        reg=None if prior else 1.0,
        prior=Prior(spread=1.0, sigma=1.0) if prior else None,
        factor=2.0,
        seed=0,
    )
    saved = fresh.snapshot()
    if kind is JointLazyGraphLinUCB:
        saved |= learner.pattern(problem, snapshot)
    return saved | dict.fromkeys(kind._own, 0)
