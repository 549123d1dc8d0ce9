r"""Bounds for worlds that drift: a memory of H rounds, in which data lose weight as they age.

Symbols as in `theory.lazy`; H is the memory, g = 1 - 1/H what is left of a weight after a round.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, ArrayLike, number, whole
from trimtab.theory.lazy import max_gain


def max_faded_gain(
    dims: ArrayLike, *, memory: int, reg: ArrayLike, bound: ArrayLike = 1.0
) -> Array:
    r"""The most that Gamma_i can ever be: d_i log(1 + L_i^2 / (d_i reg_i (1 - g))).

    All weights together are at most 1 / (1 - g) = H, so that it is `max_gain` after H rounds.

    >>> max_faded_gain([1, 2], memory=100, reg=1.0).round(3)
    array([4.615, 7.864])
    """
    return max_gain(dims, whole(memory, "memory", low=2), reg=reg, bound=bound)


def max_accruals(
    dims: ArrayLike,
    horizon: int,
    *,
    memory: int,
    reg: ArrayLike,
    bound: ArrayLike = 1.0,
    factor: float = 2.0,
) -> float:
    r"""How often the accrual trigger can fire in T rounds: of the order T/H, not log T.

    .. math::
        M \le \sum_i \frac{d_i T \log(1/g) + d_i \log(1 + L_i^2 / (d_i \mathrm{reg}_i (1 - g)))}
        {\log C}.

    Per trigger log det V_i gains log C, per round it loses d_i log(1/g) at most, and it ends
    no higher than `max_faded_gain`. Reviews are not counted. An alarm takes all of a criterion's
    Gamma_i away, so that each one adds up to its term of `max_faded_gain` / log C. Losses of
    other states (`played=`) are weight beside H, and not covered.

    >>> round(max_accruals([3], 20_000, memory=1000, reg=1.0), 1)
    111.8

    Args:
        dims: d_i.
        horizon: T.
        memory: H.
        reg: the ridge parameters.
        bound: L_i.
        factor: C.
    """
    T, H = whole(horizon, "horizon", low=0), whole(memory, "memory", low=2)
    C = number(factor, "factor", low=1.0, strict=True)
    gain = max_faded_gain(dims, memory=H, reg=reg, bound=bound)
    d = np.broadcast_to(np.asarray(dims, np.float64), gain.shape)
    return float((d * T * -np.log1p(-1.0 / H) + gain).sum() / np.log(C))
