r"""Bounds of the node-wise lazy policies (Sections 4 and 5.1).

Symbols: d_i features, L_i their largest length (`bound`), reg_i the ridge parameter,
C the trigger factor, T the horizon, Gamma_i = log det V_i - d_i log reg_i. Arguments
that belong to a criterion are numbers or one per criterion.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, ArrayLike, floats, number, per_item, whole
from trimtab.errors import InvalidInput
from trimtab.learn import Confidence
from trimtab.learn.confidence import Evidence


def confidence_radius(
    gains: ArrayLike,
    *,
    sigma: ArrayLike,
    norm: ArrayLike,
    reg: ArrayLike,
    delta: float = 0.05,
) -> Array:
    r"""Lemma (confidence ellipsoid), corrected: the radius of `Confidence` at these gains.

    It is sigma_i sqrt(Gamma_i + 2 log(m / delta)) + sqrt(reg_i) norm_i. With the worst case of
    `max_gain` it is the largest of a run.

    >>> confidence_radius([4.615, 7.864], sigma=0.1, norm=2.0, reg=1.0).round(3)
    array([2.346, 2.39 ])
    """
    m = _criteria(gains=gains, sigma=sigma, norm=norm, reg=reg)
    ones = np.ones(m, np.int64)
    rule = Confidence(sigma=sigma, norm=norm, delta=delta).bind(m)
    return rule.radii(
        Evidence(
            criteria=np.arange(m),
            gain=per_item(gains, m, "gains", "criterion", low=0.0, strict=False),
            seen=ones,
            dims=ones,
            reg=per_item(reg, m, "reg", "criterion", low=0.0, strict=True),
            bounds=np.ones(m),
            pure_error=np.zeros(m),
            pure_df=0 * ones,
        )
    )


def max_gain(dims: ArrayLike, horizon: int, *, reg: ArrayLike, bound: ArrayLike = 1.0) -> Array:
    r"""The most that Gamma_i can be after T rounds: d_i log(1 + T L_i^2 / (d_i reg_i)).

    >>> max_gain([1, 2], 100, reg=1.0).round(3)
    array([4.615, 7.864])
    """
    T = whole(horizon, "horizon", low=0)
    m = _criteria(dims=dims, reg=reg, bound=bound)
    d = per_item(dims, m, "dims", "criterion", low=1.0, strict=False)
    lam = per_item(reg, m, "reg", "criterion", low=0.0, strict=True)
    L = per_item(bound, m, "bound", "criterion", low=0.0, strict=False)
    return np.asarray(d * np.log1p(T * L**2 / (d * lam)))


def max_epochs(
    dims: ArrayLike,
    horizon: int,
    *,
    reg: ArrayLike,
    bound: ArrayLike = 1.0,
    factor: float = 2.0,
) -> float:
    r"""Lemma (number of epochs): at most sum_i d_i log_C(1 + T L_i^2 / (d_i reg_i)) triggers.

    It holds for every reg, every L and any reset of the clocks, since a
    determinant never shrinks. Reviews are not counted: `max_reviews`.

    >>> round(max_epochs([1], 10**6, reg=1.0), 1)
    19.9
    """
    C = number(factor, "factor", low=1.0, strict=True)
    return float(max_gain(dims, horizon, reg=reg, bound=bound).sum() / np.log(C))


def max_reviews(horizon: int) -> int:
    """How often the clock can double in T rounds: at most log2(T) + 1 reviews.

    >>> max_reviews(1000)
    10
    """
    return int(np.floor(np.log2(whole(horizon, "horizon", low=1)))) + 1


def epoch_spread(
    *, reg: ArrayLike, bound: ArrayLike = 1.0, factor: float = 2.0, batch: int = 1
) -> Array:
    r"""The most that sum ||phi||^2 in V_tau^{-1} can be in one epoch: (C - 1) + n L_i^2 / reg_i.

    `batch` is n, the most rounds told at once.

    Deviation: the paper's Lemma (error per epoch) says 3, which is loose for
    L^2 <= reg (this gives 2) and false for the reg < 1 of its own experiments.

    >>> epoch_spread(reg=[1.0, 0.1])
    array([ 2., 11.])
    """
    C = number(factor, "factor", low=1.0, strict=False)
    n = whole(batch, "batch", low=1)
    m = _criteria(reg=reg, bound=bound)
    lam = per_item(reg, m, "reg", "criterion", low=0.0, strict=True)
    L = per_item(bound, m, "bound", "criterion", low=0.0, strict=False)
    return np.asarray((C - 1.0) + n * L**2 / lam)


def potential_constant(
    *, reg: ArrayLike, bound: ArrayLike = 1.0, factor: float = 2.0, batch: int = 1
) -> Array:
    """c_i = S / log(1 + S) at the largest S of an epoch, so that S <= c_i log(1 + S) always.

    >>> potential_constant(reg=1.0).round(4)
    array([1.8205])
    """
    S = epoch_spread(reg=reg, bound=bound, factor=factor, batch=batch)
    return np.divide(S, np.log1p(S), out=np.ones_like(S), where=S > 0.0)


def prediction_regret(
    radii: ArrayLike,
    gains: ArrayLike,
    horizon: int,
    *,
    reg: ArrayLike,
    bound: ArrayLike = 1.0,
    factor: float = 2.0,
    batch: int = 1,
    weights: ArrayLike = 1.0,
) -> float:
    r"""Theorem 1', first part: R_pred <= 2 sum_i w_i beta_i sqrt(c_i T Gamma_i).

    On the good event, with a solve before the first round and exact solves; a solve
    with gap eps_j adds eps_j per round of its epoch. `gains` are the realised Gamma_i
    or the worst case of `max_gain`.

    Deviation: the paper's proof of Theorem 1 sums a criterion's epochs over its own
    triggers only, which fails when others trigger more often. Here
    sum_j log(1 + S_ij) = Gamma_i is used, whoever ended the epochs.
    """
    T = whole(horizon, "horizon", low=0)
    m = _criteria(radii=radii, gains=gains, reg=reg, bound=bound, weights=weights)
    beta = per_item(radii, m, "radii", "criterion", low=0.0, strict=False)
    gamma = per_item(gains, m, "gains", "criterion", low=0.0, strict=False)
    w = per_item(weights, m, "weights", "criterion", low=0.0, strict=True)
    lam = per_item(reg, m, "reg", "criterion", low=0.0, strict=True)
    c = potential_constant(reg=lam, bound=bound, factor=factor, batch=batch)
    return float(2.0 * (w * beta) @ np.sqrt(c * T * gamma))


def movement_regret(diameter: float, solves: float, *, move_cost: float) -> float:
    """Theorem 1', second part: R_move <= move_cost D1 (M + 1), the cold start included.

    >>> movement_regret(6.0, 30, move_cost=0.5)
    93.0
    """
    D1 = number(diameter, "diameter", low=0.0, strict=False)
    M = number(solves, "solves", low=0.0, strict=False)
    return number(move_cost, "move_cost", low=0.0, strict=False) * D1 * (M + 1.0)


def local_movement(
    extents: ArrayLike, gains: ArrayLike, *, move_cost: float = 1.0, factor: float = 2.0
) -> float:
    r"""Theorem (regret of async), part (c): local updates move sum_i D_i Gamma_i / log C at most.

    D_i is the l1 diameter of the knobs that criterion i reads (`extents`), the size of N(i) on
    the cube, and Gamma_i / log C bounds its triggers. The cold start and the reviews, which
    move everything, come on top: `movement_regret`.

    >>> round(local_movement([2.0, 3.0], [4.0, 8.0]), 2)
    46.17
    """
    m = _criteria(extents=extents, gains=gains)
    D = per_item(extents, m, "extents", "criterion", low=0.0, strict=False)
    gamma = per_item(gains, m, "gains", "criterion", low=0.0, strict=False)
    C = number(factor, "factor", low=1.0, strict=True)
    price = number(move_cost, "move_cost", low=0.0, strict=False)
    return float(price * (D @ gamma) / np.log(C))


def _criteria(**arguments: ArrayLike) -> int:
    """How many criteria the arguments speak of: the size of the longest."""
    return max(floats(value, name).size for name, value in arguments.items())


def lower_bound(dims: ArrayLike, horizon: int, *, sigma: float = 1.0) -> float:
    r"""Theorem (minimax lower bound): sigma sqrt(T) sum_i d_i / (16 sqrt(3)), of isolated criteria.

    No algorithm has a smaller expected regret in all worlds `worlds.hard`, whose criteria are
    linear on unit balls of their own; T must be at least d_i / 2 (Lattimore and Szepesvari, Bandit
    Algorithms, Theorem 24.2, with its constant). It says nothing of other graphs.

    Deviation: the paper prints an order, for some graph and some losses. Where scopes overlap the
    order itself is not right.

    >>> round(lower_bound([2, 3], 10_000), 2)
    18.04
    """
    T = whole(horizon, "horizon", low=1)
    d = per_item(dims, floats(dims, "dims").size, "dims", "criterion", low=1.0, strict=False)
    if d.max() > 2 * T:
        raise InvalidInput(f"horizon = {T}; it must be at least half of every dims")
    noise = number(sigma, "sigma", low=0.0, strict=False)
    return float(noise * np.sqrt(T) * d.sum() / (16.0 * np.sqrt(3.0)))
