"""How the noise of several criteria hangs together, and what the joint estimate makes of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, floats, number
from trimtab.errors import InvalidInput
from trimtab.model.graph import Graph

SINGULAR = 1e-10  # of the largest eigenvalue: smaller ones count as none


def scope_covariance(graph: Graph, *, sigma: float, floor: float) -> Array:
    r"""The covariance of the paper's latent noise, and a noise floor: sigma^2 B B' + floor I.

    In eta_i = sum_{j in N(i)} xi_j every knob j has one xi_j of standard deviation `sigma`, and
    B_ij = 1 where criterion i reads knob j. `floor` is the variance of what every measurement
    adds of its own.

    Deviation: the paper proposes generalised least squares for this noise, but B B' alone is
    singular for every clique, and its inverse does not exist; hence the floor.

    >>> scope_covariance(Graph.complete(2), sigma=0.1, floor=0.01)
    array([[0.03, 0.02],
           [0.02, 0.03]])
    """
    variance = number(sigma, "sigma", low=0.0, strict=False) ** 2
    B = np.zeros((graph.criteria, graph.knobs))
    B[graph.scope_rows(), graph.scope_knobs] = 1.0
    floor = number(floor, "floor", low=0.0, strict=True)
    return np.asarray(variance * (B @ B.T) + floor * np.eye(graph.criteria))


@dataclass(frozen=True, eq=False)
class JointNoise:
    """How observations of several criteria are weighed.

    With `precision` Q the regression is by generalised least squares, and the noise has unit
    scale in it. Without, every observation counts alike, and `sigma` is the scale of the noise in
    every direction; None where the criteria are independent and have scales of their own.
    """

    covariance: Array | None  # (m, m) as given
    precision: Array | None  # (m, m) its inverse, where there is one
    sigma: float | None

    def weights(self, observed: Ints, count: Ints) -> Array:
        """The weights of one observation of some criteria, each the mean of its `count` of rounds.

        A criterion seen in fewer rounds is taken to be seen in some of the others' rounds, so
        that two means share min(n_i, n_j) rounds: their covariance is S_ij / max(n_i, n_j).
        """
        if self.covariance is None or self.precision is None:
            return np.diag(count.astype(np.float64))
        S = self.covariance[np.ix_(observed, observed)]
        return np.asarray(np.linalg.inv(S / np.maximum.outer(count, count)))


def joint_noise(covariance: ArrayLike | None, m: int) -> JointNoise:
    """The noise of m criteria: independent, or of the covariance given.

    A covariance that can be inverted is, for generalised least squares. A singular one only
    bounds the noise, by its largest eigenvalue.

    >>> joint_noise([[1.0, 1.0], [1.0, 1.0]], 2).sigma
    1.4142135623730951
    """
    if covariance is None:
        return JointNoise(None, None, None)
    S = floats(covariance, "covariance")
    if S.shape != (m, m):
        raise InvalidInput(
            f"covariance has shape {S.shape}, expected ({m}, {m}); give a row per criterion"
        )
    if not np.isfinite(S).all() or np.abs(S - S.T).max() > SINGULAR * np.abs(S).max():
        raise InvalidInput("covariance is not finite and symmetric; give that of the losses")
    S = 0.5 * (S + S.T)
    eigenvalues = np.linalg.eigvalsh(S)
    least, most = float(eigenvalues[0]), float(eigenvalues[-1])
    if most <= 0.0 or least < -SINGULAR * most:
        raise InvalidInput(
            f"covariance has the eigenvalues {least:g} to {most:g}; none may be negative, and "
            "not all may be 0"
        )
    if least <= SINGULAR * most:
        return JointNoise(S, None, float(np.sqrt(most)))
    return JointNoise(S, np.asarray(np.linalg.inv(S)), 1.0)
