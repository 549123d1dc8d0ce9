"""`play` by events against updating every regression in every round, at k = m = 1000.

Two figures on a ring and on a graph of degree 4 (pairwise quadratic basis):

*Without solves.* A fixed tour of states, moved on whenever some criterion triggers: the
flushes, the agenda and the sums of Algorithm 1, and no solver. The eager side draws every
loss, updates all m inverse matrices (Sherman-Morrison on the lower half, the fastest of
three ways we tried) and tests every trigger in every round; it is compiled as a whole and
pays no Python per round.

*With solves.* The whole asynchronous run as a user would start it: draws, local solves,
trace and certificate included. The eager side makes no solves at all, so the ratio is a lower
bound.

An eager round costs the same every time, so it is timed over a few hundred rounds
and multiplied by the horizon; everything lazy is timed as a whole. All in one process on
one thread; the last figure is the time of 10^9 rounds over that of 10^6.

    python benchmarks/play_events.py
"""

from __future__ import annotations

import platform
import time

import numba
import numpy as np
from eager import eager_rounds, inverses

import trimtab as tt
from trimtab.arrays import Array, Ints
from trimtab.learn import NodewiseEstimators

K, T, LONG = 1000, 10**6, 10**9


def eager_seconds(world: tt.worlds.World) -> float:
    """Seconds of a round of the eager run; best of five."""
    problem = world.problem
    state = np.full(problem.knobs, 0.4)
    starts, P, b = inverses(problem, 1.0)
    phi, mean, offsets = problem.phi(state), world.mean(state), problem.features.offsets
    eager_rounds(1, mean, 0.1, phi, offsets, starts, P, b)
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        eager_rounds(400, mean, 0.1, phi, offsets, starts, P, b)
        times.append((time.perf_counter() - begin) / 400)
    return min(times)


def lazy_without_solves(world: tt.worlds.World, horizon: int) -> tuple[float, int]:
    """Seconds of a run of Algorithm 1's matrices along a tour of states, and its epochs."""
    problem = world.problem
    everybody = problem.all_criteria
    rng = np.random.default_rng(0)
    tour = rng.random((64, problem.knobs))
    mean = [world.mean(state) for state in tour]
    begin = time.perf_counter()
    estimators = NodewiseEstimators(
        problem, reg=np.ones(problem.criteria), factor=2.0, state=tour[0]
    )
    t = epochs = 0
    while t < horizon:
        rounds = min(estimators.rounds_left, horizon - t)
        estimators.skip(rounds, None)
        t += rounds
        here = mean[epochs % 64]

        def owed(criteria: Ints, n: Ints, here: Array = here) -> tuple[Array, Array]:
            noise, squares = world.noise.sums(rng, criteria, n)  # type: ignore[attr-defined]
            return here[criteria] + noise, squares

        estimators.collect(everybody, owed)
        estimators.flush(everybody)
        estimators.stats.since[everybody] = 0.0
        epochs += 1
        estimators.deploy(tour[epochs % 64], everybody)
    return time.perf_counter() - begin, epochs


def with_solves(world: tt.worlds.World, horizon: int) -> tuple[float, int]:
    """Seconds of an asynchronous run, and its local solves."""
    begin = time.perf_counter()
    policy = tt.AsyncLazyGraphLinUCB(
        world.problem, start=np.full(K, 0.5), radius=0.5, cold_start="keep", review=False, effort=0
    )
    trace = tt.play(policy, world, horizon=horizon, seed=1)
    return time.perf_counter() - begin, trace.solves


def main() -> None:
    """Print the table."""
    print(
        f"k = m = {K}; Python {platform.python_version()}, numpy {np.__version__}, "
        f"numba {numba.__version__}, {platform.machine()}"
    )
    for name, hops in (("ring", (1,)), ("degree 4", (1, 2))):
        edges = [(j, (j + hop) % K) for hop in hops for j in range(K)]
        graph = tt.Graph.from_edges(K, edges)
        world = tt.worlds.quadratic(graph, seed=3, basis=tt.bases.PairwiseQuadratic())
        _ = world.optimum
        lazy_without_solves(world, 1000)
        with_solves(world, 1000)
        round_ = eager_seconds(world)
        plain, epochs = lazy_without_solves(world, T)
        whole, solves = with_solves(world, T)
        longer, _ = with_solves(world, LONG)
        eager = round_ * T
        print(
            f"\n{name}, T = 10^6: an eager round takes {round_ * 1e6:.1f} us, a run {eager:.1f} s"
        )
        print(f"  without solves: {plain:.2f} s for {epochs} epochs")
        print(f"    eager / lazy = {eager / plain:.0f} (must reach 100)")
        print(f"  Async: {whole:.2f} s with {solves} solves")
        print(f"    eager without solves / lazy with them = {eager / whole:.1f} (must reach 15)")
        print(f"  T = 10^9 over T = 10^6: {longer / whole:.2f} (must stay below 3)")


if __name__ == "__main__":
    main()
