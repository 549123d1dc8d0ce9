"""The moves of a run: what each promised, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import nan

import numpy as np

from trimtab.arrays import Array
from trimtab.plot.table import Kind, KnobAxis, Rounds


@dataclass(frozen=True, kw_only=True)
class Move:
    """A move, in the user's units; gains are falls of the total loss a round."""

    round: int
    at: datetime | None
    kind: Kind
    steps: tuple[str, ...]  # knob by knob
    price: float
    expected: float | None  # what the estimates promised, None where nobody said
    realised: float  # the mean before less the mean after; NaN if one of them is not known
    error: float  # its standard error
    why: str

    @property
    def verdict(self) -> str:
        """Whether the change can be told from noise, in one word."""
        if np.isnan(self.realised):
            return "not known"
        if self.error > 0.0 and abs(self.realised) < 2.0 * self.error:
            return "within noise"
        return "better" if self.realised > 0.0 else "worse"


def moves_of(table: Rounds) -> list[Move]:
    """Every move, in order."""
    rows = np.flatnonzero(table.moved)
    if not rows.size:
        return []
    ends = [*rows[1:].tolist(), table.first.size]
    begins = [0, *rows[:-1].tolist()]
    found = []
    for begin, row, end in zip(begins, rows.tolist(), ends, strict=True):
        before, after = (_level(table, part) for part in (slice(begin, row), slice(row, end)))
        found.append(
            Move(
                round=int(table.first[row]),
                at=None if table.at is None else table.at[row],
                kind=table.kinds[row],
                steps=tuple(_steps(table, row)),
                price=float(table.price[row]),
                expected=None if table.expected is None else _finite(table.expected[row]),
                realised=before[0] - after[0],
                error=float(np.hypot(before[1], after[1])),
                why=table.why[row],
            )
        )
    return found


def _level(table: Rounds, rows: slice) -> tuple[float, float]:
    """The mean loss a round in these rows, and its standard error."""
    loss, count = table.loss[rows], table.count[rows]
    known = ~np.isnan(loss) & (count > 0)
    if not known.any():
        return nan, nan
    mean = float(np.average(loss[known], weights=count[known]))
    if not table.measured:
        return mean, 0.0
    noise = table.noise
    return mean, nan if noise is None else noise / float(np.sqrt(known.sum()))


def _steps(table: Rounds, row: int) -> list[str]:
    before = table.start if row == 0 else table.states[row - 1]
    now = table.states[row]
    return [
        f"{knob.name} {shown(knob, before[j])} → {shown(knob, now[j])} {knob.unit}".rstrip()
        for j, knob in enumerate(table.knobs)
        if before[j] != now[j]
    ]


def shown(knob: KnobAxis, state: float | Array) -> str:
    """A normalised value in the knob's unit, as short as it can be read."""
    return f"{float(knob.value(np.asarray(state))):.4g}"


def _finite(x: float) -> float | None:
    return None if np.isnan(x) else float(x)


def summary(moves: Sequence[Move]) -> str:
    """How many moves there were of each kind, in words."""
    if not moves:
        return "no moves"
    kinds = [move.kind for move in moves]
    parts = [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]
    return f"{len(moves)} move{'s' * (len(moves) != 1)} ({', '.join(parts)})"
