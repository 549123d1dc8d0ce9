"""One run of the second experiment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.cliques import Domain, RingingClocksOnly, draw_theta, problem_of
from trimtab.policies import AsyncLazyGraphLinUCB, LazyGraphLinUCB, LinUCB
from trimtab.sim import play
from trimtab.sim.worlds import Gaussian, World

POLICIES = {
    "standard": LinUCB,
    "global": LazyGraphLinUCB,
    "ringing": RingingClocksOnly,
    "async": AsyncLazyGraphLinUCB,
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is played. The paper states the cliques and their stiffness; it leaves the rest open."""

    stiffness: tuple[tuple[int, float], ...] = (  # (clique, reg), as the paper's table sorts them
        (4, 0.19),
        (2, 0.25),
        (5, 0.67),
        (6, 0.86),
        (1, 1.06),
        (7, 1.11),
        (8, 1.26),
        (3, 1.28),
        (9, 1.40),
        (0, 1.61),
    )
    rounds: int = 1000
    radius: float = 0.5
    sigma: float = 0.5
    runs: int = 30
    domains: tuple[Domain, ...] = ("square", "circle")
    standard_runs: int = 6  # of standard LinUCB, some fifty times slower; on the circle only


@dataclass(frozen=True)
class Job:
    """One run of one policy."""

    settings: Settings
    policy: str
    domain: Domain
    seed: int
    run: int


@dataclass(frozen=True)
class CliquesRun:
    """What came of a job."""

    movement: Array  # (rounds + 1,) after each round
    solves: int
    updates: Array  # (cliques,) looks that each clique triggered
    regret: float


def play_one(job: Job) -> CliquesRun:
    """One policy in one world; theta* is on the unit sphere, clique by clique."""
    settings = job.settings
    cliques = len(settings.stiffness)
    problem = problem_of(job.domain, cliques)
    theta = draw_theta("sphere", cliques, np.random.default_rng((job.seed, job.run, 1)))
    world = World(problem, theta=theta, noise=Gaussian(settings.sigma))
    options = {} if job.policy == "standard" else {"review": False}
    policy = POLICIES[job.policy](
        problem,
        start=np.zeros(problem.knobs),
        radius=settings.radius,
        reg=[reg for _, reg in settings.stiffness],
        **options,
    )
    noise = np.random.default_rng((job.seed, job.run, 2))
    trace = play(policy, world, horizon=settings.rounds, seed=noise)
    return CliquesRun(
        movement=trace.movement_at(np.arange(settings.rounds + 1)),
        solves=trace.solves,
        updates=trace.attributions.astype(float),
        regret=trace.regret,
    )
