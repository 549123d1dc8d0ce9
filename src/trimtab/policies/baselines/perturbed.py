"""Follow the perturbed leader, which the paper names as the other way to few switches."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from trimtab import theory
from trimtab.arrays import NOBODY, Array, ArrayLike, number, per_item, read_only, whole
from trimtab.errors import InvalidInput
from trimtab.model.domain import BoundConvexDomain, ConvexDomain
from trimtab.policies.base import Told
from trimtab.policies.gradient.descent import GradientPolicy, Kind
from trimtab.policies.registry import register

Perturbation = Literal["kept", "fresh"]


@register
class FollowThePerturbedLeader(GradientPolicy):
    r"""Plays the state that would have been best so far, had the past been a little different.

    .. math:: s_t = \arg\min_s \langle g_1 + \dots + g_{t-1} + p_t, s \rangle

    with p_t uniform in a cube of side `scale` about 0 (Kalai, Vempala 2005). For linear losses
    chosen without knowledge of p it has the regret and the switches of
    `theory.perturbed_leader_regret` and `theory.perturbed_leader_switches`, both of the order
    sqrt(T). Other convex losses are made linear by their gradients, without a guarantee.

    ``perturbation="kept"``, their lazy leader, draws once: the sum of gradients is replaced by
    the only point near it of a randomly placed grid, and the state changes only when that
    point does. ``"fresh"`` draws anew for every round: each state has the same distribution,
    but they hardly ever repeat.

    >>> import trimtab as tt
    >>> leader = tt.FollowThePerturbedLeader(
    ...     tt.Simplex(), start=[0.5, 0.5], horizon=1000, lipschitz=1.0
    ... )
    >>> for _ in range(100):
    ...     told = leader.tell([0.8, 0.0])
    >>> leader.ask()
    array([0., 1.])

    Args:
        domain: where the state may be, a `Box` without levels, `Balls` or a `Simplex`.
        start: the state the system is in now; the first move leaves it before the first round.
        horizon: T, how many rounds there will be; a further `tell` raises `Conflict`.
        lipschitz: G, no gradient is longer; a longer one is refused.
        perturbation: "kept" or "fresh".
        scale: the side of the cube, `theory.perturbed_leader_scale` by default.
        seed: of the perturbation.
    """

    perturbation: Perturbation
    scale: float
    seed: int
    total: Array  # (k,) the sum of all gradients
    _own: ClassVar[dict[str, Kind]] = {
        "perturbation": "one",
        "scale": "one",
        "seed": "one",
        "total": "knobs",
    }

    def __init__(
        self,
        domain: ConvexDomain | BoundConvexDomain,
        *,
        start: ArrayLike,
        horizon: int,
        lipschitz: float,
        perturbation: Perturbation = "kept",
        scale: float | None = None,
        seed: int = 0,
    ) -> None:
        self._begin(domain, start, horizon)
        if perturbation not in ("kept", "fresh"):
            raise InvalidInput(f"perturbation = {perturbation!r}; choose 'kept' or 'fresh'")
        self.perturbation = perturbation
        self.lipschitz = read_only(
            per_item(lipschitz, 1, "lipschitz", "policy", low=0.0, strict=True)
        )
        if scale is None:
            D1, D2 = self.domain.diameter, self.domain.diameter_l2
            scale = theory.perturbed_leader_scale(
                D1, D2, self.domain.knobs, self.horizon, lipschitz=float(self.lipschitz[0])
            )
        self.scale = number(scale, "scale", low=0.0, strict=True)
        self.seed = whole(seed, "seed", low=0)
        self.total = read_only(np.zeros(self.domain.knobs))
        self.state = self._leader()

    def tell(self, gradient: ArrayLike) -> Told:
        """Add the gradient to the past; move to the new leader."""
        g = self._checked(gradient)
        self.total = read_only(self.total + g)
        self.rounds += 1
        before, self.state = self.state, self._leader()
        moved = float(np.abs(self.state - before).sum())
        return Told(triggered=NOBODY, cause="review", moved=moved, next_review=1)

    def _leader(self) -> Array:
        draw = self.rounds if self.perturbation == "fresh" else 0
        k, side = self.domain.knobs, self.scale
        p = side * np.random.default_rng((self.seed, draw)).uniform(-0.5, 0.5, k)
        if self.perturbation == "fresh":
            return read_only(self.domain.minimiser(self.total + p))
        # The point of the grid p + side Z^k in the cube about the total.
        return read_only(self.domain.minimiser(p + side * np.floor((self.total - p) / side + 0.5)))
