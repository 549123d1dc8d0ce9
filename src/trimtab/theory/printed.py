r"""What the paper prints of Sections 4 to 5.2, where a corrected bound takes its place.

Each function follows the last line of the paper's proof, constants included; where the paper
has only an order, its constant is taken as 1. They are here to be compared with: no
policy uses them. Those of Sections 5.3 and 6 stand next to the corrected ones.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, ArrayLike, floats, number, per_item, whole
from trimtab.learn import Confidence
from trimtab.learn.confidence import Evidence
from trimtab.theory.lazy import max_epochs, max_gain

SPREAD = 3.0  # Lemma (error per epoch)


def printed_radius(
    dims: ArrayLike,
    rounds: int,
    *,
    sigma: ArrayLike,
    norm: ArrayLike,
    reg: ArrayLike,
    bound: ArrayLike = 1.0,
    delta: float = 0.05,
) -> Array:
    r"""Lemma (confidence ellipsoid): sigma sqrt(d log((1 + t L^2 / reg) / delta)) + sqrt(reg) norm.

    It fails more often than delta for several criteria, and for d = 1: see `confidence_radius`.

    >>> printed_radius([1, 2], 100, sigma=0.1, norm=2.0, reg=1.0).round(3)
    array([2.276, 2.39 ])
    """
    t = whole(rounds, "rounds", low=0)
    m = max(floats(x, "dims").size for x in (dims, sigma, norm, reg, bound))
    d = per_item(dims, m, "dims", "criterion", low=1.0, strict=False)
    rule = Confidence(sigma=sigma, norm=norm, delta=delta, form="paper").bind(m)
    return rule.radii(
        Evidence(
            criteria=np.arange(m),
            gain=np.zeros(m),
            seen=np.full(m, t),
            dims=d.astype(np.int64),
            reg=per_item(reg, m, "reg", "criterion", low=0.0, strict=True),
            bounds=per_item(bound, m, "bound", "criterion", low=0.0, strict=False),
            pure_error=np.zeros(m),
            pure_df=np.zeros(m, np.int64),
        )
    )


def printed_lazy_regret(
    radii: ArrayLike,
    dims: ArrayLike,
    horizon: int,
    *,
    reg: ArrayLike,
    knobs: int,
    bound: ArrayLike = 1.0,
    move_cost: float = 0.0,
) -> float:
    r"""Theorem (regret of Lazy Graph-LinUCB): sum_i beta_i sqrt(3 M_i T) + lambda k M.

    With the M_i of its Lemma, M = sum_i M_i. It is no bound: a criterion has as many epochs as
    all others together, and the 2 of the widths is lost on the way. See `prediction_regret`.

    >>> round(printed_lazy_regret([2.0, 2.0], [1, 2], 1000, reg=1.0, knobs=2, move_cost=0.5))
    838
    """
    T, k = whole(horizon, "horizon", low=0), whole(knobs, "knobs", low=1)
    triggers = max_gain(dims, T, reg=reg, bound=bound) / np.log(2.0)
    beta = per_item(radii, triggers.size, "radii", "criterion", low=0.0, strict=False)
    price = number(move_cost, "move_cost", low=0.0, strict=False)
    return float(beta @ np.sqrt(SPREAD * triggers * T) + price * k * triggers.sum())


def printed_misspecified_epochs(
    dims: ArrayLike, horizon: int, *, reg: ArrayLike, bound: ArrayLike = 1.0
) -> float:
    r"""Corollary (graph misspecification): sum_i d'_i log(1 + T L^2 / (d'_i reg)), natural log.

    With the dimensions d' of the super-graph. The base must be 2: `max_epochs` of the same
    dimensions is right, and what the Corollary claims holds with it, for nested bases.

    >>> round(printed_misspecified_epochs([1], 10**6, reg=1.0), 1)  # 18 epochs are possible
    13.8
    """
    return float(max_gain(dims, horizon, reg=reg, bound=bound).sum())


def printed_async_movement(
    degree: int,
    dims: ArrayLike,
    horizon: int,
    *,
    reg: ArrayLike,
    bound: ArrayLike = 1.0,
    move_cost: float = 1.0,
) -> float:
    r"""Theorem (regret of async), part (c): lambda Delta sum_i M_i, Delta the largest scope.

    It holds, the cold start excepted. `local_movement` has the size of each scope in the place
    of the largest.

    >>> round(printed_async_movement(3, [1, 2], 1000, reg=1.0), 1)
    83.7
    """
    Delta = whole(degree, "degree", low=1)
    price = number(move_cost, "move_cost", low=0.0, strict=False)
    return price * Delta * max_epochs(dims, horizon, reg=reg, bound=bound)


def recovery_error(radius: float, rounds: int, *, kappa: float) -> float:
    r"""Theorem (adaptive refinement), its estimation step: beta / sqrt(kappa tau). It holds.

    No coefficient is further off after tau rounds while the ellipsoid holds and
    lambda_min(V) >= kappa tau. At the printed tau that is gamma / 4, at `warmup_rounds` gamma / 2.

    >>> recovery_error(2.0, 200, kappa=0.5)
    0.2
    """
    beta = number(radius, "radius", low=0.0, strict=False)
    tau = whole(rounds, "rounds", low=1)
    return float(beta / np.sqrt(number(kappa, "kappa", low=0.0, strict=True) * tau))


def printed_adaptive_regret(
    total: int, dims: ArrayLike, horizon: int, *, kappa: float, gamma: float
) -> float:
    r"""Theorem (adaptive refinement): d^1.5 / (kappa gamma^2) + sqrt(T) sum_i d_i + d^2 log T.

    d is `total`, the dimension of the super-graph; the constant of the order is taken as 1. It
    lacks what a warm-up round really costs, and its movement: see `adaptive_regret`.

    >>> round(printed_adaptive_regret(4, [1, 2], 10**4, kappa=0.5, gamma=0.2))
    847
    """
    d, T = float(whole(total, "total", low=1)), whole(horizon, "horizon", low=1)
    sparse = floats(dims, "dims")
    sparse = per_item(sparse, sparse.size, "dims", "criterion", low=1.0, strict=False)
    weakest = number(kappa, "kappa", low=0.0, strict=True)
    weakest *= number(gamma, "gamma", low=0.0, strict=True) ** 2
    return float(d**1.5 / weakest + np.sqrt(T) * sparse.sum() + d**2 * np.log(T))
