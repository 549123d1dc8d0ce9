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

RING, RING_ROUNDS = 4.0, 16.0  # standard deviations at which a criterion rings alone, or the part
#                                common to all; and the rounds after which limits begin to grow
CROWD, PATIENCE = 5.0, 1.0  # where many ring together, and what each test has to exceed for that
DOUBT = 2.0  # standard deviations at which a criterion is doubted, if anything rings
SEVERAL = 3  # criteria that are needed before they ring together
BEFORE, KEPT = 4.0, 32.0  # tests that say what is usual of the common part: before any; at most
USUAL = 16.0  # squared deviations that one test adds to what is usual, at most
ENOUGH = 2 * CUT_FROM  # losses before what is expected of others, or of earlier ones, rings
CUTS = 5  # losses of a segment, and more than half of it: that number are no outliers
OFTEN = 8  # rounds between two tests, at most,
MANY, SELDOM = 1000, 16  # times one for every MANY criteria: a test costs as much as 25 tells


def interval(criteria: int) -> int:
    """Rounds between two tests, at most.

    >>> [interval(m) for m in (3, 1_000, 5_000, 100_000)]
    [8, 8, 40, 128]
    """
    return OFTEN * min(max(criteria // MANY, 1), SELDOM)


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

    The losses since the last test are a segment. The mean of a criterion's segment is compared with
    the mean of its earlier losses, as far back as the knobs that it reads have had the same values.
    With n losses in the segment and N earlier ones, z is their difference in units of

        sigma sqrt(1 / n + 1 / N + g (n + N) / 3),

    where the last term is how far the level may have wandered (`learn.losses`) between the means.
    The model has no part in this. A segment of fewer than three losses goes on, in the next epoch
    too. Without earlier losses it is compared with what the model expects, whose error and misfit
    then count instead of 1 / N. In both cases z is divided by what is usual: the root of the mean
    square of the criterion's last z, so that a basis that does not fit, or spikes, ring nothing
    again and again.

    1. A criterion rings alone if |z| > c, with enough losses on both sides. c grows slowly with
       the clock.
    2. The mean of all z is the part common to the criteria, as when all losses go up with the
       hours. It rings if it is beyond c standard deviations, in units of what is usual of it.
    3. A change of the world shows in many criteria at once, in each too little to ring, and while
       the knobs still move, at no state for long. What is left of z without the common part has a
       sum of squares, and u is the normal deviation that is as improbable. Over the tests u is
       added up, less `PATIENCE` each and never below 0; the sum rings beyond a limit.

    With 2 and 3 those ring that are farther off than `DOUBT`. Losses that were cut count as cut,
    unless most of a segment were: then the expectation was wrong, and they count as they came.
    In the end the segment joins the earlier losses.
    """
    beliefs, m = learner.beliefs, learner.problem.criteria
    if beliefs is None or beliefs.scales is None:
        return NOBODY, NOBODY
    scales, far, alone = beliefs.scales, np.empty(m), np.empty(m)
    _count_as_they_came(learner, beliefs)
    known, total, squares = learner.estimators.stats.core.compare(
        sigma=scales.sigma,
        misfit=(MISFIT * scales.spread / scales.sigma) ** 2,
        g=beliefs.wander,
        enough=ENOUGH,
        heard=beliefs.heard[:6],
        far=far,
        alone=alone,
    )
    grown = 2.0 * np.log1p(learner.clock / RING_ROUNDS)
    ring, crowd = np.sqrt(RING**2 + grown), np.sqrt(CROWD**2 + grown)
    ringing = np.abs(alone) > ring
    if known >= SEVERAL:
        common, together = _together(beliefs.together, known, total, squares)
        if common > ring or together > crowd:
            ringing |= np.abs(far) > DOUBT
    if not ringing.any():
        return NOBODY, NOBODY
    beliefs.together[0] = 0.0
    return np.flatnonzero(ringing), np.flatnonzero(ringing | (np.abs(far) > DOUBT))


def _together(heard: Array, known: int, total: float, squares: float) -> tuple[float, float]:
    """How far off the common part is, in units of what is usual, and how far all others by now.

    Args:
        heard: the latter, how often the former was tested and its squares; they are renewed.
        known: how many criteria were compared; the sum of their z, and of the squares.
    """
    common = total**2 / known
    usual = max((BEFORE + heard[2]) / (BEFORE + heard[1]), 1.0)
    u = normal_equivalent(max(squares - common, 0.0), known - 1)
    heard[0] = max(heard[0] + u - PATIENCE, 0.0)
    kept = min(1.0, KEPT / (heard[1] + 1.0))
    heard[1] = kept * (heard[1] + 1.0)
    heard[2] = kept * (heard[2] + min(common, USUAL))
    return float(np.sqrt(common / usual)), float(heard[0])


def _count_as_they_came(learner: Learner, beliefs: Beliefs) -> None:
    """Undo the cuts of criteria of which most losses since the last test were cut."""
    stats, heard = learner.estimators.stats, beliefs.heard
    if stats.cut.any():
        cut, excess = stats.cut - heard[6], stats.excess - heard[7]
        fresh = learner.estimators.frozen()[0] - heard[4]
        many = np.flatnonzero((cut >= CUTS) & (2.0 * cut > fresh))
        learner.estimators.uncut(many, cut[many], excess[many])
    beliefs.leave_out_cuts()


def normal_equivalent(squares: float, df: int) -> float:
    """The standard normal deviation that is as improbable as this sum of squared ones.

    Wilson and Hilferty: the cube root of a chi-square number is nearly normal.

    >>> round(normal_equivalent(16.0, 16), 2), round(normal_equivalent(56.0, 16), 1)
    (0.12, 4.5)
    """
    variance = 2.0 / (9.0 * df)
    return float((np.cbrt(squares / df) - (1.0 - variance)) / np.sqrt(variance))
