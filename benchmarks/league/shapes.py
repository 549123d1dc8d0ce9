"""Losses that no quadratic fits: saturation, a cliff, valleys, and a service of wide scopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import trimtab as tt
from benchmarks.league.place import Place
from benchmarks.league.surface import Surface
from trimtab.arrays import Array
from trimtab.model.problem import Problem
from trimtab.sim.worlds import Gaussian

SIGMA = 0.1
STEEP = 0.03  # over which distance a cliff rises
WIDE = 0.2  # the standard deviation of a valley


def saturation(seed: int, *, knobs: int, price: float) -> Place:
    """More of a knob helps less and less, and costs more and more: n benefits and n costs."""
    rng = np.random.default_rng((seed, 31))
    worth, scale = rng.uniform(0.6, 1.2, knobs), rng.uniform(0.1, 0.3, knobs)
    cost = rng.uniform(0.15, 0.45, knobs)

    def means(s: Array) -> Array:
        use = s + 0.5 * np.roll(s, -1, axis=1)  # the next knob helps as well
        return np.concatenate((worth * np.exp(-use / scale), cost * s), axis=1)

    pairs = [[j, (j + 1) % knobs] for j in range(knobs)]
    return _placed(seed, means, [*pairs, *([j] for j in range(knobs))], knobs, price)


def cliff(seed: int, *, knobs: int, price: float) -> Place:
    """Better and better towards an edge, which the next knob shifts, and bad beyond it."""
    rng = np.random.default_rng((seed, 32))
    slope, edge = rng.uniform(0.4, 0.8, knobs), rng.uniform(0.6, 1.0, knobs)

    def means(s: Array) -> Array:
        over = s + 0.3 * np.roll(s, -1, axis=1) - edge
        return np.asarray(slope * (1.0 - s) + 0.5 + 0.5 * np.tanh(over / (2.0 * STEEP)))

    return _placed(seed, means, [[j, (j + 1) % knobs] for j in range(knobs)], knobs, price)


def plateau(seed: int, *, pairs: int, price: float) -> Place:
    """Nothing changes but in one valley per pair of knobs; a soft tie between the pairs."""
    rng = np.random.default_rng((seed, 33))
    depth, centre = rng.uniform(0.7, 1.3, pairs), rng.uniform(0.2, 0.8, (pairs, 2))
    tie = rng.uniform(-0.2, 0.2, pairs - 1)

    def means(s: Array) -> Array:
        valleys = depth * (1.0 - _bumps(s, centre))
        between = 0.2 * (s[:, 1:-1:2] - s[:, 2::2] - tie) ** 2
        return np.concatenate((valleys, between), axis=1)

    return _placed(seed, means, _pairs(pairs) + _ties(pairs), 2 * pairs, price)


def two_valleys(seed: int, *, pairs: int, price: float) -> Place:
    """A shallow valley, where the system is, and a deeper one elsewhere, per pair of knobs."""
    rng = np.random.default_rng((seed, 34))
    shallow = rng.uniform(0.15, 0.4, (pairs, 2))
    deep = shallow + rng.uniform(0.35, 0.5, (pairs, 2))
    sides = rng.random((1, pairs, 2)) < 0.5  # which end of a knob is which
    shallow, deep = (np.where(sides[0], 1.0 - x, x) for x in (shallow, deep))

    def means(s: Array) -> Array:
        return np.asarray(1.2 - 0.6 * _bumps(s, shallow) - _bumps(s, deep))

    start = np.clip(shallow + rng.normal(0.0, 0.05, shallow.shape), 0.0, 1.0).ravel()
    return _placed(seed, means, _pairs(pairs), 2 * pairs, price, start=start)


def service(seed: int, *, price: float) -> Place:
    """A service with a cache: five knobs, few objectives that read most of them, little noise.

    Two knobs save work together, one for memory, which is a setting and has no noise. A batch
    saves work and waits. What is kept for long is stale. Which end of a knob is which is drawn.
    """
    rng = np.random.default_rng((seed, 35))
    life, memory, batch = rng.uniform(0.15, 0.5, 3)
    wait, crowd, stale, rent = rng.uniform((0.1, 0.2, 0.3, 0.2), (0.5, 1.0, 1.0, 0.7))
    best, sides = rng.uniform(0.2, 0.9), rng.random(5) < 0.5

    def means(s: Array) -> Array:
        keep, room, group, pool, early = np.where(sides, 1.0 - s, s).T
        misses = (0.15 + np.exp(-keep / life)) * (0.4 + 0.6 * np.exp(-room / memory))
        work = misses * (0.4 + 0.6 * np.exp(-group / batch)) + 0.3 * early * misses
        latency = 0.15 + work * (0.3 + crowd * (pool - best) ** 2) + wait * group * misses
        old = stale * keep**2 * (1.0 - 0.7 * early) * (0.4 + 0.6 * room)
        return np.stack((latency, old, 0.6 * work + 0.1 * pool, rent * room), axis=1)

    scopes = [[0, 1, 2, 3, 4], [0, 1, 4], [0, 1, 2, 3, 4], [1]]
    noise = Gaussian(np.array([0.01, 0.03, 0.01, 1e-6]))
    return _placed(seed, means, scopes, 5, price, noise=noise)


def _bumps(s: Array, centre: Array) -> Array:
    """1 at the centre of each pair of knobs, 0 far away: (n, pairs)."""
    away = s.reshape(len(s), -1, 2) - centre
    return np.asarray(np.exp(-(away**2).sum(axis=2) / (2.0 * WIDE**2)))


def _pairs(pairs: int) -> list[list[int]]:
    return [[2 * p, 2 * p + 1] for p in range(pairs)]


def _ties(pairs: int) -> list[list[int]]:
    return [[2 * p + 1, 2 * p + 2] for p in range(pairs - 1)]


def _placed(
    seed: int,
    means: Callable[[Array], Array],
    scopes: Sequence[Sequence[int]],
    knobs: int,
    price: float,
    *,
    start: Array | None = None,
    noise: Gaussian | None = None,
) -> Place:
    """The place of a surface; a random start unless one is given."""
    problem = Problem(tt.Graph.from_scopes(scopes, knobs=knobs), move_cost=price)
    world = Surface(problem, means, noise or Gaussian(SIGMA))
    where = np.random.default_rng((seed, 11)).random(knobs) if start is None else start
    return Place(world, problem, where, world.noise.scales(problem.graph))
