"""From event to event in compiled code: the asynchronous policy in a world with Gaussian noise.

An event is a round in which criteria trigger. Between two events nothing but counters changes;
at an event the losses of the criteria concerned are drawn, as sums over all rounds since their
last flush, and the knobs around them are searched (`policies.local`). Neither an event nor a
round makes a Python object. What the engine does not know, reviews and parts that are linear in
their knobs, it hands back to the policy, event by event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.compiled import Structure, compiled, inner
from trimtab.estimators.agenda import list_due
from trimtab.estimators.book import add_owed
from trimtab.policies import AsyncLazyGraphLinUCB, Policy
from trimtab.policies.local import Local, add_to, listed, update
from trimtab.policies.parts import find
from trimtab.sim.losses import Drawn
from trimtab.sim.trace import Recorder
from trimtab.sim.worlds import Gaussian
from trimtab.solvers.ranking import sort

STRETCHES, CHANGES = 2**14, 2**17  # recorded between two visits to Python
DONE, FULL, ASK, FAILED, EVENT = 0, 1, 2, 3, 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Run(Structure):
    """A run on its way, and what it has recorded since Python last looked."""

    local: Local
    theta: Array  # (sum d,) the world's
    sigma: Array  # (m,) its noise
    t: Ints  # (2,) rounds played, and the last one to play
    clock: Ints  # (2,) the policy's, and when it reviews
    common: Ints  # (2,) rounds that everybody has seen, and how many of them are owed
    rate: Array  # (2,) the expected total loss of a round, and what rounding has left out of it
    bound: Array  # (2,) of the regret so far, and of that of a round
    due: Ints  # (m,) who triggers
    found: Ints  # (3,) how many of them, in how many parts, and how many criteria those have
    rounds: Ints  # (m,) how many losses are owed to each of the last
    mean: Array  # (m,) losses that were owed: their mean
    squares: Array  # (m,) and the squares about it
    solves: Ints  # (2,) so far, and the round of the first
    attributions: Ints  # (m,)
    size: Ints  # (2,) moves recorded, and knobs changed by them
    ends: Ints  # (stretches + 1,) the last round of each stretch
    rates: Array  # (stretches + 1,)
    offsets: Ints  # (stretches + 1,)
    changed: Ints
    values: Array


class Engine:
    """The run of a policy in a world, from one of the policy's own looks to the next."""

    def __init__(
        self, policy: AsyncLazyGraphLinUCB, local: Local, losses: Drawn, sigma: Array
    ) -> None:
        m, k = policy.problem.criteria, policy.problem.knobs
        self.policy, self.losses = policy, losses
        self.run = Run(
            local=local,
            theta=losses.means.world.theta,
            sigma=sigma,
            t=np.zeros(2, np.int64),
            clock=np.zeros(2, np.int64),
            common=np.zeros(2, np.int64),
            rate=np.zeros(2),
            bound=np.zeros(2),
            due=np.empty(m, np.int64),
            found=np.zeros(3, np.int64),
            rounds=np.empty(m, np.int64),
            mean=np.empty(m),
            squares=np.empty(m),
            solves=np.zeros(2, np.int64),
            attributions=np.zeros(m, np.int64),
            size=np.zeros(2, np.int64),
            ends=np.empty(STRETCHES + 1, np.int64),
            rates=np.empty(STRETCHES + 1),
            offsets=np.zeros(STRETCHES + 1, np.int64),
            changed=np.empty(CHANGES + k, np.int64),
            values=np.empty(CHANGES + k),
        )

    @classmethod
    def of(cls, policy: Policy, losses: object) -> Engine | None:
        """An engine for this policy and these losses, if they are of the kind it knows."""
        if type(policy) is not AsyncLazyGraphLinUCB or not isinstance(losses, Drawn):
            return None
        local, noise = policy.learner.local, losses.noise
        if policy.learner.limits is not None:  # its kernels know the whole domain only
            return None
        if local is None or not isinstance(noise, Gaussian):
            return None
        return cls(policy, local, losses, np.array(noise.scales(policy.problem.graph)))

    def play(
        self, t: int, stop: int, best: float, recorder: Recorder, progress: Callable[[int], None]
    ) -> tuple[int, bool]:
        """Play until `stop`, or until the policy itself must look: the round, and whether so."""
        status = FULL
        while status == FULL:
            begun = t
            self._enter(t, stop)
            status = _events(self.run, self.policy.learner.estimators.factor, self.losses.rng)
            t = int(self.run.t[0])
            self._leave(begun, best, recorder, failed=status == FAILED)
            progress(t - begun)
        self.losses.means.visit(self.policy.learner.state)
        return t, status == ASK

    def _enter(self, t: int, stop: int) -> None:
        run, learner = self.run, self.policy.learner
        self.losses.means.visit(learner.state)
        learner.lend()
        run.t[:] = t, stop
        run.clock[:] = learner.clock, learner.clock + self.policy.review_left()
        run.common[:] = learner.estimators.common, learner.estimators.skipped
        run.rate[:] = self.losses.means.rate, 0.0
        run.bound[:] = learner.certificate.bound, learner.bound_per_round
        run.solves[:] = run.size[:] = 0
        run.attributions[:] = 0
        run.ends[0], run.rates[0] = t, run.rate[0]

    def _leave(self, begun: int, best: float, recorder: Recorder, *, failed: bool) -> None:
        run, learner = self.run, self.policy.learner
        moves, knobs = (int(n) for n in run.size)
        rounds = int(run.ends[0]) - begun
        recorder.played(learner.state, rounds, rate=float(run.rates[0]), best=best)
        learner.estimators.skipped_to(int(run.common[0]), int(run.common[1]))
        learner.take_back(
            rounds=int(run.t[0]) - begun,
            bound=float(run.bound[0]),
            owed=self.losses.owed,
            solves=int(run.solves[0]),
            since=int(run.t[0] - run.solves[1]),
            failed=failed,
        )
        recorder.ran(
            learner.state,
            ends=run.ends[1 : moves + 1],
            rates=run.rates[1 : moves + 1],
            best=best,
            offsets=run.offsets[1 : moves + 1],
            changed=run.changed[:knobs],
            values=run.values[:knobs],
            solves=int(run.solves[0]),
            attributions=run.attributions,
        )


@compiled
def _events(run: Run, factor: float, rng: np.random.Generator) -> int:
    """Event after event, and why they end."""
    affected, rounds, mean, squares = run.local.parts.affected, run.rounds, run.mean, run.squares
    while True:
        status = _advance(run)
        if status != EVENT:
            return status
        size = run.found[2]
        for c in range(size):  # first all means, then all squares, as `Gaussian.sums` draws them
            if rounds[c] > 0:
                i = affected[c]
                spread = run.sigma[i] / np.sqrt(rounds[c])
                mean[c] = _expected(i, run) + rng.standard_normal() * spread
        for c in range(size):
            if rounds[c] > 0:
                sigma = run.sigma[affected[c]]
                squares[c] = rng.standard_gamma(0.5 * rounds[c] - 0.5) * (2.0 * sigma * sigma)
        status = _act(factor, run)
        if status != EVENT:
            return status


@inner
def _advance(run: Run) -> int:
    """Let rounds pass up to the next event, and find whom it concerns."""
    local, t, clock, common, found = run.local, run.t, run.clock, run.common, run.found
    if t[0] >= t[1]:
        return DONE
    passed = min(local.tree[1] - common[0], clock[1] - clock[0], t[1] - t[0])
    t[0] += passed
    clock[0] += passed
    common[0] += passed
    common[1] += passed
    run.bound[0] += passed * run.bound[1]
    run.ends[run.size[0]] = t[0]
    if clock[0] >= clock[1]:
        return ASK
    found[0] = list_due(local.tree, local.book.due, local.book.n, common[0], run.due)
    if found[0] == 0:
        return DONE
    found[1] = find(run.due[: found[0]], local.parts)
    if listed(found[1], local):
        return ASK
    found[2] = local.parts.criterion_ends[found[1]]
    for c in range(found[2]):
        run.rounds[c] = common[1] + local.book.owed[local.parts.affected[c]]
    return EVENT


@inner
def _act(factor: float, run: Run) -> int:
    """Take in the losses drawn, move, and record it."""
    local, found, size, solves = run.local, run.found, run.size, run.solves
    walk, common = local.walk, run.common
    affected, due = local.parts.affected[: found[2]], run.due[: found[0]]
    add_owed(affected, run.mean, run.squares, common[0], common[1], local.book)
    for i in affected:
        add_to(run.rate, -walk.land.weights[i] * _expected(i, run))
    moved = update(due, found[1], common[0], factor, local)
    for i in affected:
        add_to(run.rate, walk.land.weights[i] * _expected(i, run))
    if moved < 0:
        return FAILED
    if solves[0] == 0:
        solves[1] = run.t[0]
    solves[0] += 1
    for i in due:
        run.attributions[i] += 1
    run.bound[1] = 2.0 * (local.width[0] + local.width[1])
    if moved == 0:
        return EVENT
    size[0] += 1
    knobs = local.moved[:moved]
    sort(knobs)
    for j in knobs:
        run.changed[size[1]] = j
        run.values[size[1]] = walk.current[j]
        size[1] += 1
    run.offsets[size[0]] = size[1]
    run.ends[size[0]], run.rates[size[0]] = run.t[0], run.rate[0] + run.rate[1]
    return FULL if size[0] == STRETCHES or size[1] >= CHANGES else EVENT


@inner
def _expected(i: int, run: Run) -> float:
    """The expected loss of criterion i at the deployed state."""
    offsets, phi = run.local.book.offsets, run.local.book.phi
    x = 0.0
    for f in range(offsets[i], offsets[i + 1]):
        x += phi[f] * run.theta[f]
    return x
