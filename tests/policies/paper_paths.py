"""Runs of policies that are given reg, radius and factor: where the paper's rules lead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import trimtab as tt
from trimtab.arrays import Array

RECORDED = Path(__file__).with_name("paper_paths.json")
ROUNDS, SIGMA = 128, 0.1
JUMP = 110  # the round after which all losses are higher


def ring(k: int) -> tt.Graph:
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


PROBLEMS: dict[str, Callable[[], tt.Problem]] = {
    "ring": lambda: tt.Problem(ring(5), basis=tt.bases.Quadratic(), move_cost=0.3),
    "cliques": lambda: tt.Problem(
        tt.Graph.cliques([3, 3]), basis=tt.bases.Quadratic(), weights=[1.0, 0.5, 2.0, 1.0, 3.0, 0.7]
    ),
    "balls": lambda: tt.Problem(
        tt.Graph.from_scopes([[0, 1], [2, 3]], knobs=4),
        basis=tt.bases.Linear(normalize=False),
        domain=tt.Balls([[0, 1], [2, 3]]),
        move_cost=0.05,
    ),
    "levels": lambda: tt.Problem(
        tt.Graph.from_scopes([[0, 1], [1], [2, 0], [1, 2]], knobs=4),
        basis=tt.bases.Quadratic(),
        domain=tt.Box(low=0.1, high=0.9, levels={1: [0.1, 0.4, 0.9]}),
        weights=[1.0, 0.5, 2.0, 1.0],
        move_cost=[1.0, 0.0, 2.0, 1.0],
    ),
}

Make = Callable[[tt.Problem, Any, Any], Any]
POLICIES: dict[str, Make] = {
    "LinUCB": lambda problem, known, _: tt.LinUCB(problem, radius=0.4, **known),
    "LazyGraphLinUCB": lambda problem, known, radius: tt.LazyGraphLinUCB(
        problem, radius=radius, factor=1.5, **known
    ),
    "LazyGraphLinUCB, paper's radius, no review": lambda problem, known, radius: tt.LazyGraphLinUCB(
        problem,
        radius=tt.Confidence(sigma=SIGMA, norm=radius.norm, form="paper"),
        factor=2.0,
        cold_start="keep",
        review=False,
        **known,
    ),
    "AsyncLazyGraphLinUCB": lambda problem, known, radius: tt.AsyncLazyGraphLinUCB(
        problem, radius=radius, factor=1.5, **known
    ),
    "SteadyGraphLinUCB": lambda problem, known, radius: tt.SteadyGraphLinUCB(
        problem, radius=radius, factor=1.3, **known
    ),
    "SteadyGraphLinUCB, noise unknown": lambda problem, known, radius: tt.SteadyGraphLinUCB(
        problem, radius=tt.Confidence(sigma=None, norm=radius.norm), factor=1.3, **known
    ),
    "SteadyGraphLinUCB with a memory": lambda problem, known, radius: tt.SteadyGraphLinUCB(
        problem, radius=radius, factor=2.0, memory=40, rho=0.2, period=30, **known
    ),
    "AdaptiveGraphLinUCB": lambda problem, known, radius: tt.AdaptiveGraphLinUCB(
        problem, radius=radius, factor=1.5, gamma=1.0, warmup=40, **known
    ),
    "AdaptiveGraphLinUCB, then Steady": lambda problem, known, radius: tt.AdaptiveGraphLinUCB(
        problem,
        radius=radius,
        factor=1.5,
        gamma=1.0,
        warmup=40,
        then=tt.SteadyGraphLinUCB,
        **known,
    ),
    "JointLazyGraphLinUCB": lambda problem, known, radius: tt.JointLazyGraphLinUCB(
        problem, radius=radius, factor=1.5, factor_norm=3.0, factor_reg=0.3, **known
    ),
    "PooledGraphLinUCB": lambda problem, known, radius: tt.PooledGraphLinUCB(
        problem, radius=radius, factor=1.5, noise="independent", **known
    ),
}


def told(problem: str, policy: str) -> dict[str, Any]:
    """A run by ask and tell: gaps, means of several rounds, other states, and a change."""
    world, player = _made(problem, policy)
    m, rng = world.problem.criteria, np.random.default_rng(5)
    moved, causes = [], []
    for t in range(1, ROUNDS + 1):
        away = t % 11 == 0
        played = world.problem.domain.sample(rng) if away else np.array(player.ask())
        count = 3 if t % 7 == 0 else 1
        losses = world.mean(played) + rng.normal(0.0, SIGMA / np.sqrt(count), m)
        losses += 2.0 * (t > JUMP)
        losses[rng.random(m) < 0.1] = np.nan
        known = {"played": played} if away else {}
        causes.append(player.tell(losses, count=count, **known).cause)
        moved.append(np.array(player.ask()))
    path = np.array(moved)
    changes = np.flatnonzero((np.diff(path, axis=0) != 0.0).any(axis=1)) + 1
    steps = np.abs(np.diff(path, axis=0))
    return {
        "changes": changes.tolist(),
        "causes": {str(name): causes.count(name) for name in sorted(set(causes))},
        "solves": int(player.learner.solved),
        "certified": bool(player.certificate.certified),
        "movement": float(steps.sum()),
        "bound": float(player.certificate.bound),
        "states": _some(path[np.concatenate(([0], changes))]),
    }


def played(problem: str, policy: str) -> dict[str, Any]:
    """A run in a simulated world, from event to event where that is possible."""
    world, player = _made(problem, policy)
    trace = tt.play(player, world, horizon=500, seed=3)
    return {
        "changes": trace.ends.tolist()[:-1],
        "causes": {},
        "solves": int(trace.solves),
        "certified": bool(player.certificate.certified),
        "movement": float(trace.movement),
        "bound": float(player.certificate.bound),
        "states": _some(trace.states),
    }


RUNS = {"told": told, "played": played}
CASES = [
    (way, problem, policy)
    for way in RUNS
    for problem in PROBLEMS
    for policy in POLICIES
    if (way, policy) != ("played", "LinUCB")  # it solves in every round
    and not (problem == "balls" and policy.startswith("Adaptive"))
]


def _made(problem: str, policy: str) -> tuple[tt.worlds.World, Any]:
    its, rng = PROBLEMS[problem](), np.random.default_rng(8)
    theta = [rng.normal(size=int(d)) / np.sqrt(d) for d in its.dims]
    world = tt.worlds.World(its, theta=theta, noise=tt.worlds.Gaussian(SIGMA))
    known = {"start": its.domain.sample(rng), "reg": 0.2, "seed": 4}
    return world, POLICIES[policy](its, known, tt.Confidence(sigma=SIGMA, norm=world.norms))


def _some(states: Array) -> list[list[float]]:
    """The first states, and every eighth after them, to twelve digits."""
    kept = [*states[:8], *states[8::8]]
    return [[float(f"{x:.12g}") for x in state] for state in kept]
