"""Where the state may be."""

from trimtab.domain.balls import Balls, BoundBalls
from trimtab.domain.box import BoundBox, Box
from trimtab.domain.simplex import BoundSimplex, Simplex

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
