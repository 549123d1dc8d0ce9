"""A run: arms that take turns on one machine, window by window."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan

import numpy as np

from benchmarks.proving.arms import FIXED, Arm
from benchmarks.proving.system import System
from benchmarks.proving.windows import Window
from trimtab.live import Spec


def conduct(
    system: System,
    arms: Mapping[str, Arm],
    *,
    run: int,
    windows: int,
    seed: int,
    change: int | None = None,
) -> Iterator[Window]:
    """The windows of a run as they are played, every arm once before any arm plays again.

    Each arm has a lane of its own. The order within a window is shuffled with the seed, so that
    no arm always follows the same one. Guardrails are not judged yet: `judged` does that. After
    the window `change` every lane has another workload.
    """
    spec, rng = system.spec, np.random.default_rng((seed, run))
    lanes = {name: system.lane(name) for name in arms}
    before = dict.fromkeys(arms, spec.start)
    names, missing, began = list(arms), 0, time.perf_counter()
    for number in range(1, windows + 1):
        if number - 1 == change:
            system.change()
        for n in rng.permutation(len(names)):
            name = names[n]
            values = arms[name].values()
            state = spec.state(values)
            start = time.perf_counter()
            metrics = lanes[name].window(values)
            seconds = time.perf_counter() - start
            arms[name].told(metrics)
            loss = float(spec.problem.weights @ spec.losses(metrics))
            missing += isnan(loss)
            price = float(spec.problem.move_cost @ np.abs(state - before[name]))
            before[name] = state
            yield Window(
                run=run,
                number=number,
                planned=windows,
                arm=name,
                at=start - began,
                seconds=seconds,
                values=values,
                metrics=metrics,
                loss=loss,
                price=price,
                broken=False,
            )
        gaps = f", {missing} with a missing metric" if missing else ""
        took = time.perf_counter() - began
        line = f"\rrun {run}: window {number} of {windows}, {took:.0f} s{gaps}"
        print(line, end="" if number < windows else "\n", file=sys.stderr, flush=True)


def judged(windows: Sequence[Window], spec: Spec) -> list[Window]:
    """The windows of a run, told whether they broke a guardrail.

    A baseline is the mean of the fixed arm's first `spec.baseline_observations` observations: the
    same for all arms, and known from the first window on.
    """
    rails = [rule for rule in spec.constraints if rule.kind == "guardrail"]
    baselines = {}
    for name in {name for rule in rails for name in rule.baselines}:
        seen = [w.metrics[name] for w in windows if w.arm == FIXED]
        seen = [x for x in seen if not isnan(x)][: spec.baseline_observations]
        if seen:
            baselines[name] = float(np.mean(seen))
    return [
        replace(w, broken=any(rule.holds(w.metrics, baselines) is False for rule in rails))
        for w in windows
    ]
