"""Sweeps: policies x worlds x seeds, on one core, many, or a cluster."""

from trimtab.sweep.conduct import sweep
from trimtab.sweep.results import Results
from trimtab.sweep.spec import read_spec

__all__ = ["Results", "read_spec", "sweep"]
