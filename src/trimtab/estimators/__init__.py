"""Estimators: what is known of each criterion, and how surely."""

from trimtab.estimators.book import NEVER
from trimtab.estimators.confidence import Confidence, Radius, as_radius
from trimtab.estimators.nodewise import NodewiseEstimators

__all__ = ["NEVER", "Confidence", "NodewiseEstimators", "Radius", "as_radius"]
