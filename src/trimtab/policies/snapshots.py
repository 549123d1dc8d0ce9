"""A policy from its snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from trimtab.errors import InvalidInput
from trimtab.model.domain import BoundConvexDomain, ConvexDomain
from trimtab.model.problem import Problem
from trimtab.policies.base import FORMAT, Policy
from trimtab.policies.gradient.descent import GradientPolicy
from trimtab.policies.registry import POLICIES, is_told_gradients


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
    kind = POLICIES.named(snapshot.get("policy"))
    told_gradients = is_told_gradients(kind)
    if isinstance(problem, Problem) == told_gradients:
        needed = "the domain" if told_gradients else "the problem"
        raise InvalidInput(
            f"the snapshot is of a {kind.__name__}; restore it with {needed} it was made for"
        )
    if isinstance(problem, Problem) and snapshot.get("problem") != problem.fingerprint():
        raise InvalidInput(
            "the snapshot was taken of another problem (its graph, basis, domain, weights or "
            "move_cost differ); restore it with the problem it was made for"
        )
    policy: Policy | GradientPolicy = kind.restored(problem, snapshot)
    return policy
