"""Runs by events and round by round have the same distribution, at a thousand knobs.

Ring, k = m = 1000, pairwise quadratic basis, normal noise of 0.1, radius `Confidence`. *Async* is
`AsyncLazyGraphLinUCB` as `scale.py` plays it; *Steady* is `SteadyGraphLinUCB` at a move_cost of
3,000. Each plays 10^5 rounds with 200 seeds by events, where sums of losses are drawn, and with 200
other seeds round by round, where every loss is drawn and told. Seven totals of a run are compared
by the two-sample Kolmogorov-Smirnov test.

Equal on both sides: world, policy, searches. Two things are spared, on both sides alike: Steady's
global searches only descend from the deployed state (effort 0; with the full search a run takes
six times as long), and the world remembers the expected losses of the state it is in instead of
computing them again in every round.

Long runs are those of 10^9 rounds by events. A policy does not know its horizon, so a long run
begins as the short one of the same seed: regret and movement after 10^5 rounds are compared
exactly. Steady is also played with its full search.

Every run is appended to build/agreement.jsonl and is not made twice: about an hour of CPU in all.
Delete that file when what is compared has changed.

    python benchmarks/agreement.py [processes]     the table, and docs/figures/agreement.png
    python benchmarks/agreement.py 0               the same of the runs that were made so far
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from scipy import special, stats

import trimtab as tt
from trimtab.arrays import Array
from trimtab.policies import LazyPolicy

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "build" / "agreement.jsonl"
FIGURE = ROOT / "docs" / "figures" / "agreement.png"
K, SHORT, LONG, SEEDS = 1000, 10**5, 10**9, 200
PRICES = {"Async": 0.0, "Steady": 3000.0, "Steady, full search": 3000.0}
COMPARED = ("Async", "Steady")
LONG_SEEDS = {"Async": 5, "Steady": 5, "Steady, full search": 2}
MARKS = [10**n for n in range(5, 10)]
FIGURES = {
    "regret": "regret",
    "movement": "movement",
    "moves": "moves",
    "knobs": "knobs turned",
    "looks": "looks",
    "last": "final loss",
    "bound": "certificate",
}
FAMILY = 1e-3  # the probability that any of all tests raises a false alarm
Run = dict[str, Any]


class Case(NamedTuple):
    """A run that is to be made."""

    policy: str
    path: Literal["events", "rounds"]
    horizon: int
    seed: int


CASES = (
    *(
        case
        for seed in range(SEEDS)
        for policy in COMPARED
        for case in (
            Case(policy, "events", SHORT, seed),
            Case(policy, "rounds", SHORT, SEEDS + seed),
        )
    ),
    *(
        Case(policy, "events", LONG, seed)
        for policy, seeds in LONG_SEEDS.items()
        for seed in range(seeds)
    ),
)


@cache
def world_of(price: float) -> tt.worlds.World:
    """The ring."""
    j = np.arange(K)
    graph = tt.Graph.from_edges(K, np.column_stack((j, (j + 1) % K)))
    basis = tt.bases.PairwiseQuadratic()
    return tt.worlds.quadratic(graph, basis=basis, seed=3, move_cost=price)


def policy_of(name: str, world: tt.worlds.World) -> LazyPolicy:
    """A policy that has not played yet."""
    start, radius = np.full(K, 0.5), tt.Confidence(sigma=0.1, norm=world.norms)
    if name == "Async":
        return tt.AsyncLazyGraphLinUCB(
            world.problem, start=start, radius=radius, cold_start="keep", review=False
        )
    steady = tt.SteadyGraphLinUCB(world.problem, start=start, radius=radius)
    if name == "Steady":
        learner = steady.learner
        learner.solve = partial(learner.solve, effort=0.0)  # type: ignore[method-assign]
    return steady


def play(case: Case) -> Run:
    """One run and its totals."""
    world = world_of(PRICES[case.policy])
    _ = world.optimum
    begin = time.process_time()
    policy = policy_of(case.policy, world)
    trace = tt.play(policy, world, horizon=case.horizon, seed=case.seed, path=case.path)
    marks = [mark for mark in MARKS if mark <= case.horizon]
    return {
        **case._asdict(),
        "seconds": time.process_time() - begin,
        "regret": trace.regret,
        "movement": trace.movement,
        "moves": trace.moves,
        "knobs": trace.knobs_changed,
        "looks": trace.solves,
        "last": float(trace.rates[-1]),
        "bound": policy.certificate.bound,
        "regret_at": trace.regret_at(marks).tolist(),
        "movement_at": trace.movement_at(marks).tolist(),
    }


def recorded() -> dict[Case, Run]:
    """The runs that have been made; a line that a kill has cut short is none."""
    found = {}
    for line in RUNS.read_text().splitlines() if RUNS.exists() else ():
        try:
            run = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[Case(*(run[name] for name in Case._fields))] = run
    return found


def all_runs(processes: int) -> dict[Case, Run]:
    """Every run, made now where it has not been made before."""
    runs = recorded()
    missing = [case for case in CASES if case not in runs]
    if not missing or not processes:
        return runs
    RUNS.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(processes) as pool, RUNS.open("a") as file:
        waiting = [pool.submit(play, case) for case in missing]
        console = Console(stderr=True)
        for done in track(as_completed(waiting), total=len(waiting), console=console):
            run = done.result()
            file.write("\n" + json.dumps(run))  # begins a line even after one cut short
            file.flush()
            runs[Case(*(run[name] for name in Case._fields))] = run
    return runs


def samples(runs: dict[Case, Run], policy: str, figure: str) -> tuple[Array, Array]:
    """A figure of all short runs: by events, and round by round."""
    by_events, by_rounds = (
        np.array([r[figure] for c, r in runs.items() if c[:3] == (policy, path, SHORT)], float)
        for path in ("events", "rounds")
    )
    return by_events, by_rounds


def detected(shift: float, seeds: int, level: float, trials: int = 2000) -> float:
    """How often the test finds normal samples that differ by this number of standard deviations."""
    rng = np.random.default_rng(0)
    both = rng.normal(size=(trials, 2 * seeds))
    both[:, seeds:] += shift
    steps = np.where(np.argsort(both, axis=1) < seeds, 1.0, -1.0) / seeds
    apart = np.abs(np.cumsum(steps, axis=1)).max(axis=1)
    return float(np.mean(apart > special.kolmogi(level) * np.sqrt(2 / seeds)))


def power_of(seeds: int, level: float) -> float:
    """The shift, in standard deviations, that the test finds nine times in ten."""
    shifts: list[float] = np.arange(0.4, 9.0, 0.05).tolist()
    return next((shift for shift in shifts if detected(shift, seeds, level) >= 0.9), np.inf)


def comparison(runs: dict[Case, Run]) -> list[str]:
    """The table of the tests, and what they could have found."""
    level = FAMILY / (len(COMPARED) * len(FIGURES))
    lines = [
        "| policy | total | by events, mean (sd) | round by round, mean (sd) "
        "| difference in sd, 99 % interval | KS p |",
        "|---|---|--:|--:|--:|--:|",
    ]
    least, seeds = 1.0, SEEDS
    for policy in COMPARED:
        for figure, title in FIGURES.items():
            a, b = samples(runs, policy, figure)
            seeds = min(seeds, a.size, b.size)
            p = float(stats.ks_2samp(a, b, method="exact").pvalue)
            low, high = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.99)
            spread = b.std(ddof=1)
            lines.append(
                f"| {policy} | {title} | {a.mean():,.6g} ({a.std(ddof=1):,.3g}) "
                f"| {b.mean():,.6g} ({spread:,.3g}) "
                f"| {low / spread:+.2f} to {high / spread:+.2f} | {p:.3f} |"
            )
            least = min(least, p)
    tests = len(COMPARED) * len(FIGURES)
    verdict = "none rejects" if least > level else "AT LEAST ONE REJECTS"
    found = power_of(seeds, level)
    lines += [
        "",
        f"{tests} tests, each at level {level:.1e}, a false alarm in any of them with probability "
        f"{FAMILY:g} at most: {verdict} (least p {least:.3f}). With {seeds} against {seeds} runs "
        f"such a test finds a shift of {found:.2f} standard deviations nine times in ten.",
    ]
    return lines


def continuation(runs: dict[Case, Run]) -> list[str]:
    """The table of the long runs."""
    lines = [
        "| policy | seeds | CPU seconds | looks | moves | movement "
        "| regret / sqrt(T) at T = 10^5, 10^6, 10^7, 10^8, 10^9 |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    apart = 0.0
    for policy, seeds in LONG_SEEDS.items():
        cases = [Case(policy, "events", LONG, seed) for seed in range(seeds)]
        long = [runs[case] for case in cases if case in runs]
        if not long:
            continue
        mean = {name: np.mean([run[name] for run in long]) for name in (*FIGURES, "seconds")}
        grown = np.mean([run["regret_at"] for run in long], axis=0) / np.sqrt(MARKS)
        lines.append(
            f"| {policy} | {len(long)} | {mean['seconds']:.1f} | {mean['looks']:,.0f} "
            f"| {mean['moves']:,.0f} | {mean['movement']:,.0f} "
            f"| {', '.join(f'{x:,.0f}' for x in grown)} |"
        )
        for run in long if policy in COMPARED else ():
            short = runs[Case(policy, "events", SHORT, run["seed"])]
            for name in ("regret", "movement"):
                apart = max(apart, abs(run[f"{name}_at"][0] / short[name] - 1.0))
    lines += [
        "",
        f"After 10^5 rounds regret and movement of a long run differ from those of the short run "
        f"of the same seed by {apart:.1e} of them at most.",
    ]
    return lines


def plot(runs: dict[Case, Run]) -> None:
    """Quantiles of the one path against those of the other, in standard deviations."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    shown: Sequence[str] = ("regret", "movement", "looks", "last")
    figure, axes = plt.subplots(
        len(COMPARED), len(shown), figsize=(10, 5.2), layout="constrained", sharex=True, sharey=True
    )
    level = FAMILY / (len(COMPARED) * len(FIGURES))
    for axis_row, policy in zip(axes, COMPARED, strict=True):
        for axis, name in zip(axis_row, shown, strict=True):
            a, b = samples(runs, policy, name)
            critical = special.kolmogi(level) * np.sqrt(1 / a.size + 1 / b.size)
            share = (np.arange(a.size) + 0.5) / a.size
            centre, spread = b.mean(), b.std(ddof=1)
            x, y = np.quantile((b - centre) / spread, share), np.sort((a - centre) / spread)
            low, high = (np.quantile(x, np.clip(share + c, 0, 1)) for c in (-critical, critical))
            low[share < critical], high[share > 1 - critical] = -9, 9
            axis.fill_between(x, low, high, color="0.9")
            axis.axline((0, 0), slope=1, color="grey", linewidth=0.8)
            axis.plot(x, y, ".", markersize=3, color="#0072b2")
            axis.set(title=f"{policy}: {FIGURES[name]}", xlim=(-3.5, 3.5), ylim=(-3.5, 3.5))
            axis.set_aspect("equal")
    figure.supxlabel("quantiles round by round, in standard deviations")
    figure.supylabel("quantiles by events")
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=150)


def main() -> None:
    """Make what is missing, print the tables and draw the picture."""
    runs = all_runs(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    print("## By events and round by round (`agreement.py`)\n")
    made = {p: [samples(runs, p, "regret")[i].size for i in (0, 1)] for p in COMPARED}
    counts = "; ".join(
        f"{p} {a} seeds by events, {b} others by rounds" for p, (a, b) in made.items()
    )
    print(f"Ring, k = m = {K:,}, T = 10^5. {counts}.")
    print("Steady at a move_cost of 3,000, its searches at effort 0 on both sides.\n")
    print("\n".join(comparison(runs)))
    print("\n10^9 rounds by events, means over seeds:\n")
    print("\n".join(continuation(runs)))
    plot(runs)
    print("\n![quantiles of the two paths](../docs/figures/agreement.png)")


if __name__ == "__main__":
    main()
