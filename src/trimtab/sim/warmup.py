"""Compile every kernel now, so that no later run has to wait for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from trimtab.bases import FourierFeatures, Linear, PairwiseQuadratic, Quadratic
from trimtab.domain import Balls
from trimtab.estimators import Confidence
from trimtab.graph import Graph
from trimtab.policies import (
    AsyncLazyGraphLinUCB,
    JointLazyGraphLinUCB,
    LazyGraphLinUCB,
    SteadyGraphLinUCB,
)
from trimtab.problem import Problem
from trimtab.sim.play import play
from trimtab.sim.worlds import linear, quadratic
from trimtab.solvers import line

K = 20  # more knobs than a small search has


def kernels_compiled() -> bool:
    """Whether an earlier run has left compiled kernels on the disk."""
    folder = Path(line.argmin.stats.cache_path)  # type: ignore[attr-defined]
    return any(folder.glob("*.nbi"))


def steps() -> Iterator[tuple[str, Callable[[], object]]]:
    """Small runs that need every kernel between them, each with what it is about."""
    ring = Graph.from_edges(K, [(j, (j + 1) % K) for j in range(K)])
    wide = Graph.from_edges(K, [(j, (j + hop) % K) for hop in (1, 3, 7) for j in range(K)])
    start = np.full(K, 0.5)
    for name, graph in (("a ring", ring), ("a wide graph", wide)):
        world = quadratic(graph, basis=PairwiseQuadratic(), seed=1, move_cost=1.0)
        radius = Confidence(sigma=0.1, norm=world.norms)
        lazy = LazyGraphLinUCB(world.problem, start=start, radius=radius)
        yield f"Algorithm 1 on {name}", partial(play, lazy, world, horizon=200)
        steady = SteadyGraphLinUCB(world.problem, start=start, radius=radius)
        yield f"Steady on {name}", partial(play, steady, world, horizon=200)
    world = quadratic(ring, basis=Quadratic(), seed=1)
    policy = AsyncLazyGraphLinUCB(world.problem, start=start, radius=0.5)
    yield "asynchronous runs", lambda: play(policy, world, horizon=200)
    yield "rounds one by one", lambda: play(policy, world, horizon=20, path="rounds")
    small = quadratic(Graph.complete(3), seed=1, move_cost=1.0)
    radius = Confidence(sigma=0.1, norm=small.norms)
    few = start[:3]
    certified = SteadyGraphLinUCB(small.problem, start=few, radius=radius, certify=0.5)
    yield "certificates", lambda: play(certified, small, horizon=50)
    fading = SteadyGraphLinUCB(small.problem, start=few, radius=radius, memory=50, rho=0.5)
    yield "drift", lambda: play(fading, small, horizon=200)
    joint = JointLazyGraphLinUCB(small.problem, start=few, radius=0.5)
    yield "the joint estimator", lambda: play(joint, small, horizon=50)
    flat = linear(ring, seed=1)
    vertices = LazyGraphLinUCB(flat.problem, start=start, radius=0.5)
    yield "linear features", lambda: play(vertices, flat, horizon=50)
    waves = Problem(Graph.complete(2), basis=FourierFeatures(6, lengthscale=0.5, seed=0))
    smooth = LazyGraphLinUCB(waves, start=[0.5, 0.5], radius=0.5)
    yield "Fourier features", lambda: [smooth.tell([0.1, 0.2]) for _ in range(5)]
    balls = Problem(Graph.cliques([2, 2]), basis=Linear(), domain=Balls([[0, 1], [2, 3]]))
    round_ = AsyncLazyGraphLinUCB(balls, start=np.zeros(4), radius=0.5)
    yield "balls", lambda: [round_.tell(np.full(4, 0.1)) for _ in range(5)]
