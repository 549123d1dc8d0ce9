"""Bases: how the knobs of a scope become the features of a criterion."""

from trimtab.model.bases.custom import Custom
from trimtab.model.bases.features import Basis, Features
from trimtab.model.bases.fourier import FourierFeatures
from trimtab.model.bases.monomial import (
    Linear,
    Monomials,
    PairwiseQuadratic,
    Polynomial,
    Products,
    Quadratic,
)
from trimtab.model.bases.pairwise_fourier import PairwiseFourier

__all__ = [
    "Basis",
    "Custom",
    "Features",
    "FourierFeatures",
    "Linear",
    "Monomials",
    "PairwiseFourier",
    "PairwiseQuadratic",
    "Polynomial",
    "Products",
    "Quadratic",
]
