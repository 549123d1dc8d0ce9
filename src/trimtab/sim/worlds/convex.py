"""A simulated system with arbitrary convex losses, seen in full after every round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trimtab.arrays import Array, ArrayLike, number, per_item, read_only, whole
from trimtab.errors import InvalidInput
from trimtab.model.domain import BoundConvexDomain, ConvexDomain
from trimtab.policies.gradient.descent import bound


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    r"""The convex loss :math:`\frac{a}{2} |s|^2 + \langle b, s \rangle + c` of one round.

    >>> loss = Loss(slope=np.array([1.0, -1.0]), curvature=2.0)
    >>> loss.value(np.array([0.5, 0.5])), loss.gradient(np.array([0.5, 0.5]))
    (0.5, array([2., 0.]))
    """

    slope: Array  # (k,) b
    curvature: float = 0.0  # a
    constant: float = 0.0  # c

    def value(self, state: Array) -> float:
        """The loss at a state."""
        square = 0.5 * self.curvature * float(state @ state)
        return square + float(self.slope @ state) + self.constant

    def gradient(self, state: Array) -> Array:
        """Its derivatives by every knob: (k,)."""
        return self.curvature * state + self.slope

    def times(self, factor: float) -> Loss:
        """The loss in other units."""
        return Loss(factor * self.slope, factor * self.curvature, factor * self.constant)

    @staticmethod
    def distance(target: Array, curvature: float) -> Loss:
        """Half the squared distance from a target, times the curvature."""
        return Loss(-curvature * target, curvature, 0.5 * curvature * float(target @ target))


Opponent = Callable[[int, Array], Loss]  # the round from 1, and the state played in it


class Adversary(Protocol):
    """A way to choose losses. Its gradients have length 1 at most, all over the domain."""

    def begin(self, domain: BoundConvexDomain, rng: np.random.Generator) -> Opponent:
        """The losses of a run, one after the other; each may depend on the state deployed."""


class Adversarial:
    """A system whose losses an adversary chooses, round by round.

    >>> import trimtab as tt
    >>> world = tt.worlds.Adversarial(
    ...     tt.Box(), knobs=4, adversary=tt.worlds.RandomSigns(bias=0.2), lipschitz=2.0
    ... )
    >>> policy = tt.LazyOGD(
    ...     world.domain, start=[0.5] * 4, horizon=1000, lipschitz=world.lipschitz, budget=50
    ... )
    >>> trace = tt.play(policy, world, horizon=1000, seed=1)
    >>> trace.moves <= 50, trace.regret <= policy.regret_bound
    (True, True)

    Args:
        domain: where the state may be, a `Box` without levels, `Balls` or a `Simplex`.
        knobs: how many there are.
        adversary: who chooses the losses.
        lipschitz: G, the length of the longest gradient: the adversary's losses times this.
        move_cost: the price of moving a knob by 1, one number or one per knob.
    """

    def __init__(
        self,
        domain: ConvexDomain | BoundConvexDomain,
        *,
        knobs: int,
        adversary: Adversary,
        lipschitz: float = 1.0,
        move_cost: ArrayLike = 0.0,
    ) -> None:
        if isinstance(adversary, type) or not hasattr(adversary, "begin"):
            raise InvalidInput(f"adversary is {adversary!r}; give one, for example RandomSigns()")
        k = whole(knobs, "knobs", low=1)
        self.domain = bound(domain, k)
        self.adversary = adversary
        self.lipschitz = number(lipschitz, "lipschitz", low=0.0, strict=True)
        self.move_cost: Array = read_only(
            per_item(move_cost, k, "move_cost", "knob", low=0.0, strict=False)
        )

    def begin(self, rng: np.random.Generator) -> Opponent:
        """The losses of a run, one after the other."""
        unit = self.adversary.begin(self.domain, rng)
        return lambda t, state: unit(t, state).times(self.lipschitz)

    def best_fixed(self, losses: Sequence[Loss]) -> Array:
        """The state that is best for all these losses together, in closed form."""
        slope = np.sum([loss.slope for loss in losses], axis=0)
        curvature = sum(loss.curvature for loss in losses)
        if curvature > 0.0:
            return self.domain.project(-slope / curvature)
        return self.domain.minimiser(slope)
