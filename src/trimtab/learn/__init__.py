"""Learning: what is known of each criterion, and how surely."""

from trimtab.learn.confidence import Confidence, Radius, as_radius
from trimtab.learn.lack_of_fit import LackOfFit, lack_of_fit
from trimtab.learn.nodewise import NodewiseEstimators
from trimtab.learn.prior import Prior
from trimtab.learn.statistics import NEVER

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
