"""A guardrail that is learned, on the recorded cache service: breaches and cost.

    python benchmarks/guardrail.py [--spec SPEC] [--seeds 5] [--first 0] [--slower 0.25]

In this spec latency is no objective but what must not be given away for the others, and the best
state for those breaks the limit. Three arms play the same windows: the fixed one, the tuner with
``safety = 0``, which only watches the guardrail, and the tuner as it is by default. A breach is a
window beyond the limit, whose baseline is the mean of the fixed arm's first eight windows; cost is
loss and price of moves, as a share of the fixed arm's. With ``--slower 0.25`` what has a
baseline is a quarter larger from window 10 on, so that the start values break the guardrail too.
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
from benchmarks.proving.arms import only_watching
from trimtab.arrays import Array
from trimtab.live import Spec

WINDOWS, SLOWER_FROM = 320, 10
SEARCHED = 20_000  # states
SPEC = Path(__file__).parents[1] / "examples" / "cache-service" / "guardrail.toml"


def played(
    world: Recorded, spec: Spec, seed: int, tuner: tt.Tuner | None, *, slower: float = 0.0
) -> tuple[float, list[dict[str, float]]]:
    """Cost and metrics of all windows; without a tuner the knobs stay."""
    based = {name for rule in spec.constraints for name in rule.baselines}
    cost, before, seen = 0.0, spec.start, []
    for t in range(WINDOWS):
        decision = None if tuner is None else tuner.ask()
        state = spec.start if decision is None else spec.state(decision.values)
        measured = world.measured(state, np.random.default_rng((seed, t)))
        if t + 1 >= SLOWER_FROM:
            measured |= {name: (1.0 + slower) * measured[name] for name in based}
        names = {*spec.metrics, *(each.name for each in spec.objectives)}
        seen.append({name: x for name, x in measured.items() if name in names})
        if tuner is not None and decision is not None:
            tuner.tell(decision.id, seen[-1])
        cost += float(spec.problem.weights @ spec.losses(seen[-1]))
        cost += float(spec.problem.move_cost @ np.abs(state - before))
        before = state
    return cost, seen


def breaches(spec: Spec, seen: list[dict[str, float]], fixed: list[dict[str, float]]) -> int:
    """How many windows are beyond a guardrail."""
    first = fixed[: spec.baseline_observations]
    names = {name for rule in spec.constraints for name in rule.baselines}
    baselines = {name: float(np.mean([each[name] for each in first])) for name in names}
    return sum(
        any(rule.holds(each, baselines) is False for rule in spec.constraints) for each in seen
    )


def least(world: Recorded, spec: Spec) -> tuple[float, float]:
    """The least expected loss of any state, and of those that keep the guardrails on average.

    As shares of that of the start state: what nobody can go below, whatever they know. States all
    over the box, then ever nearer to the best of them.
    """
    rng, domain, objectives = np.random.default_rng(0), spec.problem.domain, world.spec.objectives

    def judged(states: list[Array]) -> list[tuple[float, dict[str, float]]]:
        found = []
        for losses in world.means(np.array(states)).tolist():
            pairs = zip(objectives, losses, strict=True)
            metrics = {each.name: each.value(loss) for each, loss in pairs}
            found.append((float(spec.problem.weights @ spec.losses(metrics)), metrics))
        return found

    ((start, baselines),) = judged([spec.start])

    def best(states: list[Array], all_states: bool) -> tuple[float, int]:
        return min(
            (loss / start, n)
            for n, (loss, metrics) in enumerate(judged(states))
            if all_states or all(rule.holds(metrics, baselines) for rule in spec.constraints)
        )

    anywhere = [spec.start, *(domain.sample(rng) for _ in range(SEARCHED))]
    shares = []
    for all_states in (True, False):
        states = anywhere
        for radius in (0.1, 0.05, 0.02, 0.01):
            middle = states[best(states, all_states)[1]]
            near = middle + rng.normal(0.0, radius, (SEARCHED // 10, middle.size))
            states = [middle, *(domain.project(np.clip(x, 0.0, 1.0)) for x in near)]
        shares.append(best(states, all_states)[0])
    return shares[0], shares[1]


def main() -> None:
    """Print a line per seed and arm, and their means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", type=Path, default=SPEC)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--slower", type=float, default=0.0, help="by which share, from window 10")
    options = parser.parse_args()
    spec = Spec.read(options.spec)
    arms = {"only watched": only_watching(spec), "learned": spec}
    world, table = recorded("cache-service"), {name: [] for name in ("fixed", *arms)}
    print("arm           seed  cost/fixed  breaches  rollbacks  moves")
    for seed in range(options.first, options.first + options.seeds):
        total, fixed = played(world, spec, seed, None, slower=options.slower)
        rows = {"fixed": (1.0, breaches(spec, fixed, fixed), 0, 0)}
        for name, own in arms.items():
            with (
                tempfile.TemporaryDirectory() as folder,
                tt.Tuner(own, storage=f"sqlite:///{folder}/journal.db", seed=seed) as tuner,
            ):
                cost, seen = played(world, own, seed, tuner, slower=options.slower)
                status = tuner.status()
            broken = breaches(spec, seen, fixed)
            rows[name] = cost / total, broken, status.rollbacks, status.moves
        for name, row in rows.items():
            table[name].append(row)
            share, *counts = row
            print(f"{name:<13} {seed:>4}  {share:>10.3f}", *(f"{n:>9}" for n in counts), flush=True)
    for name, rows in table.items():
        print(f"{name:<13} mean  ", "  ".join(f"{x:9.3f}" for x in np.mean(rows, axis=0)))
    free, kept = least(world, spec)
    print(f"best state of all {free:.3f}, of those that keep the guardrails {kept:.3f}")


if __name__ == "__main__":
    main()
