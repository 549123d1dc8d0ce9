"""Tuning a live system: named knobs in their own units, constraints, durable state.

Names resolve at first use: what only looks after a store does not load the numerics.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the same names as in _HOME, for type checkers and editors
    from trimtab.live.choices import BasisChoice as BasisChoice
    from trimtab.live.choices import PolicyChoice as PolicyChoice
    from trimtab.live.constraint import Constraint as Constraint
    from trimtab.live.decision import Decision as Decision
    from trimtab.live.knob import Knob as Knob
    from trimtab.live.knob import Stability as Stability
    from trimtab.live.layout import schema as schema
    from trimtab.live.objective import Objective as Objective
    from trimtab.live.span import Span as Span
    from trimtab.live.spec import Spec as Spec
    from trimtab.live.tuner import Tuner as Tuner

_HOME = {
    "BasisChoice": "trimtab.live.choices",
    "Constraint": "trimtab.live.constraint",
    "Decision": "trimtab.live.decision",
    "Knob": "trimtab.live.knob",
    "Objective": "trimtab.live.objective",
    "PolicyChoice": "trimtab.live.choices",
    "Span": "trimtab.live.span",
    "Spec": "trimtab.live.spec",
    "Stability": "trimtab.live.knob",
    "Tuner": "trimtab.live.tuner",
    "schema": "trimtab.live.layout",
}

__all__ = list(_HOME)


if not TYPE_CHECKING:  # else a checker would take any misspelt name for an object

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'trimtab.live' has no attribute {name!r}")
        value: object = getattr(import_module(_HOME[name]), name)
        globals()[name] = value  # the next access does not come here
        return value
