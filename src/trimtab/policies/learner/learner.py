"""The memory of a node-wise policy: the state deployed, what was seen, what it may have cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trimtab import arrays
from trimtab._core import LocalUpdate, rounds_to_trigger
from trimtab.arrays import LARGEST_LOSS, NOBODY, Array, ArrayLike, Ints, read_only
from trimtab.errors import InvalidInput, SolverFailed
from trimtab.learn import Confidence, NodewiseEstimators, Prior, as_radius
from trimtab.learn.beliefs import HOLD, Beliefs
from trimtab.learn.confidence import PosteriorWidth
from trimtab.learn.empirical_bayes import Scales
from trimtab.learn.losses.first_losses import MOST as FIRST
from trimtab.learn.nodewise import Owed
from trimtab.learn.window import Window
from trimtab.model.domain import BoundBalls, BoundBox, BoundDomain
from trimtab.model.problem import Problem
from trimtab.policies.lcb import LCB, new_local
from trimtab.policies.learner import snapshot
from trimtab.policies.learner.arguments import check_beliefs, rounds_of
from trimtab.policies.learner.certificate import Account, Certificate
from trimtab.policies.pending import Pending
from trimtab.solve import Solution, solve
from trimtab.solve.admissible import Admissible
from trimtab.solve.solve import TOO_LARGE

if TYPE_CHECKING:
    from trimtab._core import Weighed

GLOBAL_EFFORT = 1.0  # where every knob may move


class Learner:
    """Everything a node-wise policy remembers, behind a few verbs.

    `observe` takes losses in, `skip` lets rounds pass whose losses come later,
    `resolve` deploys the minimiser of the lower confidence bound, `place` a given state.
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
        prior: Prior | None = None,
    ) -> None:
        m = problem.criteria
        self.prior = check_beliefs(radius, reg, prior, proven=True)
        known = prior is not None and self.prior is None  # V0 is given, and the radius is proven
        self.limits: BoundBox | None = None  # where `ask` must stay, if not in the whole domain
        self.admissible: Callable[[], Admissible] | None = None  # what a look may choose
        self.settling: Ints | None = None  # (k,) rounds without losses after a knob has moved
        self.pending = Pending(knobs=problem.knobs, criteria=m)
        self._counted = 0  # rounds that `wait` does not count again
        self.window: Window | None = None  # what alone counts, if not everything does
        self.problem = problem
        self.start: Array = read_only(problem.domain.check(start, "start"))
        self.seed = arrays.whole(seed, "seed", low=0)
        bound = None if prior is None and self.prior is None else (prior or Prior()).bind(problem)
        if bound is not None and known:
            reg = np.asarray(bound.sigma) ** 2  # the bias, sqrt(reg) norm, is sigma norm
        self.estimators = NodewiseEstimators(
            problem,
            reg=arrays.per_item(
                1.0 if reg is None else reg, m, "reg", "criterion", low=0.0, strict=True
            ),
            factor=factor,
            state=self.start,
            prior=bound,
            known=known,
        )
        self.beliefs: Beliefs | None = None
        if self.prior is not None and bound is not None:
            self.beliefs = Beliefs(self.estimators, bound)
        width = PosteriorWidth(m) if radius is None else as_radius(radius, m)
        self.lcb = LCB(self.estimators, width)
        self.state = self.start
        self.origin = self.start  # the state that the policy's own first move leaves
        self.clock = 0
        self.solved = 0  # solver calls so far: part of the seed of the next
        self.local_effort = GLOBAL_EFFORT  # where only a neighbourhood may move
        self._measured: Array | None = None  # what the core has deployed and is yet to be adopted
        self.owed: Owed | None = None  # gives losses that are asked for when a matrix needs them
        self.account = Account(certified=self.lcb.radius.certified)
        # Before any data F(s) >= -sum_i w_i |phi_i(s)| |theta_i|, theta_i in its ellipsoid.
        self._prior: Array | None = None  # (m,) while holding
        if self.prior is None:
            longest = problem.weights * self.estimators.longest(self.lcb.radii)
            self.account.know(-float(longest @ problem.features.bounds), certified=True)
            self._prior = longest if self.lcb.radius.least_df > 0 else None
        self._charge()

    @property
    def certificate(self) -> Certificate:
        """The sum over rounds of 2 W + gap, each as of the round's deployment."""
        return self.account.certificate

    @property
    def scales(self) -> Scales | None:
        """Spread and noise, once they were learned; None where they are not."""
        return None if self.beliefs is None else self.beliefs.scales

    @property
    def holding(self) -> bool:
        """Whether the state stays because the noise was unknown, up to the solve that ends it."""
        return self.solved == 0 and (self.prior is not None or self.lcb.radius.least_df > 0)

    @property
    def ready(self) -> bool:
        """Whether every criterion has a radius once its sums are absorbed: solve only then."""
        return self.solved > 0 or not self.holding or not self.lacking().any()

    def lacking(self) -> Ints:
        """How often each criterion must still be observed before it has a radius: (m,)."""
        if self.prior is not None:
            return np.maximum(HOLD - self.estimators.observed(), 0)
        return self.estimators.lacking(self.lcb.radius.least_df)

    # What goes in.

    def observe(
        self, losses: ArrayLike | None, *, played: ArrayLike | None, count: ArrayLike
    ) -> Ints:
        """Take losses in, or note that they come later; the criteria of which one was cut.

        Rounds of the deployed state advance the clock when they are played, so that those which
        were pending do not when they are answered.
        """
        if losses is None:
            self._play(played, count)
            return NOBODY
        one = isinstance(count, int) and count == 1
        if one and played is None and type(losses) is np.ndarray:
            beyond = self.estimators.stats.core.add(losses, None, LARGEST_LOSS)
            if beyond >= 0:  # as in nearly every round
                self._keep(losses, 1, self.state)
                self.wait(1)
                return self.estimators.beyond(losses) if beyond else NOBODY
        m = self.problem.criteria
        y, _ = arrays.losses(losses, m)
        if one and played is None:
            self._keep(y, 1, self.state)
            self.wait(1)
            return self.estimators.add(y)
        n = np.ones(m, np.int64) if one else arrays.counts(count, m, losses=y)
        x = self.state if played is None else self.problem.domain.check(played, "played")
        self._keep(y, n, x)
        answered = self.pending.answer(x, n) if played is not None else np.zeros(m, np.int64)
        if x is not self.state and not np.array_equal(x, self.state):
            limits = None if self.beliefs is None else self.beliefs.limits()
            cut = self.estimators.add_elsewhere(y, n, x, limits)
            self.lcb.update(np.flatnonzero(~np.isnan(y)))
            if self.window is not None:
                self.window.add(self.clock, x, np.where(np.isnan(y), 0, n), y)
            return cut
        cut = self.estimators.add(y, None if one else n)
        self._counted = max(self._counted - int(answered.max()), 0)  # neither is counted here
        if not answered.any():
            self.wait(rounds_of(y, n))
        elif (n > answered)[~np.isnan(y)].any():
            self.wait(rounds_of(y, n - answered))
        return cut

    def _play(self, played: ArrayLike | None, count: ArrayLike) -> None:
        """Rounds pass whose losses come later."""
        rounds = arrays.whole(count, "count", low=1)
        x = self.state if played is None else self.problem.domain.check(played, "played")
        self.pending.add(x, rounds)
        if np.array_equal(x, self.state):
            self.wait(rounds)

    def _keep(self, losses: Array, count: Ints | int, state: Array, ahead: int = 0) -> None:
        """Remember the first losses as they came, `ahead` rounds later than the clock says."""
        if self.beliefs is not None and self.beliefs.first.open:
            here = state is self.state or np.array_equal(state, self.state)
            self.beliefs.keep(losses, count, state, self.clock + ahead, here=here)

    def foreseeing(self) -> AbstractContextManager[None]:
        """Inside, the widths count pending rounds as observed; estimates do not."""
        pending = self.pending
        return self.estimators.foreseeing(pending) if pending.states.size else nullcontext()

    def observe_rows(self, rows: Array) -> Ints:
        """Take in several rounds of the deployed state, (n, m), in which nothing is missing.

        Returns the criteria of which a loss was cut.
        """
        cut = self.estimators.add(rows)
        for ahead, row in enumerate(rows[: FIRST + 1]):
            self._keep(row, 1, self.state, ahead)
        self.wait(len(rows))
        return cut

    def skip(self, rounds: int, owed: Owed, seen: Ints | None) -> None:
        """Let rounds pass; their losses will be asked for when a matrix needs them."""
        self.owed = owed
        self.estimators.skip(rounds, seen)
        self.wait(rounds)

    def settle(self) -> None:
        """Ask for all losses that are still owed."""
        if self.owed is not None:
            self.estimators.collect(self.problem.all_criteria, self.owed)
            self.owed = None

    def wait(self, rounds: int, bound: float | None = None) -> None:
        """Rounds pass; what they teach is told otherwise, if anything.

        Where they were not all at the deployed state the bound of the certificate is given.
        """
        if self._counted:
            again = min(rounds, self._counted)
            self._counted -= again
            rounds -= again
        account = self.account
        self.clock += rounds
        account.bound = account.bound + rounds * account.rate if bound is None else bound
        account.certified &= account.lower_certified

    @contextmanager
    def counted(self, rounds: int) -> Iterator[None]:
        """Inside, the clock already has this number of the rounds that are observed."""
        self._counted = rounds
        try:
            yield
        finally:
            self._counted = 0

    # What comes out.

    def resolve(self, *, reset: Ints, around: Ints | None = None) -> float:
        """Deploy the minimiser of the LCB and reset the clocks given; how far it moved, in l1.

        With `around` only the knobs that those criteria read may move; every criterion
        that reads one of them takes part.
        """
        effort = GLOBAL_EFFORT if around is None else self.local_effort
        moved = self._update(around, reset, effort)
        if moved is not None:
            return moved
        free, criteria = None, self.problem.all_criteria
        if around is not None:
            free, criteria = self.problem.graph.reach(around)
        self.absorb(criteria)
        with self.foreseeing():
            solution = self.solve(criteria, free=free, effort=effort)
        before, after = self.state, solution.state
        self.adopt(
            after, criteria, reset=reset, lower=solution.lower_bound if free is None else None
        )
        return float(np.abs(after - before).sum())

    @cached_property
    def local(self) -> LocalUpdate | None:
        """What updates of a few knobs are made with in one go, where the core has it."""
        return new_local(self.lcb)

    def _update(self, around: Ints | None, reset: Ints, effort: float) -> float | None:
        """What `resolve` does, by the core in one call; None where it cannot."""
        local, estimators, graph = self.local, self.estimators, self.problem.graph
        if local is None or self.limits is not None or self.pending or self.admissible is not None:
            return None  # it knows the whole domain only, and nothing of what comes later
        everybody, before, blank = self.problem.all_criteria, self.state, self._blank
        if self.owed is not None:
            affected = everybody if around is None else graph.reach(around)[1]
            estimators.collect(affected, self.owed)
        found = local.update(
            state=self.state,
            width=self.width,
            around=everybody if around is None else around,
            triggered=reset,
            factor=estimators.factor,
            effort=effort,
            seed=self.next_seed,
        )
        if found is None:
            return None
        state, finite = found
        self.updated(state, 1, blank=blank)
        if not finite:
            raise SolverFailed(TOO_LARGE)
        return float(np.abs(self.state - before).sum())

    @property
    def _blank(self) -> bool:
        """Whether nothing was seen yet: the bound of __init__ is known then."""
        return not self.clock and not self.estimators.stats.gain.any()

    @property
    def next_seed(self) -> int:
        """The seed of the next solve."""
        return (self.seed + self.solved) % 2**63

    def updated(self, state: Array, solves: int, *, blank: bool = False) -> None:
        """Updates by the core have deployed this state and measured it."""
        self.state = read_only(state)
        self.solved += solves
        if not blank:
            self.account.know(None, certified=False)
        self._charge()

    def absorb(self, criteria: Ints) -> None:
        """Carry what these criteria have seen into their matrices and radii."""
        if self.owed is not None:
            self.estimators.collect(criteria, self.owed)
        beliefs, everybody = self.beliefs, criteria.size == self.problem.criteria
        if self.window is not None:
            self.window.add(self.clock, self.state, *self.estimators.frozen())
        if beliefs is None:
            self.estimators.flush(criteria, self.clock)
        else:
            beliefs.absorb(criteria, self.clock)
        if self.window is not None and self.window.slide(self.clock):
            self.estimators.forget(criteria)
            for state, count, losses in self.window:
                self.estimators.add_elsewhere(losses, count, state)
        if beliefs is None:
            self.lcb.update(criteria)
            return
        if everybody:
            self._relearn(beliefs)

    def _relearn(self, beliefs: Beliefs) -> None:
        """Learn spread and noise anew, and set the widths."""
        radii = beliefs.relearn(self.clock)
        if radii is not None:
            self.lcb.radii[:] = radii

    def reachable(self, reach: float, share: float = 1.0) -> BoundDomain:
        """The states within the limits in which no knob is farther than `reach` from now.

        A knob goes at most that share of the way to an end of its range.
        """
        whole = self.problem.domain
        domain = whole if self.limits is None else self.limits
        if not isinstance(domain, BoundBox) or (reach >= 1.0 and share >= 1.0):
            return domain
        down, up = share * (self.state - whole.low), share * (whole.high - self.state)
        return domain.around(self.state, np.minimum(reach, down), np.minimum(reach, up))

    def within(self, low: ArrayLike | None, high: ArrayLike | None) -> None:
        """Stay between these values from now on; None lifts the limit."""
        domain, k = self.problem.domain, self.problem.knobs
        if isinstance(domain, BoundBalls):
            raise InvalidInput("within(low, high) on Balls; only a box can be narrowed")
        if low is None and high is None:
            self.limits = None
            return
        ends = [
            arrays.per_item(
                fallback if given is None else given, k, name, "knob", low=0.0, strict=False
            )
            for given, fallback, name in ((low, domain.low, "low"), (high, domain.high, "high"))
        ]
        self.limits = domain.narrowed(*ends)
        self.place(self.limits.project(self.state))

    def solve(
        self, criteria: Ints, *, domain: BoundDomain | None = None, **options: Any
    ) -> Solution:
        """A minimiser of the LCB and the price of moving to it; `criteria` were absorbed.

        It is in the domain given, or within the limits; the options are those of `solvers.solve`.
        """
        where = domain or self.limits or self.problem.domain
        try:
            solution = self._minimum(where, seed=self.next_seed, **options)
        except Exception:
            self.estimators.measure(criteria)  # the schedule must fit what has been learned
            raise
        self.solved += 1
        return solution

    def _minimum(self, domain: BoundDomain, **options: Any) -> Solution:
        lcb = self.lcb if domain is self.problem.domain else self.lcb.within(domain)
        if self.admissible is not None:
            return self.admissible().minimum(lcb, self.state, **options)
        return solve(lcb, self.state, **options)

    def weighed(
        self, domain: BoundDomain, *, rounds: int, limit: int, prune: float
    ) -> Weighed | None:
        """The state that pays and all that a look has to know of it, in one call of the core.

        The regressions are at that state then, with all clocks reset: it is to be adopted. The
        arguments are those of `Objective.weigh`. None where the core cannot: there `solve` and a
        few readable lines do.
        """
        toll, core = self.problem.toll, self.lcb.core
        if core is None or not isinstance(domain, BoundBox) or domain.leveled.size:
            return None
        if self.pending.states.size or self.admissible or toll.norm != "l1" or toll.switch:
            return None
        found = core.weigh(
            current=self.state,
            low=domain.low,
            high=domain.high,
            price=toll.per_knob,
            rounds=rounds,
            limit=limit,
            prune=prune,
            factor=self.estimators.factor,
            effort=GLOBAL_EFFORT,
            seed=self.next_seed,
            deploy=self.estimators.stats.core,
        )
        if found is not None:
            if not np.isfinite(found["value"]):
                self.estimators.measure(self.problem.all_criteria)
                raise SolverFailed(TOO_LARGE)
            self.solved += found["solves"]
            self._measured = found["best"]
        return found

    def admits(self, state: Array) -> bool:
        """Whether a look may choose the state, as far as constraints are concerned."""
        return self.admissible is None or self.admissible().admits(state)

    def adopt(
        self,
        state: Array,
        criteria: Ints,
        *,
        reset: Ints,
        lower: float | None,
        certified: bool = True,
    ) -> None:
        """Deploy the outcome of a solve and reset clocks; no state's F is below `lower`.

        That may be the best value found, then it is not certified, or unknown.
        """
        blank = self._blank
        self.estimators.stats.since[reset] = 0.0  # tau_i becomes now
        self._deploy(state, criteria)
        if not blank:
            self.account.know(lower, certified=certified)
        self._charge()

    def forget(self, criteria: Ints) -> None:
        """Start these criteria anew: their world has changed. The certificate ends here."""
        self.settle()
        self.estimators.forget(criteria)
        if self.beliefs is not None:
            self.beliefs.first.close()
        if self.window is not None:
            self.window.forget(criteria)
        self.lcb.update(criteria)
        self.account.certified = False

    def fade(self, memory: int) -> None:
        """Let data lose 1/memory of their weight in every round; to be called before the first one.

        It is for worlds that drift. No bound knows by how much they do: nothing is certified.
        """
        self.estimators.memory = memory
        if self.beliefs is not None:
            self.beliefs.first.close()
        self.account.certified = False

    def slide(self, rounds: int) -> None:
        """Let only the last `rounds` rounds count; to be called before the first one.

        Nothing is certified.
        """
        m = self.problem.criteria
        self.window = Window(rounds, knobs=self.problem.knobs, criteria=m)
        self.account.certified = False

    def rounds_at(self, state: Array) -> int:
        """Rounds at the state until some determinant would pass the factor, counted from now."""
        spread = self.lcb.predict(state, self.problem.all_criteria)[1]
        return rounds_to_trigger(float(spread.max()), 0.0, self.estimators.factor)

    def place(self, state: ArrayLike) -> None:
        """Deploy the given state; what was seen before stays with the state it belongs to."""
        x = self.problem.domain.check(state, "state")
        self.problem.phi(x)  # a basis function that refuses the state does so before anything moves
        if not np.array_equal(x, self.state):
            self.absorb(self.problem.all_criteria)
            self._deploy(x, self.problem.all_criteria)
            self._charge()
        if self.clock == 0:
            self.origin = self.state

    def _deploy(self, state: Array, criteria: Ints) -> None:
        if self.beliefs is not None:
            graph = self.problem.graph
            changed = (state != self.state)[graph.scope_knobs]
            self.beliefs.unhear(np.logical_or.reduceat(changed, graph.scope_offsets[:-1]))
        self.state = read_only(state)
        measured, self._measured = self._measured, None
        if state is not measured:
            self.estimators.deploy(state, criteria)
        limits = None if self.beliefs is None else self.beliefs.limits()
        if limits is not None:
            self.estimators.expect(limits)

    def widen(self, criteria: Ints) -> None:
        """Doubt what these criteria have learned: their world has changed."""
        beliefs = self.beliefs
        if beliefs is not None:
            before = beliefs.scales
            self.absorb(self.problem.all_criteria)
            beliefs.widen(criteria, before)
        self.account.certified = False

    def _charge(self) -> None:
        """Note what a round at the deployed state can cost: 2 W(s) + F(s) - lower bound.

        Where no bound is known the value at the state just solved for stands in.
        """
        stats, weights = self.estimators.stats, self.problem.weights
        lower = self.account.lower
        if self._prior is not None and self.holding and lower is not None:
            # |phi_i' theta_i| <= |theta_i| |phi_i| is known.
            lengths = np.sqrt(np.add.reduceat(stats.phi**2, stats.offsets[:-1]))
            self.account.charge(lower, float(self._prior @ lengths))
            return
        width = self.width
        value = float(weights @ stats.mean) - width
        self.account.charge(value, value + 2.0 * width)

    @property
    def width(self) -> float:
        """W at the deployed state."""
        radii = self.problem.weights * self.lcb.radii
        return float(radii @ np.sqrt(self.estimators.stats.spread))

    @property
    def bound_per_round(self) -> float:
        """What the next round adds to the certificate's bound."""
        return self.account.rate

    # Memory.

    def snapshot(self) -> dict[str, Any]:
        """Everything the learner remembers, as plain scalars and arrays; nothing stays owed."""
        self.settle()
        return snapshot.to_plain(self)

    @classmethod
    def restored(cls, problem: Problem, saved: Mapping[str, Any]) -> Self:
        """The learner that `snapshot` saw."""
        learner = cls(problem, **cls._arguments(problem, saved))
        learner._recall(saved)
        return learner

    @classmethod
    def entries(cls, problem: Problem, saved: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """The shape of every entry that a snapshot of this kind must have."""
        fresh = Learner(problem, **snapshot.usual_arguments(problem, saved))
        return {name: np.shape(x) for name, x in fresh.snapshot().items()}

    @classmethod
    def _arguments(cls, problem: Problem, saved: Mapping[str, Any]) -> dict[str, Any]:
        """What the learner was made with."""
        return snapshot.arguments(saved)

    def _recall(self, saved: Mapping[str, Any]) -> None:
        """Everything it has seen and done since."""
        snapshot.recall(self, saved)
