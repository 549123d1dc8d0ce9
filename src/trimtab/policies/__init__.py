"""Policies: when to look at the state again, and where to move it."""

from trimtab.policies.async_ import AsyncLazyGraphLinUCB
from trimtab.policies.base import Policy, Told
from trimtab.policies.lazy import LazyGraphLinUCB
from trimtab.policies.learner import Certificate
from trimtab.policies.linucb import LinUCB
from trimtab.policies.record import Record
from trimtab.policies.schedule import LazyPolicy
from trimtab.policies.snapshots import restore
from trimtab.policies.steady import SteadyGraphLinUCB

__all__ = [
    "AsyncLazyGraphLinUCB",
    "Certificate",
    "LazyGraphLinUCB",
    "LazyPolicy",
    "LinUCB",
    "Policy",
    "Record",
    "SteadyGraphLinUCB",
    "Told",
    "restore",
]
