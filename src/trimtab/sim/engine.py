"""From event to event in the core: the asynchronous policy in a world with Gaussian noise.

An event is a round in which criteria trigger. Between two events nothing but counters changes;
at an event the losses of the criteria concerned are drawn, as sums over all rounds since their
last flush, and the knobs around them are searched (`policies.lcb`). Neither an event nor a
round makes a Python object. What the engine does not know, reviews and parts that are linear in
their knobs, it hands back to the policy, event by event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from trimtab._core import LocalUpdate
from trimtab.arrays import Array
from trimtab.errors import SolverFailed
from trimtab.policies import AsyncLazyGraphLinUCB, Policy
from trimtab.sim.losses import Drawn
from trimtab.sim.trace import Recorder
from trimtab.sim.worlds import Gaussian
from trimtab.solve.solve import TOO_LARGE

if TYPE_CHECKING:
    from trimtab._core import Played


class Engine:
    """The run of a policy in a world, from one of the policy's own looks to the next."""

    def __init__(
        self, policy: AsyncLazyGraphLinUCB, local: LocalUpdate, losses: Drawn, sigma: Array
    ) -> None:
        self.policy, self.local, self.losses, self.sigma = policy, local, losses, sigma

    @classmethod
    def of(cls, policy: Policy, losses: object) -> Engine | None:
        """An engine for this policy and these losses, if they are of the kind it knows."""
        if type(policy) is not AsyncLazyGraphLinUCB or not isinstance(losses, Drawn):
            return None
        local, noise = policy.learner.local, losses.noise
        if policy.learner.limits is not None:  # the core knows the whole domain only
            return None
        if local is None or not isinstance(noise, Gaussian):
            return None
        if "mean" in losses.means.world.overrides:  # the core knows sums of features only
            return None
        return cls(policy, local, losses, np.array(noise.scales(policy.problem.graph)))

    def play(
        self, t: int, stop: int, best: float, recorder: Recorder, progress: Callable[[int], None]
    ) -> tuple[int, bool]:
        """Play until `stop`, or until the policy itself must look: the round, and whether so."""
        status = "full"
        while status == "full":
            begun, run = t, self._run(t, stop)
            t, status = run["t"], run["status"]
            self._leave(begun, run, best, recorder)
            progress(t - begun)
        self.losses.means.visit(self.policy.learner.state)
        return t, status == "ask"

    def _run(self, t: int, stop: int) -> Played:
        learner, bits = self.policy.learner, self.losses.rng.bit_generator
        self.losses.means.visit(learner.state)
        with bits.lock:
            return self.local.play(
                theta=self.losses.means.world.theta,
                sigma=self.sigma,
                state=learner.state,
                width=learner.width,
                t=t,
                stop=stop,
                clock=learner.clock,
                review=learner.clock + self.policy.review_left(),
                rate=self.losses.means.rate,
                bound=learner.certificate.bound,
                bound_per_round=learner.bound_per_round,
                factor=learner.estimators.factor,
                effort=learner.local_effort,
                seed=learner.next_seed,
                bits=bits.capsule,
            )

    def _leave(self, begun: int, run: Played, best: float, recorder: Recorder) -> None:
        learner = self.policy.learner
        ends, rates = run["ends"], run["rates"]
        rounds = int(ends[0]) - begun
        recorder.played(learner.state, rounds, rate=float(rates[0]), best=best)
        learner.owed = self.losses.owed
        first = run["first_solve"] if run["solves"] else run["t"]
        if first > begun:
            learner.wait(first - begun, run["bound"])
        if run["solves"]:
            learner.updated(run["state"], run["solves"])
        if run["t"] > first:
            learner.wait(run["t"] - first, run["bound"])
        if run["status"] == "failed":
            raise SolverFailed(TOO_LARGE)
        recorder.ran(
            learner.state,
            ends=ends[1:],
            rates=rates[1:],
            best=best,
            offsets=run["offsets"][1:],
            changed=run["changed"],
            values=run["values"],
            solves=run["solves"],
            attributions=run["attributions"],
        )
