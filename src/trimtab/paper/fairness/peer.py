"""fairlearn's ThresholdOptimizer on the same people: thresholds chosen once, from all labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.errors import InvalidInput, NotFound
from trimtab.sim.worlds import Fairness
from trimtab.sim.worlds.population import Gap

PARITY: dict[Gap, str] = {
    "tpr": "true_positive_rate_parity",
    "fpr": "false_positive_rate_parity",
    "selection": "demographic_parity",
}


@dataclass(frozen=True, eq=False)
class Peer:
    """What the thresholds of ThresholdOptimizer would cost; it may draw lots between two."""

    thresholds: Array  # (k, 2) the two of each group
    chances: Array  # (k, 2) how often each is used
    losses: Array  # (m,) expected, as our criteria count them


def threshold_optimizer(world: Fairness) -> Peer:
    """The most accurate thresholds under which all groups have the same rate."""
    try:
        from fairlearn.postprocessing import ThresholdOptimizer  # type: ignore[import-untyped]
        from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]
    except ImportError:
        raise NotFound(
            "fairlearn is not installed, and the comparison needs it; pip install 'trimtab[paper]'"
        ) from None

    class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """A classifier whose prediction is its only column."""

        def fit(self, X: Array, y: Ints) -> Given:
            self.classes_ = np.array([0, 1])
            return self

        def predict_proba(self, X: Array) -> Array:
            column = np.asarray(X, np.float64)[:, 0]
            return np.column_stack((1.0 - column, column))

    optimizer = ThresholdOptimizer(
        estimator=Given(),
        constraints=PARITY[world.population.gap],
        objective="accuracy_score",
        prefit=False,
        predict_method="predict_proba",
    )
    people = [
        (scores, label, group)
        for group, pair in enumerate(world.population.sorted)
        for label, scores in enumerate(pair)
    ]
    optimizer.fit(
        np.concatenate([scores for scores, _, _ in people])[:, None],
        np.concatenate([np.full(scores.size, label) for scores, label, _ in people]),
        sensitive_features=np.concatenate([np.full(s.size, group) for s, _, group in people]),
    )
    rules = optimizer.interpolated_thresholder_.interpolation_dict
    k = len(world.population.names)
    thresholds, chances = np.zeros((k, 2)), np.zeros((k, 2))
    accepted = np.zeros((k, 2, 2))  # the expected counts of `Population`
    for j in range(k):
        rule: Any = rules[j]
        chances[j] = rule["p0"], rule["p1"]
        for n, operation in enumerate((rule["operation0"], rule["operation1"])):
            if operation._operator != ">":
                raise InvalidInput(f"fairlearn turned the scores of group {j} round; use others")
            thresholds[j, n] = operation._threshold
            for label, of in enumerate(world.population.sorted[j]):
                above = float((of > operation._threshold).sum())
                accepted[j, label] += chances[j, n] * np.array([of.size - above, above])
        # A share of the decisions may ignore the score.
        ignored, constant = rule.get("p_ignore", 0.0), rule.get("prediction_constant", 0.0)
        size = accepted[j].sum(axis=1, keepdims=True)
        accepted[j] = (1 - ignored) * accepted[j] + ignored * size * [1 - constant, constant]
    return Peer(thresholds, chances, world.population.losses(accepted))
