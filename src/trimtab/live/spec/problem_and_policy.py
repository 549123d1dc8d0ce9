"""From a spec to what learns: the problem in normalised units, and the policy on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.arrays import Array
from trimtab.learn import Confidence, Prior
from trimtab.live.spec.basis_and_policy import BasisChoice, PolicyChoice
from trimtab.live.spec.knob import Knob
from trimtab.live.spec.objective import Objective
from trimtab.model.domain import Box
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.policies import Policy, SteadyGraphLinUCB
from trimtab.policies.registry import POLICIES

TYPICAL_NOISE = 0.1  # of the range: assumed for reg and for advice where noise is estimated
LEAST_REG = 1e-8
KEEPS_BY_ITSELF = ("SteadyGraphLinUCB", "PooledGraphLinUCB", "AdaptiveGraphLinUCB")


@dataclass(frozen=True)
class Beliefs:
    """What a spec says of the losses, one entry per objective."""

    sigma: Array | None  # (m,) None if the noise is estimated
    norm: Array  # (m,)
    reg: Array  # (m,)

    @property
    def assumed_sigma(self) -> Array:
        """The noise, or what we take it to be before anything was measured."""
        return np.full(self.norm.size, TYPICAL_NOISE) if self.sigma is None else self.sigma


def box_of(knobs: Sequence[Knob]) -> Box:
    """Every knob in [0, 1], integers on levels."""
    levels = {
        j: np.arange(knob.steps + 1) / knob.steps for j, knob in enumerate(knobs) if knob.steps
    }
    return Box(levels=levels)


def watched_problem(knobs: Sequence[Knob], scope: Sequence[int]) -> Problem:
    """What a guardrail reads, as the one criterion of a problem on the same knobs."""
    basis = BasisChoice().resolved(len(scope), bends=True).build()
    return Problem(
        Graph.from_scopes([list(scope)], knobs=len(knobs)), basis=basis, domain=box_of(knobs)
    )


def problem_of(
    knobs: Sequence[Knob], objectives: Sequence[Objective], basis: BasisChoice
) -> Problem:
    """The problem: every knob in [0, 1], integers on levels, scopes by the names of knobs."""
    place = {knob.name: j for j, knob in enumerate(knobs)}
    scopes = [[place[name] for name in objective.knobs] for objective in objectives]
    return Problem(
        Graph.from_scopes(scopes, knobs=len(knobs)),
        basis=basis.build(),
        domain=box_of(knobs),
        weights=[objective.weight for objective in objectives],
        move_cost=[knob.stability.move_cost for knob in knobs],
    )


def beliefs_of(
    objectives: Sequence[Objective], basis: BasisChoice, policy: PolicyChoice
) -> Beliefs:
    """What is known of the losses; if the noise of one is unknown, all are estimated."""
    norm = np.array([_norm(objective, basis) for objective in objectives])
    known = [objective.sigma for objective in objectives]
    sigma = None if None in known else np.array(known, np.float64)
    level = np.array([TYPICAL_NOISE if s is None else s for s in known])
    wanted = policy.options.get("reg", "balanced")
    if wanted == "balanced":
        reg = np.maximum((level / norm) ** 2, LEAST_REG)
        if policy.kind == "PooledGraphLinUCB":  # which pools only what has the same reg
            reg = np.full(reg.size, reg.max())
    else:
        reg = np.full(norm.size, float(wanted))
    return Beliefs(sigma=sigma, norm=norm, reg=reg)


def _norm(objective: Objective, basis: BasisChoice) -> float:
    known = objective.norm if objective.norm is not None else basis.norm(len(objective.knobs))
    return 1.0 if known is None else known  # the reader has asked for it where there is none


def policy_of(
    problem: Problem, choice: PolicyChoice, beliefs: Beliefs, *, start: Array, seed: int
) -> Policy:
    """The policy on the problem; it keeps the start state until it has learned something."""
    kind: Any = POLICIES.named(choice.kind)
    if choice.kind == "FixedState":
        still: Policy = kind(problem, start=start)
        return still
    if choice.recommended:
        pooled = choice.kind == "PooledGraphLinUCB" and "noise" not in choice.options
        sigma = None if pooled else beliefs.sigma  # of a sum it is learned
        prior = Prior(sigma=sigma, least=0.0)  # a loss is 0 at the better end of its range
        learns: Policy = kind(problem, start=start, prior=prior, seed=seed, **choice.options)
        return learns
    own = {key: x for key, x in choice.options.items() if key not in ("reg", "delta", "radius")}
    if choice.kind == "AdaptiveGraphLinUCB":
        own["then"] = SteadyGraphLinUCB
    elif choice.kind != "LinUCB" and choice.kind not in KEEPS_BY_ITSELF:
        own.setdefault("cold_start", "keep")
    radius: float | Confidence | None = choice.fixed_radius
    if radius is None:
        radius = Confidence(sigma=beliefs.sigma, norm=beliefs.norm, delta=choice.delta)
    made: Policy = kind(problem, start=start, radius=radius, reg=beliefs.reg, seed=seed, **own)
    return made
