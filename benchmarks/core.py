"""What the compiled core costs: first decisions, looks, tells and runs, in one environment or two.

    python benchmarks/core.py
    python benchmarks/core.py --beside OTHER/bin/python OTHER/src    the same, side by side

Every row is CPU time of one thread, the median of several repetitions, interleaved between the two
environments. A *first decision* is all that a fresh process spends after its imports until a
policy of 6 knobs has made its first look with data, with empty caches. Commands of the command line
are whole processes, caches filled; `trimtab status` is of a tuner with 4 decisions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

REPEATS = 3


def first_decision() -> dict[str, float]:
    """A fresh process: imports, and the first look."""
    begin = time.process_time()
    import numpy as np

    import trimtab as tt

    kind, world = tt.SteadyGraphLinUCB, tt.worlds.quadratic
    graph = tt.Graph.from_edges(6, [(j, (j + 1) % 6) for j in range(6)])
    imported = time.process_time()
    problem = tt.Problem(graph)
    policy = kind(problem, start=np.full(6, 0.5))
    rng = np.random.default_rng(0)
    while policy.tell(rng.normal(size=6)).cause == "none":
        pass
    del world
    now = time.process_time()
    return {"imports, s": imported - begin, "first decision after them, s": now - imported}


def steady() -> dict[str, float]:
    """What is repeated: looks, tells and runs."""
    import numpy as np

    import trimtab as tt
    from trimtab.solve import Solution

    found: dict[str, float] = {}
    for k, hops in ((6, (1,)), (50, (1, 2))):
        edges = [(j, (j + hop) % k) for hop in hops for j in range(k)]
        world = tt.worlds.quadratic(tt.Graph.from_edges(k, edges), seed=1, move_cost=0.5)
        policy = tt.SteadyGraphLinUCB(world.problem, start=np.full(k, 0.5))
        rng, spent, looks = np.random.default_rng(0), 0.0, 0
        for t in range(300):
            losses = world.draw(policy.ask(), rng)
            begin = time.process_time()
            told = policy.tell(losses)
            if told.cause != "none" and t > 20:
                spent, looks = spent + time.process_time() - begin, looks + 1
        found[f"a look of Steady, k = {k}, ms"] = 1e3 * spent / looks
    m = 100_000
    problem = tt.Problem(tt.Graph.from_scopes([[i % 10] for i in range(m)], knobs=10))
    policy_ = tt.LazyGraphLinUCB(
        problem, start=np.full(10, 0.5), radius=0.1, cold_start="keep", review=False, factor=1e9
    )
    losses = np.random.default_rng(0).random(m)
    policy_.tell(losses)
    found["a frozen tell, m = 100,000, against np.add"] = _ratio(
        lambda: policy_.tell(losses), lambda: np.add(losses, losses)
    )
    k = 1000
    edges = [(j, (j + 1) % k) for j in range(k)]
    world = tt.worlds.quadratic(
        tt.Graph.from_edges(k, edges), basis=tt.bases.PairwiseQuadratic(), seed=3
    )
    world.__dict__["optimum"] = Solution(np.zeros(k), 0.0, None)
    options = {"cold_start": "keep", "review": False}
    if hasattr(tt.AsyncLazyGraphLinUCB, "effort"):
        options["effort"] = 0  # what it always was in versions without this option
    frozen = tt.LazyGraphLinUCB(
        world.problem,
        start=np.full(k, 0.5),
        radius=0.5,
        cold_start="keep",
        review=False,
        factor=1e300,
    )
    begin = time.process_time()
    tt.play(frozen, world, horizon=10**6, seed=1)
    found["10^6 rounds on a ring of 1000 without solves, ms"] = 1e3 * (time.process_time() - begin)
    for horizon in (1000, 10**6, 10**9):
        run = tt.AsyncLazyGraphLinUCB(world.problem, start=np.full(k, 0.5), radius=0.5, **options)
        begin = time.process_time()
        tt.play(run, world, horizon=horizon, seed=1)
        if horizon > 1000:
            seconds = time.process_time() - begin
            found[f"Async on a ring of 1000, {horizon:.0e} rounds, s"] = seconds
    return found


def commands() -> dict[str, float]:
    """Whole processes of the command line."""
    with tempfile.TemporaryDirectory() as folder:
        _command(folder, "init", "spec.toml")
        for _ in range(4):
            out, ask = _command(folder, "ask", "spec.toml", "--json")
            measured = ("latency_p99=200", "click_rate=5", "stale_results=5")
            _, tell = _command(folder, "tell", "spec.toml", json.loads(out)["id"], *measured)
        return {
            "trimtab --help, s": _command(folder, "--help")[1],
            "trimtab ask, s": ask,
            "trimtab tell, s": tell,
            "trimtab status, s": _command(folder, "status", "spec.toml")[1],
            "trimtab pause, s": _command(folder, "pause", "spec.toml")[1],
        }


def _command(folder: str, *arguments: str) -> tuple[str, float]:
    """What a command prints, and its CPU."""
    before = os.times()
    command = [sys.executable, "-m", "trimtab", *arguments]
    out = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    after = os.times()
    spent = after.children_user - before.children_user
    return out.stdout, spent + after.children_system - before.children_system


def _ratio(one: object, other: object) -> float:
    """CPU of one call over CPU of the other, the least of many rounds each."""
    least = []
    for call in (one, other):
        assert callable(call)
        times = []
        for _ in range(40):
            begin = time.process_time()
            for _ in range(10):
                call()
            times.append(time.process_time() - begin)
        least.append(min(times))
    return least[0] / least[1]


PARTS = {"first": first_decision, "steady": steady, "commands": commands}


def measured(python: str, source: str | None, part: str) -> dict[str, float]:
    """One part, in a fresh process of this interpreter."""
    with tempfile.TemporaryDirectory() as empty:
        env = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        if part == "first":
            env |= {"NUMBA_CACHE_DIR": empty}
        if source:
            env |= {"PYTHONPATH": source}
        command = [python, str(Path(__file__).resolve()), "--part", part]
        out = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    row: dict[str, float] = json.loads(out.stdout.splitlines()[-1])
    return row


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside", nargs=2, metavar=("PYTHON", "SOURCE"))
    parser.add_argument("--part", choices=PARTS)
    chosen = parser.parse_args()
    if chosen.part:
        print(json.dumps(PARTS[chosen.part]()))
        return
    sides: list[tuple[str, str | None]] = [(sys.executable, None)]
    if chosen.beside:
        sides.insert(0, tuple(chosen.beside))
    rows: list[dict[str, list[float]]] = [{} for _ in sides]
    for _ in range(REPEATS):
        for part in PARTS:
            for side, (python, source) in enumerate(sides):
                for name, value in measured(python, source, part).items():
                    rows[side].setdefault(name, []).append(value)
    for name in rows[0]:
        values = [median(side[name]) for side in rows]
        ratio = f" | {values[0] / values[-1]:.2f}" if len(values) > 1 else ""
        print(f"| {name} | " + " | ".join(f"{value:.3g}" for value in values) + ratio + " |")


if __name__ == "__main__":
    main()
