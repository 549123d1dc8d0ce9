"""Section 5.2 of the paper: Adaptive Graph Refinement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from trimtab.arrays import NOBODY, Array, ArrayLike, Ints, per_item, rows_of_losses, whole
from trimtab.errors import InvalidInput
from trimtab.learn import NEVER, Confidence, Prior
from trimtab.learn.nodewise import Owed
from trimtab.learn.sparsity_test import EXCLUDED, FIXED, Edges, posterior_radii
from trimtab.learn.subset_refit import check_nested
from trimtab.model.domain import BoundBox
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.policies.adaptive.probing import Probes
from trimtab.policies.adaptive.refit import delta_share, learned, refitted
from trimtab.policies.adaptive.reopening import Reopening, Reopenings
from trimtab.policies.adaptive.warmup import Design, Warmup, plan
from trimtab.policies.alarm import watchable
from trimtab.policies.base import Told, check_entries, part
from trimtab.policies.lazy import LazyGraphLinUCB
from trimtab.policies.lazy_policy import LazyPolicy
from trimtab.policies.learner import Learner, check_beliefs
from trimtab.policies.registry import register
from trimtab.policies.steady import SteadyGraphLinUCB
from trimtab.policies.wrapper import Wrapper, check_inner, restored_inner

Test = Literal["group", "threshold"]
LEAST_DELTA = 1e-300
PROBE_LEAST = 100  # rounds between two laps of probes
LEAST_SIZE = 0.1  # of the spread: dependencies below it may be left out, where gamma is learned


@register
class AdaptiveGraphLinUCB(Wrapper):
    r"""Learns which knobs each criterion really reads, and goes on with that graph.

    The problem's graph is a super-graph, for example the complete one. A *dependency* is a
    criterion i and a knob j of its scope; its size is the length of the coefficients that j
    owns in orthonormal coordinates (`bases.orthonormal`), the square root of the variance
    that j contributes to the loss of i when all knobs are drawn at random.

    1. *Warm-up.* States of an optimal design are played in blocks along a short tour.
    2. *Sparsity test.* With G the features that j owns, j is included where

       .. math:: \hat\theta_G^\top [(V^{-1})_{GG}]^{-1} \hat\theta_G > \beta^2,

       excluded where its size is below gamma for certain, and undecided otherwise. The
       warm-up ends when all are decided, or at its length.
    3. *Refinement.* Excluded knobs leave the scope. The regression is fitted anew to all data
       (:math:`V_{SS}, b_S`), and the policy `then` goes on with it.

    Undecided knobs stay, and are tested again at every global solve. A criterion from which knobs
    were excluded may `reopen`: it begins anew on its whole scope when the alarm rings for it, or
    its losses no longer fit (`policies.adaptive.reopening`), or when it notices a `probe` of a knob
    that it excludes (`policies.adaptive.probing`); `reopened` holds the evidence. The centre of a
    criterion always stays. `edges` holds the evidence for every edge, `graph` what came of it. If
    every dependency is absent or at least gamma, and the radius is a `Confidence`, then no edge is
    ever decided wrongly and all ellipsoids hold with probability 1 - delta: delta / 2 goes to the
    ellipsoids of the super-graph, delta / 2 to those of the learned scopes.

    Told nothing but the problem and the start, it learns with a `Prior`, and gamma is a tenth of
    the spread that it learns. In the test the posterior takes the place of the ellipsoid: beta is
    such that all edges are decided rightly with probability 0.95 if spread and noise are what was
    learned (`edges.posterior_radii`). Nothing is certified then. The warm-up is short, and `then`
    goes on from the best state visited: with a prior knobs that nobody reads cost little, and what
    is undecided is tested at every global look. For the graph's sake ask for a longer one.

    Deviation: the paper tests |theta_ij| > gamma / 2, where theta_ij is undefined if a knob owns
    several features, and a dependency through a product alone is missed. We test the group.

    Deviation: coefficients are judged in an orthonormal basis of the same functions. In raw
    monomials of up to ten knobs the least eigenvalue of Assumption C is 400 to 1,500 times
    smaller, and gamma would depend on the units.

    Deviation: the paper's warm-up plays noise, at a movement of k / 3 a round that its bound
    leaves out (``design="iid"``). Blocks along a tour move as far however long they are.

    Deviation: the paper keeps the dense matrices. The Gram matrix of the features that stay is
    their principal sub-block, and the estimate must be fitted to it, not cut out of the old one.

    Deviation: scopes are refined one by one, so that the learned graph may be directed.

    With ``design="lazy", test="threshold", cold_start="keep", review=False`` it is the paper to the
    letter, but for the principal sub-block; see `test_lazy_play_leaves_dependencies_undetected`.

    >>> import trimtab as tt
    >>> world = tt.worlds.sparse(4, degree=1, gamma=0.3, seed=2)
    >>> radius = tt.Confidence(sigma=0.3, norm=world.norms)
    >>> policy = tt.AdaptiveGraphLinUCB(
    ...     world.problem, start=[0.5] * 4, radius=radius, reg=radius.balanced_reg, gamma=0.3
    ... )
    >>> trace = tt.play(policy, world, horizon=10**5)
    >>> policy.warming, policy.graph == world.truth
    (False, True)

    >>> policy = tt.AdaptiveGraphLinUCB(world.problem, start=[0.5] * 4, warmup=200)
    >>> trace = tt.play(policy, world, horizon=300)  # told nothing of the losses
    >>> policy.warming, policy.graph == world.truth
    (False, True)

    Args:
        problem: on the super-graph, with a basis of monomials or `PairwiseFourier`.
        start: the state the system is in now.
        radius: beta, one number or one per criterion, or a `Confidence`, which alone gives the
            decisions a proven level. None for a prior.
        gamma: the least size of a dependency, one number or one per criterion, in units of the
            losses. A radius needs it.
        reg: the ridge parameter that goes with a radius, one number or one per criterion; 1 by
            default.
        prior: what is believed of the losses before any is seen, `Prior()` by default.
        warmup: the most rounds of the warm-up; by default as many as decide every edge while
            the ellipsoids hold; with a prior one for every two features of the widest scope.
            With 0 the graph is taken as it is.
        design: "optimal", "iid" for a fresh uniform state in every round, "lazy" for what `then`
            plays on the super-graph, or the states to visit, one per row, in any order.
        laps: how many times the tour is walked at most, with a test after each.
        test: "group", or "threshold" for |theta_ij| > gamma / 2 of the largest coefficient that
            the knob owns, in the basis as it is, once, at the end of the warm-up.
        reopen: whether criteria begin anew when the alarm rings or their losses no longer fit; by
            default with a prior only, since the paper excludes an edge for good.
        probe: rounds after which each excluded knob is moved away for a few rounds, one after the
            other, to see a dependency that comes back and does not show at the state played;
            never by default. It goes with `reopen`.
        then: the lazy policy that goes on: by default `LazyGraphLinUCB` with a radius and
            `SteadyGraphLinUCB` with a prior.
        seed: of the solver's random starts and the iid design.
        options: those of `then`; its cold_start is the end of the warm-up, where there is one.
    """

    # The inner policy is the one that goes on; until then its learner serves the warm-up.
    edges: Edges
    warmup: Warmup
    gamma: Array  # (m,) NaN where it is learned
    warming: bool
    _block: int  # the block of the warm-up now played
    _until: int  # the clock at which it ends
    _delta: float  # of the user's radius; 0 where it has none
    _reopenings: Reopenings
    _probes: Probes
    _lazy: bool  # whether the warm-up is the inner policy's own play
    _letter: bool  # whether coefficients are compared with gamma / 2
    _reopen: bool
    _own: ClassVar[tuple[str, ...]] = (
        *("warming", "_block", "_until", "_delta", "_lazy", "_letter", "_reopen"),
    )

    def __init__(
        self,
        problem: Problem,
        *,
        start: ArrayLike,
        radius: ArrayLike | Confidence | None = None,
        gamma: ArrayLike | None = None,
        reg: ArrayLike | None = None,
        prior: Prior | None = None,
        warmup: int | None = None,
        design: Design = "optimal",
        laps: int = 4,
        test: Test = "group",
        reopen: bool | None = None,
        probe: int | None = None,
        then: type[LazyPolicy] | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        prior = check_beliefs(radius, reg, prior)
        if then is None:
            then = SteadyGraphLinUCB if radius is None else LazyGraphLinUCB
        check_inner(then)
        if gamma is None and radius is not None:
            raise InvalidInput(
                "gamma is missing; with a radius say how large a dependency is at least"
            )
        limit = None if warmup is None else whole(warmup, "warmup", low=0)
        laps = whole(laps, "laps", low=1)
        if test not in ("group", "threshold"):
            raise InvalidInput(f"test = {test!r}; choose 'group' or 'threshold'")
        self._lazy, self._letter = isinstance(design, str) and design == "lazy", test != "group"
        if (self._lazy or self._letter) and (radius is None or limit is None):
            raise InvalidInput(
                "design='lazy' and test='threshold' are the paper's Section 5.2, which knows no "
                "prior, and whose length depends on a kappa that nobody knows: give a radius, a "
                "gamma and warmup"
            )
        self._reopen = radius is None if reopen is None else bool(reopen)
        self._probes = Probes(
            NEVER if probe is None else whole(probe, "probe", low=PROBE_LEAST), problem.knobs
        )
        if probe is not None and not (self._reopen and isinstance(problem.domain, BoundBox)):
            raise InvalidInput(
                "probe reopens criteria, knob by knob: it goes with reopen=True and a Box"
            )
        self._problem = problem
        self._reopenings = Reopenings(problem.criteria)
        self.gamma = np.full(problem.criteria, np.nan)
        if gamma is not None:
            self.gamma = per_item(
                gamma, problem.criteria, "gamma", "criterion", low=0.0, strict=True
            )
        self.edges = Edges(problem)
        self.warming = limit != 0 and bool(self.edges.open.any())
        self._delta = float(radius.delta) if isinstance(radius, Confidence) else 0.0
        if self.warming:
            check_nested(problem)
            if not self._lazy:
                options["cold_start"] = "keep"
            if isinstance(radius, Confidence) and not self._letter:
                radius = replace(radius, delta=self._delta / 2.0)
        believed: dict[str, Any] = {"prior": prior}
        if radius is not None:
            believed = {"radius": radius, "reg": 1.0 if reg is None else reg}
        self.inner = then(problem, start=start, seed=seed, **believed, **options)
        self.learner = self.inner.learner
        if probe is not None and not (prior or watchable(self.learner.lcb.radius)):
            raise InvalidInput(
                "probe needs a prior or a radius that holds, Confidence(sigma=..., norm=...)"
            )
        if self.warming and type(self.learner) is not Learner:
            raise InvalidInput(
                f"then = {then.__name__} does not learn criterion by criterion, so that no scope "
                "can shrink alone; choose LazyGraphLinUCB, for example"
            )
        self._block, self._until = 0, NEVER
        if not self.warming:
            self.edges.decision[self.edges.open] = FIXED
        if not self.warming or self._lazy:
            self.warmup = Warmup.none(problem)
            self._until = limit or 0
            return
        self.warmup = plan(
            problem,
            self.edges,
            start=self.learner.start,
            reg=self.learner.estimators.reg,
            radius=self.learner.lcb.radius,
            gamma=self.gamma,
            limit=limit,
            design=design,
            laps=laps,
            seed=self.learner.seed,
        )
        self._begin_block()
        self.learner.origin = self.learner.start  # the move to the first block is our own

    @property
    def graph(self) -> Graph:
        """The graph as it is known now; the super-graph until the warm-up is over."""
        return self.learner.problem.graph

    def tell(
        self, losses: ArrayLike | None, *, played: ArrayLike | None = None, count: ArrayLike = 1
    ) -> Told:
        """Learn from the losses; go on with the warm-up, or look at the state again."""
        if not self._touring:
            return self._tested(self.inner.tell(losses, played=played, count=count))
        cut = self.learner.observe(losses, played=played, count=count)
        return replace(self._check(), cut=cut)

    def tell_rows(self, losses: ArrayLike) -> tuple[int, Told]:
        """Learn from several rounds, one row each, as single tells would; how many rows it took."""
        rows, _ = rows_of_losses(losses, self.problem.criteria)
        if self._touring:
            return super().tell_rows(rows)
        stop = self._until if self.warming else self._probes.due
        rows = rows[: max(stop - self.learner.clock, 1)]
        taken, told = self.inner.tell_rows(rows)
        return taken, self._tested(told)

    def skip(self, rounds: int, owed: Owed, *, seen: Ints | None = None) -> Told:
        """Let rounds pass at the state that `ask` gives, as in `LazyPolicy`."""
        within = not self.warming or rounds <= self._until - self.learner.clock
        if not self._touring and within:
            return self._tested(self.inner.skip(rounds, owed, seen=seen))
        if not 1 <= rounds <= self.rounds_left():
            raise InvalidInput(f"rounds = {rounds}; skip at least 1, and not beyond the block")
        self.learner.skip(rounds, owed, seen)
        return self._check()

    def _check(self) -> Told:
        """The next block of the warm-up once this one is over; after the last one, refine."""
        before = self.ask()
        if self._probes.underway:
            return self._probed(before)
        if self.learner.clock < self._until:
            if self.learner.limits is None:
                return self._no_look()
            self.learner.place(self._clipped(self.warmup.block(self._block)[0]))
            return self._walked(before)
        self._block += 1
        if self.warmup.ends_lap(self._block):
            self.learner.absorb(self.problem.all_criteria)
            self._test()
            if self._block == self.warmup.blocks or not self.edges.open.any():
                self.warming = False
                self._refine(due=True)
                return self._first_look(before) if self.learner.ready else self._no_look()
        self._begin_block()
        return self._walked(before)

    def _walked(self, before: Array) -> Told:
        """What a step of the tour has brought about."""
        far = float(np.abs(self.ask() - before).sum())
        if far == 0.0 and self.learner.clock < self._until and self.learner.limits is not None:
            return self._no_look()
        return Told(triggered=NOBODY, cause="review", moved=far, next_review=self.rounds_left())

    def _first_look(self, before: Array) -> Told:
        """The look that ends the warm-up; with a prior it looks around the best state visited."""
        if self.learner.prior is None:
            return self.inner.look()
        visited = [self._clipped(x) for x in (self.learner.start, *self.warmup.states)]
        values = [self.learner.lcb.value(x) for x in (before, *visited)]
        self.learner.place((before, *visited)[int(np.argmin(values))])
        told, here = self.inner.look(), self.ask()
        if told.record is not None:
            j = np.flatnonzero(before != here)
            record = replace(told.record, knobs=j, before=before[j], after=here[j])
            told = replace(told, record=record)
        return replace(told, moved=float(np.abs(here - before).sum()))

    def _no_look(self) -> Told:
        return Told(triggered=NOBODY, cause="none", moved=0.0, next_review=self.next_look())

    def _begin_block(self) -> None:
        state, rounds = self.warmup.block(self._block)
        self.learner.place(self._clipped(state))
        self._until = self.learner.clock + rounds

    def _clipped(self, state: Array) -> Array:
        """The state of the tour as far as the limits allow."""
        limits = self.learner.limits
        return state if limits is None else limits.project(state)

    def _test(self) -> bool:
        """The sparsity test, at the statistics of the last flush; whether anything was decided."""
        learner, scales = self.learner, self.learner.scales
        radii, gamma = learner.lcb.radii, self.gamma
        if self._letter:
            return self.edges.compare(learner.estimators, gamma, learner.clock)
        if learner.prior is not None:
            if scales is None:  # nothing was seen
                return False
            radii = posterior_radii(learner.problem, self.edges, scales.sigma)
            gamma = np.where(np.isnan(gamma), LEAST_SIZE * scales.spread, gamma)
        return self.edges.test(learner.estimators, radii, gamma, learner.clock)

    def _tested(self, told: Told) -> Told:
        """Test what is undecided again after a global look; knobs it excludes leave at once.

        Criteria whose losses the learned graph no longer explains begin anew.
        """
        if self.warming:  # the lazy one
            return self._end_lazy_warmup(told) if self.learner.clock >= self._until else told
        due = self.learner.clock >= self._probes.due
        if due and told.cause == "none" and not self.learner.holding:
            return self._begin_probing(told)
        if self._letter or told.cause == "none" or not self.inner.looked_globally:
            return told
        again = self._reopenings.after(self.learner, told, self.edges) if self._reopen else NOBODY
        if again.size or (self.edges.open.any() and self._test()):
            self._refine(due=False, fresh=again)
            if isinstance(self.inner, SteadyGraphLinUCB):  # it counts what its looks have gained
                self.inner.recount()
            told = replace(told, next_review=max(self.next_look(), 1))
        return told

    def _end_lazy_warmup(self, told: Told) -> Told:
        """Decide every edge, and resume: nothing changes where nothing was excluded."""
        self.warming = False
        self.learner.settle()
        seen = self.learner
        self.learner = Learner.restored(self.problem, seen.snapshot())  # flushed, to be tested
        self.learner.absorb(self.problem.all_criteria)
        self._test()
        if not self.edges.counts(EXCLUDED).any():
            self.learner = seen
            return told
        self._refine(due=False)
        if isinstance(self.inner, SteadyGraphLinUCB):
            self.inner.recount()
        return replace(told, next_review=max(self.next_look(), 1))

    def _begin_probing(self, told: Told) -> Told:
        """Send the first knob that somebody excludes, if there is one."""
        before = self.ask()
        if self._probes.begin(self.learner, self.edges):
            return self._walked(before)
        return replace(told, next_review=max(self.next_look(), 1))

    def _probed(self, before: Array) -> Told:
        """Go on with the lap; who notices a knob that it excludes begins anew, and ends it."""
        if self.learner.clock < self._probes.until:
            return self._no_look()
        noticed, by = self._probes.noticed(self.learner, self.edges)
        if noticed.size:
            self._probes.end(self.learner)
            self._reopenings.probed(noticed, by, self.learner.clock, self.edges)
            self._refine(due=False, fresh=noticed)
            if isinstance(self.inner, SteadyGraphLinUCB):
                self.inner.recount()
        else:
            self._probes.step(self.learner, self.edges)
        return self._walked(before)

    @property
    def _touring(self) -> bool:
        """Whether states of a tour are played: those of the warm-up, or probes."""
        return self._probes.underway or (self.warming and not self._lazy)

    @property
    def reopened(self) -> tuple[Reopening, ...]:
        """Every excluded edge that was opened again, with the evidence, in order."""
        return tuple(self._reopenings)

    def _refine(self, *, due: bool, fresh: Ints = NOBODY) -> None:
        """Go on with the scopes that are left, everything flushed; a look is due, or has been."""
        smaller = learned(self.problem, self.edges)
        delta = max(self._delta * (1.0 if self._letter else delta_share(self.edges)), LEAST_DELTA)
        self.inner.learner = self.learner = refitted(
            self.learner, smaller, delta=delta, due=due, fresh=fresh
        )

    # When something happens: by the block in the warm-up, by the inner policy's rule after it.

    def rounds_left(self) -> int:
        """Rounds until the block ends, or until the next review if everything is observed."""
        return self._left(super().rounds_left())

    def review_left(self) -> int:
        """Rounds until the block ends, or until the next review by the clock alone."""
        return self._left(super().review_left())

    def next_look(self) -> int:
        """Rounds until the block ends, or until the inner policy looks again."""
        return self._left(super().next_look())

    def _left(self, inner: int) -> int:
        """Rounds until the inner policy acts, but no further than the warm-up or its block."""
        if not self.warming:
            ahead = self._probes.ahead(self.learner.clock)
            return ahead if self._probes.underway else min(inner, ahead)
        ahead = max(self._until - self.learner.clock, 1)
        return min(inner, ahead) if self._lazy else ahead

    def needs(self) -> Ints:
        """How often each criterion must still be observed to trigger: (m,)."""
        if self._touring:
            return np.full(self.problem.criteria, NEVER)
        return super().needs()

    # Memory.

    def _beside(self) -> dict[str, Any]:
        return {
            "gamma": self.gamma.copy(),
            **self._reopenings.to_plain(),
            **self._probes.to_plain(),
            **{f"edges.{name}": value for name, value in self.edges.snapshot().items()},
            **{f"warmup.{name}": value for name, value in self.warmup.snapshot().items()},
        }

    @classmethod
    def restored(cls, problem: Problem, saved: Mapping[str, Any]) -> Self:
        """The policy that `snapshot` saw, the inner one among it."""
        policy = cls._around(problem)
        policy.edges = Edges(problem)
        shapes: dict[str, tuple[int, ...] | None] = dict.fromkeys(cls._own, ())
        shapes |= {"gamma": (problem.criteria,), "warmup.states": None, "warmup.rounds": None}
        shapes |= {"misfit_at": (problem.criteria,), "reopenings": None}
        shapes |= {f"edges.{x}": y.shape for x, y in policy.edges.snapshot().items()}
        blank = Probes(NEVER, problem.knobs).to_plain()
        shapes |= {name: np.shape(value) for name, value in blank.items()}
        check_entries(saved, shapes)
        for name in cls._own:
            setattr(policy, name, saved[name])
        policy.gamma = np.array(saved["gamma"])
        policy._reopenings = Reopenings.from_plain(saved)
        policy._probes = Probes.from_plain(saved)
        policy.edges.restore(part(saved, "edges."))
        inside = problem if policy.warming else learned(problem, policy.edges)
        policy.inner = restored_inner(inside, saved)
        policy.learner = policy.inner.learner
        policy.warmup = Warmup.restored(problem, part(saved, "warmup."), policy.learner.seed)
        return policy
