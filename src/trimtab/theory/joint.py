r"""Bounds of the joint estimator (Section 5.3), as printed and as corrected.

Symbols: d_eff features of all factors (`dim`), Psi the (m, d_eff) features of a state, V its Gram
matrix, Gamma = log det V - d_eff log reg, C the trigger factor, T the horizon. `policy.learner`
has them: `joint.gain`, `joint_radius()`, and `joint.factors` with its `dim`, `norm` and
`frobenius`.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import ArrayLike, floats, number, per_item, whole
from trimtab.model.graph import Graph
from trimtab.theory.lazy import potential_constant


def max_joint_gain(dim: int, horizon: int, *, reg: float, frobenius: float) -> float:
    r"""The most that Gamma can be after T rounds: d_eff log(1 + T |Psi|_F^2 / (d_eff reg)).

    >>> round(max_joint_gain(10, 1000, reg=1.0, frobenius=1.0), 2)
    46.15
    """
    d = whole(dim, "dim", low=1)
    T = whole(horizon, "horizon", low=0)
    lam = number(reg, "reg", low=0.0, strict=True)
    size = number(frobenius, "frobenius", low=0.0, strict=False)
    return float(d * np.log1p(T * size**2 / (d * lam)))


def max_joint_epochs(gain: float, *, factor: float = 2.0) -> float:
    r"""At most Gamma / log C triggers, for every reg and every Psi; reviews are not counted.

    >>> round(max_joint_epochs(46.15), 1)
    66.6
    """
    C = number(factor, "factor", low=1.0, strict=True)
    return number(gain, "gain", low=0.0, strict=False) / float(np.log(C))


def joint_load(graph: Graph, weights: ArrayLike = 1.0) -> float:
    r"""How many criteria pull together: the largest sum of w_i^2 over a connected component.

    It is the m of `joint_regret`, the number of criteria in the largest component if all
    weights are 1: factors do not reach across components, so Psi V^{-1} Psi' is block-diagonal.

    >>> joint_load(Graph.cliques([4, 4, 1]))
    4.0
    """
    m = graph.criteria
    w = per_item(weights, m, "weights", "criterion", low=0.0, strict=True)
    return max(float((w[criteria] ** 2).sum()) for _, criteria in graph.components())


def joint_regret(
    radius: float,
    gain: float,
    horizon: int,
    *,
    reg: float,
    norm: float,
    load: float,
    factor: float = 2.0,
    batch: int = 1,
) -> float:
    r"""R_pred <= 2 beta_J sqrt(m c_J T Gamma), with m the `load` and `norm` bounding |Psi|_op.

    Here c_J = S / log(1 + S) at S = (C - 1) + n |Psi|_op^2 / reg, n the most rounds told at once:
    before its last round every eigenvalue of an epoch has (n - 1) a_i <= C - 1. On the good
    event, with a solve before the first round and exact solves, by ordinary least squares. By
    generalised least squares with covariance S take |S^(-1/2) Psi|_op and m = w' S w.

    Deviation: the paper's proof sums current widths, |Psi' 1| in V_t^{-1}, where the lazy
    algorithm has those of the last update; it needs |Psi|_F^2 <= reg, and bounds the overshoot
    of an epoch by 4 where one round can multiply the determinant by 2^k. This form holds
    for every Psi and reg, and has the largest component in the place of k.

    >>> round(joint_regret(2.0, 46.15, 1000, reg=1.0, norm=1.0, load=4.0))
    2319
    """
    T = whole(horizon, "horizon", low=0)
    beta = number(radius, "radius", low=0.0, strict=False)
    gamma = number(gain, "gain", low=0.0, strict=False)
    pulling = number(load, "load", low=0.0, strict=True)
    lam, L = float(floats(reg, "reg")), float(floats(norm, "norm"))
    c = float(potential_constant(reg=lam, bound=L, factor=factor, batch=batch)[0])
    return float(2.0 * beta * np.sqrt(pulling * c * T * gamma))


def printed_joint_regret(
    radius: float, dim: int, horizon: int, *, criteria: int, reg: float, bound: float = 1.0
) -> float:
    r"""As printed: 2 beta sqrt(k) sqrt(T 2 d_eff log(1 + T L^2 / (d_eff reg))). No bound of ours.

    Its sum uses current matrices, so it says nothing of a lazy policy; see `joint_regret`.

    >>> round(printed_joint_regret(2.0, 10, 1000, criteria=4, reg=1.0))
    2431
    """
    k = whole(criteria, "criteria", low=1)
    gain = max_joint_gain(dim, horizon, reg=reg, frobenius=bound)
    beta = number(radius, "radius", low=0.0, strict=False)
    return float(2.0 * beta * np.sqrt(k * whole(horizon, "horizon", low=0) * 2.0 * gain))


def printed_joint_ratio(dim: int, dims: ArrayLike) -> float:
    r"""The paper's joint over its node-wise bound, d_eff sqrt(k) / sum_i d_i, as printed.

    It compares bounds, not widths: for isolated criteria it says that the joint estimate is
    sqrt(k) worse, where both estimates are the same and the joint width is smaller.

    >>> round(printed_joint_ratio(28, [28] * 6), 3)  # a clique of 6: 1 / sqrt(6)
    0.408
    >>> round(printed_joint_ratio(90, [3] * 30), 2)  # 30 isolated criteria: sqrt(30)
    5.48
    """
    d = floats(dims, "dims")
    d = per_item(d, d.size, "dims", "criterion", low=1.0, strict=False)
    return float(whole(dim, "dim", low=1) * np.sqrt(d.size) / d.sum())
