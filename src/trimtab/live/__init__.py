"""Tuning a live system: named knobs in their own units, constraints, durable state."""

from trimtab.live.choices import BasisChoice, PolicyChoice
from trimtab.live.constraint import Constraint
from trimtab.live.knob import Knob, Stability
from trimtab.live.objective import Objective
from trimtab.live.schema import schema
from trimtab.live.span import Span
from trimtab.live.spec import Spec

__all__ = [
    "BasisChoice",
    "Constraint",
    "Knob",
    "Objective",
    "PolicyChoice",
    "Span",
    "Spec",
    "Stability",
    "schema",
]
