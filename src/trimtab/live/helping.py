"""Is it helping? What is known of the loss here, at the start and at the best good state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any, Literal

from trimtab.live.state.guardrails import best_good
from trimtab.live.state.learning.figures import Figures
from trimtab.live.state.tuner_state import TunerState

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


def helping_of(tuner_state: TunerState, figures: Figures) -> Helping | None:
    """Whether it helps; None as long as nothing can be said."""
    found = figures.comparison
    if found is None:
        return None
    spec = tuner_state.spec
    benefit, far = found.benefit, Z * found.sd
    paired = _paired(tuner_state)
    if paired is not None:
        benefit, far = paired
    best = best_good(tuner_state)
    verdict: Verdict = "not clear yet"
    if tuner_state.state == tuner_state.origin:
        verdict = "at the start"
    elif abs(benefit) > far:
        verdict = "helps" if benefit > 0.0 else "harms"
    return Helping(
        verdict=verdict,
        against="the control arm" if spec.control else "the start state",
        benefit=benefit,
        low=benefit - far,
        high=benefit + far,
        start=found.start,
        now=found.here,
        by_objective={
            each.name: x * (each.high - each.low)
            for each, x in zip(spec.objectives, found.by_objective, strict=True)
        },
        best=None if best is None else spec.values(best.state),
        best_loss=None if best is None else best.loss,
        paid=sum(
            knob.stability.move_cost * x
            for knob, x in zip(spec.knobs, tuner_state.spent, strict=True)
        ),
    )


def _paired(tuner_state: TunerState) -> tuple[float, float] | None:
    """By how much the control arm costs more, and how far off that may be; None if not known."""
    n, mean, squares = tuner_state.contrast
    if n < LEAST_PAIRS:
        return None
    from scipy.stats import t

    return mean, float(t.ppf(0.975, n - 1)) * sqrt(squares / (n - 1) / n)


def noise_of(tuner_state: TunerState, figures: Figures) -> dict[str, Noise]:
    """What is known of the objectives' noise and spread, by name; nothing before the first look."""
    objectives = tuner_state.spec.objectives
    known = None not in [each.sigma for each in objectives]
    return {
        each.name: Noise(
            noise=sigma * (each.high - each.low),
            spread=spread * (each.high - each.low),
            learned=not known,
        )
        for each, (sigma, spread) in zip(objectives, figures.scales, strict=bool(figures.scales))
    }
