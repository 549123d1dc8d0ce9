"""Criteria that are alike, learned as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from trimtab import arrays
from trimtab.arrays import Array, ArrayLike, Ints, refuse, rows_of_losses
from trimtab.errors import InvalidInput
from trimtab.learn import Confidence, Prior
from trimtab.learn.nodewise import Owed
from trimtab.model.problem import Problem
from trimtab.policies.base import Told, check_entries
from trimtab.policies.lazy_policy import LazyPolicy
from trimtab.policies.learner import Learner, check_beliefs, rounds_of
from trimtab.policies.pooled.pools import Dependence, Pools, alike
from trimtab.policies.registry import register
from trimtab.policies.steady import SteadyGraphLinUCB
from trimtab.policies.wrapper import Wrapper, check_inner, restored_inner


@register
class PooledGraphLinUCB(Wrapper):
    r"""Learns criteria of one scope, one basis and one reg together, and is otherwise `then`.

    Only the total of such criteria matters, and it is as linear in their features as each of
    them is. So a group of m criteria gets one regression, one ellipsoid and one bonus, of the
    weighted sum of their losses:

    .. math::
        y = \sum_i w_i y_i, \qquad
        \sigma^2 = \sum_i w_i^2 \sigma_i^2 \;\text{ or }\; \Bigl(\sum_i w_i \sigma_i\Bigr)^2,
        \qquad S = \sum_i w_i S_i .

    Where their noise is independent, it makes the group :math:`\sqrt m` times less wide than its
    members together, and with `Confidence` still less: its union is over the groups. The bias,
    :math:`\sqrt{reg} S`, is the same; a small reg keeps it small. Time and memory of the group are
    those of one criterion. Where no two criteria are alike it is `then`, bit for bit.

    A group learns from a round only if all its members were observed. Where their losses are
    means of different numbers of rounds, their sum counts for the smallest, which is valid, if
    not all that is known. `Told.triggered` and `Record.criteria` name all members of a group.

    Told nothing but the problem and the start, a group learns with a `Prior` of its sum: one spread
    and one noise, both learned, so that nothing has to be known of how the noise hangs together.
    Nothing is certified then.

    With ``Confidence(sigma=None)`` the noise of the sum is estimated as it is, dependent or not.
    Then all members must have the same count, and `play` goes round by round, since from the
    squares of each loss those of their sum cannot be had; for the same reason it does with
    recorded noise.

    Deviation: the paper adds up one bonus per criterion and calls that optimal. For m criteria
    of one scope the sum of their losses is a bandit of the same dimension with sqrt(m) times the
    noise, where theirs add up to m times. Pooling is our answer to it, and never made unasked.

    >>> import trimtab as tt
    >>> world = tt.worlds.quadratic(tt.Graph.complete(4), seed=1, noise=tt.worlds.Gaussian(0.5))
    >>> radius = tt.Confidence(sigma=0.5, norm=world.norms)
    >>> options = {"start": [0.5] * 4, "radius": radius, "reg": 0.05}
    >>> pooled = tt.PooledGraphLinUCB(world.problem, noise="independent", **options)
    >>> pooled.groups
    [[0, 1, 2, 3]]
    >>> alone = tt.SteadyGraphLinUCB(world.problem, **options)
    >>> runs = [tt.play(policy, world, horizon=10**5) for policy in (pooled, alone)]
    >>> runs[0].regret < 0.8 * runs[1].regret
    True

    >>> policy = tt.PooledGraphLinUCB(world.problem, start=[0.5] * 4)  # told nothing
    >>> stay = 1000 * (world.loss(policy.ask()) - world.optimum.value)
    >>> tt.play(policy, world, horizon=1000).regret < 0.7 * stay
    True

    Args:
        problem: the knobs, the criteria and the features between them.
        start: the state the system is in now.
        radius: beta, one number or one per criterion, or a `Confidence`, all of criteria as they
            are; numbers are pooled like sigma. None for a prior.
        noise: "independent" where the losses of a group's members have independent noise, given
            the state; "correlated" where that is not known, or where they share it, as with the
            paper's latent noise. That is valid for any noise, and as wide as without pooling but
            for the smaller union. Needed where a noise is given, by a radius or a prior's sigma.
        reg: the ridge parameter that goes with a radius, one number or one per criterion, 1 by
            default; criteria of different reg are not pooled.
        prior: what is believed of the criteria's losses before any is seen, `Prior()` by
            default. Of spreads a group has the weighted mean.
        then: the lazy policy that does the work, with one estimate per criterion: `Steady...`,
            `Lazy...` or `AsyncLazyGraphLinUCB`.
        seed: of the solver's random starts.
        options: those of `then`.
    """

    pools: Pools
    _own: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        problem: Problem,
        *,
        start: ArrayLike,
        radius: ArrayLike | Confidence | None = None,
        noise: Dependence | None = None,
        reg: ArrayLike | None = None,
        prior: Prior | None = None,
        then: type[LazyPolicy] = SteadyGraphLinUCB,
        seed: int = 0,
        **options: Any,
    ) -> None:
        check_inner(then)
        if noise not in (None, "independent", "correlated"):
            raise InvalidInput(f"noise = {noise!r}; choose 'independent' or 'correlated'")
        check_beliefs(radius, reg, prior)
        each = arrays.per_item(
            1.0 if reg is None else reg, problem.criteria, "reg", "criterion", low=0.0, strict=True
        )
        self._problem, self.pools = problem, Pools(problem, alike(problem, each))
        believed: dict[str, Any] = (
            {"prior": self.pools.prior(Prior() if prior is None else prior, noise)}
            if radius is None
            else {"radius": self.pools.radius(radius, noise), "reg": each[self.pools.first]}
        )
        self.inner = then(self.pools.problem, start=start, seed=seed, **believed, **options)
        self.learner = self.inner.learner
        if type(self.learner) is not Learner:
            raise InvalidInput(
                f"then = {then.__name__} does not learn criterion by criterion; choose "
                "SteadyGraphLinUCB, for example"
            )

    @property
    def groups(self) -> list[list[int]]:
        """The criteria that are learned as one, group by group, single ones included."""
        return [part.tolist() for part in np.split(self.pools.members, self.pools.starts[1:])]

    def tell(
        self, losses: ArrayLike | None, *, played: ArrayLike | None = None, count: ArrayLike = 1
    ) -> Told:
        """Learn from the groups' losses; look at the state again if that is due."""
        if losses is None:
            return self._of_members(self.inner.tell(None, played=played, count=count))
        m = self.problem.criteria
        y, _ = arrays.losses(losses, m)
        n = arrays.counts(count, m, losses=y)
        if np.ndim(count):
            self._check_counts(y, n)
        here = played is None or np.array_equal(
            self.problem.domain.check(played, "played"), self.ask()
        )
        pooled, least = self.pools.mean(y), self.pools.least(n)
        if here and n.all():  # rounds that teach no group anything pass as well
            self.learner.wait(rounds_of(y, n) - rounds_of(pooled, least))
        told = self.inner.tell(pooled, played=played, count=least if np.ndim(count) else count)
        return self._of_members(told)

    def tell_rows(self, losses: ArrayLike) -> tuple[int, Told]:
        """Learn from several rounds, one row each, as single tells would; how many rows it took."""
        rows, complete = rows_of_losses(losses, self.problem.criteria)
        if not complete:
            return super().tell_rows(rows)
        soon = max(self.inner.rounds_left(), 1)
        taken, told = self.inner.tell_rows(self.pools.mean_rows(rows[:soon]))
        return taken, self._of_members(told)

    def _check_counts(self, y: Array, n: Ints) -> None:
        """Refuse different counts in a group where its noise is to be estimated from them."""
        if self._noise_unknown:
            least = self.pools.least(n)[self.pools.group]
            whole = ~np.isnan(self.pools.mean(y))[self.pools.group]
            refuse(
                whole & (n > least),
                lambda i: (
                    f"count[{i}] = {n[i]}, and {least[i]} for another criterion of its group; with "
                    "sigma=None give the members of a group the same count"
                ),
            )

    def skip(self, rounds: int, owed: Owed, *, seen: Ints | None = None) -> Told:
        """Let rounds pass at the state that `ask` gives, as in `LazyPolicy`."""
        if self.pools.trivial or (seen is None and not self._noise_unknown):
            return self._of_members(self.inner.skip(rounds, self.pools.owed(owed), seen=seen))
        if rounds != 1:
            raise InvalidInput(f"rounds = {rounds}; here skip one at a time")
        m = self.problem.criteria
        observed = np.arange(m) if seen is None else np.flatnonzero(seen)
        losses = np.full(m, np.nan)
        if observed.size:
            losses[observed], _ = owed(observed, np.ones(observed.size, np.int64))
        return self.tell(losses)

    def _check(self) -> Told:
        return self._of_members(self.inner.look())

    def _of_members(self, told: Told) -> Told:
        """What the inner policy says of groups, said of their members."""

        def members(groups: Ints) -> Ints:
            return np.sort(self.pools.within(groups))

        record = told.record
        if record is not None:
            record = replace(record, criteria=members(record.criteria), cut=members(record.cut))
        return replace(
            told,
            triggered=members(told.triggered),
            record=record,
            rung=members(told.rung),
            cut=members(told.cut),
        )

    # When something happens: never later than a group can have seen enough.

    @property
    def _noise_unknown(self) -> bool:
        return self.learner.lcb.radius.least_df > 0

    def rounds_left(self) -> int:
        """Rounds until the next review if everything is observed; 1 if each must be seen."""
        left = self.inner.rounds_left()
        return left if self.pools.trivial or not self._noise_unknown else min(left, 1)

    def review_left(self) -> int:
        """Rounds until the next review by the clock alone; 1 where it matters who saw which."""
        left = self.inner.review_left()
        return left if self.pools.trivial else min(left, 1)

    def needs(self) -> Ints:
        """How often each criterion can still be observed before its group may trigger: (m,)."""
        return self.inner.needs()[self.pools.group]

    # Memory.

    def _beside(self) -> dict[str, Any]:
        return {"group": self.pools.group.copy()}

    @classmethod
    def restored(cls, problem: Problem, saved: Mapping[str, Any]) -> Self:
        """The policy that `snapshot` saw, the inner one among it."""
        check_entries(saved, {"group": (problem.criteria,)})
        group = np.array(saved["group"])
        _, found = np.unique(group, return_inverse=True)
        if not np.array_equal(group, found):
            raise InvalidInput(f"the snapshot is damaged: group = {group} does not number groups")
        policy = cls._around(problem)
        policy.pools = Pools(problem, found)
        policy.inner = restored_inner(policy.pools.problem, saved)
        policy.learner = policy.inner.learner
        return policy
