r"""Smoothed online optimisation: following losses that drift, at a price of movement.

Both policies take the loss of a round for the quadratic a/2 |s - y|^2 that has the gradient told:
y = s - g / a. For losses that are such quadratics that is all there is to know; of others that are
as curved it is what the gradient alone says.

They are made for players who are *informed*: who see a round's loss before they choose its state.
Tell first and ask afterwards, and they are. Ask first and tell afterwards, as `tt.play` and every
live system do, and they are a round late, without a guarantee.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from trimtab.arrays import MOST_ROUNDS, NOBODY, Array, ArrayLike, number, per_item, read_only
from trimtab.model.domain import BoundConvexDomain, ConvexDomain
from trimtab.policies.base import Told
from trimtab.policies.gradient.descent import GradientPolicy, Kind
from trimtab.policies.registry import register

LEVELS = 401  # of a knob, between which slopes are linear


class _Smoothed(GradientPolicy):
    """What both share: the curvature, and a move in every round."""

    curvature: float

    def _prepare(
        self,
        domain: ConvexDomain | BoundConvexDomain,
        start: ArrayLike,
        curvature: float,
        lipschitz: float | None,
        horizon: int | None,
    ) -> None:
        self._begin(domain, start, int(MOST_ROUNDS) if horizon is None else horizon)
        self.curvature = number(curvature, "curvature", low=0.0, strict=True)
        if lipschitz is None:  # of a target inside the domain
            lipschitz = self.curvature * max(self.domain.diameter_l2, 1e-300)
        self.lipschitz = read_only(
            per_item(lipschitz, 1, "lipschitz", "policy", low=0.0, strict=True)
        )

    def _move(self, state: Array) -> Told:
        before, self.state = self.state, read_only(state)
        self.rounds += 1
        moved = float(np.abs(self.state - before).sum())
        return Told(triggered=NOBODY, cause="review", moved=moved, next_review=1)


@register
class ROBD(_Smoothed):
    r"""Regularised online balanced descent (Goel, Lin, Sun and Wierman 2019).

    .. math:: s_t = \arg\min_s f_t(s) + \tfrac{\lambda}{2} |s - s_{t-1}|^2, \qquad
        \lambda = \frac{2 c}{1 + \sqrt{1 + 4 c / a}}

    for a-strongly convex losses and moves that cost c/2 times their squared length. Informed, it
    pays at most (1 + sqrt(1 + 4 c / a)) / 2 times what the best path in hindsight does, which no
    online algorithm can better.

    >>> import trimtab as tt
    >>> policy = tt.ROBD(tt.Box(), start=[0.0], curvature=1.0)
    >>> policy.tell([-1.0]).cause, policy.ask().round(3)  # the target is 1
    ('review', array([0.618]))

    Args:
        domain: where the state may be, a `Box` without levels, `Balls` or a `Simplex`.
        start: the state the system is in now.
        curvature: a, of the losses.
        move_cost: c, of half a squared length.
        lipschitz: no gradient is longer; by default those of targets in the domain.
        horizon: how many rounds there will be, if that is known; nothing depends on it.
    """

    move_cost: float
    _own: ClassVar[dict[str, Kind]] = {"curvature": "one", "move_cost": "one"}

    def __init__(
        self,
        domain: ConvexDomain | BoundConvexDomain,
        *,
        start: ArrayLike,
        curvature: float,
        move_cost: float = 1.0,
        lipschitz: float | None = None,
        horizon: int | None = None,
    ) -> None:
        self._prepare(domain, start, curvature, lipschitz, horizon)
        self.move_cost = number(move_cost, "move_cost", low=0.0, strict=False)

    def tell(self, gradient: ArrayLike) -> Told:
        """Move towards the target, as far as the balance says."""
        g = self._checked(gradient)
        a, c = self.curvature, self.move_cost
        lam = 2.0 * c / (1.0 + np.sqrt(1.0 + 4.0 * c / a))
        return self._move(self.domain.project(self.state - g / (a + lam)))


@register
class LCP(_Smoothed):
    r"""Lazy capacity provisioning (Lin, Wierman, Andrew and Thereska 2011), knob by knob.

    The state moves no further than into the interval between two optima of the past: what the best
    path so far would have as its last state if only ways up were charged, and if only ways down
    were, each for both. Informed, with losses that are sums over knobs and moves that cost
    `move_cost` times their l1 length, it pays at most 3 times what the best path in hindsight does.

    The slopes of the two cost-to-go functions are kept on a grid of each knob. On balls and a
    simplex the state is projected, without a guarantee.

    >>> import trimtab as tt
    >>> policy = tt.LCP(tt.Box(), start=[0.5], curvature=1.0, move_cost=0.1)
    >>> for target in (0.9, 0.9, 0.9):
    ...     told = policy.tell(policy.ask() - target)
    ...     print(policy.ask().round(3))
    [0.7]
    [0.8]
    [0.833]

    Args:
        domain: where the state may be; a `Box` without levels for the guarantee.
        start: the state the system is in now.
        curvature: a, of the losses.
        move_cost: the price of moving a knob by 1, one number or one per knob.
        lipschitz: no gradient is longer; by default those of targets in the domain.
        horizon: how many rounds there will be, if that is known; nothing depends on it.
    """

    move_cost: Array  # (k,)
    _low: Array  # (k, levels) slopes if ways up are charged
    _high: Array  # (k, levels) if ways down are
    _own: ClassVar[dict[str, Kind]] = {
        "curvature": "one",
        "move_cost": "knobs",
        "_low": "grid",
        "_high": "grid",
    }

    def __init__(
        self,
        domain: ConvexDomain | BoundConvexDomain,
        *,
        start: ArrayLike,
        curvature: float,
        move_cost: ArrayLike,
        lipschitz: float | None = None,
        horizon: int | None = None,
    ) -> None:
        self._prepare(domain, start, curvature, lipschitz, horizon)
        k = self.domain.knobs
        self.move_cost = read_only(
            per_item(move_cost, k, "move_cost", "knob", low=0.0, strict=False)
        )
        # Before the first round: the way from the start, up or down. A way there and back is 2 c.
        beyond = np.sign(self._grid() - self.start[:, None])
        dear = 2.0 * self.move_cost[:, None]
        self._low, self._high = dear * (beyond > 0.0), -dear * (beyond < 0.0)

    def _grid(self) -> Array:
        """The levels of every knob: (k, levels)."""
        share = np.linspace(0.0, 1.0, LEVELS)
        return self.domain.low[:, None] + (self.domain.high - self.domain.low)[:, None] * share

    def tell(self, gradient: ArrayLike) -> Told:
        """Take the loss into both optima; move into the interval between them."""
        g = self._checked(gradient)
        x, dear = self._grid(), 2.0 * self.move_cost[:, None]
        slope = self.curvature * (x - self.state[:, None]) + g[:, None]
        self._low = read_only(np.clip(self._low, 0.0, dear) + slope)
        self._high = read_only(np.clip(self._high, -dear, 0.0) + slope)
        low, high = _roots(x, self._low), _roots(x, self._high)
        return self._move(self.domain.project(np.minimum(np.maximum(self.state, low), high)))


def _roots(x: Array, slope: Array) -> Array:
    """Where each row of increasing slopes is 0, linear between the levels: (k,)."""
    last = x.shape[1] - 1
    right = np.clip((slope < 0.0).sum(axis=1), 1, last)
    rows = np.arange(len(x))
    a, b = slope[rows, right - 1], slope[rows, right]
    share = np.clip(np.divide(-a, b - a, out=np.zeros_like(a), where=b > a), 0.0, 1.0)
    return np.asarray(x[rows, right - 1] + share * (x[rows, right] - x[rows, right - 1]))
