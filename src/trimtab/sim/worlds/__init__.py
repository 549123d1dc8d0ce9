"""Simulated systems: what the losses would be, at any state, in any round."""

from trimtab.sim.worlds.drifting import Drifting
from trimtab.sim.worlds.generators import linear, quadratic, spin_glass
from trimtab.sim.worlds.noise import Bounded, Correlated, Gaussian, Noise, Recorded, Summable
from trimtab.sim.worlds.world import World

__all__ = [
    "Bounded",
    "Correlated",
    "Drifting",
    "Gaussian",
    "Noise",
    "Recorded",
    "Summable",
    "World",
    "linear",
    "quadratic",
    "spin_glass",
]
