"""What Async's effort buys: cost and CPU in the paper's worlds, and how good its block solves are.

    python benchmarks/async_effort.py

Runs are of `AsyncLazyGraphLinUCB` with the recommended prior, and to the letter of the paper
(radius 0.5, cold_start="keep", review=False), from random states. Costs are regret and price, as
geometric means over the worlds of cost / cost at effort 2; seeds are from 700 on. Block solves are
the choices of runs by effort 2, repeated by every effort: how many are worse than at effort 50 by
more than 1e-3 W, by the number of free knobs.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable

import networkx as nx
import numpy as np

import trimtab as tt
from benchmarks.league.worlds import cliques, ring
from trimtab.model.bases import Basis, PairwiseQuadratic, Quadratic
from trimtab.sim.worlds import World
from trimtab.solve import solve

EFFORTS = (2.0, 0.0, 0.25, 0.5, 1.0, 4.0)
SEEDS = range(700, 710)
HORIZONS = (300, 5_000)
OPTIONS: dict[str, dict[str, object]] = {
    "recommended": {},
    "to the letter": {"radius": 0.5, "cold_start": "keep", "review": False},
}


def _regular(k: int, degree: int) -> tt.Graph:
    return tt.Graph.from_networkx(nx.random_regular_graph(degree, k, seed=1))


def _quadratic(graph: tt.Graph, basis: Basis) -> Callable[[int], World]:
    return lambda seed: tt.worlds.quadratic(graph, basis=basis, seed=seed, move_cost=1.0)


def _discs(seed: int) -> World:
    world = cliques(seed, count=4, price=1.0).world
    assert isinstance(world, World)
    return world


WORLDS: dict[str, Callable[[int], World]] = {
    "Example 1, ring of 10": _quadratic(ring(10), PairwiseQuadratic()),
    "Example 1, degree 3, k = 20": _quadratic(_regular(20, 3), PairwiseQuadratic()),
    "Example 1, degree 5, k = 30": _quadratic(_regular(30, 5), PairwiseQuadratic()),
    "quadratic, ring of 10": _quadratic(ring(10), Quadratic()),
    "quadratic, degree 4, k = 20": _quadratic(_regular(20, 4), Quadratic()),
    "four discs": _discs,
    "spin glass": lambda seed: tt.worlds.spin_glass(seed=seed),
}


def start_of(world: World, seed: int) -> np.ndarray:
    """A random state."""
    return world.problem.domain.sample(np.random.default_rng(seed))


def cost_and_time(
    world: World, effort: float, horizon: int, seed: int, options: dict[str, object]
) -> tuple[float, float]:
    """Regret and price, and CPU."""
    policy = tt.AsyncLazyGraphLinUCB(
        world.problem,
        start=start_of(world, seed),
        effort=effort,
        **options,  # type: ignore[arg-type]
    )
    begin = time.process_time()
    trace = tt.play(policy, world, horizon=horizon, seed=seed)
    spent = time.process_time() - begin
    return float(trace.regret + trace.move_cost), spent


def costs(horizon: int, options: dict[str, object]) -> None:
    """A row per effort."""
    shares: dict[float, list[float]] = defaultdict(list)
    times: dict[float, float] = defaultdict(float)
    for make in WORLDS.values():
        total: dict[float, float] = defaultdict(float)
        for seed in SEEDS:
            world = make(seed)
            world.optimum  # noqa: B018 - not on the policy's clock
            for effort in EFFORTS:
                cost, spent = cost_and_time(world, effort, horizon, seed, options)
                total[effort] += cost
                times[effort] += spent
        for effort in EFFORTS:
            shares[effort].append(total[effort] / total[EFFORTS[0]])
    for effort in sorted(EFFORTS):
        mine = np.array(shares[effort])
        mean, time_share = np.exp(np.log(mine).mean()), times[effort] / times[EFFORTS[0]]
        print(
            f"| {effort:g} | {mean:.3f} | {mine.min():.2f} to {mine.max():.2f} | {time_share:.2f} |"
        )


def block_solves() -> None:
    """How many choices each effort misses, by the number of free knobs."""
    missed: dict[tuple[int, float], int] = defaultdict(int)
    spent: dict[tuple[int, float], float] = defaultdict(float)
    seen: dict[int, int] = defaultdict(int)
    for name, make in WORLDS.items():
        if name in ("four discs", "spin glass"):  # one is exact, the other a matter of vertices
            continue
        for seed in SEEDS[:4]:
            world = make(seed)
            policy = tt.AsyncLazyGraphLinUCB(
                world.problem,
                start=start_of(world, seed),
                **OPTIONS["to the letter"],  # type: ignore[arg-type]
            )
            rng = np.random.default_rng(seed)
            for _ in range(200):
                before = policy.ask()
                told = policy.tell(world.draw(before, rng))
                if told.cause != "trigger" or told.triggered.size > 1:
                    continue
                free, criteria = world.problem.graph.reach(told.triggered)
                lcb = policy.learner.lcb
                best = solve(lcb, before, free=free, effort=50.0)
                width = float(lcb.terms(best.state, criteria)[1].sum())
                seen[free.size] += 1
                for effort in EFFORTS:
                    begin = time.process_time()
                    found = solve(lcb, before, free=free, effort=effort, seed=seed)
                    spent[free.size, effort] += time.process_time() - begin
                    missed[free.size, effort] += found.value > best.value + 1e-3 * width
    for size in sorted(seen):
        row = " | ".join(
            f"{missed[size, e]} ({1e6 * spent[size, e] / seen[size]:.0f})" for e in sorted(EFFORTS)
        )
        print(f"| {size} | {seen[size]} | {row} |")


def main() -> None:
    """Print all tables."""
    print("Blocks missed by more than 1e-3 W (µs a solve), by free knobs; efforts", sorted(EFFORTS))
    block_solves()
    for horizon in HORIZONS:
        for name, options in OPTIONS.items():
            print(f"\n{name}, {horizon} rounds: effort | cost | worlds | CPU, against effort 2")
            costs(horizon, options)


if __name__ == "__main__":
    main()
