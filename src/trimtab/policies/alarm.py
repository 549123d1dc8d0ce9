r"""The frozen-stream alarm: has the world changed since this state was deployed?

While a state is deployed, a criterion's losses are independent with one mean, which the
ellipsoid of the epoch's start confines to an interval. With n losses of mean ybar seen in the
epoch, it has changed if

    |ybar - phi' theta| > beta |phi|_{V^-1}
                          + sigma sqrt(2 (1 + 1/n) log(2 sqrt(n + 1) / delta_j) / n),

theta, beta and V as of the epoch's start. It is looked at after 1, 2, 4, ... rounds of the
epoch and at its end; delta_j = delta / (m j (j + 1)) at the j-th look makes a false alarm, ever,
as improbable as delta where the ellipsoids hold, and 2 delta in all.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.estimators.confidence import BoundConfidence, Radius
from trimtab.policies.learner import Learner

FEW = 4  # losses of a segment from which on it is compared
RING = 5.0  # standard deviations
OFTEN = 8  # rounds between two checks, at most


def watchable(radius: Radius) -> bool:
    """Whether the radius is one under which the test is valid."""
    return isinstance(radius, BoundConfidence) and radius.form != "paper"


def rung(learner: Learner, check: int) -> Ints:
    """The criteria whose losses in this epoch do not fit, at the check-th look.

    Nothing may be owed to them.
    """
    radius, book = learner.lcb.radius, learner.estimators.book
    if not isinstance(radius, BoundConfidence):
        return np.empty(0, np.int64)
    n, mean = learner.estimators.frozen()
    seen = np.flatnonzero(n > 0)
    delta = radius.delta / (n.size * check * (check + 1))
    slack = radius.noise(learner.estimators.evidence(seen)) * _deviation(n[seen], delta)
    # Undo the tempering: only the proven radius confines the mean.
    known = learner.lcb.radii[seen] / radius.share * np.sqrt(book.spread[seen])
    return seen[np.abs(mean[seen] - book.mean[seen]) > known + slack]


def _deviation(n: Ints, delta: float) -> Array:
    """How far the mean of n standard losses strays, at any n, but with probability delta."""
    return np.asarray(np.sqrt(2.0 * (1.0 + 1.0 / n) * np.log(2.0 * np.sqrt(n + 1.0) / delta) / n))


def changed(learner: Learner) -> Ints:
    """The criteria whose losses of the last segment contradict those before, at this same state.

    A segment ends at every check. A state is compared with itself alone, so that a basis that does
    not fit rings nothing:

        |ybar_segment - ybar_earlier| > RING sigma sqrt(1 / n_segment + 1 / n_earlier).

    Cut losses count as what they were cut to. The segment then becomes one of the earlier ones.
    """
    if learner.scales is None:
        return np.empty(0, np.int64)
    earlier, mean, begun, total = learner.heard
    n, middle = learner.estimators.frozen()
    fresh, added = n - begun, n * middle - total
    compared = (fresh >= FEW) & (earlier >= FEW)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.abs(added / fresh - mean) / np.sqrt(1.0 / fresh + 1.0 / earlier)
        both = np.where(fresh > 0, (earlier * mean + added) / (earlier + fresh), mean)
    learner.heard[:] = earlier + fresh, both, n, n * middle
    return np.flatnonzero(compared & (far > RING * learner.scales.sigma))
