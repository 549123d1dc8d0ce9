r"""What is believed of shared factors before any loss is seen, and what is learned of it.

A factor's function psi_C' w_C is believed to be what a loss is (`prior`), with a spread S / pull_C:
in the total it counts pull_C times, and what matters equally may change equally. So the joint
regression starts at

    V0 = r K,    r = (sigma / S)^2,    K = diag_C(pull_C^2 K_C)

(feature by feature, where the features of a factor count differently), S and sigma in units of
weighted loss: an observation of criterion i is weighed by the square of its weight, unless a
covariance is given. One S and one sigma are learned from the likelihood of all losses together, as
in `empirical_bayes`. The levels of all criteria count as wholly unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.arrays import Array, per_item
from trimtab.learn.empirical_bayes import NOISE_SD, NOISES, SPREAD, SPREAD_SD, SPREADS
from trimtab.learn.joint.model import Factors
from trimtab.learn.joint.noise import JointNoise, joint_noise
from trimtab.learn.prior import Prior
from trimtab.learn.statistics import triangle_size, unpack
from trimtab.model.problem import Problem

SINGULAR = 1e-12  # of the largest eigenvalue of the weights: criteria never seen


@dataclass(frozen=True, kw_only=True, eq=False)
class JointPrior:
    """The prior of all factors together."""

    L: Array  # (d, d) K = L L', block by block
    mean: Array  # (d,) L' times the mean of w, for a spread of 1
    noise: JointNoise  # how observations are weighed
    spread: float | None  # None where it is learned
    sigma: float | None  # in the units of the weighing; None where it is learned
    levels: bool  # whether the factors have constants, so that levels are unknown

    def start(self, ratio: float, sigma: float) -> Array:
        """The augmented factor of V0 = r K and its mean, laid out as `factor` says."""
        d = len(self.mean)
        A = np.zeros((d + 1, d + 1))
        A[:d, :d], A[d, :d] = np.sqrt(ratio) * self.L, sigma * self.mean
        return A[np.tril_indices(d + 1)]


@dataclass(frozen=True)
class JointScales:
    """What was learned, in units of weighted loss."""

    spread: float  # S
    sigma: float
    doubt: float  # the standard deviation of log S

    @property
    def ratio(self) -> float:
        """r = (sigma / S)^2."""
        return (self.sigma / self.spread) ** 2

    def to_plain(self) -> dict[str, float]:
        """The scales for a snapshot."""
        return {f"learned.{name}": getattr(self, name) for name in _SCALES}

    @classmethod
    def from_plain(cls, saved: Mapping[str, Any]) -> JointScales | None:
        """The scales that `to_plain` saw; None where nothing was learned yet."""
        found = cls(*(float(saved[f"learned.{name}"]) for name in _SCALES))
        return found if found.spread > 0.0 else None


_SCALES = ("spread", "sigma", "doubt")
NOTHING = JointScales(0.0, 0.0, np.inf)  # learned yet


def joint_prior(prior: Prior, factors: Factors, noise: JointNoise) -> JointPrior:
    """The prior of the factors that goes with that of the criteria.

    Args:
        prior: of the criteria; of its spreads the factors have the weighted mean.
        factors: of a problem.
        noise: as the user has given it; its covariance goes before the prior's sigma.
    """
    problem, weights = factors.problem, factors.problem.weights

    def each(name: str) -> Array:
        m = problem.criteria
        return per_item(getattr(prior, name), m, name, "criterion", low=0.0, strict=True)

    alike = Problem(
        factors.graph, basis=factors.basis, domain=problem.domain.unbound(), weights=factors.pull
    )
    bound = Prior().bind(alike)
    L, mean, start = np.zeros((factors.dim, factors.dim)), np.zeros(factors.dim), 0
    for c, first in enumerate(factors.features.offsets[:-1].tolist()):
        d = int(alike.dims[c])
        A, at = unpack(bound.roots[bound.usual], start, d + 1), slice(first, first + d)
        L[at, at], mean[at] = factors.pulls[at, None] * A[:d, :d], A[d, :d]
        start += triangle_size(d + 1)
    sigma = noise.sigma
    if noise.covariance is None and prior.sigma is not None:
        noise, sigma = joint_noise(np.diag(each("sigma") ** 2), problem.criteria), 1.0
    elif noise.covariance is None:
        noise = joint_noise(np.diag(weights**-2.0), problem.criteria)
    return JointPrior(
        L=L,
        mean=mean,
        noise=noise,
        spread=None if prior.spread is None else float(np.mean(weights * each("spread"))),
        sigma=sigma,
        levels=problem.has_constants,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class JointData:
    """All that was seen, without a prior: sums over rounds, with weights P and losses y."""

    A: Array  # (d, d) sum of Psi' P Psi
    b: Array  # (d,) of Psi' P y
    c: float  # of y' P y, squares about the mean of a state included
    n: int  # losses
    H: Array  # (d, m) of Psi' P
    W: Array  # (m, m) of P
    T: Array  # (m,) of P y

    def without_levels(self) -> JointData:
        """What is left when every criterion's level is wholly unknown."""
        inverse = np.linalg.pinv(self.W, rcond=SINGULAR, hermitian=True)
        HW = self.H @ inverse
        return JointData(
            A=self.A - HW @ self.H.T,
            b=self.b - HW @ self.T,
            c=float(self.c - self.T @ inverse @ self.T),
            n=self.n - int((self.W.diagonal() > 0.0).sum()),
            H=np.zeros_like(self.H),
            W=np.zeros_like(self.W),
            T=np.zeros_like(self.T),
        )


def learned(data: JointData, prior: JointPrior, guess: float) -> JointScales:
    """Spread and noise of all factors.

    Args:
        data: what was seen.
        prior: of the factors.
        guess: a first noise, in units of weighted loss, where it is to be learned.
    """
    known = data.without_levels() if prior.levels else data
    found = _on_grid(known, prior, guess * np.exp(NOISES), guess)
    if prior.sigma is None:  # once more, closely around what was found
        found = _on_grid(known, prior, found.sigma * np.exp(NOISES / NOISES.size), guess)
    return found


def _on_grid(data: JointData, prior: JointPrior, noises: Array, typical: float) -> JointScales:
    """Spread and noise, from noises that are tried; what is told is not."""
    sigma = noises
    if prior.sigma is not None:
        sigma, typical = np.array([prior.sigma]), prior.sigma
    S = SPREAD * typical * np.exp(SPREADS) if prior.spread is None else np.array([prior.spread])
    table = likelihood(data, prior, S, sigma)
    table -= 0.5 * (np.log(S / (SPREAD * typical))[:, None] / SPREAD_SD) ** 2
    table -= 0.5 * (np.log(sigma / typical) / NOISE_SD) ** 2
    of_spread = np.logaddexp.reduce(table, axis=1)
    chance = np.exp(of_spread - of_spread.max())
    chance /= chance.sum()
    middle = float(chance @ np.log(S))
    doubt = float(np.sqrt(chance @ (np.log(S) - middle) ** 2))
    row = table[int(np.argmin(np.abs(np.log(S) - middle)))]
    share = np.exp(row - row.max())
    noise = float(np.sqrt(share @ sigma**2 / share.sum()))
    return JointScales(float(np.exp(middle)), noise, doubt)


def likelihood(data: JointData, prior: JointPrior, S: Array, sigma: Array) -> Array:
    """The log likelihood of these spreads and noises, but for a constant: (spreads, noises)."""
    X = np.linalg.solve(prior.L, data.A)
    values, Q = np.linalg.eigh(np.linalg.solve(prior.L, X.T))
    lam = np.maximum(values, 0.0)
    g, h = Q.T @ np.linalg.solve(prior.L, data.b), Q.T @ prior.mean
    r = (sigma / S[:, None]) ** 2
    mean = S[:, None] * h  # of the prior, (spreads, d)
    squares = (g - lam * mean) ** 2
    total = max(data.c, 0.0) + (mean * (lam * mean - 2.0 * g)).sum(axis=1)
    fit = np.array([(squares / (x[:, None] + lam)).sum(axis=1) for x in r.T]).T
    logdet = np.array([np.log1p(lam / x[:, None]).sum(axis=1) for x in r.T]).T
    left = np.maximum(total[:, None] - fit, 0.0)
    return np.asarray(-0.5 * (data.n * np.log(sigma**2) + logdet + left / sigma**2))
