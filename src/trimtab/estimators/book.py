"""The arrays that hold all regressions, and the kernels that work on them.

Criteria are rows of the same flat arrays; there is no Python object per criterion.
The counters `n`, `tells` and `owed` are kept *relative*: a round that every criterion
has seen only raises a common counter, and what a criterion has really seen is that
counter plus its own entry. A frozen round therefore touches none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.compiled import Structure, bare, inner
from trimtab.estimators.factor import add_datum, mean_and_spread

TIE = 1e-12  # log-det ratios this close to log C count as equal, and ties do not trigger
NEVER = 2**62  # more rounds than anybody plays
PIECE = 1024  # criteria whose sums fit a cache


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


@bare
def begin(criteria: Ints, book: Book) -> None:
    """V_i is what it starts at, b_i = 0."""
    for i in criteria:
        start, end = book.blocks[i], book.blocks[i + 1]
        for e in range(start, end):
            book.R[e] = book.R0[e] if book.R0.size else 0.0
        if book.R0.size:
            continue
        p = start
        for r in range(book.offsets[i + 1] - book.offsets[i]):
            p += r
            book.R[p] = np.sqrt(book.reg[i])
            p += 1


@bare
def begin_again(criteria: Ints, book: Book) -> None:
    """V_i starts at another place, and all data are added to it again; clocks stay as they are."""
    x, cos, sin = book.work[0], book.work[1], book.work[2]
    for i in criteria:
        start = book.blocks[i]
        d = book.offsets[i + 1] - book.offsets[i]
        for e in range(start, book.blocks[i + 1]):
            book.R[e] = book.R0[e]
        for c in range(d + 1):  # A = R R' is the sum of c c' over the columns c of R
            for r in range(d + 1):
                x[r] = book.alone[start + r * (r + 1) // 2 + c] if r >= c else 0.0
            add_datum(book.R, start, x, d + 1, cos, sin)
        book.gain[i] = log_det(i, book)


@inner
def log_det(i: int, book: Book) -> float:
    """Log det V_i minus that of V_i's start, from the diagonals of the factors."""
    p = book.blocks[i]
    total = 0.0
    for r in range(book.offsets[i + 1] - book.offsets[i]):
        p += r
        first = book.R0[p] if book.R0.size else np.sqrt(book.reg[i])
        total += 2.0 * np.log(book.R[p] / first)
        p += 1
    return total


@bare
def add_round(losses: Array, shift: Array, total: Array, squares: Array) -> None:
    """One more round, seen by everybody: the whole work of a frozen round."""
    for i in range(losses.size):
        y = losses[i] - shift[i]
        total[i] += y
        squares[i] += y * y


@bare
def add_cut_round(
    losses: Array,
    shift: Array,
    total: Array,
    squares: Array,
    low: Array,
    high: Array,
    cut: Ints,
    excess: Array,
) -> int:
    """The same where losses beyond the limits are cut; that is written down only if one is.

    Returns how many were.
    """
    beyond = 0
    for i in range(losses.size):
        x = min(max(losses[i], low[i]), high[i])
        beyond += x != losses[i]
        y = x - shift[i]
        total[i] += y
        squares[i] += y * y
    if beyond:
        for i in range(losses.size):
            x = min(max(losses[i], low[i]), high[i])
            if x != losses[i]:
                cut[i] += 1
                excess[i] += losses[i] - x
    return beyond


@inner
def trimmed(i: int, y: float, n: int, book: Book) -> float:
    """The loss y, a mean of n rounds, cut at its limits: a mean strays less than one loss."""
    if not book.low.size or not book.high[i] < np.inf:
        return y
    w = book.spread[i]
    half = 0.5 * (book.high[i] - book.low[i]) * np.sqrt((w + 1.0 / n) / (w + 1.0))
    middle = 0.5 * (book.high[i] + book.low[i])
    x = min(max(y, middle - half), middle + half)
    if x != y:
        book.cut[i] += n
        book.excess[i] += n * (y - x)
    return float(x)


@bare
def add_rows(rows: Array, shift: Array, total: Array, squares: Array) -> None:
    """Several rounds, (n, m), as `add_round` one after another; criteria in pieces of a cache."""
    n, m = rows.shape
    for first in range(0, m, PIECE):
        for r in range(n):
            for i in range(first, min(first + PIECE, m)):
                y = rows[r, i] - shift[i]
                total[i] += y
                squares[i] += y * y


@bare
def add_some(losses: Array, count: Ints, common: int, book: Book) -> None:
    """The same with gaps and batches; a criterion's first loss becomes its shift."""
    for i in range(losses.size):
        if losses[i] == losses[i]:
            x = trimmed(i, losses[i], count[i], book)
            if common + book.tells[i] == 0:
                book.shift[i] = x
            y = x - book.shift[i]
            book.n[i] += count[i]
            book.tells[i] += 1
            book.total[i] += count[i] * y
            book.squares[i] += count[i] * y * y


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


@bare
def take_each(criteria: Ints, phi: Array, losses: Array, count: Ints, book: Book) -> None:
    """Every criterion given has seen a loss of its own at phi."""
    for i in criteria:
        take(i, phi, losses[i], count[i], book)


@bare
def foresee(phi: Array, count: Ints, book: Book) -> None:
    """Widths shrink as if the losses of so many rounds at phi had come: the expected ones.

    A loss that is just what was expected changes no estimate.
    """
    x, cos, sin = book.work[0], book.work[1], book.work[2]
    for i in range(count.size):
        if count[i] == 0:
            continue
        lo = book.offsets[i]
        d = book.offsets[i + 1] - lo
        mean, _ = mean_and_spread(book.R, book.blocks[i], phi[lo : lo + d], d, x)
        root = np.sqrt(float(count[i]))
        for f in range(d):
            x[f] = root * phi[lo + f]
        x[d] = root * mean
        add_datum(book.R, book.blocks[i], x, d + 1, cos, sin)


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
def forget(criteria: Ints, common: int, skipped: int, book: Book) -> None:
    """V_i is what it started at and b_i = 0 again for these criteria, and nothing in their sums."""
    begin(criteria, book)
    for i in criteria:
        if book.alone.size:
            for e in range(book.blocks[i], book.blocks[i + 1]):
                book.alone[e] = 0.0
        book.gain[i] = 0.0
        book.since[i] = 0.0
        book.seen[i] = 0
        book.data[i] = 0
        book.n[i] = -common
        book.tells[i] = -common
        book.owed[i] = -skipped
        book.total[i] = 0.0
        book.squares[i] = 0.0
        if book.low.size:
            book.cut[i] = 0
            book.excess[i] = 0.0


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
def expected(phi: Array, book: Book, means: Array, spreads: Array) -> None:
    """The estimated loss and w_i of all criteria at features phi."""
    for i in range(means.size):
        lo = book.offsets[i]
        d = book.offsets[i + 1] - lo
        here = phi[lo : lo + d]
        means[i], spreads[i] = mean_and_spread(book.R, book.blocks[i], here, d, book.work[0])


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
