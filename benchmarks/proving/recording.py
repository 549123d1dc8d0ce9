"""A recording of a real system: many states, and what was measured at each, for the league.

The file is gzipped CSV. Its first line is a comment with the system's name, the number of states,
the windows at each and the seed, as JSON. The second names the columns, in this order: `window`
(from 1), `state` (its number, from 0), `settled` (0 in the first window of a state, 1 after it),
`knob:<name>` in normalised units to 4 decimals, `metric:<name>` in its unit to 5 digits, empty
where it is missing.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from trimtab.arrays import Array, Bools, Ints
from trimtab.errors import InvalidInput
from trimtab.live import Spec


@dataclass(frozen=True, eq=False, kw_only=True)
class Recording:
    """What was measured, a row per window."""

    system: str
    knobs: tuple[str, ...]
    metrics: tuple[str, ...]
    states: Array  # (n, k), normalised
    values: Array  # (n, q) of the metrics, in their units, NaN where missing
    settled: Bools  # (n,) whether the state was already there in the window before
    number: Ints  # (n,) of the state

    @classmethod
    def read(cls, path: Path) -> Self:
        """The recording in a file.

        Raises:
            InvalidInput: the file is no recording.
        """
        text = gzip.decompress(path.read_bytes()).decode()
        first, _, rest = text.partition("\n")
        columns, _, body = rest.partition("\n")
        if not first.startswith("# {") or not columns.startswith("window,state,settled,"):
            raise InvalidInput(f"{path} is no recording; `record` writes one")
        names = columns.split(",")
        rows = [[float(x) if x else np.nan for x in line.split(",")] for line in body.splitlines()]
        table = np.array(rows, dtype=np.float64).reshape(-1, len(names))
        knob, metric = (
            [j for j, name in enumerate(names) if name.startswith(kind)]
            for kind in ("knob:", "metric:")
        )
        return cls(
            system=json.loads(first.removeprefix("# "))["system"],
            knobs=tuple(names[j].removeprefix("knob:") for j in knob),
            metrics=tuple(names[j].removeprefix("metric:") for j in metric),
            states=table[:, knob],
            values=table[:, metric],
            settled=table[:, 2] == 1.0,
            number=table[:, 1].astype(np.int64),
        )

    def losses(self, spec: Spec) -> Array:
        """The losses of the spec's objectives: (n, m), NaN where one is missing.

        Raises:
            InvalidInput: the spec has other knobs, or an objective that was not recorded.
        """
        if tuple(knob.name for knob in spec.knobs) != self.knobs:
            raise InvalidInput(f"{spec.name} has other knobs than {', '.join(self.knobs)}")
        absent = [each.name for each in spec.objectives if each.name not in self.metrics]
        if absent:
            raise InvalidInput(f"{', '.join(absent)}: not recorded; record the system again")
        rows = (dict(zip(self.metrics, row.tolist(), strict=True)) for row in self.values)
        return np.array([spec.losses(row) for row in rows])
