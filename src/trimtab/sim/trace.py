"""The record of a run: which states were played, for how long, and at what cost.

Stored run-length: a new entry only when the state changes, and of that only the
knobs that moved. Looking often, being asked to move and moving are different
things, and are counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.arrays import Array, ArrayLike, Bools, Ints, read_only, refuse_where
from trimtab.display import displayed
from trimtab.errors import InvalidInput
from trimtab.model.toll import Toll
from trimtab.policies import Record, Told
from trimtab.policies.learner import Certificate
from trimtab.sim.analysis import Table, losses_by_objective, table
from trimtab.sim.worlds import Drifting, World

if TYPE_CHECKING:
    import pandas as pd


@displayed
@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """A run of a policy in a simulated world. Totals are exact, not sampled.

    A stretch is as many rounds as the state, and where the world drifts its expected
    losses, stayed the same. In an `Adversarial` world losses are what they were, not
    expectations, and the best state is the one that was best for the whole run.
    """

    start: Array  # (k,) the state before the first round
    ends: Ints  # (r,) the last round of each stretch at one state, counted from 1; the last
    #                 stretch is empty if the run's last tell has moved the state
    offsets: Ints  # (r + 1,) the knobs that moved before stretch j: offsets[j]:offsets[j + 1]
    changed: Ints  # which knobs those are
    values: Array  # and where they went
    rates: Array  # (r,) expected total loss of a round in each stretch
    best: Array  # (r,) the same at the best state of that time
    prices: Array  # (k,) the problem's move_cost
    solves: int  # times the state was looked at again after the first round
    reviews: int  # how many of those for no other cause than the clock
    attributions: Ints  # (m,) solves that each criterion triggered, alone or with others
    records: tuple[Record, ...]  # the reasons of every look, from policies that give them
    bounded: Ints  # (c,) rounds after which the certificate was noted: every look, and the last
    bounds: Array  # (c,) what it bounded the regret by
    certified: Bools  # (c,) and whether every term of it was proven
    toll: Toll | None = None  # what moves cost; None: the prices added up
    world: World | Drifting | None = None  # where it was played; None for convex losses

    @property
    def horizon(self) -> int:
        """Rounds played, T."""
        return int(self.ends[-1])

    @property
    def lengths(self) -> Ints:
        """Rounds in each stretch: (r,)."""
        return np.diff(self.ends, prepend=0)

    @property
    def states(self) -> Array:
        """The state of each stretch: (r, k)."""
        states = np.empty((self.ends.size, self.start.size))
        now = self.start.copy()
        for j in range(self.ends.size):
            moved = slice(self.offsets[j], self.offsets[j + 1])
            now[self.changed[moved]] = self.values[moved]
            states[j] = now
        return states

    def state(self, round_: int) -> Array:
        """The state played in a round, counted from 1."""
        if not 1 <= round_ <= self.horizon:
            raise InvalidInput(f"round {round_} was not played; they run from 1 to {self.horizon}")
        state = self.start.copy()
        upto = self.offsets[np.searchsorted(self.ends, round_) + 1]
        state[self.changed[:upto]] = self.values[:upto]  # later changes overwrite earlier ones
        return state

    @property
    def moves(self) -> int:
        """State changes, those before the first and after the last round included."""
        return int((np.diff(self.offsets) > 0).sum())

    @property
    def knobs_changed(self) -> int:
        """Single knobs turned, over all moves."""
        return self.changed.size

    @property
    def movement(self) -> float:
        """The l1 length of the path, from the start state on."""
        return float(self.steps.sum())

    @property
    def move_cost(self) -> float:
        """The path at the problem's prices."""
        return float(self.paid.sum())

    @property
    def total_regret(self) -> float:
        """Regret and the price of the path: Eq. (4) of the paper."""
        return self.regret + self.move_cost

    @property
    def loss(self) -> float:
        """The expected losses of all rounds, summed."""
        return float(self.lengths @ self.rates)

    @property
    def regret(self) -> float:
        """How much of the loss the best state would have saved; movement not included."""
        return float(self.lengths @ (self.rates - self.best))

    def regret_at(self, rounds: ArrayLike) -> Array:
        """The regret after each of the given numbers of rounds."""
        at = self._rounds(rounds)
        paid = np.concatenate(([0.0], np.cumsum(self.lengths * (self.rates - self.best))))
        return np.interp(at, np.concatenate(([0], self.ends)), paid)

    def movement_at(self, rounds: ArrayLike) -> Array:
        """The l1 length of the path to the state of each of the given rounds."""
        path = np.concatenate(([0.0], np.cumsum(self.steps)))
        return np.asarray(path[self.offsets[self._begun(rounds)]])

    def total_regret_at(self, rounds: ArrayLike) -> Array:
        """`total_regret` after each of the given numbers of rounds."""
        begun = self._begun(rounds)
        return self.regret_at(rounds) + np.concatenate(([0.0], np.cumsum(self.paid)))[begun]

    @property
    def losses(self) -> Array:
        """The expected loss of a round for each stretch and objective, without weights: (r, m)."""
        return self._by_objective[0]

    @property
    def best_losses(self) -> Array:
        """The same at the best state of that time: (r, m)."""
        return self._by_objective[1]

    @property
    def regrets(self) -> Array:
        """The part of each objective in the regret, weights included: (m,).

        Some may be negative: the best state of the total is not the best one of each.
        """
        return np.asarray(self._by_objective[2] * (self.lengths @ (self.losses - self.best_losses)))

    def regrets_at(self, rounds: ArrayLike) -> Array:
        """`regrets` after each of the given numbers of rounds: (n, m)."""
        at = self._rounds(rounds)
        each = self.lengths[:, None] * (self.losses - self.best_losses) * self._by_objective[2]
        paid = np.vstack((np.zeros(each.shape[1]), np.cumsum(each, axis=0)))
        ends = np.concatenate(([0], self.ends))
        return np.stack([np.interp(at, ends, column) for column in paid.T], axis=-1)

    def to_pandas(self, what: Table = "stretches") -> pd.DataFrame:
        """The run as a table.

        >>> import trimtab as tt
        >>> world = tt.worlds.quadratic(tt.Graph.complete(2), seed=1)
        >>> policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5, 0.5])
        >>> trace = tt.play(policy, world, horizon=100)
        >>> trace.to_pandas()["rounds"].sum(), len(trace.to_pandas("objectives"))
        (np.int64(100), 2)

        Args:
            what: "stretches" (a row per stretch of rounds at one state), "objectives", "looks" (the
                records) or "certificate" (the bound on the regret at every look).
        """
        return table(self, what)

    def _rounds(self, rounds: ArrayLike) -> Array:
        at = np.atleast_1d(np.asarray(rounds, np.float64))
        beyond = ~((at >= 0) & (at <= self.horizon))
        refuse_where(beyond, at, "rounds", f"is not within the run's {self.horizon} rounds")
        return at

    def _begun(self, rounds: ArrayLike) -> Ints:
        """How many stretches have begun by each of the given rounds."""
        at = self._rounds(rounds)
        return np.where(at > 0, np.searchsorted(self.ends, at) + 1, 0)

    @cached_property
    def _by_objective(self) -> tuple[Array, Array, Array]:
        """`losses`, `best_losses` and the weights."""
        if self.world is None:
            raise InvalidInput(
                "losses by objective need the world: convex losses have no objectives, and a "
                "trace from a file has no world; ask for them before it is written"
            )
        return *losses_by_objective(self, self.world), self.world.problem.weights

    def __getstate__(self) -> dict[str, Any]:
        """For files and other processes: without the world, which may hold functions."""
        return self.__dict__ | {"world": None}

    @property
    def paid(self) -> Array:
        """The price of the move that each stretch began with, 0 where there was none: (r,)."""
        toll, some = self.toll or Toll(per_knob=self.prices), np.diff(self.offsets) > 0
        each = self.steps * self.prices[self.changed]
        stretch = np.repeat(np.arange(some.size), np.diff(self.offsets))
        if toll.norm == "l2":
            found = np.sqrt(np.bincount(stretch, each**2, some.size))
        else:
            found = np.bincount(stretch, each, some.size)
        return np.asarray(found + toll.switch * some)

    @property
    def steps(self) -> Array:
        """How far each knob went at each of its changes, aligned with `changed`."""
        order = np.argsort(self.changed, kind="stable")  # knob after knob, each in time
        knob, value = self.changed[order], self.values[order]
        before = np.where(np.diff(knob, prepend=-1) != 0, self.start[knob], np.roll(value, 1))
        steps = np.empty(order.size)
        steps[order] = np.abs(value - before)
        return steps

    def plot(self) -> Any:
        """The knobs over the rounds, as `plot.knobs` draws them."""
        from trimtab import plot  # a room to the right, at its first use

        return plot.knobs(self)

    def __repr__(self) -> str:
        return (
            f"Trace(horizon={self.horizon}, loss={self.loss:.4g}, regret={self.regret:.4g}, "
            f"moves={self.moves}, movement={self.movement:.4g}, solves={self.solves})"
        )


class Recorder:
    """Builds a trace, round by round or stretch by stretch."""

    def __init__(self, start: Array, criteria: int) -> None:
        self._start = self._state = start
        self._ends: list[int] = []
        self._offsets = [0]
        self._changed: list[Ints] = []
        self._values: list[Array] = []
        self._rates: list[float] = []
        self._best: list[float] = []
        self._solves = self._reviews = 0
        self._attributions = np.zeros(criteria, np.int64)
        self._records: list[Record] = []
        self._bounds: list[tuple[int, float, bool]] = []
        self._split = False  # whether the next rounds are a stretch of their own

    def world_changed(self) -> None:
        """What is played next is another world, even if it costs the same."""
        self._split = True

    def bounded(self, certificate: Certificate) -> None:
        """What the certificate says after the rounds so far."""
        now = self._ends[-1]
        if self._bounds and self._bounds[-1][0] == now:
            self._bounds.pop()
        self._bounds.append((now, certificate.bound, certificate.certified))

    def played(self, state: Array, rounds: int, *, rate: float, best: float) -> None:
        """`rounds` rounds were played at the state, at an expected loss of `rate` each."""
        changed = np.flatnonzero(state != self._state)
        before = self._ends[-1] if self._ends else 0
        new = changed.size > 0 or not self._ends or self._split
        if new or (rate, best) != (self._rates[-1], self._best[-1]):
            self._split = False
            self._ends.append(before)
            self._rates.append(rate)
            self._best.append(best)
            self._changed.append(changed)
            self._values.append(state[changed])
            self._offsets.append(self._offsets[-1] + changed.size)
            self._state = state
        self._ends[-1] = before + rounds

    def told(self, told: Told) -> None:
        """What the policy said to the losses of those rounds."""
        self._solves += told.cause != "none"
        self._reviews += told.cause == "review"
        for i in told.triggered.tolist():
            self._attributions[i] += 1
        if told.record is not None:
            self._records.append(told.record)

    def ran(
        self,
        state: Array,
        *,
        ends: Ints,
        rates: Array,
        best: float,
        offsets: Ints,
        changed: Ints,
        values: Array,
        solves: int,
        attributions: Ints,
    ) -> None:
        """Stretches that the core has recorded after the last one, and the state they end with."""
        self._ends += ends.tolist()
        self._rates += rates.tolist()
        self._best += [best] * ends.size
        self._offsets += (self._offsets[-1] + offsets).tolist()
        self._changed.append(changed.copy())
        self._values.append(values.copy())
        self._state = state
        self._solves += solves
        self._attributions += attributions

    def left_at(self, state: Array, *, rate: float, best: float) -> None:
        """The state that the run ends with, deployed but not played."""
        if not np.array_equal(state, self._state):
            self.played(state, 0, rate=rate, best=best)

    def trace(
        self, *, prices: Array, toll: Toll | None = None, world: World | Drifting | None = None
    ) -> Trace:
        """The finished record."""
        rounds, bounds, certified = zip(*self._bounds, strict=True) if self._bounds else ((),) * 3
        return Trace(
            world=world,
            toll=toll,
            bounded=read_only(np.array(rounds, np.int64)),
            bounds=read_only(np.array(bounds, np.float64)),
            certified=read_only(np.array(certified, np.bool_)),
            start=self._start,
            ends=read_only(np.array(self._ends, np.int64)),
            offsets=read_only(np.array(self._offsets, np.int64)),
            changed=read_only(np.concatenate([np.empty(0, np.int64), *self._changed])),
            values=read_only(np.concatenate([np.empty(0), *self._values])),
            rates=read_only(np.array(self._rates)),
            best=read_only(np.array(self._best)),
            prices=prices,
            solves=self._solves,
            reviews=self._reviews,
            attributions=read_only(self._attributions),
            records=tuple(self._records),
        )
