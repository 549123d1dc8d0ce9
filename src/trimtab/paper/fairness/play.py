"""Thresholds on Adult: the configuration, the world, and one run of a policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.learn import Confidence
from trimtab.model.bases import Basis, FourierFeatures, Products, Quadratic
from trimtab.paper import adult_data
from trimtab.paper.fairness.groups import By, group_links, group_names, groups_of
from trimtab.paper.scores import Classifier, scored
from trimtab.policies import (
    AdaptiveGraphLinUCB,
    AsyncLazyGraphLinUCB,
    LazyGraphLinUCB,
    LinUCB,
    Policy,
    SteadyGraphLinUCB,
)
from trimtab.sim import play
from trimtab.sim.worlds import Fairness
from trimtab.sim.worlds.fairness import Units
from trimtab.sim.worlds.population import Gap

Scopes = Literal["known", "sparse", "dense", "learned"]
GRAPHS: dict[Scopes, str] = {
    "known": "as it is",
    "sparse": "too sparse",
    "dense": "too dense",
    "learned": "learned",
}
BASES: dict[str, Basis] = {
    "quadratic": Quadratic(),
    "cubic": Products(3),
    "quartic": Products(4),
    "Fourier 50": FourierFeatures(50, lengthscale=0.3),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is played."""

    by: By = "age"  # groups are the two sexes, by this
    gap: Gap = "tpr"  # the rate that linked groups are compared by
    power: int = 2  # of a gap: squared, or absolute (1)
    training: bool = False  # whether to play in the training split: to choose from, not to report
    batch: int = 4096  # people per round
    start: float = 0.2  # the threshold of every group at first, as in the paper
    low: float = 0.2  # in log-odds, the lowest threshold that is allowed
    high: float = 0.8  # and the highest
    move_cost: float = 3.0  # of a knob, from one end to the other
    rounds: int = 30_000
    factor: float = 1.15  # of Steady: noise is measured where it looks often
    runs: int = 5  # of Steady
    others: int = 1  # of every other policy, on every other graph
    eager_rounds: int = 1000  # of standard LinUCB, which solves in each
    pilot_states: int = 64  # of the pilot, which is played on the training split
    pilot_rounds: int = 14  # batches at each
    alpha: float = 0.05  # of rejecting any adequate shape
    pilot_reg: float = 1e-4
    pilot_norm: float = 10.0  # no parameter is taken to be longer
    margin: float = 1.5  # times the lengths estimated in the pilot: what a policy is told


@dataclass(frozen=True)
class Shape:
    """The units of the knobs, and the basis."""

    units: Units
    basis: str  # a key of `BASES`


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What the pilot has taught, before the first round: one entry per criterion."""

    shape: Shape
    sigma: Array
    norm: Array

    @property
    def reg(self) -> Array:
        """Where the bias of the ridge is as large as the noise of one loss."""
        return (self.sigma / self.norm) ** 2


@dataclass(frozen=True)
class Job:
    """One run of one policy."""

    settings: Settings
    knowledge: Knowledge
    policy: str
    scopes: Scopes
    seed: int
    run: int


@dataclass(frozen=True, eq=False)
class FairnessRun:
    """What came of a job."""

    policy: str
    scopes: Scopes
    rounds: int
    regret: Array  # (c,) after each of the c `checkpoints`
    movement: Array  # (c,)
    early: float  # movement in the rounds that standard LinUCB is given
    thresholds: Array  # (c, k) in each of them; first the start
    late: float  # regret per round over the last fifth
    end_loss: float  # expected, of the last state
    moves: int
    solves: int
    edges: int  # dependencies of criteria on knobs, at the end


CHECKPOINTS = 240


def checkpoints(rounds: int) -> Ints:
    """The rounds at which a run is noted, ever farther apart: 0, 1, ... up to the last.

    >>> checkpoints(3), checkpoints(30_000)[-3:]
    (array([0, 1, 2, 3]), array([27520, 28733, 30000]))
    """
    apart = np.geomspace(1, rounds, CHECKPOINTS).round().astype(np.int64)
    return np.unique(np.concatenate(([0], apart)))


@cache
def world_of(
    settings: Settings, shape: Shape, scopes: Scopes = "known", *, training: bool
) -> Fairness:
    """Adult's test split in operation, or the training split, which is known beforehand."""
    adult = adult_data.load()
    scores = scored(Classifier())
    rows = ~adult.test if training else adult.test
    names = group_names(settings.by)
    links = group_links(len(names) // 2)
    logit = shape.units == "logit"
    return Fairness(
        scores[rows],
        adult.rich[rows],
        groups_of(adult, settings.by)[rows],
        links=links,
        gap=settings.gap,
        power=settings.power,
        batch=settings.batch,
        move_cost=settings.move_cost,
        units=shape.units,
        low=settings.low if logit else 0.0,
        high=settings.high if logit else 1.0,
        reads=_reads(len(names), links, scopes),
        basis=BASES[shape.basis],
    )


def _reads(k: int, links: list[tuple[int, int]], scopes: Scopes) -> list[list[int]] | None:
    """What criteria are said to read.

    Too sparse: gaps read the first of their groups only. Too dense: every criterion reads its
    groups and those linked to its first one.
    """
    if scopes == "known":
        return None
    own = [[j] for j in range(k)] + [list(pair) for pair in links]
    if scopes == "sparse":
        return [scope[:1] for scope in own]
    near: list[set[int]] = [set() for _ in range(k)]
    for a, b in links:
        near[a].add(b)
        near[b].add(a)
    return [list(dict.fromkeys((*scope, *sorted(near[scope[0]])))) for scope in own]


def play_one(job: Job) -> FairnessRun:
    """One policy in operation."""
    s = job.settings
    world = world_of(s, job.knowledge.shape, job.scopes, training=s.training)
    policy = _policy(job, world)
    rounds = s.eager_rounds if job.policy == "LinUCB" else s.rounds
    trace = play(policy, world, horizon=rounds, seed=np.random.default_rng((job.seed, job.run, 1)))
    at = checkpoints(rounds)
    states = np.array([trace.start, *(trace.state(int(t)) for t in at[1:])])
    graph = policy.graph if isinstance(policy, AdaptiveGraphLinUCB) else policy.problem.graph
    fifth = trace.regret_at([rounds - rounds // 5, rounds])
    return FairnessRun(
        policy=job.policy,
        scopes=job.scopes,
        rounds=rounds,
        regret=trace.regret_at(at),
        movement=trace.movement_at(at),
        early=float(trace.movement_at([min(s.eager_rounds, rounds)])[0]),
        thresholds=np.array([world.thresholds(state) for state in states]),
        late=float(fifth[1] - fifth[0]) / (rounds // 5),
        end_loss=world.loss(policy.ask()),
        moves=trace.moves,
        solves=trace.solves,
        edges=int(graph.scope_knobs.size),
    )


def _policy(job: Job, world: Fairness) -> Policy:
    s, known = job.settings, job.knowledge
    common: dict[str, Any] = {
        "start": world.state(s.start),
        # Noise depends on the state, and near the optimum it is least: let policies measure it.
        "radius": Confidence(sigma=None, norm=known.norm),
        "reg": known.reg,
    }
    if job.policy == "LinUCB":
        return LinUCB(world.problem, **common)
    if job.policy == "LazyGraphLinUCB":
        return LazyGraphLinUCB(world.problem, cold_start="keep", **common)
    if job.policy == "AsyncLazyGraphLinUCB":
        return AsyncLazyGraphLinUCB(world.problem, cold_start="keep", **common)
    # This world does not drift, and noise that depends on the state would ring the alarm.
    if job.scopes == "learned":
        return AdaptiveGraphLinUCB(
            world.problem,
            gamma=0.03,
            then=SteadyGraphLinUCB,
            factor=s.factor,
            alarm=False,
            warmup=2000,
            **common,
        )
    return SteadyGraphLinUCB(world.problem, factor=s.factor, alarm=False, **common)
