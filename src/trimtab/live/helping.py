"""Is it helping? What is known of the loss here, at the start and at the best good state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from trimtab.learn.posterior import Posterior
from trimtab.live.state.guardrails import best_good
from trimtab.live.state.learning.learned import Learned
from trimtab.live.state.tuner_state import TunerState
from trimtab.policies import restore

Z = 1.96  # standard deviations on either side: 95 %
LEAST_PAIRS = 4  # rounds with a control arm from which on they alone count
Verdict = Literal["helps", "harms", "not clear yet", "at the start"]


@dataclass(frozen=True, kw_only=True)
class Helping:
    """The loss of a round now, against the state where the system began; weights included.

    The benefit is the loss at the start less the loss here. `low` to `high` covers it with 95 %,
    as far as the model fits.
    """

    verdict: Verdict
    against: str  # what it is compared with
    benefit: float
    low: float
    high: float
    start: float  # the loss of a round at the start state, as it is estimated
    now: float  # and here
    by_objective: Mapping[str, float]  # the benefit of each, in its unit; above 0 is better
    best: Mapping[str, float] | None  # the good state of the least known loss
    best_loss: float | None  # the mean of what was told there
    paid: float  # the price of all moves so far

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for other programs."""
        return asdict(self)

    def __str__(self) -> str:
        """One line for people."""
        if self.verdict == "at the start":
            return f"at the start, where a round costs {self.start:.3g}"
        share = f" ({self.benefit / self.start:+.0%})" if self.start > 0.0 else ""
        return (
            f"{self.verdict}: a round costs {self.now:.3g} instead of {self.start:.3g}, better by "
            f"{self.benefit:.3g}{share}, 95 % interval {self.low:.3g} to {self.high:.3g}"
        )


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What is known of an objective, in its unit."""

    noise: float  # the standard deviation of one measurement
    spread: float  # by how much it changes over the box, about
    learned: bool = True  # whether the noise was, or the spec says it


def posterior_of(learned: Learned) -> Posterior | None:
    """What is believed with all that was told; None for a policy that learns no spread and noise.

    The policy itself is left alone: a copy takes in what waits in its sums.
    """
    policy = learned.policy
    if policy.learner.prior is None or policy.learner.problem is not policy.problem:
        return None
    learner = restore(policy.problem, policy.snapshot()).learner
    learner.absorb(policy.problem.all_criteria)
    scales = learner.scales
    return None if scales is None else Posterior(learner.estimators, scales.sigma)


def helping_of(tuner_state: TunerState, posterior: Posterior | None) -> Helping | None:
    """Whether it helps; None as long as nothing can be said."""
    if posterior is None:
        return None
    spec = tuner_state.spec
    weights, objectives = spec.problem.weights, spec.objectives
    here, start = np.array(tuner_state.state), np.array(tuner_state.origin)
    mean, sd = posterior.between(start, here)
    benefit, far = float(weights @ mean), Z * float(np.sqrt(weights**2 @ sd**2))
    paired = _paired(tuner_state)
    if paired is not None:
        benefit, far = paired
    best = best_good(tuner_state)
    verdict: Verdict = "not clear yet"
    if np.array_equal(here, start):
        verdict = "at the start"
    elif abs(benefit) > far:
        verdict = "helps" if benefit > 0.0 else "harms"
    return Helping(
        verdict=verdict,
        against="the control arm" if spec.control else "the start state",
        benefit=benefit,
        low=benefit - far,
        high=benefit + far,
        start=float(weights @ posterior.at(start)[0]),
        now=float(weights @ posterior.at(here)[0]),
        by_objective={
            each.name: float(x) * (each.high - each.low)
            for each, x in zip(objectives, mean, strict=True)
        },
        best=None if best is None else spec.values(best.state),
        best_loss=None if best is None else best.loss,
        paid=float(spec.problem.move_cost @ tuner_state.spent),
    )


def _paired(tuner_state: TunerState) -> tuple[float, float] | None:
    """By how much the control arm costs more, and how far off that may be; None if not known."""
    n, mean, squares = tuner_state.contrast
    if n < LEAST_PAIRS:
        return None
    from scipy.stats import t

    return mean, float(t.ppf(0.975, n - 1)) * float(np.sqrt(squares / (n - 1) / n))


def noise_of(tuner_state: TunerState, learned: Learned) -> dict[str, Noise]:
    """What the last look has learned of the objectives' noise and spread, by name."""
    scales, spec = learned.policy.learner.scales, tuner_state.spec
    if scales is None or scales.sigma.size != len(spec.objectives):
        return {}
    return {
        each.name: Noise(
            noise=float(sigma) * (each.high - each.low),
            spread=float(spread) * (each.high - each.low),
            learned=spec.beliefs.sigma is None,
        )
        for each, sigma, spread in zip(spec.objectives, scales.sigma, scales.spread, strict=True)
    }
