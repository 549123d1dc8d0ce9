"""A classifier in operation: one threshold per group, errors, and gaps between groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from trimtab.arrays import Array, ArrayLike, number, per_item, read_only, vector, whole
from trimtab.errors import InvalidInput
from trimtab.model.bases import Basis, Quadratic
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.sim.worlds.population import Gap, Population, population_of
from trimtab.sim.worlds.world import World, lengths
from trimtab.solve import Solution

Units = Literal["score", "logit"]
PROBES = 400  # states at which the losses are projected on the features
NOISE_STATES, NOISE_ROUNDS = 16, 64  # from which the size of the noise is taken
RIDGE = 1e-6  # of the projection
RESTARTS = 200


@dataclass(frozen=True, kw_only=True, eq=False)
class BestFixed:
    """The best thresholds that a search over everything the data can tell apart has found."""

    state: Array  # (k,) as knobs
    thresholds: Array  # (k,) as scores
    loss: float  # expected, of a round
    agreed: int  # restarts that ended at this loss
    restarts: int


@dataclass(frozen=True, eq=False)
class MiniBatch:
    """The noise of a batch. It depends on the state, so that only its world can draw it."""

    sizes: Array  # (m,)

    def draw(self, rng: np.random.Generator, graph: Graph, t: int) -> Array:
        """Refused: it is not the same at every state."""
        raise InvalidInput("the noise of a batch depends on the state; use the world's draw")

    def scales(self, graph: Graph) -> Array:
        """The standard deviation of each criterion's loss, over random states: (m,)."""
        return self.sizes.copy()


class Fairness(World):
    r"""A classifier in operation: knob g sets the threshold of group g, batches come back.

    Criteria are the error rate of every group, which reads its own knob, and for every link
    (g, h) the gap :math:`(x_g - x_h)^2` or :math:`|x_g - x_h|` of a rate x, which reads two.
    Expected losses are those of the whole data. In each round `batch` people are drawn from the
    data with replacement and judged; a loss is NaN where the batch has too few people for it,
    one of a group for an error, one (absolute gaps) or two (squared gaps) of each for a gap.
    Squared gaps are corrected for the variance of the batch, so that losses are right on
    average; absolute gaps of small batches are too large on average.

    No basis holds such losses exactly. `theta` is their projection on the features at random
    states, and `norms` its lengths; `learn.lack_of_fit` says whether a basis will do.
    With ``units="logit"`` knobs are log-odds, in which rates are much straighter than in
    scores: see docs/fairness.md.

    >>> import numpy as np, trimtab as tt
    >>> rng = np.random.default_rng(1)
    >>> groups = np.repeat(["a", "b", "c"], 500)
    >>> labels = rng.random(1500) < 0.4
    >>> scores = 1 / (1 + np.exp(-rng.normal(2.0 * labels - 1.0)))
    >>> world = tt.worlds.Fairness(
    ...     scores, labels, groups, links="chain", units="logit", low=0.2, high=0.8
    ... )
    >>> world.names[2:4]
    ('error of c', 'squared tpr gap a - b')
    >>> radius = tt.Confidence(sigma=None, norm=world.norms)
    >>> policy = tt.SteadyGraphLinUCB(world.problem, start=[0.0] * 3, radius=radius, reg=0.01)
    >>> trace = tt.play(policy, world, horizon=2000)
    >>> world.loss(policy.ask()) < 0.8 * world.loss(np.zeros(3))
    True

    Args:
        scores: of each person; at least the threshold is accepted: (n,).
        labels: what is true of each person, 0 or 1: (n,).
        groups: to which group each belongs; knobs are in ascending order of the groups: (n,).
        links: the pairs of groups that are compared: "all", "chain" (each with the next), or a
            list of pairs of groups.
        gap: the rate that is compared, "tpr" (of those with label 1, the share accepted), "fpr"
            (of those with label 0) or "selection" (of all).
        power: 2 for squared gaps, 1 for absolute ones.
        batch: people per round.
        error_weight: of the errors in the total, one number or one per group.
        gap_weight: of the gaps, one number or one per link.
        move_cost: the price of moving a knob by 1.
        units: "score" if thresholds are linear in the knobs, "logit" if their log-odds are.
        low: the threshold at knob 0.
        high: the threshold at knob 1.
        reads: the knobs that each criterion is said to read, its own first, if not those that
            it does: to see what a wrong graph costs.
        basis: `Quadratic` by default.
    """

    def __init__(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        groups: ArrayLike,
        *,
        links: str | Sequence[tuple[Any, Any]] = "all",
        gap: Gap = "tpr",
        power: int = 2,
        batch: int = 256,
        error_weight: ArrayLike = 1.0,
        gap_weight: ArrayLike = 1.0,
        move_cost: ArrayLike = 0.0,
        units: Units = "score",
        low: float = 0.0,
        high: float = 1.0,
        reads: Sequence[Sequence[int]] | None = None,
        basis: Basis | None = None,
    ) -> None:
        self.population = population_of(scores, labels, groups, links=links, gap=gap, power=power)
        self.batch = whole(batch, "batch", low=1)
        self.units = units
        self._low, self._high = _ends(units, low, high)
        k, pairs = len(self.population.names), self.population.links
        true = [[j] for j in range(k)] + pairs.tolist()
        said = true if reads is None else [list(scope) for scope in reads]
        if len(said) != len(true):
            raise InvalidInput(
                f"reads has {len(said)} scopes, expected {len(true)}; give one per criterion"
            )
        weights = np.concatenate(
            (
                per_item(error_weight, k, "error_weight", "group", low=0.0, strict=True),
                per_item(gap_weight, len(pairs), "gap_weight", "link", low=0.0, strict=True),
            )
        )
        graph = Graph.from_scopes(said, knobs=k, centres=[scope[0] for scope in said])
        problem = Problem(graph, basis=basis or Quadratic(), weights=weights, move_cost=move_cost)
        self._drawn_at = np.full(k, np.nan)  # the state whose chances are kept
        self._chances = np.empty(0)
        rng = np.random.default_rng(0)
        states = rng.random((PROBES, k))
        super().__init__(
            problem,
            theta=_projected(problem, states, np.array([self._means(s) for s in states])),
            noise=MiniBatch(self._noise(states[:NOISE_STATES], rng)),
        )
        self.unbiased = power == 2

    @property
    def names(self) -> tuple[str, ...]:
        """What each criterion is: (m,)."""
        return self.population.labels

    def thresholds(self, state: ArrayLike) -> Array:
        """The thresholds that a state stands for, as scores: (k,)."""
        s = vector(state, len(self.population.names), "state", "group")
        z = self._low + (self._high - self._low) * s
        return np.asarray(1.0 / (1.0 + np.exp(-z)) if self.units == "logit" else z)

    def state(self, thresholds: ArrayLike) -> Array:
        """The state that stands for these thresholds: (k,)."""
        t = per_item(
            thresholds, len(self.population.names), "thresholds", "group", low=-np.inf, strict=False
        )
        return self.problem.domain.check(self._knobs(t), "the state of these thresholds")

    def mean(self, state: Array) -> Array:
        """The expected loss of each criterion."""
        return self._means(state)

    @property
    def norms(self) -> Array:
        """The lengths of the projection: (m,)."""
        return lengths(self.problem, self.theta)

    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        """The losses that a batch shows, NaN where it shows none: (m,)."""
        return np.asarray(self.draws(state, rng, 1)[0])

    def draws(self, state: Array, rng: np.random.Generator, rounds: int) -> Array:
        """The losses of this number of batches at one state: (rounds, m).

        Drawing people with replacement makes the counts of a batch multinomial.
        """
        if not np.array_equal(state, self._drawn_at):
            counts = self.population.counts(self.thresholds(state))
            self._chances = counts.ravel() / self.population.size
            self._drawn_at = np.array(state)
        counts = rng.multinomial(self.batch, self._chances, size=rounds)
        return self.population.observed(counts.reshape(rounds, -1, 2, 2))

    def best_fixed(self, *, restarts: int = RESTARTS, seed: int = 0) -> BestFixed:
        """The best thresholds of all that the data can tell apart.

        Between two neighbouring scores of a group nothing changes, so each knob has finitely
        many values. Coordinate descent over all of them, each step exact, is begun at random
        `restarts` times; `agreed` of these ended at the best loss.
        """
        restarts = whole(restarts, "restarts", low=1)
        choices = [self._choices(j) for j in range(self.problem.knobs)]
        rng = np.random.default_rng(whole(seed, "seed", low=0))
        ends = [
            _descended(choices, self.population, self.problem.weights, rng) for _ in range(restarts)
        ]
        losses = np.array([loss for loss, _ in ends])
        least = float(losses.min())
        places = ends[int(losses.argmin())][1]
        state = np.array([each.knobs[p] for each, p in zip(choices, places, strict=True)])
        return BestFixed(
            state=read_only(state),
            thresholds=read_only(self.thresholds(state)),
            loss=self.loss(state),
            agreed=int((losses <= least + 1e-12 * (1.0 + abs(least))).sum()),
            restarts=restarts,
        )

    @cached_property
    def optimum(self) -> Solution:
        """The best fixed state, as `best_fixed` finds it."""
        best = self.best_fixed()
        return Solution(state=best.state, value=best.loss, lower_bound=None)

    def _means(self, state: Array) -> Array:
        return self.population.losses(self.population.counts(self.thresholds(state)))

    def _knobs(self, scores: Array) -> Array:
        """Where scores are in knobs, those outside the range below 0 or above 1."""
        if self.units == "logit":
            with np.errstate(divide="ignore"):  # scores of 0 and 1 are infinitely far away
                scores = np.log(scores) - np.log1p(-scores)
        return np.asarray((scores - self._low) / (self._high - self._low))

    def _choices(self, j: int) -> Choices:
        """Every threshold of group j that the data can tell apart, half-way between scores."""
        places = np.unique(self._knobs(np.concatenate(self.population.sorted[j])))
        inside = places[(places > 0.0) & (places < 1.0)]
        edges = np.concatenate(([0.0], inside, [1.0]))
        knobs = np.unique(np.concatenate(([0.0], (edges[:-1] + edges[1:]) / 2.0, [1.0])))
        counts = np.zeros((knobs.size, 2, 2), np.int64)
        for label, scores in enumerate(self.population.sorted[j]):
            below = np.searchsorted(self._knobs(scores), knobs)
            counts[:, label] = np.stack((below, scores.size - below), axis=-1)
        return Choices(knobs, self.population.errors(counts), self.population.rates(counts)[0])

    def _noise(self, states: Array, rng: np.random.Generator) -> Array:
        """The standard deviation of each loss, over the states; 1 where it was hardly seen."""
        drawn = np.array([self.draws(state, rng, NOISE_ROUNDS) for state in states])
        seen = (~np.isnan(drawn)).sum(axis=1)  # (states, m)
        enough = seen > 1
        middle = np.where(enough, np.nansum(drawn, axis=1) / np.maximum(seen, 1), 0.0)
        squares = np.where(enough, np.nansum((drawn - middle[:, None]) ** 2, axis=1), 0.0).sum(0)
        df = np.where(enough, seen - 1, 0).sum(axis=0)
        return np.where(df > 0, np.sqrt(squares / np.maximum(df, 1)), 1.0)


@dataclass(frozen=True, eq=False)
class Choices:
    """What a group can choose from: knob, error and compared rate of every threshold."""

    knobs: Array
    errors: Array
    rates: Array


def _descended(
    choices: list[Choices], population: Population, weights: Array, rng: np.random.Generator
) -> tuple[float, list[int]]:
    """The loss and the places at which coordinate descent from a random start ends."""
    k = len(choices)
    at = [int(rng.integers(each.knobs.size)) for each in choices]
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(k)]
    for (a, b), weight in zip(population.links.tolist(), weights[k:].tolist(), strict=True):
        neighbours[a].append((b, weight))
        neighbours[b].append((a, weight))

    def costs(j: int) -> Array:
        total = weights[j] * choices[j].errors
        for other, weight in neighbours[j]:
            difference = np.abs(choices[j].rates - choices[other].rates[at[other]])
            total = total + weight * difference**population.power
        return np.asarray(total)

    moved = True
    while moved:
        moved = False
        for j in range(k):
            cost = costs(j)
            best = int(np.argmin(cost))
            if cost[best] < cost[at[j]] - 1e-15:
                at[j], moved = best, True
    rates = np.array([each.rates[p] for each, p in zip(choices, at, strict=True)])
    errors = np.array([each.errors[p] for each, p in zip(choices, at, strict=True)])
    return float(weights @ np.concatenate((errors, population.gaps(rates)))), at


def _ends(units: Units, low: float, high: float) -> tuple[float, float]:
    """The ends of the range of thresholds, in the units of the knobs."""
    if units not in ("score", "logit"):
        raise InvalidInput(f"units = {units!r}; choose 'score' or 'logit'")
    if units == "score":
        ends = tuple(
            number(x, n, low=-np.inf, strict=False) for x, n in ((low, "low"), (high, "high"))
        )
    else:
        ends = tuple(
            number(x, n, low=0.0, strict=True, high=1.0) for x, n in ((low, "low"), (high, "high"))
        )
        ends = tuple(float(np.log(x) - np.log1p(-x)) for x in ends)
    if not ends[0] < ends[1]:
        raise InvalidInput(f"low = {low:g} and high = {high:g}; low must be below high")
    return ends[0], ends[1]


def _projected(problem: Problem, states: Array, losses: Array) -> list[Array]:
    """The parameters that come nearest to the losses (S, m) at the states, in the mean square."""
    phi = np.array([problem.phi(state) for state in states])
    found = []
    for i, d in enumerate(problem.dims):
        lo = int(problem.features.offsets[i])
        A = phi[:, lo : lo + d]
        found.append(np.linalg.solve(A.T @ A + RIDGE * len(A) * np.eye(d), A.T @ losses[:, i]))
    return found
