"""The memory of a node-wise policy: the state deployed, what was seen, what it may have cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab import arrays
from trimtab.arrays import Array, ArrayLike, Ints, read_only
from trimtab.estimators import Confidence, NodewiseEstimators, as_radius
from trimtab.estimators.confidence import radius_from_plain, radius_to_plain
from trimtab.lcb import LCB
from trimtab.problem import Problem
from trimtab.solvers import solve

_SCALARS = (
    "seed",
    "clock",
    "solved",
    "_bound",
    "_certified",
    "_lower",
    "_lower_certified",
    "_rate",
)


@dataclass(frozen=True, slots=True)
class Certificate:
    """An a-posteriori bound: the regret so far is at most `bound` if all ellipsoids hold.

    It is `certified` if every term is: the radius is proven, and every solve came
    with a lower bound. Otherwise the best value found stands in for that bound.
    """

    bound: float
    certified: bool


class Learner:
    """Everything a node-wise policy remembers, behind three verbs.

    `observe` takes losses in, `resolve` deploys the minimiser of the lower
    confidence bound, `place` deploys a given state.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        start: ArrayLike,
        radius: ArrayLike | Confidence,
        reg: ArrayLike,
        factor: float,
        seed: int,
    ) -> None:
        m = problem.criteria
        self.problem = problem
        self.start: Array = read_only(problem.domain.check(start, "start"))
        self.radius = as_radius(radius, m)
        self.seed = arrays.whole(seed, "seed", low=0)
        self.estimators = NodewiseEstimators(
            problem,
            reg=arrays.per_item(reg, m, "reg", "criterion", low=0.0, strict=True),
            factor=factor,
            state=self.start,
        )
        self.state = self.start
        self.clock = 0
        self.solved = 0  # solver calls so far: part of the seed of the next
        self._bound = 0.0
        self._certified = self.radius.certified
        # Before any data F(s) = -sum_i w_i beta_i |phi_i(s)| / sqrt(reg_i).
        lcb = self.lcb()
        reach = problem.features.bounds / np.sqrt(self.estimators.reg)
        self._lower, self._lower_certified = -float(problem.weights @ (lcb.radii * reach)), True
        self._rate = self._regret_rate(lcb)

    @property
    def certificate(self) -> Certificate:
        """The sum over rounds of 2 W + gap, each as of the round's deployment."""
        return Certificate(bound=self._bound, certified=self._certified)

    def snapshot(self) -> dict[str, Any]:
        """Everything the learner remembers, as plain scalars and arrays."""
        saved: dict[str, Any] = {name: getattr(self, name) for name in _SCALARS}
        saved |= {"start": self.start.copy(), "state": self.state.copy()}
        saved |= {"reg": self.estimators.reg.copy(), "factor": self.estimators.factor}
        saved |= {f"radius.{name}": value for name, value in radius_to_plain(self.radius).items()}
        return saved | self.estimators.snapshot()

    @classmethod
    def restored(cls, problem: Problem, saved: Mapping[str, Any]) -> Learner:
        """The learner that `snapshot` saw."""
        plain = {name[7:]: value for name, value in saved.items() if name.startswith("radius.")}
        learner = cls(
            problem,
            start=saved["start"],
            radius=radius_from_plain(plain),
            reg=saved["reg"],
            factor=saved["factor"],
            seed=saved["seed"],
        )
        learner.state = read_only(problem.domain.check(saved["state"], "state"))
        for name in _SCALARS:
            setattr(learner, name, saved[name])
        learner.estimators.restore(saved)
        return learner

    def lcb(self) -> LCB:
        """The lower confidence bound as of the last flush."""
        return LCB(self.estimators, self.radius.radii(self.estimators.evidence()))

    def observe(self, losses: ArrayLike, *, played: ArrayLike | None, count: ArrayLike) -> None:
        """Take losses in; those of the deployed state advance the clock."""
        m = self.problem.criteria
        y, complete = arrays.losses(losses, m)
        n = None if isinstance(count, int) and count == 1 else arrays.counts(count, m)
        if played is not None:
            x = self.problem.domain.check(played, "played")
            if not np.array_equal(x, self.state):
                self.estimators.add_elsewhere(y, np.ones(m, np.int64) if n is None else n, x)
                return
        self.estimators.add(y, n, complete=complete)
        passed = 1 if n is None else int(n[~np.isnan(y)].max(initial=1))
        self.clock += passed
        self._bound += passed * self._rate
        self._certified &= self._lower_certified

    def resolve(self, reset: Ints) -> float:
        """Deploy the minimiser of the LCB and reset the clocks given; how far it moved, in l1."""
        estimators = self.estimators
        estimators.flush(self.problem.all_criteria)
        lcb = self.lcb()
        solution = solve(lcb, self.state, seed=(self.seed, self.solved))
        estimators.reset_clocks(reset)
        if self.solved or self.clock:  # before any data the bound of __init__ is known
            self._lower_certified = solution.certified
            bound = solution.lower_bound
            self._lower = solution.value if bound is None else bound
        self.solved += 1
        moved = float(np.abs(solution.state - self.state).sum())
        self._deploy(solution.state, lcb)
        return moved

    def place(self, state: ArrayLike) -> None:
        """Deploy the given state; what was seen before stays with the state it belongs to."""
        x = self.problem.domain.check(state, "state")
        if not np.array_equal(x, self.state):
            self.estimators.flush(self.problem.all_criteria)
            self._deploy(x, self.lcb())

    def _deploy(self, state: Array, lcb: LCB) -> None:
        self.state = read_only(state)
        self.estimators.deploy(state, self.problem.all_criteria)
        self._rate = self._regret_rate(lcb)

    def _regret_rate(self, lcb: LCB) -> float:
        """2 W(s) + F(s) - lower bound: what a round at the deployed state can cost."""
        means, widths = lcb.terms(self.state)
        return float(means.sum() + widths.sum() - self._lower)
