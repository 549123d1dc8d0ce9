"""Simulation: worlds to play in, the loop, and the record of a run."""

from trimtab.sim import worlds
from trimtab.sim.play import play
from trimtab.sim.trace import Trace

__all__ = ["Trace", "play", "worlds"]
