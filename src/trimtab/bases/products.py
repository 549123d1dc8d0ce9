"""A basis of all powers and products of two knobs up to a degree."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from trimtab.arrays import whole
from trimtab.bases.monomial import ONE, MonomialBasis, Template
from trimtab.errors import InvalidInput


@dataclass(frozen=True)
class Products(MonomialBasis):
    """A 1, the powers of each knob of the scope, and the products of powers of two knobs.

    No feature has a degree above `degree`; ``Products(2)`` has the features of `Quadratic`.

    >>> Products(3).template(1)
    [(0, 0, 0, 0), (0, 1, 0, 0), (0, 2, 0, 0), (0, 3, 0, 0)]
    >>> len(Products(3).template(2)), len(Products(4).template(2))
    (10, 15)
    """

    degree: int
    normalize: bool = True
    needs_centre = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", whole(self.degree, "degree", low=1))
        if self.degree > 16:
            raise InvalidInput(f"degree = {self.degree}; powers above 16 are all alike on [0, 1]")

    def template(self, n: int) -> Template:
        """The powers of one knob after another, then the products of one pair after another."""
        powers = range(1, self.degree + 1)
        own = [(j, p, 0, 0) for j in range(n) for p in powers]
        pairs = combinations(range(n), 2)
        mixed = [(a, p, b, q) for a, b in pairs for p in powers for q in powers[: self.degree - p]]
        return [ONE, *own, *mixed]
