"""What a move of the recommended policy costs and gains, weighed at a look.

The core weighs moves in one call (`src/core/weighing.hpp`). The same steps stand here, and those
that only Python takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.model.domain import BoundDomain
from trimtab.model.toll import Toll
from trimtab.policies.learner import Learner
from trimtab.solve import Solution

BLIND, MOST_BLIND = 2.0, 0.5  # widths that a round costs in which nothing is learned; the most
#                               of them that a move has to gain in every round for that

Terms = tuple[Array, Array]  # of F at a state, (m,) each: estimated losses and widths


class Weighed(NamedTuple):
    """What a look has found."""

    free: Solution  # the best state were moves free
    best: Array  # the one to take
    rounds: int  # within which it pays
    here: Terms  # at the present state,
    there: Terms  # and at the best, or were moves free where that is the present one


def price_of(learner: Learner, state: Array, there: Terms, rounds: int) -> float:
    """What it costs to go to a state: the way, and the rounds in which nothing is learned then.

    The width of the bound is what may be won by learning. A round without any costs `BLIND`
    widths, those of the state weighed; but who stays learns little that is new, so that it is
    no more than a share of the width in each of the rounds in which the move has to pay.
    """
    here, settling = learner.state, learner.settling
    price = learner.problem.toll.of(here, state)
    if settling is not None:
        blind = BLIND * int(settling[state != here].max(initial=0))
        price += float(there[1].sum()) * min(blind, MOST_BLIND * rounds)
    return price


def gains_of(learner: Learner, here: Terms, there: Terms) -> tuple[float, float]:
    """By how much a move lowers the bound and the estimate, no further than losses can go."""
    prior, stats = learner.estimators.prior, learner.estimators.stats
    low: Array | float = -np.inf  # what no criterion's part of the total can be below, (m,)
    if prior is not None and prior.least is not None:
        offset = stats.offset if stats.offset.size else 0.0
        low = learner.problem.weights * (prior.least - offset)
    (mean, width), (other, near) = here, there
    bound = np.maximum(mean - width, low).sum() - np.maximum(other - near, low).sum()
    return float(bound), float(np.maximum(mean, low).sum() - np.maximum(other, low).sum())


def sighted(learner: Learner, weighed: Weighed) -> Weighed:
    """The same, where nothing is learned for some rounds after a knob has moved.

    Without the knobs that settle longest the move may be better, and so may staying.
    """
    best, settling = weighed.best, learner.settling
    if settling is None or np.array_equal(best, learner.state):
        return weighed

    def cost(state: Array) -> float:
        price = price_of(learner, state, weighed.there, weighed.rounds)
        return learner.lcb.value(state) + price / weighed.rounds

    moved = np.unique(settling[best != learner.state])[::-1]
    fewer = [np.where(settling <= n, best, learner.state) for n in moved]
    found = min([*filter(learner.admits, fewer), learner.state], key=cost)
    if np.array_equal(found, best):
        return weighed
    stays = np.array_equal(found, learner.state)
    there = learner.lcb.terms(weighed.free.state if stays else found)
    return Weighed(weighed.free, found, weighed.rounds, weighed.here, there)


def priced(learner: Learner, free: Solution, price: Toll, domain: BoundDomain) -> Array:
    """The best state where a move has this price per round."""
    if price.free:
        return free.state
    found = learner.solve(learner.problem.all_criteria, domain=domain, price=price)
    paid = free.value + price.of(learner.state, free.state)
    return free.state if paid < found.value else found.state


def smallest(learner: Learner, best: Array, criteria: Ints, price: Toll, rho: float) -> Array:
    """The smallest move that is as good as the best, up to rho widths."""
    everybody, graph = learner.problem.all_criteria, learner.problem.graph

    def cost(state: Array) -> float:
        return learner.lcb.value(state) + price.of(learner.state, state)

    least = cost(best)
    rungs: list[Ints | None] = [None]
    if criteria.size:
        near, readers = graph.reach(criteria)
        rungs += [near, graph.reach(readers)[0]]
    for knobs in rungs:
        state = learner.state
        if knobs is not None:
            found = learner.solve(everybody, free=knobs, price=price, effort=0)
            state = found.state
        if cost(state) - least <= rho * learner.lcb.width(state):
            return state
    return best
