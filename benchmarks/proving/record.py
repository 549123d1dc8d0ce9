"""Recording a real system: states all over the box, each held for a few windows."""

from __future__ import annotations

import gzip
import json
import sys
from math import ceil, isnan, log2, nan
from pathlib import Path

import numpy as np
from scipy.stats import qmc

from benchmarks.proving.system import System
from benchmarks.proving.windows import metric_names
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.live import Spec

BLOCK = 20  # states between two visits of the start state


def record(system: System, out: Path, *, states: int, hold: int, seed: int) -> Path:
    """The file of a recording (`recording.py` has its columns), made on one lane.

    What is played is kept in `<out>.part.csv` state by state. If that is there, the recording goes
    on after its last complete state.

    Raises:
        InvalidInput: the part belongs to another recording.
    """
    spec = system.spec
    path = tour(spec, states=states, seed=seed)
    about = {"system": system.name, "states": states, "hold": hold, "seed": seed}
    knobs = [f"knob:{knob.name}" for knob in spec.knobs]
    metrics = [f"metric:{name}" for name in metric_names(spec)]
    columns = ",".join(["window", "state", "settled", *knobs, *metrics])
    part = out.with_name(f"{out.name}.part.csv")
    out.parent.mkdir(parents=True, exist_ok=True)
    done = _resumed(part, f"# {json.dumps(about)}\n{columns}\n", hold)
    lane = system.lane("record")
    with part.open("a") as file:
        for number in range(done, len(path)):
            for h in range(hold):
                window = f"{number * hold + h + 1},{number},{int(h > 0)}"
                measured = lane.window(spec.values(path[number]))
                cells = [_digits(measured.get(name, nan)) for name in metric_names(spec)]
                file.write(",".join([window, *map(_place, path[number]), *cells]) + "\n")
            file.flush()
            end = "" if number + 1 < len(path) else "\n"
            print(f"\rstate {number + 1} of {len(path)}", end=end, file=sys.stderr, flush=True)
    out.write_bytes(gzip.compress(part.read_bytes(), mtime=0))
    part.unlink()
    return out


def tour(spec: Spec, *, states: int, seed: int) -> Array:
    """The states in the order of the visits: (n, k).

    They are a scrambled Sobol sequence to 4 decimals, in blocks. A block begins at the start
    state and goes on to whichever of its states is nearest, so that most steps are moderate.
    """
    sobol = qmc.Sobol(len(spec.knobs), scramble=True, seed=seed)
    points = sobol.random_base2(ceil(log2(max(states, 2))))[:states]
    domain = spec.problem.domain
    left = [domain.project(point) for point in np.round(points, 4)]
    path: list[Array] = []
    for first in range(0, states, BLOCK):
        path.append(spec.start)
        block = left[first : first + BLOCK]
        while block:
            near = min(range(len(block)), key=lambda j: float(np.abs(block[j] - path[-1]).sum()))
            path.append(block.pop(near))
    return np.array(path)


def _resumed(part: Path, head: str, hold: int) -> int:
    """How many states a part has in full; the part then has these and nothing else."""
    text = part.read_text() if part.exists() else head
    if not text.startswith(head):
        raise InvalidInput(f"{part} belongs to another recording; finish that one or delete it")
    body = text.removeprefix(head)
    lines = body.splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    done = len(whole) // hold
    part.write_text(head + "".join(whole[: done * hold]))
    return done


def _place(x: float) -> str:
    return f"{x:g}" if x in (0.0, 1.0) else f"{x:.4f}"


def _digits(value: float) -> str:
    return "" if isnan(value) else f"{value:.5g}"
