"""What a learner believes of its losses beside their regressions: all that a `Prior` leaves open.

Spread and noise (`empirical_bayes`), how far levels wander (`level`), beyond what a loss is cut,
and what the alarm has heard of the deployed state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import e
from typing import Any

import numpy as np

from trimtab.arrays import NOBODY, Array, Bools, Ints
from trimtab.learn.empirical_bayes import (
    SPREAD,
    Scales,
    learned,
    scales_from_plain,
    scales_to_plain,
)
from trimtab.learn.losses import Diary, FirstLosses
from trimtab.learn.nodewise import UNKNOWN, Limits, NodewiseEstimators
from trimtab.learn.prior import BoundPrior

HOLD = 3  # losses of each criterion before the first look, from which the noise is learned
SURE, SURE_ROUNDS = 0.2, 64  # doubt about the spread below which, and losses of each criterion
#                              from which on, spread and noise are learned no further
CUT, CUT_FROM = 3.0, 8  # where losses are cut, in predictive deviations, and from how many on
MOST_DOUBT = 3.0  # about the spread, where losses are cut
MISFIT = 0.1  # of the spread: what a basis may miss of a loss
ODD, SEVERAL = 7.0, 3  # times the typical noise, of at least 3 criteria: a spike, not bad luck
LEFT = 0.3  # rounds that count of what was learned before an alarm
KAPPA, KAPPA_ROUNDS = 0.5, 300.0  # the width, in posterior standard deviations, and its growth


class Beliefs:
    """Spread, noise and wandering levels of all criteria of a learner, and its alarm's memory."""

    def __init__(self, estimators: NodewiseEstimators, prior: BoundPrior) -> None:
        m = estimators.problem.criteria
        self._estimators, self._prior = estimators, prior
        self.scales: Scales | None = None  # once they were learned
        self.wander = 0.0  # g, see `level`
        self.heard = np.zeros((8, m))  # by the alarm: `core/alarm.hpp`; and what was cut, how far
        self.together = np.zeros(3)  # by the alarm, of all criteria: see `alarm.changed`
        self.levels = bool((prior.constant == 0).all())  # whether levels may wander
        self._diary = Diary(estimators.stats)
        self._lost = np.zeros(m)  # degrees of freedom
        self._levelled = 0  # the clock when levels last wandered
        self.first = FirstLosses(knobs=estimators.problem.knobs, criteria=m)

    def keep(
        self, losses: Array, count: Ints | int, state: Array, clock: int, *, here: bool
    ) -> None:
        """Remember losses as they came; whether the state is the deployed one."""
        self.first.add(losses, count, state, clock, self._diary.epochs if here else -1)

    def absorb(self, criteria: Ints, clock: int) -> None:
        """Carry the sums of these criteria into their factors; if it is all, levels have wandered.

        What the alarm has not compared yet waits.
        """
        self.leave_out_cuts()
        estimators, heard = self._estimators, self.heard
        n, mean = estimators.frozen()
        everybody = criteria.size == n.size
        rounds = clock - self._levelled if everybody and self.levels else 0
        if rounds:
            self._levelled = clock
            if n.any():
                self._diary.write(n, mean, estimators.stats.phi, rounds)
        heard[4:, criteria] -= np.array([n, n * mean, heard[6], heard[7]])[:, criteria]
        estimators.flush(criteria, clock, steps=self.wander * rounds, lost=self._lost)

    def leave_out_cuts(self) -> None:
        """What was cut of the losses that the alarm has not compared yet is an outlier."""
        stats, heard = self._estimators.stats, self.heard
        if stats.cut.any():
            fresh = self._estimators.frozen()[0] - np.maximum(heard[4], 0.0)
            cut, excess = stats.cut - heard[6].astype(np.int64), stats.excess - heard[7]
            self._estimators.leave_out(cut, excess, fresh)
        heard[6], heard[7] = stats.cut, stats.excess

    def unhear(self, which: Bools | Ints) -> None:
        """The alarm has heard nothing of these criteria at the values their knobs now have."""
        for row in (0, 1, 4, 5):
            self.heard[row, which] = 0.0

    def relearn(self, clock: int) -> Array | None:
        """Learn spread and noise anew, as long as they are in doubt; the widths that follow."""
        estimators, stats = self._estimators, self._estimators.stats
        if not stats.data.any():
            return None
        if self.first.open:
            self._leave_out()
        elif self.scales is None:
            estimators.forget(self._spiked())
        if self.scales is None or self.scales.doubt > SURE or stats.seen.min() < SURE_ROUNDS:
            last = None if self.scales is None else self.scales.sigma
            self.scales = learned(stats, stats.alone, self._prior, last, self._lost)
            self.begin_anew()
        if self.levels:
            self.wander = self._diary.wander(stats, self.scales)
        return np.asarray(KAPPA * np.sqrt(np.log(e + clock / KAPPA_ROUNDS)) * self.scales.sigma)

    def _leave_out(self) -> None:
        """Learn from the first losses anew, without those that now look like outliers."""
        stats, first, scales, prior = self._estimators.stats, self.first, self.scales, self._prior
        noise = self._noise() if scales is None else scales.sigma / prior.unit
        if np.isnan(noise).all():
            return
        typical = float(np.nanmedian(noise))
        phi = np.array([self._estimators.problem.phi(state) for state in first.states])
        for i, rows in first.judged(
            phi,
            prior,
            (stats.offsets, stats.blocks),
            spread=SPREAD * typical * prior.unit if scales is None else scales.spread,
            typical=typical,
            g=self.wander,
            bend=prior.usual if scales is None else scales.bend,
        ):
            self._estimators.relearn(i, phi[rows], first.losses[rows], first.counts[rows])
            self._lost[i] = 0.0
            self.unhear(np.array([i]))
            own = rows[first.epochs[rows] >= 0]
            self._diary.correct(i, first.epochs[own], first.counts[own, i], first.losses[own, i])

    def _noise(self) -> Array:
        """The noise of each criterion by the losses of one state, in units; NaN where unknown."""
        stats, prior = self._estimators.stats, self._prior
        if prior.sigma is not None:
            return np.asarray(prior.sigma / prior.unit)
        seen = (stats.pure_df > 0) & (stats.pure_error > 0.0)
        found = np.sqrt(stats.pure_error / np.maximum(stats.pure_df, 1)) / prior.unit
        return np.where(seen, found, np.nan)

    def _spiked(self) -> Ints:
        """The criteria whose first losses vary far more than those of others: one is an outlier."""
        noise = self._noise()
        if self._prior.sigma is not None or np.isfinite(noise).sum() < SEVERAL:
            return NOBODY
        return np.flatnonzero(noise > ODD * np.nanmedian(noise))

    def begin_anew(self) -> None:
        """V starts where spread and noise say, with all data."""
        m, scales = self._lost.size, self.scales
        if scales is None:
            self._estimators.start_at(np.full(m, UNKNOWN), np.zeros(m), self._prior.usual)
        else:
            self._estimators.start_at(scales.ratio, scales.sigma, scales.bend)

    def limits(self) -> Limits | None:
        """Beyond what a loss is cut, once spread and noise are known.

        As long as all losses are of one state, nothing is known of the spread but what the prior
        says, and what the first move shows is no outlier. With doubt d the spread is log-normal,
        and the root of its mean square is exp(d^2) times its middle.
        """
        if self.scales is None:
            return None
        seen = self._estimators.stats.seen
        far = np.where(seen >= CUT_FROM, CUT * (1.0 + 3.0 / (seen + 1.0)), np.inf)
        larger = float(np.exp(min(self.scales.doubt, MOST_DOUBT) ** 2))
        return Limits(self.scales.sigma, MISFIT * self.scales.spread, far, larger)

    def widen(self, criteria: Ints, before: Scales | None) -> None:
        """Doubt what these criteria have learned; their noise is that `before` the change."""
        self.unhear(criteria)
        self.first.close()
        if before is None or self.scales is None:
            return
        sigma = self.scales.sigma.copy()
        sigma[criteria] = before.sigma[criteria]
        self.scales = replace(self.scales, sigma=sigma, doubt=np.inf)
        self._estimators.widen(criteria, LEFT, sigma)

    # In a snapshot.

    def to_plain(self) -> dict[str, Any]:
        """Everything but the prior, as plain scalars and arrays."""
        saved = scales_to_plain(self._prior, self.scales) | self._diary.to_plain()
        saved |= self.first.to_plain()
        saved |= {"heard": self.heard.copy(), "lost": self._lost.copy()}
        saved["together"] = self.together.copy()
        return saved | {"wander": self.wander, "levelled": self._levelled}

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Become what `to_plain` saw."""
        self.scales = scales_from_plain(saved)
        self.heard[:], self._lost[:] = saved["heard"], saved["lost"]
        self.together[:] = saved["together"]
        self.wander, self._levelled = float(saved["wander"]), int(saved["levelled"])
        self._diary.recall(saved)
        self.first.recall(saved)
