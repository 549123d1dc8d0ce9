"""The paper's bounds as functions, with their constants written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab.theory.adaptive import adaptive_regret, break_even, kappa, warmup_rounds
from trimtab.theory.drift import max_accruals, max_faded_gain
from trimtab.theory.joint import (
    joint_load,
    joint_regret,
    max_joint_epochs,
    max_joint_gain,
    printed_joint_ratio,
    printed_joint_regret,
)
from trimtab.theory.lazy import (
    confidence_radius,
    epoch_spread,
    local_movement,
    lower_bound,
    max_epochs,
    max_gain,
    max_reviews,
    movement_regret,
    potential_constant,
    prediction_regret,
)
from trimtab.theory.ogd import (
    expected_switches,
    freeze_factor,
    ogd_path,
    ogd_regret,
    ogd_step,
    perturbed_leader_regret,
    perturbed_leader_scale,
    perturbed_leader_switches,
    printed_ogd_regret,
    printed_ogd_step,
    printed_switching_probability,
    switching_probability,
)
from trimtab.theory.printed import (
    printed_adaptive_regret,
    printed_async_movement,
    printed_lazy_regret,
    printed_misspecified_epochs,
    printed_radius,
    recovery_error,
)
from trimtab.theory.variants import Bound

if TYPE_CHECKING:  # the same names as in _SIMULATED, for type checkers and editors
    from trimtab.advise import Advice as Advice
    from trimtab.advise import Row as Row
    from trimtab.advise import advise as advise

__all__ = [
    "Advice",
    "Bound",
    "Row",
    "adaptive_regret",
    "advise",
    "break_even",
    "confidence_radius",
    "epoch_spread",
    "expected_switches",
    "freeze_factor",
    "joint_load",
    "joint_regret",
    "kappa",
    "local_movement",
    "lower_bound",
    "max_accruals",
    "max_epochs",
    "max_faded_gain",
    "max_gain",
    "max_joint_epochs",
    "max_joint_gain",
    "max_reviews",
    "movement_regret",
    "ogd_path",
    "ogd_regret",
    "ogd_step",
    "perturbed_leader_regret",
    "perturbed_leader_scale",
    "perturbed_leader_switches",
    "potential_constant",
    "prediction_regret",
    "printed_adaptive_regret",
    "printed_async_movement",
    "printed_joint_ratio",
    "printed_joint_regret",
    "printed_lazy_regret",
    "printed_misspecified_epochs",
    "printed_ogd_regret",
    "printed_ogd_step",
    "printed_radius",
    "printed_switching_probability",
    "recovery_error",
    "switching_probability",
    "warmup_rounds",
]

# They play policies in simulated worlds, which are layers that build on this one.
_SIMULATED = ("Advice", "Row", "advise")


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _SIMULATED:
            raise AttributeError(f"module 'trimtab.theory' has no attribute {name!r}")
        from trimtab import advise

        return getattr(advise, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
