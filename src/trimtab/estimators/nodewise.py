r"""One ridge regression per criterion, lazy: matrices change only when the state does.

While a state is deployed its features phi_i are constant, so that
V_i(n) = V_i + n phi_i phi_i' after n more observed rounds. Until the state changes
it is enough to keep sums of the losses, and the determinant test

    det V_i(n) > C det V_i(tau_i),    det V_i(n) = det V_i (1 + n w_i),

with w_i = phi_i' V_i^{-1} phi_i, has its answer beforehand: it holds from
n*_i = floor((C e^{-l_i} - 1) / w_i) + 1 on, where l_i is the log of the ratio gathered
since tau_i. `flush` carries the sums into the factors, by one weighted datum each.

All criteria live in the same flat arrays; there is no Python object per criterion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from trimtab.arrays import Array, Ints, read_only
from trimtab.bases.features import offsets_of
from trimtab.compiled import compiled
from trimtab.estimators.confidence import Evidence
from trimtab.estimators.factor import add_datum, mean_and_spread, unpack
from trimtab.problem import Problem

TIE = 1e-12  # log-det ratios this close to log C count as equal, and ties do not trigger
NEVER = 2**62  # more rounds than anybody plays
NONE: Ints = read_only(np.empty(0, np.int64))


class Book(NamedTuple):
    """The arrays of all criteria. Those marked * belong to the state now deployed."""

    offsets: Ints  # (m + 1,) features of criterion i: offsets[i]:offsets[i + 1]
    blocks: Ints  # (m + 1,) its triangle in R
    R: Array  # augmented factors
    phi: Array  # * features
    gain: Array  # (m,) log det V_i - d_i log reg_i
    since: Array  # (m,) l_i: log det V_i - log det V_i(tau_i)
    spread: Array  # (m,) * w_i = phi_i' V_i^{-1} phi_i
    due: Ints  # (m,) * n*_i, counted in rounds observed at this state
    seen: Ints  # (m,) rounds observed, without those still in the sums
    n: Ints  # (m,) * rounds in the sums
    tells: Ints  # (m,) * separate observations in the sums
    shift: Array  # (m,) * first loss observed
    total: Array  # (m,) * sum of n (y - shift)
    squares: Array  # (m,) * sum of n (y - shift)^2
    pure_error: Array  # (m,) sum over past states of sum n (y - mean)^2
    pure_df: Ints  # (m,) its degrees of freedom


class NodewiseEstimators:
    """The regressions of all criteria of a problem, and their clocks.

    Args:
        problem: gives the dimensions and the features.
        reg: (m,) the ridge parameter of each criterion; V_i starts at reg_i I.
        factor: C > 1, by how much a determinant must grow to trigger.
        state: the state deployed first.
    """

    def __init__(self, problem: Problem, *, reg: Array, factor: float, state: Array) -> None:
        self.problem, self.reg, self.factor = problem, reg, factor
        m, d = problem.criteria, problem.dims
        blocks = offsets_of((d + 1) * (d + 2) // 2)
        self.book = Book(
            offsets=problem.features.offsets,
            blocks=read_only(blocks),
            R=np.zeros(int(blocks[-1])),
            phi=problem.phi(state),
            gain=np.zeros(m),
            since=np.zeros(m),
            spread=np.zeros(m),
            due=np.zeros(m, np.int64),
            seen=np.zeros(m, np.int64),
            n=np.zeros(m, np.int64),
            tells=np.zeros(m, np.int64),
            shift=np.zeros(m),
            total=np.zeros(m),
            squares=np.zeros(m),
            pure_error=np.zeros(m),
            pure_df=np.zeros(m, np.int64),
        )
        _begin(self.book, np.sqrt(reg))
        self._full = 0  # rounds seen by every criterion since `n` was last brought up to date
        self._ready = False  # whether every criterion has its shift
        self._first_due = 0  # the smallest n*_i - n_i
        self._measure(problem.all_criteria)

    # The sums: what a told loss does while the state stays.

    def add(self, losses: Array, count: Ints | None, *, complete: bool = False) -> None:
        """Add losses of the deployed state: means of `count` rounds, NaN where none was seen.

        `complete` tells that none is missing, which makes a single round much cheaper.
        """
        if complete and count is None and self._ready:
            _add_round(losses, self.book.shift, self.book.total, self.book.squares)
            self._full += 1
            return
        self._settle()
        ones = np.ones(losses.size, np.int64) if count is None else count
        _add_some(losses, ones, self.book)
        self._ready = bool((self.book.tells > 0).all())
        self._first_due = int((self.book.due - self.book.n).min())

    def add_elsewhere(self, losses: Array, count: Ints, state: Array) -> None:
        """Add losses of another state, at once: a weighted datum for each criterion observed."""
        self._settle()
        observed = np.flatnonzero(~np.isnan(losses))
        phi = np.empty_like(self.book.phi)
        self.problem.features.fill(phi, state, observed)
        _add_datum_each(observed, phi, losses, count, self.book)
        self._measure(observed)

    def triggered(self) -> Ints:
        """The criteria whose determinant has passed the factor since their clock was reset."""
        if self._full < self._first_due:
            return NONE
        return np.flatnonzero(self.book.n + self._full >= self.book.due)

    def rounds_left(self) -> int:
        """Rounds until the first trigger if every criterion is observed in each (or `NEVER`)."""
        return max(self._first_due - self._full, 0)

    # The matrices: what happens when the state changes.

    def flush(self, criteria: Ints) -> None:
        """Carry the sums of these criteria into their factors."""
        self._settle()
        _flush(criteria, self.book)
        self._ready = False

    def reset_clocks(self, criteria: Ints) -> None:
        """tau_i becomes now: determinants are compared with their present values."""
        self.book.since[criteria] = 0.0

    def deploy(self, state: Array, criteria: Ints) -> None:
        """Observe from now on at `state`; `criteria`, all flushed, are those to measure anew."""
        self.problem.features.fill(self.book.phi, state, criteria)
        self._measure(criteria)

    def _measure(self, criteria: Ints) -> None:
        _measure(criteria, self.book, self.factor)
        self._first_due = int((self.book.due - self.book.n).min())

    def _settle(self) -> None:
        if self._full:
            self.book.n[:] += self._full
            self.book.tells[:] += self._full
            self._first_due -= self._full
            self._full = 0

    # Memory.

    def snapshot(self) -> dict[str, Array | Ints]:
        """Every array that changes, copied; sums of frozen rounds brought up to date."""
        saved = {name: getattr(self.book, name).copy() for name in _CHANGING}
        saved["n"] += self._full
        saved["tells"] += self._full
        return saved

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Become what `snapshot` saw; the arrays are known to fit."""
        for name in _CHANGING:
            getattr(self.book, name)[:] = saved[name]
        self._full = 0
        self._ready = bool((self.book.tells > 0).all())
        self._first_due = int((self.book.due - self.book.n).min())

    # What the estimates say.

    def evidence(self) -> Evidence:
        """What the radii depend on, as of the last flush."""
        book = self.book
        dims, bounds = self.problem.dims, self.problem.features.bounds
        return Evidence(gain=book.gain, seen=book.seen, dims=dims, reg=self.reg, bounds=bounds)

    def theta(self, criterion: int) -> Array:
        """The ridge estimate of one criterion, as of its last flush."""
        R, v, _ = self.split(criterion)
        return np.asarray(np.linalg.solve(R.T, v), np.float64)

    def V(self, criterion: int) -> Array:
        """The Gram matrix of one criterion, as of its last flush."""
        R, _, _ = self.split(criterion)
        return np.asarray(R @ R.T)

    def residual(self, criterion: int) -> float:
        """The least ridge objective of one criterion between its states, as of its last flush."""
        return self.split(criterion)[2] ** 2

    def split(self, criterion: int) -> tuple[Array, Array, float]:
        """The factor of one criterion as (R, v, rho), as of its last flush."""
        d = int(self.book.offsets[criterion + 1] - self.book.offsets[criterion])
        A = unpack(self.book.R, int(self.book.blocks[criterion]), d + 1)
        return A[:d, :d], A[d, :d], float(A[d, d])


_CHANGING = tuple(name for name in Book._fields if name not in ("offsets", "blocks"))


@compiled
def _begin(book: Book, root_reg: Array) -> None:
    """V_i = reg_i I, b_i = 0."""
    for i in range(root_reg.size):
        p = book.blocks[i]
        for r in range(book.offsets[i + 1] - book.offsets[i]):
            p += r
            book.R[p] = root_reg[i]
            p += 1


@compiled
def _add_round(losses: Array, shift: Array, total: Array, squares: Array) -> None:
    """One more round, seen by everybody: the whole work of a frozen round."""
    for i in range(losses.size):
        y = losses[i] - shift[i]
        total[i] += y
        squares[i] += y * y


@compiled
def _add_some(losses: Array, count: Ints, book: Book) -> None:
    """The same with gaps and batches; a criterion's first loss becomes its shift."""
    for i in range(losses.size):
        if losses[i] == losses[i]:
            if book.tells[i] == 0:
                book.shift[i] = losses[i]
            y = losses[i] - book.shift[i]
            book.n[i] += count[i]
            book.tells[i] += 1
            book.total[i] += count[i] * y
            book.squares[i] += count[i] * y * y


@compiled
def _take(i: int, phi: Array, y: float, n: int, book: Book, work: Array) -> None:
    """Criterion i has seen the loss y, the mean of n rounds, at features phi."""
    lo = book.offsets[i]
    d = book.offsets[i + 1] - lo
    _, spread = mean_and_spread(book.R, book.blocks[i], phi[lo : lo + d], d, work[0])
    growth = np.log1p(n * spread)
    book.gain[i] += growth
    book.since[i] += growth
    book.seen[i] += n
    root = np.sqrt(n)
    x = work[0]
    for f in range(d):
        x[f] = root * phi[lo + f]
    x[d] = root * y
    add_datum(book.R, book.blocks[i], x, d + 1, work[1], work[2])


@compiled
def _workspace(criteria: Ints, book: Book) -> Array:
    """Room for the vectors of the widest of these criteria: (3, d + 1)."""
    widest = 0
    for i in criteria:
        widest = max(widest, book.offsets[i + 1] - book.offsets[i])
    return np.empty((3, widest + 1))


@compiled
def _add_datum_each(criteria: Ints, phi: Array, losses: Array, count: Ints, book: Book) -> None:
    work = _workspace(criteria, book)
    for i in criteria:
        _take(i, phi, losses[i], count[i], book, work)


@compiled
def _flush(criteria: Ints, book: Book) -> None:
    work = _workspace(criteria, book)
    for i in criteria:
        n = book.n[i]
        if n > 0:
            mean = book.total[i] / n
            book.pure_error[i] += max(book.squares[i] - mean * book.total[i], 0.0)
            book.pure_df[i] += book.tells[i] - 1
            _take(i, book.phi, book.shift[i] + mean, n, book, work)
            book.n[i] = 0
            book.tells[i] = 0
            book.total[i] = 0.0
            book.squares[i] = 0.0


@compiled
def _measure(criteria: Ints, book: Book, factor: float) -> None:
    """w_i and n*_i at the deployed state."""
    work = _workspace(criteria, book)
    for i in criteria:
        lo = book.offsets[i]
        d = book.offsets[i + 1] - lo
        _, spread = mean_and_spread(book.R, book.blocks[i], book.phi[lo : lo + d], d, work[0])
        book.spread[i] = spread
        book.due[i] = rounds_to_trigger(spread, book.since[i], factor)


@compiled
def rounds_to_trigger(spread: float, since: float, factor: float) -> int:
    """n*: the first n with since + log(1 + n spread) > log(factor), ties excepted."""
    room = factor * np.exp(TIE - since) - 1.0
    if room <= 0.0:
        return 0
    if spread * NEVER <= room:
        return NEVER
    return int(np.floor(room / spread)) + 1
