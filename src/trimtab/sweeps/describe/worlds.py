"""The worlds that a sweep can describe, and what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from json import loads
from typing import Any

from trimtab.model.bases.registry import BASES as BASIS_LIST
from trimtab.model.domain import Balls, Box, Simplex
from trimtab.model.graph import Graph
from trimtab.plain.faults import Fault
from trimtab.sim import worlds
from trimtab.sim.recommender import recommender
from trimtab.sim.worlds import Adversarial, Drifting, World
from trimtab.sim.worlds.registry import WORLDS as WORLD_LIST
from trimtab.sweeps.describe import graphs
from trimtab.sweeps.describe.kinds import Kind, Kinds, Listed, faults_of, make
from trimtab.sweeps.describe.settings import Settings, text

AnyWorld = World | Drifting | Adversarial


def _of(*makers: Any) -> dict[str, Kind]:
    return {maker.__name__: Kind(maker) for maker in makers}


GRAPHS: Kinds = {
    "complete": Kind(graphs.complete),
    "cliques": Kind(Graph.cliques),
    "edges": Kind(graphs.edges),
    "scopes": Kind(Graph.from_scopes),
    **_of(graphs.grid, graphs.path, graphs.regular, graphs.ring, graphs.star),
}
BASES: Kinds = Listed(BASIS_LIST, Kind)
DOMAINS: Kinds = _of(Box, Balls, Simplex)
NOISES: Kinds = _of(worlds.Gaussian, worlds.Bounded, worlds.Correlated, worlds.Recorded)
ADVERSARIES: Kinds = _of(
    worlds.Alternating,
    worlds.Contrarian,
    worlds.DriftingQuadratics,
    worlds.RecordedTargets,
    worlds.RandomSigns,
    worlds.ShiftingTargets,
)


def _drifting(*, of: Settings, changes: Sequence[int], seed: int) -> Drifting:
    """One world after another: each is `of` with the next seed."""
    seed = of.get("seed", seed)
    each = ({**of, "seed": seed + j} for j in range(len(changes) + 1))
    return Drifting([make(world, WORLDS) for world in each], changes=changes)


PARTS: Mapping[str, Kinds] = {
    "graph": GRAPHS,
    "within": GRAPHS,
    "noise": NOISES,
    "basis": BASES,
    "domain": DOMAINS,
    "adversary": ADVERSARIES,
}


def _world(maker: Callable[..., Any]) -> Kind:
    """A kind of world; of what a generator returns beside the world nothing is needed."""

    @wraps(maker)
    def first(*args: Any, **options: Any) -> AnyWorld:
        made = maker(*args, **options)
        world: AnyWorld = made[0] if isinstance(made, tuple) else made
        return world

    return Kind(first, PARTS)


WORLDS: Kinds = Listed(
    WORLD_LIST,
    _world,
    beside={
        "recommender": Kind(recommender),
        "adversarial": Kind(Adversarial, PARTS),
        "drifting": Kind(_drifting, filled=frozenset({"seed"})),
    },
)


def world_faults(settings: Settings, where: str) -> list[Fault]:
    """What is wrong with the description of a world."""
    faults = faults_of(settings, WORLDS, where)
    if not faults and settings["kind"] == "drifting":
        seeded = {name: kind for name, kind in WORLDS.items() if "seed" in kind.fields}
        faults = faults_of(settings["of"], seeded, f"{where}.of")
    return faults


def make_world(settings: Settings, *, seed: int) -> AnyWorld:
    """The world that is described, with this seed if it gives none itself.

    >>> make_world({"kind": "quadratic", "graph": {"kind": "ring", "knobs": 4}}, seed=1).problem
    Problem(Graph(knobs=4, criteria=4), basis=Quadratic(powers=2, normalize=True))
    """
    return _made(text(settings), seed)


@lru_cache(maxsize=4)  # runs of several policies in one world follow each other
def _made(settings: str, seed: int) -> AnyWorld:
    world: AnyWorld = make(loads(settings), WORLDS, seed=seed)
    return world
