"""A policy from its snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.errors import InvalidInput
from trimtab.policies.async_ import AsyncLazyGraphLinUCB
from trimtab.policies.base import FORMAT, Policy
from trimtab.policies.lazy import LazyGraphLinUCB
from trimtab.policies.learner import Learner
from trimtab.policies.linucb import LinUCB
from trimtab.policies.steady import SteadyGraphLinUCB
from trimtab.problem import Problem

KINDS: tuple[type[Policy], ...] = (LinUCB, LazyGraphLinUCB, AsyncLazyGraphLinUCB, SteadyGraphLinUCB)
POLICIES = {kind.__name__: kind for kind in KINDS}


def restore(problem: Problem, snapshot: Mapping[str, Any]) -> Policy:
    """The policy that the snapshot was taken of; it has the same future, bit for bit.

    >>> import trimtab as tt
    >>> problem = tt.Problem(tt.Graph.complete(2))
    >>> policy = tt.LazyGraphLinUCB(problem, start=[0.5, 0.5], radius=0.5)
    >>> _ = policy.tell([0.1, 0.3])
    >>> again = tt.restore(problem, policy.snapshot())
    >>> again.rounds
    1

    Raises:
        InvalidInput: the snapshot is of a newer format, of another problem, incomplete
            or damaged.
    """
    version = snapshot.get("format")
    if not isinstance(version, int):
        raise InvalidInput("this is not a snapshot: it has no format number")
    if version > FORMAT:
        raise InvalidInput(
            f"the snapshot has format {version}, this trimtab reads up to {FORMAT}; upgrade trimtab"
        )
    if snapshot.get("policy") not in POLICIES:
        raise InvalidInput(
            f"the snapshot is of a policy {snapshot.get('policy')!r}; "
            f"this trimtab knows {', '.join(POLICIES)}"
        )
    if snapshot.get("problem") != problem.fingerprint():
        raise InvalidInput(
            "the snapshot was taken of another problem (its graph, basis, domain, weights or "
            "move_cost differ); restore it with the problem it was made for"
        )
    kind = POLICIES[snapshot["policy"]]
    pattern = _pattern(kind, problem, snapshot)
    missing = sorted(name for name in pattern if name not in snapshot)
    if missing:
        raise InvalidInput(f"the snapshot is incomplete: {', '.join(missing)} is missing")
    for name, model in pattern.items():
        if np.shape(snapshot[name]) != np.shape(model):
            raise InvalidInput(
                f"the snapshot is damaged: {name} has shape {np.shape(snapshot[name])}, "
                f"expected {np.shape(model)}"
            )
    policy = object.__new__(kind)
    policy.learner = Learner.restored(problem, snapshot)
    for name in kind._own:
        setattr(policy, name, snapshot[name])
    return policy


def _pattern(kind: type[Policy], problem: Problem, snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Every entry a snapshot of this kind must have, in its shape."""
    fresh = Learner(
        problem,
        start=problem.domain.anchor,
        radius=np.zeros(problem.criteria),
        reg=1.0,
        factor=2.0,
        seed=0,
    )
    saved = fresh.snapshot()
    if "radius.form" in snapshot:
        del saved["radius.beta"]
        saved |= {"radius.delta": 0.0, "radius.form": "", "radius.sigma": fresh.lcb.radii}
        saved["radius.norm"] = fresh.lcb.radii
    return saved | dict.fromkeys(kind._own, 0)
