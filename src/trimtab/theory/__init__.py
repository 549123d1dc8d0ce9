"""The paper's bounds as functions, with their constants written out."""

from __future__ import annotations

from trimtab.theory.lazy import (
    epoch_spread,
    max_epochs,
    max_gain,
    max_reviews,
    movement_regret,
    potential_constant,
    prediction_regret,
)

__all__ = [
    "epoch_spread",
    "max_epochs",
    "max_gain",
    "max_reviews",
    "movement_regret",
    "potential_constant",
    "prediction_regret",
]
