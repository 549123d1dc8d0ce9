"""Policies: when to look at the state again, and where to move it."""

from trimtab.policies.adaptive.policy import AdaptiveGraphLinUCB
from trimtab.policies.async_ import AsyncLazyGraphLinUCB
from trimtab.policies.base import Policy, Told
from trimtab.policies.baselines.perturbed import FollowThePerturbedLeader
from trimtab.policies.baselines.simple import FixedState, RandomState, binary
from trimtab.policies.gradient.descent import GradientPolicy
from trimtab.policies.gradient.lazy_ogd import LazyOGD
from trimtab.policies.joint.policy import JointLazyGraphLinUCB
from trimtab.policies.lazy import LazyGraphLinUCB
from trimtab.policies.lazy_policy import LazyPolicy
from trimtab.policies.learner import Certificate
from trimtab.policies.linucb import LinUCB
from trimtab.policies.pooled.policy import PooledGraphLinUCB
from trimtab.policies.pooled.scalar import ScalarLinUCB
from trimtab.policies.record import Record
from trimtab.policies.snapshots import restore
from trimtab.policies.steady import SteadyGraphLinUCB

__all__ = [
    "AdaptiveGraphLinUCB",
    "AsyncLazyGraphLinUCB",
    "Certificate",
    "FixedState",
    "FollowThePerturbedLeader",
    "GradientPolicy",
    "JointLazyGraphLinUCB",
    "LazyGraphLinUCB",
    "LazyOGD",
    "LazyPolicy",
    "LinUCB",
    "Policy",
    "PooledGraphLinUCB",
    "RandomState",
    "Record",
    "ScalarLinUCB",
    "SteadyGraphLinUCB",
    "Told",
    "binary",
    "restore",
]
