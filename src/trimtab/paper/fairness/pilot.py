"""The pilot: which basis is adequate, how large noise and parameters are, before any round.

It is played on the training split, which an operator has anyway: no customer sees it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Bools
from trimtab.errors import InvalidInput
from trimtab.learn import lack_of_fit
from trimtab.paper.fairness.play import BASES, Knowledge, Scopes, Settings, Shape, world_of
from trimtab.policies import LazyGraphLinUCB

SHAPES = tuple(Shape(units, basis) for units in ("score", "logit") for basis in BASES)


@dataclass(frozen=True, eq=False)
class Pilot:
    """What the pilot shows of one shape; arrays have one entry per criterion."""

    shape: Shape
    features: int  # of all criteria together
    statistic: Array  # of the lack-of-fit test
    critical: Array
    rejected: Bools
    sigma: Array
    length: Array  # of the estimated parameters

    @property
    def adequate(self) -> bool:
        """Whether no criterion contradicts the basis."""
        return not self.rejected.any()


def piloted(settings: Settings, shape: Shape, *, seed: int, scopes: Scopes = "known") -> Pilot:
    """Visit random states for some batches each, and test the basis."""
    world = world_of(settings, shape, scopes, training=True)
    # A policy's learner keeps the sums; the policy itself is never asked.
    policy = LazyGraphLinUCB(
        world.problem,
        start=np.full(world.problem.knobs, 0.5),
        radius=1.0,
        reg=settings.pilot_reg,
        cold_start="keep",
    )
    rng = np.random.default_rng((seed, 0))
    for state in rng.random((settings.pilot_states, world.problem.knobs)):
        policy.place(state)
        for losses in world.draws(state, rng, settings.pilot_rounds):
            policy.learner.observe(losses, played=None, count=1)
    policy.place(np.full(world.problem.knobs, 0.5))
    estimators = policy.learner.estimators
    # States and rounds were chosen beforehand, and each shape is looked at once.
    level = settings.alpha / len(SHAPES)
    fit = lack_of_fit(estimators, norm=settings.pilot_norm, alpha=level, looks="one")
    lengths = []
    for i in range(world.problem.criteria):
        R, v, _ = estimators.split(i)
        lengths.append(float(np.linalg.norm(np.linalg.solve(R.T, v))))
    stats = estimators.stats
    return Pilot(
        shape=shape,
        features=int(world.problem.dims.sum()),
        statistic=fit.statistic,
        critical=fit.critical,
        rejected=fit.rejected,
        sigma=np.sqrt(stats.pure_error / np.maximum(stats.pure_df, 1)),
        length=np.array(lengths),
    )


def chosen(settings: Settings, pilots: list[Pilot]) -> Knowledge:
    """What a policy is told: the adequate shape with the fewest features, its noise and lengths."""
    adequate = [each for each in pilots if each.adequate]
    if not adequate:
        raise InvalidInput(
            "no basis passes the lack-of-fit test; narrow the range of thresholds, or try others"
        )
    best = min(adequate, key=lambda each: each.features)
    return Knowledge(shape=best.shape, sigma=best.sigma, norm=settings.margin * best.length)
