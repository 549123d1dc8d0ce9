"""The one list of policies: snapshots, specs, sweeps, advice and the command line read it."""

from __future__ import annotations

from typing import Any

from trimtab.policies.base import Policy
from trimtab.policies.gradient.descent import GradientPolicy
from trimtab.registry import Registry

POLICIES = Registry("policy", group="trimtab.policies")
register = POLICIES.register


def is_told_losses(kind: Any) -> bool:
    """Whether a policy is told losses, and made for a problem."""
    return Policy in kind.__mro__


def is_told_gradients(kind: Any) -> bool:
    """Whether a policy is told gradients, and made for a convex domain."""
    return GradientPolicy in kind.__mro__
