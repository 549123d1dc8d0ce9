"""Ways to choose convex losses, from stochastic to spiteful.

Each is a recipe; `begin` makes it the opponent of one run. Gradients have length 1 at
most, and `Adversarial` scales them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, floats, number, read_only, whole
from trimtab.errors import InvalidInput
from trimtab.model.domain import BoundConvexDomain
from trimtab.sim.worlds.convex import Loss, Opponent


@dataclass(frozen=True)
class Alternating:
    """A linear loss that changes its sign every `period` rounds.

    With the length of a policy's freeze as the period every state is learned when
    it is just about to be wrong.
    """

    period: int = 1

    def __post_init__(self) -> None:
        whole(self.period, "period", low=1)

    def begin(self, domain: BoundConvexDomain, rng: np.random.Generator) -> Opponent:
        """The losses of a run."""
        up, down = (Loss(sign * _zigzag(domain.knobs)) for sign in (1.0, -1.0))
        return lambda t, state: down if (t - 1) // self.period % 2 else up


@dataclass(frozen=True)
class RandomSigns:
    """Linear losses with random signs, drawn anew after `hold` rounds.

    With `bias` 0 nothing can be learned, and the best fixed state is a matter of luck: with
    the length of a freeze as `hold` that luck is as large as the bound's order. With a
    larger bias they are stochastic losses, with a mean to be found.
    """

    bias: float = 0.0  # the mean of a sign
    hold: int = 1

    def __post_init__(self) -> None:
        number(self.bias, "bias", low=0.0, strict=False, high=1.0)
        whole(self.hold, "hold", low=1)

    def begin(self, domain: BoundConvexDomain, rng: np.random.Generator) -> Opponent:
        """The losses of a run."""
        usual = _zigzag(domain.knobs)
        now = Loss(usual)

        def loss(t: int, state: Array) -> Loss:
            nonlocal now
            if (t - 1) % self.hold == 0:
                flipped = rng.random(domain.knobs) < 0.5 * (1.0 - self.bias)
                now = Loss(np.where(flipped, -usual, usual))
            return now

        return loss


@dataclass(frozen=True)
class Contrarian:
    """Linear losses that rise wherever the deployed state has gone from the centre.

    It sees the state before it chooses, and moves it back as soon as it has moved.
    """

    def begin(self, domain: BoundConvexDomain, rng: np.random.Generator) -> Opponent:
        """The losses of a run."""
        centre, size = _centre(domain), 1.0 / np.sqrt(domain.knobs)
        undecided = _zigzag(domain.knobs)
        return lambda t, state: Loss(
            np.where(state == centre, undecided, np.where(state > centre, size, -size))
        )


@dataclass(frozen=True)
class ShiftingTargets:
    """Squared distances from a target that jumps to a random state every `period` rounds."""

    period: int = 100

    def __post_init__(self) -> None:
        whole(self.period, "period", low=1)

    def begin(self, domain: BoundConvexDomain, rng: np.random.Generator) -> Opponent:
        """The losses of a run."""
        steepness = _steepness(domain)
        now = Loss.distance(domain.anchor, steepness)

        def loss(t: int, state: Array) -> Loss:
            nonlocal now
            if (t - 1) % self.period == 0:
                now = Loss.distance(domain.sample(rng), steepness)
            return now

        return loss


@dataclass(frozen=True)
class DriftingQuadratics:
    """Squared distances from a target that goes round once in `period` rounds."""

    period: int = 1000

    def __post_init__(self) -> None:
        whole(self.period, "period", low=1)

    def begin(self, domain: BoundConvexDomain, rng: np.random.Generator) -> Opponent:
        """The losses of a run."""
        steepness, centre = _steepness(domain), _centre(domain)
        phases = np.arange(domain.knobs) / domain.knobs
        half = 0.5 * (domain.high - domain.low)

        def loss(t: int, state: Array) -> Loss:
            swing = np.sin(2.0 * np.pi * (t / self.period + phases))
            return Loss.distance(domain.project(centre + half * swing), steepness)

        return loss


@dataclass(frozen=True, eq=False)
class RecordedTargets:
    """Squared distances from targets that are given, one row a round, and again from the first.

    >>> world = RecordedTargets(np.array([[0.2], [0.8]]))
    >>> world.targets.shape
    (2, 1)
    """

    targets: Array  # (rounds, k) outside the domain: the nearest state in it

    def __post_init__(self) -> None:
        rows = floats(self.targets, "targets")
        if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
            raise InvalidInput(
                f"targets has shape {rows.shape}; give finite numbers, a row a round"
            )
        object.__setattr__(self, "targets", read_only(rows))

    def begin(self, domain: BoundConvexDomain, rng: np.random.Generator) -> Opponent:
        """The losses of a run."""
        if self.targets.shape[1] != domain.knobs:
            raise InvalidInput(
                f"targets has {self.targets.shape[1]} columns for {domain.knobs} knobs"
            )
        steepness, rows = _steepness(domain), [domain.project(row) for row in self.targets]
        return lambda t, state: Loss.distance(rows[(t - 1) % len(rows)], steepness)


def _zigzag(knobs: int) -> Array:
    """A direction of length 1 in which every knob counts, and some state of any domain is best."""
    signs = np.where(np.arange(knobs) % 2, -1.0, 1.0)
    return np.asarray(signs / np.sqrt(knobs))


def _centre(domain: BoundConvexDomain) -> Array:
    return domain.project(0.5 * (domain.low + domain.high))


def _steepness(domain: BoundConvexDomain) -> float:
    """The curvature with which no gradient is longer than 1."""
    return 1.0 / domain.diameter_l2 if domain.diameter_l2 > 0.0 else 1.0
