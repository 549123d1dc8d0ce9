"""One match: a player in a world, round by round, and what it cost."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from benchmarks.league.place import Place
from trimtab.arrays import Array

LAST = 0.1  # the share of the rounds over which the final loss is averaged
POINTS = 50  # of the curve


class Player(Protocol):
    """Somebody who sets the knobs: asked before every round, told its losses after it."""

    def ask(self) -> Array:
        """The state to play: (k,)."""

    def tell(self, losses: Array, played: Array) -> None:
        """The losses (m,) of a round, NaN where one is missing, and the state played in it."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a match cost. Losses are expected ones: noise moves players, not scores."""

    loss: float  # summed over all rounds
    price: float  # of the movement
    regret: float  # the loss that the best state of each time would have saved
    movement: float  # l1 length of the path, from the start on
    moves: int
    final: float  # loss of a round, over the last tenth
    told: int  # rounds whose losses were told in time
    curve: tuple[float, ...]  # the total after each of `POINTS` equal parts of the match

    @property
    def total(self) -> float:
        """What the league is about: loss above that of the best state, and price."""
        return self.regret + self.price


def match(player: Player, place: Place, *, horizon: int, seed: int, delay: int = 0) -> Score:
    """The score of a player. The chance of round t depends on the seed and t alone.

    So everybody meets the same noise and the same gaps in the same round, wherever they are.
    """
    prices = place.problem.move_cost
    before, expected, waiting = place.start, 0.0, deque[tuple[Array, Array]]()
    rates, best, paid = np.empty(horizon), np.empty(horizon), np.zeros(horizon)
    movement, moves, told = 0.0, 0, 0
    rated: object = None
    for t in range(1, horizon + 1):
        state = np.array(player.ask())
        now, _ = place.world.at(t)
        if now is not rated or not np.array_equal(state, before):
            rated, expected = now, now.loss(state)
        step = np.abs(state - before)
        if step.any():
            movement += float(step.sum())
            paid[t - 1] = step @ prices
            moves += 1
        rates[t - 1], best[t - 1], before = expected, now.optimum.value, state
        waiting.append((now.draw(state, np.random.default_rng((seed, t)), t), state))
        if t > delay:
            told += 1
            player.tell(*waiting.popleft())
    total = np.cumsum(rates - best + paid)
    ends = (max(n * horizon // POINTS, 1) - 1 for n in range(1, POINTS + 1))
    return Score(
        loss=float(rates.sum()),
        price=float(paid.sum()),
        regret=float((rates - best).sum()),
        movement=movement,
        moves=moves,
        final=float(rates[-max(1, int(LAST * horizon)) :].mean()),
        told=told,
        curve=tuple(float(f"{total[end]:.6g}") for end in ends),
    )
