"""Where the state may be."""

from trimtab.model.domain.balls import Balls, BoundBalls
from trimtab.model.domain.box import BoundBox, Box
from trimtab.model.domain.simplex import BoundSimplex, Simplex

Domain = Box | Balls
BoundDomain = BoundBox | BoundBalls
ConvexDomain = Domain | Simplex  # of the gradient policies
BoundConvexDomain = BoundDomain | BoundSimplex

__all__ = [
    "Balls",
    "BoundBalls",
    "BoundBox",
    "BoundConvexDomain",
    "BoundDomain",
    "BoundSimplex",
    "Box",
    "ConvexDomain",
    "Domain",
    "Simplex",
]
