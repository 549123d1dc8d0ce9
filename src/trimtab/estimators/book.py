"""The arrays that hold all regressions, and the kernels that work on them.

Criteria are rows of the same flat arrays; there is no Python object per criterion.
The counters `n`, `tells` and `owed` are kept *relative*: a round that every criterion
has seen only raises a common counter, and what a criterion has really seen is that
counter plus its own entry. A frozen round therefore touches none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trimtab._core import Regression
from trimtab.arrays import Array, Ints
from trimtab.compiled import Structure, bare, inner
from trimtab.estimators.factor import add_datum, mean_and_spread

TIE = 1e-12  # log-det ratios this close to log C count as equal, and ties do not trigger
NEVER = 2**62  # more rounds than anybody plays


@dataclass(frozen=True, kw_only=True, eq=False)
class Book(Structure):
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
    excess: Array  # (m,) * and by how much, added up
    data: Ints  # (m,) how many weighted data have gone into the factor
    work: Array  # (3, widest d + 1) room for the vectors of a criterion

    @cached_property
    def core(self) -> Regression:
        """What the compiled core does with these arrays."""
        return Regression(self)


@bare
def add_owed(
    criteria: Ints, mean: Array, squares: Array, common: int, skipped: int, book: Book
) -> None:
    """Losses that were owed arrive: their mean, and their sum of squares about it."""
    for c in range(criteria.size):
        i = criteria[c]
        n = skipped + book.owed[i]
        if n > 0:
            if common + book.tells[i] == n:  # none had arrived before
                book.shift[i] = mean[c]
            y = mean[c] - book.shift[i]
            book.total[i] += n * y
            book.squares[i] += squares[c] + n * y * y
            book.owed[i] = -skipped


@inner
def take(i: int, phi: Array, y: float, n: int, book: Book) -> None:
    """Criterion i has seen the loss y, the mean of n rounds, at features phi."""
    lo = book.offsets[i]
    d = book.offsets[i + 1] - lo
    _, spread = mean_and_spread(book.R, book.blocks[i], phi[lo : lo + d], d, book.work[0])
    growth = np.log1p(n * spread)
    if book.offset.size and book.data[i] == 0:
        book.offset[i] = y
    book.gain[i] += growth
    book.since[i] += growth
    book.seen[i] += n
    book.data[i] += 1
    weigh_in(i, phi, y, float(n), book)


@inner
def weigh_in(i: int, phi: Array, y: float, weight: float, book: Book) -> None:
    """The factor of criterion i takes in the loss y at features phi."""
    lo = book.offsets[i]
    d = book.offsets[i + 1] - lo
    root = np.sqrt(weight)
    x, cos, sin = book.work[0], book.work[1], book.work[2]
    for f in range(d):
        x[f] = root * phi[lo + f]
    x[d] = root * (y - book.offset[i] if book.offset.size else y)
    add_datum(book.R, book.blocks[i], x, d + 1, cos, sin)
    if book.alone.size:
        add_datum(book.alone, book.blocks[i], x, d + 1, cos, sin)


@inner
def empty_sums(i: int, common: int, book: Book) -> tuple[int, float]:
    """How many rounds the sums of criterion i hold, and their mean loss; they begin anew."""
    n = common + book.n[i]
    y = 0.0
    if n > 0:
        mean = book.total[i] / n
        book.pure_error[i] += max(book.squares[i] - mean * book.total[i], 0.0)
        book.pure_df[i] += common + book.tells[i] - 1
        y = book.shift[i] + mean
    book.n[i] = -common
    book.tells[i] = -common
    book.total[i] = 0.0
    book.squares[i] = 0.0
    if book.low.size:
        book.cut[i] = 0
        book.excess[i] = 0.0
    return n, y


@bare
def flush(criteria: Ints, common: int, book: Book) -> None:
    """The sums of these criteria go into their factors, as one weighted datum each."""
    for i in criteria:
        n, y = empty_sums(i, common, book)
        if n > 0:
            take(i, book.phi, y, n, book)


@bare
def measure(criteria: Ints, factor: float, book: Book) -> None:
    """The estimated loss, w_i and n*_i at the deployed state."""
    for i in criteria:
        lo = book.offsets[i]
        d = book.offsets[i + 1] - lo
        phi, u = book.phi[lo : lo + d], book.work[0]
        mean, spread = mean_and_spread(book.R, book.blocks[i], phi, d, u)
        book.mean[i] = mean
        book.spread[i] = spread
        book.due[i] = rounds_to_trigger(spread, book.since[i], factor)


@bare
def rounds_to_trigger(spread: float, since: float, factor: float) -> int:
    """n*: the first n with since + log(1 + n spread) > log(factor), ties excepted.

    Deviation: a ratio within 1e-12 of the factor does not trigger. Whole-numbered reg makes
    exact ties common, and comparing computed determinants decides a third of them wrongly.
    """
    room = factor * np.exp(TIE - since) - 1.0
    if room <= 0.0:
        return 0
    if spread * NEVER <= room:
        return NEVER
    return int(np.floor(room / spread)) + 1
