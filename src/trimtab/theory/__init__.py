"""The paper's bounds as functions, with their constants written out."""

from __future__ import annotations

from trimtab.theory.adaptive import adaptive_regret, break_even, kappa, warmup_rounds
from trimtab.theory.joint import (
    joint_load,
    joint_regret,
    max_joint_epochs,
    max_joint_gain,
    printed_joint_ratio,
    printed_joint_regret,
)
from trimtab.theory.lazy import (
    epoch_spread,
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

__all__ = [
    "adaptive_regret",
    "break_even",
    "epoch_spread",
    "expected_switches",
    "freeze_factor",
    "joint_load",
    "joint_regret",
    "kappa",
    "max_epochs",
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
    "printed_joint_ratio",
    "printed_joint_regret",
    "printed_ogd_regret",
    "printed_ogd_step",
    "printed_switching_probability",
    "switching_probability",
    "warmup_rounds",
]
