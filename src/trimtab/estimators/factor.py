r"""The augmented Cholesky factor: one triangle per criterion that holds its whole regression.

For a criterion with d features let A be the (d + 1) x (d + 1) matrix

    A = [ V   b ]      V = reg I + sum_t n_t phi_t phi_t',   b = sum_t n_t phi_t y_t,
        [ b'  c ]      c = sum_t n_t y_t^2.

Its lower factor, A = R R', is stored row after row in (d + 1)(d + 2)/2 numbers. The
first d rows are the factor of V; the last row is (v', rho) with v = R^{-1} b, so
that theta = R^{-T} v, and rho^2 is the least value of the ridge objective. A datum
enters by one sweep of plane rotations, which is as accurate as an orthogonal
method gets: V is never formed, inverted or factorised anew.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array
from trimtab.compiled import bare


@bare
def add_datum(R: Array, start: int, x: Array, n: int, cos: Array, sin: Array) -> None:
    """R R' + x x' takes the place of R R', for the n x n triangle at `start`."""
    p = start
    for i in range(n):
        x_i = x[i]
        for j in range(i):
            r = R[p]
            R[p] = cos[j] * r + sin[j] * x_i
            x_i = cos[j] * x_i - sin[j] * r
            p += 1
        r = R[p]
        h = np.sqrt(r * r + x_i * x_i)
        if h > 0.0:
            cos[i], sin[i] = r / h, x_i / h
        else:
            cos[i], sin[i] = 1.0, 0.0
        R[p] = h
        p += 1


@bare
def mean_and_spread(R: Array, start: int, phi: Array, d: int, u: Array) -> tuple[float, float]:
    """phi' theta and phi' V^{-1} phi, by one triangular solve: u = R^{-1} phi, then u.v and u.u."""
    p = start
    for i in range(d):
        x = phi[i]
        for j in range(i):
            x -= R[p] * u[j]
            p += 1
        u[i] = x / R[p]
        p += 1
    mean = 0.0
    spread = 0.0
    for i in range(d):
        mean += u[i] * R[p + i]
        spread += u[i] * u[i]
    return mean, spread


@bare
def invert(R: Array, start: int, d: int, U: Array, at: int) -> None:
    """R^{-1} of the d x d triangle at `start`, column after column without zeros, from U[at] on."""
    for c in range(d):
        for r in range(c, d):
            row = start + r * (r + 1) // 2
            x = 1.0 if r == c else 0.0
            for j in range(c, r):
                x -= R[row + j] * U[at + j - c]
            U[at + r - c] = x / R[row + r]
        at += d - c


def triangle_size(n: int) -> int:
    """How many numbers the lower triangle of an n x n matrix has."""
    return n * (n + 1) // 2


def unpack(R: Array, start: int, n: int) -> Array:
    """The n x n lower triangle stored at `start`, as a matrix."""
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = R[start : start + triangle_size(n)]
    return matrix
