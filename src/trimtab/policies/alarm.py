r"""The frozen-stream alarm: has the world changed since this state was deployed?

There are two tests. `rung` is for a radius that is proven, `changed` for a prior.

While a state is deployed, a criterion's losses are independent with one mean, and the ellipsoid
at the start of the epoch gives an interval for that mean. With n losses of mean ybar seen in the
epoch, `rung` says that the world has changed if

    |ybar - phi' theta| > beta |phi|_{V^-1}
                          + sigma sqrt(2 (1 + 1/n) log(2 sqrt(n + 1) / delta_j) / n),

theta, beta and V as of the epoch's start. The test is made after 1, 2, 4, ... rounds of the epoch
and at its end. The j-th test has the level delta_j = delta / (m j (j + 1)): over all criteria and
all tests the levels add up to delta. So the probability that it ever rings in a world that stays
is at most delta if the ellipsoids hold, and 2 delta with the chance that they do not.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import NOBODY, Array, Ints
from trimtab.learn.beliefs import CUT_FROM, MISFIT, Beliefs
from trimtab.learn.confidence import BoundConfidence, Radius
from trimtab.policies.learner import Learner

FEW = 8  # losses that a segment needs before it is compared
RING, RING_ROUNDS = 4.0, 16.0  # standard deviations at which a criterion rings, and the rounds
#                                after which this limit begins to grow
DOUBT = 2.0  # standard deviations at which a criterion is doubted, if anything rings
SEVERAL = 3  # criteria that are needed before they ring together
STILL = 0.02  # g below which levels stay: where they wander, all criteria are off together
CUTS = 5  # losses of a segment and more than half of it: so many are no outliers
OFTEN = 8  # rounds between two tests, at most


def watchable(radius: Radius) -> bool:
    """Whether the radius is one under which the test is valid."""
    return isinstance(radius, BoundConfidence) and radius.form != "paper"


def rung(learner: Learner, check: int) -> Ints:
    """The criteria whose losses in this epoch lie outside their interval, at the check-th test.

    All losses that were skipped must have been collected.
    """
    radius, stats = learner.lcb.radius, learner.estimators.stats
    if not isinstance(radius, BoundConfidence):
        return np.empty(0, np.int64)
    n, mean = learner.estimators.frozen()
    seen = np.flatnonzero(n > 0)
    delta = radius.delta / (n.size * check * (check + 1))
    slack = radius.noise(learner.estimators.evidence(seen)) * _deviation(n[seen], delta)
    known = learner.lcb.radii[seen] * np.sqrt(stats.spread[seen])
    return seen[np.abs(mean[seen] - stats.mean[seen]) > known + slack]


def _deviation(n: Ints, delta: float) -> Array:
    """With probability 1 - delta no mean of n standard normal losses is farther off, for any n."""
    return np.asarray(np.sqrt(2.0 * (1.0 + 1.0 / n) * np.log(2.0 * np.sqrt(n + 1.0) / delta) / n))


def changed(learner: Learner) -> tuple[Ints, Ints]:
    """The criteria that ring, and those to doubt: the former, and all that may have changed too.

    The losses since the last test are a segment. A criterion rings if the mean of its segment
    differs too much from the mean of its earlier losses, as far back as the knobs that it reads
    have had the same values. The model has no part in this, so a basis that does not fit rings
    nothing. With n losses in the segment and N earlier ones it rings if

        |ybar_segment - ybar_earlier| > c sigma sqrt(1 / n + 1 / N + g (n + N) / 3),

    where c grows slowly with the clock, and the last term is how far the level may have wandered
    (`learn.level`) between the two means.

    A criterion without earlier losses is compared with what the model expects. The model may be
    wrong, so that one such criterion rings nothing. But a change of the world shows in many
    criteria at once, in each of them too little to ring: all that can be compared ring together if
    the sum of their squared deviations, none counted as more than c, is as improbable. Then those
    that are farther off than `DOUBT` ring. Losses that were cut count as cut, unless most of a
    segment were: then the expectation was wrong, they count as they came, and the criterion rings.
    Where levels wander, as with the hours, neither rings: all criteria are off together then.
    In the end the segment joins the earlier losses.
    """
    beliefs, m = learner.beliefs, learner.problem.criteria
    if beliefs is None or beliefs.scales is None:
        return NOBODY, NOBODY
    scales = beliefs.scales
    still = beliefs.wander < STILL
    wrong = _cut_for_no_reason(learner, beliefs) if still else NOBODY
    far, own = np.empty(m), np.empty(m, np.bool_)
    misfit = (MISFIT * scales.spread / scales.sigma) ** 2
    ring = float(np.sqrt(RING**2 + 2.0 * np.log1p(learner.clock / RING_ROUNDS)))
    known = learner.estimators.stats.core.compare(
        sigma=scales.sigma,
        misfit=misfit,
        g=beliefs.wander,
        few=FEW,
        enough=CUT_FROM,
        heard=beliefs.heard[:4],
        far=far,
        own=own,
    )
    ringing, doubted = own & (far > ring), far > DOUBT
    near = np.minimum(far, RING)  # where the model is wrong it may be far off, for one alone
    if still and known >= SEVERAL and normal_equivalent(float(near @ near), known) > ring:
        ringing |= doubted
    ringing[wrong] = True
    if not ringing.any():
        return NOBODY, NOBODY
    return np.flatnonzero(ringing), np.flatnonzero(ringing | doubted)


def _cut_for_no_reason(learner: Learner, beliefs: Beliefs) -> Ints:
    """The criteria of which most losses since the last test were cut; they count as they came."""
    stats, heard = learner.estimators.stats, beliefs.heard
    many = NOBODY
    if stats.cut.any():
        cut, excess = stats.cut - heard[4], stats.excess - heard[5]
        fresh = learner.estimators.frozen()[0] - heard[2]
        many = np.flatnonzero((cut >= CUTS) & (2.0 * cut > fresh))
        learner.estimators.uncut(many, cut[many], excess[many])
    heard[4], heard[5] = stats.cut, stats.excess
    return many


def normal_equivalent(squares: float, df: int) -> float:
    """The standard normal deviation that is as improbable as this sum of squared ones.

    Wilson and Hilferty: the cube root of a chi-square number is nearly normal.

    >>> round(normal_equivalent(16.0, 16), 2), round(normal_equivalent(56.0, 16), 1)
    (0.12, 4.5)
    """
    variance = 2.0 / (9.0 * df)
    return float((np.cbrt(squares / df) - (1.0 - variance)) / np.sqrt(variance))
