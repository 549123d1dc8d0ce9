"""The policies that a sweep can describe, in words that may refer to the world they play in.

Beside the arguments of the policy's class a description may say

- ``start = 0.5``: every knob there;
- ``radius = {sigma = "world", norm = "world"}``: a `Confidence` that knows the truth, and
  ``sigma = "estimated"`` for one that does not;
- ``reg = "balanced"``: `Confidence.balanced_reg`;
- ``lipschitz = "world"``: the true one, for gradient policies, which also get the horizon;
- ``binary = true``: the policy for `trimtab.binary` of the world's problem.
"""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from trimtab import policies
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.learn import Confidence
from trimtab.plain.faults import Fault
from trimtab.plain.shapes import REFUSED, Choice
from trimtab.plain.tables import ANYTHING, Field, Table
from trimtab.policies import GradientPolicy, LazyPolicy, Policy, binary
from trimtab.policies.registry import POLICIES, is_told_gradients
from trimtab.policies.wrapper import is_inner
from trimtab.sim.worlds import Adversarial, Drifting, World
from trimtab.sweeps.describe.kinds import Kind, Kinds, Listed, faults_of
from trimtab.sweeps.describe.settings import Settings
from trimtab.sweeps.describe.worlds import AnyWorld

PARTS: dict[str, Kinds] = {"radius": {"Confidence": Kind(Confidence)}}


def _kind(cls: type[Policy | GradientPolicy]) -> Kind:
    if is_told_gradients(cls):
        return Kind(cls, filled=frozenset({"domain", "horizon", "lipschitz", "seed"}))
    return Kind(cls, PARTS, filled=frozenset({"problem", "seed"}))


KINDS: Kinds = Listed(POLICIES, _kind)


def _lazy() -> dict[str, type[LazyPolicy]]:
    """The policies that another one can have inside."""
    return {name: POLICIES[name] for name in POLICIES if is_inner(POLICIES[name])}


FIRST = {"problem", "domain"}  # the argument that is always the world's


def policy_faults(settings: Settings, where: str) -> list[Fault]:
    """What is wrong with the description of a policy."""
    name = settings.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        return faults_of(settings, KINDS, where)
    kind = KINDS[name]
    faults = [
        Fault(f"{where}.{key}", ": it is the world's; leave it out")
        for key in sorted(FIRST & settings.keys())
    ]
    fields = dict(kind.fields)
    if not is_told_gradients(POLICIES[name]):
        fields["binary"] = Field(ANYTHING, "whether every knob is a switch")
    if "then" in fields:  # options of the policy inside are passed on to it
        then = Choice(tuple(_lazy())).read(_inside(settings, kind), f"{where}.then", faults)
        if then is REFUSED:
            return faults
        inside = KINDS[then].fields.items()
        passed = {key: replace(each, required=False) for key, each in inside if key not in FIRST}
        fields = {**passed, **fields}
    faults += faults_of(settings, {name: Table(fields)}, where)
    radius = settings.get("radius")
    if name == policies.ScalarLinUCB.__name__ and isinstance(radius, dict):
        faults += [
            Fault(
                f"{where}.radius.{key}",
                f" = 'world': it has an entry per objective, and {name} sees only their sum; give "
                "the number of the total",
            )
            for key in ("sigma", "norm")
            if radius.get(key) == "world"
        ]
    return faults


def _inside(settings: Settings, kind: Kind) -> Any:
    """The name of the policy that the described one has inside."""
    default = signature(kind.make).parameters["then"].default
    if default is None:  # it depends on what is believed of the losses
        paper = "radius" in settings
        default = policies.LazyGraphLinUCB if paper else policies.SteadyGraphLinUCB
    return settings.get("then", default.__name__)


def make_policy(
    settings: Settings, world: AnyWorld, *, seed: int, horizon: int
) -> Policy | GradientPolicy:
    """The policy that is described, for a world.

    >>> from trimtab.sweeps.describe.worlds import make_world
    >>> world = make_world({"kind": "linear", "graph": {"kind": "ring", "knobs": 3}}, seed=1)
    >>> settings = {"kind": "LinUCB", "start": 0.5, "radius": {"sigma": "world", "norm": "world"}}
    >>> make_policy(settings, world, seed=2, horizon=100).start
    array([0.5, 0.5, 0.5])
    """
    policy = POLICIES[settings["kind"]]
    kind = KINDS[settings["kind"]]
    options = {"seed": seed, **settings}
    options = {
        key: value for key, value in options.items() if key in kind.fields or key in settings
    }
    del options["kind"]
    if is_told_gradients(policy):
        if not isinstance(world, Adversarial):
            raise InvalidInput(f"{settings['kind']} plays in worlds of kind 'adversarial' only")
        options = {"horizon": horizon, "lipschitz": "world", **options}
        if options["lipschitz"] == "world":
            options["lipschitz"] = world.lipschitz
        first: Any = world.domain
        knobs = world.domain.knobs
    else:
        if isinstance(world, Adversarial):
            raise InvalidInput(f"{settings['kind']} is told losses; an adversary gives gradients")
        first = binary(world.problem) if options.pop("binary", False) else world.problem
        knobs = world.problem.knobs
        if isinstance(options.get("radius"), dict):
            options["radius"] = _confidence(options["radius"], world)
        if options.get("reg") == "balanced":
            options["reg"] = _balanced(options.get("radius"))
        if "then" in options:
            options["then"] = POLICIES[options["then"]]
    if np.ndim(options["start"]) == 0:
        options["start"] = np.full(knobs, options["start"])
    made: Policy | GradientPolicy = kind.make(first, **options)
    return made


def _confidence(settings: Settings, world: World | Drifting) -> Confidence:
    times = world.worlds if isinstance(world, Drifting) else (world,)
    options = {key: value for key, value in settings.items() if key != "kind"}
    if options["norm"] == "world":
        options["norm"] = _largest([now.norms for now in times])
    if options["sigma"] == "world":
        options["sigma"] = _largest([now.noise.scales(now.problem.graph) for now in times])
    elif options["sigma"] == "estimated":
        options["sigma"] = None
    return Confidence(**options)


def _largest(each: list[Array]) -> Array:
    return np.asarray(np.max(each, axis=0))


def _balanced(radius: Any) -> Any:
    if not isinstance(radius, Confidence):
        raise InvalidInput("reg = 'balanced' needs a radius with sigma and norm")
    return radius.balanced_reg
