"""What `trimtab run` makes of a real service, with Prometheus in between, against leaving it alone.

    python -m benchmarks.run_service --minutes 12

Two lanes of `examples/cache-service` play the same windows of load in turn: one has the values that
`trimtab run` sets in Redis, the other the start values. Loss is that of the windows, as the service
itself measured them, and the price is that of the moves in the journal. A round is one decision.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from trimtab.live import Spec

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "cache-service")]


def main() -> int:
    """Run it, and print the figures."""
    from cache_service import SPEC
    from stack import Stack

    from trimtab.live import Spec
    from trimtab.live.store.opening import open_journal
    from trimtab.live.tuner import Tuner

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    spec = Spec.read(SPEC.with_name("run.toml"))
    with Stack(spec, options=["--beside", "--seed", str(asked.seed)]) as stack:
        began = time.time()
        with stack.loop():
            time.sleep(60.0 * asked.minutes)
        ended = time.time()
        with open_journal(stack.storage) as journal:
            tuner = Tuner.existing(spec.name, journal)
            status, decisions = tuner.status(), tuner.history(kinds=["decide"])
        with stack.windows.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if began <= float(row["at"]) <= ended]
    losses = {
        lane: np.array([_loss(spec, row) for row in rows if row["lane"] == lane])
        for lane in ("tuned", "fixed")
    }
    price = sum(row.price for row in decisions) / max(len(decisions), 1)
    fixed, tuned = (float(np.nanmean(losses[lane])) for lane in ("fixed", "tuned"))
    last = len(losses["tuned"]) // 6
    print(f"{status.rounds} rounds, {status.tells} told, {status.moves} moves, ", end="")
    print(f"{status.rollbacks} rollbacks, {len(losses['tuned'])} windows of load in each lane")
    print(f"loss a window: fixed {fixed:.4f}, tuned {tuned:.4f}; price a round {price:.4f}")
    print(f"total / fixed: {(tuned + price) / fixed:.3f}")
    late = np.nanmean(losses["tuned"][-last:]) / np.nanmean(losses["fixed"][-last:])
    print(f"loss / fixed in the last sixth: {late:.3f}")
    return 0


def _loss(spec: Spec, row: dict[str, str]) -> float:
    measured = {each.name: float(row[each.name]) for each in spec.objectives}
    return float(spec.problem.weights @ spec.losses(measured))


if __name__ == "__main__":
    sys.exit(main())
