r"""A solve whose moves cost their Euclidean length: |c (s - now)|_2 couples all knobs.

For every eta > 0

    |c d|_2  <=  sum_j c_j^2 d_j^2 / (2 eta) + eta / 2,        equal at eta = |c d|_2,

so that min_s F(s) + |c d|_2 is the least over eta of a solve with a quadratic price of every
knob, which is one criterion more for each: known, and without a width. Some values of eta are
tried, and the best is improved by setting eta to the length found until nothing is gained.
Since |x|_1 / sqrt(n) <= |x|_2 for n knobs, a lower bound of a solve with the l1 price c / sqrt(n)
is one here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from trimtab._core import choose
from trimtab.arrays import Array, Ints, read_only
from trimtab.errors import InvalidInput
from trimtab.model.bases import Monomials
from trimtab.model.bases.monomial import MonomialArrays
from trimtab.model.domain import BoundBox, BoundDomain
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.model.toll import Toll
from trimtab.solve.bound import Bound
from trimtab.solve.solution import Solution

LENGTHS = 2.0 ** -np.arange(10)  # eta, as shares of the longest move
GRID_EFFORT = 0.5  # of each of these, as a share of the effort asked for
AGAIN = 30  # times at most that eta is set to the length found
GAINED = 1e-12  # of |G|: less than this is nothing

Solve = Callable[..., Solution]


def search(
    bound: Bound, current: Array, free: Ints, toll: Toll, solve: Solve, effort: float, seed: int
) -> Solution:
    """The best state found; `solve` is that of linear prices."""
    priced = free[toll.per_knob[free] > 0.0]
    domain = bound.domain
    if not isinstance(domain, BoundBox) or not isinstance(bound.problem.features, Monomials):
        raise InvalidInput(
            f"Euclidean prices of moves with {bound.problem.basis!r}: they are for boxes with "
            "monomials, such as Quadratic(); use move_norm='l1'"
        )
    wide = (toll.per_knob * (domain.high - domain.low))[priced]
    quadratic = _Quadratic(bound, current, priced)

    readers = bound.problem.graph.readers(free)

    def cost(state: Array) -> float:
        return bound.value(state, readers) + toll.of(current, state)

    def at(eta: float, effort: float) -> Solution:
        quadratic.price(toll.per_knob[priced] ** 2 / (2.0 * eta))
        return solve(quadratic.bound, current, free=free, effort=effort, seed=seed)

    unpriced = solve(bound, current, free=free, effort=effort, seed=seed)
    found = [at(float(eta), GRID_EFFORT * effort) for eta in np.linalg.norm(wide) * LENGTHS]
    states = [current, unpriced.state, *(each.state for each in found)]
    counters = sum((each.counters for each in found), unpriced.counters)
    values = [cost(state) for state in states]
    best = choose(np.array(states), np.array(values), current)
    state, value = states[best], values[best]
    for _ in range(AGAIN):
        length = float(np.linalg.norm(toll.per_knob * (state - current)))
        if length == 0.0:
            break
        again = at(length, effort)
        counters += again.counters
        if not cost(again.state) < value - GAINED * (1.0 + abs(value)):
            break
        state, value = again.state, cost(again.state)
    return Solution(state, value, None, counters)


@dataclass(frozen=True)
class _Laid:
    """A basis whose monomials are laid out already."""

    arrays: MonomialArrays

    def bind(self, graph: Graph, domain: BoundDomain) -> Monomials:
        """The monomials; nobody asks for their bounds."""
        return Monomials(self.arrays, read_only(np.ones(graph.criteria)), graph)


class _Quadratic:
    """The bound, and q_j (s_j - now_j)^2 for every priced knob, up to a constant."""

    def __init__(self, bound: Bound, now: Array, knobs: Ints) -> None:
        problem, n = bound.problem, knobs.size
        if not isinstance(problem.features, Monomials):
            raise InvalidInput("quadratic prices need monomials")
        own = problem.features.arrays
        self._now, self._own = now[knobs], bound.R.size
        twice = np.repeat(knobs, 2)  # s_j and s_j^2
        none = np.zeros(2 * n, own.b.dtype)
        arrays = MonomialArrays(
            offsets=read_only(np.append(own.offsets, own.offsets[-1] + 2 * np.arange(1, n + 1))),
            a=np.concatenate((own.a, twice)).astype(own.a.dtype),
            b=np.concatenate((own.b, twice)).astype(own.b.dtype),
            p=np.concatenate((own.p, np.tile([1, 2], n))).astype(own.p.dtype),
            q=np.concatenate((own.q, none)).astype(own.q.dtype),
            scale=np.append(own.scale, np.ones(n)),
        )
        scopes = [problem.graph.scope(i).tolist() for i in range(problem.criteria)]
        graph = Graph.from_scopes([*scopes, *([int(j)] for j in knobs)], knobs=problem.knobs)
        extended = Problem(
            graph,
            basis=_Laid(arrays),
            domain=problem.domain.unbound(),
            weights=np.append(problem.weights, np.ones(n)),
        )
        triangle = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])  # R = I, and a row for v
        R = np.append(bound.R, np.tile(triangle, n))
        self.bound = Bound(extended, R, np.append(bound.radii, np.zeros(n)))
        if bound.domain is not problem.domain:
            self.bound = self.bound.within(bound.domain)

    def price(self, q: Array) -> None:
        """Set the price of each priced knob: (n,)."""
        rows = self.bound.R[self._own :].reshape(-1, 6)
        rows[:, 3], rows[:, 4] = -2.0 * q * self._now, q


def lower_price(toll: Toll, free: Ints) -> Array:
    """An l1 price that is nowhere above the toll of moving these knobs, but for the switch."""
    priced = int((toll.per_knob[free] > 0.0).sum())
    return np.asarray(toll.per_knob / np.sqrt(max(priced, 1)))


def with_switch(found: Solution, stay: float, current: Array, switch: float) -> Solution:
    """The solution once every move costs a fixed price more: it, or staying.

    The price is the same wherever the move goes, so that no third state can be better.
    """
    lower = None if found.lower_bound is None else min(found.lower_bound + switch, stay)
    if np.array_equal(found.state, current) or not found.value + switch < stay:
        return replace(found, state=current.copy(), value=stay, lower_bound=lower)
    return replace(found, value=found.value + switch, lower_bound=lower)
