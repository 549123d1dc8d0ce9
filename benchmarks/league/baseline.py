"""The frozen figures that later work is compared with: baseline-0.1.json.

It holds the cost of every match, and a sample of every world, so that a world which has changed
since is noticed instead of being compared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.league.place import Place
from benchmarks.league.players import ENTRIES
from benchmarks.league.run import FIRST, HERE, Job, Run, place_of, version_of
from benchmarks.league.standings import Row

FILE = HERE / "baseline-0.1.json"
SUFFIX = ", 0.1"  # of our rows of that version
SAMPLED = (1, 2, 7)  # rounds whose losses are part of a world's sample


def row_of(run: Run) -> Row:
    """What is kept of a match."""
    score = run.score
    return Row(
        world=run.job.world,
        player=run.job.player,
        horizon=run.job.horizon,
        seed=run.job.seed,
        total=_rounded(score.total),
        price=_rounded(score.price),
        movement=_rounded(score.movement),
        moves=score.moves,
        final=_rounded(score.final),
        seconds=round(run.seconds, 2),
    )


def sample(place: Place, *, seed: int) -> list[float]:
    """A few numbers that tell a world from another: losses, the best loss, prices and draws."""
    now, _ = place.world.at(1)
    rng = np.random.default_rng(3)
    states = [place.start, *(place.problem.domain.sample(rng) for _ in range(3))]
    drawn = [now.draw(place.start, np.random.default_rng((seed, t)), t) for t in SAMPLED]
    numbers = [
        now.optimum.value,
        float(place.problem.move_cost.sum()),
        *(now.loss(state) for state in states),
        *(float(np.nansum(losses)) for losses in drawn),
    ]
    return [_rounded(x) for x in numbers]


def freeze(runs: Sequence[Run], path: Path = FILE) -> None:
    """Write the matches and the samples of their worlds."""
    worlds = sorted({(run.job.world, run.job.horizon) for run in runs})
    plain: dict[str, Any] = {
        "version": version("trimtab"),
        "packages": _versions(),
        "columns": [f.name for f in fields(Row)],
        "samples": {
            f"{world}, {horizon} rounds": sample(
                place_of(Job(world, "fixed", FIRST, horizon)), seed=FIRST
            )
            for world, horizon in worlds
        },
    }
    rows = sorted(
        (row_of(run) for run in runs), key=lambda r: (r.horizon, r.world, r.player, r.seed)
    )
    lines = ",\n".join(json.dumps(astuple(row), separators=(",", ":")) for row in rows)
    head = json.dumps(plain, indent=1)
    path.write_text(f'{head[:-2]},\n "rows": [\n{lines}\n]}}\n', encoding="utf-8")


@cache
def _read(path: Path = FILE) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def frozen(path: Path = FILE) -> list[Row]:
    """The matches of the baseline."""
    plain = _read(path)
    return [Row(**dict(zip(plain["columns"], row, strict=True))) for row in plain["rows"]]


def changed(world: str, horizon: int, path: Path = FILE) -> bool:
    """Whether a world is another one now than when the baseline was played."""
    then = _read(path)["samples"].get(f"{world}, {horizon} rounds")
    now = sample(place_of(Job(world, "fixed", FIRST, horizon)), seed=FIRST)
    return then is not None and not np.allclose(then, now, rtol=1e-4, atol=1e-6)


def beside(runs: Sequence[Run], path: Path = FILE) -> list[Row]:
    """The matches just played, and those of the baseline that were not: rivals, and ours of 0.1.

    A world that has changed since loses its frozen rows, since they are of another world.
    """
    rows = [row_of(run) for run in runs]
    if not path.exists():
        return rows
    have = {(row.world, row.player, row.horizon, row.seed) for row in rows}
    horizons = {row.horizon for row in rows}
    ours = {entry.name for entry in ENTRIES if entry.ours}
    known: dict[tuple[str, int], bool] = {}
    for row in frozen(path):
        where = row.world, row.horizon
        if row.horizon not in horizons:
            continue
        if where not in known:
            known[where] = not changed(*where, path)
        if not known[where]:
            continue
        if row.player in ours:
            plain = dict(zip(_read(path)["columns"], astuple(row), strict=True))
            rows.append(Row(**plain | {"player": row.player + SUFFIX}))
        elif (row.world, row.player, row.horizon, row.seed) not in have:
            rows.append(row)
    return rows


def _rounded(x: float) -> float:
    return float(f"{x:.6g}")


def _versions() -> str:
    needed = dict.fromkeys(name for entry in ENTRIES if entry.installed() for name in entry.needs)
    return ", ".join(f"{name} {version_of(name)}" for name in ("numpy", *needed))
