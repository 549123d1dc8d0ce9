"""Sweeps: policies x worlds x seeds, on one core, many, or a cluster."""

from trimtab.sim.sweep.conduct import sweep
from trimtab.sim.sweep.results import Results
from trimtab.sim.sweep.spec import read_spec

__all__ = ["Results", "read_spec", "sweep"]
