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

from trimtab.arrays import Array, Ints
from trimtab.model.bases.features import offsets_of


def triangle_size(n: int) -> int:
    """How many numbers the lower triangle of an n x n matrix has."""
    return n * (n + 1) // 2


def unpack(R: Array, start: int, n: int) -> Array:
    """The n x n lower triangle stored at `start`, as a matrix."""
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = R[start : start + triangle_size(n)]
    return matrix


def triangles(dims: Ints) -> Ints:
    """Where each criterion's packed triangle of d + 1 rows begins, and the end: (m + 1,)."""
    return offsets_of((dims + 1) * (dims + 2) // 2)
