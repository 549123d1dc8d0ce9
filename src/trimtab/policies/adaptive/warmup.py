r"""The warm-up of Section 5.2: which states are played before the graph is known, and how long.

The matrices depend on how often a state was visited, not on the order. So every state of the
design is held for a block of rounds, and the blocks lie along a short tour: the movement does
not grow with the length. The tour is walked a few times, there and back, in laps after which
each state has had a share of its rounds, and the edges are tested after each: most problems
are decided long before the length that suffices for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trimtab.arrays import MOST_ROUNDS, Array, ArrayLike, Ints, floats, read_only
from trimtab.errors import InvalidInput
from trimtab.learn.confidence import PosteriorWidth, Radius
from trimtab.learn.sparsity_test import Edges
from trimtab.model.problem import Problem
from trimtab.policies.adaptive.design import optimal_states
from trimtab.policies.adaptive.visiting_order import tour
from trimtab.policies.adaptive.warmup_length import rounds_needed
from trimtab.theory.adaptive import mean_grams

Design = Literal["optimal", "iid"] | ArrayLike
FEATURES_PER_ROUND = 2  # of a warm-up with a prior, which can do without: see docs/decisions/0014
GROWTH = np.sqrt(2.0)  # of the rounds by the end of a lap, from lap to lap


@dataclass(frozen=True, kw_only=True, eq=False)
class Warmup:
    """A plan: block b plays one state for some rounds, and lap follows lap.

    With `design` "iid" there are no states beforehand: a block is one round at a fresh
    uniform draw, from a stream of its own number.
    """

    problem: Problem
    states: Array  # (J, k) in the order of the tour; none for "iid"
    rounds: Ints  # (laps,) of each state in each lap; for "iid" of the whole lap
    seed: int

    @property
    def blocks(self) -> int:
        """How many blocks there are in all laps."""
        return int(len(self.states) * self.rounds.size if len(self.states) else self.rounds.sum())

    @property
    def length(self) -> int:
        """How many rounds there are in all laps."""
        return int(max(len(self.states), 1) * self.rounds.sum())

    def block(self, b: int) -> tuple[Array, int]:
        """The state of a block and its rounds."""
        J = len(self.states)
        if not J:
            rng = np.random.default_rng((self.seed, b))
            return self.problem.domain.sample(rng), 1
        lap, p = divmod(b, J)
        return self.states[p if lap % 2 == 0 else J - 1 - p], int(self.rounds[lap])

    def ends_lap(self, b: int) -> bool:
        """Whether a lap is over once this number of blocks is."""
        if len(self.states):
            return b % len(self.states) == 0
        return bool(b in np.cumsum(self.rounds))

    @classmethod
    def none(cls, problem: Problem) -> Warmup:
        """No warm-up at all."""
        states, rounds = np.empty((0, problem.knobs)), np.empty(0, np.int64)
        return cls(problem=problem, states=read_only(states), rounds=read_only(rounds), seed=0)

    def snapshot(self) -> dict[str, Any]:
        """The plan as plain arrays."""
        return {"states": self.states.copy(), "rounds": self.rounds.copy()}

    @classmethod
    def restored(cls, problem: Problem, saved: Mapping[str, Any], seed: int) -> Warmup:
        """The plan that `snapshot` saw."""
        states, rounds = np.asarray(saved["states"]), np.asarray(saved["rounds"])
        if states.ndim != 2 or states.shape[1] != problem.knobs or rounds.ndim != 1:
            raise InvalidInput(
                f"the snapshot is damaged: its warm-up has states {states.shape} and rounds "
                f"{rounds.shape}, expected (any, {problem.knobs}) and (any,)"
            )
        return cls(problem=problem, states=read_only(states), rounds=read_only(rounds), seed=seed)


def plan(
    problem: Problem,
    edges: Edges,
    *,
    start: Array,
    reg: Array,
    radius: Radius,
    gamma: Array,
    limit: int | None,
    design: Design,
    laps: int,
    seed: int,
) -> Warmup:
    """The warm-up that decides every edge while the ellipsoids hold, as far as the limit allows.

    Where spread and noise are to be learned nobody knows how long that is: then it is as long as
    the limit says, and by default so short that it costs next to nothing.
    """
    if limit is None and radius.least_df > 0:
        raise InvalidInput(
            "warmup = None with an unknown noise; its length depends on sigma: say how many "
            "rounds, for example warmup=10_000"
        )
    states = _states(problem, design)
    states = states[tour(start, states)]
    most = MOST_ROUNDS if limit is None else limit
    if isinstance(radius, PosteriorWidth):
        short = -(-int(problem.dims.max()) // FEATURES_PER_ROUND)
        limit = total = most = short if limit is None else limit
    else:
        grams = mean_grams(problem, states if len(states) else None)
        total = rounds_needed(problem, edges, grams, reg=reg, radius=radius, gamma=gamma, most=most)
    if limit is None and total > most:
        raise InvalidInput(
            f"gamma = {gamma.min():g} is too small: no warm-up of up to {most:g} rounds can tell "
            "such dependencies from none; raise gamma, or say how many rounds: warmup="
        )
    J = max(len(states), 1)
    each = min(-(-total // J), max(int(most) // J, 1))  # of every state
    shares = np.ceil(each / GROWTH ** np.arange(laps - 1, -1, -1)).astype(np.int64)
    rounds = np.diff(shares, prepend=0)
    return Warmup(
        problem=problem,
        states=read_only(states[: int(most)]),
        rounds=read_only(rounds[rounds > 0]),
        seed=seed,
    )


def _states(problem: Problem, design: Design) -> Array:
    """The states to visit, in any order; none for a fresh draw in every round."""
    if isinstance(design, str):
        if design not in ("optimal", "iid"):
            raise InvalidInput(f"design = {design!r}; choose 'optimal' or 'iid', or give states")
        return optimal_states(problem) if design == "optimal" else np.empty((0, problem.knobs))
    given = floats(design, "design")
    if given.ndim != 2 or not given.size:
        raise InvalidInput(f"design has shape {given.shape}; give one state per row")
    return np.array([problem.domain.check(x, f"design[{n}]") for n, x in enumerate(given)])
