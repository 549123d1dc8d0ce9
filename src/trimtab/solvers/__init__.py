"""Solvers: where the lower confidence bound is least."""

from trimtab.solvers.solution import Counters, Solution
from trimtab.solvers.solve import solve

__all__ = ["Counters", "Solution", "solve"]
