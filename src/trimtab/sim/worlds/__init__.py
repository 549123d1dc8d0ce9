"""Simulated systems: what the losses would be, at any state, in any round."""

from trimtab.sim.worlds.adversaries import (
    Alternating,
    Contrarian,
    DriftingQuadratics,
    RandomSigns,
    RecordedTargets,
    ShiftingTargets,
)
from trimtab.sim.worlds.convex import Adversarial, Adversary, Loss
from trimtab.sim.worlds.drifting import Drifting
from trimtab.sim.worlds.fairness import Fairness
from trimtab.sim.worlds.generators import hard, linear, quadratic, spin_glass
from trimtab.sim.worlds.joint import factored
from trimtab.sim.worlds.noise import Bounded, Correlated, Gaussian, Noise, Recorded, Summable
from trimtab.sim.worlds.search import Found, search
from trimtab.sim.worlds.sparse_world import SparseWorld, sparse
from trimtab.sim.worlds.world import World

__all__ = [
    "Adversarial",
    "Adversary",
    "Alternating",
    "Bounded",
    "Contrarian",
    "Correlated",
    "Drifting",
    "DriftingQuadratics",
    "Fairness",
    "Found",
    "Gaussian",
    "Loss",
    "Noise",
    "RandomSigns",
    "Recorded",
    "RecordedTargets",
    "ShiftingTargets",
    "SparseWorld",
    "Summable",
    "World",
    "factored",
    "hard",
    "linear",
    "quadratic",
    "search",
    "sparse",
    "spin_glass",
]
