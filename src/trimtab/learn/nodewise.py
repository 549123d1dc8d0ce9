r"""One ridge regression per criterion, lazy: matrices change only when the state does.

While a state is deployed its features phi_i are constant, so that
V_i(n) = V_i + n phi_i phi_i' after n more observed rounds. Until the state changes
it is enough to keep sums of the losses, and the determinant test

    det V_i(n) > C det V_i(tau_i),    det V_i(n) = det V_i (1 + n w_i),

with w_i = phi_i' V_i^{-1} phi_i, has its answer beforehand: it holds from
n*_i = floor((C e^{-l_i} - 1) / w_i) + 1 on, where l_i is the log of the ratio gathered
since tau_i. `flush` carries the sums into the factors, by one weighted datum each. With a
`memory` data lose weight as they age: see `fading`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from trimtab._core import predict
from trimtab.arrays import LARGEST_LOSS, NOBODY, Array, Ints, read_only
from trimtab.learn import fading
from trimtab.learn.confidence import Evidence
from trimtab.learn.prior import BoundPrior
from trimtab.learn.statistics import NEVER, Statistics, triangles, unpack
from trimtab.model.bases.features import spans
from trimtab.model.problem import Problem

NOTHING: Array = np.empty(0)
UNKNOWN = 1.0 / 144.0  # r, before anything is known: losses change by 12 times their noise
WILD = 0.5  # of its limit: by how much more a loss is off that does not count at all

# Asked for criteria and for how many of the last rounds: mean loss, and squares about it.
Owed = Callable[[Ints, Ints], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class Limits:
    """How far a loss may be from what is expected of it, (m,) each."""

    sigma: Array  # the noise of one loss
    misfit: Array  # what the basis may miss of it
    deviations: Array  # of noise, estimate and misfit together
    larger: float = 1.0  # times what is said of the latter two, as long as the spread is in doubt

    def half(self, spread: Array, count: Ints | int = 1) -> Array:
        """For means of `count` losses where the estimate has this spread: (m,)."""
        model = self.sigma**2 * spread + self.misfit**2
        variance = self.sigma**2 / count + self.larger**2 * model
        return np.asarray(self.deviations * np.sqrt(variance))


class NodewiseEstimators:
    """The regressions of all criteria of a problem, and their clocks.

    Args:
        problem: gives the dimensions and the features.
        reg: (m,) the ridge parameter of each criterion; V_i starts at reg_i I.
        factor: C > 1, by how much a determinant must grow to trigger.
        state: the state deployed first.
        prior: if given, V_i starts at r_i K_i instead, where r_i is set by `start_at`.
        known: whether V_i starts where the prior's own spread and noise have it, and stays there.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        reg: Array,
        factor: float,
        state: Array,
        prior: BoundPrior | None = None,
        known: bool = False,
    ) -> None:
        self.problem, self.reg, self.factor, self.prior = problem, reg, factor, prior
        m, d = problem.criteria, problem.dims
        blocks = triangles(d)
        self.stats = Statistics(
            offsets=problem.features.offsets,
            blocks=read_only(blocks),
            R=np.zeros(int(blocks[-1])),
            phi=problem.phi(state),
            gain=np.zeros(m),
            since=np.zeros(m),
            mean=np.zeros(m),
            spread=np.zeros(m),
            due=np.zeros(m, np.int64),
            seen=np.zeros(m, np.int64),
            n=np.zeros(m, np.int64),
            tells=np.zeros(m, np.int64),
            owed=np.zeros(m, np.int64),
            shift=np.zeros(m),
            total=np.zeros(m),
            squares=np.zeros(m),
            pure_error=np.zeros(m),
            pure_df=np.zeros(m, np.int64),
            reg=reg,
            R0=np.zeros(0 if prior is None else int(blocks[-1])),
            alone=np.zeros(0 if prior is None else int(blocks[-1])),
            offset=np.zeros(0 if prior is None or known or not problem.has_constants else m),
            low=np.full(0 if prior is None else m, -np.inf),
            high=np.full(0 if prior is None else m, np.inf),
            cut=np.zeros(0 if prior is None else m, np.int64),
            above=np.zeros(0 if prior is None else m, np.int64),
            excess=np.zeros(0 if prior is None else m),
            data=np.zeros(m, np.int64),
            counters=np.zeros(4, np.int64),
        )
        if prior is not None and known:
            self._start_at(prior.ratio, np.asarray(prior.sigma), prior.usual)
        elif prior is not None:
            self._start_at(np.full(m, UNKNOWN), np.zeros(m), prior.usual)
        self.stats.core.begin(problem.all_criteria, again=False)
        self.memory = NEVER  # H, in rounds
        self._aged = 0  # the round clock when data last lost weight
        self.measure(problem.all_criteria)

    # The sums: what a round does while the state stays.

    def add(self, losses: Array, count: Ints | None = None) -> Ints:
        """Add losses of the deployed state: means of `count` rounds, NaN where none was seen.

        Without a count they may be several rounds, (n, m), in which nothing is missing.
        Returns the criteria of which the loss was cut.
        """
        before = self.stats.cut.copy()
        if self.stats.core.add(losses, count, LARGEST_LOSS) < 0:
            self.stats.core.add(losses, np.ones(losses.size, np.int64), LARGEST_LOSS)
        return np.flatnonzero(self.stats.cut != before)

    def beyond(self, losses: Array) -> Ints:
        """The criteria whose losses of the deployed state are beyond their limits."""
        return np.flatnonzero((losses < self.stats.low) | (losses > self.stats.high))

    def skip(self, rounds: int, seen: Ints | None) -> None:
        """Rounds pass at the deployed state, seen by all or `seen` times; the losses stay owed."""
        self.stats.counters[2] = False
        if seen is None:
            self.stats.counters[:2] += rounds
        else:
            self.stats.n[:] += seen
            self.stats.tells[:] += seen
            self.stats.owed[:] += seen
            self.measure(NOBODY)

    def collect(self, criteria: Ints, owed: Owed) -> None:
        """Ask for what is owed to these criteria and add it to their sums."""
        rounds = self.stats.counters[1] + self.stats.owed[criteria]
        waiting = criteria[rounds > 0]
        if waiting.size:
            mean, squares = owed(waiting, rounds[rounds > 0])
            self.stats.core.add_owed(waiting, mean, squares)

    def add_elsewhere(
        self, losses: Array, count: Ints, state: Array, limits: Limits | None = None
    ) -> Ints:
        """Add losses of another state, at once: a weighted datum for each criterion observed.

        Returns the criteria of which the loss was cut.
        """
        observed = np.flatnonzero(~np.isnan(losses))
        phi = np.empty_like(self.stats.phi)
        self.problem.features.fill(phi, state, self.problem.all_criteria)
        cut = NOBODY
        if limits is not None:
            raw, stats = losses, self.stats
            mean, spread = predict(
                stats.R, stats.blocks, stats.offsets, self.problem.all_criteria, phi
            )
            half = limits.half(spread, np.maximum(count, 1))
            middle = mean + (stats.offset if stats.offset.size else 0.0)
            losses = np.clip(raw, middle - half, middle + half)
            cut = observed[losses[observed] != raw[observed]]
            stats.cut[cut] += count[cut]
            stats.excess[cut] += (count * (raw - losses))[cut]
        self.stats.core.take(observed, phi, losses, count)
        self.measure(observed)
        return cut

    def triggered(self) -> Ints:
        """The criteria whose determinant has passed the factor since their clock was reset."""
        if self.rounds_left > 0:
            return NOBODY
        return np.flatnonzero(self.needs() <= 0)

    @property
    def rounds_left(self) -> int:
        """Rounds until the first trigger if every criterion is observed in each; 2^62 for never."""
        common, _, _, first = self.stats.counters.tolist()
        return NEVER if first - common >= NEVER // 2 else max(first - common, 0)

    def needs(self) -> Ints:
        """How often each criterion must still be observed to trigger: (m,)."""
        return self.stats.due - self.stats.n - int(self.stats.counters[0])

    # The matrices: what happens when the state changes.

    def flush(
        self, criteria: Ints, clock: int = 0, steps: float = 0.0, lost: Array = NOTHING
    ) -> None:
        """Carry the sums of these criteria into their factors; nothing may be owed to them.

        With a memory these must be all criteria, and what they have learned ages to the clock. With
        `steps` all levels wander before: see `losses.level`; `lost` counts what is forgotten by it.
        """
        self.stats.core.flush(criteria, clock - self._aged, self.memory, steps, lost)
        if self.memory < NEVER:
            self._aged = clock

    def deploy(self, state: Array, criteria: Ints) -> None:
        """Observe from now on at `state`; `criteria`, all flushed, are those to measure anew."""
        self.problem.features.fill(self.stats.phi, state, criteria)
        self.measure(criteria)

    def measure(self, criteria: Ints) -> None:
        """Estimated loss, spread and next trigger of these criteria at the deployed state.

        Even where that is nobody the first trigger of all is found anew.
        """
        self.stats.core.measure(criteria, self.factor)

    def observed(self) -> Ints:
        """How often each criterion was observed at all: (m,)."""
        return self.stats.n + self.stats.seen + int(self.stats.counters[0])

    def frozen(self) -> tuple[Ints, Array]:
        """How often each criterion was observed at the deployed state, and its mean loss there."""
        n = self.stats.counters[0] + self.stats.n
        return n, self.stats.shift + self.stats.total / np.maximum(n, 1)

    def forget(self, criteria: Ints) -> None:
        """Start these criteria anew, with V as it began and without what the sums hold."""
        self.stats.core.begin(criteria, again=False)
        if self.prior is not None:
            self.stats.pure_df[criteria] = 0
            self.stats.pure_error[criteria] = 0.0
        self.measure(criteria)

    def expect(self, limits: Limits) -> None:
        """Cut losses of the deployed state that are beyond these limits of what is expected."""
        stats = self.stats
        half = limits.half(stats.spread)
        middle = stats.mean + (stats.offset if stats.offset.size else 0.0)
        stats.low[:], stats.high[:] = middle - half, middle + half

    def uncut(self, criteria: Ints, cut: Array, excess: Array) -> None:
        """Let the last `cut` losses of these criteria count as they came, and those to come.

        Args:
            criteria: whose losses of the deployed state were cut for no reason.
            cut: how many of them, one or more each.
            excess: the sum of what was cut off.
        """
        stats = self.stats
        end = np.where(excess > 0.0, stats.high[criteria], stats.low[criteria])
        at = end - stats.shift[criteria]  # what stands for each of them in the sums
        stats.total[criteria] += excess
        stats.squares[criteria] += 2.0 * at * excess + excess**2 / cut
        stats.cut[criteria] -= cut.astype(np.int64)
        stats.above[criteria] -= np.where(excess > 0.0, cut, 0.0).astype(np.int64)
        stats.excess[criteria] -= excess
        stats.low[criteria], stats.high[criteria] = -np.inf, np.inf

    def leave_out(self, cut: Ints, excess: Array, n: Array) -> None:
        """Of the last n losses of each criterion those that were cut count no more.

        They do count where they are the most, or not far beyond their limits, for then a basis
        that does not fit is to blame; or means of several rounds, whose limits were other ones.

        Args:
            cut: how many were.
            excess: the sum of what was cut off.
            n: of how many losses.
        """
        stats = self.stats
        few = (cut > 0) & (2 * cut <= n) & (stats.n == stats.tells)
        found = np.flatnonzero(few & np.isfinite(stats.high))
        half = 0.5 * (stats.high[found] - stats.low[found])
        found = found[np.abs(excess[found]) > WILD * cut[found] * half]
        for ends, times in ((stats.high, stats.above), (stats.low, cut - stats.above)):
            at = ends[found] - stats.shift[found]
            stats.total[found] -= times[found] * at
            stats.squares[found] -= times[found] * at**2
        stats.n[found] -= cut[found]
        stats.tells[found] -= cut[found]
        stats.above[:] = 0
        self.measure(NOBODY)

    def relearn(self, criterion: int, phi: Array, losses: Array, count: Ints) -> None:
        """This criterion has seen these losses alone, a row for each tell; its clock stays."""
        stats, which = self.stats, np.array([criterion])
        since = stats.since[criterion]
        self.forget(which)
        for at, y, n in zip(phi, losses, count, strict=True):
            stats.core.take(which, at, y, n)
        stats.since[criterion] = since
        self.measure(which)

    def widen(self, criteria: Ints, most: float, sigma: Array) -> None:
        """What these criteria have learned counts as that many rounds from now on, at most.

        Their noise is as given, (m,): losses before and after a change differ by more.
        """
        for i in criteria.tolist():
            block = slice(self.stats.blocks[i], self.stats.blocks[i + 1])
            share = min(most / max(int(self.stats.seen[i]), 1), 1.0)
            self.stats.alone[block] *= np.sqrt(share)
            self.stats.seen[i] = int(np.ceil(share * self.stats.seen[i]))
            self.stats.pure_df[i] = int(np.ceil(share * self.stats.pure_df[i]))
            self.stats.pure_error[i] = self.stats.pure_df[i] * sigma[i] ** 2
        self.stats.core.begin(criteria, again=True)
        self.measure(criteria)

    def start_at(self, ratio: Array, sigma: Array, bend: int) -> None:
        """V_i starts at r_i K_i from now on, (m,), as if it always had; all were flushed."""
        self._start_at(ratio, sigma, bend)
        self.stats.core.begin(self.problem.all_criteria, again=True)

    def _start_at(self, ratio: Array, sigma: Array, bend: int) -> None:
        if self.prior is not None:
            stats = self.stats
            times = np.repeat(np.sqrt(ratio), np.diff(stats.blocks))
            d = np.diff(stats.offsets)
            last = spans(
                stats.blocks[1:] - d - 1, d
            )  # R0' theta = sqrt(r) S L' mean = sigma L' mean
            times[last] = np.repeat(sigma, d)
            stats.R0[:] = times * self.prior.roots[bend]

    def longest(self, radii: Array) -> Array:
        """No parameter in the ellipsoids of these radii is longer, before any data: (m,)."""
        stats = self.stats
        if not stats.R0.size:
            return np.asarray(radii / np.sqrt(self.reg))
        found = np.empty(radii.size)
        for i in range(radii.size):
            R, v, _ = self.split(i)
            least = float(np.linalg.eigvalsh(R @ R.T)[0])
            found[i] = np.linalg.norm(np.linalg.solve(R.T, v)) + radii[i] / np.sqrt(least)
        return found

    @contextmanager
    def foreseeing(self, rounds: Iterable[tuple[Array, Ints]]) -> Iterator[None]:
        """Inside, widths count these rounds (state, count of each criterion) as observed.

        Estimates do not change, and afterwards everything is as it was.
        """
        kept = self.stats.R.copy()
        for state, count in rounds:
            phi = self.problem.phi(state)
            self.stats.core.take(self.problem.all_criteria, phi, None, count)
        try:
            yield
        finally:
            self.stats.R[:] = kept

    # Memory.

    def snapshot(self) -> dict[str, Any]:
        """Everything that changes, as plain arrays and scalars; nothing may be owed."""
        saved: dict[str, Any] = {name: getattr(self.stats, name).copy() for name in _CHANGING}
        common, skipped, ready, _ = self.stats.counters.tolist()
        saved |= {"_common": common, "_skipped": skipped, "_ready": bool(ready)}
        return saved | {"memory": self.memory, "_aged": self._aged}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Become what `snapshot` saw; the arrays are known to fit."""
        for name in _CHANGING:
            getattr(self.stats, name)[:] = saved[name]
        self.stats.counters[:3] = saved["_common"], saved["_skipped"], saved["_ready"]
        self.memory, self._aged = int(saved["memory"]), int(saved["_aged"])
        self.measure(NOBODY)

    # What the estimates say.

    def evidence(self, criteria: Ints) -> Evidence:
        """What the radii of these criteria depend on, as of their last flush."""
        dims = self.stats.offsets[criteria + 1] - self.stats.offsets[criteria]
        return Evidence(
            criteria=criteria,
            gain=self.stats.gain[criteria],
            seen=self.stats.seen[criteria],
            dims=dims,
            reg=self.reg[criteria],
            bounds=self.problem.features.bounds[criteria],
            pure_error=self.stats.pure_error[criteria],
            pure_df=self.stats.pure_df[criteria],
            faded=np.asarray(dims * (self._aged * fading.decay(self.memory))),
        )

    def lacking(self, df: int) -> Ints:
        """Observations each criterion lacks until its pure error has `df` degrees: (m,).

        Those of the present state count, owed or not.
        """
        tells = self.stats.counters[0] + self.stats.tells
        short = df - self.stats.pure_df - np.maximum(tells - 1, 0)
        return np.where(short > 0, short + (tells == 0), 0)

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
        d = int(self.stats.offsets[criterion + 1] - self.stats.offsets[criterion])
        A = unpack(self.stats.R, int(self.stats.blocks[criterion]), d + 1)
        return A[:d, :d], A[d, :d], float(A[d, d])


_FIXED = ("offsets", "blocks", "reg", "counters")
_CHANGING = tuple(f.name for f in fields(Statistics) if f.name not in _FIXED)
