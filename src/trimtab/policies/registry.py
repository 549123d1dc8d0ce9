"""The one list of policies: snapshots, specs, sweeps, advice and the command line read it."""

from __future__ import annotations

from typing import Any

from trimtab.policies.base import Policy
from trimtab.policies.gradient.descent import GradientPolicy
from trimtab.registry import Registry

HOMES = {  # each module registers its own by the decorator
    "SteadyGraphLinUCB": "trimtab.policies.steady",
    "LazyGraphLinUCB": "trimtab.policies.lazy",
    "AsyncLazyGraphLinUCB": "trimtab.policies.async_",
    "AdaptiveGraphLinUCB": "trimtab.policies.adaptive.policy",
    "JointLazyGraphLinUCB": "trimtab.policies.joint.policy",
    "PooledGraphLinUCB": "trimtab.policies.pooled.policy",
    "LinUCB": "trimtab.policies.linucb",
    "ScalarLinUCB": "trimtab.policies.pooled.scalar",
    "FixedState": "trimtab.policies.baselines.simple",
    "RandomState": "trimtab.policies.baselines.simple",
    "LazyOGD": "trimtab.policies.gradient.lazy_ogd",
    "FollowThePerturbedLeader": "trimtab.policies.baselines.perturbed",
    "ROBD": "trimtab.policies.baselines.smoothed",
    "LCP": "trimtab.policies.baselines.smoothed",
}
POLICIES = Registry("policy", group="trimtab.policies", homes=HOMES)
register = POLICIES.register


def is_told_losses(kind: Any) -> bool:
    """Whether a policy is told losses, and made for a problem."""
    return Policy in kind.__mro__


def is_told_gradients(kind: Any) -> bool:
    """Whether a policy is told gradients, and made for a convex domain."""
    return GradientPolicy in kind.__mro__
