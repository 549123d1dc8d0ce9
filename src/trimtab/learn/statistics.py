r"""The arrays that hold all regressions; the core works on them.

Criteria are rows of the same flat arrays; there is no Python object per criterion.
The counters `n`, `tells` and `owed` are kept *relative*: a round that every criterion
has seen only raises a common counter, and what a criterion has really seen is that
counter plus its own entry. A frozen round therefore touches none of them.

**The augmented Cholesky factor** is one triangle per criterion that holds its whole
regression. For a criterion with d features let A be the (d + 1) x (d + 1) matrix

    A = [ V   b ]      V = reg I + sum_t n_t phi_t phi_t',   b = sum_t n_t phi_t y_t,
        [ b'  c ]      c = sum_t n_t y_t^2.

Its lower factor, A = R R', is stored row after row in (d + 1)(d + 2)/2 numbers. The
first d rows are the factor of V; the last row is (v', rho) with v = R^{-1} b, so
that theta = R^{-T} v, and rho^2 is the least value of the ridge objective. A datum
enters by one sweep of plane rotations, which is as accurate as an orthogonal
method gets: V is never formed, inverted or factorised anew.

Deviation: a ratio within 1e-12 of the factor does not trigger. Whole-numbered reg makes
exact ties common, and comparing computed determinants decides a third of them wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trimtab._core import Regression
from trimtab.arrays import Array, Ints
from trimtab.model.bases.features import offsets_of

TIE = 1e-12  # log-det ratios this close to log C count as equal, and ties do not trigger
NEVER = 2**62  # more rounds than anybody plays


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistics:
    """The arrays of all criteria. Those marked * belong to the state now deployed."""

    offsets: Ints  # (m + 1,) features of criterion i: offsets[i]:offsets[i + 1]
    blocks: Ints  # (m + 1,) its triangle in R
    R: Array  # augmented factors
    phi: Array  # * features
    gain: Array  # (m,) log det V_i - d_i log reg_i
    since: Array  # (m,) l_i: log det V_i - log det V_i(tau_i)
    mean: Array  # (m,) * phi_i' theta_i
    spread: Array  # (m,) * w_i = phi_i' V_i^{-1} phi_i
    due: Ints  # (m,) * n*_i, the rounds in the sums at which criterion i triggers
    seen: Ints  # (m,) rounds observed, without those still in the sums
    n: Ints  # (m,) * rounds in the sums, relative to the common counter
    tells: Ints  # (m,) * separate observations in the sums, relative
    owed: Ints  # (m,) * of these the ones whose losses are still to be asked for, relative
    #                    to a counter of their own
    shift: Array  # (m,) * first loss observed
    total: Array  # (m,) * sum of n (y - shift)
    squares: Array  # (m,) * sum of n (y - shift)^2
    pure_error: Array  # (m,) sum over past states of sum n (y - mean)^2
    pure_df: Ints  # (m,) its degrees of freedom
    reg: Array  # (m,) V_i starts at this times I,
    R0: Array  # or at the factors of this, laid out as R; empty where it does not
    alone: Array  # factors of the data without V_i's start, laid out as R; empty if not kept
    offset: Array  # (m,) a loss that counts as 0: the first one; empty where 0 does
    low: Array  # (m,) * losses beyond these are cut; empty where none is
    high: Array  # (m,) *
    cut: Ints  # (m,) * how many were
    above: Ints  # (m,) * of these above the upper limit,
    excess: Array  # (m,) * and by how much all were, added up
    data: Ints  # (m,) how many weighted data have gone into the factor
    counters: Ints  # (4,) rounds that every criterion has seen, how many of these are skipped,
    #                 whether every criterion has its shift, and at how many rounds that every
    #                 criterion has seen the first one triggers

    @cached_property
    def core(self) -> Regression:
        """What the compiled core does with these arrays."""
        return Regression(self)


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
