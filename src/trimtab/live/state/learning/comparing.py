"""The figures of what was learned, see `figures.py`."""

from __future__ import annotations

import numpy as np

from trimtab.learn.posterior import Posterior
from trimtab.live.state.learning.figures import Comparison, Figures
from trimtab.live.state.learning.learned import Learned
from trimtab.live.state.tuner_state import State, TunerState
from trimtab.policies import restore
from trimtab.policies.learner import Learner


def figures_of(
    tuner_state: TunerState, learned: Learned, here: State, *, as_of: int | None = None
) -> Figures:
    """The figures at a state: with all that was told, or as of the last look, in round `as_of`."""
    policy = learned.policy
    learner = policy.learner
    own = learner.prior is not None and learner.problem is policy.problem
    if own and as_of is None:  # a copy takes in what waits in the policy's sums
        learner = restore(policy.problem, policy.snapshot()).learner
        learner.absorb(policy.problem.all_criteria)
    told = policy.learner.scales
    scales = (
        []
        if told is None or told.sigma.size != policy.problem.criteria
        else [
            [float(sigma), float(spread)]
            for sigma, spread in zip(told.sigma, told.spread, strict=True)
        ]
    )
    certificate = policy.certificate
    return Figures(
        as_of=tuner_state.round if as_of is None else as_of,
        start=tuner_state.origin,
        here=here,
        goal=learned.goal,
        escapes=learned.escapes,
        outdated=learned.safety.outdated(tuner_state.origin) if tuner_state.lost else [],
        review=learned.review,
        comparison=_compared(learner, tuner_state.origin, here) if own else None,
        scales=scales,
        certificate=certificate.bound,
        certified=certificate.certified,
    )


def _compared(learner: Learner, start: State, here: State) -> Comparison | None:
    """What is believed of both states; None before the noise is known."""
    if learner.scales is None:
        return None
    posterior, weights = (
        Posterior(learner.estimators, learner.scales.sigma),
        learner.problem.weights,
    )
    there, now = np.array(start), np.array(here)
    mean, sd = posterior.between(there, now)
    return Comparison(
        start=float(weights @ posterior.at(there)[0]),
        here=float(weights @ posterior.at(now)[0]),
        benefit=float(weights @ mean),
        sd=float(np.sqrt(weights**2 @ sd**2)),
        by_objective=mean.tolist(),
    )
