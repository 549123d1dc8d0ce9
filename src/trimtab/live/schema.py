"""The published JSON Schema of spec files, for editors and other programs."""

from __future__ import annotations

from trimtab.live.layout import SPEC
from trimtab.live.shapes import Json

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> Json:
    """The schema of a spec, draft 2020-12.

    It accepts every valid spec, and refuses what needs no second look: unknown and missing keys,
    types, bounds. That a range is not empty, that a name is defined or that a rule
    can be read is up to `Spec`.

    >>> sorted(schema()["properties"])[:3]
    ['baseline_observations', 'basis', 'constraints']
    """
    about = "A trimtab spec: the knobs, objectives and constraints of a live system."
    return {"$schema": DRAFT, "title": "trimtab spec", "description": about, **SPEC.schema()}
