"""The memory of the joint policy: that of a node-wise one, and the estimate of all factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import e
from typing import Any

import numpy as np

from trimtab import arrays
from trimtab.arrays import Array, ArrayLike, Ints
from trimtab.learn import Confidence, Prior
from trimtab.learn.beliefs import KAPPA_ROUNDS, SURE, SURE_ROUNDS, Beliefs
from trimtab.learn.confidence import BoundConfidence, union
from trimtab.learn.joint.estimator import JointEstimator
from trimtab.learn.joint.model import Factors
from trimtab.learn.joint.noise import JointNoise, joint_noise
from trimtab.learn.joint.prior import NOTHING, JointPrior, JointScales, joint_prior, learned
from trimtab.learn.nodewise import Owed
from trimtab.model.domain import BoundDomain
from trimtab.model.problem import Problem
from trimtab.policies.joint.bound import JointBound
from trimtab.policies.learner import Learner, check_beliefs
from trimtab.solve import Solution

KAPPA = 1.0  # the width of the total, in posterior standard deviations; it grows like a learner's


@dataclass(frozen=True, kw_only=True, eq=False)
class JointOptions:
    """What the joint estimate is made of; it stays the same for the life of a policy."""

    factors: Factors
    noise: JointNoise
    reg: float
    norm: float  # a bound on |w|
    delta: float  # the probability that the ellipsoid of w ever fails
    only: bool  # without the node-wise bounds


class JointLearner(Learner):
    """What `Learner` is, for F = max(F_node, F_J) and the smaller of the two upper bounds.

    The node-wise estimators keep the sums of both; `absorb` hands them to the joint one first.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        start: ArrayLike,
        radius: ArrayLike | Confidence | None,
        reg: ArrayLike | None,
        factor: float,
        seed: int,
        options: JointOptions,
        prior: Prior | None = None,
    ) -> None:
        self.options = options
        self.joint = JointEstimator(
            options.factors,
            noise=options.noise,
            reg=options.reg,
            factor=factor,
            state=problem.domain.check(start, "start"),
            prior=_prior_of_factors(check_beliefs(radius, reg, prior), options),
        )
        self.joint_scales: JointScales | None = None  # of the factors' prior, once learned
        self._beta = 0.0  # the joint radius with a prior
        super().__init__(
            problem, start=start, radius=radius, reg=reg, prior=prior, factor=factor, seed=seed
        )
        if self.beliefs is not None:
            self.beliefs.levels = False  # those of the factors stay
            return
        # Before any data F_J(s) = -beta_J |Psi' omega| / sqrt(reg).
        known = -float(self.joint_radius() / np.sqrt(options.reg) * options.factors.bound)
        lower = self.account.lower
        self.account.lower = known if options.only or lower is None else max(known, lower)
        self._charge()

    @cached_property
    def local(self) -> None:
        """The core has no update for the better of two bounds."""

    @cached_property
    def bound(self) -> JointBound:
        """F, as of the last flush."""
        bound = JointBound(self.joint, None if self.options.only else self.lcb)
        bound.update(self.joint_radius())
        return bound

    def joint_radius(self) -> float:
        """beta_J = sigma sqrt(Gamma + 2 log(1 / delta)) + sqrt(reg) norm, or the fixed one.

        With a prior it is a multiple of the noise, so that the width is one of the posterior.
        """
        rule, options = self.lcb.radius, self.options
        if self.prior is not None:
            return self._beta
        if not isinstance(rule, BoundConfidence):
            return float(self.lcb.radii.max())
        bias = float(np.sqrt(options.reg)) * options.norm
        sigma = options.noise.sigma
        if sigma is None:  # independent noise, of which the largest scale bounds all
            evidence = self.estimators.evidence(self.problem.all_criteria)
            sigma = float(rule.noise(evidence).max())
        if sigma == np.inf and self.joint.gain == 0.0:  # nothing seen, no noise in the estimate
            return bias
        return float(sigma * np.sqrt(self.joint.gain + union(1, options.delta))) + bias

    # What goes in.

    def observe(
        self, losses: ArrayLike | None, *, played: ArrayLike | None, count: ArrayLike
    ) -> Ints:
        """Take losses in, or note that they come later; the criteria of which one was cut."""
        stats, m = self.estimators.stats, self.problem.criteria
        excess = stats.excess.copy()
        cut = super().observe(losses, played=played, count=count)  # refuses what is malformed
        if losses is None:
            return cut
        y, complete = arrays.losses(losses, m)
        one = isinstance(count, int) and count == 1
        n = np.ones(m, np.int64) if one else arrays.counts(count, m, losses=y)
        x = self.state if played is None else self.problem.domain.check(played, "played")
        if not np.array_equal(x, self.state):
            zero = self._zero(np.zeros(m, np.int64), y)
            y = y.copy()
            y[cut] -= (stats.excess - excess)[cut] / n[cut]
            self.joint.add_elsewhere(y if zero is None else y - zero, n, x)
            self.bound.update(self.joint_radius())
        elif complete and one:
            self.joint.full += 1
        else:
            self.joint.add(np.clip(y, stats.low, stats.high) if stats.low.size else y, n)
        return cut

    def observe_rows(self, rows: Array) -> Ints:
        """Take in several rounds of the deployed state, (n, m), in which nothing is missing."""
        self.joint.full += len(rows)
        return super().observe_rows(rows)

    def skip(self, rounds: int, owed: Owed, seen: Ints | None) -> None:
        """Let rounds pass; their losses will be asked for when a matrix needs them."""
        self.joint.skip(rounds, seen)
        super().skip(rounds, owed, seen)

    # What comes out.

    def absorb(self, criteria: Ints) -> None:
        """Carry what was seen, by all criteria, into the matrices and radii."""
        if self.owed is not None:
            self.estimators.collect(criteria, self.owed)
        n, mean = self.estimators.frozen()
        self.joint.absorb(n, mean, self._zero(n, mean))
        super().absorb(criteria)
        self.bound.update(self.joint_radius())

    def _zero(self, n: Ints, mean: Array) -> Array | None:
        """The losses that count as 0: those of the first flush, which is now where there was none.

        So the levels of both bounds are the same.
        """
        stats = self.estimators.stats
        if not stats.offset.size:
            return None
        return np.where((stats.data == 0) & (n > 0), mean, stats.offset)

    def _relearn(self, beliefs: Beliefs) -> None:
        """Learn spread and noise anew, of the criteria and of the factors, and set the widths."""
        super()._relearn(beliefs)
        prior, scales, stats = self.joint.prior, beliefs.scales, self.estimators.stats
        if prior is None or scales is None:
            return
        last = self.joint_scales
        if last is None or last.doubt > SURE or stats.seen.min() < SURE_ROUNDS:
            weights = self.problem.weights
            data = self.joint.data(int(stats.seen.sum()), float(weights**2 @ stats.pure_error))
            guess = np.sqrt(np.mean((weights * scales.sigma) ** 2)) if last is None else last.sigma
            self.joint_scales = last = learned(data, prior, float(guess))
            self.joint.start_at(last.ratio, last.sigma)
        self._beta = float(KAPPA * np.sqrt(np.log(e + self.clock / KAPPA_ROUNDS)) * last.sigma)

    def _minimum(self, domain: BoundDomain, **options: Any) -> Solution:
        return self.bound.solve(self.state, domain=domain, **options)

    def adopt(
        self,
        state: Array,
        criteria: Ints,
        *,
        reset: Ints,
        lower: float | None,
        certified: bool = True,
    ) -> None:
        """Deploy the outcome of a solve and reset the clock; no state's F is below `lower`."""
        self.joint.reset_clock()
        super().adopt(state, criteria, reset=reset, lower=lower, certified=certified)

    def _deploy(self, state: Array, criteria: Ints) -> None:
        super()._deploy(state, criteria)
        self.joint.deploy(state)

    def _charge(self) -> None:
        """Note what a round at the deployed state can cost: the least upper bound less the lower.

        That is at most 2 min(W_node, W_J) + F(s) - lower.
        """
        if self.holding:
            super()._charge()
            return
        self.account.charge(*self.bound.interval(self.state))

    # Memory.

    def snapshot(self) -> dict[str, Any]:
        """Everything the learner remembers, as plain scalars and arrays; nothing stays owed."""
        saved = super().snapshot()
        saved |= {f"joint.{name}": x for name, x in self.joint.snapshot().items()}
        if self.prior is not None:
            found = NOTHING if self.joint_scales is None else self.joint_scales
            saved |= {f"joint.{name}": x for name, x in found.to_plain().items()}
            saved["joint.beta"] = self._beta
        return saved | {f"joint.{name}": x for name, x in _options_to_plain(self.options).items()}

    @classmethod
    def entries(cls, problem: Problem, saved: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """The shape of every entry that a snapshot of this kind must have."""
        return super().entries(problem, saved) | _joint_entries(problem, saved)

    @classmethod
    def _arguments(cls, problem: Problem, saved: Mapping[str, Any]) -> dict[str, Any]:
        options = _options_from_plain(problem, _own(saved))
        return super()._arguments(problem, saved) | {"options": options}

    def _recall(self, saved: Mapping[str, Any]) -> None:
        super()._recall(saved)
        if self.prior is not None:
            self.joint_scales = JointScales.from_plain(_own(saved))
            self._beta = float(saved["joint.beta"])
        self.joint.restore(_own(saved), self.state)
        self.bound.update(self.joint_radius())


def _prior_of_factors(prior: Prior | None, options: JointOptions) -> JointPrior | None:
    return None if prior is None else joint_prior(prior, options.factors, options.noise)


def _own(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a snapshot that only a joint learner has."""
    return {name[6:]: value for name, value in saved.items() if name.startswith("joint.")}


def _joint_entries(problem: Problem, saved: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shape of every entry of a joint learner's snapshot that others lack.

    The factors themselves are taken from the snapshot.
    """
    try:
        options = _options_from_plain(problem, _own(saved))
    except KeyError:  # incomplete: it will be said what is missing
        options = JointOptions(
            factors=Factors(problem),
            noise=joint_noise(None, problem.criteria),
            reg=1.0,
            norm=0.0,
            delta=0.5,
            only=False,
        )
    learns = "prior.spread" in saved
    blank = JointEstimator(
        options.factors,
        noise=options.noise,
        reg=1.0,
        factor=2.0,
        state=problem.domain.anchor,
        prior=_prior_of_factors(Prior() if learns else None, options),
    )
    entries = blank.snapshot() | _options_to_plain(options)
    if learns:
        entries |= NOTHING.to_plain() | {"beta": 0.0}
    return {f"joint.{name}": np.shape(value) for name, value in entries.items()}


def _options_to_plain(options: JointOptions) -> dict[str, Any]:
    graph, covariance = options.factors.graph, options.noise.covariance
    return {
        "factor_offsets": graph.scope_offsets.copy(),
        "factor_knobs": graph.scope_knobs.copy(),
        "shares": options.factors.shares.copy(),
        "covariance": np.zeros((0, 0)) if covariance is None else covariance.copy(),
        "reg": options.reg,
        "norm": options.norm,
        "delta": options.delta,
        "only": options.only,
    }


def _options_from_plain(problem: Problem, saved: Mapping[str, Any]) -> JointOptions:
    knobs, offsets = saved["factor_knobs"], saved["factor_offsets"]
    covariance = saved["covariance"]
    return JointOptions(
        factors=Factors(problem, factors=np.split(knobs, offsets[1:-1]), shares=saved["shares"]),
        noise=joint_noise(covariance if np.size(covariance) else None, problem.criteria),
        reg=saved["reg"],
        norm=saved["norm"],
        delta=saved["delta"],
        only=saved["only"],
    )
