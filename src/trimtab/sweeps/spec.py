"""A sweep described in a TOML file."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.registry import suggestion
from trimtab.sweeps.plan import Plan, plan

KEYS = ("policies", "worlds", "seeds", "horizon", "checkpoints", "final_states", "baseline")
NEEDED = ("policies", "worlds", "seeds", "horizon")


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
        for key in entries:
            if key not in KEYS:
                raise InvalidInput(f"{key} is no entry of a sweep; {suggestion(key, KEYS)}")
        for key in NEEDED:
            if key not in entries:
                raise InvalidInput(f"{key} is missing; add it")
        baseline = entries.pop("baseline", None)
        found = plan(**entries)
        if baseline is not None and baseline not in found.policies:
            raise InvalidInput(
                f"baseline = {baseline!r} is no policy; {suggestion(baseline, found.policies)}"
            )
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    return SweepSpec(found, baseline)
