"""A guardrail that is learned, on the recorded cache service: breaches and cost.

    python benchmarks/guardrail.py [--limit 1.2] [--seeds 5]

Three arms play the same windows: the fixed one, the tuner with ``safety = 0``, which only watches
the guardrail, and the tuner as it is by default. A breach is a window beyond the limit, whose
baseline is the mean of the fixed arm's first eight windows; cost is loss and price of moves, as a
share of the fixed arm's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import trimtab as tt
from benchmarks.league.recorded import Recorded, recorded
from trimtab.live import Spec

WINDOWS, METRIC = 320, "latency_p95"
ARMS = {"only watched": 0.0, "learned": 0.975}


def with_limit(spec: Spec, limit: float, safety: float) -> Spec:
    """The example's spec with another guardrail."""
    rule = {"rule": f"{METRIC} <= {limit:g} * baseline", "kind": "guardrail", "patience": 3}
    return Spec.from_dict(spec.to_dict() | {"constraints": [rule | {"safety": safety}]})


def fixed(world: Recorded, seed: int) -> tuple[float, np.ndarray]:
    """The cost of leaving the knobs alone, and the metric of every window."""
    spec = world.spec
    told = [world.measured(spec.start, np.random.default_rng((seed, t))) for t in range(WINDOWS)]
    losses = [float(spec.problem.weights @ spec.losses(each)) for each in told]
    return float(np.sum(losses)), np.array([each[METRIC] for each in told])


def tuned(world: Recorded, spec: Spec, seed: int, most: float) -> tuple[float, int, int, int]:
    """Cost, breaches, rollbacks and moves of a tuner."""
    cost, breaches, before = 0.0, 0, spec.start
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/journal.db"
        with tt.Tuner(spec, storage=url, seed=seed) as tuner:
            for t in range(WINDOWS):
                decision = tuner.ask()
                state = spec.state(decision.values)
                told = world.measured(state, np.random.default_rng((seed, t)))
                tuner.tell(decision.id, told)
                cost += float(spec.problem.weights @ spec.losses(told))
                cost += float(spec.problem.move_cost @ np.abs(state - before))
                breaches += told[METRIC] > most
                before = state
            status = tuner.status()
    return cost, breaches, status.rollbacks, status.moves


def main() -> None:
    """Print a line per seed and arm, and their means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=1.2)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    world, table = recorded("cache-service"), {name: [] for name in ("fixed", *ARMS)}
    print("arm           seed  cost/fixed  breaches  rollbacks  moves")
    for seed in range(options.seeds):
        total, seen = fixed(world, seed)
        most = options.limit * float(seen[:8].mean())
        rows = {"fixed": (1.0, int((seen > most).sum()), 0, 0)}
        for name, safety in ARMS.items():
            spec = with_limit(world.spec, options.limit, safety)
            cost, breaches, rollbacks, moves = tuned(world, spec, seed, most)
            rows[name] = cost / total, breaches, rollbacks, moves
        for name, row in rows.items():
            table[name].append(row)
            share, *counts = row
            print(f"{name:<13} {seed:>4}  {share:>10.3f}", *(f"{n:>9}" for n in counts), flush=True)
    for name, rows in table.items():
        print(f"{name:<13} mean  ", "  ".join(f"{x:9.3f}" for x in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
