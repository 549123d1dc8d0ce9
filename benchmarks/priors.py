"""What policies that are told nothing make of a learned graph, of shared factors and of pools.

Every figure is the regret of 300 rounds from the start state 0.5 over that of staying there: the
geometric mean over the seeds 900, 901, ..., and the worst of them. Gaussian noise of 0.1. These are
the worlds in which the constants of `policies.warmup` and `policies.joint_learner` were chosen.

Graphs to be learned: six knobs, of which every criterion reads three, given the complete graph.
Warm-ups by their length; d is the number of features of a criterion.

Shared factors: worlds made of factors, widths of the joint bound in posterior standard deviations.

    python benchmarks/priors.py [seeds]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import trimtab as tt
from trimtab.policies.joint import learner
from trimtab.sim.worlds.joint import factored

ROUNDS, FIRST = 300, 900
Make = Callable[[tt.Problem], tt.policies.Policy]

GRAPHS = {
    "clique of 4": tt.Graph.complete(4),
    "two cliques of 3": tt.Graph.cliques([3, 3]),
    "path of 5": tt.Graph.from_edges(5, [(j, j + 1) for j in range(4)]),
    "ring of 6": tt.Graph.from_edges(6, [(j, (j + 1) % 6) for j in range(6)]),
}


def played(make: Make, world: tt.worlds.World, seed: int) -> tuple[float, float]:
    """Regret over that of staying, and movement."""
    policy = make(world.problem)
    stay = ROUNDS * (world.loss(policy.start) - world.optimum.value)
    trace = tt.play(policy, world, horizon=ROUNDS, seed=seed)
    return trace.regret / stay, trace.movement


def row(name: str, found: list[tuple[float, float]]) -> str:
    """One line of a table."""
    cost, movement = np.array(found).T
    mean = float(np.exp(np.log(np.maximum(cost, 1e-3)).mean()))
    return f"| {name} | {mean:.3f} | {cost.max():.2f} | {np.median(movement):.1f} |"


def table(title: str, rows: list[str]) -> None:
    """Print a table."""
    print(f"\n### {title}\n\n| policy | cost | worst | movement |\n|---|--:|--:|--:|")
    print("\n".join(rows), flush=True)


def middle(problem: tt.Problem) -> list[float]:
    """The start state."""
    return [0.5] * problem.knobs


def learned_graphs(seeds: int) -> None:
    """Warm-ups of several lengths, and none."""

    def warm(rounds: float | None) -> Make:
        def make(problem: tt.Problem) -> tt.policies.Policy:
            length = None if rounds is None else int(np.ceil(rounds * problem.dims.max()))
            return tt.AdaptiveGraphLinUCB(problem, start=middle(problem), warmup=length)

        return make

    policies: dict[str, Make] = {
        "Adaptive, warm-up of d / 2 rounds (default)": warm(None),
        "Adaptive, d rounds": warm(1.0),
        "Adaptive, 2 d rounds": warm(2.0),
        "Adaptive, 4 d rounds": warm(4.0),
        "Steady on the complete graph": lambda p: tt.SteadyGraphLinUCB(p, start=middle(p)),
    }
    worlds = [
        tt.worlds.sparse(6, degree=2, gamma=0.3, seed=FIRST + s, noise=tt.worlds.Gaussian(0.1))
        for s in range(seeds)
    ]
    rows = [
        row(name, [played(make, world, s) for s, world in enumerate(worlds)])
        for name, make in policies.items()
    ]
    table("Graphs to be learned", rows)


def shared_factors(seeds: int) -> None:
    """Widths of the joint bound, with and without the node-wise ones, and the other policies."""

    def joint(kappa: float, *, only: bool) -> Make:
        def make(problem: tt.Problem) -> tt.policies.Policy:
            learner.KAPPA = kappa
            return tt.JointLazyGraphLinUCB(problem, start=middle(problem), joint_only=only)

        return make

    policies: dict[str, Make] = {
        **{f"Joint, width {k:g}": joint(k, only=False) for k in (0.5, 1.0, 2.0)},
        **{f"Joint alone, width {k:g}": joint(k, only=True) for k in (0.5, 1.0, 2.0)},
        "Lazy": lambda p: tt.LazyGraphLinUCB(p, start=middle(p)),
        "Pooled": lambda p: tt.PooledGraphLinUCB(p, start=middle(p)),
        "Steady": lambda p: tt.SteadyGraphLinUCB(p, start=middle(p)),
    }
    worlds = [
        (s, factored(graph, seed=FIRST + s, noise=tt.worlds.Gaussian(0.1))[0])
        for graph in GRAPHS.values()
        for s in range(seeds)
    ]
    rows = [
        row(name, [played(make, world, s) for s, world in worlds])
        for name, make in policies.items()
    ]
    table(f"Shared factors ({', '.join(GRAPHS)})", rows)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    print(f"## Told nothing (`priors.py`), {count} seeds, {ROUNDS} rounds")
    learned_graphs(count)
    shared_factors(count)
