"""Sweeps: policies x worlds x seeds, on one core, many, or a cluster."""

from trimtab.sweeps.conduct import sweep
from trimtab.sweeps.results import Results
from trimtab.sweeps.spec import read_spec

__all__ = ["Results", "read_spec", "sweep"]
