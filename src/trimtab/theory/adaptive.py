r"""Bounds of the adaptive graph refinement (Section 5.2).

Symbols: gamma, the least size of a dependency that is there (Assumption B); kappa, how much
one round of the warm-up tells of any dependency (Assumption C); beta, the confidence radius on
the super-graph; tau, the length of the warm-up.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trimtab.arrays import Array, number, whole
from trimtab.learn.sparsity_test import Edges, group, norm, orthonormal
from trimtab.model.problem import Problem

LONGEST = 2**50  # the horizon at which `break_even` gives up: floats still tell rounds apart
RIDGE = 1e-12  # relative, of Gram matrices that may be singular


def mean_grams(problem: Problem, states: Array | None = None) -> list[Array]:
    """The average phi_i phi_i' over states (J, k), or over the whole domain: (d_i, d_i) each."""
    if states is None:  # phi = B psi, and psi psi' has the mean I
        maps = [orthonormal(problem, i).B for i in range(problem.criteria)]
        return [B @ B.T for B in maps]
    phi = np.array([problem.phi(x) for x in states])
    parts = np.split(phi, problem.features.offsets[1:-1], axis=1)
    return [P.T @ P / len(states) for P in parts]


def kappa(problem: Problem, states: Array | None = None) -> float:
    r"""The kappa of a design: what a round tells of the weakest dependency, all else unknown.

    With M_i the average of phi_i phi_i' and C the map from theta_G to orthonormal
    coefficients it is the least 1 / lambda_max(C' (M_i^{-1})_GG C) over criteria and knobs that
    are not fixed; 0 if some dependency cannot be seen at all. Without states it is that of
    uniform draws.

    Deviation: Assumption C asks for the least eigenvalue of the whole matrix, at most this, and
    under lazy play, where it cannot hold: least eigenvalues grow like a logarithm there.

    >>> import trimtab as tt
    >>> problem = tt.Problem(tt.Graph.complete(2), basis=tt.bases.Linear(intercept=True))
    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> round(kappa(problem), 6), round(kappa(problem, corners), 6)
    (1.0, 3.0)
    """
    edges, least = Edges(problem), np.inf
    for i, M in enumerate(mean_grams(problem, states)):
        R = np.linalg.cholesky(M + RIDGE * np.trace(M) * np.eye(len(M)))
        inverse, map_ = np.linalg.solve(R, np.eye(len(R))), orthonormal(problem, i)
        mine = (edges.criterion == i) & edges.open
        for unit in np.unique(edges.unit[mine]):
            G, C = group(problem, map_, i, edges.knob[mine & (edges.unit == unit)])
            reach = norm(inverse[:, G] @ C)
            least = min(least, 1.0 / reach**2 if reach else np.inf)
    return least if least > 1e3 * RIDGE else 0.0


def warmup_rounds(radius: float, *, kappa: float, gamma: float, printed: bool = False) -> float:
    r"""The length of the warm-up after which the graph is known: tau = 4 beta^2 / (kappa gamma^2).

    On the good event an estimate is then off by less than gamma / 2, in orthonormal
    coordinates: what is there is included, what is not is excluded.

    Deviation: the paper prints 16 beta^2 / (kappa gamma^2) (``printed=True``), in which the
    estimates are off by gamma / 4 only; testing the group against its own ellipsoid needs a
    quarter of that.

    >>> warmup_rounds(2.0, kappa=0.5, gamma=0.4)
    200.0
    >>> warmup_rounds(2.0, kappa=0.5, gamma=0.4, printed=True)
    800.0
    """
    beta = number(radius, "radius", low=0.0, strict=False)
    k = number(kappa, "kappa", low=0.0, strict=True)
    g = number(gamma, "gamma", low=0.0, strict=True)
    return (16.0 if printed else 4.0) * beta**2 / (k * g**2)


def adaptive_regret(
    rounds: int, later: float, *, worst: float, path: float, move_cost: float = 0.0
) -> float:
    r"""Regret and movement: tau R_max + move_cost path + what Theorem 1' says of the rest.

    Args:
        rounds: tau.
        later: `prediction_regret` and `movement_regret` on the learned graph, summed.
        worst: R_max, the largest total loss less the least one.
        path: the l1 length of the warm-up's path.
        move_cost: the price of moving one knob by 1.

    Deviation: the theorem charges a warm-up round with the square root of the dimension. No
    width bounds the regret of a state that was not chosen by its bound: it is R_max. And
    the price of the warm-up's movement, k / 3 a round for uniform draws, is missing there.

    >>> adaptive_regret(100, 50.0, worst=2.0, path=10.0, move_cost=3.0)
    280.0
    """
    tau = whole(rounds, "rounds", low=0)
    R_max = number(worst, "worst", low=0.0, strict=False)
    moved = number(move_cost, "move_cost", low=0.0, strict=False) * number(
        path, "path", low=0.0, strict=False
    )
    return tau * R_max + moved + number(later, "later", low=0.0, strict=False)


def break_even(
    cost: float, *, learned: Callable[[int], float], given: Callable[[int], float]
) -> float:
    r"""The first horizon at which a warm-up has paid for itself: cost + learned(T) <= given(T).

    `learned` and `given` are regrets on the learned graph and on the super-graph, bounds or
    measurements; their difference must not shrink with T. Infinite if it never pays.

    >>> break_even(100.0, learned=lambda T: T**0.5, given=lambda T: 3.0 * T**0.5)
    2500
    """

    def pays(T: int) -> bool:
        return cost + learned(T) <= given(T)

    high = 1
    while not pays(high):
        high *= 2
        if high > LONGEST:
            return np.inf
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high
