"""A sweep described in a TOML file."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.plain.faults import Fault, refuse
from trimtab.plain.tables import ANYTHING, Field, Table
from trimtab.registry import suggestion
from trimtab.sweeps.plan import Plan, plan

SWEEP = Table(
    {
        "policies": Field(ANYTHING, "a table of policies, by name", required=True),
        "worlds": Field(ANYTHING, "a table of worlds, by name", required=True),
        "seeds": Field(ANYTHING, "how many seeds, or a list of them", required=True),
        "horizon": Field(ANYTHING, "the number of rounds of a run", required=True),
        "checkpoints": Field(ANYTHING, "rounds at which regret and movement are kept"),
        "final_states": Field(ANYTHING, "whether the last state of every run is kept"),
        "baseline": Field(ANYTHING, "the policy with which the others are compared"),
    }
)  # what the values may be is the matter of `plan`


@dataclass(frozen=True)
class SweepSpec:
    """What the file asks for: a plan, and a policy with which to compare the others."""

    plan: Plan
    baseline: str | None


def read_spec(path: str | os.PathLike[str], **instead: Any) -> SweepSpec:
    """The sweep that the file describes, with some of its entries replaced.

    Raises:
        InvalidInput: no such file, no TOML, an entry that does not exist or makes no sense.
    """
    try:
        entries = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path} is not TOML: {error}") from None
    entries.update({key: value for key, value in instead.items() if value is not None})
    try:
        faults: list[Fault] = []
        SWEEP.read(entries, "", faults)
        refuse(faults)
        baseline = entries.pop("baseline", None)
        found = plan(**entries)
        if baseline is not None and baseline not in found.policies:
            raise InvalidInput(
                f"baseline = {baseline!r} is no policy; {suggestion(baseline, found.policies)}"
            )
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    return SweepSpec(found, baseline)
