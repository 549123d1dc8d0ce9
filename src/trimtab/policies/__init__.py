"""Policies: when to look at the state again, and where to move it."""

from trimtab.policies.adaptive import AdaptiveGraphLinUCB
from trimtab.policies.async_ import AsyncLazyGraphLinUCB
from trimtab.policies.base import Policy, Told
from trimtab.policies.baselines import FixedState, RandomState, binary
from trimtab.policies.gradient import GradientPolicy
from trimtab.policies.joint import JointLazyGraphLinUCB
from trimtab.policies.lazy import LazyGraphLinUCB
from trimtab.policies.learner import Certificate
from trimtab.policies.linucb import LinUCB
from trimtab.policies.ogd import LazyOGD
from trimtab.policies.perturbed import FollowThePerturbedLeader
from trimtab.policies.pooled import PooledGraphLinUCB
from trimtab.policies.record import Record
from trimtab.policies.scalar import ScalarLinUCB
from trimtab.policies.schedule import LazyPolicy
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
