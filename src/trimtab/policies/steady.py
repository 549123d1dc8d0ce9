"""Steady: the lazy schedule, with moves that must be worth their price."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from trimtab.arrays import NOBODY, Array, ArrayLike, Ints, number, whole
from trimtab.errors import InvalidInput
from trimtab.learn import NEVER, Confidence, Prior
from trimtab.model.domain import BoundBox, BoundDomain
from trimtab.model.problem import Problem
from trimtab.policies import alarm as alarms
from trimtab.policies.base import Cause, Told
from trimtab.policies.lazy_policy import ColdStart, LazyPolicy
from trimtab.policies.record import Record
from trimtab.policies.registry import register
from trimtab.policies.weighing import Weighed, gains_of, price_of, priced, sighted, smallest
from trimtab.solve import Solution

PRUNED = 0.1  # of the width: what may be given up so that fewer knobs move
CAUTION, CAUTIOUS = 0.1, 2  # how far at once after an alarm, and at how many looks
REACH, REACH_ROUNDS = 0.2, 100.0  # of a knob at one look, and after how many rounds it grows
SHARE, EARLY = 0.75, 20  # of the way to an end of its range a knob goes, in the first rounds


@register
class SteadyGraphLinUCB(LazyPolicy):
    r"""The recommended policy: it asks of every move whether it pays.

    At a look, with s' deployed and :math:`\hat n` rounds to come,

    .. math::
        s \leftarrow \arg\min_s \; \mathrm{LCB}_t(s) + \frac{1}{\hat n}
        \sum_j \lambda_j |s_j - s'_j|, \qquad \hat n \ge n^*(s),

    where :math:`\lambda` is the problem's move_cost and :math:`n^*(s)` counts the rounds until
    the next trigger at s: :math:`\hat n` starts at :math:`n^*(s')` and doubles until it
    suffices. The epoch ends at the latest after :math:`\hat n` rounds, whatever was
    observed. Staying is an ordinary answer, and every look explains itself (`Told.record`).
    The total cost, regret and price of movement together, obeys the bound of Algorithm 1.

    With ``rho > 0`` the state need not be optimal: the first of staying, moving only the knobs
    that the triggering criteria read, these and their neighbours, and moving anything is
    taken whose objective is within rho W(s) of the best.

    Told nothing but the problem and the start, it learns with a `Prior`: how much losses change
    and how noisy they are is found out at every look, the width is that of the posterior, single
    wild losses are cut, and a look considers only states within reach of the present one. A move
    has to pay within as many rounds as were played, and for the rounds in which nothing can be
    learned after it, if there are (`settling`). Nothing is certified then. With a `radius` it is
    the paper's ridge regression.

    Losses that do not fit what was learned ring an *alarm*. With a prior, a state whose losses
    differ from its own earlier ones widens what these criteria believe. With a `Confidence` the
    criterion forgets everything and starts anew.

    Changes that do not show at the deployed state ring nothing. With a `memory` of H rounds
    what was learned loses 1/H of its weight in every round, so that other states become
    worth a look again. A look is due by what the deployed state has shown since the last one,
    which never fades: looks go on for ever, at most `theory.max_accruals` of them. In a world
    that stays it costs regret, and nothing is certified, since no bound knows the drift.

    Deviation: not in the paper, whose schedule decides when to look and never asks
    whether a move is worth its price.

    >>> import trimtab as tt
    >>> ring = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> world = tt.worlds.quadratic(ring, seed=3, move_cost=30.0)
    >>> policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 4)
    >>> trace = tt.play(policy, world, horizon=1000)
    >>> lazy = tt.LazyGraphLinUCB(world.problem, start=[0.5] * 4)
    >>> trace.movement < 0.6 * tt.play(lazy, world, horizon=1000).movement
    True

    Args:
        problem: with the move_cost that a move has to pay for.
        start: the state the system is in now.
        radius: beta, one number or one per criterion, or a `Confidence`; None for a prior.
        reg: the ridge parameter that goes with a radius, one number or one per criterion; 1 by
            default.
        prior: what is believed of the losses before any is seen, `Prior()` by default.
        factor: C, by how much a determinant must grow to trigger.
        cold_start: "solve" before the first round, or "keep" the start state, the default
            where every criterion has a constant feature.
        review: whether to look whenever the clock has doubled since the last time.
        period: rounds after which it looks at the latest, for worlds whose changes do not show
            at the deployed state.
        memory: H, let data lose 1/H of their weight in every round, for worlds that drift; by
            default nothing is forgotten.
        window: W, let only the last W rounds count, and look at least once in W rounds: what
            drifts is forgotten whole instead of little by little. It goes with a radius.
        rho: how far from optimal a smaller move may be, in widths.
        certify: prove a lower bound at every look, down to a gap of this share of the width.
        alarm: whether to watch for changes; by default, but not with a fixed radius.
        seed: of the solver's random starts.
    """

    period: int
    rho: float
    certify: float
    alarm: bool
    _until: int  # the clock at which the epoch ends at the latest
    _gain: float  # the information gathered by the last look
    _next_check: int  # the clock at which the alarm is looked at next
    _checks: int  # how often it was
    _caution: int  # looks that stay near after an alarm
    _own: ClassVar[tuple[str, ...]] = (
        *("review", "_last_global", "period", "rho", "certify", "alarm"),
        *("_until", "_gain", "_next_check", "_checks", "_caution"),
    )

    def __init__(
        self,
        problem: Problem,
        *,
        start: ArrayLike,
        radius: ArrayLike | Confidence | None = None,
        reg: ArrayLike | None = None,
        prior: Prior | None = None,
        factor: float = 2.0,
        cold_start: ColdStart | None = None,
        review: bool = True,
        period: int | None = None,
        memory: int | None = None,
        window: int | None = None,
        rho: float = 0.0,
        certify: float | None = None,
        alarm: bool | None = None,
        seed: int = 0,
    ) -> None:
        self.rho = number(rho, "rho", low=0.0, strict=False)
        self.certify = (
            np.inf if certify is None else number(certify, "certify", low=0.0, strict=False)
        )
        self.period = NEVER if period is None else whole(period, "period", low=1)
        H = NEVER if memory is None else whole(memory, "memory", low=2)
        W = NEVER if window is None else whole(window, "window", low=2)
        if W < NEVER and (H < NEVER or radius is None):
            raise InvalidInput(
                "window goes with a radius and without memory: give radius=..., and one of the two"
            )
        self.period = min(self.period, W)
        self._until, self._gain, self._next_check, self._checks = NEVER, 0.0, NEVER, 0
        self._caution = 0
        if cold_start is None:
            cold_start = "keep" if problem.has_constants else "solve"
        super().__init__(
            problem,
            start=start,
            radius=radius,
            reg=reg,
            prior=prior,
            factor=factor,
            cold_start="keep" if cold_start == "solve" else cold_start,
            review=review,
            seed=seed,
        )
        if H < NEVER:
            self.learner.fade(H)
        if W < NEVER:
            self.learner.slide(W)
        watchable = alarms.watchable(self.learner.lcb.radius)
        if alarm and not watchable and self.learner.prior is None:
            raise InvalidInput(
                "alarm=True needs a radius that holds; pass radius=Confidence(sigma=..., norm=...) "
                "of the form 'logdet'"
            )
        if self.learner.prior is not None and alarm is None:
            watchable = True
        self.alarm = watchable if alarm is None else bool(alarm)
        if cold_start == "solve" and self.learner.ready:
            self._look("review", NOBODY)
        else:
            self._begin_epoch(0 if self.learner.holding else self._limit())

    @property
    def memory(self) -> int:
        """H, the rounds over which data lose their weight; 2^62 if nothing is forgotten."""
        return self.learner.estimators.memory

    # When to look.

    def _check(self) -> Told:
        clock, estimators = self.learner.clock, self.learner.estimators
        ahead = min(self._until, 2 * max(self._last_global, 1) if self.review else NEVER) - clock
        left = min(estimators.rounds_left, ahead)
        if self.alarm and (left <= 0 or clock >= self._next_check):
            rung = self._listen()
            if rung.size:
                return self._look("alarm", rung)
        if left <= 0:
            triggered = estimators.triggered()
            return self._look("trigger" if triggered.size else "review", triggered)
        return Told(triggered=NOBODY, cause="none", moved=0.0, next_review=left)

    def review_left(self) -> int:
        """Rounds until the policy acts by the clock alone."""
        if self.learner.holding:
            return super().review_left()
        ahead = min(self._until, self._next_check) - self.learner.clock
        return min(super().review_left(), ahead)

    def next_look(self) -> int:
        """Rounds until the next look if everything is observed and nothing rings."""
        if self.learner.holding:
            return self.rounds_left()
        ahead = min(self._until, self._review_at if self.review else NEVER) - self.learner.clock
        return min(self.learner.estimators.rounds_left, ahead)

    def _begin_epoch(self, rounds: int) -> None:
        clock = self.learner.clock
        self._last_global = clock
        self._until = min(clock + rounds, NEVER)
        first = 1 if self.learner.prior is None else 2
        self._next_check = clock + first if self.alarm else NEVER

    def _listen(self) -> Ints:
        """The criteria whose losses in this epoch contradict what was known before it."""
        if self.learner.owed is not None:
            self.learner.settle()
        self._checks += 1
        begun = self._last_global
        self._next_check = begun + 2 * (self.learner.clock - begun)
        if self.learner.prior is not None:
            latest = self.learner.clock + alarms.interval(self.learner.problem.criteria)
            self._next_check = min(self._next_check, latest)
            rung, doubted = alarms.changed(self.learner)
            if rung.size:
                self.learner.widen(doubted)
                self._caution = CAUTIOUS
            return rung
        rung = alarms.rung(self.learner, self._checks)
        if rung.size:
            self._gain -= float(self.learner.estimators.stats.gain[rung].sum())
            self.learner.forget(rung)
        return rung

    # What to do.

    def _look(self, cause: Cause, criteria: Ints) -> Told:
        """Deploy the state whose bound and price together are least; explain it."""
        learner, stats = self.learner, self.learner.estimators.stats
        everybody, before = learner.problem.all_criteria, learner.state
        cut = np.flatnonzero(stats.cut)
        learner.absorb(everybody)
        fades = learner.estimators.memory < NEVER or learner.window is not None
        gathered = float(stats.gain.sum())
        information = float(stats.since.sum()) if fades else gathered - self._gain
        with learner.foreseeing():
            free, best, rounds, here, there = self._weighed(criteria)
        knobs = np.flatnonzero(best != before)
        weighed = best if knobs.size else free.state
        gain, expected = gains_of(learner, here, there)
        means, widths = there if knobs.size else here
        price = price_of(learner, weighed, there, rounds)
        value, certified = float(means.sum() - widths.sum()), free.lower_bound is not None
        lower = free.value if free.lower_bound is None else free.lower_bound
        learner.adopt(best, everybody, reset=everybody, lower=lower, certified=certified)
        self._begin_epoch(rounds)
        record = Record(
            round=learner.clock,
            cause=cause,
            criteria=criteria,
            cut=cut,
            information=information,
            gain=gain,
            expected=expected,
            rounds=rounds,
            price=price,
            gap=value - lower,
            certified=certified and learner.lcb.radius.certified and not fades,
            knobs=knobs,
            before=before[knobs],
            after=best[knobs],
            next_review=self.next_look(),
        )
        self._gain = gathered
        triggered = criteria if cause == "trigger" else NOBODY
        return Told(
            triggered=triggered,
            cause=cause,
            moved=float(np.abs(best - before).sum()),
            next_review=record.next_review,
            record=record,
            rung=criteria if cause == "alarm" else NOBODY,
        )

    def _weighed(self, criteria: Ints) -> Weighed:
        """What to do: by the core in one call, or by the same steps here where it cannot."""
        learner, prior = self.learner, self.learner.estimators.prior
        domain = learner.reachable(self._reach(), self._share())
        limit, told = self._limit(), learner.prior is None
        found = None
        if self.certify == np.inf and self.rho == 0.0:
            found = learner.weighed(
                domain, rounds=0 if told else limit, limit=limit, prune=0.0 if told else PRUNED
            )
        if found is None:
            weighed = self._by_hand(domain, criteria)
        else:
            free = Solution(found["free"], found["value"], None)
            weighed = Weighed(free, found["best"], found["rounds"], found["here"], found["there"])
        weighed = sighted(learner, weighed)
        if prior is not None and prior.least is not None:
            price = price_of(learner, weighed.best, weighed.there, weighed.rounds) / weighed.rounds
            moves = not np.array_equal(weighed.best, learner.state)
            if moves and gains_of(learner, weighed.here, weighed.there)[0] < price:
                there = learner.lcb.terms(weighed.free.state)  # the bound promised too much
                return Weighed(weighed.free, learner.state, weighed.rounds, weighed.here, there)
        return weighed

    def _by_hand(self, domain: BoundDomain, criteria: Ints) -> Weighed:
        learner, toll = self.learner, self.learner.problem.toll
        certify = None if self.certify == np.inf else self.certify
        free = learner.solve(learner.problem.all_criteria, domain=domain, certify=certify)
        rounds = self._limit()
        if learner.prior is None:
            rounds = self._rounds(learner.state)
        elif learner.pending:
            rounds = max(min(self._answered(), rounds), 1)
        while True:
            best = priced(learner, free, toll.over(rounds), domain)
            if self.rho > 0.0:
                best = smallest(learner, best, criteria, toll.over(rounds), self.rho)
            needed = self._rounds(best)
            if needed <= rounds:
                break
            rounds = min(max(2 * rounds, needed), self._limit())
        if learner.prior is not None and isinstance(domain, BoundBox) and toll.norm == "l1":
            left = PRUNED * learner.lcb.width(best)
            pruned = learner.lcb.pruned(best, learner.state, toll.per_knob / rounds, left)
            best = pruned if learner.admits(pruned) else best
        stays = np.array_equal(best, learner.state)
        there = learner.lcb.terms(free.state if stays else best)
        return Weighed(free, best, rounds, learner.lcb.terms(learner.state), there)

    def recount(self) -> None:
        """Take what the matrices hold now for what the last look knew: they were refitted."""
        self._gain = float(self.learner.estimators.stats.gain.sum())

    def _answered(self) -> int:
        """The rounds played whose losses are not on their way."""
        return self.learner.clock - self.learner.pending.rounds

    def _reach(self) -> float:
        """How far a knob may go at once: not far while little is known of what is there."""
        if self.learner.prior is None:
            return np.inf
        if self._caution > 0:
            self._caution -= 1
            return CAUTION
        return REACH * max(1.0, float(np.sqrt(self.learner.clock / REACH_ROUNDS)))

    def _share(self) -> float:
        """How much of the way to an end of its range a knob may go: not all of it early."""
        early = self.learner.prior is not None and self._answered() < EARLY
        return SHARE if early else 1.0

    def _rounds(self, state: Array) -> int:
        """n*: how many rounds the state would stay, as far as the clock allows."""
        return max(min(self.learner.rounds_at(state), self._limit()), 1)

    def _limit(self) -> int:
        """The longest an epoch may last: until the next review, were it to begin now."""
        doubled = 2 * max(self.learner.clock, 1) - self.learner.clock
        return min(doubled if self.review else NEVER, self.period)
