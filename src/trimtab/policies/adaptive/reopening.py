"""When a graph that was learned is no longer right: which criteria must learn their scopes anew.

A criterion from which knobs were excluded is reopened when

- the alarm rings for it: its losses at the deployed state are not what they were, or
- lack of fit: its states differ by more than its smaller scope and noise can explain
  (`learn.lack_of_fit`, at the level delta over all looks of a world that stays), or
- it notices a probe of a knob that it excludes (`policies.adaptive.probing`).

It then begins anew on the scope of the super-graph, and its edges are tested again from there. By
lack of fit a criterion is reopened again only when the clock has doubled since, so that a
basis that is wrong on every scope costs at most log2 T of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from trimtab.arrays import NOBODY, Array, Bools, Ints
from trimtab.learn import lack_of_fit
from trimtab.learn.confidence import BoundConfidence
from trimtab.learn.sparsity_test import EXCLUDED, Edges
from trimtab.policies.base import Told
from trimtab.policies.learner import Learner

ALARM, LACK_OF_FIT, PROBE = range(3)
CAUSES = ("alarm", "lack of fit", "probe")
ALPHA = 0.05  # of lack of fit, where no delta is given


class Reopening(NamedTuple):
    """An edge that was excluded and is undecided again, and why."""

    round: int
    criterion: int
    knob: int
    cause: str  # "alarm", "lack of fit" or "probe"
    statistic: float  # between-state over noise variance; how far a probe was off; NaN for an alarm
    critical: float  # the most that chance explains; NaN for an alarm or a probe


class Reopenings:
    """Every edge that was opened again, and when lack of fit last did so."""

    def __init__(self, criteria: int) -> None:
        self.rows: Array = np.empty((0, 6))  # (n, 6) those of `Reopening`, the cause by its number
        self.misfit_at: Ints = np.zeros(criteria, np.int64)  # (m,) the clock

    def __iter__(self) -> Iterator[Reopening]:
        """One edge after the other."""
        return (
            Reopening(int(t), int(i), int(j), CAUSES[int(cause)], float(x), float(limit))
            for t, i, j, cause, x, limit in self.rows
        )

    def after(self, learner: Learner, told: Told, edges: Edges) -> Ints:
        """Open the edges of every criterion that a global look calls for; which criteria: (n,)."""
        excluded = edges.counts(EXCLUDED) > 0
        if not excluded.any():
            return NOBODY
        ready = learner.clock >= 2 * self.misfit_at
        which, statistic, critical = to_reopen(learner, told, excluded, ready)
        for i, x, limit in zip(which.tolist(), statistic, critical, strict=True):
            cause = ALARM if np.isnan(x) else LACK_OF_FIT
            if cause == LACK_OF_FIT:
                self.misfit_at[i] = learner.clock
            for edge in edges.reopen(np.array([i])).tolist():
                row = (learner.clock, i, edges.knob[edge], cause, x, limit)
                self.rows = np.vstack((self.rows, row))
        return which

    def probed(self, criteria: Ints, by: Array, clock: int, edges: Edges) -> None:
        """Open the edges of criteria that noticed a probe, by so much."""
        for i, off in zip(criteria.tolist(), by.tolist(), strict=True):
            for edge in edges.reopen(np.array([i])).tolist():
                row = (clock, i, edges.knob[edge], PROBE, off, np.nan)
                self.rows = np.vstack((self.rows, row))

    def to_plain(self) -> dict[str, Any]:
        """Everything as plain arrays, for a snapshot."""
        return {"reopenings": self.rows.copy(), "misfit_at": self.misfit_at.copy()}

    @classmethod
    def from_plain(cls, saved: Mapping[str, Any]) -> Reopenings:
        """What `to_plain` saw; the arrays are known to fit."""
        found = cls(np.size(saved["misfit_at"]))
        found.rows = np.array(saved["reopenings"], np.float64).reshape(-1, 6)
        found.misfit_at = np.array(saved["misfit_at"], np.int64)
        return found


def to_reopen(
    learner: Learner, told: Told, excluded: Bools, ready: Bools
) -> tuple[Ints, Array, Array]:
    """The criteria to reopen after a global look, and the test's statistic and limit: each (n,).

    Args:
        learner: with everything flushed.
        told: what the look has brought about.
        excluded: (m,) whether some knob was excluded from the criterion's scope.
        ready: (m,) whether lack of fit may reopen it again.
    """
    m = learner.problem.criteria
    rings = np.isin(np.arange(m), told.rung) & excluded
    misfit = np.zeros(m, np.bool_)
    statistic, critical = np.full((2, m), np.nan)
    if learner.prior is None and (excluded & ready).any():
        radius = learner.lcb.radius
        if isinstance(radius, BoundConfidence):
            norm, alpha = radius.norm, radius.delta
        else:  # beta covers sqrt(reg) norm, and more
            norm, alpha = learner.lcb.radii / np.sqrt(learner.estimators.reg), ALPHA
        found = lack_of_fit(learner.estimators, norm=norm, alpha=alpha)
        misfit = found.rejected & excluded & ready & ~rings
        statistic[misfit], critical[misfit] = found.statistic[misfit], found.critical[misfit]
    which = np.flatnonzero(rings | misfit)
    return which, statistic[which], critical[which]
