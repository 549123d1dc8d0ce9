"""The README's example, played for 1,000 rounds: an improvement one can see, and few moves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.live.test_readme import BLOCK, ROOT, section
from tests.live.tuners import Clock
from trimtab.live import Spec
from trimtab.live.spec.spec import example

ROUNDS, SETTLED, MOST_MOVES, LEAST_SHARE = 1000, 200, 30, 0.7


def system() -> dict[str, Any]:
    """The names of the README's loop.py, up to the loop itself."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = (text for _, text in BLOCK.findall(section(page)) if text.startswith("# loop.py"))
    names: dict[str, Any] = {}
    exec(compile(code.partition("with tt.Tuner")[0], "loop.py", "exec"), names)
    return names


def expected_loss(spec: Spec, values: Mapping[str, float]) -> float:
    """The loss at these values without noise."""
    names = system()
    names["noise"] = lambda mean, sd: mean
    return float(spec.problem.weights @ spec.losses(names["measure"](**values)))


@pytest.mark.slow
def test_a_thousand_rounds(tmp_path: Path) -> None:
    """At least 70 % of the way to the best, few moves, no rollback that ends nowhere."""
    spec, names = Spec.parse(example()), system()
    losses: dict[tuple[float, ...], float] = {}
    path, reasons = [], []
    clock = Clock()
    with tt.Tuner(spec, storage=str(tmp_path / "a.db"), clock=clock) as tuner:
        for _ in range(ROUNDS):
            decision = tuner.ask()
            clock.wait(minutes=15)
            tuner.tell(decision.id, names["measure"](**decision.values))
            key = tuple(decision.values.values())
            if key not in losses:
                losses[key] = expected_loss(spec, decision.values)
            path.append(losses[key])
            reasons.append(decision.reason)
        status = tuner.status()
    grid = (
        {"cache_ttl": float(ttl), "candidates": candidates, "freshness": float(freshness)}
        for ttl in np.geomspace(30, 3600, 13)
        for candidates in range(100, 1001, 100)
        for freshness in np.linspace(0, 1, 6)
    )
    start, best = path[0], min(expected_loss(spec, values) for values in grid)
    share = (start - float(np.mean(path[SETTLED:]))) / (start - best)
    assert share >= LEAST_SHARE
    assert status.moves <= MOST_MOVES
    assert status.mode == "tuning"
    assert reasons[-1] != "rollback"
    assert status.helping is not None
    assert status.helping.verdict == "helps"
    assert status.helping.low <= start - path[-1] <= status.helping.high
