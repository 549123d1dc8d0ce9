"""One solve of the lower confidence bound: how good, how fast, and how sure.

Instances come from real runs after 10^2, 10^4 and 10^6 rounds, on rings and random graphs of
degree 3 to 6, and from random data; pairwise quadratic basis. Rivals get the same objective
and the same compiled value and gradient (`lbfgs.py`), and start from the same state. The
best value known of an instance is the least that any method here has found, ours with 100
times the effort included. Times are CPU seconds of one thread, side by side in one process: we and
L-BFGS-B take turns, three times, and the least of either counts.

W is the width at our solution: a gap of rho W costs at most a factor 1 + rho/2 of the regret.

    python benchmarks/solver.py [--quick]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from instances import DEGREES, TIMES, Instance, from_run, instances, random_instance
from lbfgs import Multistart
from rich.console import Console
from rich.progress import track as progress
from scipy.optimize import differential_evolution, dual_annealing, shgo

import trimtab as tt
from trimtab.arrays import Array
from trimtab.model.bases import Linear
from trimtab.solve import Solution, solve

STDERR = Console(stderr=True)
LONG = 100.0  # times our effort, for the best value known
ROUNDS = 3


def track(work: Sequence[Any], name: str) -> Iterable[Any]:
    """The work with a progress bar, which stays out of the results."""
    return progress(work, name, console=STDERR)


def seconds(*works: Callable[[], Any], rounds: int = 1) -> tuple[tuple[Any, float], ...]:
    """What each of these returns, and the least CPU time it took; they take turns."""
    least, results = [np.inf] * len(works), [None] * len(works)
    for _ in range(rounds):
        for n, work in enumerate(works):
            begin = time.process_time()
            results[n] = work()
            least[n] = min(least[n], time.process_time() - begin)
    return tuple(zip(results, least, strict=True))


def ours(instance: Instance, **options: float) -> Solution:
    """Our solve."""
    return solve(instance.lcb, instance.current, **options)  # type: ignore[arg-type]


def warm_up() -> None:
    """Compile everything before the first clock starts."""
    instance = from_run(10, 3, 100, 99)
    ours(instance, effort=0.1, certify=0.5)
    ours(from_run(10, 2, 100, 99, Linear()))
    ours(from_run(10, 2, 100, 99))
    Multistart(instance).minimum(starts=1)


def small(seeds: int, rivals_on: int) -> None:
    """k = 10: the share of best known values, and the time against general optimisers."""
    found: list[tuple[float, float, float]] = []  # excess, time of L-BFGS-B over ours, their excess
    others: dict[str, list[tuple[float, float]]] = {}
    everything = list(instances(10, seeds))
    step = max(len(everything) // rivals_on, 1)
    for n, instance in enumerate(track(everything, "k = 10")):
        rival = Multistart(instance)
        (mine, t), ((_, least), t_rival) = seconds(
            lambda i=instance: ours(i),  # type: ignore[misc]
            rival.minimum,
            rounds=ROUNDS,
        )
        values = [ours(instance, effort=LONG, seed=1).value, rival.minimum(seed=1, starts=128)[1]]
        if n % step == 0:
            bounds = [(0.0, 1.0)] * 10
            general: dict[str, Callable[[], Any]] = {
                "differential evolution": lambda f=rival, b=bounds: differential_evolution(  # type: ignore[misc]
                    lambda x: f(x)[0], b, seed=0
                ),
                "dual annealing": lambda f=rival, b=bounds: dual_annealing(  # type: ignore[misc]
                    lambda x: f(x)[0], b, seed=0
                ),
                "SHGO": lambda f=rival, b=bounds: shgo(lambda x: f(x)[0], b),  # type: ignore[misc]
            }
            for name, run in general.items():
                ((result, t_other),) = seconds(run)
                value = float(result.fun) if result.fun is not None else np.inf
                values.append(value)
                others.setdefault(name, []).append((value, t_other / t))
        best = min([mine.value, least, *values])
        found.append(((mine.value - best) / abs(best), t_rival / t, (least - best) / abs(best)))
        for rows in others.values():
            if n % step == 0:
                rows[-1] = ((rows[-1][0] - best) / abs(best), rows[-1][1])
    table = np.array(found)
    print(f"\n### k = 10, {len(found)} instances\n")
    print("| method | within 1e-6 of the best known | time, as a multiple of ours (median) |")
    print("|---|---|---|")
    print(f"| trimtab | {(table[:, 0] <= 1e-6).mean():.1%} | 1 |")
    share = (table[:, 2] <= 1e-6).mean()
    print(f"| L-BFGS-B, 32 starts | {share:.1%} | {np.median(table[:, 1]):.0f} |")
    for name, rows in others.items():
        excess, ratio = np.array(rows).T
        within = f"{(excess <= 1e-6).mean():.0%} of {len(rows)}"
        print(f"| {name} | {within} | {np.median(ratio):.0f} |")


def large(k: int, seeds: int, degrees: tuple[int, ...]) -> None:
    """k = 100 and 1000: against L-BFGS-B, and against 100 times the effort."""
    rows = []
    for degree in degrees:
        for seed in range(seeds):
            made = [lambda t=t: from_run(k, degree, t, seed) for t in TIMES]  # type: ignore[misc]  # noqa: B023
            for make in track([*made, lambda: random_instance(k, degree, seed)], f"k = {k}"):  # noqa: B023
                instance = make()
                (mine, t), ((_, least), t_rival), (first, t_first) = seconds(
                    lambda i=instance: ours(i),  # type: ignore[misc]
                    Multistart(instance).minimum,
                    lambda i=instance: ours(i, effort=0.0),  # type: ignore[misc]
                    rounds=ROUNDS,
                )
                reached = t_first if first.value <= least else t  # to a value as good as theirs
                long = ours(instance, effort=LONG).value
                W = instance.lcb.width(mine.state)
                kind = (
                    instance.name.split(" t=")[-1].split()[0]
                    if " t=" in instance.name
                    else "random"
                )
                rows.append(
                    (
                        kind,
                        (mine.value - least) / abs(least),
                        (least - mine.value) / W,
                        (mine.value - min(long, least)) / W,
                        t,
                        t_rival / t,
                        t_rival / reached,
                    )
                )
    print(f"\n### k = {k}, {len(rows)} instances\n")
    print(
        "| instances | worse than L-BFGS-B by > 1e-9 | L-BFGS-B is short by (W, median) | "
        "gap to 100 x effort: median, 95 %, worst (W) | ms | "
        " L-BFGS-B time / ours: median, least | the same, ours only until as good: median, least |"
    )
    print("|---|---|---|---|---|---|---|")
    for kind in [*map(str, TIMES), "random", "all"]:
        mine_rows = [row[1:] for row in rows if kind in ("all", row[0])]
        worse, short, gap, t, ratio, soon = np.array(mine_rows).T
        name = kind if kind in ("all", "random") else f"t = {kind}"
        print(
            f"| {name} | {(worse > 1e-9).sum()} of {worse.size} | {np.median(short):.3f} | "
            f"{np.median(gap):.4f}, {np.quantile(gap, 0.95):.4f}, {gap.max():.4f} | "
            f"{1e3 * np.median(t):.1f} | {np.median(ratio):.1f}, {ratio.min():.1f} | "
            f"{np.median(soon):.0f}, {soon.min():.0f} |"
        )


def luck(seeds: int) -> None:
    """k = 100, t = 10^6, where L-BFGS-B comes closest: how often it ends lower, by other seeds."""
    margins = []
    runs = [(degree, seed) for seed in range(seeds) for degree in DEGREES]
    for degree, seed in track(runs, "luck"):
        instance = from_run(100, degree, TIMES[-1], seed)
        least = Multistart(instance).minimum()[1]
        W = instance.lcb.width(instance.current)
        for n in range(3):
            value = ours(instance, seed=n).value
            margins.append(((value - least) / W, value > least + 1e-9 * abs(least)))
    margin, worse = np.array(margins).T
    print(f"\nk = 100, t = {TIMES[-1]}, {len(runs)} instances, three of our seeds on each:")
    print(f"L-BFGS-B is lower by more than 1e-9 in {worse.sum():.0f} of {worse.size} solves,")
    print(f"at most by {margin.max():.4f} W, and higher by {-np.median(margin):.4f} W (median).")


def linear() -> None:
    """Linear bases: vertices, against brute force and L-BFGS-B."""
    print("\n### Linear bases\n")
    equal = total = 0
    for n in track(range(2, 17), "linear"):
        for seed in range(3):
            graph = tt.Graph.complete(n)
            world = tt.worlds.linear(graph, seed=seed)
            policy = tt.LazyGraphLinUCB(world.problem, start=np.full(n, 0.5), radius=0.5, seed=seed)
            tt.play(policy, world, horizon=50, seed=seed)
            lcb = policy.learner.lcb
            mine = solve(lcb, policy.ask())
            total += 1
            equal += abs(mine.value - brute_force(lcb.estimators, lcb.radii, n)) <= 1e-12 * n
    print(f"Complete graphs of 2 to 16 knobs: {equal} of {total} equal to brute force.\n")
    print("| instance | ours, s | L-BFGS-B 32 starts, s | L-BFGS-B short by (W) | exact |")
    print("|---|---|---|---|---|")
    for k, degree in ((200, 2), (1000, 2), (1000, 4)):
        instance = from_run(k, degree, 100, 0, Linear())
        (mine, t), ((_, least), t_rival) = seconds(
            lambda i=instance: ours(i),  # type: ignore[misc]
            Multistart(instance).minimum,
            rounds=ROUNDS,
        )
        short = (least - mine.value) / instance.lcb.width(mine.state)
        name = f"{'ring' if degree == 2 else 'degree 4'}, k = {k}"
        exact = "yes" if mine.certified else "no"
        print(f"| {name} | {t:.4f} | {t_rival:.3f} | {short:.3f} | {exact} |")


def brute_force(estimators: Any, radii: Array, n: int) -> float:
    """The least value over all 2^n vertices, by numpy."""
    states = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    total = np.zeros(2**n)
    for i in range(n):
        R, v, _ = estimators.split(i)
        u = np.linalg.solve(R, states.T * estimators.problem.features.arrays.scale[i])
        total += v @ u - radii[i] * np.sqrt((u * u).sum(axis=0))
    return float(total.min())


def certificates() -> None:
    """Lower bounds: how close, how fast, and never too high."""
    print("\n### Certificates\n")
    print("| instance | asked for | gap (W) | s | least of 10^5 samples above the bound |")
    print("|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    cases = [(200, 2, t, 0.1) for t in TIMES] + [(3, 2, t, 1e-3) for t in TIMES]
    cases += [(12, 2, 10**6, 0.05), (10, 4, 10**4, 0.1), (6, 2, 10**4, 1e-3)]
    for k, degree, t, share in track(cases, "certificates"):
        instance = from_run(k, degree, t, 0)
        ((found, spent),) = seconds(lambda i=instance, s=share: ours(i, certify=s))  # type: ignore[misc]
        W = instance.lcb.width(found.state)
        lowest = min(instance.lcb.value(s) for s in near(found.state, rng, 10**5))
        gap = np.inf if found.gap is None else found.gap / W
        above = "yes" if found.lower_bound is not None and lowest >= found.lower_bound else "NO"
        print(f"| {instance.name} | {share:g} | {gap:.4f} | {spent:.2f} | {above} |")


def near(state: Array, rng: np.random.Generator, n: int) -> Any:
    """Random states, half of them around the given one."""
    for c in range(n):
        yield (
            rng.random(state.size)
            if c % 2
            else np.clip(
                state + rng.normal(scale=10.0 ** rng.uniform(-4, -1), size=state.size), 0.0, 1.0
            )
        )


def main() -> None:
    """Print all tables."""
    quick = "--quick" in sys.argv
    warm_up()
    print("## One solve")
    small(seeds=1 if quick else 15, rivals_on=2 if quick else 12)
    large(100, 1 if quick else 2, (2, 4) if quick else DEGREES)
    if not quick:
        luck(8)
        large(1000, 1, (2, 4, 6))
    linear()
    certificates()


if __name__ == "__main__":
    main()
