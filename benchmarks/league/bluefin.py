"""BlueFin, the tuner of Microsoft's SelfTune and OPPerTune: gradient ascent that never stops.

Karthikeyan, Natarajan et al., SelfTune: Tuning Cluster Managers, NSDI 2023. Written from the
published description.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from benchmarks.league.place import Place
from benchmarks.league.plans import Plan
from benchmarks.league.rivals import Searcher
from trimtab.arrays import Array


class BlueFin(Searcher):
    r"""Perturbs all knobs a little all the time, and follows what was rewarded.

    With the centre w in [0, 1]^k, u uniform on the unit sphere and the reward r, minus the weighted
    total::

        two-point:  w <- w + eta * (r(w + delta u) - r(w - delta u)) / (2 delta) * u
        one-point:  w <- w + eta * r(w + delta u) / delta * u

    The defaults that are published are one point, eta 0.01, delta 0.1 and no decay. Two points are
    recommended where a state may be tried again, as here, and are this rival's default. `decay` is
    the documented schedule: eta falls by this factor after every step, delta by its root.
    With `rms` the step is divided by the root of a running mean of its squares (RMSprop,
    offered by the package as well).
    """

    name = "BlueFin"
    what = "two-point gradient ascent, never stops"
    DEFAULTS: ClassVar = {"points": 2, "eta": 0.01, "delta": 0.1, "decay": 1.0, "rms": 0}
    MEMORY = 0.99  # of RMSprop

    def __init__(self, place: Place, *, horizon: int, seed: int, plan: Plan | None = None) -> None:
        super().__init__(place, horizon=horizon, seed=seed, plan=plan)
        self._w = self.unit(place.start)
        self._n, self._squares = 0, np.zeros(self.k)
        self._sign, self._plus, self._u = 0.0, 0.0, np.zeros(self.k)
        self.go(self.suggest())

    def judge(self, value: float) -> None:
        """A step along the perturbation, as long as its reward."""
        if self.options["points"] == 1:
            gradient = -value / self._delta() * self._u
        elif self._sign > 0.0:
            self._plus = value
            return
        else:
            gradient = (value - self._plus) / (2.0 * self._delta()) * self._u
        if self.options["rms"]:
            self._squares = self.MEMORY * self._squares + (1.0 - self.MEMORY) * gradient**2
            gradient = gradient / (np.sqrt(self._squares) + 1e-8)
        eta = self.options["eta"] * self.options["decay"] ** self._n
        self._w = np.clip(self._w + eta * gradient, 0.0, 1.0)
        self._n += 1

    def suggest(self) -> Array:
        """The centre, perturbed in a new direction, or in the opposite one."""
        if self._sign <= 0.0 or self.options["points"] == 1:
            self._sign = 1.0
            u = self.rng.normal(size=self.k)
            self._u = u / np.linalg.norm(u)
        else:
            self._sign = -1.0
        return np.asarray(self._w + self._sign * self._delta() * self._u)

    def recommend(self) -> Array:
        """The centre."""
        return self._w

    def _delta(self) -> float:
        return float(self.options["delta"] * self.options["decay"] ** (0.5 * self._n))
