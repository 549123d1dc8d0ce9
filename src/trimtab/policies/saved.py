"""The entries of a snapshot: checked against what must be there, and taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.errors import InvalidInput

GROW = ("diary.", "pending.")  # entries with a row for each of something, however many


def check_entries(saved: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...] | None]) -> None:
    """Refuse a snapshot that lacks one of these entries, or has one of another shape."""
    missing = sorted(shapes.keys() - saved.keys())
    if missing:
        raise InvalidInput(f"the snapshot is incomplete: {', '.join(missing)} is missing")
    for name, shape in shapes.items():
        found, grows = np.shape(saved[name]), name.startswith(GROW)
        if shape is not None and (found[grows:] != shape[grows:] or len(found) != len(shape)):
            raise InvalidInput(
                f"the snapshot is damaged: {name} has shape {found}, expected {shape}"
            )


def part(saved: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The entries of a snapshot that belong to a part, by their names there.

    >>> part({"inner.clock": 3, "noise": 0.1}, "inner.")
    {'clock': 3}
    """
    return {name[len(prefix) :]: x for name, x in saved.items() if name.startswith(prefix)}
