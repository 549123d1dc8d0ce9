r"""How many rounds of a design decide every edge, if the ellipsoids hold.

After n rounds V = reg I + n M, with M the design's average of phi phi', and with it the radius
beta, are known beforehand. An edge is decided for certain once 2 beta |W C| < gamma: its
coefficients, estimated to within beta |W C|, are either not 0 or below gamma. That is never
more than the 4 beta^2 / (kappa gamma^2) rounds of `theory.warmup_rounds`.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.learn.confidence import Evidence, Radius
from trimtab.learn.sparsity_test import Edges, group, norm, orthonormal
from trimtab.model.problem import Problem

CLOSE = 1.01  # how closely the number is found


def rounds_needed(
    problem: Problem,
    edges: Edges,
    grams: list[Array],
    *,
    reg: Array,
    radius: Radius,
    gamma: Array,
    most: float,
) -> int:
    """Rounds after which every open edge is decided, within a per cent; above `most` if more.

    Args:
        problem: on the super-graph.
        edges: of which the open ones count.
        grams: the average phi_i phi_i' of a round, (d_i, d_i) each.
        reg: (m,) the ridge parameters.
        radius: the rule for beta.
        gamma: (m,) the least size of a dependency.
        most: where to stop.
    """
    n = 1.0
    for i in np.unique(edges.criterion[edges.open]).tolist():
        groups = _groups(problem, edges, i)

        def certain(n: float, i: int = i, groups: list[tuple[Ints, Array]] = groups) -> bool:
            R = np.linalg.cholesky(reg[i] * np.eye(len(grams[i])) + n * grams[i])
            gain = 2.0 * np.log(np.diag(R)).sum() - len(R) * np.log(reg[i])
            beta = float(radius.radii(_evidence(problem, i, n, gain, reg))[0])
            inverse = np.linalg.solve(R, np.eye(len(R)))
            return all(2.0 * beta * norm(inverse[:, G] @ C) < gamma[i] for G, C in groups)

        low = n
        while not certain(n):
            low, n = n, 2.0 * n
            if n > 2.0 * most:
                return int(np.ceil(n))
        while n > CLOSE * low and n > 1.0:
            middle = np.sqrt(low * n)
            low, n = (low, middle) if certain(middle) else (middle, n)
    return int(np.ceil(n))


def _groups(problem: Problem, edges: Edges, i: int) -> list[tuple[Ints, Array]]:
    """G and C of every open edge of criterion i."""
    map_, mine = orthonormal(problem, i), (edges.criterion == i) & edges.open
    return [
        group(problem, map_, i, edges.knob[mine & (edges.unit == unit)])
        for unit in np.unique(edges.unit[mine])
    ]


def _evidence(problem: Problem, i: int, n: float, gain: float, reg: Array) -> Evidence:
    """What a radius may depend on after n rounds."""
    return Evidence(
        criteria=np.array([i]),
        gain=np.array([gain]),
        seen=np.array([int(n)]),
        dims=problem.dims[[i]],
        reg=reg[[i]],
        bounds=problem.features.bounds[[i]],
        pure_error=np.zeros(1),
        pure_df=np.zeros(1, np.int64),
    )
