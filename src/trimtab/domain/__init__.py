"""Where the state may be."""

from trimtab.domain.balls import Balls, BoundBalls
from trimtab.domain.box import BoundBox, Box

Domain = Box | Balls
BoundDomain = BoundBox | BoundBalls

__all__ = ["Balls", "BoundBalls", "BoundBox", "BoundDomain", "Box", "Domain"]
