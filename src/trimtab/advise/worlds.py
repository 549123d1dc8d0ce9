r"""Worlds to rank variants in: draws from what the recommended policies believe.

The parameters are drawn from the prior that the policies learn with (`learn.prior`). What that
leaves open is drawn as well. The unit of a loss is 1 / weight: losses that matter equally are
equal. Where nothing is told, a loss changes by about one unit over the domain,

    log S ~ N(0, 0.5^2),    log(sigma / S) ~ N(-log 12, 1.2^2),

the second of which is what the policies take for likely (`learn.empirical_bayes`). The noises
of different criteria differ by a factor of about 1.6. Where the noise is told, the same relation
gives the spread. Where the range of the total loss is told, spreads add up to it at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from trimtab.advise.situation import Situation
from trimtab.arrays import Array, Ints
from trimtab.errors import InvalidInput
from trimtab.learn import Prior
from trimtab.learn.empirical_bayes import SPREAD, SPREAD_SD
from trimtab.learn.joint.model import Factors
from trimtab.learn.sparsity_test import units
from trimtab.learn.subset_refit import check_nested, kept_features, on_graph
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.sim.worlds import Drifting, Gaussian, Noise, World
from trimtab.sim.worlds.joint import world_of

UNIT_SD = 0.5  # of the log of a spread, in units of 1 / weight
UNEVEN_SD = 0.5  # of the log of an objective's noise around the typical one
SHARED = 0.5  # of the variance of correlated noise, that part is common to a component
PHASES = 3  # worlds that follow each other where the world drifts
KEPT = 0.7  # correlation of the parameters of a world and the next one
STRATA = 8  # worlds that together have every eighth of spreads and of noises once


@dataclass(frozen=True, eq=False)
class Correlated:
    """Normal noise of which half the variance is common to all objectives of a component."""

    sigma: Array  # (m,)
    component: Ints  # (m,)

    def draw(self, rng: np.random.Generator, graph: Graph, t: int) -> Array:
        """The noise of one round: (m,)."""
        common = rng.standard_normal(int(self.component.max()) + 1)[self.component]
        own = rng.standard_normal(self.sigma.size)
        both = np.sqrt(SHARED) * common + np.sqrt(1.0 - SHARED) * own
        return np.asarray(self.sigma * both)

    def scales(self, graph: Graph) -> Array:
        """The standard deviations."""
        return self.sigma


def world_number(n: int, situation: Situation, rounds: int) -> World | Drifting:
    """The world of this number, counted from 0; every eight of them have scales of all sizes."""
    rng = np.random.default_rng((situation.seed, 11, n))
    spread, sigma = _scales(n, situation, rng)
    shape = _shape(situation, spread, _noise(situation, sigma), rng)
    normal = rng.standard_normal(shape.parameters)
    if not situation.drift or rounds < PHASES:
        return shape.world(normal)
    worlds = [shape.world(normal)]
    for _ in range(1, PHASES):
        fresh = rng.standard_normal(shape.parameters)
        normal = KEPT * normal + np.sqrt(1.0 - KEPT**2) * fresh
        worlds.append(shape.world(normal))
    changes = [1 + rounds * phase // PHASES for phase in range(1, PHASES)]
    return Drifting(worlds, changes=changes)


@dataclass(frozen=True, eq=False)
class Shape:
    """All of a world but the normal numbers that its parameters are made of."""

    parameters: int
    world: Callable[[Array], World]


def _scales(n: int, situation: Situation, rng: np.random.Generator) -> tuple[Array, Array]:
    """The spread and the noise of every objective: (m,) each."""
    problem, prior = situation.problem, situation.prior.bind(situation.problem)
    block, place = divmod(n, STRATA)
    orders = np.random.default_rng((situation.seed, 12, block)).permuted(
        np.tile(np.arange(STRATA), (2, 1)), axis=1
    )
    first, second = (NormalDist().inv_cdf((x + rng.random()) / STRATA) for x in orders[:, place])
    level, ratio = np.exp(UNIT_SD * first), np.exp(SPREAD_SD * second)
    uneven = np.exp(UNEVEN_SD * rng.standard_normal(problem.criteria))
    if situation.sigma is not None:
        level = SPREAD * ratio * float(np.median(situation.sigma / prior.unit))
    if situation.worst is not None:
        level = min(level, situation.worst / problem.criteria)
    spread = level * prior.unit if prior.spread is None else prior.spread
    if situation.sigma is not None:
        return spread, situation.sigma
    typical = float(np.median(spread / prior.unit)) / (SPREAD * ratio)
    return spread, typical * uneven * prior.unit


def _noise(situation: Situation, sigma: Array) -> Noise:
    if not situation.correlated:
        return Gaussian(sigma)
    component = np.empty(sigma.size, np.int64)
    for c, (_, criteria) in enumerate(situation.problem.graph.components()):
        component[criteria] = c
    return Correlated(sigma, component)


def _shape(situation: Situation, spread: Array, noise: Noise, rng: np.random.Generator) -> Shape:
    problem = situation.problem
    if situation.factor_norm is not None and has_factors(problem):
        return _of_factors(problem, spread, noise)
    if not situation.graph_known and can_shrink(problem):
        return _of_fewer_knobs(problem, spread, noise, _thinned(problem, situation.reads, rng))
    prior = Prior().bind(problem)
    return Shape(prior.mean.size, lambda z: _world(problem, prior.parameters(spread, z), noise))


def _world(problem: Problem, theta: Array, noise: Noise) -> World:
    return World(problem, theta=np.split(theta, problem.features.offsets[1:-1]), noise=noise)


def has_factors(problem: Problem) -> bool:
    """Whether its losses can be made of shared factors (Assumption D)."""
    try:
        Factors(problem)
    except InvalidInput:
        return False
    return True


def can_shrink(problem: Problem) -> bool:
    """Whether its objectives can read fewer knobs with some of the same features."""
    try:
        check_nested(problem)
        kept_features(problem, problem, 0)
    except InvalidInput:
        return False
    return True


def _of_factors(problem: Problem, spread: Array, noise: Noise) -> Shape:
    """Losses made of factors, each as the prior has an objective of the same knobs."""
    factors = Factors(problem)
    alike = Problem(
        factors.graph, basis=factors.basis, domain=problem.domain.unbound(), weights=factors.pull
    )
    prior, each = Prior().bind(alike), float(np.median(spread * problem.weights)) / factors.pull
    return Shape(
        prior.mean.size, lambda z: world_of(factors, prior.parameters(each, z), noise=noise)
    )


def _of_fewer_knobs(problem: Problem, spread: Array, noise: Noise, truth: Graph) -> Shape:
    """Losses that read some knobs of each scope, as the prior has losses of these knobs."""
    known = on_graph(problem, truth)
    prior = Prior().bind(known)
    fewer = [kept_features(problem, known, i) for i in range(problem.criteria)]

    def world(normal: Array) -> World:
        drawn, theta = prior.parameters(spread, normal), np.zeros(int(problem.features.offsets[-1]))
        for i, (kept, ratio) in enumerate(fewer):
            own = drawn[known.features.offsets[i] : known.features.offsets[i + 1]]
            theta[problem.features.offsets[i] + kept] = ratio * own
        return _world(problem, theta, noise)

    return Shape(prior.mean.size, world)


def _thinned(problem: Problem, reads: int, rng: np.random.Generator) -> Graph:
    """`reads` knobs, or balls, of every scope at random, its centre among them."""
    graph, unit = problem.graph, units(problem)
    scopes = []
    for i in range(graph.criteria):
        scope = graph.scope(i)
        mine = rng.permutation(np.unique(unit[scope]))
        if graph.centres is not None:
            own = unit[graph.centres[i]]
            mine = np.r_[own, mine[mine != own]]
        scopes.append(scope[np.isin(unit[scope], mine[:reads])].tolist())
    centres = None if graph.centres is None else graph.centres.tolist()
    return Graph.from_scopes(scopes, knobs=graph.knobs, centres=centres)
