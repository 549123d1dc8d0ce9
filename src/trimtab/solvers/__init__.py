"""Solvers: where the lower confidence bound is least."""

from trimtab.solvers.bound import Bound, Constraint
from trimtab.solvers.solution import Counters, Solution
from trimtab.solvers.solve import solve

__all__ = ["Bound", "Constraint", "Counters", "Solution", "solve"]
