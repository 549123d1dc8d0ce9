"""Tuning a live system: named knobs in their own units, constraints, durable state.

Names resolve at first use: what only looks after a store does not load the numerics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab.registry import resolver

if TYPE_CHECKING:  # the same names as in _HOME, for type checkers and editors
    from trimtab.live.spec.basis_and_policy import BasisChoice as BasisChoice
    from trimtab.live.spec.basis_and_policy import PolicyChoice as PolicyChoice
    from trimtab.live.spec.constraint import Constraint as Constraint
    from trimtab.live.spec.duration import Duration as Duration
    from trimtab.live.spec.knob import Knob as Knob
    from trimtab.live.spec.knob import Stability as Stability
    from trimtab.live.spec.objective import Objective as Objective
    from trimtab.live.spec.schema import schema as schema
    from trimtab.live.spec.spec import Spec as Spec
    from trimtab.live.state.decision import Decision as Decision
    from trimtab.live.tuner import Tuner as Tuner

_HOME = {
    "BasisChoice": "trimtab.live.spec.basis_and_policy",
    "Constraint": "trimtab.live.spec.constraint",
    "Decision": "trimtab.live.state.decision",
    "Knob": "trimtab.live.spec.knob",
    "Objective": "trimtab.live.spec.objective",
    "PolicyChoice": "trimtab.live.spec.basis_and_policy",
    "Duration": "trimtab.live.spec.duration",
    "Spec": "trimtab.live.spec.spec",
    "Stability": "trimtab.live.spec.knob",
    "Tuner": "trimtab.live.tuner",
    "schema": "trimtab.live.spec.schema",
}

__all__ = list(_HOME)


if not TYPE_CHECKING:  # else a checker would take any misspelt name for an object
    __getattr__ = resolver(__name__, _HOME)
