"""What noisy tables say of smooth functions: kernel ridge regression, chosen by its errors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import solve

from trimtab.arrays import Array

FOLDS = 3
LENGTHS = (0.25, 0.45, 0.8)  # of the kernel, in sides of the box
RIDGES = (1e-2, 1e-1, 1.0)  # noise over signal, as variances


@dataclass(frozen=True, eq=False)
class Smoother:
    """A smooth function: a quadratic, and bumps around the states of the table."""

    centres: Array  # (n, k)
    trend: Array  # of the quadratic's features
    bumps: Array  # (n,)
    length: float
    error: float  # mean square of what it misses at states left out, over the variance

    def __call__(self, states: Array) -> Array:
        """The values at states (n, k): (n,)."""
        bumps = _kernel(states, self.centres, self.length) @ self.bumps
        return np.asarray(_quadratic(states) @ self.trend + bumps)


def smoothed(states: Array, values: Array) -> list[Smoother]:
    """The smoother of each column of values (n, q) at distinct states (n, k).

    Length and ridge of a column are those with the lowest mean square error at states left out,
    a third of them at a time.
    """
    folds = np.random.default_rng(0).permutation(len(states)) % FOLDS
    choices = list(product(LENGTHS, RIDGES))
    errors = np.zeros((len(choices), values.shape[1]))
    for c, (length, ridge) in enumerate(choices):
        for fold in range(FOLDS):
            out = folds == fold
            trend, bumps = _fitted(states[~out], values[~out], length, ridge)
            found = _quadratic(states[out]) @ trend
            found += _kernel(states[out], states[~out], length) @ bumps
            errors[c] += ((found - values[out]) ** 2).sum(axis=0)
    best = errors.argmin(axis=0)
    shares = errors.min(axis=0) / len(states) / np.maximum(values.var(axis=0), 1e-300)
    made = []
    for q, c in enumerate(best.tolist()):
        trend, bumps = _fitted(states, values[:, q], *choices[c])
        made.append(Smoother(states, trend, bumps, choices[c][0], float(shares[q])))
    return made


def _fitted(states: Array, values: Array, length: float, ridge: float) -> tuple[Array, Array]:
    """The quadratic of least squares, and the bumps of what it leaves."""
    phi = _quadratic(states)
    trend: Array = np.asarray(np.linalg.lstsq(phi, values, rcond=1e-8)[0], np.float64)
    K = _kernel(states, states, length) + ridge * np.eye(len(states))
    return trend, np.asarray(solve(K, values - phi @ trend, assume_a="pos"), np.float64)


def _quadratic(states: Array) -> Array:
    """1, all knobs, their squares and products: (n, d)."""
    first, second = np.triu_indices(states.shape[1])
    ones = np.ones((len(states), 1))
    return np.concatenate((ones, states, states[:, first] * states[:, second]), axis=1)


def _kernel(a: Array, b: Array, length: float) -> Array:
    squares = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2.0 * a @ b.T
    return np.asarray(np.exp(np.maximum(squares, 0.0) / (-2.0 * length**2)))
