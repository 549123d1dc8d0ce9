"""What `trimtab run` makes of a real service, against leaving it alone and against a plain loop.

    python -m benchmarks.run_service --minutes 11

Two lanes of `examples/cache-service` play the same windows of load in turn: one has the values that
are set in Redis, the other the start values. First `trimtab run` sets them, with Prometheus in
between. Then a loop of five lines in this process does, with what the service itself has measured:
`ask`, set, wait for as long, `tell`. The spec, the seed of the load, the length of a round and the
lane beside are the same, so that the ratio of both shows what the program and Prometheus cost.

Loss is that of the windows, as the service measured them, and the price is that of the moves in
the journal. A round is one decision.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stack import Stack

    from trimtab.live import Spec

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "cache-service")]
LOOPS = ("run", "plain")


def main() -> int:
    """Run it, and print the figures."""
    from cache_service import SPEC

    from trimtab.live import Spec

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=11.0, help="of each loop")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--loops", nargs="+", choices=LOOPS, default=LOOPS)
    asked = parser.parse_args()
    spec = Spec.read(SPEC.with_name("run.toml"))
    kinds: dict[str, Callable[[Stack, Spec, float], None]] = {"run": program, "plain": plain}
    found = {
        name: played(spec, name, kinds[name], seconds=60.0 * asked.minutes, seed=asked.seed)
        for name in asked.loops
    }
    if len(found) == len(LOOPS):
        print(f"trimtab run over the plain loop: {found['run'] / found['plain']:.3f}")
    return 0


def played(
    spec: Spec, name: str, loop: Callable[[Stack, Spec, float], None], *, seconds: float, seed: int
) -> float:
    """Cost as a share of the lane beside: loss and price of the moves."""
    from stack import Stack

    from trimtab.live.store.opening import open_journal
    from trimtab.live.tuner import Tuner

    with Stack(spec, options=["--beside", "--seed", str(seed)]) as stack:
        began = time.time()
        loop(stack, spec, seconds)
        ended = time.time()
        with open_journal(stack.storage) as journal:
            tuner = Tuner.existing(spec.name, journal)
            status, decisions = tuner.status(), tuner.history(kinds=["decide"])
        rows = [row for row in lines(stack) if began <= float(row["at"]) <= ended]
    losses = {
        lane: np.array([_loss(spec, row) for row in rows if row["lane"] == lane])
        for lane in ("tuned", "fixed")
    }
    price = sum(row.price for row in decisions) / max(len(decisions), 1)
    fixed, tuned = (float(np.nanmean(losses[lane])) for lane in ("fixed", "tuned"))
    last = len(losses["tuned"]) // 6
    late = np.nanmean(losses["tuned"][-last:]) / np.nanmean(losses["fixed"][-last:])
    print(f"{name}: {status.rounds} rounds, {status.tells} told, {status.moves} moves, ", end="")
    print(f"{status.rollbacks} rollbacks, {len(losses['tuned'])} windows of load in each lane")
    print(f"  loss a window: fixed {fixed:.4f}, tuned {tuned:.4f}; price a round {price:.4f}")
    print(f"  total / fixed: {(tuned + price) / fixed:.3f}; loss in the last sixth: {late:.3f}")
    return (tuned + price) / fixed


def program(stack: Stack, spec: Spec, seconds: float) -> None:
    """`trimtab run`, for so long."""
    with stack.loop():
        time.sleep(seconds)


def plain(stack: Stack, spec: Spec, seconds: float) -> None:
    """The loop by hand: what is told is the mean of the windows of load that were played."""
    import redis

    from trimtab.live.tuner import Tuner

    names = [*(each.name for each in spec.objectives), *spec.metrics]
    knobs = redis.Redis.from_url(stack.redis)
    with Tuner(spec, storage=stack.storage) as tuner:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            decision, begin = tuner.ask(), time.time()
            knobs.hset("cache-service", mapping={k: str(x) for k, x in decision.values.items()})
            time.sleep(float(spec.to_dict()["source"]["window"].removesuffix("s")))
            rows = [
                row
                for row in lines(stack)
                if row["lane"] == "tuned" and float(row["at"]) > begin
                if all(float(row[k]) == float(x) for k, x in decision.values.items())
            ]
            if rows:
                means = {name: np.nanmean([float(row[name]) for row in rows]) for name in names}
                tuner.tell(decision.id, {k: float(x) for k, x in means.items() if x == x})
    knobs.close()


def lines(stack: Stack) -> list[dict[str, str]]:
    """What the service has measured; a line that is just being written is left out."""
    with stack.windows.open(newline="") as file:
        return [row for row in csv.DictReader(file) if None not in row.values()]


def _loss(spec: Spec, row: dict[str, str]) -> float:
    measured = {each.name: float(row[each.name]) for each in spec.objectives}
    return float(spec.problem.weights @ spec.losses(measured))


if __name__ == "__main__":
    sys.exit(main())
