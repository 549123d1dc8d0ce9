"""A learner that goes on with smaller scopes, as if it had never known larger ones."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import NOBODY, Ints
from trimtab.learn.subset_refit import refit
from trimtab.model.problem import Problem
from trimtab.policies.learner import Learner


def refitted(
    learner: Learner, smaller: Problem, *, delta: float, due: bool, fresh: Ints = NOBODY
) -> Learner:
    """The learner on a problem with smaller scopes: same data, state, clock and certificate.

    Features of a smaller scope may be scaled up, by r: then reg becomes r^2 reg and the bound
    on the norm of the parameter norm / r, so that the ellipsoid is the old one, cut down.
    With a prior V starts at that of the smaller scopes, which is a block of the old one.

    Args:
        learner: with everything flushed.
        smaller: the problem on the smaller scopes.
        delta: of its radius, where that is a `Confidence`.
        due: whether every criterion is to trigger at once; otherwise all clocks are reset.
        fresh: criteria whose scopes have grown: they begin anew, and trigger at once.
    """
    old = learner.estimators.reg
    saved = learner.snapshot() | refit(learner.estimators, smaller, fresh)
    saved |= {name: x[:0] for name, x in saved.items() if name.startswith("diary.")}
    saved["since"] = np.full(smaller.criteria, np.inf if due else 0.0)
    if "radius.form" in saved:
        saved["radius.norm"] = saved["radius.norm"] / np.sqrt(saved["reg"] / old)
        saved["radius.delta"] = delta
    if "R0" in saved:
        saved["R0"] = Learner.begun(smaller, saved).estimators.stats.R0
    found = Learner.restored(smaller, saved)
    if found.beliefs is not None:
        found.beliefs.begin_anew()
    if fresh.size:
        found.forget(fresh)
        found.estimators.stats.since[fresh] = np.inf
    found.estimators.deploy(found.state, smaller.all_criteria)
    found.lcb.update(smaller.all_criteria)
    return found
