"""The worlds that a sweep can describe, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, wraps
from json import loads
from typing import Any

from trimtab.model import bases
from trimtab.model.domain import Balls, Box, Simplex
from trimtab.model.graph import Graph
from trimtab.sim import worlds
from trimtab.sim.recommender import recommender
from trimtab.sim.worlds import Adversarial, Drifting, World
from trimtab.sweep import graphs
from trimtab.sweep.kinds import Kind, Kinds, check, make
from trimtab.sweep.settings import Settings, text

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
BASES: Kinds = _of(
    bases.Linear,
    bases.Polynomial,
    bases.PairwiseQuadratic,
    bases.Quadratic,
    bases.Products,
    bases.FourierFeatures,
)
DOMAINS: Kinds = _of(Box, Balls, Simplex)
NOISES: Kinds = _of(worlds.Gaussian, worlds.Bounded, worlds.Correlated, worlds.Recorded)
ADVERSARIES: Kinds = _of(
    worlds.Alternating,
    worlds.Contrarian,
    worlds.DriftingQuadratics,
    worlds.RandomSigns,
    worlds.ShiftingTargets,
)


@wraps(worlds.factored)
def _factored(*args: Any, **options: Any) -> World:
    world, _ = worlds.factored(*args, **options)
    return world


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
WORLDS: Kinds = {
    "linear": Kind(worlds.linear, PARTS),
    "quadratic": Kind(worlds.quadratic, PARTS),
    "factored": Kind(_factored, PARTS),
    "sparse": Kind(worlds.sparse, PARTS),
    "spin_glass": Kind(worlds.spin_glass),
    "recommender": Kind(recommender),
    "adversarial": Kind(Adversarial, PARTS),
    "drifting": Kind(_drifting, filled=frozenset({"seed"})),
}
SEEDED: Kinds = {name: kind for name, kind in WORLDS.items() if "seed" in kind.options}


def check_world(settings: Settings, where: str) -> None:
    """Refuse a description that names what does not exist."""
    check(settings, WORLDS, where)
    if settings["kind"] == "drifting":
        check(settings["of"], SEEDED, f"{where}.of")


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
