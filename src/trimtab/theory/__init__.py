"""The paper's bounds as functions, with their constants written out."""

from __future__ import annotations

from trimtab.theory.adaptive import adaptive_regret, break_even, kappa, warmup_rounds
from trimtab.theory.advice import Advice
from trimtab.theory.advise import advise
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
from trimtab.theory.variants import Row

__all__ = [
    "Advice",
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
