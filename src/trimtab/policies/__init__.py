"""Policies: when to look at the state again, and where to move it.

Names resolve at first use: a command on a live tuner loads the policy of its spec and no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab.policies.registry import HOMES
from trimtab.registry import resolver

if TYPE_CHECKING:  # the same names as below, for type checkers and editors
    from trimtab.policies.adaptive.policy import AdaptiveGraphLinUCB as AdaptiveGraphLinUCB
    from trimtab.policies.async_ import AsyncLazyGraphLinUCB as AsyncLazyGraphLinUCB
    from trimtab.policies.base import Policy as Policy
    from trimtab.policies.base import Told as Told
    from trimtab.policies.baselines.perturbed import (
        FollowThePerturbedLeader as FollowThePerturbedLeader,
    )
    from trimtab.policies.baselines.simple import FixedState as FixedState
    from trimtab.policies.baselines.simple import RandomState as RandomState
    from trimtab.policies.baselines.simple import binary as binary
    from trimtab.policies.baselines.smoothed import LCP as LCP
    from trimtab.policies.baselines.smoothed import ROBD as ROBD
    from trimtab.policies.gradient.descent import GradientPolicy as GradientPolicy
    from trimtab.policies.gradient.lazy_ogd import LazyOGD as LazyOGD
    from trimtab.policies.joint.policy import JointLazyGraphLinUCB as JointLazyGraphLinUCB
    from trimtab.policies.lazy import LazyGraphLinUCB as LazyGraphLinUCB
    from trimtab.policies.lazy_policy import LazyPolicy as LazyPolicy
    from trimtab.policies.learner import Certificate as Certificate
    from trimtab.policies.linucb import LinUCB as LinUCB
    from trimtab.policies.pooled.policy import PooledGraphLinUCB as PooledGraphLinUCB
    from trimtab.policies.pooled.scalar import ScalarLinUCB as ScalarLinUCB
    from trimtab.policies.record import Record as Record
    from trimtab.policies.snapshots import restore as restore
    from trimtab.policies.steady import SteadyGraphLinUCB as SteadyGraphLinUCB

_HOME = HOMES | {
    "Policy": "trimtab.policies.base",
    "Told": "trimtab.policies.base",
    "binary": "trimtab.policies.baselines.simple",
    "GradientPolicy": "trimtab.policies.gradient.descent",
    "LazyPolicy": "trimtab.policies.lazy_policy",
    "Certificate": "trimtab.policies.learner",
    "Record": "trimtab.policies.record",
    "restore": "trimtab.policies.snapshots",
}

__all__ = list(_HOME)


if not TYPE_CHECKING:  # else a checker would take any misspelt name for an object
    __getattr__ = resolver(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
