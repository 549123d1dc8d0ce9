"""Covariates: what moves a loss and is no knob, such as traffic or the hour, regressed out.

Within an epoch the knobs stand still, so that what a loss and its covariates do together there is
the covariates' work alone. With A and b the sums of their centred products over all epochs,

    gamma = (A + D)^{-1} b,    y' = y - gamma' (z - z0),

where D is the noise over what a covariate may do (half a range of the loss for each of its
standard deviations), and z0 is fixed. The policy learns y' instead of y. Early on gamma is hardly
known, and a loss from which it was not taken out would mislead the policy for long. So whenever
there are twice as many losses, all of them are learned again with the gamma of now (`due`). That
is the joint regression of knobs and covariates, but for the doubt about gamma. The hour of the day
is a cycle: sine and cosine of one and two a day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import cos, pi, sin
from typing import TYPE_CHECKING, Any

from trimtab.live.spec.objective import HOUR

if TYPE_CHECKING:  # loaded where there are covariates
    from trimtab.arrays import Array

FIRST = 4  # losses at which they are learned again first, and then at twice as many
HARMONICS = 2  # cycles a day that are told apart
EFFECT = 0.5  # ranges of a loss that one standard deviation of a covariate may make up, about
TINY = 1e-9
DAY = 86_400_000_000  # microseconds


@dataclass(slots=True)
class Adjustment:
    """What was seen of one objective and its covariates."""

    names: list[str]
    origin: list[float] = field(default_factory=list)  # z0
    products: list[list[float]] = field(default_factory=list)  # A, b at its edges, then y's own
    squares: list[float] = field(default_factory=list)  # of z - z0, added up
    count: int = 0
    epochs: int = 0
    epoch: int = 0  # whose means these are:
    seen: int = 0
    means: list[float] = field(default_factory=list)  # of z, and of y at the end

    def learn(self, z: Sequence[float], y: float, epoch: int) -> tuple[Array, Array]:
        """Learn from a loss and its covariates; gamma as of before, and z - z0."""
        import numpy as np

        x = np.array(z)
        if not self.origin:
            p = len(z)
            self.origin = [0.0 if n.startswith(HOUR + " ") else v for n, v in self._pairs(z)]
            self.products = np.zeros((p + 1, p + 1)).tolist()
            self.squares = [0.0] * p
        gamma = self.effect()
        self._learn(x, y, epoch)
        return gamma, x - np.array(self.origin)

    @property
    def due(self) -> bool:
        """Whether all losses are to be learned again, with the gamma of now."""
        return self.count >= FIRST and self.count & (self.count - 1) == 0

    def effect(self) -> Array:
        """gamma, (p,)."""
        import numpy as np

        table = np.array(self.products)
        A, b, total = table[:-1, :-1], table[:-1, -1], float(table[-1, -1])
        freedom = self.count - self.epochs
        if freedom < 1 or total <= 0.0:
            return np.zeros(len(b))
        size = np.maximum(np.array(self.squares) / self.count, TINY)
        gamma = np.zeros(len(b))
        for _ in range(2):  # the noise is that which the covariates leave
            left = max(total - float(b @ gamma), TINY * total)
            D = left / max(freedom - len(b), 1) * size / EFFECT**2
            gamma = np.linalg.solve(A + np.diag(D), b)
        return np.asarray(gamma)

    def _learn(self, x: Array, y: float, epoch: int) -> None:
        import numpy as np

        far = x - np.array(self.origin)
        self.squares = (np.array(self.squares) + far**2).tolist()
        self.count += 1
        both = np.append(x, y)
        if epoch != self.epoch:
            self.epoch, self.seen, self.means = epoch, 0, both.tolist()
            self.epochs += 1
        self.seen += 1
        step = both - np.array(self.means)
        share = (self.seen - 1) / self.seen
        self.means = (np.array(self.means) + step / self.seen).tolist()
        table = np.array(self.products) + share * np.outer(step, step)
        self.products = table.tolist()

    def _pairs(self, z: Sequence[float]) -> list[tuple[str, float]]:
        return list(zip(features(self.names), z, strict=True))


def features(names: Sequence[str]) -> list[str]:
    """The names of the columns of z."""
    found: list[str] = []
    for name in names:
        cycles = [f"{HOUR} {wave}{n}" for n in range(1, HARMONICS + 1) for wave in ("sin", "cos")]
        found += cycles if name == HOUR else [name]
    return found


def values(names: Sequence[str], told: Mapping[str, Any], at: int) -> list[float] | None:
    """z at a time in microseconds since 1970, or None if a covariate was not told."""
    found: list[float] = []
    for name in names:
        if name == HOUR:
            angle = 2.0 * pi * (at % DAY) / DAY
            for n in range(1, HARMONICS + 1):
                found += [sin(n * angle), cos(n * angle)]
        elif told.get(name) is None:
            return None
        else:
            found.append(float(told[name][0]))
    return found
