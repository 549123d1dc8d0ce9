"""Solvers: where the lower confidence bound is least."""

from trimtab.solve.bound import Bound, Constraint
from trimtab.solve.solution import Solution
from trimtab.solve.solve import solve

__all__ = ["Bound", "Constraint", "Solution", "solve"]
