"""One run of the first experiment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.cliques import Domain, Law, draw_theta, problem_of
from trimtab.policies import LazyGraphLinUCB, LinUCB, Policy
from trimtab.sim import play
from trimtab.sim.worlds import Gaussian, World


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is played. The paper states the first four; it leaves the rest open."""

    rounds: int = 300
    reg: float = 0.1
    radius: float = 0.5
    sigma: float = 0.5
    runs: int = 40
    domains: tuple[Domain, ...] = ("square", "circle")
    laws: tuple[Law, ...] = ("sphere", "cube", "normal", "fixed")  # of theta*; the first is drawn
    long_rounds: int = 2000  # to see how movement grows, with the first law
    long_runs: int = 4


@dataclass(frozen=True)
class Job:
    """One run of both policies in the same world, with the same noise."""

    settings: Settings
    domain: Domain
    law: Law
    seed: int
    run: int
    long: bool = False  # standard LinUCB alone, for `long_rounds`


@dataclass(frozen=True)
class CliqueRun:
    """What came of a job; standard LinUCB first, then Algorithm 1."""

    movement: Array  # (2, rounds + 1) after each round
    regret: Array  # (2,)
    solves: Array  # (2,)
    first_knob: Array  # (2, rounds)
    at_corners: bool  # whether every state played was a corner of the square


def play_one(job: Job) -> CliqueRun:
    """Both policies in one world."""
    settings = job.settings
    problem = problem_of(job.domain, 1)
    theta = draw_theta(job.law, 1, np.random.default_rng((job.seed, job.run, 1)))
    world = World(problem, theta=theta, noise=Gaussian(settings.sigma))
    start, radius, reg = np.zeros(2), settings.radius, settings.reg
    policies: list[Policy] = [LinUCB(problem, start=start, radius=radius, reg=reg)]
    if not job.long:
        policies.append(LazyGraphLinUCB(problem, start=start, radius=radius, reg=reg, review=False))
    rounds = settings.long_rounds if job.long else settings.rounds
    noise = (job.seed, job.run, 3 if job.long else 2)
    traces = [
        play(policy, world, horizon=rounds, seed=np.random.default_rng(noise), path="rounds")
        for policy in policies
    ]
    t = np.arange(rounds + 1)
    return CliqueRun(
        movement=np.array([trace.movement_at(t) for trace in traces]),
        regret=np.array([trace.regret for trace in traces]),
        solves=np.array([trace.solves for trace in traces], float),
        first_knob=np.array(
            [trace.states[np.searchsorted(trace.ends, t[1:]), 0] for trace in traces]
        ),
        at_corners=all(bool(np.isin(trace.states, (0.0, 1.0)).all()) for trace in traces),
    )


def movement_of_the_listing(settings: Settings) -> float:
    """How far Algorithm 1 goes from the zero vector without a solve before the first round."""
    problem = problem_of("circle", 1)
    world = World(problem, theta=[[1.0, 0.0]], noise=Gaussian(settings.sigma))
    policy = LazyGraphLinUCB(
        problem,
        start=np.zeros(2),
        radius=settings.radius,
        reg=settings.reg,
        cold_start="keep",
        review=False,
    )
    return play(policy, world, horizon=settings.rounds).movement
