"""The third experiment: one threshold on Adult, standard LinUCB against Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from trimtab.arrays import Array, Bools, Ints
from trimtab.learn import lack_of_fit
from trimtab.model.bases import Polynomial
from trimtab.model.domain import Box
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.paper import adult_data
from trimtab.paper.scores import Classifier, scored
from trimtab.policies import LazyGraphLinUCB, LinUCB, Policy
from trimtab.sim import play
from trimtab.sim.worlds import Gaussian, World
from trimtab.sim.worlds.population import Population, population_of
from trimtab.sim.worlds.world import lengths
from trimtab.solve import Solution

FEMALE, MALE = 0, 1  # groups of the population, in this order
GRID = np.linspace(0.0, 1.0, 1001)  # on which the loss is tabulated


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What the paper leaves open, or what has to be changed for its numbers to come out."""

    name: str
    levels: tuple[float, ...] | None = None  # thresholds that are allowed; None is all of [0, 1]
    batch: int | None = None  # people per round; None for the loss of all, with noise
    drop_unknown: bool = False  # whether rows with an unknown entry are left out
    rounds: int = 1000
    reg: float = 5.0
    degree: int = 2


TENTHS = tuple(round(0.1 * n, 1) for n in range(10))
VARIANTS = (
    Variant(name="[0, 1]"),
    Variant(name="[0, 1], batches of 1000", batch=1000, drop_unknown=True),
    Variant(name="0, .1, ..., .9", levels=TENTHS),
    Variant(name="0, .1, ..., .9, batches of 256", levels=TENTHS, batch=256),
    Variant(name="[0, 1], reg 0.01", reg=0.01),
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is played. The paper states sigma, start, runs, and reg and degree of a variant."""

    sigma: float = 0.05
    start: float = 0.2
    radius: float = 0.5
    runs: int = 10
    variants: tuple[Variant, ...] = VARIANTS
    pilot_states: int = 21  # of the test of the basis, from 0 to 1
    pilot_rounds: int = 50  # at each


@dataclass(frozen=True)
class Job:
    """One run of both policies in the same world, with the same noise."""

    settings: Settings
    variant: Variant
    seed: int
    run: int


@dataclass(frozen=True, eq=False)
class AdultRun:
    """What came of a job; standard LinUCB first, then Algorithm 1."""

    threshold: Array  # (2, rounds) in each round
    movement: Array  # (2, rounds + 1) after each round
    loss: Array  # (2,) expected, of all rounds
    end: Array  # (2,) the last threshold
    solves: Array  # (2,)


class Threshold(World):
    """One threshold for everybody: the error rate plus the gap of men's and women's TPR."""

    def __init__(self, settings: Settings, variant: Variant) -> None:
        domain = Box() if variant.levels is None else Box(levels=[variant.levels])
        problem = Problem(
            Graph.complete(1), basis=Polynomial(variant.degree, normalize=False), domain=domain
        )
        self.population = people(variant.drop_unknown)
        self.batch, self.levels = variant.batch, variant.levels
        self._known: dict[float, float] = {}  # losses by threshold; policies come back to few
        self.values = np.array([self._loss(x) for x in GRID])
        features = np.array([problem.phi(np.array([x])) for x in GRID])
        theta = np.linalg.lstsq(features, self.values, rcond=None)[0]
        self.fitted = features @ theta  # the polynomial nearest to the values
        super().__init__(problem, theta=[theta], noise=Gaussian(settings.sigma))
        self.unbiased = variant.batch is None  # an absolute gap of a batch is too large

    def mean(self, state: Array) -> Array:
        """The loss of the whole test split: (1,)."""
        return np.array([self._loss(float(state[0]))])

    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        """The loss of all, or of a batch, and noise; NaN if a batch has no women to compare."""
        if self.batch is None:
            return super().draw(state, rng, t)
        counts = self.population.counts(np.full(2, state[0]))
        drawn = rng.multinomial(self.batch, counts.ravel() / self.population.size)
        noise = self.noise.draw(rng, self.problem.graph, t)
        return np.asarray(self._total(drawn.reshape(2, 2, 2)) + noise)

    @property
    def norms(self) -> Array:
        """The length of the polynomial nearest to the values: (1,)."""
        return lengths(self.problem, self.theta)

    @cached_property
    def optimum(self) -> Solution:
        """The best threshold of a fine grid, or of the levels."""
        levels = GRID if self.levels is None else np.array(self.levels)
        values = [self._loss(x) for x in levels]
        best = int(np.argmin(values))
        return Solution(state=np.array([levels[best]]), value=values[best], lower_bound=None)

    def _loss(self, threshold: float) -> float:
        if threshold not in self._known:
            counts = self.population.counts(np.full(2, threshold))
            self._known[threshold] = float(self._total(counts)[0])
        return self._known[threshold]

    def _total(self, counts: Ints) -> Array:
        """Everybody's error rate plus the gap: (1,)."""
        wrong = (counts[:, 1, 0] + counts[:, 0, 1]).sum() / counts.sum()
        return np.asarray(wrong + self.population.losses(counts)[2:])


@cache
def people(drop_unknown: bool) -> Population:
    """Women and men of the official test split, with their scores."""
    adult = adult_data.load()
    rows: Bools = adult.test & (adult.known if drop_unknown else True)
    return population_of(
        scored(Classifier(drop_unknown=drop_unknown))[rows],
        adult.rich[rows],
        adult.words["sex"][rows],
        links=[("Male", "Female")],
        gap="tpr",
        power=1,
    )


@cache
def world_of(settings: Settings, variant: Variant) -> Threshold:
    """The world of a variant, which all its runs share."""
    return Threshold(settings, variant)


def play_one(job: Job) -> AdultRun:
    """Both policies in one world."""
    settings, variant = job.settings, job.variant
    world = world_of(settings, variant)
    start, radius, reg = [settings.start], settings.radius, variant.reg
    # Algorithm 1 to the letter: it keeps the start state until the first trigger.
    policies: list[Policy] = [
        LinUCB(world.problem, start=start, radius=radius, reg=reg),
        LazyGraphLinUCB(
            world.problem, start=start, radius=radius, reg=reg, cold_start="keep", review=False
        ),
    ]
    traces = [
        play(
            policy,
            world,
            horizon=variant.rounds,
            seed=np.random.default_rng((job.seed, job.run, 1)),
            path="rounds",
        )
        for policy in policies
    ]
    t = np.arange(variant.rounds + 1)
    return AdultRun(
        threshold=np.array(
            [trace.states[np.searchsorted(trace.ends, t[1:]), 0] for trace in traces]
        ),
        movement=np.array([trace.movement_at(t) for trace in traces]),
        loss=np.array([trace.loss for trace in traces]),
        end=np.array([policy.ask()[0] for policy in policies]),
        solves=np.array([trace.solves for trace in traces], float),
    )


@dataclass(frozen=True)
class Fit:
    """Whether a polynomial of this degree is adequate, by a pilot over all of [0, 1]."""

    degree: int
    statistic: float
    critical: float
    rejected: bool


def fit_of(settings: Settings, degree: int, *, seed: int) -> Fit:
    """The lack-of-fit test of a polynomial, from replicated losses at equidistant thresholds."""
    world = Threshold(settings, Variant(name="pilot", degree=degree))
    policy = LazyGraphLinUCB(
        world.problem, start=[0.0], radius=1.0, reg=1e-8, cold_start="keep", review=False
    )
    rng = np.random.default_rng((seed, 0, degree))
    for x in np.linspace(0.0, 1.0, settings.pilot_states):
        policy.place([x])
        for _ in range(settings.pilot_rounds):
            losses = world.draw(np.array([x]), rng)
            policy.learner.observe(losses, played=None, count=1)
    policy.place([0.5])
    found = lack_of_fit(policy.learner.estimators, norm=2.0 * world.norms, looks="one")
    return Fit(degree, float(found.statistic[0]), float(found.critical[0]), bool(found.rejected[0]))
