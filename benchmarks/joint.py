"""The joint estimate against the node-wise ones: widths, and what the policies make of them.

Widths: 300 random states of a world made of factors are seen once each, or 100 times each, by both
kinds of estimators; the figure is W_J / W, the joint width over the node-wise one, the mean over 50
other random states and the seeds. Noise 0.5 (Gaussian, independent), true norms as the bounds,
delta 0.05 each, reg 0.1 for the criteria and as strong a reg for the factors. Beside it
the paper's claim, d_eff sqrt(k) / sum_i d_i.

Policies: T = 10^4 by events from the start state 0.5, with the same noise and radius; each figure
is the mean over seeds of the ratio to `LazyGraphLinUCB` in the same world.

    python benchmarks/joint.py [seeds]
"""

from __future__ import annotations

import sys

import numpy as np

import trimtab as tt
from trimtab import theory
from trimtab.arrays import Array
from trimtab.learn.joint.model import Factors
from trimtab.sim.worlds.joint import factored

SIGMA, REG, STATES = 0.5, 0.1, 300


def path(k: int) -> tt.Graph:
    """A line of knobs."""
    return tt.Graph.from_edges(k, [(j, j + 1) for j in range(k - 1)])


GRAPHS = {
    "clique of 2": tt.Graph.complete(2),
    "clique of 6": tt.Graph.complete(6),
    "clique of 12": tt.Graph.complete(12),
    "30 isolated": tt.Graph.cliques([1] * 30),
    "path of 30": path(30),
    "5 cliques of 4": tt.Graph.cliques([4] * 5),
}
PLAYED = ("clique of 2", "clique of 6", "5 cliques of 4")


def policies(
    graph: tt.Graph, seed: int
) -> tuple[tt.worlds.World, dict[str, tt.LazyGraphLinUCB | tt.JointLazyGraphLinUCB]]:
    """A world, and every policy for it."""
    world, w = factored(graph, seed=seed, noise=tt.worlds.Gaussian(SIGMA))
    radius = tt.Confidence(sigma=SIGMA, norm=world.norms)
    start, norm = np.full(graph.knobs, 0.5), float(np.linalg.norm(w))
    made: dict[str, tt.LazyGraphLinUCB | tt.JointLazyGraphLinUCB] = {
        "nodes": tt.LazyGraphLinUCB(world.problem, start=start, radius=radius, reg=REG, seed=seed)
    }
    for name, joint_only in (("both", False), ("joint only", True)):
        made[name] = tt.JointLazyGraphLinUCB(
            world.problem,
            start=start,
            radius=radius,
            factor_norm=norm,
            reg=REG,
            joint_only=joint_only,
            seed=seed,
        )
    return world, made


def width_ratio(graph: tt.Graph, seed: int, times: int) -> float:
    """W_J / W at random states, once other random states were seen this often."""
    world, made = policies(graph, seed)
    policy = made["both"]
    assert isinstance(policy, tt.JointLazyGraphLinUCB)
    learner, bound = policy.learner, policy.learner.bound
    assert bound.nodes is not None
    rng = np.random.default_rng((seed, 1))
    m, everybody = graph.criteria, world.problem.all_criteria
    count = np.full(m, times)
    for state in rng.random((STATES, graph.knobs)):
        losses = world.mean(state) + SIGMA / np.sqrt(times) * rng.normal(size=m)
        learner.estimators.add_elsewhere(losses, count, state)
        learner.joint.add_elsewhere(losses, count, state)
    learner.lcb.update(everybody)
    bound.update(learner.joint_radius())
    at = rng.random((50, graph.knobs))
    return float(np.mean([bound.total.width(s) / bound.nodes.width(s) for s in at]))


def played(graph: tt.Graph, seed: int) -> Array:
    """Regret, certificate, movement and solves, each policy over the node-wise one: (2, 4)."""
    rows = {}
    world, made = policies(graph, seed)
    for name, policy in made.items():
        trace = tt.play(policy, world, horizon=10**4, seed=seed)
        bound = policy.certificate.bound
        rows[name] = np.array([trace.regret, bound, trace.movement, trace.solves])
    return np.array([rows["both"] / rows["nodes"], rows["joint only"] / rows["nodes"]])


def main() -> None:
    """Print both tables."""
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    print(f"## Joint estimator, {len(seeds)} seeds\n")
    print("| graph | d_eff | sum d_i | printed ratio | width, 300 rounds | width, 30,000 rounds |")
    print("|---|---|---|---|---|---|")
    for name, graph in GRAPHS.items():
        problem = tt.Problem(graph)
        d = Factors(problem).dim
        few, many = (np.mean([width_ratio(graph, s, n) for s in seeds]) for n in (1, 100))
        printed = theory.printed_joint_ratio(d, problem.dims)
        print(
            f"| {name} | {d} | {problem.dims.sum()} | {printed:.2f} | {few:.2f} | {many:.2f} |",
            flush=True,
        )
    print("\n| graph, T = 10^4 | policy | regret | certificate | movement | solves |")
    print("|---|---|---|---|---|---|")
    for name in PLAYED:
        ratios = np.mean([played(GRAPHS[name], s) for s in seeds], axis=0)
        for policy, row in zip(("both bounds", "joint only"), ratios, strict=True):
            print(f"| {name} | {policy} | {' | '.join(f'{x:.2f}' for x in row)} |", flush=True)


if __name__ == "__main__":
    main()
