"""The worlds of the league: a name, a price of movement, and a system for every seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

import networkx as nx
import numpy as np

import trimtab as tt
from benchmarks.league import recorded
from benchmarks.league.disturbed import Daily, HeavyTailed, Spiky
from benchmarks.league.place import Place, Setting, placed
from benchmarks.league.shapes import cliff, plateau, saturation, two_valleys
from trimtab.arrays import Array, Bools, Ints
from trimtab.model.bases import Linear, PairwiseQuadratic
from trimtab.model.domain import Balls
from trimtab.model.problem import Problem
from trimtab.sim.recommender import START, recommender
from trimtab.sim.worlds import Correlated, Drifting, Fairness, Gaussian, World

SIGMA = 0.1  # of a loss, unless the world says otherwise


def ring(k: int) -> tt.Graph:
    """A circle of knobs."""
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


def regular(k: int, degree: int) -> tt.Graph:
    """A random graph in which all knobs have the same number of neighbours; the same one always."""
    return tt.Graph.from_networkx(nx.random_regular_graph(degree, k, seed=1))


def quadratic(seed: int, *, graph: tt.Graph, price: float, **options: object) -> Place:
    """The paper's Example 1 on a graph: conflicting parabolas, coupled along the edges."""
    world = tt.worlds.quadratic(
        graph,
        seed=seed,
        basis=PairwiseQuadratic(),
        move_cost=price,
        **options,  # type: ignore[arg-type]
    )
    return placed(world, seed)


def cliques(seed: int, *, count: int, price: float) -> Place:
    """The paper's synthetic experiments: pairs of knobs in a disc, one linear loss each."""
    pairs = [[2 * c, 2 * c + 1] for c in range(count)]
    problem = Problem(
        tt.Graph.from_scopes(pairs, knobs=2 * count),
        basis=Linear(normalize=False),
        domain=Balls(pairs),
        move_cost=price,
    )
    raw = np.random.default_rng((seed, 12)).normal(size=(count, 2))
    theta = list(raw / np.linalg.norm(raw, axis=1, keepdims=True))
    return placed(World(problem, theta=theta, noise=Gaussian(0.5)), seed)


def adult(seed: int, *, price: float) -> Place:
    """The paper's third experiment: one threshold on Adult, a parabola for a kinked loss."""
    from trimtab.paper.adult.play import Settings, Threshold, Variant

    world = Threshold(Settings(), Variant(name="league"))
    old = world.problem
    world.problem = Problem(
        old.graph, basis=old.basis, domain=old.domain.unbound(), move_cost=price
    )
    return placed(world, seed, start=[0.2])


People = tuple[Array, Bools, Ints]  # scores, labels and groups


@cache
def people() -> People:
    """Scores, labels and groups of 6,000 people in six groups that differ in size and skill."""
    rng = np.random.default_rng(5)
    groups = rng.choice(6, size=6000, p=[0.35, 0.25, 0.15, 0.1, 0.1, 0.05])
    labels = rng.random(6000) < np.array([0.5, 0.35, 0.45, 0.25, 0.4, 0.3])[groups]
    skill = np.array([2.0, 1.6, 1.3, 1.5, 1.0, 1.2])[groups]
    shift = np.array([0.0, -0.4, 0.3, -0.6, 0.2, -0.2])[groups]
    logits = rng.normal(skill * (labels - 0.5) + shift)
    return np.asarray(1.0 / (1.0 + np.exp(-logits))), labels, groups


def fairness(seed: int, *, price: float, crowd: Callable[[], People] = people) -> Place:
    """A threshold per group, errors and gaps, from batches of 256: no basis fits exactly."""
    world = Fairness(
        *crowd(),
        links="chain",
        units="logit",
        low=0.1,
        high=0.9,
        gap_weight=2.0,
        move_cost=price,
    )
    return placed(world, seed)


def drifting(seed: int, *, graph: tt.Graph, price: float, changes: Sequence[int]) -> Place:
    """A world that becomes another one at some rounds."""
    parts = [quadratic(1000 * n + seed, graph=graph, price=price) for n in range(len(changes) + 1)]
    worlds = [part.world for part in parts if isinstance(part.world, World)]
    first = parts[0]
    world = Drifting(worlds, changes=changes)
    return Place(world, world.problem, first.start, first.sigma)


def wrong_graph(seed: int, *, graph: tt.Graph, believed: tt.Graph, price: float) -> Place:
    """A world of which the policies are told another graph."""
    true = quadratic(seed, graph=graph, price=price)
    problem = Problem(believed, basis=PairwiseQuadratic(), move_cost=price)
    return Place(true.world, problem, true.start, true.sigma)


def unequal(graph: tt.Graph) -> Gaussian:
    """Noise between 0.02 and 0.5, from criterion to criterion."""
    return Gaussian(np.geomspace(0.02, 0.5, graph.criteria))


@cache
def settings(horizon: int) -> tuple[Setting, ...]:
    """All worlds; those that drift do so at a third and at two thirds of the horizon."""
    changes = [horizon // 3 + 1, 2 * horizon // 3 + 1]
    ring10, degree3, degree4 = ring(10), regular(20, 3), regular(20, 4)
    Q = partial(partial, quadratic)
    unfitting = partial(Setting, holds=False, why="the basis does not fit", small=True)
    bent = partial(unfitting, files=("surface.py", "shapes.py"))
    disturbed = partial(Setting, holds=False, files=("disturbed.py",))
    return (
        Setting("one clique (paper)", partial(cliques, count=1, price=1.0), small=True, box=False),
        Setting("four cliques (paper: ten)", partial(cliques, count=4, price=1.0), box=False),
        unfitting("Adult threshold (paper)", partial(adult, price=1.0)),
        Setting(
            "recommender",
            lambda seed: placed(recommender(move_cost=2.0), seed, START),
            small=True,
        ),
        Setting("degree 2, k = 10, cheap", Q(graph=ring10, price=0.3), small=True),
        Setting("degree 2, k = 10, dear", Q(graph=ring10, price=10.0), small=True),
        Setting("degree 3, k = 20", Q(graph=degree3, price=3.0)),
        Setting("degree 4, k = 50", Q(graph=regular(50, 4), price=3.0)),
        Setting("degree 6, k = 30", Q(graph=regular(30, 6), price=3.0)),
        Setting("correlated noise", Q(graph=degree4, price=3.0, noise=Correlated(SIGMA))),
        Setting("unequal noise", Q(graph=degree4, price=3.0, noise=unequal(degree4))),
        Setting("30 % missing", Q(graph=degree4, price=3.0, missing=0.3)),
        Setting(
            "delay of 20",
            Q(graph=degree4, price=3.0),
            holds=False,
            why="the theory knows no delay",
            delay=20,
        ),
        Setting(
            "drift",
            partial(drifting, graph=ring10, price=3.0, changes=changes),
            holds=False,
            why="the world changes twice",
            drifts=True,
        ),
        Setting(
            "wrong graph",
            partial(wrong_graph, graph=degree4, believed=ring(20), price=3.0),
            holds=False,
            why="most dependencies are unknown",
        ),
        unfitting("fairness, 6 groups", partial(fairness, price=1.0)),
        Setting(
            "free moves",
            Q(graph=ring10, price=0.0),
            holds=False,
            why="moves cost nothing",
        ),
        disturbed(
            "spikes",
            Q(graph=degree3, price=3.0, noise=Spiky(SIGMA)),
            why="2 % of losses are 10 to 30 standard deviations off",
        ),
        disturbed(
            "heavy tails",
            Q(graph=degree3, price=3.0, noise=HeavyTailed(SIGMA)),
            why="the noise is Student's t with 3 degrees of freedom",
        ),
        disturbed(
            "daily cycle",
            Q(graph=degree3, price=3.0, noise=Daily(SIGMA, amplitude=0.3, day=144)),
            why="an offset of three standard deviations comes and goes",
        ),
        bent("saturation", partial(saturation, knobs=6, price=1.0)),
        bent("cliff", partial(cliff, knobs=5, price=1.0)),
        bent("plateau, one valley", partial(plateau, pairs=2, price=1.0)),
        bent("two valleys", partial(two_valleys, pairs=2, price=1.0)),
        *recorded.settings(),
    )
