"""The results of a sweep: columns of numbers, and where they come from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trimtab.arrays import Array, read_only
from trimtab.errors import InvalidInput
from trimtab.registry import suggestion
from trimtab.sweeps.plan import Plan
from trimtab.sweeps.run import ARRAYS, Numbers, Outcome, seeds_of
from trimtab.sweeps.summary import Summary, summarize
from trimtab.sweeps.tables import save

if TYPE_CHECKING:
    import pandas as pd

Column = npt.NDArray[Any]
MEASURED = ("cpu_seconds",)  # of the machine, not of the run: never the same twice


@dataclass(frozen=True)
class Failure:
    """A run that ended with an error."""

    policy: str
    world: str
    seed: int
    error: str
    details: str  # the traceback, if there is one


@dataclass(frozen=True, kw_only=True, eq=False)
class Results:
    """What came of a sweep, in its order: policy after policy, world after world, seed by seed.

    Runs that failed are in `failures` and in no column. Columns are arrays of one entry per
    run; `regret_at` and `movement_at` have a column for each checkpoint, and `state` one for
    each knob, NaN where a world has fewer.
    """

    columns: Mapping[str, Column]
    failures: tuple[Failure, ...]
    provenance: Mapping[str, Any]  # settings, versions, platform

    def __len__(self) -> int:
        return self.columns["seed"].size

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise InvalidInput(f"no column {name!r}; {suggestion(name, self.columns)}")
        return self.columns[name]

    def of(self, policy: str, world: str | None = None) -> Results:
        """The rows of one policy, in one world or in all of them."""
        for role, name in (("policies", policy), ("worlds", world)):
            known = self.provenance["settings"][role]
            if name is not None and name not in known:
                raise InvalidInput(f"{name!r} is none of the {role}; {suggestion(name, known)}")
        kept = self["policy"] == policy
        if world is not None:
            kept &= self["world"] == world
        return Results(
            columns={name: read_only(column[kept]) for name, column in self.columns.items()},
            failures=tuple(
                x for x in self.failures if x.policy == policy and world in (None, x.world)
            ),
            provenance=self.provenance,
        )

    def same_numbers(self, other: Results) -> bool:
        """Whether both hold the same rows, to the bit; `cpu_seconds` alone may differ."""
        mine = {name: x for name, x in self.columns.items() if name not in MEASURED}
        theirs = {name: x for name, x in other.columns.items() if name not in MEASURED}
        return mine.keys() == theirs.keys() and all(
            x.dtype == theirs[name].dtype
            and x.shape == theirs[name].shape
            and x.tobytes() == theirs[name].tobytes()
            for name, x in mine.items()
        )

    def summary(self, baseline: str | None = None) -> Summary:
        """Means over the seeds, with intervals; and ratios to a policy, paired by seed."""
        return summarize(self, baseline)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a data frame, a row a run; columns of several numbers are left out."""
        try:
            import pandas as pd
        except ImportError as error:
            raise InvalidInput("tables need pandas; install trimtab[plot]") from error
        return pd.DataFrame({name: x for name, x in self.columns.items() if x.ndim == 1})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a .parquet, .npz or .csv file, provenance included."""
        save(self, path)

    def __repr__(self) -> str:
        policies, worlds = (np.unique(self[name]).size for name in ("policy", "world"))
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"Results({len(self)} runs, {policies} policies, {worlds} worlds{failed})"


def gather(plan: Plan, outcomes: Mapping[str, Outcome], provenance: Mapping[str, Any]) -> Results:
    """The results of a plan whose runs have all ended."""
    rows = [(policy, world, run, outcomes[run.digest]) for policy, world, run in plan.rows]
    good = [(*row, row[-1].numbers) for row in rows if row[-1].numbers is not None]
    seeds = [seeds_of(run.seed) for _, _, run, _, _ in good]
    columns: dict[str, Column] = {
        "policy": np.array([row[0] for row in good], np.str_),
        "world": np.array([row[1] for row in good], np.str_),
        "seed": np.array([run.seed for _, _, run, _, _ in good], np.int64),
        "world_seed": np.array([each.world for each in seeds], np.int64),
        "noise_seed": np.array([each.noise for each in seeds], np.int64),
        "solver_seed": np.array([each.solver for each in seeds], np.int64),
        "horizon": np.array([run.horizon for _, _, run, _, _ in good], np.int64),
    }
    types = {"float": np.float64, "int": np.int64, "bool": np.bool_}
    for f in fields(Numbers):
        values = [getattr(numbers, f.name) for *_, numbers in good]
        columns[f.name] = np.array(values, types[str(f.type)])
    for name in ARRAYS:
        arrays = [outcome.arrays[name] for *_, outcome, _ in good if name in outcome.arrays]
        if arrays:
            columns[name] = _padded(arrays)
    columns["cpu_seconds"] = np.array([outcome.cpu_seconds for *_, outcome, _ in good])
    return Results(
        columns={name: read_only(column) for name, column in columns.items()},
        failures=tuple(
            Failure(policy, world, run.seed, outcome.error, outcome.details)
            for policy, world, run, outcome in rows
            if outcome.numbers is None
        ),
        provenance=provenance,
    )


def _padded(arrays: list[Array]) -> Array:
    """The arrays as rows, with NaN after the end of shorter ones."""
    table = np.full((len(arrays), max(array.size for array in arrays)), np.nan)
    for row, array in zip(table, arrays, strict=True):
        row[: array.size] = array
    return table
