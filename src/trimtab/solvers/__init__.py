"""Solvers: where the lower confidence bound is least."""

from trimtab.solvers.solution import Solution
from trimtab.solvers.solve import solve

__all__ = ["Solution", "solve"]
