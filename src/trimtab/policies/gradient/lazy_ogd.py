"""Algorithm 2 of the paper: lazy online gradient descent under a budget of switches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from trimtab import theory
from trimtab.arrays import (
    NOBODY,
    Array,
    ArrayLike,
    Ints,
    floats,
    per_item,
    read_only,
    refuse_where,
    whole,
)
from trimtab.errors import InvalidInput
from trimtab.learn import NEVER
from trimtab.model.domain import BoundBox, BoundConvexDomain, ConvexDomain
from trimtab.model.graph.indices import index
from trimtab.policies.base import Told
from trimtab.policies.gradient.descent import GradientPolicy, Kind
from trimtab.policies.registry import register

Mode = Literal["blocks", "random"]
GradientAt = Literal["deployed", "virtual"]


@register
class LazyOGD(GradientPolicy):
    r"""Gradient descent in secret; the state is deployed at most M times in T rounds.

    A virtual state w follows every gradient, the deployed state s follows w now and then:

    .. math::
        w_{t+1} = \Pi\bigl(w_t - \eta \nabla \ell_t(s_t)\bigr), \qquad
        s_{t+1} = w_{t+1} \text{ if } z_t = 1, \text{ else } s_t

    In ``mode="blocks"`` z is 1 after every B = ceil(T / M) rounds: the budget is a promise
    that no run breaks, and the regret is at most D G sqrt(T B). ``mode="random"`` is the
    paper's coin of probability M / T: the budget and the bound, D G sqrt(T (2 T / M - 1)),
    hold in expectation. D is the largest distance from the start. Both are proof
    against an adversary that sees the deployed state before it chooses the loss.

    With ``budget=horizon`` both are plain projected gradient descent.

    Several budgets, one per knob of a `Box` or per ball of `Balls`, give each such component
    its own step and its own deployments. `lipschitz` then bounds each component's part of the
    gradient, and the regret is at most the sum of the components' bounds. On a `Box` the
    components may be any blocks of knobs: ``blocks=[[0, 1], [2]]``.

    The policy ends with its horizon: a further `tell` raises `Conflict`. Go on with a new
    policy from ``start=policy.ask()``.

    Deviation: blocks instead of the coin are the default, since the coin keeps the budget only
    on average, and its bound is sqrt(2) times theirs.

    Deviation: the step is the one that minimises the exact bound, `theory.ogd_step`, with D the
    largest Euclidean distance from the start. ``step="paper"`` is the printed one, in which D
    is the l1 diameter.

    Deviation: the number of rounds to the coin's next 1 is drawn at once. That is the
    same distribution, and `Told.next_review` knows it.

    >>> import trimtab as tt
    >>> policy = tt.LazyOGD(tt.Box(), start=[0.5, 0.5], horizon=100, lipschitz=1.0, budget=50)
    >>> policy.tell([0.6, -0.8]).next_review, policy.ask()
    (1, array([0.5, 0.5]))
    >>> policy.tell([0.6, -0.8]).cause, policy.ask()
    ('review', array([0.44, 0.58]))
    >>> policy.regret_bound
    10.0

    Args:
        domain: where the state may be, a `Box` without levels, `Balls` or a `Simplex`.
        start: the state the system is in now; it is played until the first deployment.
        horizon: T, how many rounds there will be.
        lipschitz: G, no gradient is longer; a longer one is refused.
        budget: M, how often the state may change: one number, or one per component.
        blocks: the knobs of each component on a `Box`, every knob in one; by default each knob is
            its own where there are several budgets.
        mode: when to deploy, in "blocks" or by the "random" coin.
        gradient_at: where gradients are told of, the "deployed" state as in the paper or the
            "virtual" one. The bound is the same. The virtual state does not overshoot during a
            long freeze, but what it costs must be known without playing it.
        step: eta, one number or one per component; by default the best one, or "paper".
        seed: of the coin.
    """

    budget: Ints  # (c,) M
    component: Ints  # (k,) which budget is whose
    mode: Mode
    gradient_at: GradientAt
    step: Array  # (c,) eta
    seed: int
    virtual: Array  # (k,) w
    _due: Ints  # (c,) the clock at which each component is deployed next
    _own: ClassVar[dict[str, Kind]] = {
        "budget": "components",
        "component": "knobs",
        "mode": "one",
        "gradient_at": "one",
        "step": "components",
        "seed": "one",
        "virtual": "knobs",
        "_due": "components",
    }

    def __init__(
        self,
        domain: ConvexDomain | BoundConvexDomain,
        *,
        start: ArrayLike,
        horizon: int,
        lipschitz: ArrayLike,
        budget: ArrayLike,
        blocks: Sequence[Sequence[int]] | None = None,
        mode: Mode = "blocks",
        gradient_at: GradientAt = "deployed",
        step: ArrayLike | Literal["paper"] | None = None,
        seed: int = 0,
    ) -> None:
        self._begin(domain, start, horizon)
        if mode not in ("blocks", "random"):
            raise InvalidInput(f"mode = {mode!r}; choose 'blocks' or 'random'")
        if gradient_at not in ("deployed", "virtual"):
            raise InvalidInput(f"gradient_at = {gradient_at!r}; choose 'deployed' or 'virtual'")
        self.mode, self.gradient_at = mode, gradient_at
        self.component = self._components(budget, blocks)
        self.budget = self._budgets(budget)
        n = self.budget.size
        self.lipschitz = read_only(
            per_item(lipschitz, n, "lipschitz", "budget", low=0.0, strict=True)
        )
        self.step = self._steps(step)
        self.seed = whole(seed, "seed", low=0)
        self.virtual = self.start  # line 2
        self._due = self._waits()

    def _components(self, budget: ArrayLike, blocks: Sequence[Sequence[int]] | None) -> Ints:
        """The component of each knob: (k,)."""
        if blocks is None:
            one = np.ndim(floats(budget, "budget")) == 0
            all_in_one = np.zeros(self.domain.knobs, np.int64)
            return read_only(all_in_one if one else self.domain.components)
        if not isinstance(self.domain, BoundBox):
            raise InvalidInput("blocks are for a Box; Balls and the simplex have their own")
        k = self.domain.knobs
        listed = [index(j, k, "knob") for block in blocks for j in block]
        if sorted(listed) != list(range(k)) or not all(len(block) for block in blocks):
            raise InvalidInput(
                f"blocks = {[list(block) for block in blocks]}; put each of the {k} knobs into one"
            )
        found = np.empty(k, np.int64)
        for c, block in enumerate(blocks):
            found[list(block)] = c
        return read_only(found)

    def _budgets(self, budget: ArrayLike) -> Ints:
        n = int(self.component.max()) + 1
        item = "block, knob of a Box, ball of Balls, or simplex"
        moves = per_item(budget, n, "budget", item, low=1.0, strict=False)
        refuse_where(moves != np.floor(moves), moves, "budget", "is not whole; it counts moves")
        T = self.horizon
        refuse_where(
            moves > T, moves, "budget", f"is above the horizon {T}; {T} is a move in every round"
        )
        return read_only(moves.astype(np.int64))

    def _steps(self, step: ArrayLike | Literal["paper"] | None) -> Array:
        T, G, M = self.horizon, self.lipschitz, self.budget
        if step is None:
            return read_only(
                theory.ogd_step(self.distance, T, lipschitz=G, budget=M, mode=self.mode)
            )
        if isinstance(step, str):
            if step != "paper" or M.size > 1:
                raise InvalidInput(
                    f"step = {step!r} with {M.size} budgets; give numbers, nothing for the best, "
                    "or 'paper', which has one budget"
                )
            return read_only(
                theory.printed_ogd_step(self.domain.diameter, T, lipschitz=G, budget=M)
            )
        return read_only(per_item(step, M.size, "step", "budget", low=0.0, strict=True))

    @property
    def distance(self) -> Array:
        """D, the largest Euclidean distance from the start in each component: (c,)."""
        away = self.domain.farthest(self.start) - self.start
        return np.sqrt(np.bincount(self._component_of, away**2, self.budget.size))

    @property
    def regret_bound(self) -> float:
        """How much more loss than the best fixed state the whole horizon may cost.

        In random mode it is a bound on the expectation. Rounds at a state that somebody else
        has placed are not covered.
        """
        return theory.ogd_regret(
            self.distance,
            self.horizon,
            lipschitz=self.lipschitz,
            budget=self.budget,
            mode=self.mode,
            step=self.step,
        )

    @property
    def gradient_point(self) -> Array:
        """Where the gradient of this round's loss is wanted: a read-only array (k,)."""
        return self.state if self.gradient_at == "deployed" else self.virtual

    def tell(self, gradient: ArrayLike) -> Told:
        """Follow the gradient with the virtual state; deploy it if that is due."""
        g = self._checked(gradient)
        of = self._component_of
        self.virtual = read_only(self.domain.project(self.virtual - self.step[of] * g))  # line 6
        self.rounds += 1
        z = self._due == self.rounds  # line 8
        before = self.state
        if z.any():
            self.state = read_only(np.where(z[of], self.virtual, before))  # lines 9 to 13
            self._due = np.where(z, self.rounds + self._waits(), self._due)
        due = int(self._due.min())
        return Told(
            triggered=NOBODY,
            cause="review" if z.any() else "none",
            moved=float(np.abs(self.state - before).sum()),
            next_review=due - self.rounds if due <= self.horizon else NEVER,
        )

    def _waits(self) -> Ints:
        """Rounds from now until each component is deployed again: (c,)."""
        if self.mode == "blocks":
            return -(-self.horizon // self.budget)  # B
        # The coin's waiting time. One generator per round, so that none has to be saved.
        rng = np.random.default_rng((self.seed, self.rounds))
        return rng.geometric(self.budget / self.horizon)
