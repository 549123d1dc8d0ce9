"""Bases: how the knobs of a scope become the features of a criterion."""

from trimtab.bases.custom import Custom
from trimtab.bases.features import Basis, Features
from trimtab.bases.fourier import FourierFeatures
from trimtab.bases.monomial import (
    Linear,
    Monomials,
    PairwiseQuadratic,
    Polynomial,
    Products,
    Quadratic,
)

__all__ = [
    "Basis",
    "Custom",
    "Features",
    "FourierFeatures",
    "Linear",
    "Monomials",
    "PairwiseQuadratic",
    "Polynomial",
    "Products",
    "Quadratic",
]
