"""Whole asynchronous runs by events: time against T at fixed k, and against k at fixed T.

A run is what a user would start (`tt.play` of `AsyncLazyGraphLinUCB`, pairwise quadratic basis,
`Confidence` radius, `cold_start="keep", review=False`): draws, local solves, trace and certificate.
Every row is one run in one process on one thread, after a short one that compiles. A *trigger* is a
criterion whose determinant has doubled; an event has one or more. Memory is that of all arrays that
the policy and its searches keep, over the float64 d x d matrices of all criteria; the trace is not
part of it. The world's optimum is not searched for (regret is not asked for).

The whole takes about ten minutes. Runs are kept in build/scale.jsonl until the table is printed, so
that it can be measured in pieces.

    python benchmarks/scale.py ring          measure these runs, print nothing
    python benchmarks/scale.py "degree 4"    those
    python benchmarks/scale.py               what is missing; the table and docs/figures/scale.png
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import fields, is_dataclass
from pathlib import Path

import networkx as nx
import numpy as np

import trimtab as tt
from trimtab.model.bases import Monomials
from trimtab.policies import LazyPolicy
from trimtab.solve import Solution

ROOT = Path(__file__).resolve().parent.parent
FIGURE, RUNS = ROOT / "docs" / "figures" / "scale.png", ROOT / "build" / "scale.jsonl"
LENGTHS = tuple(10**n for n in range(3, 10))
SIZES = tuple(10**n for n in range(2, 7))
FIXED_K = 1000
FIXED_T = {"ring": 100, "degree 4": 10}


def graph(kind: str, k: int) -> tt.Graph:
    """A ring, or a random graph of degree 4."""
    if kind == "ring":
        j = np.arange(k)
        return tt.Graph.from_edges(k, np.column_stack((j, (j + 1) % k)))
    return tt.Graph.from_networkx(nx.random_regular_graph(4, k, seed=1))


def arrays_in(thing: object, known: dict[int, int]) -> None:
    """Note the bytes of every array that a structure, or a structure in it, points at."""
    if isinstance(thing, np.ndarray):
        at = thing.ctypes.data
        known[at] = max(known.get(at, 0), thing.nbytes)
    elif is_dataclass(thing):
        for field in fields(thing):
            arrays_in(getattr(thing, field.name), known)


def memory_of(policy: LazyPolicy) -> float:
    """The arrays of a policy and its searches over the d x d matrices of all criteria."""
    known: dict[int, int] = {}
    learner, d = policy.learner, policy.problem.dims.astype(np.float64)
    graph, lcb = policy.problem.graph, learner.lcb
    tables = (graph.scope_offsets, graph.scope_knobs, graph.touch_offsets, graph.touch_criteria)
    maps = policy.problem.features.arrays if isinstance(policy.problem.features, Monomials) else ()
    for thing in (learner.estimators.stats, maps, *tables, lcb.radii, learner.state):
        arrays_in(thing, known)
    own = 0 if learner.local is None else learner.local.nbytes
    return (sum(known.values()) + own) / (8.0 * float(d @ d))


def run(kind: str, k: int, horizon: int) -> dict[str, float]:
    """One run: its seconds, its triggers, and its memory as a share of the matrices."""
    world = tt.worlds.quadratic(graph(kind, k), basis=tt.bases.PairwiseQuadratic(), seed=3)
    world.__dict__["optimum"] = Solution(np.zeros(k), 0.0, None)
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    policy = tt.AsyncLazyGraphLinUCB(
        world.problem,
        start=np.full(k, 0.5),
        radius=radius,
        cold_start="keep",
        review=False,
        effort=0,
    )
    begin = time.process_time()
    trace = tt.play(policy, world, horizon=horizon, seed=0)
    seconds = time.process_time() - begin
    return {
        "seconds": seconds,
        "events": trace.solves,
        "triggers": float(trace.attributions.sum()),
        "memory": memory_of(policy),
    }


def row(kind: str, k: int, horizon: int, found: dict[str, float]) -> str:
    """A line of the table."""
    each = 1e6 * found["seconds"] / found["triggers"]
    return (
        f"| {kind} | {k:,} | {horizon:,} | {found['seconds']:.2f} | {found['events']:,.0f} "
        f"| {found['triggers']:,.0f} | {each:.1f} | {found['memory']:.2f} |"
    )


def plot(found: dict[tuple[str, int, int], dict[str, float]]) -> None:
    """Both tables as one picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for kind, colour in (("ring", "#0072b2"), ("degree 4", "#d55e00")):
        sweeps = ((left, FIXED_K, 2, LENGTHS), (right, FIXED_T[kind], 1, SIZES))
        for axis, fixed, place, swept in sweeps:
            mine = sorted(
                (key[place], value["seconds"])
                for key, value in found.items()
                if key[0] == kind and key[3 - place] == fixed and key[place] in swept
            )
            x, y = zip(*mine, strict=True)
            label = f"{kind}, T = {fixed}" if axis is right else kind
            axis.plot(x, y, "o-", color=colour, label=label)
    left.set(xscale="log", xlabel="rounds T", ylabel="CPU seconds", title=f"k = {FIXED_K:,} knobs")
    left.set_ylim(bottom=0)
    right.set(xscale="log", yscale="log", xlabel="knobs k", title="a few rounds")
    sizes = np.array(SIZES, float)
    least = min(v["seconds"] for key, v in found.items() if key[1] == SIZES[-1])
    right.plot(sizes, least * sizes / sizes[-1], ":", color="grey", label="linear in k")
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=150)


def measured(kind: str) -> dict[tuple[str, int, int], dict[str, float]]:
    """All runs on a graph, made now where they have not been made before."""
    known = [json.loads(x) for x in RUNS.read_text().splitlines()] if RUNS.exists() else []
    found = {(kind, k, T): run for of, k, T, run in known if of == kind}
    cases = [(FIXED_K, T) for T in LENGTHS] + [(k, FIXED_T[kind]) for k in SIZES]
    missing = [(k, T) for k, T in cases if (kind, k, T) not in found]
    if missing:
        run(kind, 100, 1000)  # compiles
    RUNS.parent.mkdir(exist_ok=True)
    for k, T in missing:
        found[kind, k, T] = run(kind, k, T)
        with RUNS.open("a") as file:
            file.write(json.dumps([kind, k, T, found[kind, k, T]]) + "\n")
        print(row(kind, k, T, found[kind, k, T]), file=sys.stderr, flush=True)
    return {(kind, k, T): found[kind, k, T] for k, T in cases}


def main() -> None:
    """Print the table and draw the picture, or measure the graph that is named."""
    if sys.argv[1:]:
        measured(sys.argv[1])
        return
    found = {**measured("ring"), **measured("degree 4")}
    print("## Whole asynchronous runs by events (`scale.py`)\n")
    print("CPU seconds of one run each; memory over the d x d matrices of all criteria.\n")
    print("| graph | k = m | T | seconds | events | triggers | us a trigger | memory |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for (kind, k, T), values in found.items():
        print(row(kind, k, T, values))
    print()
    for kind in FIXED_T:
        each = [
            found[kind, k, FIXED_T[kind]]["seconds"] / found[kind, k, FIXED_T[kind]]["triggers"]
            for k in SIZES
            if k >= 10**4
        ]
        grown = found[kind, FIXED_K, 10**9]["seconds"] / found[kind, FIXED_K, 10**6]["seconds"]
        print(
            f"{kind}: time per trigger at k = 10^4 to 10^6, largest over least: "
            f"{max(each) / min(each):.2f} (must stay below 3); T = 10^9 over T = 10^6: "
            f"{grown:.2f} (must stay below 3); memory at k = 10^6: "
            f"{found[kind, SIZES[-1], FIXED_T[kind]]['memory']:.2f} (must stay below 3).\n"
        )
    plot(found)
    print("![time against rounds and against knobs](../docs/figures/scale.png)")
    RUNS.unlink()


if __name__ == "__main__":
    main()
