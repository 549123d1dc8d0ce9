"""Estimators: what is known of each criterion, and how surely."""

from trimtab.estimators.book import NEVER
from trimtab.estimators.confidence import Confidence, Radius, as_radius
from trimtab.estimators.fit import LackOfFit, lack_of_fit
from trimtab.estimators.nodewise import NodewiseEstimators
from trimtab.estimators.prior import Prior

__all__ = [
    "NEVER",
    "Confidence",
    "LackOfFit",
    "NodewiseEstimators",
    "Prior",
    "Radius",
    "as_radius",
    "lack_of_fit",
]
