"""How long a look takes: this checkout beside another one, in turns.

Steady on a ring of k knobs with quadratic features, 1,000 rounds with noise 0.1, a price of 1. On
the side *paper* it is told noise and norms: reg, radius and factor are given. *As it comes* it is
told nothing, if the checkout has a prior; if not, the same as on the other side. A look is a tell
with a record; its time is CPU time. Each run is a process of its own, in the environment .venv of
its checkout, the two checkouts in turns; the figures are medians over runs.

    python benchmarks/look.py PATH            a checkout of version 0.1, for example
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
SIDES = ("paper", "as it comes")
KNOBS, ROUNDS, RUNS = (6, 50), 1000, 3


def looks(side: str, k: int, seed: int) -> dict[str, float]:
    """CPU seconds of the median look of a run, of its slowest tenth, of all looks, and how many."""
    import numpy as np

    import trimtab as tt

    graph = tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])
    world = tt.worlds.quadratic(graph, seed=seed, move_cost=1.0)
    start = np.random.default_rng(seed).random(k)
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    told = {"radius": radius, "reg": radius.balanced_reg, "factor": 2.0}
    if side != "paper" and hasattr(tt, "Prior"):
        told = {}
    policy = tt.SteadyGraphLinUCB(world.problem, start=start, **told)
    for again in (True, False):  # the first rounds load kernels
        rng, found = np.random.default_rng((seed, 1)), []
        for _ in range(40 if again else ROUNDS):
            losses = world.draw(policy.ask(), rng)
            begun = time.process_time()
            if policy.tell(losses).record is not None:
                found.append(time.process_time() - begun)
        if again:
            policy = tt.SteadyGraphLinUCB(world.problem, start=start, **told)
    return {
        "median": float(np.median(found)),
        "slow": float(np.quantile(found, 0.9)),
        "total": float(np.sum(found)),
        "looks": len(found),
    }


def run(checkout: Path, side: str, k: int, seed: int) -> dict[str, float]:
    """The same in a process of its own, with the environment of a checkout."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python), __file__, "--one", side, str(k), str(seed)]
    done = subprocess.run(
        command, env=os.environ | threads, check=True, capture_output=True, text=True
    )
    return {name: float(value) for name, value in json.loads(done.stdout).items()}


def main(other: Path) -> None:
    """Print the table."""
    from statistics import median

    print(
        "## A look (`look.py`)\n\nMilliseconds of CPU: median, slowest tenth, all looks together.\n"
    )
    print("| knobs | side | before | looks | now | looks | median, now / before |")
    print("|--:|---|--:|--:|--:|--:|--:|")
    for k in KNOBS:
        for side in SIDES:
            found: dict[Path, list[dict[str, float]]] = {other: [], HERE: []}
            for seed in range(RUNS):
                for checkout in found:
                    found[checkout].append(run(checkout, side, k, seed))
            cells, medians = [], []
            for runs in found.values():
                mid, slow, total, count = (median(each[name] for each in runs) for name in runs[0])
                medians.append(mid)
                cells.append(f"{1e3 * mid:.2f}, {1e3 * slow:.2f}, {1e3 * total:.0f} | {count:.0f}")
            ratio = medians[1] / medians[0]
            print(f"| {k} | {side} | {' | '.join(cells)} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(looks(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
    elif len(sys.argv) == 2 and (Path(sys.argv[1]) / ".venv").is_dir():
        main(Path(sys.argv[1]).resolve())
    else:
        sys.exit("give the path of another checkout of trimtab, one with its environment .venv")
