"""What a tuner really runs with: the choices that its spec leaves open, and every constant."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from trimtab.learn import beliefs, empirical_bayes, prior
from trimtab.learn.losses import first_losses, level
from trimtab.live.spec.spec import Spec
from trimtab.policies import alarm, steady, weighing

HOMES: tuple[ModuleType, ...] = (
    prior,
    empirical_bayes,
    level,
    first_losses,
    beliefs,
    steady,
    weighing,
    alarm,
)


def configuration(spec: Spec) -> dict[str, Any]:
    """The basis and the policy as they are decided, and the learner's constants, by module.

    The first event of a journal holds it, so that it can be told later what a decision rested on.
    """
    plain: dict[str, Any] = {
        "basis": spec.resolved_basis.to_dict(),
        "policy": spec.policy.to_dict(),
        "prior": spec.policy.recommended,
    }
    if spec.policy.recommended:
        plain["constants"] = {home.__name__.rpartition(".")[2]: _constants(home) for home in HOMES}
    return plain


def _constants(home: ModuleType) -> dict[str, Any]:
    """The numbers that a module writes in capitals."""
    found = {}
    for name, value in sorted(vars(home).items()):
        if name.isupper() and isinstance(value, int | float | tuple | np.ndarray):
            numbers = np.asarray(value)
            if numbers.dtype.kind in "if":
                found[name] = numbers.tolist()
    return found
